//! Hand-offs: rows of the list, and the bytes of one.

use super::{Reader, decode, missing};
use crate::{
    model::{error::ReadError, rows::HandoffRow},
    tables::sql::unsigned,
};
use envoi_kernel::{
    event::{Event, HandoffWritten, Record},
    ids::{RunId, Seq, StepId, VisitId},
};
use rusqlite::params;
use std::sync::Arc;

impl Reader {
    /// The hand-offs of a run, in the order in which they were written.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when there is no such run.
    pub fn handoffs(&self, run: &RunId) -> Result<Vec<HandoffRow>, ReadError> {
        let sql = "SELECT * FROM handoffs WHERE run = ?1 ORDER BY seq";
        self.rows(sql, [self.key(run)?], decode::handoff, "a hand-off")
    }

    /// The bytes of a step's hand-off within a scope, empty at the top, exactly as in its file: of this visit, or the newest.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when there is none.
    pub fn handoff(
        &self,
        run: &RunId,
        scope: &str,
        step: &StepId,
        visit: Option<u32>,
    ) -> Result<Vec<u8>, ReadError> {
        let sql = "SELECT seq FROM handoffs WHERE run = ?1 AND step = ?2 AND scope = ?4 AND visit = coalesce(?3, visit) \
                   ORDER BY visit DESC LIMIT 1";
        let key = self.key(run)?;
        let seq = self.one(sql, params![key, step.as_str(), visit, scope], |row| row.get(0))?;
        let seq: i64 = seq.ok_or_else(|| missing("hand-off of step", step))?;
        self.handoff_at(run, unsigned(seq))
    }

    /// The bytes of the hand-off of one visit, exactly as in its file.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when the visit has none.
    pub fn handoff_of(&self, run: &RunId, visit: &VisitId) -> Result<Vec<u8>, ReadError> {
        let sql = "SELECT seq FROM handoffs WHERE run = ?1 AND scope = ?2 AND step = ?3 AND visit = ?4";
        let values = params![self.key(run)?, visit.scope, visit.step.as_str(), visit.visit];
        let seq: Option<i64> = self.one(sql, values, |row| row.get(0))?;
        self.handoff_at(run, unsigned(seq.ok_or_else(|| missing("hand-off", visit))?))
    }

    /// The bytes of the hand-off that the event at `seq` holds.
    pub(crate) fn handoff_at(&self, run: &RunId, seq: Seq) -> Result<Vec<u8>, ReadError> {
        self.written_at(run, seq).map(|written| handoff_bytes(&written))
    }

    /// The hand-off that the event at `seq` holds.
    pub(crate) fn written_at(&self, run: &RunId, seq: Seq) -> Result<HandoffWritten, ReadError> {
        match self.records(run, seq, Some(1))?.into_iter().next() {
            Some(Record { event: Event::HandoffWritten(written), .. }) => Ok(*written),
            // Its row names it.
            _ => {
                Err(ReadError::Damaged { what: format!("run `{run}`"), source: Arc::new(NoHandoff { seq }) })
            }
        }
    }

    /// The hand-off of one visit at a glance.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when the visit has none.
    pub fn handoff_row(&self, run: &RunId, visit: &VisitId) -> Result<HandoffRow, ReadError> {
        let sql = "SELECT * FROM handoffs WHERE run = ?1 AND scope = ?2 AND step = ?3 AND visit = ?4";
        let row = self.one(
            sql,
            params![self.key(run)?, visit.scope, visit.step.as_str(), visit.visit],
            decode::handoff,
        )?;
        row.ok_or_else(|| missing("hand-off", visit))
    }

    /// Whether no later visit of the same step has left a hand-off.
    pub(crate) fn is_newest(&self, run: &RunId, visit: &VisitId) -> Result<bool, ReadError> {
        let sql = "SELECT NOT EXISTS (SELECT 1 FROM handoffs WHERE run = ?1 AND scope = ?2 AND step = ?3 \
                   AND visit > ?4)";
        let values = params![self.key(run)?, visit.scope, visit.step.as_str(), visit.visit];
        self.one(sql, values, |row| row.get(0))?.ok_or_else(|| missing("run", run))
    }
}

/// The bytes of a hand-off in its file.
#[must_use]
pub fn handoff_bytes(written: &HandoffWritten) -> Vec<u8> {
    written.handoff.to_value().pretty().into_bytes()
}

/// The damage of a run that has a row of a hand-off but not its event.
#[derive(Debug, thiserror::Error)]
#[error("event {seq}, a hand-off, is missing")]
struct NoHandoff {
    seq: Seq,
}
