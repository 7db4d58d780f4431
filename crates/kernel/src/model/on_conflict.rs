//! What follows where items of a step have changed the same lines.

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
