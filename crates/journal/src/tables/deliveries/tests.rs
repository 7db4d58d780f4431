//! Rows of the outbox: with their events, through their tries, past repairs and other engines.

use crate::{
    Commit, CommitError, Delivery, DeliveryRow, Fate, Mark, RepairOptions, Undelivered, Writer, repair,
    testing::{TestStore, commit, ended, place, raised, run, started, timer_set},
};
use envoi_contract::time::Timestamp;
use envoi_kernel::{
    Event,
    event::{About, EndStatus},
    notify::Moment,
};
use std::sync::mpsc;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn to(target: &str, seq: u64, kind: Moment) -> Delivery {
    Delivery { seq, kind, id: format!("evt_{seq}"), target: target.to_owned() }
}

/// A question at one second and an end at two; two targets are notified of the end.
fn told(name: &str) -> Commit {
    let run = run(name);
    let deliveries = vec![to("a", 1, Moment::Question), to("a", 2, Moment::End), to("b", 2, Moment::End)];
    let events = [started(&run), raised(name, About::Review), ended(EndStatus::Failed)];
    Commit { deliveries, ..commit(&run, 0, events) }
}

fn writer(place: &TestStore) -> Writer {
    place.store.writer(place.store.take_epoch().unwrap()).unwrap()
}

fn mark(writer: &Writer, row: &DeliveryRow, fate: Fate) -> Result<(), CommitError> {
    let (sender, receiver) = mpsc::channel();
    let mark = Mark { key: row.key, tries: row.tries + 1, fate };
    writer.mark(mark, Box::new(move |outcome| sender.send(outcome).unwrap()));
    receiver.recv().unwrap().map(drop)
}

fn targets(rows: &[DeliveryRow]) -> Vec<(&str, u64)> {
    rows.iter().map(|row| (row.delivery.target.as_str(), row.delivery.seq)).collect()
}

#[test]
fn a_delivery_is_stored_with_its_event_and_due_at_its_time() {
    let place = place();
    writer(&place).commit(told("a")).unwrap();
    let rows = place.reader.deliveries(&run("a")).unwrap();
    assert_eq!(targets(&rows), [("a", 1), ("a", 2), ("b", 2)]);
    let first = &rows[0];
    assert_eq!((&first.run, &first.delivery), (&run("a"), &to("a", 1, Moment::Question)));
    assert_eq!((first.tries, first.next_try_at, first.is_open()), (0, at(1_000), true));
    assert_eq!(targets(&place.reader.due_deliveries(at(999), 9).unwrap()), []);
    assert_eq!(place.reader.next_delivery_after(at(0)).unwrap(), Some(at(1_000)));
    assert_eq!(targets(&place.reader.due_deliveries(at(1_000), 9).unwrap()), [("a", 1)]);
    assert_eq!(targets(&place.reader.due_deliveries(at(2_000), 2).unwrap()), [("a", 1), ("a", 2)]);
    assert_eq!(first.tenant, "local");
    assert_eq!(place.reader.next_delivery_after(at(2_000)).unwrap(), None);
}

#[test]
fn a_tenant_that_has_much_leaves_the_others_to_be_seen() {
    let place = place();
    let writer = writer(&place);
    writer.commit(told("a")).unwrap();
    writer.commit(told("b")).unwrap();
    let mut other = told("c");
    if let Event::RunStarted(begun) = &mut other.records[0].event {
        begun.by.tenant = "north".to_owned();
    }
    writer.commit(other).unwrap();
    let seen = |each| {
        let rows = place.reader.due_deliveries(at(2_000), each).unwrap();
        rows.into_iter().map(|row| (row.tenant, row.run)).collect::<Vec<_>>()
    };
    let local = |name| ("local".to_owned(), run(name));
    let north = ("north".to_owned(), run("c"));
    assert_eq!(seen(1), [local("a"), north.clone()]);
    assert_eq!(seen(2), [local("a"), local("b"), north.clone(), north]);
    assert_eq!(seen(9).len(), 9);
}

