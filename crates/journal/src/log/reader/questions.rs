//! Questions to people, and their answers.

use super::{Reader, decode};
use crate::{
    model::{
        error::ReadError,
        rows::{InboxFilter, InboxRow},
    },
    tables::names::name_of,
};
use envoi_contract::time::Timestamp;
use envoi_kernel::{
    event::{Event, InterruptAnswered, Record},
    ids::{InterruptId, RunId},
};
use rusqlite::params;

impl Reader {
    /// Questions to people, oldest first; those of one moment by run, then by place.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when the filter names a run that does not exist.
    pub fn inbox(&self, filter: &InboxFilter) -> Result<Vec<InboxRow>, ReadError> {
        let sql = format!(
            "SELECT inbox.*, {} AS run_id FROM inbox JOIN journals USING (run) \
             WHERE (run = ?1 OR (?1 IS NULL AND NOT EXISTS (SELECT 1 FROM inbox AS asked WHERE \
             asked.interrupt = inbox.interrupt AND asked.run < inbox.run))) AND (?2 OR state = 'open') \
             ORDER BY raised_at_ms, run, length(scope), scope, step, visit, interrupt",
            name_of("inbox.run")
        );
        let key = filter.run.as_ref().map(|run| self.key(run)).transpose()?;
        self.rows(&sql, params![key, filter.closed], decode::question, "a question")
    }

    /// One question, open or not.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when the run has no such question.
    pub fn question(&self, run: &RunId, interrupt: &InterruptId) -> Result<InboxRow, ReadError> {
        let sql = format!(
            "SELECT inbox.*, {} AS run_id FROM inbox WHERE run = ?1 AND interrupt = ?2",
            name_of("inbox.run")
        );
        let row = self.one(&sql, params![self.key(run)?, interrupt.as_str()], decode::question)?;
        row.ok_or_else(|| ReadError::Missing { what: "question", id: interrupt.to_string() })
    }

    /// The answer that closed a question, and when it was given.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when it was not closed by one.
    pub fn answer(&self, run: &RunId, row: &InboxRow) -> Result<(Timestamp, InterruptAnswered), ReadError> {
        let closed = row.closed.as_ref().map(|closed| closed.seq);
        let records = closed.map(|seq| self.records(run, seq, Some(1))).transpose()?.unwrap_or_default();
        match records.into_iter().next() {
            Some(Record { at, event: Event::InterruptAnswered(answered), .. }) => Ok((at, *answered)),
            _ => Err(ReadError::Missing { what: "answer to question", id: row.interrupt.to_string() }),
        }
    }
}
