//! What one attempt is to do: composed by the engine, written as a file in the attempt's folder.

use envoi_contract::{digest::Digest, json::Value};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, path::PathBuf};

/// See the module. Holds no secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// The same for all attempts of a visit, and for no other (`ENVOI_KEY`).
    pub key: String,
    /// The agent.
    pub url: String,
    /// The text of the first message.
    pub message: String,
    /// The data part beside it.
    #[serde(default)]
    pub data: Option<Value>,
    /// The tenant of the protocol.
    #[serde(default)]
    pub tenant: Option<String>,
    /// The address that is spoken to in place of the one that the card names.
    #[serde(default)]
    pub interface: Option<String>,
    /// Which task of the visit it is about, from 0.
    pub task: u32,
    /// Which message to that task it is, from 0.
    pub turn: u32,
    /// The answer to be passed on, as steps find it (`ENVOI_ANSWER`).
    #[serde(default)]
    pub answer: Option<PathBuf>,
    /// The answer is no: the task is to be cancelled.
    #[serde(default)]
    pub denied: bool,
    /// A person wants it sent, although nobody knows whether it has been.
    #[serde(default)]
    pub resend: bool,
    /// The file that is there once a person wants the attempt ended.
    #[serde(default)]
    pub cancel: Option<PathBuf>,
    /// When the time of the step is over: Unix time in milliseconds.
    #[serde(default)]
    pub ends_at_ms: Option<i64>,
    /// The flow wants that, each time.
    #[serde(default)]
    pub resends: bool,
    /// Where it stands, for all attempts of the visit, what has been sent.
    pub record: PathBuf,
    /// Where the report goes.
    pub report: PathBuf,
    /// Where the text goes.
    pub output: PathBuf,
    /// The folder for what the agent hands over; none: it is not wanted.
    #[serde(default)]
    pub files: Option<PathBuf>,
    /// How many secrets are to be masked. Each stands in a variable of its own ([`crate::SECRET_VARIABLES`]).
    #[serde(default)]
    pub secrets: usize,
    /// A secret cannot be had: nothing that the agent says is written down.
    #[serde(default)]
    pub hides: bool,
    /// How long is waited for what.
    #[serde(default)]
    pub waits: Waits,
}

/// Durations in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waits {
    /// For a connection, for the answer to a question about a task, and for the reply to a message before its task is looked
    /// for beside the open request.
    pub request_ms: u64,
    /// For the reply to a message.
    pub reply_ms: u64,
    /// For an agent that is away.
    pub silence_ms: u64,
    /// For an agent that refuses to say how a task stands: a deployment may do that for a while.
    pub refusal_ms: u64,
    /// How long after it was sent a message may still be under way.
    pub doubt_ms: u64,
    /// How long an attempt looks at least for a message that may have been sent.
    pub look_ms: u64,
    /// For a task to move on after an answer, where the agent does not say when its question was asked.
    pub settle_ms: u64,
    /// The same, where it does say that.
    pub move_ms: u64,
    /// Between two looks that tell what an agent renews each time: more than a second, for some count in seconds.
    pub renew_ms: u64,
    /// Between the first two looks at a task; each wait is half as long again.
    pub shortest_ms: u64,
    /// The longest of them.
    pub longest_ms: u64,
}

/// For the reply to a message, where the step has no time limit: no connection is worth more.
const REPLY_MS: u64 = 3_600_000;

/// For a task that has its answer to move on, where the step has no time limit.
const MOVE_MS: u64 = 600_000;

/// After a connection broke, what came by it may be worked on.
const DOUBT_MS: u64 = 600_000;

/// A server that comes up again is to have the time for it.
const LOOK_MS: u64 = 60_000;

impl Waits {
    /// Of a step with this time limit: whoever waits does so as long as the step may, and has asked a person before it is over.
    #[must_use]
    pub fn within(limit_ms: Option<u64>) -> Self {
        let part = |ms: u64| limit_ms.map_or(ms, |limit| ms.min(limit.checked_div(3).unwrap_or(ms)));
        Self {
            request_ms: 60_000,
            reply_ms: limit_ms.unwrap_or(REPLY_MS),
            silence_ms: limit_ms.unwrap_or(u64::MAX),
            refusal_ms: 600_000,
            doubt_ms: part(DOUBT_MS),
            look_ms: part(LOOK_MS),
            settle_ms: 10_000,
            move_ms: limit_ms.unwrap_or(MOVE_MS),
            renew_ms: 1_100,
            shortest_ms: 200,
            longest_ms: 5_000,
        }
    }
}

