//! The resolution of conflicts: several items of a step have changed the same lines.

use envoi_contract::digest::Digest;
use serde::{Deserialize, Serialize};

/// `on_conflict`: how to resolve lines that several items of a step with `isolate`, or an item and the run,
/// have changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnConflict {
    /// No resolution: the step fails, and nothing is merged.
    #[default]
    Fail,
    /// A person decides. The other items are merged first.
    Ask,
    /// No resolution: the conflicting items run again, starting from the merged result of the others.
    Again,
    /// The existing version wins: that of the run, or of an earlier item.
    Ours,
    /// The version of the item that is merged wins.
    Theirs,
}

impl OnConflict {
    pub(crate) fn is_fail(&self) -> bool {
        *self == Self::Fail
    }

    /// Whether conflicting items are postponed until the others are merged.
    #[must_use]
    pub fn puts_off(self) -> bool {
        matches!(self, Self::Ask | Self::Again)
    }
}

/// The decision of a person about conflicting items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeDecision {
    /// Conflicting lines keep the existing version.
    Ours,
    /// Conflicting lines take the items' version.
    Theirs,
    /// These files get the contents that the person wrote. Any other conflict leads to a new question.
    Edited(Vec<EditedFile>),
}

/// The resolution of one conflicting file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditedFile {
    /// Its path in the tree.
    pub path: String,
    /// Its content. `None`: it is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Digest>,
    /// The content in the run's tree when the question was raised. If it differs by now, that is a new
    /// conflict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<Digest>,
}
