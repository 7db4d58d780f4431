//! Checks whether a run can continue under a corrected flow.
//!
//! Everything in progress needs a counterpart in the new flow: attempts, questions and doubts need their
//! step; loops and rounds need their ends; inner flows need their flow. This module does not change the run.

use crate::{
    model::{
        flow::{Change, Flow, Step, StepKind, change},
        ids::{StepId, VisitId},
    },
    state::{
        control::Control,
        corrected_inputs::corrected_inputs,
        doubt,
        flow_state::{FlowState, Kept, StepState},
        graph, loops,
        visit::{self, OpenVisit, VisitState},
    },
};
use core::mem::discriminant;
use std::collections::{BTreeMap, BTreeSet};

/// Why the run cannot continue under `new`, one sentence each; empty: it can. `from` is the step from which
/// the run is to be repeated.
pub(crate) fn refusals(control: &Control, old: &Flow, new: &Flow, from: Option<&StepId>) -> Vec<String> {
    let mut found = Vec::new();
    if old.id != new.id {
        found.push(format!("the file is of flow `{}`, and the run is of flow `{}`", new.id, old.id));
        return found;
    }
    if old.workspace != new.workspace {
        found.push(format!("`workspace` cannot become `{}`: the run works where it began", new.workspace));
    }
    for (scope, state) in control.flow_states() {
        if control.is_orphaned(new, scope, state) {
            continue;
        }
        let before = control.flow(old, scope);
        let Some(after) = control.counterpart(new, scope) else {
            found.push(format!("flow `{}` is under way, and the file does not have it any more", before.id));
            continue;
        };
        let is_redone = from.is_some_and(|from| is_within(control, new, state, from));
        let from = from.filter(|_| scope.is_empty());
        let place = FlowVersions { control, scope, state, before, after, from, is_redone };
        found.extend(place.refusals());
    }
    // An abandoned attempt in doubt, about which a person has decided, blocks nothing: a late result is only
    // recorded.
    for attempt in control.abandoned.iter().filter(|attempt| control.ending.contains_key(attempt)) {
        let visit = &attempt.visit;
        let after = control.counterpart(new, visit.flow_scope());
        if after.and_then(|flow| flow.step(&visit.step)).is_none() {
            found.push(format!(
                "step `{}` is gone, and attempt `{attempt}` of it is being ended: correct the flow again when that is done",
                visit.step
            ));
        }
    }
    found.extend(from.and_then(|from| may_begin_again(control, old, new, from)));
    if let Some(part) = control.part() {
        let lack = part.check(new, &BTreeMap::new()).err();
        found.extend(lack.map(|lack| format!("the run is a part ({}): {lack}", part.selection.options())));
        let left_out = from.filter(|from| new.step(from).is_some() && control.leaves_out(new, "", from));
        found.extend(left_out.map(|from| format!("step `{from}` is left out of the part that is run")));
    }
    found.dedup();
    found
}

/// The steps whose approval in advance becomes void, because the corrected flow changes them.
pub(crate) fn yes_void(control: &Control, old: &Flow, new: &Flow) -> Vec<StepId> {
    let given = control.phase.started().map(|started| started.yes_to.as_slice()).unwrap_or_default();
    given.iter().filter(|step| change(old, new, step) != Change::Kept).cloned().collect()
}

/// A flow of the run, before and after the correction.
struct FlowVersions<'a> {
    control: &'a Control,
    scope: &'a str,
    state: &'a FlowState,
    before: &'a Flow,
    after: &'a Flow,
    from: Option<&'a StepId>,
    /// Whether it is within the steps that will be repeated.
    is_redone: bool,
}

/// Whether an inner flow is within the steps that will be repeated from this step.
fn is_within(control: &Control, new: &Flow, state: &FlowState, from: &StepId) -> bool {
    let holder = state.caller.as_ref().and_then(|caller| control.holder(caller, ""));
    holder.is_some_and(|holder| !new.graph || graph::descendants(new, from).contains(&holder.step))
}

