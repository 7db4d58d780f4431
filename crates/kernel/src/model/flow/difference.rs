//! How a corrected flow differs from the one that it corrects, step by step.
//!
//! Compares only checked forms: comments, the order of keys and explicit defaults make no difference. Does
//! not know runs; other modules decide the effect of a difference on a run.

use super::{Flow, InnerPlan, Step, StepKind};
use crate::model::ids::{FlowId, StepId};
use std::collections::BTreeSet;

/// The change of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// It did not change.
    Kept,
    /// It differs in these points: keys of the step, `env`, `secrets`, `pass_env` or `env_file` of the flow, or another flow that it runs.
    Changed(Vec<String>),
    /// Only the corrected flow has it.
    New,
    /// Only the old flow has it.
    Gone,
}

impl Change {
    /// The word for it: `kept`, `changed`, `new` or `gone`.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Changed(_) => "changed",
            Self::New => "new",
            Self::Gone => "gone",
        }
    }
}

/// Compares the steps of both flows. Returns those of the new flow in its order, then those that were
/// removed.
#[must_use]
pub fn compare(old: &Flow, new: &Flow) -> Vec<(StepId, Change)> {
    let kept = new.steps.iter().map(|step| (step.id.clone(), change(old, new, &step.id)));
    let gone = old.steps.iter().filter(|step| new.step(&step.id).is_none());
    kept.chain(gone.map(|step| (step.id.clone(), Change::Gone))).collect()
}

/// The change of one step of the run's own flow.
#[must_use]
pub fn change(old: &Flow, new: &Flow, step: &StepId) -> Change {
    let runs = Pair { old, new };
    runs.change(runs, step, &mut BTreeSet::new())
}

/// The change of one step of a flow within the run's own flows `old` and `new`.
pub(crate) fn change_within(
    (old, new): (&Flow, &Flow),
    (old_inner, new_inner): (&Flow, &Flow),
    step: &StepId,
) -> Change {
    Pair { old, new }.change(Pair { old: old_inner, new: new_inner }, step, &mut BTreeSet::new())
}

/// A flow before and after a correction.
#[derive(Clone, Copy)]
struct Pair<'f> {
    old: &'f Flow,
    new: &'f Flow,
}

impl<'f> Pair<'f> {
    /// The change of a step of the flow `of`; `self` is the run's own flow.
    fn change(self, of: Pair<'f>, step: &StepId, seen: &mut BTreeSet<FlowId>) -> Change {
        let (before, after) = match (of.old.step(step), of.new.step(step)) {
            (Some(before), Some(after)) => (before, after),
            (None, _) => return Change::New,
            (_, None) => return Change::Gone,
        };
        let mut found = differing_keys(before, after);
        if after.has_attempts() {
            if of.old.env != of.new.env {
                found.push("env of the flow".to_owned());
            }
            // These settings affect every command: it sees every secret of the run and every variable that
            // its flows pass on.
            let run = [
                ("secrets", self.old.secrets == self.new.secrets),
                ("pass_env", self.old.pass_env == self.new.pass_env),
                ("env_file", self.old.env_files == self.new.env_files),
            ];
            found.extend(run.into_iter().filter(|(_, same)| !same).map(|(key, _)| key.to_owned()));
        }
        for flow in named_by(before).chain(named_by(after)) {
            if !seen.contains(flow) {
                found.extend(self.inner(flow, seen));
            }
        }
        if found.is_empty() { Change::Kept } else { Change::Changed(found) }
    }

    /// The difference of a flow that steps run, in words; `None` if there is none.
    fn inner(self, id: &FlowId, seen: &mut BTreeSet<FlowId>) -> Option<String> {
        seen.insert(id.clone());
        let (Some(old), Some(new)) = (self.old.flows.get(id), self.new.flows.get(id)) else {
            return Some(format!("flow {id}"));
        };
        let of = Pair { old, new };
        let steps = || old.steps.iter().chain(&new.steps);
        let changed = steps().filter(|step| self.change(of, &step.id, seen) != Change::Kept);
        let changed: BTreeSet<&str> = changed.map(|step| step.id.as_str()).collect();
        let order = |flow: &'f Flow| flow.steps.iter().map(|step| &step.id);
        let same_frame = old.inputs == new.inputs
            && old.graph == new.graph
            && order(old).eq(order(new))
            && old.env == new.env;
        match (changed.is_empty(), same_frame) {
            (true, true) => None,
            (true, false) => Some(format!("flow {id}")),
            (false, _) => Some(format!("flow {id} ({})", changed.into_iter().collect::<Vec<_>>().join(", "))),
        }
    }
}

/// The flows that a step runs, or that a hint in its text may enter.
fn named_by(step: &Step) -> impl Iterator<Item = &FlowId> {
    let hinted = step.routing.flow_branches.iter().map(|(flow, _)| flow);
    step.inner().map(|plan: &InnerPlan| &plan.flow).into_iter().chain(hinted)
}

/// The keys of a step whose checked forms differ.
pub(super) fn differing_keys(before: &Step, after: &Step) -> Vec<String> {
    let kind = if before.kind == after.kind { None } else { Some(kind_key(after)) };
    let others = [
        ("skill", before.skill == after.skill),
        ("data", before.data_is_text == after.data_is_text),
        ("if", before.condition == after.condition && before.regardless == after.regardless),
        ("env", before.env == after.env),
        ("cwd", before.cwd == after.cwd),
        ("timeout", before.timeout_ms == after.timeout_ms),
        ("retry", before.retry == after.retry),
        ("artifacts", before.artifacts == after.artifacts),
        ("if_no_artifacts", before.if_no_artifacts == after.if_no_artifacts),
        ("routing", before.routing == after.routing),
        ("on_in_doubt", before.on_in_doubt == after.on_in_doubt),
        ("envelope", before.envelope == after.envelope),
        ("continue_on_error", before.continue_on_error == after.continue_on_error),
        ("needs", before.needs == after.needs),
        ("join", before.join == after.join),
        ("for_each", before.for_each == after.for_each),
        ("budget", before.budget == after.budget),
        ("marks", before.marks == after.marks),
        ("outputs", before.outputs == after.outputs),
        ("files", before.files == after.files),
        ("cache", before.cache == after.cache),
        ("isolate", before.isolate == after.isolate),
        ("on_conflict", before.on_conflict == after.on_conflict),
    ];
    let others = others.into_iter().filter(|(_, same)| !same).map(|(key, _)| key);
    let mut found: Vec<String> = kind.into_iter().chain(others).map(str::to_owned).collect();
    // A difference in a key that is missing in this list must still be reported.
    if found.is_empty() && before != after {
        found.push("the step".to_owned());
    }
    found
}

fn kind_key(step: &Step) -> &'static str {
    match &step.kind {
        StepKind::Run(_) => "run",
        StepKind::Ask(_) => "ask",
        StepKind::Flow(_) => "flow",
        StepKind::A2a(_) => "a2a",
        StepKind::Agent(_) => "agent",
        StepKind::Model(_) => "model",
    }
}
