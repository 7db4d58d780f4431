//! The state of one flow within a run: the run's own, or one that a step runs.
//!
//! Owns the state of that flow's steps and loops. Visits, questions and the ledger belong to the run as a
//! whole.

use crate::state::step_result::StepResult;
use crate::{
    model::{
        event::RunEnded,
        flow::Flow,
        ids::{AttemptId, FlowId, InterruptId, StepId, VisitId},
    },
    state::{doubt::Doubt, files_at_entry::FilesAtEntry, for_each::ForEachItems},
};
use envoi_contract::json::Object;
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// The state of one flow within a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FlowState {
    /// The id of the flow; `None`: the run's own.
    pub(crate) flow: Option<FlowId>,
    /// The visit that runs it.
    pub(crate) caller: Option<VisitId>,
    /// Whether the caller's hand-off exists already: a hint in its text led here, and the run returns to the
    /// step after it.
    pub(crate) by_hint: bool,
    /// Whether it has ended and is kept only for a visit that resumes it.
    pub(crate) over: bool,
    /// Its inputs, defaults filled in.
    pub(crate) inputs: Object,
    pub(crate) steps: BTreeMap<StepId, StepState>,
    /// The loops, by the step that closes each.
    pub(crate) loops: BTreeMap<StepId, LoopState>,
    /// The last hand-off that was not skipped.
    pub(crate) last_handoff: Option<VisitId>,
    /// Number of hand-offs that were not skipped.
    pub(crate) handed: u64,
    /// The denials and expiries whose path the flow is on, the oldest first: a step on such a path may ask
    /// again.
    pub(crate) diverted: Vec<Diverted>,
    /// In listed order: how the flow will end, after the steps that run in spite of the failure.
    pub(crate) failing: Option<RunEnded>,
    /// The last step that failed, or that the end of the run stopped.
    pub(crate) stopped_at: Option<StepId>,
    /// In a graph: steps that are skipped because another branch was taken or finished first.
    pub(crate) passed_by: BTreeSet<StepId>,
}

/// The state of a step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StepState {
    /// Visits opened so far.
    pub(crate) visits: u32,
    /// Its last settled visit.
    pub(crate) last: Option<Arc<StepResult>>,
    /// The visit of its last hand-off, and which hand-off of its flow that was.
    #[serde(default)]
    pub(crate) handed: Option<(u64, VisitId)>,
    /// In a graph: its result for the steps that need it; `None` until it has ended.
    #[serde(default)]
    pub(crate) standing: Option<Standing>,
    /// Whether its visit is closed and the run waits: for a person to decide where it leads, or for a flow
    /// that it led into.
    #[serde(default)]
    pub(crate) held: bool,
    /// Results of its last, failed visit, for a visit that resumes it.
    #[serde(default)]
    pub(crate) kept: Option<Kept>,
    /// The files that its last visit began with.
    #[serde(default, skip_serializing_if = "FilesAtEntry::is_nothing")]
    pub(crate) files: FilesAtEntry,
}

/// The result of a step of a graph for the steps that need it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Standing {
    Passed,
    Skipped,
    /// It is not in the run's part, and the hand-off of another run replaces its own. A step that waits for
    /// the first of several does not count it: it waits for executed steps.
    Taken,
    /// With the end of the flow, which applies if no step handles the failure.
    Failed(Box<RunEnded>),
}

/// Finished work of a failed visit; a reopened run does not repeat it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Kept {
    /// The items of a `for_each`.
    Items(Box<ForEachItems>),
    /// The scope of the flow that it ran.
    Flow(String),
    /// Its last attempt is in doubt. It does not run again before a decision.
    Doubt(Arc<Doubt>),
}

impl Kept {
    /// Its attempts in doubt. The doubts of the flow that it ran are in that flow's state.
    pub(crate) fn doubts(&self) -> impl Iterator<Item = &Arc<Doubt>> {
        let (own, items) = match self {
            Self::Doubt(doubt) => (Some(doubt), None),
            Self::Items(items) => (None, Some(items.doubts.values())),
            Self::Flow(_) => (None, None),
        };
        own.into_iter().chain(items.into_iter().flatten())
    }
}

/// A loop of the flow.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LoopState {
    /// Number of times it has gone back since it was entered from outside.
    pub(crate) iteration: u64,
    /// The attempt whose text is the feedback of this round.
    pub(crate) feedback: Option<AttemptId>,
    /// The answer that sent the run back into this round.
    #[serde(default)]
    pub(crate) sent_back_by: Option<InterruptId>,
}

/// Why the run left its ordinary path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Diverted {
    /// The step that asked.
    pub(crate) step: StepId,
    /// The person who denied; `None`: the question expired.
    pub(crate) by: Option<String>,
    /// Whether it counts as a denial.
    pub(crate) denied: bool,
}

impl FlowState {
    pub(crate) fn step(&mut self, step: &StepId) -> &mut StepState {
        self.steps.entry(step.clone()).or_default()
    }

    /// Records a hand-off that was not skipped.
    pub(crate) fn hand_over(&mut self, visit: &VisitId) {
        self.handed = self.handed.saturating_add(1);
        let handed = Some((self.handed, visit.clone()));
        self.step(&visit.step).handed = handed;
        self.last_handoff = Some(visit.clone());
    }

    /// The result of the last hand-off that was not skipped. It is the result of the flow.
    pub(crate) fn last_result(&self) -> Option<&StepResult> {
        let visit = self.last_handoff.as_ref()?;
        self.steps.get(&visit.step)?.last.as_deref()
    }

    /// The last hand-off, not skipped, of any of these steps of a graph.
    pub(crate) fn last_of(&self, flow: &Flow, steps: &[StepId]) -> Option<VisitId> {
        let mut seen = BTreeSet::new();
        let mut left: Vec<&StepId> = steps.iter().collect();
        let mut last: Option<&(u64, VisitId)> = None;
        while let Some(step) = left.pop() {
            if !seen.insert(step) {
                continue;
            }
            let state = self.steps.get(step);
            // A skipped step passes on the hand-off that it would have started from.
            match state.and_then(|state| state.standing.as_ref()) {
                Some(Standing::Skipped) => {
                    left.extend(flow.step(step).into_iter().flat_map(|step| &step.needs))
                }
                _ => last = last.into_iter().chain(state.and_then(|state| state.handed.as_ref())).max(),
            }
        }
        last.map(|(_, visit)| visit.clone())
    }

    /// The result of a step of a graph for the steps that need it.
    pub(crate) fn standing(&self, step: &StepId) -> Option<&Standing> {
        self.steps.get(step)?.standing.as_ref()
    }

    /// Makes the steps pending, possibly again.
    pub(crate) fn reset(&mut self, steps: &BTreeSet<&StepId>) {
        for step in steps {
            if let Some(state) = self.steps.get_mut(*step) {
                (state.standing, state.held) = (None, false);
            }
            self.passed_by.remove(*step);
        }
    }
}