impl FlowVersions<'_> {
    fn refusals(&self) -> Vec<String> {
        let before = self.before;
        let after = self.after;
        if before.graph != after.graph {
            let was = |graph: bool| if graph { "a graph (`needs`)" } else { "a list" };
            return vec![format!(
                "flow `{}` was {} and is {} now",
                before.id,
                was(before.graph),
                was(after.graph)
            )];
        }
        let mut found = Vec::new();
        let given = corrected_inputs(before, after, &self.state.inputs);
        found.extend((after.input_check.0)(after, &given).err().map(|misfit| misfit.to_string()));
        for (visit, open) in &self.control.open {
            if visit.flow_scope() == self.scope {
                found.extend(self.open(visit, open));
            }
        }
        for (id, state) in &self.state.steps {
            found.extend(self.kept(id, state));
        }
        if self.from.is_none() {
            found.extend(self.standpoint());
            found.extend(self.loops());
        }
        found.extend(self.rounds());
        found
    }

    fn open(&self, visit: &VisitId, open: &OpenVisit) -> Option<String> {
        let id = &visit.step;
        let is_doubtful = open.doubt.is_some() || open.state == VisitState::InDoubt;
        let is_undecided = self.before.step(id).is_some_and(|step| visit::is_undecided(open, step));
        if is_undecided && (self.from.is_some() || self.is_redone) {
            return Some(format!(
                "an attempt of step `{id}` is in doubt: decide that before the run goes back"
            ));
        }
        let is_live = open.state == VisitState::Running;
        let begun = open.attempts > 0 || matches!(open.state, VisitState::ForEach | VisitState::Inside);
        let Some(after) = self.after.step(id) else {
            let why = match (is_live, is_doubtful) {
                (true, _) => "and an attempt of it is running",
                (_, true) => "and an attempt of it is in doubt",
                _ if self.from.is_none() && !self.before.graph => {
                    "and the run stands there: say with `--from STEP` where it goes on"
                }
                _ => return None,
            };
            return Some(format!("step `{id}` is gone, {why}"));
        };
        let begins_again =
            |from: &StepId| !self.after.graph || graph::descendants(self.after, from).contains(id);
        if self.from.is_some_and(begins_again) && !is_live {
            return None;
        }
        let before = self.before.step(id)?;
        if begun && !are_alike(before, after) {
            return Some(format!(
                "step `{id}` is under way, and is of another kind in the file: finish or cancel it first"
            ));
        }
        let given = match open.state {
            VisitState::ForEach | VisitState::Inside => Given::of(before, after, visit.item().is_none()),
            _ => None,
        };
        given.filter(|_| !self.is_redone).map(|given| self.keeps(id, given, "is under way"))
    }

    /// The sentence that refuses a change of a started step's input.
    fn keeps(&self, id: &StepId, given: Given, how: &str) -> String {
        let what = match given {
            Given::List => "its list (`for_each`)",
            Given::Inputs => "the `inputs` of its flow",
        };
        let anew = match self.scope {
            "" => format!("`--from {id}` does it anew"),
            _ => "`--from` the step of the run's own flow that it is part of does it anew".to_owned(),
        };
        format!("step `{id}` {how} with {what} as it began, and the file has another one there: {anew}")
    }

    /// The refusal because of work that an ended visit keeps for the next one.
    fn kept(&self, id: &StepId, state: &StepState) -> Option<String> {
        match (state.kept.as_ref()?, self.after.step(id)) {
            (Kept::Doubt(_), None) => Some(format!("step `{id}` is gone, and an attempt of it is in doubt")),
            (Kept::Doubt(_), Some(after)) if !after.has_attempts() => {
                Some(format!("step `{id}` has no attempts in the file, and an attempt of it is in doubt"))
            }
            // The pending question would have no visit.
            (kept @ (Kept::Doubt(_) | Kept::Items(_)), Some(after))
                if doubt::is_asked_about(after)
                    && kept.doubts().next().is_some()
                    && (self.is_redone || self.is_begun_anew(id) && matches!(kept, Kept::Items(_))) =>
            {
                Some(format!("an attempt of step `{id}` is in doubt: decide that before the run goes back"))
            }
            (kept @ (Kept::Items(_) | Kept::Flow(_)), Some(after)) => {
                let before = self.before.step(id)?;
                if !are_alike(before, after) {
                    return Some(format!(
                        "step `{id}` has finished parts, and is of another kind in the file: its work would be lost"
                    ));
                }
                // Items are compared with the new list one by one. A flow continues where it stopped.
                let given = Given::of(before, after, false).filter(|_| matches!(kept, Kept::Flow(_)));
                let begins_again =
                    |from: &StepId| !self.after.graph || graph::descendants(self.after, from).contains(id);
                let stays = !self.is_redone && !self.from.is_some_and(begins_again);
                given.filter(|_| stays).map(|given| self.keeps(id, given, "has finished parts that began"))
            }
            (Kept::Items(_) | Kept::Flow(_) | Kept::Doubt(_), _) => None,
        }
    }

    /// Whether the run goes back to this step of its own flow, or to one before it.
    fn is_begun_anew(&self, id: &StepId) -> bool {
        let covers = |from: &StepId| match self.after.graph {
            true => graph::descendants(self.after, from).contains(id),
            false => self.after.position(from) <= self.after.position(id),
        };
        self.from.is_some_and(covers)
    }

    /// The current steps of this flow.
    fn stands_at(&self) -> BTreeSet<&StepId> {
        let open = self.control.open.keys().filter(|visit| visit.flow_scope() == self.scope);
        let in_question = self.control.interrupts.values().map(|raised| &raised.visit);
        let mut at: BTreeSet<&StepId> = open
            .chain(in_question.filter(|visit| visit.flow_scope() == self.scope))
            .map(|visit| &visit.step)
            .collect();
        if at.is_empty() {
            let ended = self.control.phase.ended().filter(|_| self.scope.is_empty());
            let stopped = ended.and_then(|end| end.stopped_by.as_ref()).or(self.state.stopped_at.as_ref());
            at.extend(stopped.or(self.state.last_handoff.as_ref().map(|visit| &visit.step)));
        }
        at
    }

    /// In listed order, a flow continues at its current step, so that step must exist.
    fn standpoint(&self) -> Option<String> {
        let gone = |step: &&&StepId| self.after.step(step).is_none();
        let step = self.stands_at().iter().find(gone).copied().filter(|_| !self.before.graph)?;
        Some(match self.scope {
            "" => format!(
                "step `{step}` is gone, and the run stands there: say with `--from STEP` where it goes on"
            ),
            _ => format!("step `{step}` of flow `{}` is gone, and the run stands there", self.before.id),
        })
    }

    fn loops(&self) -> Vec<String> {
        let active = |closing: &&StepId| {
            let stands = self.stands_at();
            stands.into_iter().any(|step| loops::encloses(self.before, closing, step))
        };
        let lost = |closing: &&StepId| {
            let stands = self.stands_at();
            loops::ends(self.after, closing) != loops::ends(self.before, closing)
                || !stands.into_iter().all(|step| {
                    !loops::encloses(self.before, closing, step) || loops::encloses(self.after, closing, step)
                })
        };
        let closing = self.state.loops.iter().filter(|(_, state)| state.iteration > 0).map(|(id, _)| id);
        let words = |closing: &StepId| {
            format!(
                "the run is in a further round of the loop that `{closing}` closes, and the file has not the same loop there"
            )
        };
        closing.filter(active).filter(lost).map(words).collect()
    }

    /// The rounds of the run's goals must keep their first and last step while a round is in progress.
    fn rounds(&self) -> Option<String> {
        if !self.scope.is_empty() || self.control.goals.is_none() {
            return None;
        }
        let at: Vec<&StepId> = match self.from {
            Some(from) => vec![from],
            None => self.stands_at().into_iter().collect(),
        };
        let ends = |flow: &Flow| flow.goals.as_ref().map(|plan| (plan.from.clone(), plan.to.clone()));
        let is_within = at.iter().any(|step| self.after.is_in_a_round(step));
        // A step that only the corrected flow has was in no range before.
        let was_there = at.iter().any(|step| self.before.step(step).is_some());
        let was_within = match was_there {
            true => at.iter().any(|step| self.before.is_in_a_round(step)),
            false => is_within,
        };
        let differs = was_within != is_within || (was_within && ends(self.before) != ends(self.after));
        differs.then(|| {
            "the run goes for its goals, and the file has not the same `goals.from` and `goals.to`".to_owned()
        })
    }
}

