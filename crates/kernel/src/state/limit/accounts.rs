//! Reservations of live attempts, their charges, and the account of each step.
//!
//! A reservation belongs to the attempt, not to its visit: it is held until the attempt is known to have
//! ended, no matter what happens to the visit. The usage that an attempt reports and the usage metered while
//! it was live are the same calls seen twice, so the larger of both is charged. Decisions read these and the
//! run's own ledger. The accounts of steps are for display, and kept separately ([`charge`]), so that a
//! decision on a long flow need not copy them.

use crate::state::illegal_event::IllegalEvent;
use crate::{
    model::{
        event::{AttemptSettled, AttemptStarted, Command, Event, ModelCallEnded, ModelCallStarted, Outcome},
        ids::{AttemptId, CallId, VisitId},
        ledger::{Budget, Ledger},
    },
    state::budget,
};
use envoi_contract::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Reservations and charges of a run's attempts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Accounts {
    /// Attempts that have a reservation or have called a model, until they can cause no further charge.
    attempts: BTreeMap<AttemptId, Account>,
    /// Model calls in progress, with their attempts.
    calls: BTreeMap<CallId, Option<AttemptId>>,
}

/// The account of one attempt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Account {
    /// The budget, reserved until the attempt has ended.
    budget: Option<Budget>,
    /// Usage of metered calls.
    metered: Ledger,
    /// Whether all of its usage is metered.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    by_bridge: bool,
    /// Whether it is an agent program or a model: usage that it does not report is unknown.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    calls_models: bool,
    /// The end of the refusal of its last call, if the provider refused it and stated a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refused_until: Option<Timestamp>,
    /// The usage that its end reports; its whole budget, if its end is in doubt.
    #[serde(rename = "told")]
    reported: Option<Ledger>,
    /// Whether its end is in doubt and its result may still arrive.
    in_doubt: bool,
}

impl Account {
    fn charged(&self) -> Ledger {
        self.metered.larger(&self.reported.clone().unwrap_or_default())
    }

    /// The unused part of its budget.
    fn set_aside(&self) -> Ledger {
        self.budget.as_ref().map(budget::whole).unwrap_or_default().beyond(&self.metered)
    }
}

impl Accounts {
    /// Records the start of an attempt: one hop, and the reservation of its budget.
    pub(crate) fn attempt_started(&mut self, event: &AttemptStarted) -> Ledger {
        let by_bridge = matches!(&event.command, Command::Agent(call) if call.by_bridge);
        let calls_models = matches!(&event.command, Command::Agent(_) | Command::Model(_));
        if event.reserved.is_some() || calls_models {
            let account = Account { budget: event.reserved, by_bridge, calls_models, ..Account::default() };
            self.attempts.insert(event.attempt.clone(), account);
        }
        Ledger { agent_hops: 1, ..Ledger::default() }
    }

    /// Records the end of an attempt: releases its reservation and charges `ledger`. An attempt in doubt may
    /// have used its whole budget, so that is charged, or its known usage if that is more. If its result
    /// arrives later, only usage beyond that is added; nothing is given back except unknown usage. If all
    /// usage of an attempt is metered, the usage is known even in doubt.
    pub(crate) fn attempt_settled(&mut self, event: &AttemptSettled, ledger: &mut Ledger) {
        let account = self.attempts.entry(event.attempt.clone()).or_default();
        let before = account.charged();
        let budget = account.budget.take().unwrap_or_default();
        account.in_doubt = matches!(event.outcome, Outcome::InDoubt { .. });
        let used = budget::reported(&event.metrics);
        let may_have_used_all = account.in_doubt && !account.by_bridge;
        let used = if may_have_used_all { budget::whole(&budget).larger(&used) } else { used };
        let reported = Ledger { wall_time_ms: event.duration_ms, ..used };
        let earlier = account.reported.take().map(|earlier| Ledger {
            unknown_calls: 0,
            unknown_tokens: 0,
            unknown_costs: 0,
            ..earlier
        });
        let mut reported = reported.larger(&earlier.unwrap_or_default());
        if !account.by_bridge {
            reported.add(&budget::unknown(event, account.calls_models, &budget));
        }
        account.reported = Some(reported);
        let charged = account.charged();
        *ledger = ledger.beyond(&before.beyond(&charged));
        ledger.add(&charged.beyond(&before));
        self.forget_if_over(&event.attempt);
    }

    /// Records the start of a model call. It counts from now on, even if it fails.
    pub(crate) fn call_started(&mut self, event: &ModelCallStarted) -> Result<Ledger, IllegalEvent> {
        if self.calls.insert(event.call.clone(), event.attempt.clone()).is_some() {
            return Err(IllegalEvent::CallUnderWay { call: event.call.to_string() });
        }
        Ok(self.meter(event.attempt.as_ref(), &Ledger { llm_calls: 1, ..Ledger::default() }))
    }

