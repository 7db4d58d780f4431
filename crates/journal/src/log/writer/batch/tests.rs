//! The promises of a batch when some of it, or all of it, goes wrong.

use super::*;
use crate::tables::schema;
use crate::testing::{
    self, TestStore, attempt, commit, place, run, settled, started, timer_fired, timer_set,
};
use envoi_contract::{json::Value, time::Timestamp};
use envoi_kernel::event::EndStatus;

fn transactions(place: &TestStore, epoch: Epoch) -> Transactions {
    Transactions::new(schema::connect(&place.store.layout().db()).unwrap(), epoch, None)
}

fn fresh() -> (TestStore, Transactions) {
    let place = place();
    let epoch = place.store.take_epoch().unwrap();
    let transactions = transactions(&place, epoch);
    (place, transactions)
}

fn first(name: &str) -> Commit {
    let run = run(name);
    commit(&run, 0, [started(&run), attempt("repair", 1)])
}

/// The number of each run's events, in this order.
fn lengths(place: &TestStore, names: &[&str]) -> Vec<usize> {
    names
        .iter()
        .map(|name| place.reader.records(&run(name), 0, None).map_or(0, |records| records.len()))
        .collect()
}

#[test]
fn a_batch_is_written_whole_and_each_commit_has_its_receipt() {
    let (place, transactions) = fresh();
    let outcomes = transactions.write(&[first("a"), first("b")]);
    for (outcome, name) in outcomes.iter().zip(["a", "b"]) {
        let loaded = place.reader.load(&run(name)).unwrap();
        assert_eq!(outcome.as_ref().unwrap().events_bytes, loaded.tail_bytes);
        assert_eq!(loaded.records, first(name).records);
        assert_eq!(loaded.pinned, testing::pinned());
    }
}

#[test]
fn one_that_fails_leaves_the_others_in_the_same_transaction() {
    let (place, transactions) = fresh();
    let gap = commit(&run("b"), 3, [timer_set("x")]);
    let again = first("a");
    let outcomes = transactions.write(&[first("a"), gap, again, first("c")]);
    assert!(outcomes[0].is_ok() && outcomes[3].is_ok());
    assert!(matches!(outcomes[1], Err(CommitError::Conflict { expected: 3, found: 0 })));
    assert!(matches!(outcomes[2], Err(CommitError::Conflict { expected: 0, found: 2 })));
    assert_eq!(lengths(&place, &["a", "b", "c"]), [2, 0, 2]);
}

#[test]
fn two_commits_of_one_run_may_share_a_transaction() {
    let (place, transactions) = fresh();
    let next = commit(&run("a"), 2, [settled("repair", 1, &[])]);
    assert!(transactions.write(&[first("a"), next]).iter().all(Result::is_ok));
    assert_eq!(place.reader.run(&run("a")).unwrap().next_seq, 3);
}

#[test]
fn a_commit_that_fails_half_way_leaves_nothing_of_itself() {
    let (place, transactions) = fresh();
    place.store.writer(transactions.epoch).unwrap().commit(first("a")).unwrap();
    // A row in the way of the second event, so that the first one is already written when it fails.
    transactions
        .conn
        .execute("INSERT INTO events (run, seq, at_ms, body) VALUES (1, -1, 0, '')", [])
        .unwrap();
    transactions
        .conn
        .execute_batch(
            "CREATE TRIGGER t BEFORE INSERT ON events WHEN new.seq = 3 BEGIN SELECT raise(ABORT, 'no'); END",
        )
        .unwrap();
    let half = commit(&run("a"), 2, [timer_set("x"), timer_fired("x")]);
    let outcomes = transactions.write(&[half, first("b")]);
    assert!(matches!(outcomes[0], Err(CommitError::Io { unknown: false, .. })), "{outcomes:?}");
    assert!(outcomes[1].is_ok());
    let row = place.reader.run(&run("a")).unwrap();
    assert_eq!((row.next_seq, row.pending_timers), (2, 0));
    assert_eq!(lengths(&place, &["a", "b"]), [2, 2]);
}

