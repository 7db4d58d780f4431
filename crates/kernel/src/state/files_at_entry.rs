//! Which files a visit began with, so that it can begin with them again.
//!
//! Owns which snapshot that is and whether the next attempt gets it. Whether the step wants that stands in the flow, and what it means that
//! there is no snapshot is decided elsewhere.

use crate::model::{
    event::{AgentOutcome, AttemptSettled, Outcome},
    files::Snapshot,
};
use serde::{Deserialize, Serialize};

/// See the module.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FilesAtEntry {
    /// What its step began with when it was entered.
    pub(crate) state: Began,
    /// What its last attempt has left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) left: Option<Snapshot>,
    /// What has happened since may have changed them: the next attempt does the work anew.
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
    /// Those of a visit to which a loop goes back; `self` is of the visit before it.
    pub(crate) fn gone_back_to(self) -> Self {
        Self { is_done_again: true, ..self }
    }

    /// An attempt that does the work of the step has settled.
    pub(crate) fn settle(&mut self, event: &AttemptSettled) {
        // What was never started has changed nothing.
        let is_begun = event.set_back.is_some() || !matches!(event.outcome, Outcome::CannotStart { .. });
        self.state = match (self.state, event.workspace_before) {
            (Began::NotYet, Some(before)) => Began::With(before),
            (Began::NotYet, None) if is_begun => Began::Unknown,
            (state, _) => state,
        };
        let after = event.workspace_digest.map(|digest| Snapshot { digest, moving: event.workspace_moving });
        self.left = if is_begun { after } else { self.left };
        // An agent that asks, or that its provider has put off, goes on with what it has done so far.
        let goes_on = matches!(event.agent, Some(AgentOutcome::Asks { .. })) || event.throttled.is_some();
        self.is_done_again = !goes_on;
    }

    pub(crate) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}
