//! A run and its fork, side by side in one store.

use crate::{
    Commit, Found, InboxFilter, Match, RepairOptions,
    files::{project, restore_run},
    repair::repair,
    testing::{
        TestStore, answered, attempt, cancelled, commit, ended, flow, handoff, interrupt, place, raised, run,
        settled, started, step, timer_set,
    },
};
use envoi_contract::digest::Digest;
use envoi_kernel::{
    event::{About, Blob, EndStatus, Event, RunForked},
    family::Share,
    ids::Principal,
};
use std::fs;

const REPORT: &[u8] = b"{\"ok\":true}";

fn reported() -> Event {
    let Event::AttemptSettled(mut settled) = settled("a", 1, &[("x.txt", Some(b"one"))]) else {
        panic!("it is")
    };
    let blob = |bytes: &[u8]| Some(Blob { digest: Digest::of(bytes), size: bytes.len() as u64 });
    (settled.report, settled.text) = (blob(REPORT), blob(b"words"));
    Event::AttemptSettled(settled)
}

fn lived() -> Vec<Event> {
    let questions = [raised("x", About::Review), answered("x"), raised("y", About::Review)];
    [attempt("a", 1), reported(), handoff("a", 1, "done")]
        .into_iter()
        .chain(questions)
        .chain([attempt("b", 1), timer_set("t")])
        .collect()
}

fn forked(from: &str, root: &str) -> Event {
    Event::RunForked(Box::new(RunForked {
        from: run(from),
        root: run(root),
        step: step("b"),
        at: 7,
        by: Principal { tenant: "local".to_owned(), actor: "bob".to_owned() },
        why: None,
        family: Share::default(),
    }))
}

/// `a` has ended; `b` is a fork of it, `c` one of `b`; `d` has nothing to do with them.
fn family() -> TestStore {
    let place = place();
    let writer = place.store.writer(place.store.take_epoch().unwrap()).unwrap();
    let blobs = [&b"one"[..], REPORT, b"words"].map(|bytes| (Digest::of(bytes), bytes.to_vec())).to_vec();
    let ends = [cancelled("y"), ended(EndStatus::Failed)];
    let own = |name: &str, rest: Vec<Event>| {
        let events = [started(&run(name))].into_iter().chain(lived()).chain(rest);
        Commit { blobs: blobs.clone(), ..commit(&run(name), 0, events) }
    };
    writer.commit(own("a", ends.to_vec())).unwrap();
    writer.commit(own("b", vec![cancelled("y"), forked("a", "a")])).unwrap();
    writer.commit(own("c", vec![cancelled("y"), forked("b", "a"), raised("z", About::Review)])).unwrap();
    writer.commit(commit(&run("d"), 0, [started(&run("d"))])).unwrap();
    place
}

#[test]
fn a_family_is_the_root_and_all_that_go_back_to_it() {
    let place = family();
    let names = |root: &str| -> Vec<String> {
        place.reader.family(&run(root)).unwrap().iter().map(|row| row.run.to_string()).collect()
    };
    assert_eq!(names("a"), ["run_a", "run_b", "run_c"]);
    assert_eq!(names("d"), ["run_d"]);
    let row = place.reader.run(&run("c")).unwrap();
    assert_eq!((row.forked_from, row.root), (Some(run("b")), Some(run("a"))));
    let row = place.reader.run(&run("b")).unwrap();
    assert_eq!((row.live_attempts, row.pending_timers, row.open_interrupts), (0, 0, 0), "of another run's");
    assert_eq!((row.step.as_ref().map(|step| step.as_str()), row.ended), (Some("b"), None));
}

#[test]
fn a_question_is_that_of_the_run_that_asked_first_and_stands_in_the_inbox_of_each() {
    let place = family();
    let asked =
        |name| Match::One(Found::Interrupt(interrupt(name), run(if name == "z" { "c" } else { "a" })));
    for name in ["x", "y", "z"] {
        assert_eq!(place.reader.find(&format!("int_{name}")).unwrap(), asked(name), "{name}");
    }
    let inbox = |of: Option<&str>, closed| -> Vec<String> {
        let rows = place.reader.inbox(&InboxFilter { run: of.map(run), closed }).unwrap();
        rows.iter().map(|row| format!("{} {}", row.run, row.interrupt)).collect()
    };
    assert_eq!(inbox(None, true), ["run_a int_x", "run_a int_y", "run_c int_z"]);
    assert_eq!(inbox(None, false), ["run_c int_z"]);
    assert_eq!(inbox(Some("b"), true), ["run_b int_x", "run_b int_y"]);
    let row = place.reader.question(&run("b"), &interrupt("x")).unwrap();
    assert_eq!(place.reader.answer(&run("b"), &row).unwrap().1.by.actor, "ada");
    let report = repair(&place.store, place.store.take_epoch().unwrap(), RepairOptions::default()).unwrap();
    assert_eq!(report.mended_rows, Vec::<String>::new(), "what was lived is what repair would write");
}

#[test]
fn what_a_fork_takes_over_lies_in_its_own_folder_and_is_made_good() {
    let place = family();
    let layout = place.store.layout();
    let reader = &place.reader;
    let folder = |name: &str| match attempt("a", 1) {
        Event::AttemptStarted(started) => layout.attempt(&run(name), &started.attempt),
        _ => panic!("it is one"),
    };
    fs::create_dir_all(folder("a")).unwrap();
    fs::write(folder("a").join("stderr"), "said").unwrap();
    for record in reader.records(&run("b"), 0, None).unwrap() {
        project(layout, reader, &run("b"), &flow(), &record).unwrap();
    }
    let read = |name: &str| fs::read(folder("b").join(name)).unwrap();
    assert_eq!(
        (read("report.json"), read("text"), read("stderr")),
        (REPORT.to_vec(), b"words".to_vec(), b"said".to_vec())
    );
    assert_eq!(fs::read(layout.artifact_place(&run("b"), &flow(), "x.txt")).unwrap(), b"one");
    assert_eq!(restore_run(layout, reader, &run("b")).unwrap(), Vec::<std::path::PathBuf>::new());
    fs::remove_dir_all(folder("b")).unwrap();
    fs::remove_dir_all(folder("a")).unwrap();
    let written = restore_run(layout, reader, &run("b")).unwrap();
    assert_eq!(written, [folder("b").join("text"), folder("b").join("report.json")]);
    assert_eq!(read("report.json"), REPORT);
    // A run that is no fork has its own files.
    assert!(
        restore_run(layout, reader, &run("a")).unwrap().iter().all(|path| !path.starts_with(folder("a")))
    );
}
