//! An engine's notes on a run beside its events: that it is set aside, that it is tried again, that this engine goes on
//! with it, and which requests found nothing to do.
//!
//! Owns the rows. They are truth: no repair makes them again. The engine decides when a run is set aside.

use crate::{
    model::{
        commit::Epoch,
        note::{Aside, HeldBy, Note},
    },
    tables::{
        names::name_of,
        sql::{RunKey, signed, unsigned},
    },
};
use envoi_contract::time::Timestamp;
use envoi_kernel::ids::RunId;
use rusqlite::{Connection, Row, params};

/// Columns for a query of `runs` that [`JOIN_NOTES`]: those that [`aside`] and [`held_by`] read, and the journal's data beside the row.
pub(crate) fn notes() -> String {
    format!(
        "set_aside.since_ms AS aside_since_ms, set_aside.code AS aside_code, \
         set_aside.reason AS aside_reason, set_aside.evidence AS aside_evidence, holders.epoch AS held_epoch, \
         holders.since_ms AS held_since_ms, {name} AS run_name, \
         (SELECT journals.id FROM journals WHERE journals.run = runs.run) AS journal_id, \
         (SELECT json_array(account, resets_at_ms, due_ms) FROM waits WHERE waits.run = runs.run \
          ORDER BY due_ms, timer LIMIT 1) AS first_wait, \
         EXISTS (SELECT 1 FROM events WHERE events.run = runs.run AND events.seq = runs.next_seq - 1) AS has_last",
        name = name_of("runs.run")
    )
}

/// Follows `FROM runs`.
pub(crate) const JOIN_NOTES: &str =
    "LEFT JOIN set_aside ON set_aside.run = runs.run LEFT JOIN holders ON holders.run = runs.run";

/// Rows of runs as they are decoded, with these conditions, order and limit.
pub(crate) fn select_runs(rest: &str) -> String {
    format!("SELECT runs.*, {} FROM runs {JOIN_NOTES} {rest}", notes())
}

/// A note of a run that is not in the store changes nothing.
pub(crate) fn insert(conn: &Connection, epoch: Epoch, note: &Note) -> rusqlite::Result<()> {
    match note {
        Note::SetAside { run, aside, undone } => {
            undone.iter().try_for_each(|request| not_done(conn, run, request))?;
            let sql = "INSERT OR REPLACE INTO set_aside (run, since_ms, code, reason, evidence) \
                       SELECT run, ?2, ?3, ?4, ?5 FROM journals WHERE id = ?1";
            let Aside { since, code, reason, evidence } = aside;
            let values = params![run.as_str(), since.as_millis(), code, reason, evidence];
            conn.prepare_cached(sql)?.execute(values).map(|_| ())
        }
        Note::TakeUp { run, at, requests } => {
            let sql = "DELETE FROM set_aside WHERE run = (SELECT run FROM journals WHERE id = ?1)";
            conn.prepare_cached(sql)?.execute([run.as_str()])?;
            requests.iter().try_for_each(|request| done(conn, run, request, *at))?;
            hold(conn, epoch, run, *at)
        }
        Note::Hold { run, at } => hold(conn, epoch, run, *at),
        Note::Release { run } => {
            let sql = "DELETE FROM holders WHERE run = (SELECT run FROM journals WHERE id = ?1)";
            conn.prepare_cached(sql)?.execute([run.as_str()]).map(|_| ())
        }
        Note::Done { run, request, at } => done(conn, run, request, *at),
    }
}

fn done(conn: &Connection, run: &RunId, request: &str, at: Timestamp) -> rusqlite::Result<()> {
    let sql = "INSERT OR IGNORE INTO done_requests (run, request, at_ms) SELECT run, ?2, ?3 FROM journals WHERE id = ?1";
    conn.prepare_cached(sql)?.execute(params![run.as_str(), request, at.as_millis()]).map(|_| ())
}

fn not_done(conn: &Connection, run: &RunId, request: &str) -> rusqlite::Result<()> {
    let sql =
        "DELETE FROM done_requests WHERE request = ?2 AND run = (SELECT run FROM journals WHERE id = ?1)";
    conn.prepare_cached(sql)?.execute(params![run.as_str(), request]).map(|_| ())
}

fn hold(conn: &Connection, epoch: Epoch, run: &RunId, at: Timestamp) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO holders (run, epoch, since_ms) SELECT run, ?2, ?3 FROM journals WHERE id = ?1";
    conn.prepare_cached(sql)?.execute(params![run.as_str(), signed(epoch.0), at.as_millis()]).map(|_| ())
}

/// The engine that begins a run goes on with it.
pub(crate) fn begin(conn: &Connection, epoch: Epoch, run: RunKey, at: Timestamp) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO holders (run, epoch, since_ms) VALUES (?1, ?2, ?3)";
    conn.prepare_cached(sql)?.execute(params![run, signed(epoch.0), at.as_millis()]).map(|_| ())
}

/// From a row of [`select_runs`].
pub(crate) fn aside(row: &Row<'_>) -> rusqlite::Result<Option<Aside>> {
    let Some(since) = row.get::<_, Option<i64>>("aside_since_ms")? else { return Ok(None) };
    Ok(Some(Aside {
        since: Timestamp::from_millis(since),
        code: row.get("aside_code")?,
        reason: row.get("aside_reason")?,
        evidence: row.get("aside_evidence")?,
    }))
}