#[test]
fn when_one_ends_the_whole_transaction_the_others_are_written_alone() {
    let (place, transactions) = fresh();
    transactions.conn.execute_batch("CREATE TRIGGER t BEFORE INSERT ON journals WHEN new.id = 'run_b' BEGIN SELECT raise(ROLLBACK, 'gone'); END").unwrap();
    let outcomes = transactions.write(&[first("a"), first("b"), first("c")]);
    assert!(outcomes[0].is_ok() && outcomes[2].is_ok(), "{outcomes:?}");
    assert!(outcomes[1].is_err());
    assert_eq!(lengths(&place, &["a", "b", "c"]), [2, 0, 2]);
}

#[test]
fn without_room_only_what_does_not_fit_is_refused() {
    let (place, transactions) = fresh();
    transactions.write(&[first("a")]);
    let pages: i64 = transactions.conn.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    transactions.conn.pragma_update_and_check(None, "max_page_count", pages + 2, |_| Ok(())).unwrap();
    let mut large = commit(&run("a"), 2, [settled("repair", 1, &[])]);
    let bytes = vec![7; INLINE_MAX_BYTES];
    large.blobs = vec![(Digest::of(&bytes), bytes)];
    let outcomes = transactions.write(&[first("b"), large, first("c")]);
    assert!(matches!(outcomes[1], Err(CommitError::Full { .. })), "{outcomes:?}");
    assert!(outcomes[0].is_ok() && outcomes[2].is_ok(), "{outcomes:?}");
    assert_eq!(lengths(&place, &["a", "b", "c"]), [2, 2, 2]);
}

#[test]
fn when_commit_fails_no_caller_gets_success_and_the_next_batch_goes_on() {
    let (place, transactions) = fresh();
    let break_commits_of_b = "CREATE TABLE t (flow INTEGER REFERENCES flows DEFERRABLE INITIALLY DEFERRED) STRICT; \
         CREATE TRIGGER u AFTER INSERT ON journals WHEN new.id = 'run_b' BEGIN INSERT INTO t VALUES (999); END";
    transactions.conn.execute_batch(break_commits_of_b).unwrap();
    let outcomes = transactions.write(&[first("a"), commit(&run("c"), 3, [timer_set("x")]), first("b")]);
    assert!(matches!(outcomes[0], Err(CommitError::Io { unknown: true, .. })), "{outcomes:?}");
    assert!(matches!(outcomes[1], Err(CommitError::Conflict { .. })), "{outcomes:?}");
    assert!(outcomes[2].as_ref().is_err_and(CommitError::is_unknown), "{outcomes:?}");
    assert_eq!(lengths(&place, &["a", "b"]), [0, 0]);
    assert!(transactions.write(&[first("a"), first("c")]).iter().all(Result::is_ok));
    assert_eq!(lengths(&place, &["a", "b", "c"]), [2, 0, 2]);
}

#[test]
fn an_older_holder_is_fenced_and_the_newer_one_is_not() {
    let (place, old) = fresh();
    assert!(old.write(&[first("a")])[0].is_ok());
    let new = transactions(&place, place.store.take_epoch().unwrap());
    let outcomes = old.write(&[first("b"), commit(&run("a"), 2, [timer_set("x")])]);
    for outcome in outcomes {
        assert!(matches!(outcome, Err(CommitError::Fenced { ours: 1, current: 2 })));
    }
    assert!(new.write(&[first("b")])[0].is_ok());
    assert_eq!(lengths(&place, &["a", "b"]), [2, 2]);
}

