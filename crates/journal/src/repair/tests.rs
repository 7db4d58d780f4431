//! A store damaged by hand, and the result of its repair.

use super::*;
use crate::{
    Commit, InboxFilter, PinnedFlow, RunFilter,
    tables::schema,
    testing::{
        self, TestStore, answered, attempt, commit, ended, handoff, place, raised, run, settled, started,
        timer_set,
    },
};
use envoi_contract::{code::Code, digest::Digest};
use envoi_kernel::{
    event::{About, Blob, Correction, CorrectionDropped, EndStatus, Event, RunForked},
    family::Share,
    ids::Principal,
};
use std::fs;

/// Two runs, one over, one waiting, with hand-offs, an artifact in a file, and one in the database.
fn lived() -> TestStore {
    let place = place();
    let writer = place.store.writer(place.store.take_epoch().unwrap()).unwrap();
    let large = vec![b'x'; 20_000];
    place.store.blobs().put(&large).unwrap();
    let files = [("a.py", Some(&b"small"[..])), ("big", Some(&large))];
    let a = run("a");
    let b = run("b");
    let over = [
        started(&a),
        attempt("repair", 1),
        settled("repair", 1, &files),
        handoff("repair", 1, "done"),
        ended(EndStatus::Succeeded),
    ];
    let blobs = vec![(Digest::of(b"small"), b"small".to_vec())];
    writer.commit(Commit { blobs, ..commit(&a, 0, over) }).unwrap();
    let waiting = [
        started(&b),
        attempt("critic", 1),
        settled("critic", 1, &[]),
        raised("x", About::InDoubt),
        raised("y", About::Review),
        answered("y"),
    ];
    writer.commit(commit(&b, 0, waiting)).unwrap();
    for name in ["a", "b"] {
        files::restore_run(place.store.layout(), &place.reader, &run(name)).unwrap();
    }
    place
}

/// As `envoi repair` does it.
fn mend(store: &Store) -> Result<RepairReport, RepairError> {
    repair(store, store.take_epoch().unwrap(), RepairOptions::default())
}

fn damage(place: &TestStore, sql: &str) {
    schema::connect(&place.store.layout().db()).unwrap().execute_batch(sql).unwrap();
}

#[test]
fn a_sound_store_is_reported_clean_and_left_alone() {
    let place = lived();
    let report = mend(&place.store).unwrap();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!((report.runs, report.events, report.contents), (2, 11, 2));
}

#[test]
fn damaged_rows_are_rebuilt_from_events() {
    let place = lived();
    let seen = |place: &TestStore| {
        let all = InboxFilter { closed: true, ..InboxFilter::default() };
        let reader = &place.reader;
        let runs = reader.runs(RunFilter::default()).unwrap();
        (
            runs,
            reader.handoffs(&run("a")).unwrap(),
            reader.artifacts(&run("a")).unwrap(),
            reader.inbox(&all).unwrap(),
        )
    };
    let before = seen(&place);
    damage(
        &place,
        "UPDATE runs SET live_attempts = 7, ended = NULL WHERE id = 'run_a'; DELETE FROM runs WHERE id = 'run_b'; \
         DELETE FROM handoffs; UPDATE places SET path = 'other' WHERE path = 'big'; UPDATE inbox SET state = 'open', closed_at_ms = NULL, answer = 'no', kind = NULL;",
    );
    let report = mend(&place.store).unwrap();
    assert_eq!(seen(&place), before);
    assert!(report.is_whole() && !report.is_clean());
    let expected = [
        "places run_a fix other: stood for nothing",
        "handoffs run_a  repair 1: was missing",
        "inbox run_b int_x: was different",
        "inbox run_b int_y: was different",
        "places run_a fix big: was missing",
        "runs run_a: was different",
        "runs run_b: was missing",
    ];
    assert_eq!(report.mended_rows, expected);
    assert!(mend(&place.store).unwrap().is_clean());
}

