//! The outlook: the effects of a correction on a run, for the person who decides about it.

use crate::{
    model::{
        flow::{Change, Flow, Step, compare},
        ids::{AttemptId, StepId},
    },
    state::{
        carry_over,
        control::Control,
        doubt,
        flow_state::{Kept, Standing, StepState},
        graph, way_back,
    },
};
use envoi_contract::{digest::Digest, handoff::Status};
use std::collections::BTreeSet;

/// The effects of a correction on a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outlook {
    /// The steps of both flows: those of the new flow in its order, then the removed ones.
    pub steps: Vec<StepOutlook>,
    /// The step at which the run continues, in listed order.
    pub goes_on_at: Option<StepId>,
    /// The changed bounds, each as `name: before -> after`.
    pub limits: Vec<String>,
    /// Further effects, one sentence each.
    pub notes: Vec<String>,
    /// Why the corrected flow cannot take effect, one sentence each; empty: it can.
    pub refusals: Vec<String>,
    /// Whether an attempt is live. If so, the corrected flow takes effect when it has settled.
    pub waits: bool,
    /// Digest of all of the above, the run, both flows and the step from which to repeat. If it is unchanged,
    /// the outlook that a person saw is still true.
    pub digest: Digest,
}

/// A step in the outlook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepOutlook {
    /// The step.
    pub step: StepId,
    /// How it changes.
    pub change: Change,
    /// How its last visit ended; `None`: it has not been executed.
    pub done: Option<Status>,
    /// Whether the run will still reach it on its ordinary path.
    pub to_run: bool,
}

impl Outlook {
    pub(crate) fn of(old: &Flow, new: &Flow, control: &Control, from: Option<&StepId>) -> Self {
        let stands = match from {
            Some(from) => Stands::At(from.clone()),
            None => standpoint(old, new, control),
        };
        let ahead = ahead(old, new, control, from, &stands);
        let outlook = |(step, change): (StepId, Change)| {
            let state = control.top.steps.get(&step);
            let done = state.and_then(|state| state.last.as_ref()).map(|last| last.status);
            let to_run =
                change != Change::Gone && ahead.contains(&step) && !control.leaves_out(new, "", &step);
            StepOutlook { step, change, done, to_run }
        };
        let void = carry_over::yes_void(control, old, new);
        let is_ahead = |step: &&Step| ahead.contains(&step.id) && !control.leaves_out(new, "", &step.id);
        let asked = new.steps.iter().filter(is_ahead).filter(|step| doubt::is_asked_about(step));
        let in_doubt = asked.flat_map(|step| {
            let kept = control.top.steps.get(&step.id).and_then(|state| state.kept.as_ref());
            kept.into_iter().flat_map(Kept::doubts).map(|doubt| asks_first(&doubt.attempt))
        });
        let outlook = Self {
            steps: compare(old, new).into_iter().map(outlook).collect(),
            goes_on_at: stands.goes_on_at().filter(|_| !new.graph),
            limits: limits(old, new),
            notes: in_doubt.chain(void.iter().map(no_yes)).collect(),
            refusals: carry_over::refusals(control, old, new, from),
            waits: control.has_live(),
            digest: Digest::of(b""),
        };
        let run = control.phase.started().map(|started| &started.run);
        let versions = [old, new].map(|flow| (flow.digest, flow.language));
        Self { digest: Digest::of(format!("{:?}", (run, versions, from, &outlook)).as_bytes()), ..outlook }
    }
}

fn asks_first(attempt: &AttemptId) -> String {
    format!("attempt `{attempt}` is in doubt: you are asked what became of it before its step runs again")
}

fn no_yes(step: &StepId) -> String {
    format!("the approval of step `{step}` that was given in advance does not count for what the file says")
}

/// The position of the run's own flow.
enum Stands {
    /// The position is not known.
    Nowhere,
    /// At this step, which is executed next.
    At(StepId),
    /// A loop, or a round, goes back to this step: a bound blocked it, and no longer does.
    GoesBackTo(StepId),
    /// After this step, which has ended: a person decides where it leads.
    Behind(StepId),
}

impl Stands {
    fn goes_on_at(&self) -> Option<StepId> {
        match self {
            Self::At(step) | Self::GoesBackTo(step) => Some(step.clone()),
            Self::Nowhere | Self::Behind(_) => None,
        }
    }
}

