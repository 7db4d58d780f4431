//! The order of one attempt: the engine composes it and writes it as a file into the attempt's folder.
//!
//! Owns every wait and time limit of an attempt ([`Timeouts`]).

use envoi_contract::{digest::Digest, json::Value};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, path::PathBuf};

/// The instructions for one attempt. Contains no secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// The same for all attempts of a visit, and different for every other visit (`ENVOI_KEY`).
    pub key: String,
    /// The address of the agent, from the flow.
    pub url: String,
    /// The text of the first message.
    pub message: String,
    /// The data part of the first message.
    #[serde(default)]
    pub data: Option<Value>,
    /// The tenant (a member of A2A requests).
    #[serde(default)]
    pub tenant: Option<String>,
    /// An address that replaces the one in the card.
    #[serde(default)]
    pub interface: Option<String>,
    /// The number of the task in the visit, from 0.
    pub task: u32,
    /// The number of the message to that task, from 0.
    pub turn: u32,
    /// The answer that the message carries: a file in the form of `ENVOI_ANSWER`.
    #[serde(default)]
    pub answer: Option<PathBuf>,
    /// True if the answer is no. The attempt then cancels the task.
    #[serde(default)]
    pub denied: bool,
    /// True if a person wants the message sent again, although the agent may already have it.
    #[serde(default)]
    pub resend: bool,
    /// A file that exists when a person wants the attempt to end.
    #[serde(default)]
    pub cancel: Option<PathBuf>,
    /// The time at which the step's time limit ends: Unix time in milliseconds.
    #[serde(default)]
    pub ends_at_ms: Option<i64>,
    /// True if the flow wants every message in doubt sent again.
    #[serde(default)]
    pub resends: bool,
    /// The file with what has been sent, shared by all attempts of the visit.
    pub record: PathBuf,
    /// The path of the report file.
    pub report: PathBuf,
    /// The path of the text file.
    pub output: PathBuf,
    /// The folder for the agent's artifacts. `None` if the step does not want them.
    #[serde(default)]
    pub files: Option<PathBuf>,
    /// The number of secrets to mask. Each one is in its own variable ([`crate::SECRET_VARIABLES`]).
    #[serde(default)]
    pub secrets: usize,
    /// True if a secret cannot be read. Then no output of the agent is written to a file.
    #[serde(default)]
    pub hides: bool,
    /// The waits and time limits of the attempt.
    #[serde(default, rename = "waits")]
    pub timeouts: Timeouts,
}

/// Durations in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeouts {
    /// For a connection, and for the answer to any call that does not send a message. If the reply to a message takes
    /// longer, the attempt searches for its task while the request stays open.
    pub request_ms: u64,
    /// For the reply to a message.
    pub reply_ms: u64,
    /// For an agent that cannot be reached.
    #[serde(rename = "silence_ms")]
    pub outage_ms: u64,
    /// For an agent that refuses calls: a deployment may do that for a while.
    pub refusal_ms: u64,
    /// How long after it was sent a message may still be on its way.
    #[serde(rename = "doubt_ms")]
    pub in_flight_ms: u64,
    /// The shortest time for which an attempt searches for a message that may have been sent.
    #[serde(rename = "look_ms")]
    pub search_ms: u64,
    /// For a task to move on after an answer, if the agent does not give the time of its question.
    pub settle_ms: u64,
    /// For a task to move on after an answer, if the agent gives the time of its question.
    pub move_ms: u64,
    /// Between two polls that are compared: more than a second, because some agents count in seconds.
    #[serde(rename = "renew_ms")]
    pub compare_ms: u64,
    /// Between the first two polls of a task. Each further wait is 1.5 times the one before.
    #[serde(rename = "shortest_ms")]
    pub first_poll_ms: u64,
    /// The longest wait between two polls.
    #[serde(rename = "longest_ms")]
    pub max_poll_ms: u64,
}

/// For the reply to a message, if the step has no time limit. A connection that is silent for longer is not worth keeping.
const REPLY_MS: u64 = 3_600_000;

/// For a task to move on after an answer, if the step has no time limit.
const MOVE_MS: u64 = 600_000;

/// For how long the agent may still work on a request after its connection broke.
const IN_FLIGHT_MS: u64 = 600_000;

/// About the time that a server needs to restart.
const SEARCH_MS: u64 = 60_000;

impl Timeouts {
    /// The timeouts for a step with this time limit.
    ///
    /// The attempt may wait as long as the step. It searches for a message in doubt for at most a third of that time,
    /// so that time is left for a question to a person.
    #[must_use]
    pub fn within(limit_ms: Option<u64>) -> Self {
        let at_most_a_third =
            |ms: u64| limit_ms.map_or(ms, |limit| ms.min(limit.checked_div(3).unwrap_or(ms)));
        Self {
            request_ms: 60_000,
            reply_ms: limit_ms.unwrap_or(REPLY_MS),
            outage_ms: limit_ms.unwrap_or(u64::MAX),
            refusal_ms: 600_000,
            in_flight_ms: at_most_a_third(IN_FLIGHT_MS),
            search_ms: at_most_a_third(SEARCH_MS),
            settle_ms: 10_000,
            move_ms: limit_ms.unwrap_or(MOVE_MS),
            compare_ms: 1_100,
            first_poll_ms: 200,
            max_poll_ms: 5_000,
        }
    }
}

/// How much before `ends_at_ms` the time limit counts as reached. Clocks are adjusted, and the engine computes the time before
/// the start.
const SLACK_MS: i64 = 2_000;

impl Default for Timeouts {
    fn default() -> Self {
        Self::within(None)
    }
}

impl Order {
    /// True if the attempt has to end now (Unix time in milliseconds), because a person wants it or the time limit is
    /// reached.
    pub(crate) fn is_to_end(&self, now_ms: i64) -> bool {
        self.cancel.as_ref().is_some_and(|cancel| cancel.exists())
            || self.ends_at_ms.is_some_and(|at| now_ms.saturating_add(SLACK_MS) >= at)
    }

    /// The id of the A2A context. It is derived from the visit's key, so no other visit has the same id.
    pub(crate) fn context(&self) -> String {
        self.derived_id("context")
    }

    /// The id of the message, the same each time it is sent.
    pub(crate) fn message_id(&self) -> String {
        self.message_id_of(self.turn)
    }

    /// The ids of all messages to the task, up to this one.
    pub(crate) fn message_ids(&self) -> BTreeSet<String> {
        (0..=self.turn).map(|turn| self.message_id_of(turn)).collect()
    }

    fn message_id_of(&self, turn: u32) -> String {
        self.derived_id(&format!("message {turn}"))
    }

    /// In the form of a UUID, because some agents accept no other ids.
    fn derived_id(&self, purpose: &str) -> String {
        Digest::of(format!("a2a {} {} {purpose}", self.key, self.task).as_bytes()).uuid('8')
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
        assert!(!plain.is_to_end(i64::MAX), "without a file and a time it never ends");
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
        let short = Timeouts::within(Some(30_000));
        let none = Timeouts::within(None);
        assert_eq!((short.reply_ms, short.outage_ms, short.move_ms), (30_000, 30_000, 30_000));
        assert!(short.in_flight_ms <= 10_000 && short.search_ms <= 10_000);
        assert_eq!((none.outage_ms, none.in_flight_ms, none.move_ms), (u64::MAX, 600_000, 600_000));
        assert_eq!(Timeouts::within(Some(7_200_000)).in_flight_ms, 600_000);
    }
}