#[test]
fn damaged_files_are_written_again() {
    let place = lived();
    let base = place.store.layout().run(&run("a")).join("fix");
    let leftover = place.store.layout().temporary().join(format!(".new-{}-99", std::process::id()));
    fs::write(leftover, "half").unwrap();
    fs::remove_file(base.join("handoff/repair.1.json")).unwrap();
    fs::remove_file(base.join("big")).unwrap();
    let report = mend(&place.store).unwrap();
    assert_eq!(report.mended_files, [base.join("handoff/repair.1.json"), base.join("big")]);
    assert_eq!(report.swept, 1);
    assert!(mend(&place.store).unwrap().is_clean());
}

#[test]
fn what_a_file_was_before_is_content_that_an_event_names() {
    let place = lived();
    let writer = place.store.writer(place.store.take_epoch().unwrap()).unwrap();
    let mut changed = settled("critic", 2, &[("gone", None)]);
    let Event::AttemptSettled(settled) = &mut changed else { panic!("{changed:?}") };
    let digest = Digest::of(b"what it was");
    settled.files[0].before = Some(Blob { digest, size: 11 });
    writer.commit(commit(&run("b"), 6, [changed])).unwrap();
    let report = mend(&place.store).unwrap();
    assert_eq!(report.damaged_content, [format!("content `{digest}` is not in the store")]);
    place.store.blobs().put(b"what it was").unwrap();
    assert!(mend(&place.store).unwrap().is_clean());
}

#[test]
fn damaged_content_is_named_by_its_digest() {
    let place = lived();
    let large = Digest::of(&[b'x'; 20_000]);
    let path = place.store.layout().blob(&large);
    fs::remove_file(&path).unwrap();
    fs::write(&path, "flipped").unwrap();
    damage(&place, "UPDATE blobs SET bytes = x'00'");
    let report = mend(&place.store).unwrap();
    assert_eq!(report.damaged_content.len(), 2);
    for digest in [large, Digest::of(b"small")] {
        assert!(report.damaged_content.iter().any(|line| line.contains(&digest.to_string())), "{report:?}");
    }
    damage(&place, "DELETE FROM blobs");
    let missing = format!("content `{}` is not in the store", Digest::of(b"small"));
    assert!(mend(&place.store).unwrap().damaged_content.contains(&missing));
}

#[test]
fn content_that_nothing_names_is_looked_at_too() {
    let place = lived();
    let file = place.store.blobs().put(&[b'y'; 20_000]).unwrap();
    damage(&place, "INSERT INTO blobs (digest, bytes) VALUES (zeroblob(32), x'01')");
    let path = place.store.layout().blob(&file);
    fs::remove_file(&path).unwrap();
    fs::write(&path, "flipped").unwrap();
    let report = mend(&place.store).unwrap();
    assert_eq!((report.contents, report.damaged_content.len()), (4, 2), "{report:?}");
}

#[test]
fn gaps_and_unreadable_events_are_named_and_the_rest_is_kept() {
    let place = lived();
    damage(
        &place,
        "DELETE FROM events WHERE run = 1 AND seq IN (1, 2); UPDATE events SET body = '{}' WHERE run = 2 AND seq = 4",
    );
    let report = mend(&place.store).unwrap();
    assert_eq!(report.gaps, ["run_a#1 to 2 (2 events)"]);
    assert_eq!(report.unreadable.len(), 1);
    assert!(report.unreadable[0].starts_with("run_b#4: "), "{report:?}");
    assert_eq!(place.reader.handoffs(&run("a")).unwrap().len(), 1);
    assert_eq!(place.reader.run(&run("b")).unwrap().in_doubt, 1);
}

#[test]
fn a_run_whose_flow_is_gone_is_named_and_is_no_run_that_never_was() {
    let place = lived();
    damage(&place, "PRAGMA foreign_keys = OFF; DELETE FROM flows");
    let report = mend(&place.store).unwrap();
    assert_eq!(
        report.lost_runs,
        ["run_a", "run_b"].map(|run| format!("{run}: there is no flow pinned to it"))
    );
    let error = place.reader.load(&run("a")).unwrap_err();
    assert!(matches!(error, ReadError::Damaged { .. }), "{error:?}");
    assert_eq!(error.to_string(), "run `run_a` is damaged: there is no flow pinned to it");
}

