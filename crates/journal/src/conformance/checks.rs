//! A function for each promise.

use super::{
    Broken, Depot, commit, commit_now, ended, holds, interrupted, run, same, started, submit, timer_fired,
    timer_set,
};
use crate::{
    log::journal::Journal,
    model::{
        commit::{Commit, Snapshot},
        error::{BlobError, CommitError, ReadError},
        rows::{InboxFilter, RunFilter},
    },
};
use envoi_contract::digest::Digest;
use envoi_kernel::{event::Record, ids::RunId};

type Check = fn(&dyn Depot) -> Result<(), Broken>;

macro_rules! checks {
    ($($name:ident),* $(,)?) => {
        /// Every promise and its check.
        pub(super) const ALL: &[(&str, Check)] = &[$((stringify!($name), $name)),*];
    };
}

checks![
    what_was_committed_is_read_back_in_order,
    what_was_acknowledged_is_there_for_the_next_holder,
    commits_take_effect_in_the_order_of_submission,
    a_wrong_place_is_a_conflict_and_changes_nothing,
    what_contradicts_itself_is_refused,
    a_failed_commit_leaves_nothing_and_its_neighbours_whole,
    an_older_holder_is_fenced,
    a_snapshot_and_its_tail_are_the_whole_run,
    content_is_found_by_its_digest,
    runs_and_questions_are_listed,
    what_is_not_there_is_missing,
];

fn first(run: &RunId) -> Result<Commit, Broken> {
    Ok(commit(run, 0, [started(run)?, timer_set("x")?]))
}

fn length(journal: &dyn Journal, run: &RunId) -> Result<usize, Broken> {
    match journal.load(run) {
        Err(ReadError::Missing { .. }) => Ok(0),
        loaded => Ok(loaded?.records.len()),
    }
}

fn what_was_committed_is_read_back_in_order(depot: &dyn Depot) -> Result<(), Broken> {
    let journal = depot.take()?;
    let run = run("a")?;
    let begin = first(&run)?;
    let next = commit(&run, 2, [timer_fired("x")?, ended()]);
    let begun = commit_now(depot, journal.as_ref(), begin.clone())?;
    let went_on = commit_now(depot, journal.as_ref(), next.clone())?;
    let loaded = journal.load(&run)?;
    let expected: Vec<Record> = begin.records.into_iter().chain(next.records).collect();
    same("the run", &loaded.records, &expected)?;
    same("its flow", &Some(loaded.pinned), &begin.pinned)?;
    same("its weight", &loaded.tail_bytes, &begun.events_bytes.saturating_add(went_on.events_bytes))?;
    holds("its weight", &loaded.tail_bytes, loaded.tail_bytes > 0)
}

fn what_was_acknowledged_is_there_for_the_next_holder(depot: &dyn Depot) -> Result<(), Broken> {
    let run = run("a")?;
    let journal = depot.take()?;
    commit_now(depot, journal.as_ref(), first(&run)?)?;
    let before = journal.load(&run)?;
    drop(journal);
    let journal = depot.take()?;
    same("the run", &journal.load(&run)?, &before)?;
    commit_now(depot, journal.as_ref(), commit(&run, 2, [ended()]))?;
    same("its length", &length(journal.as_ref(), &run)?, &3)
}

fn commits_take_effect_in_the_order_of_submission(depot: &dyn Depot) -> Result<(), Broken> {
    let journal = depot.take()?;
    let run = run("a")?;
    let mut outcomes = vec![submit(journal.as_ref(), first(&run)?)];
    for seq in 2..30 {
        outcomes.push(submit(journal.as_ref(), commit(&run, seq, [timer_set("y")?])));
    }
    depot.settle();
    for outcome in outcomes {
        outcome.recv().unwrap_or(Err(CommitError::Closed))?;
    }
    same("its length", &length(journal.as_ref(), &run)?, &30)
}

fn a_wrong_place_is_a_conflict_and_changes_nothing(depot: &dyn Depot) -> Result<(), Broken> {
    let journal = depot.take()?;
    let a = run("a")?;
    let b = run("b")?;
    commit_now(depot, journal.as_ref(), first(&a)?)?;
    let wrong = [
        (first(&a)?, 2),
        (commit(&a, 1, [timer_set("y")?]), 2),
        (commit(&a, 3, [timer_set("y")?]), 2),
        (commit(&b, 1, [timer_set("y")?]), 0),
    ];
    for (commit, next) in wrong {
        let place = commit.expected;
        let outcome = commit_now(depot, journal.as_ref(), commit);
        let right = matches!(outcome, Err(CommitError::Conflict { expected, found }) if (expected, found) == (place, next));
        holds("the outcome", &outcome, right)?;
    }
    same("the length of a", &length(journal.as_ref(), &a)?, &2)?;
    same("the length of b", &length(journal.as_ref(), &b)?, &0)
}

