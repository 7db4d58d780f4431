//! The promises of [`Journal`], as a suite that any store's author can run.
//!
//! Owns one function a promise, and the smallest runs that show it. Knows no store: not how one is opened, nor whether it
//! has a disk. Failures of a disk (torn writes, no room) are tested beside the real store.

mod checks;
mod sample;

use crate::{
    log::journal::Journal,
    model::{
        commit::{Commit, Receipt},
        error::{BlobError, CommitError, ReadError},
    },
};
use std::{error::Error, fmt, sync::mpsc};

pub use sample::{commit, ended, interrupted, run, started, timer_fired, timer_set};

/// A store that outlives its holders; empty when the suite gets it.
pub trait Depot {
    /// A new holder, which fences every earlier one and finds what they committed.
    ///
    /// # Errors
    /// Whatever keeps the store from being opened; the suite fails with it.
    fn take(&self) -> Result<Box<dyn Journal>, Box<dyn Error>>;

    /// Lets all submitted commits come to their end. For stores whose time moves only on request.
    fn settle(&self) {}
}

/// A promise that is not kept.
#[derive(Debug, thiserror::Error)]
#[error("`{promise}` is not kept: {found}")]
pub struct Failure {
    /// The promise, as a function's name in `conformance/checks.rs`.
    pub promise: &'static str,
    /// The actual result.
    pub found: String,
}

/// Runs the whole suite, each promise in a depot of its own.
///
/// # Errors
/// All promises that are not kept.
pub fn check_journal(make: impl Fn() -> Box<dyn Depot>) -> Result<(), Vec<Failure>> {
    let failures: Vec<Failure> = checks::ALL
        .iter()
        .filter_map(|(promise, check)| {
            let found = check(make().as_ref()).err()?.0;
            Some(Failure { promise, found })
        })
        .collect();
    if failures.is_empty() { Ok(()) } else { Err(failures) }
}

/// Why a check stopped.
struct Broken(String);

macro_rules! broken_from {
    ($($error:ty),*) => {
        $(impl From<$error> for Broken {
            fn from(error: $error) -> Self {
                Self(format!("unexpected: {error}"))
            }
        })*
    };
}
broken_from!(BlobError, CommitError, ReadError, Box<dyn Error>, envoi_kernel::ids::BadId);

/// Fails the check unless both are the same.
fn same<T: PartialEq + fmt::Debug>(what: &str, found: &T, expected: &T) -> Result<(), Broken> {
    if found == expected { Ok(()) } else { Err(Broken(format!("{what} is {found:?}, not {expected:?}"))) }
}

/// Fails the check unless it holds.
fn holds(what: &str, found: &impl fmt::Debug, holds: bool) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err(Broken(format!("{what}: {found:?}"))) }
}

/// Submits, and waits for the outcome.
fn commit_now(depot: &dyn Depot, journal: &dyn Journal, commit: Commit) -> Result<Receipt, CommitError> {
    let outcome = submit(journal, commit);
    depot.settle();
    outcome.recv().unwrap_or(Err(CommitError::Closed))
}

fn submit(journal: &dyn Journal, commit: Commit) -> mpsc::Receiver<Result<Receipt, CommitError>> {
    let (sender, receiver) = mpsc::channel();
    // A check that has failed meanwhile no longer listens.
    journal.submit(commit, Box::new(move |outcome| drop(sender.send(outcome))));
    receiver
}

#[cfg(test)]
mod tests;
