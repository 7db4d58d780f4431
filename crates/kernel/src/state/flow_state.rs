//! The state of one flow within a run: the run's own, or one that a step runs.
//!
//! Owns what is known of that flow's steps and loops. Visits, questions and the ledger belong to the run as a whole.

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

/// See the module.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FlowState {
    /// Which flow; `None`: the run's own.
    pub(crate) flow: Option<FlowId>,
    /// The visit that runs it.
    pub(crate) caller: Option<VisitId>,
    /// The caller's hand-off stands already: a hint in its text led here, and the run returns to what follows it.
    pub(crate) by_hint: bool,
    /// It has ended, and stays only for a visit that takes it up again.
    pub(crate) over: bool,
    /// Its inputs, defaults filled in.
    pub(crate) inputs: Object,
    pub(crate) steps: BTreeMap<StepId, StepState>,
    /// By the step that closes the loop.
    pub(crate) loops: BTreeMap<StepId, LoopState>,
    /// The last hand-off that was not skipped.
    pub(crate) last_handoff: Option<VisitId>,
    /// Hand-offs that were not skipped.
    pub(crate) handed: u64,
    /// The denials and expiries that the flow is on the way of, the first one first: what a denial leads to may ask too.
    pub(crate) diverted: Vec<Diverted>,
    /// In listed order: how the flow will end, once the steps that are done all the same are done.
    pub(crate) failing: Option<RunEnded>,
    /// The last step that failed, or that the end of the run stopped.
    pub(crate) stopped_at: Option<StepId>,
    /// In a graph: steps that are skipped because another branch was taken, or was first.
    pub(crate) passed_by: BTreeSet<StepId>,
}

/// What is known of a step.
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
    /// In a graph: how it stands for those that need it; `None` while it is not over.
    #[serde(default)]
    pub(crate) standing: Option<Standing>,
    /// Its visit is closed and a person decides where it leads, or a flow that it led into is under way.
    #[serde(default)]
    pub(crate) held: bool,
    /// What its last, failed visit had come to, for a visit that takes it up again.
    #[serde(default)]
    pub(crate) kept: Option<Kept>,
    /// The files that its last visit began with.
    #[serde(default, skip_serializing_if = "FilesAtEntry::is_nothing")]
    pub(crate) files: FilesAtEntry,
}

/// How a step of a graph stands for those that need it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Standing {
    Passed,
    Skipped,
    /// It is left out of the run's part, and the hand-off of another run stands for its own. A step that waits for the first of
    /// several does not count it: it waits for those that are done.
    Taken,
    /// With how the flow ends if nothing has the failure in hand.
    Failed(Box<RunEnded>),
}

/// What a visit that failed had finished; a reopened run does not do it again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Kept {
    /// The items of a `for_each`.
    Items(Box<ForEachItems>),
    /// The scope of the flow that it ran.
    Flow(String),
    /// Its last attempt is in doubt. It does not run again before that is decided.
    Doubt(Arc<Doubt>),
}

impl Kept {
    /// Its attempts that are in doubt; those of the flow that it ran are in that flow's state.
    pub(crate) fn doubts(&self) -> impl Iterator<Item = &Arc<Doubt>> {
        let (own, items) = match self {
            Self::Doubt(doubt) => (Some(doubt), None),
            Self::Items(items) => (None, Some(items.doubts.values())),
            Self::Flow(_) => (None, None),
        };
        own.into_iter().chain(items.into_iter().flatten())
    }
}

/// One loop of the flow.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LoopState {
    /// Times it has gone back since it was entered from outside.
    pub(crate) iteration: u64,
    /// The attempt whose text is the feedback of this round.
    pub(crate) feedback: Option<AttemptId>,
    /// The answer that sent the run back into this round.
    #[serde(default)]
    pub(crate) sent_back_by: Option<InterruptId>,
}

/// Why the run left its ordinary way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Diverted {
    /// The step whose question it was.
    pub(crate) step: StepId,
    /// Who denied; `None`: its time was over.
    pub(crate) by: Option<String>,
    /// Whether it counts as a denial.
    pub(crate) denied: bool,
}

impl FlowState {
    pub(crate) fn step(&mut self, step: &StepId) -> &mut StepState {
        self.steps.entry(step.clone()).or_default()
    }

    /// A visit has left a hand-off that was not skipped.
    pub(crate) fn hand_over(&mut self, visit: &VisitId) {
        self.handed = self.handed.saturating_add(1);
        let handed = Some((self.handed, visit.clone()));
        self.step(&visit.step).handed = handed;
        self.last_handoff = Some(visit.clone());
    }

    /// What the last hand-off says that was not skipped: it stands for the flow.
    pub(crate) fn last_result(&self) -> Option<&StepResult> {
        let visit = self.last_handoff.as_ref()?;
        self.steps.get(&visit.step)?.last.as_deref()
    }

    /// The last hand-off of any of these steps of a graph that was not skipped.
    pub(crate) fn last_of(&self, flow: &Flow, steps: &[StepId]) -> Option<VisitId> {
        let mut seen = BTreeSet::new();
        let mut left: Vec<&StepId> = steps.iter().collect();
        let mut last: Option<&(u64, VisitId)> = None;
        while let Some(step) = left.pop() {
            if !seen.insert(step) {
                continue;
            }
            let state = self.steps.get(step);
            // One that was skipped leaves what it would have gone on from.
            match state.and_then(|state| state.standing.as_ref()) {
                Some(Standing::Skipped) => {
                    left.extend(flow.step(step).into_iter().flat_map(|step| &step.needs))
                }
                _ => last = last.into_iter().chain(state.and_then(|state| state.handed.as_ref())).max(),
            }
        }
        last.map(|(_, visit)| visit.clone())
    }

    /// How a step of a graph stands.
    pub(crate) fn standing(&self, step: &StepId) -> Option<&Standing> {
        self.steps.get(step)?.standing.as_ref()
    }

    /// The steps are to be done, maybe again.
    pub(crate) fn reset(&mut self, steps: &BTreeSet<&StepId>) {
        for step in steps {
            if let Some(state) = self.steps.get_mut(*step) {
                (state.standing, state.held) = (None, false);
            }
            self.passed_by.remove(*step);
        }
    }
}