#[test]
fn a_run_of_which_only_a_part_is_there_is_never_dropped() {
    let place = lived();
    // The first run has lost all but its row, the second its entry in the journal, the third its first event.
    let writer = place.store.writer(place.store.take_epoch().unwrap()).unwrap();
    writer.commit(commit(&run("c"), 0, [started(&run("c")), attempt("critic", 1)])).unwrap();
    damage(
        &place,
        "DELETE FROM events WHERE run = 1; UPDATE runs SET ended = NULL WHERE run = 1; DELETE FROM journals WHERE run = 2; \
         DELETE FROM events WHERE run = 3 AND seq = 0",
    );
    let rows = || place.reader.all_runs(RunFilter::default()).unwrap();
    let reasons: Vec<_> = rows().into_iter().map(|row| row.aside.map(|aside| aside.reason)).collect();
    let expected = [
        None,
        Some("its entry in the journal is missing".to_owned()),
        Some("its row counts 5 events, and event 4 is not there".to_owned()),
    ];
    assert_eq!(reasons, expected);
    let report = mend(&place.store).unwrap();
    assert_eq!(report.gaps, ["run_a#0 to 4 (5 events)", "run_c#0"]);
    assert!(report.mended_rows.contains(&"journals run_b: was missing".to_owned()), "{report:?}");
    assert!(!report.is_whole() && report.lost_runs.is_empty(), "{report:?}");
    let found: Vec<_> =
        rows().into_iter().map(|row| (row.run, row.aside.map(|aside| aside.reason))).collect();
    let aside = |name, reason: &str| (run(name), Some(reason.to_owned()));
    let expected = [
        aside("c", "event 0 is missing"),
        (run("b"), None),
        aside("a", "events 0 to 4 are missing (5 events)"),
    ];
    assert_eq!(found, expected, "those that lack events are set aside");
    assert_eq!(place.reader.load(&run("b")).unwrap().records.len(), 6);
    // Not found again and again, but never called well.
    assert_eq!(mend(&place.store).unwrap().gaps.len(), 2);
}

#[test]
fn a_corrected_run_that_has_lost_its_entry_has_every_flow_again() {
    let place = lived();
    let versions = [testing::pinned(), version("flow: fix # 2\n"), version("flow: fix # 3\n")];
    let writer = place.store.writer(place.store.take_epoch().unwrap()).unwrap();
    for (seq, pair) in (6..).zip(versions.windows(2)) {
        let event = Event::FlowCorrected(correction(&pair[0], &pair[1]));
        let commit = Commit { pinned: Some(pair[1].clone()), ..commit(&run("b"), seq, [event]) };
        writer.commit(commit).unwrap();
    }
    let before = place.reader.load(&run("b")).unwrap().pinned;
    let expected = PinnedFlow { earlier: versions[..2].to_vec(), ..versions[2].clone() };
    assert_eq!(before, expected);
    assert!(mend(&place.store).unwrap().is_clean(), "nothing is wrong");
    for (damaged, expected) in [
        ("DELETE FROM journals WHERE run = 2", vec!["journals run_b: was missing"]),
        (
            "DELETE FROM earlier_flows WHERE run = 2",
            vec!["earlier_flows run number 2 of the database: a flow was missing"; 2],
        ),
        (
            "DELETE FROM journals WHERE run = 2; DELETE FROM earlier_flows WHERE run = 2",
            vec![
                "journals run_b: was missing",
                "earlier_flows run number 2 of the database: a flow was missing",
                "earlier_flows run number 2 of the database: a flow was missing",
            ],
        ),
    ] {
        damage(&place, damaged);
        let report = mend(&place.store).unwrap();
        assert_eq!(report.mended_rows, expected, "{damaged}");
        assert_eq!(place.reader.load(&run("b")).unwrap().pinned, before, "{damaged}");
        assert!(mend(&place.store).unwrap().is_clean(), "{damaged}");
    }
}

