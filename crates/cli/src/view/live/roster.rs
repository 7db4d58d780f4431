//! The runs of a store that are followed: the unfinished ones, and those that started and ended between two
//! polls.

use envoi_contract::time::Timestamp;
use envoi_journal::{ReadError, Reader, RunFilter, RunRow};
use envoi_kernel::ids::RunId;
use std::collections::BTreeSet;

/// The most runs of each kind per poll, which is more than fit on any screen.
const MOST: u32 = 200;

/// The list of followed runs.
pub(crate) struct Roster {
    since: Timestamp,
    over: BTreeSet<RunId>,
}

impl Roster {
    /// Follows all unfinished runs, and every run that starts from `since` on.
    pub(crate) fn new(since: Timestamp) -> Self {
        Self { since, over: BTreeSet::new() }
    }

    /// The present runs, newest first. An ended run stays until [`Roster::remove_ended`].
    ///
    /// # Errors
    /// The store cannot be read.
    pub(crate) fn rows(&self, reader: &Reader) -> Result<Vec<RunRow>, ReadError> {
        let mut rows = reader.runs(RunFilter { unfinished: true, limit: Some(MOST) })?;
        let newest = reader.runs(RunFilter { unfinished: false, limit: Some(MOST) })?;
        let is_new = |row: &RunRow| row.started_at >= self.since && !self.over.contains(&row.run);
        rows.extend(newest.into_iter().filter(|row| row.ended.is_some() && is_new(row)));
        Ok(rows)
    }

    /// Removes an ended run after all its lines have been printed.
    pub(crate) fn remove_ended(&mut self, run: &RunId) {
        self.over.insert(run.clone());
    }
}
