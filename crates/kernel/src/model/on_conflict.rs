//! What follows where items of a step have changed the same lines.

use envoi_contract::digest::Digest;
use serde::{Deserialize, Serialize};

/// `on_conflict`: what decides where items of a step with `isolate` have changed the same lines, or an item and the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnConflict {
    /// Nothing: the step fails, and nothing is merged.
    #[default]
    Fail,
    /// A person. The other items are merged first.
    Ask,
    /// Nothing: the items are done again, from what the others have left.
    Again,
    /// What is there already: of the run, or of an item before it.
    Ours,
    /// The item that is merged.
    Theirs,
}

impl OnConflict {
    pub(crate) fn is_fail(&self) -> bool {
        *self == Self::Fail
    }

    /// Whether items in conflict are put off, and the others merged.
    #[must_use]
    pub fn puts_off(self) -> bool {
        matches!(self, Self::Ask | Self::Again)
    }
}

/// What a person has decided about items in conflict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeDecision {
    /// For the lines in conflict: what is there already.
    Ours,
    /// For the lines in conflict: what the items have.
    Theirs,
    /// These files become what the person has made of them. Any other conflict leads to a new question.
    Edited(Vec<EditedFile>),
}

/// What becomes of one file in conflict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditedFile {
    /// Its path in the tree.
    pub path: String,
    /// Its content. `None`: it is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Digest>,
    /// What the run's tree had there when the question was asked. If it has something else by now, that is a conflict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<Digest>,
}
