//! Torn writes: only a part reached the disk.

use crate::child::crashed_copy;
use envoi_journal::{Commit, Layout, RepairOptions, Store, conformance};
use std::{fs, path::Path};

/// The WAL's length after each of these commits of one run.
fn lived(layout: &Layout) -> (envoi_journal::Writer, Vec<u64>) {
    let store = Store::open(layout.clone()).unwrap();
    let writer = store.writer(store.take_epoch().unwrap()).unwrap();
    let lengths = (0..12).map(|seq| {
        writer.commit(nth(seq)).unwrap();
        fs::metadata(layout.root().join("envoi.db-wal")).unwrap().len()
    });
    let lengths = lengths.collect();
    (writer, lengths)
}

fn nth(seq: u64) -> Commit {
    let run = conformance::run("a").unwrap();
    let event = if seq == 0 { conformance::started(&run) } else { conformance::timer_set("t") };
    conformance::commit(&run, seq, [event.unwrap()])
}

/// Opens a crashed store, counts the run's events, and checks that new commits succeed.
fn survivors(layout: &Layout) -> usize {
    // The store lies beside the original, as a copy does, so it is opened with `open_any`.
    let store = Store::open_any(layout.clone()).unwrap();
    let reader = store.reader().unwrap();
    let run = conformance::run("a").unwrap();
    let found = reader.load(&run).map_or(0, |loaded| loaded.records.len());
    let writer = store.writer(store.take_epoch().unwrap()).unwrap();
    writer.commit(nth(u64::try_from(found).unwrap())).unwrap();
    assert_eq!(reader.load(&run).unwrap().records.len(), found + 1);
    let epoch = store.take_epoch().unwrap();
    assert!(envoi_journal::repair(&store, epoch, RepairOptions::default()).unwrap().is_clean());
    found
}

/// For cuts all over the WAL: every commit that was complete before the cut is there, and nothing else.
fn tear_everywhere(tear: impl Fn(&Path, u64)) {
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::new(folder.path().join(".envoi"));
    let (_writer, lengths) = lived(&layout);
    let end = *lengths.last().unwrap();
    for cut in (1..24).map(|part| end * part / 24).chain([end - 1]) {
        let copy = crashed_copy(&layout, &folder.path().join(format!("cut-{cut}")));
        tear(&copy.root().join("envoi.db-wal"), cut);
        let whole = lengths.iter().filter(|length| **length <= cut).count();
        assert_eq!(survivors(&copy), whole, "cut at {cut} of {lengths:?}");
    }
}

#[test]
fn a_wal_that_was_cut_off_keeps_every_commit_before_the_cut() {
    tear_everywhere(|wal, cut| fs::File::options().write(true).open(wal).unwrap().set_len(cut).unwrap());
}

#[test]
fn a_wal_with_a_wrong_byte_keeps_every_commit_before_it() {
    tear_everywhere(|wal, cut| {
        let mut bytes = fs::read(wal).unwrap();
        bytes[usize::try_from(cut).unwrap()] ^= 0x40;
        fs::write(wal, bytes).unwrap();
    });
}

#[test]
fn a_crash_right_after_the_last_answer_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::new(folder.path().join(".envoi"));
    let (_writer, lengths) = lived(&layout);
    let copy = crashed_copy(&layout, &folder.path().join("copy"));
    assert_eq!(survivors(&copy), lengths.len());
}
