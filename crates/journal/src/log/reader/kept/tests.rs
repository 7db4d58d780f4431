//! Events from the newest back are the events.

use super::*;
use crate::testing::{TestStore, attempt, commit, handoff, place, run, settled, started};
use envoi_kernel::event::Event;
use serde::Deserialize;

fn lived() -> (TestStore, Vec<Record>) {
    let place = place();
    let events = [
        started(&run("a")),
        attempt("a", 1),
        settled("a", 1, &[]),
        handoff("a", 1, "words"),
        attempt("b", 1),
        settled("b", 1, &[]),
    ];
    let writer = place.store.writer(place.store.take_epoch().unwrap()).unwrap();
    writer.commit(commit(&run("a"), 0, events)).unwrap();
    let records = place.reader.records(&run("a"), 0, None).unwrap();
    (place, records)
}

#[test]
fn the_newest_comes_first_and_none_after_the_break() {
    let (place, records) = lived();
    let back = |before, most: usize| {
        let mut found = Vec::new();
        let read = place.reader.events_back(&run("a"), before, |event| {
            let record = event.record()?;
            assert_eq!((event.seq(), event.name()), (record.seq, record.event.name()));
            let visit = match &record.event {
                Event::HandoffWritten(written) => Some(written.visit.clone()),
                _ => None,
            };
            assert_eq!(event.first("visit"), visit, "{}", event.name());
            let attempt = match &record.event {
                Event::AttemptStarted(started) => Some(started.attempt.clone()),
                Event::AttemptSettled(settled) => Some(settled.attempt.clone()),
                _ => None,
            };
            assert_eq!(event.first("attempt"), attempt, "{}", event.name());
            found.push(record);
            Ok(if found.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        });
        read.unwrap();
        found
    };
    let newest_first: Vec<Record> = records.into_iter().rev().collect();
    assert_eq!(back(None, 100), newest_first);
    assert_eq!(back(None, 2), newest_first[..2]);
    assert_eq!(back(Some(4), 100), newest_first[2..]);
    let none = place.reader.events_back(&run("b"), None, |_| Ok(ControlFlow::Continue(())));
    assert!(matches!(none, Err(ReadError::Missing { .. })));
}

#[test]
fn what_is_not_decoded_cannot_fail_and_what_is_says_where() {
    #[derive(Debug, Deserialize)]
    struct Outcome {
        ok: bool,
    }
    let (place, _) = lived();
    let conn = rusqlite::Connection::open(place.store.layout().db()).unwrap();
    let damage = r#"UPDATE events SET body = '{"type":"attempt_settled","ok":7}' WHERE seq = 5"#;
    conn.execute_batch(damage).unwrap();
    let mut names = Vec::new();
    let mut wrong = Vec::new();
    let read = place.reader.events_back(&run("a"), None, |event| {
        names.push(event.name().to_owned());
        if event.name() == "attempt_settled" {
            match event.members::<Outcome>() {
                Ok(outcome) => assert!(outcome.ok),
                Err(error) => wrong.push(error.to_string()),
            }
        }
        Ok(ControlFlow::Continue(()))
    });
    read.unwrap();
    assert_eq!(
        (names.len(), names[0].as_str(), wrong.len()),
        (6, "attempt_settled", 1),
        "{names:?} {wrong:?}"
    );
    assert!(wrong[0].contains("event 5"), "{wrong:?}");
    let read =
        place.reader.events_back(&run("a"), None, |event| event.record().map(|_| ControlFlow::Continue(())));
    let error = read.unwrap_err();
    assert!(matches!(&error, ReadError::Damaged { what, .. } if what == "event 5"), "{error:?}");
}

#[test]
fn open_attempts_are_found_without_reading_what_stands_before_them() {
    let (place, _) = lived();
    let more =
        [attempt("c", 1), attempt("d", 1), settled("d", 1, &[]), handoff("d", 1, "words"), attempt("e", 1)];
    let writer = place.store.writer(place.store.take_epoch().unwrap()).unwrap();
    writer.commit(commit(&run("a"), 6, more)).unwrap();
    let newest = |most| {
        let found = place.reader.newest_open_attempts(&run("a"), most)?;
        Ok::<_, ReadError>(found.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    assert_eq!(newest(9).unwrap(), ["e.1.1", "c.1.1"]);
    let mut all = place.reader.open_attempts(&run("a")).unwrap();
    all.sort();
    assert_eq!(all.iter().map(ToString::to_string).collect::<Vec<_>>(), ["c.1.1", "e.1.1"]);
    // A truncated event still shows its type, but not the attempt that it is about.
    let conn = rusqlite::Connection::open(place.store.layout().db()).unwrap();
    let broken = r#"UPDATE events SET body = '{"type":"attempt_started",' WHERE seq < 6"#;
    conn.execute_batch(broken).unwrap();
    assert_eq!(newest(0).unwrap(), [""; 0]);
    assert_eq!(newest(1).unwrap(), ["e.1.1"]);
    assert_eq!(newest(2).unwrap(), ["e.1.1", "c.1.1"]);
    let refused = newest(3).unwrap_err();
    assert!(matches!(&refused, ReadError::Damaged { what, .. } if what == "event 5"), "{refused:?}");
}
