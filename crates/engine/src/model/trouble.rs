//! Trouble: a fault that stops one run, but not the engine.
//!
//! Owns the codes. The loop sets the run aside.

use envoi_contract::{code::Code, time::Timestamp};
use envoi_journal::Aside;

/// Something is wrong with one run. It is set aside, and the others go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// The kind.
    pub kind: TroubleKind,
    /// The reason in one sentence.
    pub reason: String,
    /// Further details; may be empty. Only the beginning of reason and evidence is kept.
    pub evidence: String,
}

/// See [`Trouble::kind`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TroubleKind {
    /// Its events, its snapshot or its flow cannot be read.
    Unreadable,
    /// Its state contradicts itself, or what follows from it cannot be written.
    Inconsistent,
    /// Its hand-offs, artifacts or answers cannot be put in their places.
    Files,
    /// The machine failed, so the outcome of an attempt is unknown.
    Attempt,
    /// Something outside is missing: a secret, its workspace.
    Outside(Code),
}

impl TroubleKind {
    /// Each has a page in `spec/errors/`.
    #[must_use]
    pub fn code(self) -> Code {
        match self {
            Self::Unreadable => Code::RunUnreadable,
            Self::Inconsistent => Code::RunInconsistent,
            Self::Files => Code::RunFilesFailed,
            Self::Attempt => Code::AttemptUnknown,
            Self::Outside(code) => code,
        }
    }
}

impl Trouble {
    /// Without evidence.
    #[must_use]
    pub fn new(kind: TroubleKind, reason: impl Into<String>) -> Self {
        Self { kind, reason: reason.into(), evidence: String::new() }
    }

    /// With what is known besides.
    #[must_use]
    pub fn with_evidence(self, evidence: impl Into<String>) -> Self {
        Self { evidence: evidence.into(), ..self }
    }

    pub(crate) fn aside(&self, since: Timestamp) -> Aside {
        Aside::new(since, self.kind.code(), &self.reason, &self.evidence)
    }
}

/// Does `work`, and makes a panic in it the trouble of the run that it is done for. The hook has written the message of the
/// panic to standard error; it is not repeated, because it may quote the output of a command.
pub(crate) fn guarded<T>(what: &str, work: impl FnOnce() -> T) -> Result<T, Trouble> {
    let work = || {
        #[cfg(test)]
        defect::reached(what);
        work()
    };
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).map_err(|_| {
        let reason = format!("{what} panicked: a defect of this program, whose message is on standard error");
        Trouble::new(TroubleKind::Inconsistent, reason)
    })
}

/// Defects for tests.
#[cfg(test)]
pub(crate) mod defect {
    use std::cell::RefCell;

    thread_local! {
        static NEXT: RefCell<Option<String>> = const { RefCell::new(None) };
    }

    /// The next work of this name that this thread does under guard panics.
    pub(crate) fn is_in(what: &str) {
        NEXT.replace(Some(what.to_owned()));
    }

    /// Whether that has come to pass.
    pub(crate) fn has_shown() -> bool {
        NEXT.with_borrow(Option::is_none)
    }

    pub(super) fn reached(what: &str) {
        let is_meant = NEXT.with_borrow(|next| next.as_deref() == Some(what));
        if is_meant {
            NEXT.take();
            panic!("a defect in {what}");
        }
    }
}
