//! Notes: records of an engine about a run that are not events (set aside, taken up again, held, request
//! without effect).
//!
//! Owns the values and the bounds on their sizes. The rows are in `tables::notes`.

use crate::model::commit::Epoch;
use envoi_contract::{code::Code, time::Timestamp};
use envoi_kernel::ids::RunId;

/// Maximum size of a reason.
const MAX_REASON_BYTES: usize = 2 * 1024;

/// Maximum size of the evidence: enough for an error with its causes and the end of a log.
const MAX_EVIDENCE_BYTES: usize = 8 * 1024;

/// A note of an engine about a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// The engine starts nothing of this run until it is taken up again.
    SetAside {
        /// The run.
        run: RunId,
        /// The reason, and the time.
        aside: Aside,
        /// Requests that were noted as done when the run was taken up, and were refused afterwards. They no
        /// longer count as done.
        undone: Vec<String>,
    },
    /// This engine tries the run again.
    TakeUp {
        /// The run.
        run: RunId,
        /// The time.
        at: Timestamp,
        /// The ids of the requests to take the run up. They are done with this note.
        requests: Vec<String>,
    },
    /// This engine works on the run.
    Hold {
        /// The run.
        run: RunId,
        /// Since when.
        at: Timestamp,
    },
    /// This engine does not go on with the run, which may still be in its memory: only a request was decided.
    Release {
        /// The run.
        run: RunId,
    },
    /// A request with an id had no effect. If it is repeated, it has no effect again.
    Done {
        /// The run of the request.
        run: RunId,
        /// Its id.
        request: String,
        /// The time.
        at: Timestamp,
    },
}

impl Note {
    /// The run of the note.
    #[must_use]
    pub fn run(&self) -> &RunId {
        match self {
            Self::SetAside { run, .. }
            | Self::TakeUp { run, .. }
            | Self::Hold { run, .. }
            | Self::Release { run }
            | Self::Done { run, .. } => run,
        }
    }
}

/// Why a run is set aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aside {
    /// Since when.
    pub since: Timestamp,
    /// The text of a [`Code`]; a row of another version may hold one that is not known here.
    pub code: String,
    /// The reason in one sentence.
    pub reason: String,
    /// Further details. May be empty and may have several lines.
    pub evidence: String,
}

impl Aside {
    /// Truncates longer texts, so that the row stays small.
    #[must_use]
    pub fn new(since: Timestamp, code: Code, reason: &str, evidence: &str) -> Self {
        Self {
            since,
            code: code.as_str().to_owned(),
            reason: cut(reason, MAX_REASON_BYTES),
            evidence: cut(evidence, MAX_EVIDENCE_BYTES),
        }
    }
}

/// The engine that works on a run, or the last one that did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldBy {
    /// Its epoch.
    pub epoch: Epoch,
    /// When it began to work on the run.
    pub since: Timestamp,
}

fn cut(text: &str, most_bytes: usize) -> String {
    if text.len() <= most_bytes {
        return text.to_owned();
    }
    let end = (0..=most_bytes).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{} …", text.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_stays_small_whatever_went_wrong() {
        let huge = "é".repeat(1_000_000);
        let aside = Aside::new(Timestamp::from_millis(0), Code::RunFilesFailed, &huge, &huge);
        assert!(aside.reason.len() <= MAX_REASON_BYTES + 4, "{}", aside.reason.len());
        assert!(aside.evidence.len() <= MAX_EVIDENCE_BYTES + 4, "{}", aside.evidence.len());
        assert!(aside.reason.ends_with("é …"));
    }
}