fn what_contradicts_itself_is_refused(depot: &dyn Depot) -> Result<(), Broken> {
    let journal = depot.take()?;
    let a = run("a")?;
    let b = run("b")?;
    commit_now(depot, journal.as_ref(), first(&a)?)?;
    let next = || -> Result<Commit, Broken> { Ok(commit(&a, 2, [timer_set("y")?])) };
    let snapshot = Some(Snapshot { seq: 3, state: Vec::new() });
    let rows = [
        ("no records", Commit { records: Vec::new(), ..next()? }),
        ("records elsewhere", Commit { expected: 1, ..next()? }),
        ("a second start", commit(&a, 2, [started(&a)?])),
        ("no start", commit(&b, 0, [timer_set("y")?])),
        ("no flow", Commit { pinned: None, ..first(&b)? }),
        ("a snapshot of a later record", Commit { snapshot, ..next()? }),
        ("a false digest", Commit { blobs: vec![(Digest::of(b"x"), b"y".to_vec())], ..next()? }),
    ];
    for (what, commit) in rows {
        let outcome = commit_now(depot, journal.as_ref(), commit);
        holds(what, &outcome, matches!(outcome, Err(CommitError::Malformed { .. })))?;
    }
    same("the length of a", &length(journal.as_ref(), &a)?, &2)?;
    same("the length of b", &length(journal.as_ref(), &b)?, &0)
}

fn a_failed_commit_leaves_nothing_and_its_neighbours_whole(depot: &dyn Depot) -> Result<(), Broken> {
    let journal = depot.take()?;
    let a = run("a")?;
    let b = run("b")?;
    let c = run("c")?;
    let digest = Digest::of(b"inline");
    let failing = Commit {
        blobs: vec![(digest, b"inline".to_vec())],
        snapshot: Some(Snapshot { seq: 7, state: b"state".to_vec() }),
        ..commit(&a, 7, [interrupted("q")?])
    };
    let outcomes =
        [first(&a)?, first(&b)?, failing, first(&c)?].map(|commit| submit(journal.as_ref(), commit));
    depot.settle();
    let outcomes = outcomes.map(|outcome| outcome.recv().unwrap_or(Err(CommitError::Closed)).is_ok());
    same("the outcomes", &outcomes, &[true, true, false, true])?;
    for run in [&a, &b, &c] {
        same("a length", &length(journal.as_ref(), run)?, &2)?;
    }
    same("the snapshot", &journal.load(&a)?.snapshot, &None)?;
    holds("the content", &digest, matches!(journal.blob(&digest), Err(BlobError::Missing { .. })))?;
    same("the inbox", &journal.inbox(&InboxFilter::default())?.len(), &0)
}

fn an_older_holder_is_fenced(depot: &dyn Depot) -> Result<(), Broken> {
    let a = run("a")?;
    let b = run("b")?;
    let old = depot.take()?;
    commit_now(depot, old.as_ref(), first(&a)?)?;
    let new = depot.take()?;
    for commit in [first(&b)?, commit(&a, 2, [ended()])] {
        let outcome = commit_now(depot, old.as_ref(), commit);
        let fenced = matches!(outcome, Err(CommitError::Fenced { ours, current }) if ours < current);
        holds("the outcome", &outcome, fenced)?;
    }
    same("the length of b", &length(new.as_ref(), &b)?, &0)?;
    commit_now(depot, new.as_ref(), commit(&a, 2, [timer_fired("x")?]))?;
    same("the length of a", &length(old.as_ref(), &a)?, &3)
}