    /// Records the end of a call: its usage is known now, or never will be.
    pub(crate) fn call_ended(&mut self, event: &ModelCallEnded) -> Result<Ledger, IllegalEvent> {
        let of = self.calls.remove(&event.call);
        let attempt = of.ok_or_else(|| IllegalEvent::CallNotUnderWay { call: event.call.to_string() })?;
        if attempt != event.attempt {
            return Err(IllegalEvent::CallOfAnotherAttempt { call: event.call.to_string() });
        }
        // A call that the provider refused costs nothing.
        let is_made = event.refused_until.is_none();
        let used = Ledger {
            tokens_in: event.tokens_in.unwrap_or(0),
            tokens_out: event.tokens_out.unwrap_or(0),
            cost: event.cost.unwrap_or_default(),
            unknown_tokens: u64::from(is_made && (event.tokens_in.is_none() || event.tokens_out.is_none())),
            unknown_costs: u64::from(is_made && event.cost.is_none()),
            ..Ledger::default()
        };
        let more = self.meter(attempt.as_ref(), &used);
        if let Some(account) = attempt.as_ref().and_then(|attempt| self.attempts.get_mut(attempt)) {
            account.refused_until = event.refused_until;
        }
        attempt.iter().for_each(|attempt| self.forget_if_over(attempt));
        Ok(more)
    }

    fn meter(&mut self, attempt: Option<&AttemptId>, used: &Ledger) -> Ledger {
        let Some(attempt) = attempt else { return used.clone() };
        let account = self.attempts.entry(attempt.clone()).or_default();
        let before = account.charged();
        account.metered.add(used);
        account.charged().beyond(&before)
    }

    /// Whether a call of this attempt is in progress.
    pub(crate) fn is_calling(&self, attempt: &AttemptId) -> bool {
        self.calls.values().flatten().any(|of| of == attempt)
    }

    fn forget_if_over(&mut self, attempt: &AttemptId) {
        let calls = self.is_calling(attempt);
        let over = |account: &Account| account.reported.is_some() && !account.in_doubt;
        if !calls && self.attempts.get(attempt).is_some_and(over) {
            self.attempts.remove(attempt);
        }
    }

    /// The sum of all reservations.
    pub(crate) fn reserved(&self) -> Ledger {
        self.reserved_beside(None)
    }

    /// The sum of all reservations except that of this attempt.
    pub(crate) fn reserved_beside(&self, attempt: Option<&AttemptId>) -> Ledger {
        let mut sum = Ledger::default();
        let others = self.attempts.iter().filter(|(of, _)| Some(*of) != attempt);
        others.for_each(|(_, account)| sum.add(&account.set_aside()));
        sum
    }

    /// Whether there is no reservation.
    pub(crate) fn is_free(&self) -> bool {
        self.attempts.values().all(|account| account.budget.is_none())
    }

    /// The budget that an attempt reserved at its start, and its metered usage.
    pub(crate) fn of(&self, attempt: &AttemptId) -> (Budget, Ledger) {
        let account = self.attempts.get(attempt).cloned().unwrap_or_default();
        (account.budget.unwrap_or_default(), account.metered)
    }

    /// The end of the refusal of an attempt's last call, if the provider of the model refused it and stated a
    /// time.
    pub(crate) fn refused_until(&self, attempt: &AttemptId) -> Option<Timestamp> {
        self.attempts.get(attempt)?.refused_until
    }

    /// Calls in progress.
    pub(crate) fn calls(&self) -> impl Iterator<Item = (&CallId, Option<&AttemptId>)> {
        self.calls.iter().map(|(call, attempt)| (call, attempt.as_ref()))
    }

    /// The attempt of a call; `None` if the call is not in progress.
    pub(crate) fn call(&self, call: &CallId) -> Option<&Option<AttemptId>> {
        self.calls.get(call)
    }
}

/// Books the change of the run's ledger by `event` on the account of its step.
pub(crate) fn charge(by_step: &mut BTreeMap<String, Ledger>, event: &Event, before: &Ledger, now: &Ledger) {
    let visit = match event {
        Event::AttemptStarted(event) => &event.attempt.visit,
        Event::AttemptSettled(event) => &event.attempt.visit,
        Event::ModelCallStarted(event) => match &event.attempt {
            Some(attempt) => &attempt.visit,
            None => return,
        },
        Event::ModelCallEnded(event) => match &event.attempt {
            Some(attempt) => &attempt.visit,
            None => return,
        },
        Event::Routed(event) => &event.visit,
        // Usage before the fork was charged to the original run.
        Event::RunForked(_) => return by_step.clear(),
        _ => return,
    };
    if before != now {
        let account = by_step.entry(key(visit)).or_default();
        *account = account.beyond(&before.beyond(now));
        account.add(&now.beyond(before));
    }
}

/// The step of a visit, with the steps that contain it. Visits and items are not distinguished.
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