fn standpoint(old: &Flow, new: &Flow, control: &Control) -> Stands {
    let is_there = |step: &StepId| new.step(step).is_some();
    let at = |step: StepId| if is_there(&step) { Stands::At(step) } else { Stands::Nowhere };
    let open = control.open.keys().filter_map(|visit| control.holder(visit, "")).map(|visit| visit.step);
    if let Some(open) = open.into_iter().next() {
        return at(open);
    }
    for raised in control.interrupts.values() {
        let target = match raised.visit.scope.is_empty() {
            true => way_back::of_question(control, new, raised.about, &raised.visit, &raised.evidence),
            false => None,
        };
        let behind = || control.holder(&raised.visit, "").map(|visit| visit.step).filter(is_there);
        if let Some(stands) = target.map(Stands::GoesBackTo).or_else(|| behind().map(Stands::Behind)) {
            return stands;
        }
    }
    if let Some(way) = way_back::of_end(control, old, new) {
        return Stands::GoesBackTo(way.target);
    }
    let stopped = control.phase.ended().and_then(|end| end.stopped_by.clone());
    let last = || control.last_handoff.as_ref().and_then(|visit| control.holder(visit, ""));
    stopped.or_else(|| last().map(|visit| visit.step)).map_or(Stands::Nowhere, at)
}

/// The steps that the run will still reach.
fn ahead(
    old: &Flow,
    new: &Flow,
    control: &Control,
    from: Option<&StepId>,
    stands: &Stands,
) -> BTreeSet<StepId> {
    if !new.graph {
        let place = |step: &StepId| new.position(step);
        let first = match stands {
            Stands::At(step) | Stands::GoesBackTo(step) => place(step),
            Stands::Behind(step) => place(step).map(|place| place.saturating_add(1)),
            Stands::Nowhere => None,
        };
        return new.steps.iter().skip(first.unwrap_or(usize::MAX)).map(|step| step.id.clone()).collect();
    }
    let mut top = control.top.clone();
    if control.phase.ended().is_some() {
        graph::take_up_failed(old, &mut top);
        graph::take_up_failed(new, &mut top);
    }
    let goes_back_to = match stands {
        Stands::GoesBackTo(step) => Some(step),
        Stands::Nowhere | Stands::At(_) | Stands::Behind(_) => None,
    };
    if let Some(again) = from.or(goes_back_to) {
        top.reset(&graph::descendants(new, again));
    }
    if let Some(part) = control.part() {
        top.reset(&part.selection.taken_in(old, new));
    }
    // A held step has ended; only its course is open.
    let is_over = |state: &StepState| {
        state.held || matches!(state.standing, Some(Standing::Passed | Standing::Skipped | Standing::Taken))
    };
    let steps = new.steps.iter().filter(|step| !top.steps.get(&step.id).is_some_and(is_over));
    steps.map(|step| step.id.clone()).collect()
}

fn limits(old: &Flow, new: &Flow) -> Vec<String> {
    let number = |value: Option<u64>| value.map_or("none".to_owned(), |value| value.to_string());
    let cost = |flow: &Flow| flow.limits.cost.map_or("none".to_owned(), |cost| cost.to_string());
    let rounds = |flow: &Flow| number(flow.goals.as_ref().map(|plan| plan.max_rounds));
    let before = &old.limits;
    let after = &new.limits;
    let assumed = |flow: &Flow| flow.limits.unknown.cost.map_or("none".to_owned(), |cost| cost.to_string());
    let all = [
        ("agent_hops", number(before.agent_hops), number(after.agent_hops)),
        ("iterations", number(before.iterations), number(after.iterations)),
        ("llm_calls", number(before.llm_calls), number(after.llm_calls)),
        ("wall_time_ms", number(before.wall_time_ms), number(after.wall_time_ms)),
        ("waiting_ms", number(before.waiting_ms), number(after.waiting_ms)),
        ("cost_usd", cost(old), cost(new)),
        ("unknown.llm_calls", number(before.unknown.llm_calls), number(after.unknown.llm_calls)),
        ("unknown.cost_usd", assumed(old), assumed(new)),
        ("rounds", rounds(old), rounds(new)),
    ];
    let differing = all.into_iter().filter(|(_, before, after)| before != after);
    differing.map(|(name, before, after)| format!("{name}: {before} -> {after}")).collect()
}