fn a_snapshot_and_its_tail_are_the_whole_run(depot: &dyn Depot) -> Result<(), Broken> {
    let journal = depot.take()?;
    let run = run("a")?;
    let snapshot = |seq, state: &[u8]| Some(Snapshot { seq, state: state.to_vec() });
    let commits = [
        Commit { snapshot: snapshot(1, b"one"), ..first(&run)? },
        commit(&run, 2, [timer_set("y")?]),
        // It may have taken a while to write.
        Commit { snapshot: snapshot(2, b"two"), ..commit(&run, 3, [timer_fired("x")?]) },
        commit(&run, 4, [timer_fired("y")?, ended()]),
    ];
    let mut tail = Vec::new();
    let mut tail_bytes = 0;
    for commit in commits {
        let receipt = commit_now(depot, journal.as_ref(), commit.clone())?;
        if commit.expected > 2 {
            tail.extend(commit.records);
            tail_bytes += receipt.events_bytes;
        }
    }
    let loaded = journal.load(&run)?;
    same("the snapshot", &loaded.snapshot, &snapshot(2, b"two"))?;
    same("the tail", &loaded.records, &tail)?;
    same("its weight", &loaded.tail_bytes, &tail_bytes)
}

fn content_is_found_by_its_digest(depot: &dyn Depot) -> Result<(), Broken> {
    let journal = depot.take()?;
    let a = run("a")?;
    let b = run("b")?;
    let large = vec![7; 100_000];
    let digest = journal.put(&large)?;
    same("the digest", &digest, &Digest::of(&large))?;
    same("put again", &journal.put(&large)?, &digest)?;
    let inline = Digest::of(b"inline");
    for run in [&a, &b] {
        let blobs = vec![(inline, b"inline".to_vec()), (Digest::of(b""), Vec::new())];
        commit_now(depot, journal.as_ref(), Commit { blobs, ..first(run)? })?;
    }
    drop(journal);
    let journal = depot.take()?;
    same("large content", &journal.blob(&digest)?, &large)?;
    same("small content", &journal.blob(&inline)?, &b"inline".to_vec())?;
    same("empty content", &journal.blob(&Digest::of(b""))?, &Vec::new())
}

fn runs_and_questions_are_listed(depot: &dyn Depot) -> Result<(), Broken> {
    let journal = depot.take()?;
    let a = run("a")?;
    let b = run("b")?;
    let c = run("c")?;
    let begin = |run: &RunId| -> Result<Commit, Broken> { Ok(commit(run, 0, [started(run)?])) };
    for run in [&a, &b, &c] {
        commit_now(depot, journal.as_ref(), begin(run)?)?;
    }
    commit_now(depot, journal.as_ref(), commit(&b, 1, [ended()]))?;
    commit_now(depot, journal.as_ref(), commit(&c, 1, [interrupted("q")?]))?;
    let list = |unfinished, limit| -> Result<Vec<(RunId, &str)>, Broken> {
        let rows = journal.runs(RunFilter { unfinished, limit })?;
        Ok(rows.into_iter().map(|row| (row.run.clone(), row.status().word())).collect())
    };
    let [a_row, b_row, c_row] = [(a.clone(), "running"), (b, "succeeded"), (c.clone(), "waiting")];
    same("all runs", &list(false, None)?, &vec![c_row.clone(), b_row, a_row.clone()])?;
    same("unfinished runs", &list(true, None)?, &vec![c_row.clone(), a_row])?;
    same("the newest run", &list(false, Some(1))?, &vec![c_row])?;
    let inbox = |run: Option<&RunId>| -> Result<Vec<RunId>, Broken> {
        let filter = InboxFilter { run: run.cloned(), closed: false };
        Ok(journal.inbox(&filter)?.into_iter().map(|row| row.run).collect())
    };
    same("the inbox", &inbox(None)?, &vec![c.clone()])?;
    same("the inbox of c", &inbox(Some(&c))?, &vec![c])?;
    same("the inbox of a", &inbox(Some(&a))?, &Vec::new())
}

fn what_is_not_there_is_missing(depot: &dyn Depot) -> Result<(), Broken> {
    let journal = depot.take()?;
    let run = run("a")?;
    let loaded = journal.load(&run);
    holds("the run", &loaded, matches!(loaded, Err(ReadError::Missing { .. })))?;
    let content = journal.blob(&Digest::of(b"x"));
    holds("the content", &content, matches!(content, Err(BlobError::Missing { .. })))?;
    same("all runs", &journal.runs(RunFilter::default())?.len(), &0)?;
    let inbox = journal.inbox(&InboxFilter { run: Some(run), closed: false });
    holds("the inbox", &inbox, matches!(inbox, Err(ReadError::Missing { .. })))
}
