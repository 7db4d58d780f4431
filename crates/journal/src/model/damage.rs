//! What is found damaged: events that are missing, and rows beside the events that are not as they should be.

use envoi_kernel::ids::Seq;
use std::fmt;

/// Events of a run that are missing, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gap {
    /// The place of the first one.
    pub first: Seq,
    /// The place of the last one.
    pub last: Seq,
}

impl Gap {
    /// Between the last event that was found and the next one, or the end: `next` up to, and without, `until`.
    pub(crate) fn between(next: Seq, until: Seq) -> Option<Self> {
        let last = until.checked_sub(1)?;
        (next <= last).then_some(Self { first: next, last })
    }

    /// How many events are missing.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.last.saturating_sub(self.first).saturating_add(1)
    }
}

impl Gap {
    /// That they are missing, in words.
    #[must_use]
    pub fn sentence(&self) -> String {
        match self.count() {
            1 => format!("event {} is missing", self.first),
            several => format!("events {} to {} are missing ({several} events)", self.first, self.last),
        }
    }
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count() {
            1 => write!(f, "{}", self.first),
            several => write!(f, "{} to {} ({several} events)", self.first, self.last),
        }
    }
}

/// A damaged row of a table that is not made from events: what it says is lost, or cannot be trusted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DamagedRow {
    /// Its table.
    pub table: &'static str,
    /// Its key, as people can read it.
    pub key: String,
    /// What is wrong with it.
    pub reason: String,
    /// What a repair does with it; none where it can only be named.
    pub cure: Option<&'static str>,
}

impl fmt::Display for DamagedRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, key, reason, .. } = self;
        let space = if key.is_empty() { "" } else { " " };
        write!(f, "{table}{space}{key}: {reason}")
    }
}
