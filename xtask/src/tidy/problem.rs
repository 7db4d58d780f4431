//! A problem, its place, and what to do about it.

use std::fmt;

/// A problem to fix. Sorts by place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Problem {
    /// Path relative to the root of the repository.
    pub(crate) path: String,
    /// Line number, from 1.
    pub(crate) line: usize,
    /// The problem, and after a semicolon the advice.
    pub(crate) message: String,
}

impl Problem {
    pub(crate) fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}