#[test]
fn a_store_that_another_keeps_locked_is_busy_for_all() {
    let (place, transactions) = fresh();
    transactions.conn.busy_timeout(std::time::Duration::ZERO).unwrap();
    let other = schema::connect(&place.store.layout().db()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let outcomes = transactions.write(&[first("a"), first("b")]);
    assert!(outcomes.iter().all(|outcome| matches!(outcome, Err(CommitError::Busy))));
    other.execute_batch("ROLLBACK").unwrap();
    assert!(transactions.write(&[first("a")])[0].is_ok());
}

#[test]
fn what_no_reader_could_understand_is_refused() {
    let (place, transactions) = fresh();
    transactions.write(&[first("a")]);
    let next = || commit(&run("a"), 2, [timer_set("x")]);
    let rows: Vec<(&str, Commit)> = vec![
        ("empty", Commit { records: Vec::new(), ..next() }),
        ("gap", Commit { expected: 1, ..next() }),
        ("second start", commit(&run("a"), 2, [started(&run("a"))])),
        ("no start", commit(&run("b"), 0, [timer_set("x")])),
        ("no flow", Commit { pinned: None, ..first("b") }),
        (
            "snapshot of a record that is to come",
            Commit { snapshot: Some(Snapshot { seq: 3, state: vec![] }), ..next() },
        ),
        ("false digest", Commit { blobs: vec![(Digest::of(b"x"), b"y".to_vec())], ..next() }),
        ("too large", Commit { blobs: vec![(Digest::of(&[0; 16_385]), vec![0; 16_385])], ..next() }),
    ];
    for (what, commit) in rows {
        let outcome = transactions.write(&[commit]).remove(0);
        assert!(matches!(outcome, Err(CommitError::Malformed { .. })), "{what}: {outcome:?}");
    }
    assert_eq!(lengths(&place, &["a", "b"]), [2, 0]);
}

#[test]
fn an_event_that_could_not_be_read_again_is_refused_by_the_last_look_and_the_next_one_is_taken() {
    let (place, transactions) = fresh();
    transactions.write(&[first("a"), first("b")]);
    let deep = (0..200).fold(Value::Null, |value, _| Value::Array(vec![value]));
    let mut too_deep = settled("repair", 1, &[]);
    if let Event::AttemptSettled(settled) = &mut too_deep {
        settled.data = deep;
    }
    let mut too_large = testing::handoff("repair", 1, "");
    if let Event::HandoffWritten(written) = &mut too_large {
        // A document has at most 16 MiB.
        written.handoff.step_id = "x".repeat(17 * 1024 * 1024);
    }
    for event in [too_deep, too_large] {
        let name = event.name();
        let outcomes =
            transactions.write(&[commit(&run("a"), 2, [event]), commit(&run("b"), 2, [timer_set("x")])]);
        let Err(CommitError::Malformed { reason }) = &outcomes[0] else { panic!("{name}: {outcomes:?}") };
        assert!(reason.starts_with(&format!("event 2 (`{name}`) could not be read again: ")), "{reason}");
    }
    assert_eq!(lengths(&place, &["a", "b"]), [2, 3], "the run beside it has its commit");
    assert!(transactions.write(&[commit(&run("a"), 2, [settled("repair", 1, &[])])])[0].is_ok());
}

#[test]
fn only_the_newest_snapshot_is_kept_and_the_tail_begins_after_it() {
    let (place, transactions) = fresh();
    let snapshot = |seq, state: &[u8]| Some(Snapshot { seq, state: state.to_vec() });
    let commits = [
        Commit { snapshot: snapshot(1, b"one"), ..first("a") },
        Commit { snapshot: snapshot(2, b"two"), ..commit(&run("a"), 2, [timer_set("x")]) },
        commit(&run("a"), 3, [timer_fired("x")]),
    ];
    assert!(transactions.write(&commits).iter().all(Result::is_ok));
    let loaded = place.reader.load(&run("a")).unwrap();
    assert_eq!(loaded.snapshot, snapshot(2, b"two"));
    assert_eq!(loaded.records, commits[2].records);
    assert_eq!(loaded.records[0].at, Timestamp::from_millis(3_000));
    assert_eq!(place.reader.records(&run("a"), 0, None).unwrap().len(), 4);
}

#[test]
fn a_corrected_run_keeps_every_flow_that_it_was_pinned_to() {
    let (place, transactions) = fresh();
    transactions.write(&[first("a"), first("b")]);
    let version = |text: &str| PinnedFlow { text: text.to_owned(), ..testing::pinned() };
    let second = version("flow: fix # 2\n");
    let third = version("flow: fix # 3\n");
    let started = place.reader.load(&run("a")).unwrap().records;
    let next = started.last().unwrap().seq + 1;
    let commit = |seq: u64, pinned: &PinnedFlow| Commit {
        pinned: Some(pinned.clone()),
        ..testing::commit(&run("a"), seq, [testing::reopened("s")])
    };
    transactions.write(&[commit(next, &second)]);
    transactions.write(&[commit(next + 1, &third)]);
    let loaded = place.reader.load(&run("a")).unwrap().pinned;
    assert_eq!(loaded, PinnedFlow { earlier: vec![testing::pinned(), second.clone()], ..third.clone() });
    assert_eq!(place.reader.load(&run("b")).unwrap().pinned, testing::pinned(), "another run is as it was");
    // Corrected back to the first one: each is known once.
    transactions.write(&[commit(next + 2, &testing::pinned())]);
    let back = place.reader.load(&run("a")).unwrap().pinned;
    assert_eq!(back, PinnedFlow { earlier: vec![second.clone(), third.clone()], ..testing::pinned() });
    // A fork begins with all of them.
    transactions.write(&[Commit { pinned: Some(back.clone()), ..first("c") }]);
    assert_eq!(place.reader.load(&run("c")).unwrap().pinned, back);
}

#[test]
fn runs_of_the_same_flow_share_its_text() {
    let (place, transactions) = fresh();
    transactions.write(&[first("a"), first("b")]);
    let flows = |conn: &Connection| {
        conn.query_row("SELECT count(*) FROM flows", [], |row| row.get::<_, i64>(0)).unwrap()
    };
    assert_eq!(flows(&transactions.conn), 1);
    let other = PinnedFlow { text: "flow: fix # commented\n".to_owned(), ..testing::pinned() };
    transactions.write(&[Commit { pinned: Some(other.clone()), ..first("c") }]);
    assert_eq!(place.reader.load(&run("c")).unwrap().pinned, other);
    assert_eq!(place.reader.load(&run("a")).unwrap().pinned, testing::pinned());
    assert_eq!(flows(&transactions.conn), 2);
}

/// The row of a run, as the database has it.
fn row(transactions: &Transactions, name: &str) -> Progress {
    read_run(&transactions.conn, &run(name)).unwrap().unwrap().progress
}

/// The row of the run `a` after these commits, by writers that remember nothing.
fn row_by_others(commits: &[Commit]) -> Progress {
    let (place, transactions) = fresh();
    for commit in commits {
        let other =
            Transactions::new(schema::connect(&place.store.layout().db()).unwrap(), transactions.epoch, None);
        assert!(other.write(std::slice::from_ref(commit))[0].is_ok());
    }
    row(&transactions, "a")
}

#[test]
fn nothing_of_a_commit_that_failed_is_remembered() {
    let (place, transactions) = fresh();
    assert!(transactions.write(&[first("a"), first("b")]).iter().all(Result::is_ok));
    let next = || commit(&run("a"), 2, [timer_set("x"), timer_fired("x")]);
    let fails_at = |seq: u32, how: &str| {
        let trigger = format!(
            "DROP TRIGGER IF EXISTS t; CREATE TRIGGER t BEFORE INSERT ON events WHEN new.run = 1 AND new.seq = {seq} \
             BEGIN SELECT raise({how}, 'no'); END"
        );
        transactions.conn.execute_batch(&trigger).unwrap();
    };
    for how in ["ROLLBACK", "ABORT"] {
        fails_at(3, how);
        // Alone in its transaction, and beside another run.
        assert!(transactions.write(&[next()])[0].is_err(), "{how}");
        let beside = commit(&run("b"), 2 + u64::from(how == "ABORT"), [timer_set("y")]);
        let outcomes = transactions.write(&[next(), beside]);
        assert!(outcomes[0].is_err() && outcomes[1].is_ok(), "{how}: {outcomes:?}");
    }
    transactions.conn.execute_batch("DROP TRIGGER t").unwrap();
    let again = transactions.write(&[first("a"), next()]);
    assert!(matches!(again[0], Err(CommitError::Conflict { expected: 0, found: 2 })), "{again:?}");
    assert!(again[1].is_ok(), "{again:?}");
    assert_eq!(lengths(&place, &["a", "b"]), [4, 4]);
    assert_eq!(row(&transactions, "a"), row_by_others(&[first("a"), next()]));
}

#[test]
fn a_run_that_ends_and_goes_on_has_its_row_whether_or_not_the_writer_remembers_it() {
    let (_place, transactions) = fresh();
    let ended = || testing::ended(EndStatus::Succeeded);
    let commits = [
        first("a"),
        commit(&run("a"), 2, [settled("repair", 1, &[]), ended()]),
        commit(&run("a"), 4, [testing::reopened("repair")]),
        commit(&run("a"), 5, [attempt("repair", 2)]),
        commit(&run("a"), 6, [settled("repair", 2, &[]), ended()]),
    ];
    for (place, commit) in commits.iter().enumerate() {
        let outcomes = transactions.write(std::slice::from_ref(commit));
        assert!(outcomes[0].is_ok(), "{outcomes:?}");
        assert_eq!(row(&transactions, "a"), row_by_others(&commits[..=place]), "{place}");
        assert_eq!(row(&transactions, "a").is_over(), [1, 4].contains(&place), "{place}");
    }
}

#[test]
fn a_writer_that_is_alone_remembers_and_one_that_is_not_looks_again() {
    let (place, transactions) = fresh();
    assert!(transactions.write(&[first("a"), first("b")]).iter().all(Result::is_ok));
    assert!(transactions.write(&[commit(&run("a"), 2, [timer_set("x")])])[0].is_ok());
    assert_eq!(transactions.runs.count(), 2, "its own commits are no news");
    // A process that takes no epoch, as `envoi repair` and a database shell.
    let other = self::transactions(&place, transactions.epoch);
    assert!(other.write(&[commit(&run("a"), 3, [timer_fired("x")])])[0].is_ok());
    let late = transactions.write(&[commit(&run("a"), 3, [timer_set("y")])]);
    assert!(matches!(late[0], Err(CommitError::Conflict { expected: 3, found: 4 })), "{late:?}");
    assert!(transactions.write(&[commit(&run("a"), 4, [timer_set("y")])])[0].is_ok());
    let loaded = place.reader.run(&run("a")).unwrap();
    assert_eq!((loaded.next_seq, loaded.pending_timers), (5, 1));
    // Rows that others made anew have other keys, and may be those of another run.
    let sql = "DELETE FROM snapshots; UPDATE journals SET run = 71 WHERE run = 1; UPDATE events SET run = 71 WHERE run = 1; \
               UPDATE runs SET run = 71 WHERE run = 1";
    other.conn.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
    other.conn.execute_batch(sql).unwrap();
    assert!(transactions.write(&[commit(&run("a"), 5, [timer_fired("y")])])[0].is_ok());
    assert_eq!(lengths(&place, &["a", "b"]), [6, 2]);
}

#[test]
fn a_writer_that_was_overtaken_remembers_nothing() {
    let (place, old) = fresh();
    assert!(old.write(&[first("a")])[0].is_ok());
    let new = transactions(&place, place.store.take_epoch().unwrap());
    assert!(new.write(&[commit(&run("a"), 2, [timer_set("x")])])[0].is_ok());
    for seq in [2, 3] {
        let outcomes = old.write(&[commit(&run("a"), seq, [timer_set("y")])]);
        assert!(matches!(outcomes[0], Err(CommitError::Fenced { ours: 1, current: 2 })), "{outcomes:?}");
    }
    assert_eq!((old.runs.count(), lengths(&place, &["a"])), (0, vec![3]));
}

#[test]
fn a_new_run_gets_a_key_that_no_row_of_another_one_has() {
    for damage in [
        "DELETE FROM journals WHERE id = 'run_b'",
        "DELETE FROM journals; DELETE FROM runs",
        "UPDATE journals SET run = -1 WHERE id = 'run_b'",
        "DELETE FROM journals; DELETE FROM events; DELETE FROM runs; INSERT INTO set_aside VALUES (3, 1, 'c', 'r', 'e')",
        "DELETE FROM journals WHERE id = 'run_b'; UPDATE events SET run = 9223372036854775807 WHERE run = 2",
    ] {
        let (place, transactions) = fresh();
        assert!(transactions.write(&[first("a"), first("b")]).iter().all(Result::is_ok));
        let keys = "SELECT max(run) FROM (SELECT run FROM events UNION SELECT run FROM runs UNION SELECT run FROM set_aside)";
        let other = schema::connect(&place.store.layout().db()).unwrap();
        other.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
        other.execute_batch(damage).unwrap();
        let taken: i64 = other.query_row(keys, [], |row| row.get(0)).unwrap();
        let outcomes = transactions.write(&[first("c"), first("d")]);
        assert!(outcomes.iter().all(Result::is_ok), "{damage}: {outcomes:?}");
        let key = "SELECT run FROM journals WHERE id = 'run_c'";
        let key: i64 = other.query_row(key, [], |row| row.get(0)).unwrap();
        assert!(key > taken || taken > 1 << 60, "{damage}: {key} after {taken}");
        assert_eq!(lengths(&place, &["c", "d"]), [2, 2], "{damage}");
    }
}

#[test]
fn a_row_in_the_place_of_a_new_one_is_trouble_of_that_run_alone() {
    let (place, transactions) = fresh();
    assert!(transactions.write(&[first("a"), first("b")]).iter().all(Result::is_ok));
    let break_events_of_b = "CREATE TRIGGER t BEFORE INSERT ON events WHEN new.run = 2 BEGIN \
                             INSERT INTO journals (run, id, flow) VALUES (1, 'run_a', 1); END";
    transactions.conn.execute_batch(break_events_of_b).unwrap();
    let outcomes =
        transactions.write(&[commit(&run("b"), 2, [timer_set("x")]), commit(&run("a"), 2, [timer_set("x")])]);
    assert!(matches!(outcomes[0], Err(CommitError::Malformed { .. })), "{outcomes:?}");
    assert!(outcomes[1].is_ok(), "{outcomes:?}");
    assert_eq!(lengths(&place, &["a", "b"]), [3, 2]);
}

/// The commits so far are in a file beside the database that another program has put there.
#[test]
fn nothing_is_committed_to_a_database_that_was_replaced_and_its_commits_are_saved() {
    let (place, transactions) = fresh();
    transactions.write(&[first("a")]).pop().unwrap().unwrap();
    let db = place.store.layout().db();
    let names = ["envoi.db", "envoi.db-wal", "envoi.db-shm"].map(|name| db.with_file_name(name));
    let aside = tempfile::tempdir().unwrap();
    for name in &names {
        let copy = aside.path().join(name.file_name().unwrap());
        std::fs::copy(name, &copy).unwrap();
        std::fs::remove_file(name).unwrap();
        std::fs::copy(&copy, name).unwrap();
    }
    for name in ["b", "c"] {
        let refused = transactions.write(&[first(name)]).pop().unwrap().unwrap_err();
        assert!(refused.to_string().contains("has replaced"), "{refused}");
    }
    let kept = db.with_file_name(format!("envoi.db.kept-{}", transactions.epoch.0));
    let runs = |path: &std::path::Path| {
        let conn = Connection::open(path).unwrap();
        conn.query_row("SELECT count(*) FROM runs", [], |row| row.get::<_, i64>(0)).unwrap()
    };
    assert_eq!(runs(&kept), 1);
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&kept).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn the_commits_of_a_log_that_was_removed_are_written_into_the_database() {
    let (place, transactions) = fresh();
    transactions.write(&[first("a")]).pop().unwrap().unwrap();
    let db = place.store.layout().db();
    for name in ["envoi.db-wal", "envoi.db-shm"] {
        std::fs::remove_file(db.with_file_name(name)).unwrap();
    }
    let refused = transactions.write(&[first("b")]).pop().unwrap().unwrap_err();
    assert!(refused.to_string().contains("written into the database"), "{refused}");
    // As after `kill -9`: what the removed log has is gone.
    let copy = db.with_file_name("copy.db");
    std::fs::copy(&db, &copy).unwrap();
    let conn = Connection::open(&copy).unwrap();
    assert_eq!(conn.query_row("SELECT count(*) FROM runs", [], |row| row.get::<_, i64>(0)).unwrap(), 1);
}