#[test]
fn a_refused_commit_notifies_no_watcher() {
    let place = place();
    let writer = writer(&place);
    writer.commit(told("a")).unwrap();
    assert!(matches!(writer.commit(told("a")), Err(CommitError::Conflict { .. })));
    let foreign =
        Commit { deliveries: vec![to("a", 2, Moment::End)], ..commit(&run("a"), 3, [timer_set("x")]) };
    assert!(matches!(writer.commit(foreign), Err(CommitError::Malformed { .. })));
    assert_eq!(place.reader.deliveries(&run("a")).unwrap().len(), 3);
}

#[test]
fn outcomes_are_kept_and_final_ones_stay() {
    let place = place();
    let writer = writer(&place);
    writer.commit(told("a")).unwrap();
    let rows = place.reader.deliveries(&run("a")).unwrap();
    let error = |text: &str| text.to_owned();
    mark(&writer, &rows[0], Fate::Again { at: at(9_000), error: error("down") }).unwrap();
    mark(&writer, &rows[1], Fate::Delivered { at: at(3_000) }).unwrap();
    mark(&writer, &rows[2], Fate::GivenUp { at: at(4_000), error: error("gone") }).unwrap();
    assert_eq!(place.reader.undelivered().unwrap(), Undelivered { open: 1, failing: 1, given_up: 1 });
    let now = place.reader.deliveries(&run("a")).unwrap();
    assert_eq!(
        (now[0].tries, now[0].next_try_at, now[0].last_error.as_deref()),
        (1, at(9_000), Some("down"))
    );
    assert_eq!((now[1].delivered_at, now[1].is_open()), (Some(at(3_000)), false));
    assert_eq!((now[2].gave_up_at, now[2].last_error.as_deref()), (Some(at(4_000)), Some("gone")));
    assert_eq!(targets(&place.reader.due_deliveries(at(8_999), 9).unwrap()), []);
    assert_eq!(targets(&place.reader.due_deliveries(at(9_000), 9).unwrap()), [("a", 1)]);
    // An engine that was overtaken in its try may come late with another outcome of the same.
    mark(&writer, &rows[1], Fate::Again { at: at(5_000), error: error("late") }).unwrap();
    mark(&writer, &rows[2], Fate::Delivered { at: at(5_000) }).unwrap();
    assert_eq!(place.reader.deliveries(&run("a")).unwrap()[1..], now[1..]);
    mark(&writer, &now[0], Fate::Delivered { at: at(9_500) }).unwrap();
    let last = &place.reader.deliveries(&run("a")).unwrap()[0];
    assert_eq!((last.tries, last.delivered_at), (2, Some(at(9_500))));
    assert_eq!(place.reader.undelivered().unwrap(), Undelivered { open: 0, failing: 0, given_up: 1 });
}

#[test]
fn an_overtaken_engine_marks_nothing() {
    let place = place();
    let old = writer(&place);
    old.commit(told("a")).unwrap();
    let rows = place.reader.deliveries(&run("a")).unwrap();
    place.store.take_epoch().unwrap();
    let outcome = mark(&old, &rows[0], Fate::Delivered { at: at(3_000) });
    assert!(matches!(outcome, Err(CommitError::Fenced { .. })), "{outcome:?}");
    assert_eq!(place.reader.deliveries(&run("a")).unwrap(), rows);
}

#[test]
fn repair_leaves_the_outbox_alone() {
    let place = place();
    let mut commit = told("a");
    let target = r#"{"folder":"/","to":{"command":{"shell":"true"}}}"#;
    commit.deliveries.iter_mut().for_each(|delivery| delivery.target = target.to_owned());
    writer(&place).commit(commit).unwrap();
    let rows = place.reader.deliveries(&run("a")).unwrap();
    let epoch = place.store.take_epoch().unwrap();
    assert!(repair(&place.store, epoch, RepairOptions::default()).unwrap().mended_rows.is_empty());
    assert_eq!(place.reader.deliveries(&run("a")).unwrap(), rows);
}