/// From a row of [`select_runs`].
pub(crate) fn held_by(row: &Row<'_>) -> rusqlite::Result<Option<HeldBy>> {
    let Some(epoch) = row.get::<_, Option<i64>>("held_epoch")? else { return Ok(None) };
    let since = Timestamp::from_millis(row.get("held_since_ms")?);
    Ok(Some(HeldBy { epoch: Epoch(unsigned(epoch)), since }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        CommitError, RunFilter,
        log::writer::Writer,
        testing::{commit, place, run, started},
    };
    use envoi_contract::code::Code;
    use std::sync::mpsc;

    fn noted(writer: &Writer, note: Note) -> Result<(), CommitError> {
        let (sender, receiver) = mpsc::channel();
        writer.note(note, Box::new(move |outcome| sender.send(outcome).unwrap()));
        receiver.recv().unwrap().map(drop)
    }

    fn set_aside(name: &str, evidence: &str) -> Note {
        let aside =
            Aside::new(Timestamp::from_millis(7), Code::RunUnreadable, "event 3 is damaged", evidence);
        Note::SetAside { run: run(name), aside, undone: Vec::new() }
    }

    #[test]
    fn a_run_stays_aside_until_it_is_taken_up() {
        let place = place();
        let epoch = place.store.take_epoch().unwrap();
        let writer = place.store.writer(epoch).unwrap();
        for name in ["a", "b"] {
            writer.commit(commit(&run(name), 0, [started(&run(name))])).unwrap();
        }
        noted(&writer, set_aside("a", "")).unwrap();
        // A run that never began gets no notes.
        noted(&writer, set_aside("never", "")).unwrap();
        let rows = place.reader.runs(RunFilter::default()).unwrap();
        let aside: Vec<_> = rows.iter().filter_map(|row| Some((&row.run, row.aside.as_ref()?))).collect();
        let expected = Aside::new(Timestamp::from_millis(7), Code::RunUnreadable, "event 3 is damaged", "");
        assert_eq!(aside, [(&run("a"), &expected)]);
        noted(
            &writer,
            Note::TakeUp { run: run("a"), at: Timestamp::from_millis(9), requests: vec!["req_1".to_owned()] },
        )
        .unwrap();
        let row = place.reader.run(&run("a")).unwrap();
        assert_eq!(row.aside, None);
        assert_eq!(row.held_by, Some(HeldBy { epoch, since: Timestamp::from_millis(9) }));
        // The request for it is done with the same commit.
        let known = |name: &str| place.reader.has_request(&run(name), "req_1").unwrap();
        assert!(known("a") && !known("b"));
        // It was refused after all.
        let Note::SetAside { run: id, aside, .. } = set_aside("a", "") else { panic!("it is that") };
        noted(&writer, Note::SetAside { run: id, aside, undone: vec!["req_1".to_owned()] }).unwrap();
        assert!(!known("a") && place.reader.run(&run("a")).unwrap().aside.is_some());
    }

    /// No event has the id of such a request.
    #[test]
    fn a_request_that_found_nothing_to_do_is_known_again() {
        let place = place();
        let writer = place.store.writer(place.store.take_epoch().unwrap()).unwrap();
        for name in ["a", "b"] {
            writer.commit(commit(&run(name), 0, [started(&run(name))])).unwrap();
        }
        let known = |name: &str, request: &str| place.reader.has_request(&run(name), request).unwrap();
        assert!(!known("a", "req_1"));
        // Two threads may have had the same request.
        for at in [5, 6].map(Timestamp::from_millis) {
            writer.note_done(run("a"), "req_1".to_owned(), at).unwrap();
        }
        assert!(known("a", "req_1"));
        assert!(!known("a", "req_2") && !known("b", "req_1"), "another request, and another run");
    }

    #[test]
    fn a_run_that_is_set_aside_again_says_why_the_last_time() {
        let place = place();
        let writer = place.store.writer(place.store.take_epoch().unwrap()).unwrap();
        writer.commit(commit(&run("a"), 0, [started(&run("a"))])).unwrap();
        let last = Aside::new(Timestamp::from_millis(9), Code::RunFilesFailed, "no room", "here");
        noted(&writer, set_aside("a", "before")).unwrap();
        noted(&writer, Note::SetAside { run: run("a"), aside: last.clone(), undone: Vec::new() }).unwrap();
        assert_eq!(place.reader.run(&run("a")).unwrap().aside, Some(last));
    }

    #[test]
    fn a_run_is_held_by_the_engine_that_began_it_or_took_it_over() {
        let place = place();
        let first = place.store.take_epoch().unwrap();
        let writer = place.store.writer(first).unwrap();
        writer.commit(commit(&run("a"), 0, [started(&run("a"))])).unwrap();
        let held = || place.reader.run(&run("a")).unwrap().held_by;
        assert_eq!(held(), Some(HeldBy { epoch: first, since: Timestamp::from_millis(0) }));
        let second = place.store.take_epoch().unwrap();
        let hold = Note::Hold { run: run("a"), at: Timestamp::from_millis(5) };
        let late = noted(&writer, hold.clone());
        assert!(matches!(late, Err(CommitError::Fenced { .. })), "{late:?}");
        noted(&place.store.writer(second).unwrap(), hold).unwrap();
        assert_eq!(held(), Some(HeldBy { epoch: second, since: Timestamp::from_millis(5) }));
        noted(&place.store.writer(second).unwrap(), Note::Release { run: run("a") }).unwrap();
        assert_eq!(held(), None);
    }
}
