//! Two engines on one store: the engine that took over can commit, the other one cannot.

use crate::child::{Committer, check, whole_length};
use envoi_journal::{CommitError, Layout, Lease, Store, conformance};

#[test]
fn an_engine_that_was_taken_over_commits_nothing_further() {
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::new(folder.path().join(".envoi"));
    let mut old = Committer::start(&layout, "a");
    old.acknowledge(5);
    let store = Store::open(layout.clone()).unwrap();
    let lease = Lease::take_over(&layout).unwrap();
    let epoch = store.take_epoch().unwrap();
    let reader = store.reader().unwrap();
    let runs = ["a0", "a1", "a2"].map(|name| conformance::run(name).unwrap());
    let before = runs.each_ref().map(|run| whole_length(&reader, run));
    assert_eq!(old.rest().as_deref(), Some("fenced"));
    assert!(lease.is_current());
    check(&layout, &old.wait());
    assert_eq!(runs.each_ref().map(|run| whole_length(&reader, run)), before);
    let writer = store.writer(epoch).unwrap();
    let run = conformance::run("b").unwrap();
    writer.commit(conformance::commit(&run, 0, [conformance::started(&run).unwrap()])).unwrap();
}

#[test]
fn the_writer_of_an_older_epoch_gets_a_refusal() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(Layout::new(folder.path().join(".envoi"))).unwrap();
    let [old, new] = [(); 2].map(|()| store.writer(store.take_epoch().unwrap()).unwrap());
    let run = conformance::run("a").unwrap();
    let start = conformance::commit(&run, 0, [conformance::started(&run).unwrap()]);
    let error = old.commit(start.clone()).unwrap_err();
    assert!(matches!(error, CommitError::Fenced { ours: 1, current: 2 }), "{error}");
    new.commit(start).unwrap();
}