fn version(text: &str) -> PinnedFlow {
    PinnedFlow { digest: Digest::of(text.as_bytes()), text: text.to_owned(), ..testing::pinned() }
}

fn correction(before: &PinnedFlow, after: &PinnedFlow) -> Box<Correction> {
    Box::new(Correction {
        before: before.digest,
        after: after.digest,
        language: after.language,
        source: "/fixed.yaml".to_owned(),
        from: None,
        by: bob(),
        why: None,
        request: None,
        yes_void: Vec::new(),
    })
}

fn bob() -> Principal {
    Principal { tenant: "local".to_owned(), actor: "bob".to_owned() }
}

#[test]
fn a_flow_that_does_not_hold_yet_or_any_more_is_no_wrong_one() {
    let old = testing::pinned();
    let new = version("flow: fix # 2\n");
    let place = lived();
    let writer = place.store.writer(place.store.take_epoch().unwrap()).unwrap();
    // The first waits for its correction, the second has dropped it, the third was cut from such a run before it came to that.
    let wish = || Event::CorrectionRequested(correction(&old, &new));
    let with_both = || Some(PinnedFlow { earlier: vec![old.clone()], ..new.clone() });
    for name in ["waits", "dropped"] {
        let begun = [started(&run(name)), attempt("critic", 1)];
        writer.commit(commit(&run(name), 0, begun)).unwrap();
        writer.commit(Commit { pinned: Some(new.clone()), ..commit(&run(name), 2, [wish()]) }).unwrap();
    }
    let dropped = CorrectionDropped { after: new.digest, reason: "it does not fit".to_owned() };
    writer.commit(commit(&run("dropped"), 3, [Event::CorrectionDropped(dropped)])).unwrap();
    let forked = RunForked {
        from: run("waits"),
        root: run("waits"),
        step: testing::step("critic"),
        at: 0,
        by: bob(),
        why: None,
        family: Share::default(),
    };
    let cut = [started(&run("cut")), Event::RunForked(Box::new(forked))];
    writer.commit(Commit { pinned: with_both(), ..commit(&run("cut"), 0, cut) }).unwrap();

    let pinned = |name: &str| place.reader.pinned(&run(name)).unwrap();
    let names = ["waits", "dropped", "cut"];
    assert_eq!(names.map(pinned), names.map(|_| with_both().unwrap()));
    assert_eq!(place.reader.runs_of_another_flow().unwrap(), Vec::<String>::new());
    assert!(mend(&place.store).unwrap().is_clean(), "nothing is wrong");
    assert_eq!(names.map(pinned), names.map(|_| with_both().unwrap()), "nothing has changed");

    // A flow that none of them can have.
    damage(
        &place,
        &format!(
            "INSERT INTO flows (flow, digest, language, name, text, parts) VALUES (99, '{}', 1, 'x', 'x', '{{}}'); \
             UPDATE journals SET flow = 99; DELETE FROM earlier_flows",
            Digest::of(b"x")
        ),
    );
    let all = ["run_a", "run_b", "run_waits", "run_dropped", "run_cut"];
    assert_eq!(place.reader.runs_of_another_flow().unwrap(), all);
    let report = mend(&place.store).unwrap();
    for run in all {
        let mended = format!("journals {run}: was pinned to another flow, or to none");
        assert!(report.mended_rows.contains(&mended), "{report:?}");
    }
    assert_eq!(["waits", "dropped"].map(pinned), [with_both().unwrap(), with_both().unwrap()]);
    assert_eq!(["a", "b", "cut"].map(pinned), [old.clone(), old.clone(), old]);
    assert!(mend(&place.store).unwrap().is_clean());
    assert_eq!(place.reader.runs_of_another_flow().unwrap(), Vec::<String>::new());
}

