//! What an engine records about a run beside its events: set aside, taken up again, held; requests that found nothing to do.
//!
//! Owns the values and the bounds on their sizes. The rows are in `tables::notes`.

use crate::model::commit::Epoch;
use envoi_contract::{code::Code, time::Timestamp};
use envoi_kernel::ids::RunId;

/// Most bytes of a reason.
const MAX_REASON_BYTES: usize = 2 * 1024;

/// Most bytes of the evidence: enough for an error with its causes and the end of a log.
const MAX_EVIDENCE_BYTES: usize = 8 * 1024;

/// Something that an engine notes of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// Nothing of it is started until it is taken up again.
    SetAside {
        /// Which.
        run: RunId,
        /// Why, and since when.
        aside: Aside,
        /// Requests that were noted as done when it was taken up, and were refused after that: they are not done.
        undone: Vec<String>,
    },
    /// It is tried again, by this engine.
    TakeUp {
        /// Which.
        run: RunId,
        /// When.
        at: Timestamp,
        /// The ids of the requests that want just that: they are done with it.
        requests: Vec<String>,
    },
    /// This engine goes on with it.
    Hold {
        /// Which.
        run: RunId,
        /// Since when.
        at: Timestamp,
    },
    /// A request with an id found nothing to do. It stays so when it comes again.
    Done {
        /// The run that it is about.
        run: RunId,
        /// Its id.
        request: String,
        /// When.
        at: Timestamp,
    },
}

impl Note {
    /// The run that it is about.
    #[must_use]
    pub fn run(&self) -> &RunId {
        match self {
            Self::SetAside { run, .. }
            | Self::TakeUp { run, .. }
            | Self::Hold { run, .. }
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
    /// In a sentence.
    pub reason: String,
    /// What is known besides; may be empty, may have several lines.
    pub evidence: String,
}

impl Aside {
    /// Longer texts are cut: whatever went wrong, the row stays small.
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

/// The engine that goes on with a run, or did so last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldBy {
    /// Its epoch.
    pub epoch: Epoch,
    /// When it began to.
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
