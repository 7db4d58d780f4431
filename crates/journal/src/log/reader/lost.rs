//! Runs whose rows are not all there: what the list of runs would leave out, or could not find by its id.
//!
//! Reads only. What can be made again is made by `repair`.

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

/// What the journal has of a run beside its row.
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
    /// A list that is not of all runs takes the same time however many there are. It finds runs without a row by the marks that whoever
    /// removes rows leaves; the list of all runs finds every one.
    ///
    /// # Errors
    /// [`ReadError::Damaged`] or the machine's.
    pub fn all_runs(&self, filter: RunFilter) -> Result<Vec<RunRow>, ReadError> {
        let without_row = if filter == RunFilter::default() { WITHOUT_ROW } else { MARKED_WITHOUT_ROW };
        let mut rows = self.entries(without_row, [])?;
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
        let sql = select_entries(which);
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

    /// What the first event of a run says of it, in place of its row.
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

/// Of [`select_entries`]: all entries that have no row.
const WITHOUT_ROW: &str = "WHERE NOT EXISTS (SELECT 1 FROM runs WHERE runs.run = journals.run)";

/// The same by their marks, which an index has.
const MARKED_WITHOUT_ROW: &str =
    "WHERE journals.listed = 0 AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.run = journals.run)";

fn select_entries(which: &str) -> String {
    format!(
        "SELECT journals.run AS run, journals.id AS id, flows.digest AS digest, \
         (SELECT max(seq) + 1 FROM events WHERE events.run = journals.run) AS next_seq, \
         (SELECT max(at_ms) FROM events WHERE events.run = journals.run) AS updated_at_ms \
         FROM journals LEFT JOIN flows USING (flow) {which} ORDER BY journals.run DESC"
    )
}

/// A run whose id is lost.
pub(crate) fn unnamed(key: RunKey) -> String {
    format!("run number {key} of the database")
}

/// One look at the index for each run, and not for each event.
pub(crate) const KEYS_OF_EVENTS_ALONE: &str = "WITH RECURSIVE keys (run) AS (SELECT min(run) FROM events \
     UNION ALL SELECT (SELECT min(run) FROM events WHERE events.run > keys.run) FROM keys WHERE keys.run IS NOT NULL) \
     SELECT run FROM keys WHERE run IS NOT NULL AND NOT EXISTS (SELECT 1 FROM journals WHERE journals.run = keys.run) \
     AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.run = keys.run) ORDER BY run";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Store,
        testing::{TestStore, attempt, commit, place, run, started},
    };
    use envoi_kernel::ids::RunId;

    const SOME: [RunFilter; 2] =
        [RunFilter { unfinished: true, limit: None }, RunFilter { unfinished: false, limit: Some(99) }];

    fn store() -> TestStore {
        let place = place();
        let writer = place.store.writer(place.store.take_epoch().unwrap()).unwrap();
        for name in ["a", "b", "c"] {
            writer.commit(commit(&run(name), 0, [started(&run(name)), attempt("repair", 1)])).unwrap();
        }
        place
    }

    fn change(store: &Store, sql: &str) {
        rusqlite::Connection::open(store.layout().db()).unwrap().execute_batch(sql).unwrap();
    }

    /// Those without a row, as each list has them.
    fn without_row(place: &TestStore) -> Vec<RunId> {
        let lost = |filter| {
            let rows = place.reader.all_runs(filter).unwrap();
            let lost = rows.into_iter().filter(|row| {
                row.aside.as_ref().is_some_and(|aside| aside.reason.starts_with("its row is missing"))
            });
            lost.map(|row| row.run).collect::<Vec<_>>()
        };
        let all = lost(RunFilter::default());
        for filter in SOME {
            assert_eq!(lost(filter), all, "{filter:?}");
        }
        all
    }

    #[test]
    fn a_list_names_runs_without_a_row_whoever_took_it() {
        let place = store();
        assert_eq!(without_row(&place), []);
        change(&place.store, "DELETE FROM runs WHERE run = 2");
        assert_eq!(without_row(&place), [run("b")]);
        change(&place.store, "UPDATE runs SET run = 7 WHERE run = 3");
        assert_eq!(without_row(&place), [run("c"), run("b")]);
        change(&place.store, "UPDATE runs SET run = 3 WHERE run = 7");
        assert_eq!(without_row(&place), [run("b")]);
        change(&place.store, "UPDATE journals SET run = 9 WHERE run = 1");
        assert_eq!(without_row(&place), [run("a"), run("b")]);
        change(&place.store, "UPDATE journals SET run = 1 WHERE run = 9");
        assert_eq!(without_row(&place), [run("b")]);
        assert!(place.store.mend_rows(&run("b")).unwrap());
        assert_eq!(without_row(&place), []);
        // A mark that is wrong says nothing of itself.
        change(&place.store, "UPDATE journals SET listed = 0");
        assert_eq!(without_row(&place), []);
    }

    #[test]
    fn a_list_of_some_runs_compares_no_entries_with_rows() {
        let place = store();
        let plan = |which: &str| -> Vec<String> {
            let sql = format!("EXPLAIN QUERY PLAN {}", select_entries(which));
            let mut statement = place.reader.conn().prepare(&sql).unwrap();
            statement.query_map([], |row| row.get("detail")).unwrap().map(Result::unwrap).collect()
        };
        let marked = plan(MARKED_WITHOUT_ROW);
        assert_eq!(marked.first().unwrap(), "SCAN journals USING INDEX journals_unlisted", "{marked:?}");
        let all = plan(WITHOUT_ROW);
        assert_eq!(all.first().unwrap(), "SCAN journals", "{all:?}");
        let has_marks = "SELECT count(*) FROM journals WHERE listed = 0";
        let marks: i64 = place.reader.conn().query_row(has_marks, [], |row| row.get(0)).unwrap();
        assert_eq!(marks, 0, "what is in the index is looked at with each list");
    }
}
