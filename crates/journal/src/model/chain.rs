//! A hash chain over the events of a run: a change of any event changes all later hashes.

use envoi_contract::digest::Digest;
use envoi_kernel::ids::RunId;
use sha2::{Digest as _, Sha256};

/// Starts as the SHA-256 of the run's id. Each event replaces it by the SHA-256 of its 32 bytes followed by
/// the bytes of the event's line, without the newline. A reader who has kept the last hash, the *head*, can
/// check later whether a bundle holds the same events.
///
/// ```
/// use envoi_journal::Chain;
/// use envoi_kernel::ids::RunId;
///
/// let run = RunId::new("run_a")?;
/// let mut chain = Chain::of(&run);
/// let before = chain.head();
/// chain.add(b"{}");
/// assert_ne!(chain.head(), before);
/// # Ok::<(), envoi_kernel::ids::BadId>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain(Digest);

impl Chain {
    /// The chain before the first event.
    #[must_use]
    pub fn of(run: &RunId) -> Self {
        Self(Digest::of(run.as_str().as_bytes()))
    }

    /// Adds the next event.
    pub fn add(&mut self, line: &[u8]) {
        let mut sum = Sha256::new();
        sum.update(self.0.as_bytes());
        sum.update(line);
        self.0 = Digest::from_bytes(sum.finalize().into());
    }

    /// The hash over all events so far.
    #[must_use]
    pub fn head(&self) -> Digest {
        self.0
    }
}
