//! Damage in a store: missing events, and wrong rows of tables that are not derived from events.

use envoi_kernel::ids::Seq;
use std::fmt;

/// A contiguous range of missing events of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gap {
    /// Sequence number of the first missing event.
    pub first: Seq,
    /// Sequence number of the last missing event.
    pub last: Seq,
}

impl Gap {
    /// The gap from `next` up to, but not including, `until` (the next event that was found, or the end).
    /// `None` if it is empty.
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
    /// A sentence for people that names the missing events.
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

/// A damaged row of a table that is not derived from events: its contents are lost or cannot be trusted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DamagedRow {
    /// Its table.
    pub table: &'static str,
    /// Its key, in readable form.
    pub key: String,
    /// The fault that was found.
    pub reason: String,
    /// The effect of a repair on the row; `None` if a repair can only report it.
    pub cure: Option<&'static str>,
}

impl fmt::Display for DamagedRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, key, reason, .. } = self;
        let space = if key.is_empty() { "" } else { " " };
        write!(f, "{table}{space}{key}: {reason}")
    }
}
