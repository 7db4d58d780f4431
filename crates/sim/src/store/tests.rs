//! The simulated store keeps the promises of the real one, and loses at a crash what it may lose.

use super::*;
use envoi_journal::conformance::{Depot, check_journal, commit, run, started, timer_set};
use std::sync::mpsc;

impl Depot for SimStore {
    fn take(&self) -> Result<Box<dyn Journal>, Box<dyn std::error::Error>> {
        Ok(Box::new(SimStore::take(self)))
    }

    fn settle(&self) {
        let epochs: Vec<u64> = lock(&self.state).pending.iter().map(|pending| pending.epoch).collect();
        for epoch in epochs {
            self.settle_next(epoch, Fate::Written);
        }
    }
}

#[test]
fn the_simulated_store_keeps_every_promise() {
    if let Err(failures) = check_journal(|| Box::new(SimStore::default())) {
        panic!("{failures:#?}");
    }
}

#[test]
fn a_crash_loses_what_was_not_durable_and_nothing_else() {
    let store = SimStore::default();
    let first = store.take();
    let a = run("a").unwrap();
    let submit = |journal: &SimJournal, commit| {
        let (sender, receiver) = mpsc::channel();
        journal.submit(commit, Box::new(move |outcome| drop(sender.send(outcome))));
        receiver
    };
    let kept = submit(&first, commit(&a, 0, [started(&a).unwrap()]));
    let lost = submit(&first, commit(&a, 1, [timer_set("x").unwrap()]));
    store.settle_next(first.epoch(), Fate::Written);
    store.forget(first.epoch());
    assert!(kept.recv().unwrap().is_ok());
    assert!(lost.recv().is_err(), "no `done` is called");
    assert_eq!(store.take().load(&a).unwrap().records.len(), 1);
}

#[test]
fn a_failed_commit_is_there_only_where_the_machine_cannot_know() {
    for (fate, length) in [(Fate::Full, 0), (Fate::LostUnknown, 0), (Fate::KeptUnknown, 1)] {
        let store = SimStore::default();
        let journal = store.take();
        let a = run("a").unwrap();
        let (sender, receiver) = mpsc::channel();
        let done: Done = Box::new(move |outcome| drop(sender.send(outcome)));
        journal.submit(commit(&a, 0, [started(&a).unwrap()]), done);
        store.settle_next(journal.epoch(), fate);
        let outcome = receiver.recv().unwrap();
        assert_eq!(outcome.unwrap_err().is_unknown(), fate != Fate::Full);
        assert_eq!(store.records(&a).len(), length, "{fate:?}");
    }
}
