//! The bounds of a run, checked before each start: `used < max`, and with a budget `used + budget <= max`.
//!
//! Reservations of live attempts count as used, so that several attempts together cannot exceed a bound. A
//! run that needs exactly its bounds completes; nothing starts once a bound is used up.

use crate::state::{limits::Bound, program_session, visit};
use crate::{
    model::{
        flow::{Flow, Limits, Step},
        ids::{AttemptId, VisitId},
        ledger::{Budget, Cost, Ledger},
    },
    state::control::Control,
};

/// A bound that is used up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reached {
    pub(crate) bound: Bound,
    /// The reason for people, such as `agent_hops 21 of 21 is used up`.
    pub(crate) reason: String,
}

/// Whether the bounds allow a start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Room {
    /// They allow it.
    Enough,
    /// They may allow it later, when live attempts release unused reservations.
    NotYet,
    /// This bound forbids it, however much the live attempts release.
    Never(Reached),
}

/// Whether a further attempt that reserves `budget` may start.
pub(crate) fn room(limits: &Limits, control: &Control, budget: &Budget) -> Room {
    let raised = &control.raised;
    let used = &counted(limits, &control.ledger);
    let reserved = control.accounts.reserved();
    let hops = Tally::of(used.agent_hops, limits.agent_hops, raised.agent_hops);
    let time = Tally::of(used.wall_time_ms, limits.wall_time_ms, raised.wall_time_ms);
    let calls = Tally::of(used.llm_calls, limits.llm_calls, raised.llm_calls).map(|tally| Tally {
        reserved: reserved.llm_calls,
        wanted: budget.llm_calls,
        ..tally
    });
    let cost = Tally::of(used.cost.nano_usd(), limits.cost.map(Cost::nano_usd), raised.cost.nano_usd());
    let cost = cost.map(|tally| Tally {
        reserved: reserved.cost.nano_usd(),
        wanted: budget.cost.map(Cost::nano_usd),
        ..tally
    });
    let mut not_yet = false;
    let tallies =
        [(Bound::AgentHops, hops), (Bound::LlmCalls, calls), (Bound::WallTime, time), (Bound::Cost, cost)];
    for (bound, tally) in tallies {
        let Some(tally) = tally.filter(|tally| !tally.fits(tally.reserved)) else { continue };
        if !tally.fits(0) {
            let reason = tally.in_words(bound) + &assumed_in_words(limits, &control.ledger, bound);
            return Room::Never(Reached { bound, reason });
        }
        not_yet = true;
    }
    if not_yet { Room::NotYet } else { Room::Enough }
}

/// Why no further model call may begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoCall {
    /// The attempt has used up its own budget.
    ByTheAttempt(String),
    /// The run has used up a bound, counting the reservations of other attempts.
    ByTheRun(String),
}

impl NoCall {
    /// The reason for people.
    pub(crate) fn reason(self) -> String {
        let (Self::ByTheAttempt(reason) | Self::ByTheRun(reason)) = self;
        reason
    }
}

/// Why no further model call may begin; `None` if one may. The cost of calls in progress is not known yet and
/// does not count.
pub(crate) fn for_a_call(limits: &Limits, control: &Control, attempt: Option<&AttemptId>) -> Option<NoCall> {
    let (budget, own) = attempt.map(|attempt| control.accounts.of(attempt)).unwrap_or_default();
    let others = control.accounts.reserved_beside(attempt);
    let raised = &control.raised;
    let used = &counted(limits, &control.ledger);
    let nanos = |cost: Option<Cost>| cost.map(Cost::nano_usd);
    let calls = (own.llm_calls, budget.llm_calls);
    let cost = (own.cost.nano_usd(), nanos(budget.cost));
    let budgets = [(Bound::LlmCalls, calls), (Bound::Cost, cost)];
    let of_the_attempt = budgets.into_iter().find_map(|(bound, (used, max))| {
        let tally = Tally::of(used, max, 0).filter(|tally| !tally.fits(0))?;
        Some(NoCall::ByTheAttempt(format!("{} by the attempt", tally.in_words(bound))))
    });
    let calls = Tally::of(used.llm_calls, limits.llm_calls, raised.llm_calls);
    let cost = Tally::of(used.cost.nano_usd(), nanos(limits.cost), raised.cost.nano_usd());
    let of_the_run =
        [(Bound::LlmCalls, calls, others.llm_calls), (Bound::Cost, cost, others.cost.nano_usd())];
    of_the_attempt.or_else(|| {
        of_the_run.into_iter().find_map(|(bound, tally, reserved)| {
            let tally = Tally { reserved, ..tally? };
            let reason = || tally.in_words(bound) + &assumed_in_words(limits, &control.ledger, bound);
            (!tally.fits(reserved)).then(|| NoCall::ByTheRun(reason()))
        })
    })
}

/// The usage that counts: the known usage, plus the amount that the flow declares for unknown usage.
fn counted(limits: &Limits, used: &Ledger) -> Ledger {
    let Budget { llm_calls, cost } = limits.unknown;
    let cost = cost.unwrap_or_default().nano_usd().saturating_mul(used.unknown_costs);
    let assumed = Ledger {
        llm_calls: llm_calls.unwrap_or(0).saturating_mul(used.unknown_calls),
        cost: Cost::from_nano_usd(cost),
        ..Ledger::default()
    };
    let mut counted = used.clone();
    counted.add(&assumed);
    counted
}

