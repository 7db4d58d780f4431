//! The consequences for a run if its flow is corrected.

use crate::{
    handoff::HandoffStatus,
    scalar::{digest, words},
};
use envoi_contract::digest::Digest;
use envoi_kernel::{
    Flow, Outlook, StepOutlook,
    flow::Change,
    ids::{RunId, StepId},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

words! {
    /// The state of a step in the corrected flow.
    StepChange {
        /// Unchanged.
        Kept = "kept",
        /// Changed.
        Changed = "changed",
        /// Only in the corrected flow.
        New = "new",
        /// Only in the old flow.
        Gone = "gone",
    }
}

words! {
    /// What the run does with a step from now on, if it takes its ordinary path.
    FromHere {
        /// Its result is kept.
        Stays = "stays",
        /// It runs for the first time.
        Runs = "runs",
        /// It runs again.
        RunsAgain = "runs_again",
        /// The run does not reach it: it is before the step at which the run continues, or it was removed.
        DoesNotRun = "does_not_run",
    }
}

/// What it means for a run that its flow is corrected, as it stands now. Nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// The run.
    #[schemars(with = "String")]
    pub run: RunId,
    /// The digest of the flow that it is pinned to.
    #[schemars(schema_with = "digest")]
    pub flow_digest: Digest,
    /// The digest of the corrected flow.
    #[schemars(schema_with = "digest")]
    pub corrected_digest: Digest,
    /// The step from which on finished steps run again; null if none does.
    #[schemars(with = "Option<String>")]
    pub again_from: Option<StepId>,
    /// The steps of both flows: those of the corrected one in its order, then those that are gone.
    pub steps: Vec<ComparedStep>,
    /// Where the run goes on, in listed order; null in a graph, or if that step is gone.
    #[schemars(with = "Option<String>")]
    pub goes_on_at: Option<StepId>,
    /// The limits that differ, each as `name: before -> after`.
    pub limits: Vec<String>,
    /// What else follows, each in a sentence: approvals given in advance that are void.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Why the corrected flow cannot take over, each in a sentence; empty: it can.
    pub refusals: Vec<String>,
    /// Whether an attempt is running: the corrected flow takes over when it has settled.
    pub waits: bool,
    /// Whether there is nothing to correct: the run is pinned to this flow, and no step is to run again.
    pub is_same: bool,
    /// What is sent as `seen` to agree to this; it is another one when anything of this is.
    #[schemars(schema_with = "digest")]
    pub subject: Digest,
}

/// One step of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedStep {
    /// The step.
    #[schemars(with = "String")]
    pub step: StepId,
    /// How it differs.
    pub change: StepChange,
    /// Where it differs: keys of the step or of the flow, and flows that it runs with their steps.
    pub differs_in: Vec<String>,
    /// What its last visit came to; null if there was none.
    pub status: Option<HandoffStatus>,
    /// What the run does with it from here on.
    pub from_here: FromHere,
}

impl Comparison {
    /// The comparison for a run that is pinned to `now` and would continue with `then`, according to `outlook`.
    #[must_use]
    pub fn of(run: &RunId, (now, then): (&Flow, &Flow), from: Option<&StepId>, outlook: &Outlook) -> Self {
        let is_same = (now.digest, now.language) == (then.digest, then.language) && from.is_none();
        Self {
            run: run.clone(),
            flow_digest: now.digest,
            corrected_digest: then.digest,
            again_from: from.cloned(),
            steps: outlook.steps.iter().map(ComparedStep::from).collect(),
            goes_on_at: outlook.goes_on_at.clone(),
            limits: outlook.limits.clone(),
            notes: outlook.notes.clone(),
            refusals: outlook.refusals.clone(),
            waits: outlook.waits,
            is_same,
            subject: outlook.digest,
        }
    }
}

impl From<&StepOutlook> for ComparedStep {
    fn from(outlook: &StepOutlook) -> Self {
        let (change, differs_in) = match &outlook.change {
            Change::Kept => (StepChange::Kept, Vec::new()),
            Change::Changed(what) => (StepChange::Changed, what.clone()),
            Change::New => (StepChange::New, Vec::new()),
            Change::Gone => (StepChange::Gone, Vec::new()),
        };
        let status =
            outlook.done.map(|status| HandoffStatus::of(status.word()).unwrap_or(HandoffStatus::Failed));
        let from_here = match (outlook.to_run, &outlook.change, outlook.done) {
            (true, _, None) => FromHere::Runs,
            (true, _, Some(_)) => FromHere::RunsAgain,
            (false, Change::Gone, _) | (false, _, None) => FromHere::DoesNotRun,
            (false, _, Some(_)) => FromHere::Stays,
        };
        Self { step: outlook.step.clone(), change, differs_in, status, from_here }
    }
}
