//! The events of a run: all that is needed to load it, and its records.

use super::{Reader, decode, read_error};
use crate::{
    model::{
        commit::{PinnedFlow, Snapshot},
        error::ReadError,
    },
    tables::{
        names::name_of,
        projection,
        sql::{RunKey, reason, signed, unsigned},
    },
};
use envoi_kernel::{
    event::Record,
    ids::{RunId, Seq},
};
use rusqlite::{Row, params};
use std::{error::Error, sync::Arc};

/// All that is needed to have a run again.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The flow it is pinned to.
    pub pinned: PinnedFlow,
    /// The newest snapshot, if there is one.
    pub snapshot: Option<Snapshot>,
    /// The records after the snapshot, or all.
    pub records: Vec<Record>,
    /// The bytes of these records as stored: more than the snapshot's bytes means that a new one is due.
    pub tail_bytes: u64,
}

impl Reader {
    /// The run's flow, newest snapshot and the records after it.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when there is no such run; [`ReadError::Damaged`] when an event cannot be understood.
    pub fn load(&self, run: &RunId) -> Result<Loaded, ReadError> {
        self.consistently(|| {
            let key = self.key(run)?;
            let pinned = self.pinned_of(run, key)?;
            let snapshot =
                self.one("SELECT seq, state FROM snapshots WHERE run = ?1", [key], decode::snapshot)?;
            let from = snapshot.as_ref().map_or(0, |snapshot| snapshot.seq.saturating_add(1));
            let records = self.records_from(key, from, None)?;
            let tail_bytes = self.tail_bytes(key, from)?;
            Ok(Loaded { pinned, snapshot, records, tail_bytes })
        })
    }

    /// The flow that a run is pinned to, with those before its corrections.
    ///
    /// # Errors
    /// As [`Reader::load`]; its events are not read.
    pub fn pinned(&self, run: &RunId) -> Result<PinnedFlow, ReadError> {
        self.consistently(|| self.pinned_of(run, self.key(run)?))
    }

    fn pinned_of(&self, run: &RunId, key: RunKey) -> Result<PinnedFlow, ReadError> {
        let sql = "SELECT flows.* FROM journals JOIN flows USING (flow) WHERE run = ?1";
        let pinned = self.one(sql, [key], decode::pinned)?;
        let mut pinned = pinned.ok_or_else(|| ReadError::Damaged {
            what: format!("run `{run}`"),
            source: Arc::new(NoPinnedFlow),
        })?;
        pinned.earlier = self.earlier(key)?;
        Ok(pinned)
    }

    /// The flows that a run was pinned to before it was corrected.
    fn earlier(&self, run: RunKey) -> Result<Vec<PinnedFlow>, ReadError> {
        let sql = "SELECT flows.* FROM earlier_flows AS earlier JOIN flows USING (flow) \
                   WHERE earlier.run = ?1 AND flow <> (SELECT flow FROM journals WHERE journals.run = ?1) ORDER BY flow";
        self.rows(sql, [run], decode::pinned, "a flow")
    }

    /// The flows that runs are pinned to, as far as their rows can be read, each with the number of its runs and one of them.
    ///
    /// # Errors
    /// The machine's.
    pub fn pinned_flows(&self) -> Result<Vec<(PinnedFlow, u64, RunId)>, ReadError> {
        let sql = format!(
            "SELECT pinned.*, {} AS run_id FROM (SELECT flows.*, count(*) AS runs, min(journals.run) AS first \
             FROM flows JOIN journals USING (flow) GROUP BY flow) AS pinned ORDER BY flow",
            name_of("pinned.first")
        );
        let pinned = |row: &Row<'_>| {
            Ok((decode::pinned(row)?, unsigned(row.get("runs")?), crate::tables::sql::read(row, "run_id")?))
        };
        self.readable(&sql, [], pinned, "a flow")
    }

    /// Records of a run from the given place on, at most `limit`.
    ///
    /// # Errors
    /// As [`Reader::load`].
    pub fn records(&self, run: &RunId, from: Seq, limit: Option<u32>) -> Result<Vec<Record>, ReadError> {
        self.records_from(self.key(run)?, from, limit)
    }

    /// Calls `visit` with each event of a run, in order; with the reason for one that cannot be decoded.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when there is no such run; otherwise the machine's.
    pub fn each_event(
        &self,
        run: &RunId,
        mut visit: impl FnMut(Seq, Result<Record, Box<dyn Error + Send + Sync>>),
    ) -> Result<(), ReadError> {
        let key = self.key(run)?;
        let mut read = || {
            let sql = "SELECT seq, at_ms, body FROM events WHERE run = ?1 ORDER BY seq";
            let mut statement = self.conn.prepare_cached(sql)?;
            let mut rows = statement.query([key])?;
            while let Some(row) = rows.next()? {
                visit(unsigned(row.get("seq")?), projection::record(row).map_err(reason));
            }
            Ok(())
        };
        read().map_err(|error| read_error(error, "an event"))
    }

    /// Whether the request with this id (`a-z 0-9 _`) was done: an event of the run came of it, or it is noted that it found nothing to do.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when there is no such run.
    pub fn has_request(&self, run: &RunId, request: &str) -> Result<bool, ReadError> {
        let sql = "SELECT 1 FROM done_requests WHERE run = ?1 AND request = ?2";
        let noted = self.one(sql, params![self.key(run)?, request], |row| row.get::<_, i64>(0))?;
        Ok(noted.is_some() || self.request_seq(run, request)?.is_some())
    }

    /// The place of the event that a request of this id has led to.
    ///
    /// # Errors
    /// As [`Reader::has_request`].
    pub fn request_seq(&self, run: &RunId, request: &str) -> Result<Option<Seq>, ReadError> {
        // The words of a step or a person may have the same text; the events that a request can lead to are few.
        let sql = "SELECT seq, at_ms, body FROM events WHERE run = ?1 AND instr(body, ?2) > 0 ORDER BY seq";
        let member = format!("\"request\":\"{request}\"");
        let found = self.rows(sql, params![self.key(run)?, member], projection::record, "an event")?;
        Ok(found.into_iter().find(|record| record.event.request() == Some(request)).map(|record| record.seq))
    }

    fn records_from(&self, run: RunKey, from: Seq, limit: Option<u32>) -> Result<Vec<Record>, ReadError> {
        let sql = "SELECT seq, at_ms, body FROM events WHERE run = ?1 AND seq >= ?2 ORDER BY seq LIMIT ?3";
        let limit = limit.map_or(-1, i64::from);
        self.rows(sql, params![run, signed(from), limit], projection::record, "an event")
    }

    fn tail_bytes(&self, run: RunKey, from: Seq) -> Result<u64, ReadError> {
        let sql = "SELECT coalesce(sum(octet_length(body)), 0) FROM events WHERE run = ?1 AND seq >= ?2";
        Ok(self.one(sql, params![run, signed(from)], |row| row.get(0))?.map_or(0, unsigned))
    }
}

/// The damage of a run whose flow is gone.
#[derive(Debug, thiserror::Error)]
#[error("there is no flow pinned to it")]
struct NoPinnedFlow;
