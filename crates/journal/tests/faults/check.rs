//! Checks the contents of a store against the acknowledgements that its writer had given at some moment.

use crate::life::{Life, RUNS, Told, content, empty};
use envoi_contract::digest::Digest;
use envoi_journal::{Layout, ReadError, Reader, RepairOptions, Store, conformance, repair};
use envoi_kernel::{event::Event, event::Record, ids::RunId};
use envoi_testkit::{Moment, Survives};
use std::fmt::Debug;

/// Opens a store and checks it: everything acknowledged until `at` is there, nothing refused is there, no
/// commit is partial, and new commits succeed.
pub(crate) fn check(layout: &Layout, life: &Life, at: Moment) -> Result<(), String> {
    // The store lies beside the original, as a copy does, so it is opened with `open_any`.
    let store = Store::open_any(layout.clone()).map_err(said)?;
    let reader = store.reader().map_err(said)?;
    let epoch = store.take_epoch().map_err(said)?;
    let writer = store.writer(epoch).map_err(said)?;
    for run in RUNS.map(|name| conformance::run(name).unwrap()) {
        let found = attempts(&reader, &run)?;
        compare(&run, &found, life.told.iter().filter(|told| told.run == run && told.at <= at))?;
        let next = u64::try_from(found.len() * 2).unwrap();
        let event = if next == 0 { conformance::started(&run) } else { conformance::timer_set("x") };
        writer.commit(conformance::commit(&run, next, [event.unwrap()])).map_err(said)?;
    }
    if let Some(taken) = life.epochs.iter().find(|taken| taken.1 <= at && taken.0 >= epoch) {
        return Err(format!("epoch {} was taken, and now {epoch}", taken.0));
    }
    let epoch = store.take_epoch().map_err(said)?;
    let report = repair(&store, epoch, RepairOptions::default()).map_err(said)?;
    if report.is_clean() { Ok(()) } else { Err(said(report)) }
}

fn said(what: impl Debug) -> String {
    format!("{what:?}")
}

/// Compares the commits found of a run with the acknowledgements for it.
fn compare<'a>(run: &RunId, found: &[usize], told: impl Iterator<Item = &'a Told>) -> Result<(), String> {
    for Told { attempt, outcome, .. } in told {
        match (outcome, found.contains(attempt)) {
            (Ok(_), false) => return Err(format!("acknowledged {attempt} of {run} is not in {found:?}")),
            (Err(error), true) if !error.is_unknown() => {
                return Err(format!("refused {attempt} of {run} is in {found:?}"));
            }
            _ => {}
        }
    }
    Ok(())
}

/// As [`check`], for the state that a power failure leaves at a moment of a life.
pub(crate) fn check_left(left: &Layout, life: &Life, at: Moment, survives: Survives) -> Result<(), String> {
    // A separate disk, so that the check does not wait for a real one.
    let _disk = empty(left);
    life.disk.power_loss(at, survives, left.root()).unwrap();
    check(left, life, at)
}

/// The attempts that a run's events belong to. Also checks that each commit is complete.
fn attempts(reader: &Reader, run: &RunId) -> Result<Vec<usize>, String> {
    let records = match reader.load(run) {
        Ok(loaded) => loaded.records,
        Err(ReadError::Missing { .. }) => return Ok(Vec::new()),
        Err(error) => return Err(said(error)),
    };
    let seqs: Vec<u64> = records.iter().map(|record| record.seq).collect();
    if seqs != (0..u64::try_from(records.len()).unwrap()).collect::<Vec<_>>() {
        return Err(format!("{run} has a gap: {seqs:?}"));
    }
    if reader.run(run).map(|row| row.next_seq).ok() != u64::try_from(records.len()).ok() {
        return Err(format!("the row of {run} is not of its events"));
    }
    records.chunks(2).map(|commit| attempt(reader, commit)).collect()
}

/// The attempt that the events of one commit belong to.
fn attempt(reader: &Reader, commit: &[Record]) -> Result<usize, String> {
    let [_, Record { event: Event::TimerSet(last), .. }] = commit else {
        return Err(format!("half a commit: {commit:?}"));
    };
    let attempt = last.timer.as_str().strip_prefix("tim_b").and_then(|attempt| attempt.parse().ok());
    let attempt: usize = attempt.ok_or_else(|| format!("half a commit: {commit:?}"))?;
    let bytes = content(attempt);
    match reader.blob(&Digest::of(&bytes)) {
        Ok(found) if found == bytes => Ok(attempt),
        other => Err(format!("the content of {attempt} is not there: {:?}", other.err())),
    }
}
