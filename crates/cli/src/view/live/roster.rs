//! Which runs of a store are followed: those that are not over, and those that began and ended between two looks.

use envoi_contract::time::Timestamp;
use envoi_journal::{ReadError, Reader, RunFilter, RunRow};
use envoi_kernel::ids::RunId;
use std::collections::BTreeSet;

/// Most runs of each kind that one look sees; more than fit on any screen.
const MOST: u32 = 200;

/// See the module.
pub(crate) struct Roster {
    since: Timestamp,
    over: BTreeSet<RunId>,
}

impl Roster {
    /// Runs that begin from `since` on are not missed.
    pub(crate) fn new(since: Timestamp) -> Self {
        Self { since, over: BTreeSet::new() }
    }

    /// The runs to look at now, newest first; one that is over stays among them until [`Roster::remove_ended`].
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

    /// All lines about a run that is over have been printed.
    pub(crate) fn remove_ended(&mut self, run: &RunId) {
        self.over.insert(run.clone());
    }
}
