//! The status of a run: a pure function of its state, never a stored word.

use crate::state::bounds;
use crate::{
    model::{
        event::{About, EndStatus, Outcome, RunEnded},
        flow::Flow,
    },
    state::{control::Control, visit::VisitState},
};

/// The status of a run (the table in `docs/exit-codes.md`).
#[derive(Debug, Clone, PartialEq)]
pub enum Status {
    /// Something runs, or waits for a slot or a timer.
    Running,
    /// Only a person can wake it.
    Waiting {
        /// Whether any of its open questions is about an attempt in doubt.
        in_doubt: bool,
    },
    /// It has ended.
    Ended(RunEnded),
}

impl Status {
    pub(crate) fn of(flow: &Flow, control: &Control) -> Self {
        if let Some(ended) = control.phase.ended() {
            return Self::Ended(ended.clone());
        }
        let is_question_open = !control.interrupts.is_empty();
        let waits = |state: &VisitState| match state {
            VisitState::InDoubt | VisitState::AwaitsAnswer | VisitState::ForEach | VisitState::Inside => true,
            // A used-up bound blocks everything that has not begun.
            VisitState::Ready => bounds::ready(flow, control).next().is_none(),
            _ => false,
        };
        let moving = !control.ending.is_empty() || control.open.values().any(|visit| !waits(&visit.state));
        if is_question_open && !moving {
            let in_doubt = control.interrupts.values().any(|raised| raised.about == About::InDoubt);
            return Self::Waiting { in_doubt };
        }
        Self::Running
    }

    /// The word for it: `running`, `waiting`, `succeeded`, `failed`, `exhausted` or `cancelled`.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting { .. } => "waiting",
            Self::Ended(ended) => ended.status.word(),
        }
    }

    /// The exit code of commands that end with the run; `None` while it is running.
    #[must_use]
    pub fn exit_code(&self) -> Option<u8> {
        match self {
            Self::Running => None,
            Self::Waiting { in_doubt: true } => Some(5),
            Self::Waiting { in_doubt: false } => Some(3),
            Self::Ended(ended) => Some(match ended.status {
                EndStatus::Succeeded => 0,
                EndStatus::Failed => 1,
                EndStatus::Exhausted => 4,
                EndStatus::Cancelled => 130,
            }),
        }
    }
}

impl Outcome {
    /// The word for it: `exited`, `signalled`, `timed_out`, `cancelled`, `cannot_start` or `in_doubt`.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Exited { .. } => "exited",
            Self::Signalled { .. } => "signalled",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::CannotStart { .. } => "cannot_start",
            Self::InDoubt { .. } => "in_doubt",
        }
    }
}

impl EndStatus {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Exhausted => "exhausted",
            Self::Cancelled => "cancelled",
        }
    }
}
