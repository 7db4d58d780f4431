//! The events of a run of which more is shown than the row of a visit.
//!
//! Owns which they are; the index `events_notable` holds them, so that of a long run no other event is read.

use super::Reader;
use crate::{
    model::{error::ReadError, rows::RunRow},
    tables::projection,
};
use envoi_kernel::{
    event::Record,
    ids::{RunId, Seq},
};
use rusqlite::params;

/// The condition of the index, as its migration has it: only a query with the same condition uses it. An event that does not begin with
/// its type is included, because it can be any.
const IS_NOTABLE: &str = r#"
    (body >= '{"type":"flow_corrected"' AND body < '{"type":"flow_corrected#')
    OR (body >= '{"type":"run_reopened"' AND body < '{"type":"run_reopened#')
    OR (body >= '{"type":"files_restoring"' AND body < '{"type":"files_restoring#')
    OR (body >= '{"type":"attempt_settled"' AND body < '{"type":"attempt_settled#' AND instr(body, '"warnings":[') > 0)
    OR body < '{"type":"' OR body >= '{"type":#'"#;

/// The number of events at the end of a run that include the one about an unfinished change of its files. Only a few can follow while one
/// is open, such as answers.
const TAIL: Seq = 32;

/// The newest event about a change of files: it began, is done, or was given up.
const NEWEST_OF_FILES: &str = r#"SELECT body < '{"type":"files_restoring#' AND body >= '{"type":"files_restoring"' AS is_open FROM events
    WHERE run = ?1 AND seq >= ?2 AND body >= '{"type":"files_' AND body < '{"type":"files_s' ORDER BY seq DESC LIMIT 1"#;

impl Reader {
    /// Whether a change of a run's files, by `envoi restore` or `envoi apply`, was begun and is not done: they may be half old and half new.
    ///
    /// # Errors
    /// The machine's.
    pub fn has_files_half_set_back(&self, row: &RunRow) -> Result<bool, ReadError> {
        let Some(key) = self.known_key(&row.run)? else { return Ok(false) };
        let from = row.next_seq.saturating_sub(TAIL).cast_signed();
        let newest = self.rows(NEWEST_OF_FILES, params![key, from], |row| row.get("is_open"), "an event")?;
        Ok(newest.first().copied().unwrap_or(false))
    }

    /// Corrections, reopenings, restores of files and attempts with warnings, in order; others may be among them.
    ///
    /// # Errors
    /// [`ReadError::Missing`] when there is no such run; [`ReadError::Damaged`] when one of them cannot be understood.
    pub fn notable_records(&self, run: &RunId) -> Result<Vec<Record>, ReadError> {
        self.rows(&sql(), [self.key(run)?], projection::record, "an event")
    }
}

fn sql() -> String {
    format!("SELECT seq, at_ms, body FROM events WHERE run = ?1 AND ({IS_NOTABLE}) ORDER BY seq")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{answered, attempt, commit, handoff, place, reopened, run, settled, started};
    use envoi_contract::digest::Digest;
    use envoi_kernel::{
        event::{EndStatus, Event, FilesKeptAsTheyWere, FilesRestored, FilesRestoring, Reach},
        ids::Principal,
    };

    fn with_warnings(warnings: &[&str]) -> Event {
        let Event::AttemptSettled(mut event) = settled("a", 1, &[]) else { panic!("no settlement") };
        event.warnings = warnings.iter().map(|warning| (*warning).to_owned()).collect();
        Event::AttemptSettled(event)
    }

    #[test]
    fn files_are_half_set_back_from_the_begin_of_a_restore_to_its_end() {
        let place = place();
        let to = Digest::of(b"to");
        let by = Principal { tenant: "local".to_owned(), actor: "ada".to_owned() };
        let restoring = FilesRestoring {
            from: Digest::of(b""),
            to,
            reach: Reach::Workspace,
            undoes: false,
            by,
            why: None,
            folders_gone: None,
            folders_back: None,
            found: Vec::new(),
        };
        let begins = Event::FilesRestoring(Box::new(restoring));
        let events = [
            (started(&run("a")), false),
            (begins.clone(), true),
            (answered("q"), true),
            (Event::FilesRestored(Box::new(FilesRestored { to, late: Vec::new(), left: Vec::new() })), false),
            (begins, true),
            (Event::FilesKeptAsTheyWere(FilesKeptAsTheyWere { reason: "no room".to_owned() }), false),
        ];
        let writer = place.store.writer(place.store.take_epoch().unwrap()).unwrap();
        for (seq, (event, is_half)) in (0..).zip(events) {
            writer.commit(commit(&run("a"), seq, [event])).unwrap();
            let row = place.reader.run(&run("a")).unwrap();
            assert_eq!(place.reader.has_files_half_set_back(&row).unwrap(), is_half, "after event {seq}");
        }
    }

    #[test]
    fn notable_events_are_found_by_their_index_and_no_others() {
        let place = place();
        let events = [
            started(&run("a")),
            attempt("a", 1),
            with_warnings(&[]),
            handoff("a", 1, r#""warnings":["#),
            attempt("a", 1),
            with_warnings(&["it is late", "it is long"]),
            crate::testing::ended(EndStatus::Failed),
            reopened("a"),
        ];
        let writer = place.store.writer(place.store.take_epoch().unwrap()).unwrap();
        writer.commit(commit(&run("a"), 0, events)).unwrap();
        let seqs = || -> Vec<u64> {
            place.reader.notable_records(&run("a")).unwrap().iter().map(|record| record.seq).collect()
        };
        assert_eq!(seqs(), [5, 7]);
        // An event that does not begin with its type may be any.
        let conn = rusqlite::Connection::open(place.store.layout().db()).unwrap();
        let turned = r#"UPDATE events SET body = '{"visit":' || json_extract(body, '$.visit') || ',"type":"x"}' WHERE seq = 3"#;
        conn.execute_batch(turned).unwrap();
        let refused = place.reader.notable_records(&run("a")).unwrap_err();
        assert!(matches!(&refused, ReadError::Damaged { what, .. } if what == "event 3"), "{refused:?}");
        let plan: String = place
            .reader
            .conn()
            .query_row(&format!("EXPLAIN QUERY PLAN {}", sql()), [1], |row| row.get("detail"))
            .unwrap();
        assert!(plan.contains("USING INDEX events_notable (run=?)"), "{plan}");
        assert!(matches!(place.reader.notable_records(&run("b")), Err(ReadError::Missing { .. })));
    }
}
