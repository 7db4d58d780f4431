//! Runs with missing rows, which the list of runs would leave out, or could not find by their ids.
//!
//! Reads only. `repair` makes the rows again if it can.

use super::{Reader, decode};
use crate::{
    model::{
        error::ReadError,
        note::Aside,
        rows::{RunFilter, RunRow},
    },
    tables::{
        notes::select_runs,
        projection,
        run_paths::RunPaths,
        sql::{RunKey, read, unsigned},
    },
};
use envoi_contract::{code::Code, digest::Digest, time::Timestamp};
use envoi_kernel::{
    event::{Event, Record, RunStarted},
    ids::{FlowId, RunId},
};
use rusqlite::{Row, params};

/// The journal's data on a run without its row.
struct Entry {
    key: RunKey,
    run: RunId,
    digest: Option<Digest>,
    next_seq: u64,
    updated_at: Timestamp,
}

impl Reader {
    /// As [`Reader::runs`]. Runs that have no row come first: they count as unfinished and set aside.
    ///
    /// # Errors
    /// [`ReadError::Damaged`] or the machine's.
    pub fn all_runs(&self, filter: RunFilter) -> Result<Vec<RunRow>, ReadError> {
        let mut rows =
            self.entries("WHERE NOT EXISTS (SELECT 1 FROM runs WHERE runs.run = journals.run)", [])?;
        rows.extend(self.runs(filter)?);
        if let Some(limit) = filter.limit {
            rows.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        }
        Ok(rows)
    }

    /// A run whose entry in the journal or whose row is missing, or whose entry has another id, as far as it is known.
    pub(super) fn lost_run(&self, run: &RunId) -> Result<Option<RunRow>, ReadError> {
        let without_row =
            "WHERE journals.id = ?1 AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.run = journals.run)";
        let entry = self.entries(without_row, [run.as_str()])?.pop();
        if entry.is_some() {
            return Ok(entry);
        }
        let sql = select_runs(
            "WHERE NOT EXISTS (SELECT 1 FROM journals WHERE journals.run = runs.run AND journals.id = runs.id)",
        );
        let rows = self.rows(&sql, [], |row| self.run_row(row), "a run")?;
        Ok(rows.into_iter().find(|row| row.run == *run))
    }

    /// The ids of runs that have events alone, neither an entry in the journal nor a row; a number where the id is lost too.
    ///
    /// # Errors
    /// The machine's.
    pub fn runs_of_events_alone(&self) -> Result<Vec<String>, ReadError> {
        let keys: Vec<RunKey> = self.rows(KEYS_OF_EVENTS_ALONE, [], |row| row.get(0), "an event")?;
        let name = |key: RunKey| {
            let started = self.started(key)?.map(|(_, started)| started.run.to_string());
            Ok(started.unwrap_or_else(|| unnamed(key)))
        };
        keys.into_iter().map(name).collect()
    }

    fn entries(&self, which: &str, values: impl rusqlite::Params) -> Result<Vec<RunRow>, ReadError> {
        let sql = format!(
            "SELECT journals.run AS run, journals.id AS id, flows.digest AS digest, \
             (SELECT max(seq) + 1 FROM events WHERE events.run = journals.run) AS next_seq, \
             (SELECT max(at_ms) FROM events WHERE events.run = journals.run) AS updated_at_ms \
             FROM journals LEFT JOIN flows USING (flow) {which} ORDER BY journals.run DESC"
        );
        let entry = |row: &Row<'_>| {
            let key = row.get("run")?;
            Ok(Entry {
                key,
                run: read(row, "id").or_else(|_| decode::nameless(key))?,
                digest: decode::read_digest(row, "digest").ok(),
                next_seq: row.get::<_, Option<i64>>("next_seq")?.map_or(0, unsigned),
                updated_at: Timestamp::from_millis(row.get::<_, Option<i64>>("updated_at_ms")?.unwrap_or(0)),
            })
        };
        let entries = self.rows(&sql, values, entry, "a run")?;
        entries.into_iter().map(|entry| self.row_of(entry)).collect()
    }

    /// The first event of a run and its time, if it is there and can be read.
    fn started(&self, key: RunKey) -> Result<Option<(Timestamp, Box<RunStarted>)>, ReadError> {
        let sql = "SELECT seq, at_ms, body FROM events WHERE run = ?1 AND seq = 0";
        match self.one(sql, params![key], projection::record) {
            Ok(Some(Record { at, event: Event::RunStarted(started), .. })) => Ok(Some((at, started))),
            Ok(_) | Err(ReadError::Damaged { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The row of a run, made from its first event.
    fn row_of(&self, entry: Entry) -> Result<RunRow, ReadError> {
        let Entry { key, run, digest, next_seq, updated_at } = entry;
        let (started_at, started) = match self.started(key)? {
            Some((at, started)) => (at, Some(started)),
            None => (updated_at, None),
        };
        let unnamed = FlowId::new(decode::UNREADABLE).map_err(|error| ReadError::Damaged {
            what: format!("run `{run}`"),
            source: std::sync::Arc::new(error),
        })?;
        let flow = started.as_ref().map_or(unnamed, |started| started.flow.clone());
        let digest = digest.unwrap_or(Digest::from_bytes([0; 32]));
        let mut row = RunRow {
            updated_at,
            next_seq,
            aside: Some(Aside::new(
                updated_at,
                Code::RunInconsistent,
                &format!("its row is missing; {next_seq} events are there"),
                decode::LOOK_CLOSER,
            )),
            ..RunRow::begun(run, flow, digest, started_at)
        };
        if let Some(started) = started {
            let recorded = RunPaths {
                workspace: started.workspace,
                run_base: started.run_base,
                source: String::new(),
                origin: None,
                is_originals: false,
            };
            row.workspace = self.translator.translate(&row.run, key, recorded).workspace;
            row.tenant = started.by.tenant;
            row.actor = started.by.actor;
        }
        Ok(row)
    }
}

/// A run whose id is lost.
pub(crate) fn unnamed(key: RunKey) -> String {
    format!("run number {key} of the database")
}

/// A look at the index for each run, and not for each event.
pub(crate) const KEYS_OF_EVENTS_ALONE: &str = "WITH RECURSIVE keys (run) AS (SELECT min(run) FROM events \
     UNION ALL SELECT (SELECT min(run) FROM events WHERE events.run > keys.run) FROM keys WHERE keys.run IS NOT NULL) \
     SELECT run FROM keys WHERE run IS NOT NULL AND NOT EXISTS (SELECT 1 FROM journals WHERE journals.run = keys.run) \
     AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.run = keys.run) ORDER BY run";
