//! A part of a flow: the steps that a run executes, and substitutes for the results of the others.
//!
//! Owns the types, as stored in the first event of a run. [`crate::state::part`] applies them to a flow.

use crate::model::{
    files::{Blob, FileChange, Manifest},
    ids::{RunId, StepId, VisitId},
};
use envoi_contract::json::Value;
use serde::{Deserialize, Serialize};

/// The steps of its own flow that a run executes, as they were named. Empty: all steps.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selection {
    /// Only these steps. Not combined with the other members.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<StepId>,
    /// This step and those after it. In a list: all later steps. In a graph: those that need it, directly or
    /// indirectly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<StepId>,
    /// This step and those before it. In a list: all earlier steps. In a graph: those that it needs, directly
    /// or indirectly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<StepId>,
    /// Steps to leave out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skip: Vec<StepId>,
}

impl Selection {
    /// Whether nothing is named, so that the run executes the whole flow.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.only.is_empty() && self.from.is_none() && self.until.is_none() && self.skip.is_empty()
    }

    /// All named steps.
    pub fn named(&self) -> impl Iterator<Item = &StepId> {
        self.only.iter().chain(&self.from).chain(&self.until).chain(&self.skip)
    }

    /// The selection as command-line options: `--from build --skip lint`.
    #[must_use]
    pub fn options(&self) -> String {
        let only = self.only.iter().map(|step| format!("--only {step}"));
        let from = self.from.iter().map(|step| format!("--from {step}"));
        let until = self.until.iter().map(|step| format!("--until {step}"));
        let skip = self.skip.iter().map(|step| format!("--skip {step}"));
        only.chain(from).chain(until).chain(skip).collect::<Vec<_>>().join(" ")
    }
}

/// The part of its flow that a run executes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// The selected steps.
    pub selection: Selection,
    /// The run whose hand-offs replace those of omitted steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with: Option<RunId>,
    /// These hand-offs, at most one per step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taken: Vec<TakenHandOff>,
}

impl Part {
    /// The hand-off that replaces that of this step.
    #[must_use]
    pub fn taken_of(&self, step: &StepId) -> Option<&TakenHandOff> {
        self.taken.iter().find(|taken| taken.visit.step == *step)
    }
}

/// The hand-over of a visit of another run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TakenHandOff {
    /// That visit, which succeeded.
    pub visit: VisitId,
    /// The summary of its hand-off.
    pub summary: String,
    /// Its data, in the form of an event.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub data: Value,
    /// The content that holds the data, if the event has only a reference.
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
    /// The list of its files, if it is too long for an event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<Manifest>,
}

/// The source of a result for which no attempt was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenFrom {
    /// The run.
    pub run: RunId,
    /// Its visit.
    pub visit: VisitId,
}

/// A missing result: a step of the part reads it, and no substitute exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The step that reads it.
    pub reader: StepId,
    /// The path as written: `steps.build.data.version`.
    pub path: String,
    /// The line of the flow file, from 1.
    pub line: u32,
    /// The omitted step. `None`: the goals of the run, because their rounds are omitted.
    pub step: Option<StepId>,
    /// Why the run that was named as the source has no result for it.
    pub why: Option<String>,
}