/// The assumed part of the usage, as the end of a sentence.
fn assumed_in_words(limits: &Limits, used: &Ledger, bound: Bound) -> String {
    let (unknown, each) = match bound {
        Bound::LlmCalls => (used.unknown_calls, limits.unknown.llm_calls.map(|calls| calls.to_string())),
        Bound::Cost => (used.unknown_costs, limits.unknown.cost.map(|cost| cost.to_string())),
        _ => return String::new(),
    };
    match each.filter(|_| unknown > 0) {
        Some(each) => format!(", with {each} for each of {unknown} that are not known (`limits.unknown`)"),
        None => String::new(),
    }
}

/// Visits that wait only for a free slot or for another look.
pub(crate) fn ready<'c>(flow: &'c Flow, control: &'c Control) -> impl Iterator<Item = &'c VisitId> {
    control.movable().filter(move |id| !is_held_up(flow, control, id))
}

/// Whether `visit` waits for reservations of live attempts. It is examined again when they settle.
pub(crate) fn is_held_up(flow: &Flow, control: &Control, visit: &VisitId) -> bool {
    // This runs often for all ready visits, and most runs have no budgets and no sessions.
    let has_budgets = !control.accounts.is_free();
    let has_sessions = !control.sessions.is_empty();
    (has_budgets || has_sessions)
        && control.flow(flow, visit.flow_scope()).step(&visit.step).is_some_and(|step| {
            let budget = visit::budget_of_next(control.open.get(visit), step);
            waits_for_session(control, visit, step)
                || (has_budgets && room(&flow.limits, control, &budget) == Room::NotYet)
        })
}

/// Whether the session that the next attempt of `visit` continues is live in another visit. It is examined
/// again when that visit settles.
pub(crate) fn waits_for_session(control: &Control, visit: &VisitId, step: &Step) -> bool {
    let other = control.open.get(visit).is_some_and(|open| open.waited.other);
    program_session::key(step, visit, other)
        .is_some_and(|key| program_session::is_live(&control.open, visit, &key))
}

/// The bound on loop-backs, if it forbids a further one.
pub(crate) fn for_a_loop_back(limits: &Limits, raised: &Ledger, used: &Ledger) -> Option<Reached> {
    let tally = Tally::of(used.iterations, limits.iterations, raised.iterations)?;
    let bound = Bound::Iterations;
    (!tally.fits(0)).then(|| Reached { bound, reason: tally.in_words(bound) })
}

/// The bound on rounds, if it forbids a further one.
pub(crate) fn for_a_round(flow: &Flow, control: &Control) -> Option<Reached> {
    let max = flow.goals.as_ref().map(|goals| goals.max_rounds);
    let tally = Tally::of(control.ledger.rounds, max, control.raised.rounds)?;
    let bound = Bound::Rounds;
    (!tally.fits(0)).then(|| Reached { bound, reason: tally.in_words(bound) })
}

/// The state of one bound.
#[derive(Debug, Clone, Copy)]
struct Tally {
    used: u64,
    reserved: u64,
    wanted: Option<u64>,
    max: u64,
}

impl Tally {
    fn of(used: u64, max: Option<u64>, raised: u64) -> Option<Self> {
        Some(Self { used, reserved: 0, wanted: None, max: max?.saturating_add(raised) })
    }

    /// A step with a budget may use all of the rest. A step without one starts as long as anything is left. A
    /// step with a budget of 0 always fits, even if others have exceeded the bound.
    fn fits(&self, reserved: u64) -> bool {
        let taken = self.used.checked_add(reserved);
        match self.wanted {
            Some(0) => true,
            Some(wanted) => {
                taken.and_then(|taken| taken.checked_add(wanted)).is_some_and(|all| all <= self.max)
            }
            None => taken.is_some_and(|taken| taken < self.max),
        }
    }

    fn in_words(&self, bound: Bound) -> String {
        let amount = |count: u64| match bound {
            Bound::Cost => Cost::from_nano_usd(count).to_string(),
            _ => count.to_string(),
        };
        let name = bound.name();
        let unit = if bound == Bound::WallTime { "_ms" } else { "" };
        let used = amount(self.used);
        let max = amount(self.max);
        match self.wanted {
            Some(wanted) => format!(
                "{name} {used} used, {} reserved, {} wanted, {max} is the limit",
                amount(self.reserved),
                amount(wanted)
            ),
            None if self.fits(0) => {
                format!("{name} {used} used, {} reserved, {max} is the limit", amount(self.reserved))
            }
            None => format!("{name}{unit} {used} of {max} is used up"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_have_set_aside_counts_and_may_come_back() {
        let fits = |used, reserved, wanted, max| {
            let tally = Tally { used, reserved, wanted, max };
            (tally.fits(reserved), tally.fits(0))
        };
        for (used, reserved, wanted, max, expected) in [
            (0, 0, None, 1, (true, true)),
            (1, 0, None, 1, (false, false)),
            (0, 1, None, 1, (false, true)),
            (2, 3, Some(5), 10, (true, true)),
            (2, 4, Some(5), 10, (false, true)),
            (6, 0, Some(5), 10, (false, false)),
            (10, 0, Some(0), 10, (true, true)),
            (11, 0, Some(0), 10, (true, true)),
            (5, 20, Some(0), 10, (true, true)),
            (u64::MAX, 1, Some(1), u64::MAX, (false, false)),
            (0, u64::MAX, Some(u64::MAX), u64::MAX, (false, true)),
        ] {
            assert_eq!(fits(used, reserved, wanted, max), expected, "{used} {reserved} {wanted:?} {max}");
        }
    }
}