#[test]
fn a_run_that_has_events_alone_is_entered_again_or_named() {
    let place = lived();
    damage(
        &place,
        "DELETE FROM journals; DELETE FROM runs; UPDATE events SET body = '{}' WHERE run = 1 AND seq = 0",
    );
    let named = ["run number 1 of the database".to_owned(), "run_b".to_owned()];
    assert_eq!(place.reader.runs_of_events_alone().unwrap(), named);
    let report = mend(&place.store).unwrap();
    let lost = "run number 1 of the database: its entry in the journal is missing and cannot be made again; \
                5 events of it are kept";
    assert_eq!(report.lost_runs, [lost]);
    assert!(!report.is_whole());
    let rows = place.reader.all_runs(RunFilter::default()).unwrap();
    let found: Vec<_> = rows.into_iter().map(|row| (row.run, row.aside, row.next_seq)).collect();
    assert_eq!(found, [(run("b"), None, 6)]);
}

#[test]
fn a_row_that_says_more_than_the_events_is_no_way_to_lose_them() {
    let place = lived();
    damage(&place, "DELETE FROM events WHERE run = 2 AND seq = 5");
    let report = mend(&place.store).unwrap();
    assert_eq!(report.gaps, ["run_b#5"]);
    let aside = place.reader.run(&run("b")).unwrap().aside.unwrap();
    assert_eq!(
        (aside.code.as_str(), aside.reason.as_str()),
        (Code::RunUnreadable.as_str(), "event 5 is missing")
    );
}

#[test]
fn an_immense_gap_is_named_in_one_line() {
    let place = lived();
    damage(&place, "UPDATE events SET seq = 9223372036854775807 WHERE run = 2 AND seq = 5");
    let report = mend(&place.store).unwrap();
    assert_eq!(report.gaps, ["run_b#5 to 9223372036854775806 (9223372036854775802 events)"]);
    let found = examine_events(&place.reader, &run("b")).unwrap();
    assert_eq!((found.events, found.gaps.len(), found.gaps[0].first), (6, 1, 5));
}

#[test]
fn a_row_that_cannot_be_read_is_shown_as_a_run_that_is_set_aside_and_made_again() {
    let place = lived();
    let before = place.reader.runs(RunFilter::default()).unwrap();
    let all = InboxFilter { closed: true, ..InboxFilter::default() };
    let questions = place.reader.inbox(&all).unwrap();
    damage(
        &place,
        "UPDATE runs SET id = 'RUN?', flow = 'F!', flow_digest = 'x', step = '', live_attempts = -1, \
         actor = CAST(x'ff61' AS TEXT) WHERE run = 2; \
         UPDATE inbox SET interrupt = '??', about = 'x', kind = 'y', step = '' WHERE interrupt = 'int_x'",
    );
    let rows = place.reader.runs(RunFilter::default()).unwrap();
    assert_eq!(rows[1], before[1], "others are listed");
    let row = &rows[0];
    assert_eq!((&row.run, row.flow.as_str(), row.live_attempts), (&run("b"), "unreadable", u32::MAX));
    assert_eq!(row.actor, "\u{fffd}a");
    let aside = row.aside.as_ref().unwrap();
    assert_eq!(aside.code, Code::RunUnreadable.as_str());
    assert!(aside.reason.starts_with("its row cannot be read: `RUN?` is not"), "{aside:?}");
    let listed = place.reader.inbox(&all).unwrap();
    assert_eq!((listed.len(), &listed[1..]), (questions.len(), &questions[1..]));
    assert!(listed[0].question.starts_with("this question cannot be read (`"), "{listed:?}");
    assert!(place.store.mend_rows(&run("b")).unwrap());
    assert!(!place.store.mend_rows(&run("b")).unwrap(), "once it is whole nothing is done");
    assert_eq!(place.reader.runs(RunFilter::default()).unwrap(), before);
    assert_eq!(place.reader.inbox(&all).unwrap(), questions);
    // A run without its row is found as well. A run whose events are not whole keeps what it has.
    damage(&place, "DELETE FROM runs WHERE run = 2");
    let lost = place.reader.all_runs(RunFilter { unfinished: true, limit: None }).unwrap();
    assert_eq!((lost.len(), &lost[0].run, lost[0].next_seq), (1, &run("b"), 6));
    assert_eq!(place.reader.run(&run("b")).unwrap(), lost[0]);
    assert_eq!((lost[0].actor.as_str(), lost[0].aside.is_some()), ("ada", true));
    damage(&place, "UPDATE events SET body = '{' WHERE run = 2 AND seq = 1");
    assert!(!place.store.mend_rows(&run("b")).unwrap());
    assert_eq!(place.reader.inbox(&all).unwrap(), questions);
}

