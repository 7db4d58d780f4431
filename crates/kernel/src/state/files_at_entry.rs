//! The files that a visit began with, so that it can begin with them again.
//!
//! Owns the snapshot and whether the next attempt gets it. The flow defines whether the step wants that;
//! another module handles a missing snapshot.

use crate::model::{
    event::{AgentOutcome, AttemptSettled, Outcome},
    files::Snapshot,
};
use serde::{Deserialize, Serialize};

/// The files that a visit began with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FilesAtEntry {
    /// The state of the workspace when its step was entered.
    pub(crate) state: Began,
    /// The snapshot after its last attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) left: Option<Snapshot>,
    /// Whether events since then may have changed the files, so that the next attempt repeats the work.
    pub(crate) is_done_again: bool,
}

/// The state of the workspace when a step was entered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Began {
    /// No attempt has begun.
    #[default]
    NotYet,
    /// An attempt has begun, and no snapshot was taken before it.
    Unknown,
    /// The snapshot before the first attempt.
    With(Snapshot),
}

impl FilesAtEntry {
    /// For a visit that a loop goes back to; `self` belongs to the previous visit.
    pub(crate) fn gone_back_to(self) -> Self {
        Self { is_done_again: true, ..self }
    }

    /// Records the end of an attempt that did the work of the step.
    pub(crate) fn settle(&mut self, event: &AttemptSettled) {
        // An attempt that never started has changed nothing.
        let is_begun = event.set_back.is_some() || !matches!(event.outcome, Outcome::CannotStart { .. });
        self.state = match (self.state, event.workspace_before) {
            (Began::NotYet, Some(before)) => Began::With(before),
            (Began::NotYet, None) if is_begun => Began::Unknown,
            (state, _) => state,
        };
        let after = event.workspace_digest.map(|digest| Snapshot { digest, moving: event.workspace_moving });
        self.left = if is_begun { after } else { self.left };
        // An agent that asks, or that its provider has postponed, continues with its work so far.
        let goes_on = matches!(event.agent, Some(AgentOutcome::Asks { .. })) || event.throttled.is_some();
        self.is_done_again = !goes_on;
    }

    pub(crate) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}
