//! What live attempts have set aside, what is charged for which, and which step's account that goes to.
//!
//! What is set aside stands under the attempt and not under its visit: it is held until that attempt is known to be over,
//! whatever became of the visit meanwhile. Decisions read that and the run's own ledger; the steps' accounts are for people,
//! and kept apart ([`charge`]), so that a decision on a long flow need not copy them.

use crate::{
    budget,
    event::{AttemptSettled, AttemptStarted, Event, Outcome},
    flow::Budget,
    ids::{AttemptId, VisitId},
    ledger::Ledger,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// See the module.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Accounts {
    /// Budgets of attempts that are not settled.
    reserved: BTreeMap<AttemptId, Budget>,
    /// What attempts in doubt were charged with, while their result may still come.
    in_doubt: BTreeMap<AttemptId, Ledger>,
}

impl Accounts {
    /// An attempt begins: a hop, and its budget is set aside.
    pub(crate) fn attempt_started(&mut self, event: &AttemptStarted) -> Ledger {
        if let Some(budget) = event.reserved {
            self.reserved.insert(event.attempt.clone(), budget);
        }
        Ledger { agent_hops: 1, ..Ledger::default() }
    }

    /// An attempt is over: what was set aside is free again, and this is what it is charged with. One in doubt may have used
    /// all that it was given, and is charged with that; if its result comes after all, what it used beyond that is added,
    /// and nothing is given back.
    pub(crate) fn attempt_settled(&mut self, event: &AttemptSettled) -> Ledger {
        let budget = self.reserved.remove(&event.attempt).unwrap_or_default();
        let reported = Ledger { wall_time_ms: event.duration_ms, ..budget::reported(&event.metrics) };
        if matches!(event.outcome, Outcome::InDoubt { .. }) {
            let all = Ledger { wall_time_ms: event.duration_ms, ..budget::whole(&budget) };
            if all != Ledger::default() {
                self.in_doubt.insert(event.attempt.clone(), all.clone());
            }
            return all;
        }
        reported.beyond(&self.in_doubt.remove(&event.attempt).unwrap_or_default())
    }

    /// All that is set aside.
    pub(crate) fn reserved(&self) -> Ledger {
        let mut sum = Ledger::default();
        self.reserved.values().for_each(|budget| sum.add(&budget::whole(budget)));
        sum
    }

    /// Whether nothing is set aside.
    pub(crate) fn is_free(&self) -> bool {
        self.reserved.is_empty()
    }
}

/// Puts what `event` has added to the run's ledger into the account of its step.
pub(crate) fn charge(by_step: &mut BTreeMap<String, Ledger>, event: &Event, more: &Ledger) {
    let visit = match event {
        Event::AttemptStarted(event) => &event.attempt.visit,
        Event::AttemptSettled(event) => &event.attempt.visit,
        Event::Routed(event) => &event.visit,
        // What was lived before was paid for by the run that lived it.
        Event::RunForked(_) => return by_step.clear(),
        _ => return,
    };
    if *more != Ledger::default() {
        by_step.entry(key(visit)).or_default().add(more);
    }
}

/// The step of a visit, with the steps that it lies within; visits and items are not told apart.
fn key(visit: &VisitId) -> String {
    let within = visit.scope.split('.').filter(|part| !part.is_empty() && !is_number(part));
    within.chain([visit.step.as_str()]).collect::<Vec<_>>().join(".")
}

fn is_number(part: &str) -> bool {
    part.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_of_a_flow_within_a_flow_is_known_by_both() {
        for (attempt, known) in [
            ("compile.2.1", "compile"),
            ("build.2.compile.1.1", "build.compile"),
            ("0.review.1.1", "review"),
            ("build.1.3.review.2.1", "build.review"),
        ] {
            assert_eq!(key(&AttemptId::parse(attempt).unwrap().visit), known, "{attempt}");
        }
    }
}
