//! The rows of one run compared with what its events make, without changing anything.
//!
//! The events are folded into a database in memory, by the fold that commits use. So it can be done while an engine is at work, and
//! in a store that may only be read.

use super::rebuild::{Words, differences, snapshot_of};
use crate::tables::{projection, sql::RunKey};
use envoi_kernel::event::Record;
use rusqlite::Connection;

/// Events that are folded at a time.
const AT_ONCE: usize = 256;

const FOUND: Words = ["stands for nothing", "is missing", "is not as the events say"];

/// The rows that the events of one run make.
pub(super) struct Expected<'m> {
    memory: &'m Connection,
    key: RunKey,
    waiting: Vec<Record>,
}

impl<'m> Expected<'m> {
    /// `memory` has the schema of the store, and nothing else is done with it meanwhile.
    pub(super) fn of(key: RunKey, memory: &'m Connection) -> rusqlite::Result<Self> {
        for (table, _) in projection::TABLES {
            memory.prepare_cached(&format!("DELETE FROM {table}"))?.execute([])?;
        }
        Ok(Self { memory, key, waiting: Vec::new() })
    }

    /// The next event of the run.
    pub(super) fn add(&mut self, record: Record) -> rusqlite::Result<()> {
        self.waiting.push(record);
        if self.waiting.len() < AT_ONCE { Ok(()) } else { self.fold() }
    }

    fn fold(&mut self) -> rusqlite::Result<()> {
        projection::fold(self.memory, self.key, &self.waiting)?;
        self.waiting.clear();
        Ok(())
    }

    /// The differences of the rows of this store, as `table key: how`.
    pub(super) fn differences(mut self, conn: &Connection) -> rusqlite::Result<Vec<String>> {
        self.fold()?;
        let [found, expected] = [snapshot_of(conn, self.key)?, snapshot_of(self.memory, self.key)?];
        Ok(differences(&found, &expected, FOUND))
    }
}
