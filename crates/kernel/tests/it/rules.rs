//! What no journal of any run may ever show, told from its records alone.

use envoi_contract::{json::Value, time::Timestamp};
use envoi_kernel::{
    Event, Flow, Record,
    event::{AttemptSettled, Course, Routed},
    flow::Step,
    ids::{AttemptId, StepId, VisitId},
    ledger::Cost,
};
use std::collections::{BTreeMap, BTreeSet};

/// Counts what the records tell, with nothing of the kernel's own state.
#[derive(Default)]
struct Count {
    hops: u64,
    llm_calls: u64,
    wall_time_ms: u64,
    cost: Cost,
    returns: u64,
    /// Returns of each loop since it was entered.
    rounds: BTreeMap<StepId, u64>,
    attempts: BTreeSet<AttemptId>,
    /// Settled attempts, and whether it was too late.
    settled: BTreeSet<(AttemptId, bool)>,
    handed_on: BTreeSet<VisitId>,
    /// The highest visit that left a trace.
    visits: BTreeMap<StepId, u32>,
}

/// Panics at the first record that breaks a rule.
pub(crate) fn check(flow: &Flow, records: &[Record]) {
    let mut count = Count::default();
    let mut last_at = records.first().map(|record| record.at).unwrap_or(Timestamp::from_millis(0));
    for (place, record) in records.iter().enumerate() {
        assert_eq!(record.seq, place as u64, "no gap");
        assert!(record.at >= last_at, "time does not go back");
        last_at = record.at;
        count.take(flow, &record.event);
    }
}

impl Count {
    fn take(&mut self, flow: &Flow, event: &Event) {
        match event {
            Event::AttemptStarted(event) => self.starts(flow, &event.attempt),
            Event::AttemptSettled(event) => {
                assert!(self.attempts.contains(&event.attempt), "{} settled before it began", event.attempt);
                let once = self.settled.insert((event.attempt.clone(), event.late));
                assert!(once, "{} is recorded twice", event.attempt);
                self.charge(event);
            }
            Event::Routed(event) => self.routed(flow, event),
            Event::HandoffWritten(event) => {
                self.counts_on(&event.visit);
                assert!(self.handed_on.insert(event.visit.clone()), "{} handed on twice", event.visit);
            }
            _ => {}
        }
    }

    fn starts(&mut self, flow: &Flow, attempt: &AttemptId) {
        let limits = &flow.limits;
        let below = |used: u64, max: Option<u64>| max.is_none_or(|max| used < max);
        assert!(below(self.hops, limits.agent_hops), "hops");
        assert!(below(self.llm_calls, limits.llm_calls), "calls");
        assert!(below(self.wall_time_ms, limits.wall_time_ms), "time");
        assert!(limits.cost.is_none_or(|max| self.cost < max), "cost");
        self.hops += 1;
        self.counts_on(&attempt.visit);
        assert!(!self.handed_on.contains(&attempt.visit), "{attempt} begins after the hand-off");
        assert!(self.attempts.insert(attempt.clone()), "{attempt} begins twice");
        let before = attempt.attempt - 1;
        assert!(before == 0 || self.attempts.contains(&attempt.visit.attempt(before)), "{attempt} skips one");
    }

    /// Numbers of visits have no gaps.
    fn counts_on(&mut self, visit: &VisitId) {
        let last = self.visits.entry(visit.step.clone()).or_default();
        assert!(visit.visit == *last || visit.visit == *last + 1, "{visit} after {last}");
        *last = visit.visit;
    }

    fn charge(&mut self, event: &AttemptSettled) {
        if event.late {
            return;
        }
        self.wall_time_ms += event.duration_ms;
        self.llm_calls += event.metrics.get("llm_calls").and_then(Value::as_u53).unwrap_or(0);
        let cost = event.metrics.get("cost_usd").and_then(Value::as_str).and_then(Cost::parse);
        self.cost = self.cost.saturating_add(cost.unwrap_or_default());
    }

    fn routed(&mut self, flow: &Flow, event: &Routed) {
        let from = flow.position(&event.visit.step).unwrap();
        match &event.course {
            Course::Enter(target) => {
                let to = flow.position(target).unwrap();
                assert!(to > from, "{} goes back to {target} without counting", event.visit);
                self.enter(flow, from, to, |_| true);
            }
            Course::LoopBack(target) => {
                self.goes_back(flow, &event.visit.step, from, flow.position(target).unwrap())
            }
            Course::Complete | Course::Hold | Course::Stop => {}
        }
    }

    fn goes_back(&mut self, flow: &Flow, closing: &StepId, from: usize, to: usize) {
        assert!(to <= from, "{closing} loops forward");
        assert!(flow.limits.iterations.is_none_or(|max| self.returns < max), "iterations");
        self.returns += 1;
        let closing = flow.step(closing).unwrap();
        let start = start_of(flow, closing).unwrap_or(from);
        self.enter(flow, from, to, |inner| start <= inner);
        let rounds = self.rounds.entry(closing.id.clone()).or_default();
        *rounds += 1;
        assert!(*rounds <= closing.routing.max_iterations, "{} went back {rounds} times", closing.id);
    }

    /// Loops that are entered from outside count anew.
    fn enter(&mut self, flow: &Flow, from: usize, to: usize, may: impl Fn(usize) -> bool) {
        for (end, step) in flow.steps.iter().enumerate() {
            // A person may ask for another round of a step that is no loop.
            let start = start_of(flow, step).unwrap_or(end);
            let inside = |place: usize| (start..=end).contains(&place);
            if inside(to) && !inside(from) && may(start) {
                self.rounds.remove(&step.id);
            }
        }
    }
}

/// The earliest step that `step` may lead back to.
pub(crate) fn start_of(flow: &Flow, step: &Step) -> Option<usize> {
    let own = flow.position(&step.id)?;
    let waits = !step.routing.success_values.is_empty();
    let back = step.routing.loop_to.iter().filter(|_| waits).chain(&step.routing.branches);
    back.filter_map(|target| flow.position(target)).filter(|target| *target <= own).min()
}
