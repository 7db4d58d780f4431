//! The steps of a run as rows: one row per visit, with its result or its current state.
//!
//! Owns the words for the state of a visit, for REST and for the terminal. [`StepRows`] makes the rows.

pub mod cause;
pub mod handoff;
pub mod headline;

mod outline;
mod rows;

pub use outline::{Newest, Opening, Outline, Touch, subject};
pub use rows::StepRows;

use crate::{
    Time,
    scalar::{dollars, maybe_dollars, words},
};
use envoi_kernel::ids::{AttemptId, InterruptId, RunId, StepId, VisitId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

words! {
    /// The state of a visit.
    StepState {
        /// Its attempt is running.
        Running = "running",
        /// Its attempt was started, but nothing works on it.
        Left = "left",
        /// It is due, and waits for a free slot.
        Ready = "ready",
        /// Its last attempt failed, and the next one begins later.
        Retries = "retries",
        /// It waits for a decision of a person.
        Asks = "asks",
        /// The result of its last attempt is unknown.
        InDoubt = "in_doubt",
        /// It has begun, and waits for its items or for the flow that it runs.
        Open = "open",
        /// Done.
        Succeeded = "succeeded",
        /// Failed.
        Failed = "failed",
        /// Not executed.
        Skipped = "skipped",
    }
}

words! {
    /// The reason why nothing works on a visit.
    WaitReason {
        /// It waits for its next try.
        NextTry = "next_try",
        /// It waits for an account of an agent program.
        Account = "account",
        /// It waits for a person.
        Person = "person",
    }
}

impl StepState {
    /// The word for people.
    #[must_use]
    pub const fn spoken(self) -> &'static str {
        match self {
            Self::InDoubt => "in doubt",
            _ => self.word(),
        }
    }
}

/// A visit of a step, or one item of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepRow {
    /// Where it is, such as `build.2.compile.1` or `0.check.1`: as hand-offs and commands name it.
    pub place: String,
    /// The place of what it is part of: the visit that it is an item of, or the one that runs its flow. Null at the top.
    pub part_of: Option<String>,
    /// Its step.
    #[schemars(with = "String")]
    pub step: StepId,
    /// The inner flows and the item in which it stands; empty at the top.
    pub scope: String,
    /// Which visit of the step, from 1.
    pub visit: u32,
    /// Which item, from 0; null if it is none.
    pub item: Option<u64>,
    /// The value of the item, in a line; null if it is none.
    pub value: Option<String>,
    /// How many items it has; null if it is not done for a list.
    pub items: Option<u64>,
    /// Where it stands.
    pub state: StepState,
    /// Attempts so far. 0: it has none of its own.
    pub attempts: u32,
    /// The open question about it.
    #[schemars(with = "Option<String>")]
    pub question: Option<InterruptId>,
    /// When its first event was decided.
    pub started_at: Time,
    /// When its hand-off was written; null before.
    pub ended_at: Option<Time>,
    /// When its next attempt begins, if it waits for that.
    pub next_try_at: Option<Time>,
    /// When nothing worked on it: stretches of a second or more, in their order. Of very many, the longest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<StepWait>,
    /// The time of its last attempt; of a whole, from its beginning to its end. Null before its end.
    pub took_ms: Option<u64>,
    /// What its attempts have cost; null if none has reported a cost.
    #[schemars(schema_with = "maybe_dollars")]
    pub cost_usd: Option<String>,
    /// Whose result it has, if that came from the cache of steps: its command was not started. Null otherwise.
    pub cached_from: Option<CachedFrom>,
    /// Where it leads, such as `advance` or `loop`; `exhausted` if its loop has had its last round without success. Null before its end.
    pub leads_to: Option<String>,
    /// What it came to or why it failed, in a line. Of an open one with items: how far it has come.
    pub summary: String,
    /// The event with which it began.
    pub first_seq: u64,
    /// The newest event that changed the row.
    pub seq: u64,
}

impl StepRow {
    /// The visit of this row.
    #[must_use]
    pub fn id(&self) -> VisitId {
        VisitId { scope: self.scope.clone(), step: self.step.clone(), visit: self.visit }
    }
}

/// A stretch in which nothing worked on a visit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepWait {
    /// When it began.
    pub from: Time,
    /// When it was over; null if it goes on.
    pub until: Option<Time>,
    /// What for. A wait for a free slot after it belongs to it.
    pub reason: WaitReason,
}

/// The attempt of an earlier run that has made a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CachedFrom {
    /// Its run, which may be gone.
    #[schemars(with = "String")]
    pub run: RunId,
    /// The attempt, such as `build.1.1`.
    #[schemars(with = "String")]
    pub attempt: AttemptId,
}

/// Steps of a run that have changed, in the order of the events that changed them. On the last page the steps that are not
/// over follow, even if no event has changed them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Steps {
    /// The rows.
    pub steps: Vec<StepRow>,
    /// The `after` of the next page; null on the last.
    pub next: Option<u64>,
    /// The newest event that the rows take account of: the `after` with which to ask for changes later.
    pub newest: u64,
}

/// The parent of a visit: the visit of which it is an item, or the visit that runs its flow.
#[must_use]
pub fn whole(visit: &VisitId) -> Option<VisitId> {
    match visit.item() {
        Some(_) => Some(visit.whole()),
        None => caller(&visit.scope),
    }
}

/// The visit that runs the flow of this scope. The scope of an inner flow is the id of that visit.
#[must_use]
pub fn caller(scope: &str) -> Option<VisitId> {
    AttemptId::parse(&format!("{scope}.1")).ok().map(|attempt| attempt.visit)
}

/// The visit and its ancestors, up to the outermost one.
#[must_use]
pub fn wholes(visit: &VisitId) -> Vec<VisitId> {
    core::iter::successors(Some(visit.clone()), whole).collect()
}

/// What the calls of a model have used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelAmounts {
    /// The model, as the configuration names it.
    pub model: String,
    /// Who offers it, as the configuration names it; null for the calls of steps that ask a model.
    pub provider: Option<String>,
    /// Calls that have begun.
    pub llm_calls: u64,
    /// Calls that are over and whose cost is not known: `cost_usd` has nothing for them.
    pub unknown_costs: u64,
    /// Calls that are over and whose tokens are not known: the sums have nothing, or a part, for them.
    pub unknown_tokens: u64,
    /// Tokens that it was given.
    pub tokens_in: u64,
    /// Tokens that it gave.
    pub tokens_out: u64,
    /// What its calls have cost, in US dollars.
    #[schemars(schema_with = "dollars")]
    pub cost_usd: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_visit_is_part_of_the_one_that_it_is_an_item_of_or_that_runs_its_flow() {
        for (part, of) in [
            ("a.1", &[][..]),
            ("0.a.1", &["a.1"]),
            ("b.2.a.1", &["b.2"]),
            ("0.b.2.a.1", &["0.b.2", "b.2"]),
            ("0.b.2.7.a.1", &["0.b.2.a.1", "0.b.2", "b.2"]),
        ] {
            let visit = AttemptId::parse(&format!("{part}.1")).unwrap().visit;
            let wholes: Vec<String> = wholes(&visit).iter().skip(1).map(ToString::to_string).collect();
            assert_eq!(wholes, of, "{part}");
        }
    }
}