#[test]
fn an_event_that_cannot_be_read_takes_no_news_of_other_runs_away() {
    let place = lived();
    let of_b = |place: &TestStore| {
        let (items, seen) = place.reader.news("local", 0, 100).unwrap();
        (items.into_iter().filter(|item| item.run == run("b")).count(), seen)
    };
    let before = of_b(&place);
    assert_eq!(before, (3, 11));
    for body in ["{", "{\"type\":\"interrupt_raised\"}"] {
        damage(&place, &format!("UPDATE events SET body = '{body}' WHERE run = 1 AND seq = 3"));
        assert_eq!(of_b(&place), before, "{body}");
    }
}

#[test]
fn a_repaired_run_goes_on_where_it_stood() {
    let place = lived();
    damage(&place, "DELETE FROM runs; DELETE FROM inbox");
    mend(&place.store).unwrap();
    let writer = place.store.writer(place.store.take_epoch().unwrap()).unwrap();
    writer.commit(commit(&run("b"), 6, [timer_set("z")])).unwrap();
    let row = place.reader.run(&run("b")).unwrap();
    assert_eq!((row.next_seq, row.pending_timers, row.open_interrupts), (7, 1, 1));
}

#[test]
fn an_artifact_that_has_no_place_is_no_damage() {
    let place = lived();
    let writer = place.store.writer(place.store.take_epoch().unwrap()).unwrap();
    let strange = [("back\\slash", Some(&b"small"[..]))];
    writer.commit(commit(&run("b"), 6, [settled("critic", 1, &strange)])).unwrap();
    let report = mend(&place.store).unwrap();
    assert_eq!(report.unplaceable, ["run_b/fix/back\\slash"]);
    assert!(report.is_clean(), "{report:?}");
}

#[test]
fn a_repair_and_an_engine_fence_each_other() {
    let place = lived();
    damage(&place, "DELETE FROM handoffs");
    let mine = place.store.take_epoch().unwrap();
    let engine = place.store.writer(place.store.take_epoch().unwrap()).unwrap();
    let error = repair(&place.store, mine, RepairOptions::default()).unwrap_err();
    assert!(error.is_fenced(), "{error:?}");
    assert_eq!(place.reader.handoffs(&run("a")).unwrap(), []);
    mend(&place.store).unwrap();
    assert_eq!(place.reader.handoffs(&run("a")).unwrap().len(), 1);
    let error = engine.commit(commit(&run("b"), 6, [timer_set("z")])).unwrap_err();
    assert!(matches!(error, CommitError::Fenced { .. }), "{error}");
}

#[test]
fn snapshots_are_dropped_on_request_where_the_events_are_whole() {
    let place = lived();
    let has_snapshot = |name| place.reader.load(&run(name)).unwrap().snapshot.is_some();
    damage(&place, "INSERT INTO snapshots (run, seq, state) VALUES (1, 3, x'ff'), (2, 3, x'ff')");
    damage(&place, "DELETE FROM events WHERE run = 1 AND seq = 1");
    assert_eq!(mend(&place.store).unwrap().dropped_snapshots, Vec::<String>::new());
    assert!(has_snapshot("a") && has_snapshot("b"));
    let options = RepairOptions { drop_snapshots: true };
    let report = repair(&place.store, place.store.take_epoch().unwrap(), options).unwrap();
    assert_eq!(report.dropped_snapshots, ["run_b"]);
    assert!(has_snapshot("a") && !has_snapshot("b"));
    assert_eq!(place.reader.load(&run("b")).unwrap().records.len(), 6);
}
