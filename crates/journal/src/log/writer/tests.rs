//! The queue: nothing submitted is forgotten, and answers come in order.

use super::*;
use crate::testing::{commit, place, run, started, timer_set};
use std::{sync::Mutex, time::Duration};

#[test]
fn what_was_submitted_before_the_end_is_written_and_answered_in_order() {
    let place = place();
    let writer = place.store.writer(place.store.take_epoch().unwrap()).unwrap();
    let answers = Arc::new(Mutex::new(Vec::new()));
    let run = run("a");
    for seq in 0..50 {
        let event = if seq == 0 { started(&run) } else { timer_set("x") };
        let answers = Arc::clone(&answers);
        let done =
            move |outcome: Result<Receipt, CommitError>| answers.lock().unwrap().push((seq, outcome.is_ok()));
        writer.submit(commit(&run, seq, [event]), Box::new(done));
    }
    drop(writer);
    assert_eq!(*answers.lock().unwrap(), (0..50).map(|seq| (seq, true)).collect::<Vec<_>>());
    assert_eq!(place.reader.run(&run).unwrap().next_seq, 50);
}

#[test]
fn an_answer_comes_after_its_commit_is_visible() {
    let place = place();
    let writer = place.store.writer(place.store.take_epoch().unwrap()).unwrap();
    let (sender, receiver) = mpsc::channel();
    for number in 0..20 {
        let run = run(&format!("a{number}"));
        let reader = place.store.reader().unwrap();
        let sender = sender.clone();
        let commit = commit(&run, 0, [started(&run)]);
        writer.submit(
            commit,
            Box::new(move |_| sender.send(reader.load(&run).unwrap().records.len()).unwrap()),
        );
    }
    drop(sender);
    assert_eq!(receiver.iter().collect::<Vec<_>>(), [1; 20]);
}

#[test]
fn many_threads_may_commit_through_one_writer() {
    let place = place();
    let writer = place.store.writer(place.store.take_epoch().unwrap()).unwrap();
    thread::scope(|scope| {
        for number in 0..8 {
            let writer = &writer;
            let run = run(&format!("a{number}"));
            scope.spawn(move || {
                writer.commit(commit(&run, 0, [started(&run)])).unwrap();
                for seq in 1..10 {
                    writer.commit(commit(&run, seq, [timer_set("x")])).unwrap();
                }
            });
        }
    });
    let rows = place.reader.runs(crate::RunFilter::default()).unwrap();
    assert_eq!(rows.iter().map(|row| row.next_seq).collect::<Vec<_>>(), [10; 8]);
}

#[test]
fn a_writer_whose_thread_is_gone_says_so() {
    let place = place();
    let writer = place.store.writer(place.store.take_epoch().unwrap()).unwrap();
    let run = run("a");
    let panics = |_| std::panic::resume_unwind(Box::new("a callback that breaks its promise"));
    writer.submit(commit(&run, 0, [started(&run)]), Box::new(panics));
    let closed = (1..).map(|seq| writer.commit(commit(&run, seq, [timer_set("x")]))).find_map(Result::err);
    assert!(matches!(closed, Some(CommitError::Closed)));
}

/// A second process that writes and does not come to its end, as far as SQLite can sender.
fn locked(place: &crate::testing::TestStore) -> Connection {
    let other = Connection::open(place.store.layout().db()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    other
}

#[test]
fn a_commit_waits_as_long_as_another_process_keeps_the_database_locked() {
    let place = place();
    let (sender, receiver) = mpsc::channel();
    let waits = Arc::new(move |tries| sender.send(tries).is_ok());
    let patience = Patience { each: Duration::from_millis(1), waits };
    let writer = place.store.patient_writer(place.store.take_epoch().unwrap(), patience).unwrap();
    let other = locked(&place);
    let (sender, outcome) = mpsc::channel();
    writer
        .submit(commit(&run("a"), 0, [started(&run("a"))]), Box::new(move |done| sender.send(done).unwrap()));
    // It has reported three times that it waits, and goes on waiting.
    assert_eq!(receiver.iter().take(3).collect::<Vec<u32>>(), [1, 2, 3]);
    assert!(outcome.try_recv().is_err());
    other.execute_batch("ROLLBACK").unwrap();
    outcome.recv().unwrap().unwrap();
    assert_eq!(place.reader.run(&run("a")).unwrap().next_seq, 1);
}

#[test]
fn an_epoch_is_waited_for_as_long_as_another_process_keeps_the_database_locked() {
    let place = place();
    let before = place.store.take_epoch().unwrap();
    let other = locked(&place);
    let waits = |tries| {
        if tries == 3 {
            other.execute_batch("ROLLBACK").unwrap();
        }
        true
    };
    let epoch = place.store.take_epoch_in_time(Duration::from_millis(1), waits).unwrap();
    assert_eq!(epoch.0, before.0 + 1);
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let given_up = place.store.take_epoch_in_time(Duration::from_millis(1), |tries| tries < 3);
    assert!(matches!(given_up, Err(CommitError::Busy)), "{given_up:?}");
}

#[test]
fn a_writer_that_is_to_wait_no_longer_says_that_the_store_is_busy() {
    let place = place();
    let patience = Patience { each: Duration::from_millis(1), waits: Arc::new(|tries| tries < 3) };
    let writer = place.store.patient_writer(place.store.take_epoch().unwrap(), patience).unwrap();
    let _other = locked(&place);
    let outcome = writer.commit(commit(&run("a"), 0, [started(&run("a"))]));
    assert!(matches!(outcome, Err(CommitError::Busy)), "{outcome:?}");
}

#[test]
fn a_writer_that_was_replaced_while_it_waited_hears_of_it() {
    let place = place();
    let (sender, receiver) = mpsc::channel();
    let waits = Arc::new(move |tries| sender.send(tries).is_ok());
    let patience = Patience { each: Duration::from_millis(1), waits };
    let writer = place.store.patient_writer(place.store.take_epoch().unwrap(), patience).unwrap();
    let other = locked(&place);
    let (sender, outcome) = mpsc::channel();
    writer
        .submit(commit(&run("a"), 0, [started(&run("a"))]), Box::new(move |done| sender.send(done).unwrap()));
    receiver.recv().unwrap();
    // The one that holds the lock is the next engine, and takes its epoch.
    other.execute_batch("UPDATE engine SET epoch = epoch + 1; COMMIT; BEGIN IMMEDIATE").unwrap();
    let outcome = outcome.recv().unwrap();
    assert!(matches!(outcome, Err(CommitError::Fenced { .. })), "{outcome:?}");
}
