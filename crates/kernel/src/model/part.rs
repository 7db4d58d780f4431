//! A part of a flow: which steps a run does, and what stands for those that it leaves out.
//!
//! Owns the types, as they stand in the first event of a run. What they mean for a flow is in [`crate::state::part`].

use crate::model::{
    files::{Blob, FileChange, Manifest},
    ids::{RunId, StepId, VisitId},
};
use envoi_contract::json::Value;
use serde::{Deserialize, Serialize};

/// Which steps of its own flow a run does, as they were named. Nothing is named: all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selection {
    /// These and no others. It stands alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<StepId>,
    /// This one and what follows it: in listed order all later ones, in a graph those that need it, directly or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<StepId>,
    /// This one and what comes before it: in listed order all earlier ones, in a graph those that it needs, directly or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<StepId>,
    /// Not these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skip: Vec<StepId>,
}

impl Selection {
    /// Whether nothing is named, so that the run does the whole flow.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.only.is_empty() && self.from.is_none() && self.until.is_none() && self.skip.is_empty()
    }

    /// Every step that is named.
    pub fn named(&self) -> impl Iterator<Item = &StepId> {
        self.only.iter().chain(&self.from).chain(&self.until).chain(&self.skip)
    }

    /// As it is given to a command: `--from build --skip lint`.
    #[must_use]
    pub fn options(&self) -> String {
        let only = self.only.iter().map(|step| format!("--only {step}"));
        let from = self.from.iter().map(|step| format!("--from {step}"));
        let until = self.until.iter().map(|step| format!("--until {step}"));
        let skip = self.skip.iter().map(|step| format!("--skip {step}"));
        only.chain(from).chain(until).chain(skip).collect::<Vec<_>>().join(" ")
    }
}

/// The part of its flow that a run does.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Which steps.
    pub selection: Selection,
    /// The run whose hand-offs stand for those of steps that are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with: Option<RunId>,
    /// These hand-offs, at most one a step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taken: Vec<TakenHandOff>,
}

impl Part {
    /// What stands for the hand-off of this step.
    #[must_use]
    pub fn taken_of(&self, step: &StepId) -> Option<&TakenHandOff> {
        self.taken.iter().find(|taken| taken.visit.step == *step)
    }
}

/// What a visit of another run handed over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TakenHandOff {
    /// That visit. It succeeded.
    pub visit: VisitId,
    /// The summary of its hand-off.
    pub summary: String,
    /// Its data, as an event has it.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub data: Value,
    /// The content that holds the data where an event has only a reference to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_kept: Option<Blob>,
    /// Its text in the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Blob>,
    /// Its report in the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<Blob>,
    /// The files that it handed over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileChange>,
    /// The list of them, where it is too long for an event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<Manifest>,
}

/// Where the result of an attempt that was never made comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenFrom {
    /// The run.
    pub run: RunId,
    /// Its visit.
    pub visit: VisitId,
}

/// What a part lacks: one of its steps reads it, and nothing stands for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The step that reads.
    pub reader: StepId,
    /// What it reads, as it is written: `steps.build.data.version`.
    pub path: String,
    /// The line of the flow file, from 1.
    pub line: u32,
    /// The step that is left out. `None`: the goals of the run, because their rounds are left out.
    pub step: Option<StepId>,
    /// Why the run that was named has nothing for it.
    pub why: Option<String>,
}
