//! The usage of a run, computed from its events alone: every sum comes from the reports and the metered usage
//! of attempts.

use envoi_kernel::{
    event::{AttemptSettled, ModelCallEnded, ModelCallStarted, Outcome},
    flow::{Budget, Limits},
    ids::{AttemptId, CallId},
    ledger::{Cost, Ledger},
};
use std::collections::{BTreeMap, BTreeSet};

/// See the module.
#[derive(Default)]
pub(crate) struct Uses {
    of: BTreeMap<AttemptId, Use>,
    /// Budgets of live attempts that have one.
    reserved: BTreeMap<AttemptId, Budget>,
    /// Calls that are under way, and whose.
    under_way: BTreeMap<CallId, AttemptId>,
    /// Calls that have begun.
    begun: BTreeSet<CallId>,
}

#[derive(Default)]
struct Use {
    /// As the report at the attempt's end has it.
    reported: Reported,
    /// As the model calls of the attempt have it.
    metered: Metered,
}

#[derive(Default)]
struct Reported {
    calls: u64,
    wall_time_ms: u64,
    cost: Cost,
}

#[derive(Clone, Copy, Default)]
struct Metered {
    calls: u64,
    cost: Cost,
}

impl Uses {
    pub(crate) fn calls(&self) -> u64 {
        self.of.values().fold(0, |sum, used| sum.saturating_add(used.reported.calls.max(used.metered.calls)))
    }

    pub(crate) fn wall_time_ms(&self) -> u64 {
        self.of.values().fold(0, |sum, used| sum.saturating_add(used.reported.wall_time_ms))
    }

    pub(crate) fn cost(&self) -> Cost {
        let each = self.of.values().map(|used| used.reported.cost.max(used.metered.cost));
        each.fold(Cost::default(), Cost::saturating_add)
    }

    pub(crate) fn is_under_way(&self, call: &CallId) -> bool {
        self.under_way.contains_key(call)
    }

    pub(crate) fn has_begun(&self, call: &CallId) -> bool {
        self.begun.contains(call)
    }

    pub(crate) fn calls_begun(&self) -> u64 {
        u64::try_from(self.begun.len()).unwrap_or(u64::MAX)
    }

    pub(crate) fn under_way(&self) -> usize {
        self.under_way.len()
    }

    pub(crate) fn reserve(&mut self, attempt: &AttemptId, budget: Option<Budget>) {
        self.reserved.extend(budget.map(|budget| (attempt.clone(), budget)));
    }

    /// The usage, plus the unused budgets of all attempts but this one: calls and cost.
    fn taken(&self, but: Option<&AttemptId>) -> (u64, Cost) {
        let mut taken = (self.calls(), self.cost());
        for (attempt, budget) in self.reserved.iter().filter(|(attempt, _)| Some(*attempt) != but) {
            let used = self.of.get(attempt).map(|used| used.metered).unwrap_or_default();
            taken.0 = taken.0.saturating_add(budget.llm_calls.unwrap_or(0).saturating_sub(used.calls));
            taken.1 = taken.1.saturating_add(budget.cost.unwrap_or_default().saturating_sub(used.cost));
        }
        taken
    }

    /// With what the live attempts may still use, one with this budget stays within the bounds of calls and cost.
    pub(crate) fn leaves_room(&self, limits: &Limits, more: &Ledger, budget: Budget) -> bool {
        let taken = self.taken(None);
        let calls = limits.llm_calls.is_none_or(|max| {
            let max = max.saturating_add(more.llm_calls);
            budget.llm_calls.map_or(taken.0 < max, |wanted| taken.0.saturating_add(wanted) <= max)
        });
        let cost = limits.cost.is_none_or(|max| {
            let max = max.saturating_add(more.cost);
            budget.cost.map_or(taken.1 < max, |wanted| taken.1.saturating_add(wanted) <= max)
        });
        calls && cost
    }

    /// Whether a call may begin: within the bounds, and the budget of its attempt.
    pub(crate) fn may_call(&self, limits: &Limits, more: &Ledger, attempt: &AttemptId) -> bool {
        let (calls, cost) = self.taken(Some(attempt));
        let budget = self.reserved.get(attempt).copied().unwrap_or_default();
        let own = self.of.get(attempt).map(|used| used.metered).unwrap_or_default();
        limits.llm_calls.is_none_or(|max| calls < max.saturating_add(more.llm_calls))
            && limits.cost.is_none_or(|max| cost < max.saturating_add(more.cost))
            && budget.llm_calls.is_none_or(|max| own.calls < max)
            && budget.cost.is_none_or(|max| own.cost < max)
    }

    /// A call begins. False if it had begun before, or is of no attempt.
    pub(crate) fn call_begins(&mut self, event: &ModelCallStarted) -> bool {
        let Some(attempt) = &event.attempt else { return false };
        let metered = &mut self.of.entry(attempt.clone()).or_default().metered;
        metered.calls = metered.calls.saturating_add(1);
        self.under_way.insert(event.call.clone(), attempt.clone());
        self.begun.insert(event.call.clone())
    }

    /// A call is over. False if it was not under way.
    pub(crate) fn call_ends(&mut self, event: &ModelCallEnded) -> bool {
        let Some(attempt) = self.under_way.remove(&event.call) else { return false };
        let known = event.attempt.as_ref() == Some(&attempt);
        let metered = &mut self.of.entry(attempt).or_default().metered;
        metered.cost = metered.cost.saturating_add(event.cost.unwrap_or_default());
        known
    }

    /// An attempt is over; one in doubt may have used all that it had. False if it is called a success and used more than that.
    pub(crate) fn settles(&mut self, settled: &AttemptSettled) -> bool {
        let budget = self.reserved.remove(&settled.attempt).unwrap_or_default();
        let used = self.of.entry(settled.attempt.clone()).or_default();
        let calls = settled.metrics.get("llm_calls").and_then(|calls| calls.as_u53()).unwrap_or(0);
        let cost = settled.metrics.get("cost_usd").and_then(|cost| cost.as_str()).and_then(Cost::parse);
        let mut calls = calls;
        let mut cost = cost.unwrap_or_default();
        // An attempt in doubt may have used its whole budget, whatever its metrics say.
        if matches!(settled.outcome, Outcome::InDoubt { .. }) {
            calls = budget.llm_calls.unwrap_or(0);
            cost = budget.cost.unwrap_or_default();
        }
        let calls_used = calls.max(used.metered.calls);
        let cost_used = cost.max(used.metered.cost);
        // A late end does not take back what was counted before.
        used.reported = Reported {
            calls: calls.max(used.reported.calls),
            wall_time_ms: settled.duration_ms.max(used.reported.wall_time_ms),
            cost: cost.max(used.reported.cost),
        };
        let over = budget.llm_calls.is_some_and(|max| calls_used > max)
            || budget.cost.is_some_and(|max| cost_used > max);
        !over || !settled.ok || settled.late
    }
}