/// How much earlier than its hour an attempt counts as over: clocks are set, and the hour was counted before the start.
const SLACK_MS: i64 = 2_000;

impl Default for Waits {
    fn default() -> Self {
        Self::within(None)
    }
}

impl Order {
    /// Whether the attempt is to end at this moment (Unix time in milliseconds): a person wants that, or its time is over.
    pub(crate) fn is_to_end(&self, now_ms: i64) -> bool {
        self.cancel.as_ref().is_some_and(|cancel| cancel.exists())
            || self.ends_at_ms.is_some_and(|at| now_ms.saturating_add(SLACK_MS) >= at)
    }

    /// The id of the context, which nobody else can have.
    pub(crate) fn context(&self) -> String {
        self.id("context")
    }

    /// The id of the message, the same each time it is sent.
    pub(crate) fn message_id(&self) -> String {
        self.id_of(self.turn)
    }

    /// The ids of all messages to the task up to this one.
    pub(crate) fn message_ids(&self) -> BTreeSet<String> {
        (0..=self.turn).map(|turn| self.id_of(turn)).collect()
    }

    fn id_of(&self, turn: u32) -> String {
        self.id(&format!("message {turn}"))
    }

    /// In the form of a UUID: agents are known to take nothing else.
    fn id(&self, what: &str) -> String {
        let hex = Digest::of(format!("a2a {} {} {what}", self.key, self.task).as_bytes()).hex();
        let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
        format!("{}-{}-8{}-8{}-{}", part(0, 8), part(8, 12), part(12, 15), part(15, 18), part(18, 30))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(key: &str, task: u32, turn: u32) -> Order {
        let text = format!(
            r#"{{"key":"{key}","url":"","message":"","task":{task},"turn":{turn},"record":"","report":"","output":""}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn an_attempt_ends_when_a_person_wants_that_or_at_its_hour_and_never_otherwise() {
        let folder = tempfile::tempdir().unwrap();
        let plain = order("run_1:a.1", 0, 0);
        assert!(!plain.is_to_end(i64::MAX), "who has neither is never to end");
        let mut bound = Order { cancel: Some(folder.path().join("cancel")), ..plain };
        assert!(!bound.is_to_end(i64::MAX));
        bound.ends_at_ms = Some(60_000);
        assert!(!bound.is_to_end(50_000) && bound.is_to_end(60_000));
        std::fs::write(folder.path().join("cancel"), "").unwrap();
        assert!(bound.is_to_end(0));
    }

    #[test]
    fn ids_differ_by_run_visit_task_and_answer_and_by_nothing_else() {
        let first = order("run_1:a.1", 0, 0);
        assert_eq!(first.message_id(), order("run_1:a.1", 0, 0).message_id());
        assert_eq!(first.context(), order("run_1:a.1", 0, 7).context());
        let all = [first, order("run_2:a.1", 0, 0), order("run_1:a.1", 1, 0), order("run_1:a.1", 0, 1)];
        let ids: BTreeSet<String> = all.iter().map(Order::message_id).collect();
        assert_eq!(ids.len(), 4);
        let contexts: BTreeSet<String> = all.iter().map(Order::context).collect();
        assert_eq!(contexts.len(), 3);
        assert!(all.iter().all(|order| order.message_ids().contains(&order.message_id())));
        assert!(order("run_1:a.1", 0, 1).message_ids().is_superset(&all.first().unwrap().message_ids()));
        let lengths = |id: &str| id.split('-').map(str::len).collect::<Vec<_>>();
        assert!(ids.iter().all(|id| lengths(id) == [8, 4, 4, 4, 12]), "{ids:?}");
    }

    #[test]
    fn a_step_with_a_time_limit_asks_before_it_is_over_and_any_other_asks_at_last() {
        let (short, none) = (Waits::within(Some(30_000)), Waits::within(None));
        assert_eq!((short.reply_ms, short.silence_ms, short.move_ms), (30_000, 30_000, 30_000));
        assert!(short.doubt_ms <= 10_000 && short.look_ms <= 10_000);
        assert_eq!((none.silence_ms, none.doubt_ms, none.move_ms), (u64::MAX, 600_000, 600_000));
        assert_eq!(Waits::within(Some(7_200_000)).doubt_ms, 600_000);
    }
}
