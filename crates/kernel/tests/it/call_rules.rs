//! Rules for usage, checked from the records alone: every sum is computed again from the reports and the
//! metered usage of attempts.

use envoi_contract::json::Value;
use envoi_kernel::{
    Flow,
    event::{AttemptSettled, CallOutcome, ModelCallEnded, ModelCallStarted, Outcome},
    flow::Budget,
    ids::{AttemptId, CallId},
    ledger::{Cost, Ledger},
};
use std::collections::{BTreeMap, BTreeSet};

/// See the module.
#[derive(Default)]
pub(crate) struct Uses {
    of: BTreeMap<AttemptId, Use>,
    /// Calls that no attempt made.
    beside: (u64, Cost),
    under_way: BTreeMap<CallId, Option<AttemptId>>,
    called: BTreeSet<CallId>,
    live: BTreeMap<AttemptId, Budget>,
}

#[derive(Default)]
struct Use {
    told: (u64, u64, Cost),
    metered: (u64, Cost),
}

impl Uses {
    pub(crate) fn calls(&self) -> u64 {
        self.beside.0 + self.of.values().map(|used| used.told.1.max(used.metered.0)).sum::<u64>()
    }

    pub(crate) fn cost(&self) -> Cost {
        let each = self.of.values().map(|used| used.told.2.max(used.metered.1));
        each.fold(self.beside.1, Cost::saturating_add)
    }

    pub(crate) fn wall_time_ms(&self) -> u64 {
        self.of.values().map(|used| used.told.0).sum()
    }

    /// The unused budgets of live attempts, except this one.
    fn set_aside(&self, but: Option<&AttemptId>) -> (u64, Cost) {
        let others = self.live.iter().filter(|(attempt, _)| Some(*attempt) != but);
        others.fold((0, Cost::default()), |sum, (attempt, budget)| {
            let used = self.of.get(attempt).map(|used| used.metered).unwrap_or_default();
            let calls = budget.llm_calls.unwrap_or(0).saturating_sub(used.0);
            let cost = budget.cost.unwrap_or_default().saturating_sub(used.1);
            (sum.0 + calls, sum.1.saturating_add(cost))
        })
    }

    /// Together with what the live attempts may still use, a new one stays within every bound.
    /// An attempt that uses nothing of a limit takes nothing from it, and is not held by it.
    pub(crate) fn begins(&mut self, flow: &Flow, raised: &Ledger, attempt: &AttemptId, budget: Budget) {
        let (calls, cost) = self.set_aside(None);
        if let Some(max) = flow.limits.llm_calls.map(|max| max + raised.llm_calls) {
            let taken = self.calls() + calls;
            let fits = budget.llm_calls.map_or(taken < max, |wanted| wanted == 0 || taken + wanted <= max);
            assert!(fits, "calls of {attempt}");
        }
        if let Some(max) = flow.limits.cost.map(|max| max.saturating_add(raised.cost)) {
            let taken = self.cost().saturating_add(cost);
            let fits = budget.cost.map_or(taken < max, |wanted| {
                wanted == Cost::default() || taken.saturating_add(wanted) <= max
            });
            assert!(fits, "cost of {attempt}");
        }
        self.live.insert(attempt.clone(), budget);
    }

    /// A call is of a live attempt, within its budget, and leaves the others what they have set aside.
    pub(crate) fn call_begins(&mut self, flow: &Flow, raised: &Ledger, event: &ModelCallStarted) {
        assert!(self.called.insert(event.call.clone()), "{} begins twice", event.call);
        let (calls, cost) = self.set_aside(event.attempt.as_ref());
        let max = flow.limits.llm_calls.map(|max| max + raised.llm_calls);
        assert!(max.is_none_or(|max| self.calls() + calls < max), "{} passes the calls", event.call);
        let max = flow.limits.cost.map(|max| max.saturating_add(raised.cost));
        let taken = self.cost().saturating_add(cost);
        assert!(max.is_none_or(|max| taken < max), "{} passes the cost", event.call);
        if let Some(attempt) = &event.attempt {
            let budget = self.live.get(attempt).unwrap_or_else(|| panic!("{attempt} is not live"));
            let used = self.of.entry(attempt.clone()).or_default();
            assert!(budget.llm_calls.is_none_or(|max| used.metered.0 < max), "calls of {attempt}");
            assert!(budget.cost.is_none_or(|max| used.metered.1 < max), "cost of {attempt}");
            used.metered.0 += 1;
        } else {
            self.beside.0 += 1;
        }
        self.under_way.insert(event.call.clone(), event.attempt.clone());
    }

    pub(crate) fn call_ends(&mut self, event: &ModelCallEnded) {
        let of = self.under_way.remove(&event.call);
        assert_eq!(of.as_ref(), Some(&event.attempt), "{} ends once, as it began", event.call);
        assert!(event.cost.is_none() || event.outcome == CallOutcome::Ok);
        let cost = event.cost.unwrap_or_default();
        match &event.attempt {
            None => self.beside.1 = self.beside.1.saturating_add(cost),
            Some(attempt) => {
                let used = self.of.entry(attempt.clone()).or_default();
                used.metered.1 = used.metered.1.saturating_add(cost);
            }
        }
    }

    /// An attempt is over; one in doubt may have used all that it was given, and has used what is known of it.
    pub(crate) fn settles(&mut self, event: &AttemptSettled) {
        let budget = self.live.remove(&event.attempt);
        let max = budget.unwrap_or_default();
        let used = self.of.entry(event.attempt.clone()).or_default();
        let calls = event.metrics.get("llm_calls").and_then(Value::as_u53).unwrap_or(0);
        let cost = event.metrics.get("cost_usd").and_then(Value::as_str).and_then(Cost::parse);
        let mut told = (calls, cost.unwrap_or_default());
        if matches!(event.outcome, Outcome::InDoubt { .. }) {
            told = (told.0.max(max.llm_calls.unwrap_or(0)), told.1.max(max.cost.unwrap_or_default()));
        } else if !event.late {
            let seen = (told.0.max(used.metered.0), told.1.max(used.metered.1));
            let over =
                max.llm_calls.is_some_and(|max| seen.0 > max) || max.cost.is_some_and(|max| seen.1 > max);
            let says = event.error.as_ref().is_some_and(|error| error.code == "BUDGET_OVERRUN");
            assert_eq!(over, says, "{}: {:?}", event.attempt, event.error);
        }
        let time = event.duration_ms.max(used.told.0);
        used.told = (time, told.0.max(used.told.1), told.1.max(used.told.2));
    }

    /// The sums that a run of these records keeps.
    pub(crate) fn agree_with(&self, ledger: &Ledger) {
        assert_eq!(
            (ledger.llm_calls, ledger.cost, ledger.wall_time_ms),
            (self.calls(), self.cost(), self.wall_time_ms())
        );
    }

    /// Compares the reservations with those of a run with these records.
    pub(crate) fn agree_on_reserved(&self, reserved: &Ledger) {
        assert_eq!((reserved.llm_calls, reserved.cost), self.set_aside(None));
    }

    /// Usage that belongs to no step.
    pub(crate) fn beside(&self) -> (u64, Cost) {
        self.beside
    }
}