/// The input of a step when it began, if the new file differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Given {
    List,
    Inputs,
}

impl Given {
    fn of(before: &Step, after: &Step, is_whole: bool) -> Option<Self> {
        let list = |step: &Step| step.for_each.as_ref().map(|plan| plan.items.clone());
        let inputs = |step: &Step| step.inner().map(|plan| plan.inputs.clone());
        match () {
            () if is_whole && list(before) != list(after) => Some(Self::List),
            () if inputs(before) != inputs(after) => Some(Self::Inputs),
            () => None,
        }
    }
}

/// Whether one of the steps can continue the work that the other has begun.
fn are_alike(before: &Step, after: &Step) -> bool {
    let same_kind = discriminant(&before.kind) == discriminant(&after.kind);
    let same_work = match (&before.kind, &after.kind) {
        (StepKind::Flow(before), StepKind::Flow(after)) => before.flow == after.flow,
        // Another agent would not know about the open task.
        (StepKind::A2a(before), StepKind::A2a(after)) => before == after,
        _ => same_kind,
    };
    // Work that an item began in its own tree cannot continue in the run's tree.
    let same_trees = before.isolate == after.isolate;
    same_work && same_trees && before.for_each.is_some() == after.for_each.is_some()
}

/// Why the run cannot be repeated from this step of its own flow, if it cannot.
fn may_begin_again(control: &Control, old: &Flow, new: &Flow, from: &StepId) -> Option<String> {
    let Some(place) = new.position(from) else {
        return Some(format!("the file has no step `{from}`"));
    };
    let has_visits = |step: &Step| control.top.steps.get(&step.id).is_some_and(|state| state.visits > 0);
    if new.graph {
        return (!graph::may_enter(new, &control.top, from))
            .then(|| format!("what step `{from}` needs is not done yet"));
    }
    let begun = new.steps.iter().rposition(has_visits).map_or(0, |last| last + 1);
    let came_here = place < begun || place == begun && is_lost(control, old, new);
    (!came_here).then(|| format!("the run has not come to step `{from}` yet"))
}

/// Whether the run's current step was removed. The step in its place may then come after finished steps.
fn is_lost(control: &Control, old: &Flow, new: &Flow) -> bool {
    let top = FlowVersions {
        control,
        scope: "",
        state: &control.top,
        before: old,
        after: new,
        from: None,
        is_redone: false,
    };
    top.stands_at().into_iter().any(|step| new.step(step).is_none())
}
