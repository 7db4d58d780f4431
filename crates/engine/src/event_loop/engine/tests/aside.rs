//! Trouble with one run does not affect other runs.

use super::*;
use crate::{
    commands::under_way::UnderWay,
    host::{Callback, Ending, LastMoment, run_loop},
    model::{protocol::Response, trouble::defect},
    observe::{followers::Followers, placing::Placing},
};
use envoi_contract::code::Code;
use envoi_journal::{Layout, Reader, Store};
use std::{
    sync::mpsc,
    time::{Duration, Instant},
};

type Received = Arc<Mutex<Option<Result<(), EngineError>>>>;

fn reply() -> (Received, Reply) {
    let received = Received::default();
    let tell = Arc::clone(&received);
    (received, Box::new(move |result| *tell.lock().unwrap() = Some(result)))
}

fn taken(received: &Received) -> Option<Result<(), EngineError>> {
    received.lock().unwrap().take()
}

/// No time for anything but what is due.
fn last<'n>(notices: &'n dyn Fn(Duration, Callback)) -> LastMoment<'n> {
    LastMoment { patience: Duration::ZERO, notices, print_line: |_| {} }
}

fn noted(note: Note) -> Message {
    Message::Noted { note, result: Ok(Receipt { events_bytes: 0 }) }
}

fn aside_is_durable(name: &str) -> Message {
    noted(Note::SetAside {
        run: id(name),
        aside: Aside::new(Timestamp::from_millis(0), Code::RunUnreadable, "", ""),
        undone: Vec::new(),
    })
}

fn taken_up(name: &str) -> Message {
    noted(Note::TakeUp { run: id(name), at: Timestamp::from_millis(0), requests: Vec::new() })
}

fn is_done(name: &str, request: &str) -> Message {
    noted(Note::Done { run: id(name), request: request.to_owned(), at: Timestamp::from_millis(0) })
}

fn unknown(name: &str) -> Message {
    let attempt = AttemptId::parse("only.1.1").unwrap();
    let reason = "its folder cannot be read".to_owned();
    Message::Settled {
        run: id(name),
        attempt,
        settlement: Settlement::Unknown { trouble: Trouble::new(TroubleKind::Attempt, reason) },
    }
}

fn adopt(run: &Run, again: bool) -> (Received, Message) {
    let (received, reply) = reply();
    let purpose = crate::model::message::Purpose::GoOn;
    let caller = Arc::new(Caller::default());
    let adopt = Adopt {
        corrected: None,
        run: run.clone(),
        inputs: Vec::new(),
        purpose,
        again: again.then(|| Aside::new(Timestamp::from_millis(7), Code::RunFilesFailed, "no room", "")),
        is_inside: false,
        request: None,
        tail_bytes: 0,
        caller,
        reply,
    };
    (received, Message::Adopt(Box::new(adopt)))
}

/// The same, by a request that has this id.
fn with_id(message: Message, request: &str) -> Message {
    let Message::Adopt(adopt) = message else { return message };
    Message::Adopt(Box::new(Adopt { request: Some(request.to_owned()), ..*adopt }))
}

/// Its attempt runs, in the only slot.
fn running(name: &str) -> (Engine, Doings) {
    let (mut engine, doings) = engine(1);
    engine.handle(begin(name));
    engine.handle(durable(name));
    doings.take();
    (engine, doings)
}

#[test]
fn a_run_that_cannot_be_shown_is_set_aside_and_the_others_go_on() {
    let (mut engine, doings) = engine(1);
    doings.unshown.borrow_mut().push(id("a"));
    engine.handle(begin("a"));
    engine.handle(begin("b"));
    engine.handle(durable("b"));
    doings.take();
    engine.handle(durable("a"));
    assert_eq!(
        doings.take(),
        ["run_a is set aside: RUN_FILES_FAILED", "run_b commits attempt_started"],
        "its slot is the other one's"
    );
    engine.handle(aside_is_durable("a"));
    assert_eq!(doings.take(), ["run_a is shown as set aside: RUN_FILES_FAILED: the disk is full"]);
    engine.handle(durable("b"));
    engine.handle(settled("b", "only.1.1"));
    engine.handle(durable("b"));
    assert_eq!(
        doings.take(),
        ["run_b ensures only.1.1", "run_b commits attempt_settled routed handoff_written run_ended"]
    );
    assert!(engine.stopped().is_none() && engine.is_idle() && engine.runs().count() == 0);
}

#[test]
fn an_attempt_whose_end_cannot_be_read_sets_its_run_aside_and_frees_its_slot() {
    let (mut engine, doings) = running("a");
    engine.handle(begin("b"));
    engine.handle(durable("b"));
    doings.take();
    engine.handle(unknown("a"));
    assert_eq!(doings.take(), ["run_a is set aside: ATTEMPT_UNKNOWN", "run_b commits attempt_started"]);
    assert!(engine.stopped().is_none() && !engine.is_idle(), "the row is on its way to the disk");
    assert_eq!(engine.live(), 1, "that of the other run");
}

#[test]
fn a_commit_under_way_is_answered_before_its_run_is_set_aside() {
    let (mut engine, doings) = running("a");
    let (received, reply) = reply();
    engine.handle(Message::Input { run: id("a"), input: Box::new(Input::Cancel { by: by() }), reply });
    engine.handle(unknown("a"));
    assert_eq!(doings.take(), ["run_a commits cancel_requested"], "one thing at a time");
    engine.handle(durable("a"));
    assert!(matches!(taken(&received), Some(Ok(()))));
    assert_eq!(doings.take(), ["run_a is set aside: ATTEMPT_UNKNOWN"]);
    assert_eq!(engine.live(), 0);
}

#[test]
fn a_waiting_client_learns_that_a_run_is_set_aside_once_that_is_durable() {
    let (mut engine, _) = running("a");
    let (first, reply_to_first) = reply();
    engine.handle(Message::Input {
        run: id("a"),
        input: Box::new(Input::Cancel { by: by() }),
        reply: Box::new(drop),
    });
    engine.handle(Message::Input {
        run: id("a"),
        input: Box::new(Input::Cancel { by: by() }),
        reply: reply_to_first,
    });
    engine.handle(unknown("a"));
    engine.handle(durable("a"));
    assert!(taken(&first).is_none());
    engine.handle(aside_is_durable("a"));
    let refused_with = taken(&first);
    assert!(
        matches!(&refused_with, Some(Err(EngineError::SetAside { code, .. })) if code == "ATTEMPT_UNKNOWN"),
        "{refused_with:?}"
    );
}

#[test]
fn a_run_that_is_set_aside_comes_back_only_when_it_is_tried_again_and_when_that_is_durable() {
    let (mut engine, doings) = running("a");
    let loaded = engine.run(&id("a")).unwrap().clone();
    engine.handle(unknown("a"));
    engine.handle(aside_is_durable("a"));
    doings.take();
    let (received, resume) = adopt(&loaded, false);
    engine.handle(resume);
    assert!(matches!(taken(&received), Some(Err(EngineError::SetAside { .. }))));
    assert!(doings.take().is_empty() && engine.run(&id("a")).is_none());
    let (received, resume) = adopt(&loaded, true);
    engine.handle(with_id(resume, "req_1"));
    let (beside, another) = adopt(&loaded, true);
    engine.handle(another);
    // In one commit: were they two, the same request, sent again after a kill between them, could reopen the run.
    assert_eq!(doings.take(), ["run_a is taken up: `req_1` is done"]);
    assert!(taken(&received).is_none() && !engine.is_idle());
    engine.handle(taken_up("a"));
    assert_eq!(
        doings.take(),
        ["run_a is shown as taken up", "run_a ensures only.1.1"],
        "what became of it is looked for anew"
    );
    assert!(matches!((taken(&received), taken(&beside)), (Some(Ok(())), Some(Ok(())))));
}

#[test]
fn requests_that_came_while_a_run_was_being_set_aside_are_done_as_it_is_taken_up_unless_they_want_more() {
    let (mut engine, doings) = running("a");
    let loaded = engine.run(&id("a")).unwrap().clone();
    engine.handle(unknown("a"));
    for name in ["req_1", "req_2"] {
        engine.handle(with_id(adopt(&loaded, true).1, name));
    }
    let Message::Adopt(cancels) = with_id(adopt(&loaded, true).1, "req_3") else { panic!("it adopts") };
    engine.handle(Message::Adopt(Box::new(Adopt { inputs: vec![Input::Cancel { by: by() }], ..*cancels })));
    doings.take();
    engine.handle(aside_is_durable("a"));
    let expected = [
        "run_a is shown as set aside: ATTEMPT_UNKNOWN: attempt `only.1.1`: its folder cannot be read",
        "run_a is taken up: `req_1`, `req_2` is done",
    ];
    assert_eq!(doings.take(), expected);
}

/// Sent again after the run has failed, a request that is not noted would reopen the run.
#[test]
fn a_request_that_finds_nothing_to_do_is_noted_before_the_run_commits_and_answered_after_that() {
    let (mut before, _) = running("a");
    before.handle(settled("a", "only.1.1"));
    let loaded = before.run(&id("a")).unwrap().clone();
    let (mut engine, doings) = engine(1);
    doings.next.borrow_mut().insert(id("a"), loaded.next_seq());
    let (received, resume) = adopt(&loaded, false);
    engine.handle(with_id(resume, "req_1"));
    let (beside, resume) = adopt(&loaded, false);
    engine.handle(with_id(resume, "req_2"));
    assert_eq!(
        doings.take(),
        ["run_a `req_1` is done", "run_a is held", "run_a ensures only.1.1", "run_a `req_2` is done"]
    );
    engine.handle(is_done("a", "req_2"));
    assert!(matches!((taken(&received), taken(&beside)), (None, Some(Ok(())))));
    let (gone, resume) = adopt(&loaded, false);
    engine.handle(with_id(resume, "req_3"));
    let lost = Note::Done { run: id("a"), request: "req_3".to_owned(), at: Timestamp::from_millis(0) };
    engine.handle(Message::Noted { note: lost, result: Err(CommitError::Closed) });
    assert!(matches!(taken(&gone), Some(Err(_))) && engine.stopped().is_some());
}

#[test]
fn an_attempt_that_lives_on_is_neither_counted_nor_started_twice() {
    let (mut engine, doings) = running("a");
    let loaded = engine.run(&id("a")).unwrap().clone();
    let trouble = Trouble::new(TroubleKind::Attempt, "it cannot be cancelled");
    engine.handle(Message::Troubled { run: id("a"), trouble });
    engine.handle(aside_is_durable("a"));
    assert!(engine.is_idle(), "it is its supervisor's");
    doings.take();
    let (_, resume) = adopt(&loaded, true);
    engine.handle(resume);
    engine.handle(taken_up("a"));
    assert_eq!(
        doings.take(),
        ["run_a is taken up", "run_a is shown as taken up"],
        "the runner is still at it"
    );
    assert_eq!(engine.live(), 1);
    engine.handle(settled("a", "only.1.1"));
    engine.handle(durable("a"));
    assert_eq!(doings.take(), ["run_a commits attempt_settled routed handoff_written run_ended"]);
    assert!(engine.is_idle() && engine.live() == 0);
}

#[test]
fn an_attempt_that_ends_while_its_run_is_aside_is_looked_for_when_the_run_is_tried_again() {
    let (mut engine, doings) = running("a");
    let loaded = engine.run(&id("a")).unwrap().clone();
    let trouble = Trouble::new(TroubleKind::Attempt, "it cannot be cancelled");
    engine.handle(Message::Troubled { run: id("a"), trouble });
    engine.handle(aside_is_durable("a"));
    engine.handle(settled("a", "only.1.1"));
    doings.take();
    let (_, resume) = adopt(&loaded, true);
    engine.handle(resume);
    engine.handle(taken_up("a"));
    let expected = ["run_a is taken up", "run_a is shown as taken up", "run_a ensures only.1.1"];
    assert_eq!(doings.take(), expected);
}

fn troubled(name: &str) -> Message {
    Message::Troubled { run: id(name), trouble: Trouble::new(TroubleKind::Files, "no room") }
}

#[test]
fn a_run_that_is_set_aside_while_it_waits_for_a_slot_waits_no_more() {
    let (mut engine, doings) = engine(1);
    engine.handle(begin_of(
        "a",
        "flow: two\nsteps:\n  - id: first\n    run: [work]\n  - id: second\n    run: [work]\n",
    ));
    engine.handle(durable("a"));
    engine.handle(begin("b"));
    engine.handle(durable("b"));
    engine.handle(troubled("b"));
    engine.handle(aside_is_durable("b"));
    doings.take();
    engine.handle(settled("a", "first.1.1"));
    let expected = "run_a commits attempt_settled routed handoff_written attempt_started";
    assert_eq!(doings.take(), [expected], "nobody waits for the slot, so it is used at once");
}

#[test]
fn the_timers_of_a_run_that_is_set_aside_are_due_no_more() {
    let (mut engine, doings) = engine(1);
    retried(&doings, &mut engine);
    engine.handle(troubled("a"));
    engine.handle(aside_is_durable("a"));
    assert_eq!(engine.wakes_in(), None);
    assert!(engine.is_idle(), "nothing keeps the engine");
    let asks = "flow: asks\nsteps:\n  - id: only\n    ask: { message: Go on?, expires_in: 3s }\n";
    engine.handle(begin_of("b", asks));
    engine.handle(durable("b"));
    assert_eq!(engine.wakes_in(), Some(Duration::from_secs(3)));
    engine.handle(troubled("b"));
    engine.handle(aside_is_durable("b"));
    assert_eq!(engine.wakes_in(), None, "nor do its questions lapse");
}

#[test]
fn a_run_that_has_ended_is_set_aside_when_its_files_prove_to_be_missing() {
    let (mut engine, doings) = running("a");
    let read = engine.run(&id("a")).unwrap().clone();
    engine.handle(settled("a", "only.1.1"));
    engine.handle(durable("a"));
    assert!(engine.run(&id("a")).is_none(), "it is over");
    doings.take();
    let troubled = |kind| Message::Troubled { run: id("a"), trouble: Trouble::new(kind, "no room") };
    engine.handle(troubled(TroubleKind::Attempt));
    assert!(doings.take().is_empty(), "an attempt of it does not matter any more");
    engine.handle(troubled(TroubleKind::Files));
    engine.handle(troubled(TroubleKind::Files));
    assert_eq!(doings.take(), ["run_a is set aside: RUN_FILES_FAILED"]);
    assert!(!engine.is_idle(), "the row is on its way to the disk");
    engine.handle(aside_is_durable("a"));
    assert_eq!(doings.take(), ["run_a is shown as set aside: RUN_FILES_FAILED: no room"]);
    let (received, resume) = adopt(&read, false);
    engine.handle(resume);
    assert!(matches!(taken(&received), Some(Err(EngineError::SetAside { .. }))));
}

#[test]
fn a_loop_that_is_closed_ends_when_a_run_whose_files_are_missing_is_set_aside() {
    let (engine, doings) = engine(1);
    let root = tempfile::tempdir().unwrap();
    let store = Arc::new(Store::open(Layout::new(root.path().join("store"))).unwrap());
    let epoch = store.take_epoch().unwrap();
    let (mailbox, inbox) = mpsc::channel();
    let placing = Placing::new(store, epoch, mailbox.clone());
    // The files of its last step; the loop is closed before they prove to have no place.
    let (go, gate) = mpsc::channel::<()>();
    let fails = Box::new(move |_: &Reader| {
        gate.recv().unwrap();
        Err(std::io::Error::other("no room").into())
    });
    placing.push(&id("a"), fails).unwrap();
    let (close, closed) = mpsc::channel();
    close.send(None).unwrap();
    let waits = placing.clone();
    let disk = std::thread::spawn(move || {
        go.send(()).unwrap();
        waits.wait(&id("a")).unwrap_err();
        mailbox.send(aside_is_durable("a")).unwrap();
    });
    let wake = mpsc::channel().0;
    run_loop(
        engine,
        (&inbox, &wake),
        &closed,
        (&Followers::default(), &placing, &UnderWay::default()),
        &last(&|_, callback| callback()),
    );
    drop(disk.join());
    let expected =
        ["run_a is set aside: RUN_FILES_FAILED", "run_a is shown as set aside: RUN_FILES_FAILED: no room"];
    assert_eq!(doings.take(), expected);
}

std::thread_local! {
    static SAID: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// The lines that an engine prints that is closed by the command of `own` and then gets these messages, and
/// how often notices were tried. It has time only for work that is due.
fn closed_by(own: Option<&str>, messages: Vec<Message>) -> (Vec<String>, usize) {
    let (engine, _doings) = engine(1);
    let root = tempfile::tempdir().unwrap();
    let store = Arc::new(Store::open(Layout::new(root.path().join("store"))).unwrap());
    let epoch = store.take_epoch().unwrap();
    let (mailbox, inbox) = mpsc::channel();
    let placing = Placing::new(store, epoch, mpsc::channel().0);
    let (close, closed) = mpsc::channel();
    close.send(own.map(id)).unwrap();
    messages.into_iter().for_each(|message| mailbox.send(message).unwrap());
    drop(mailbox);
    let wake = mpsc::channel().0;
    let seen = (&Followers::default(), &placing, &UnderWay::default());
    let tries = Cell::new(0);
    let notices = |_, callback: Callback| {
        tries.set(tries.get() + 1);
        callback();
    };
    let print_line = |line: &str| SAID.with_borrow_mut(|said| said.push(line.to_owned()));
    let last = LastMoment { patience: Duration::ZERO, notices: &notices, print_line };
    run_loop(engine, (&inbox, &wake), &closed, seen, &last);
    (SAID.take(), tries.get())
}

#[test]
fn an_engine_whose_last_moment_is_over_waits_for_no_more_notices_and_says_once_that_it_works_for_others() {
    let work = || vec![begin("b"), durable("b"), settled("b", "only.1.1"), durable("b")];
    let meanwhile = "another command has begun work with this engine meanwhile: waiting for it";
    assert_eq!(closed_by(Some("a"), Vec::new()), (vec![], 0));
    assert_eq!(closed_by(Some("a"), work()), (vec![meanwhile.to_owned()], 0));
    assert_eq!(closed_by(None, work()), (vec![], 0), "an engine in the background is there for others");
}

/// As long as others came while it waited for one, it did not end.
#[test]
fn an_engine_that_waits_for_its_last_request_takes_no_other_one() {
    let (engine, _doings) = engine(1);
    let root = tempfile::tempdir().unwrap();
    let store = Arc::new(Store::open(Layout::new(root.path().join("store"))).unwrap());
    let epoch = store.take_epoch().unwrap();
    let (mailbox, inbox) = mpsc::channel();
    let placing = Placing::new(store, epoch, mpsc::channel().0);
    let (close, closed) = mpsc::channel();
    close.send(Some(id("a"))).unwrap();
    let under_way = UnderWay::default();
    let first = under_way.take().unwrap();
    let seen = under_way.clone();
    let others = std::thread::spawn(move || {
        while !seen.waiting().1 {
            std::thread::yield_now();
        }
        let arriving = seen.clone();
        let second = std::thread::spawn(move || arriving.take().is_some());
        while seen.waiting().0 == 0 && !second.is_finished() {
            std::thread::yield_now();
        }
        drop(first);
        second.join().unwrap()
    });
    let seen = (&Followers::default(), &placing, &under_way);
    run_loop(engine, (&inbox, &mailbox), &closed, seen, &last(&|_, callback| callback()));
    assert!(!others.join().unwrap(), "the next engine does it");
}

#[test]
fn a_loop_that_panics_leaves_nobody_waiting() {
    let (engine, _doings) = engine(1);
    let root = tempfile::tempdir().unwrap();
    let store = Arc::new(Store::open(Layout::new(root.path().join("store"))).unwrap());
    let epoch = store.take_epoch().unwrap();
    let (mailbox, inbox) = mpsc::channel();
    let placing = Placing::new(store, epoch, mpsc::channel().0);
    let (close, closed) = mpsc::channel();
    close.send(Some(id("a"))).unwrap();
    let (followers, under_way) = (Followers::default(), UnderWay::default());
    let (client, heard) = mpsc::channel();
    followers.add(&id("a"), client);
    let notices = |_: Duration, _: Callback| panic!("the notices");
    let last = LastMoment { patience: Duration::from_secs(3_600), ..last(&notices) };
    let seen = (&followers, &placing, &under_way);
    let looped = || run_loop(engine, (&inbox, &mailbox), &closed, seen, &last);
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(looped)).unwrap_err();
    assert!(under_way.take().is_none(), "no request is taken any more");
    let Ok(Response::Stopped { reason }) = heard.try_recv() else { panic!("its follower is not told") };
    assert_eq!(reason, "the loop panicked");
}

/// The message for the loop, made from the present run.
type Cause = fn(&Run) -> Message;

/// The only slot is that of run `a`, and run `b` waits for it. The handling of `message` panics: returns what the loop does.
fn with_a_defect(what: &str, message: Cause) -> Vec<String> {
    let (mut engine, doings) = running("a");
    let known = engine.run(&id("a")).unwrap().clone();
    engine.handle(begin("b"));
    engine.handle(durable("b"));
    doings.take();
    defect::is_in(what);
    engine.handle(message(&known));
    if !defect::has_shown() {
        engine.handle(durable("a"));
    }
    assert!(defect::has_shown(), "{what}: nothing was done that could have panicked");
    let mut done = doings.take();
    engine.handle(aside_is_durable("a"));
    engine.handle(durable("b"));
    engine.handle(settled("b", "only.1.1"));
    engine.handle(durable("b"));
    done.extend(doings.take());
    assert!(engine.stopped().is_none() && engine.is_idle() && engine.runs().count() == 0, "{what}: {done:?}");
    done
}

#[test]
fn a_panic_in_whatever_is_done_for_a_run_sets_that_run_aside_and_the_others_go_on() {
    let cancels = |_: &Run| {
        let input = Box::new(Input::Cancel { by: by() });
        Message::Input { run: id("a"), input, reply: Box::new(drop) }
    };
    let ends = |_: &Run| settled("a", "only.1.1");
    let rows: [(&str, Cause); 6] = [
        ("a look at a result", ends),
        ("a decision", ends),
        ("a decision", cancels),
        ("an event", ends),
        ("showing a run", ends),
        ("what the run wants", cancels),
    ];
    for (what, message) in rows {
        let done = with_a_defect(what, message);
        let (of_a, of_b): (Vec<&str>, Vec<&str>) =
            done.iter().map(String::as_str).partition(|doing| doing.starts_with("run_a"));
        let after: Vec<&str> =
            of_a.iter().copied().filter(|doing| !doing.starts_with("run_a commits")).collect();
        assert!(of_a.len() - after.len() <= 1, "{what}: {of_a:?}");
        let reason = format!("{what} panicked: a defect of this program, whose message is on standard error");
        let aside = format!("run_a is shown as set aside: RUN_INCONSISTENT: {reason}");
        assert_eq!(after, ["run_a is set aside: RUN_INCONSISTENT", aside.as_str()], "{what}");
        let whole = [
            "run_b commits attempt_started",
            "run_b ensures only.1.1",
            "run_b commits attempt_settled routed handoff_written run_ended",
        ];
        assert_eq!(of_b, whole, "{what}");
    }
}

/// An engine comes up and goes through the runs that it finds.
#[test]
fn a_run_that_panics_as_it_is_taken_up_is_set_aside_and_the_next_one_goes_on() {
    let (mut before, _) = engine(2);
    for name in ["a", "b"] {
        before.handle(begin(name));
        before.handle(durable(name));
    }
    let found = ["a", "b"].map(|name| before.run(&id(name)).unwrap().clone());
    let (mut engine, doings) = engine(1);
    defect::is_in("what the run wants");
    let replies = found.each_ref().map(|run| {
        let (received, message) = adopt(run, false);
        engine.handle(message);
        received
    });
    assert!(defect::has_shown());
    assert_eq!(
        doings.take(),
        ["run_a is set aside: RUN_INCONSISTENT", "run_b is held", "run_b ensures only.1.1"]
    );
    assert!(matches!(taken(&replies[1]), Some(Ok(()))));
    engine.handle(aside_is_durable("a"));
    let told = taken(&replies[0]);
    let Some(Err(EngineError::SetAside { reason, .. })) = &told else { panic!("{told:?}") };
    assert!(reason.contains("panicked"), "{reason}");
    assert!(engine.stopped().is_none());
}

#[test]
fn a_run_that_panics_before_it_has_begun_leaves_nothing_behind() {
    let (mut engine, doings) = engine(1);
    let (received, reply) = reply();
    let Message::Begin(mut begun) = begin("a") else { panic!("it begins") };
    begun.reply = reply;
    defect::is_in("a decision");
    engine.handle(Message::Begin(begun));
    let told = taken(&received);
    assert!(matches!(told, Some(Err(EngineError::Refused(_)))), "{told:?}");
    assert!(doings.take().is_empty() && engine.is_idle() && engine.stopped().is_none());
    assert_eq!(engine.live(), 0, "its slot is free");
}

#[test]
fn an_observer_that_panics_ends_no_engine() {
    let (mut engine, doings) = running("a");
    let loaded = engine.run(&id("a")).unwrap().clone();
    doings.unbearable.borrow_mut().push(id("a"));
    engine.handle(settled("a", "only.1.1"));
    engine.handle(durable("a"));
    engine.handle(aside_is_durable("a"));
    assert!(doings.take().contains(&"run_a is set aside: RUN_INCONSISTENT".to_owned()));
    // It panics over that as well, and the run can be tried again.
    let (received, again) = adopt(&loaded, true);
    engine.handle(again);
    engine.handle(taken_up("a"));
    engine.handle(aside_is_durable("a"));
    assert!(matches!(taken(&received), Some(Err(EngineError::Stale { .. }))), "it is loaded again");
    assert!(engine.stopped().is_none());
}

#[test]
fn the_last_moment_of_an_engine_begins_once_and_not_while_its_own_run_goes_on() {
    let long = Duration::from_secs(3_600);
    let ending = |own: &str| Ending { own: Some(id(own)), until: None, is_announced: false };
    let (busy, _) = running("b");
    let mut of_other = ending("a");
    assert!(!of_other.is_over(&busy, Duration::ZERO), "what is under way was begun before");
    of_other.until = Some(Instant::now());
    assert!(of_other.is_over(&busy, long), "what was begun since changes nothing");
    let mut own = Ending { until: Some(Instant::now()), ..ending("b") };
    assert!(!own.is_over(&busy, Duration::ZERO) && own.until.is_none(), "an answer has let it go on");
    let (idle, _) = engine(1);
    let mut first = ending("a");
    assert!(!first.is_over(&idle, long));
    let until = first.until;
    assert!(!first.is_over(&idle, long) && until.is_some() && first.until == until);
}

#[test]
fn only_the_disk_or_another_engine_stops_an_engine() {
    use std::io;
    let source = || Arc::new(io::Error::other("no"));
    let errors = [
        (CommitError::Conflict { expected: 2, found: 3 }, false),
        (CommitError::Malformed { reason: "a row that was there cannot be read".to_owned() }, false),
        (CommitError::Full { source: source() }, true),
        (CommitError::Io { source: source(), unknown: true }, true),
        (CommitError::Busy, true),
        (CommitError::Fenced { ours: 1, current: 2 }, true),
    ];
    for (error, stops) in errors {
        let (mut engine, doings) = running("a");
        engine.handle(settled("a", "only.1.1"));
        doings.take();
        engine.handle(Message::Committed { run: id("a"), result: Err(error.clone()) });
        assert_eq!(engine.stopped().is_some(), stops, "{error}");
        let aside = doings.take().iter().any(|doing| doing == "run_a is set aside: RUN_INCONSISTENT");
        assert_eq!(aside, !stops, "{error}");
    }
}

#[test]
fn a_run_whose_first_commit_is_refused_leaves_nothing_behind() {
    let (mut engine, doings) = engine(1);
    engine.handle(begin("a"));
    doings.take();
    let result = Err(CommitError::Malformed { reason: "it has no records".to_owned() });
    engine.handle(Message::Committed { run: id("a"), result });
    assert!(doings.take().is_empty() && engine.is_idle() && engine.stopped().is_none());
}

#[test]
fn a_run_that_cannot_be_loaded_is_set_aside_unless_the_loop_holds_it() {
    let (mut engine, doings) = running("a");
    let unloadable = |name: &str| {
        let (received, reply) = reply();
        let trouble = Trouble::new(TroubleKind::Unreadable, "event 3 is damaged");
        (received, Message::Unloadable { run: id(name), trouble, reply })
    };
    let (held, message) = unloadable("a");
    engine.handle(message);
    assert!(matches!(taken(&held), Some(Ok(()))) && doings.take().is_empty());
    let (received, message) = unloadable("b");
    engine.handle(message);
    let (beside, message) = unloadable("b");
    engine.handle(message);
    assert_eq!(doings.take(), ["run_b is set aside: RUN_UNREADABLE"]);
    assert!(taken(&received).is_none());
    engine.handle(aside_is_durable("b"));
    for received in [received, beside] {
        assert!(matches!(taken(&received), Some(Err(EngineError::SetAside { .. }))));
    }
}

#[test]
fn a_note_that_cannot_be_written_stops_the_engine() {
    let (mut engine, _) = running("a");
    engine.handle(unknown("a"));
    let note = Note::SetAside {
        run: id("a"),
        aside: Aside::new(Timestamp::from_millis(0), Code::RunUnreadable, "", ""),
        undone: Vec::new(),
    };
    let result = Err(CommitError::Full { source: Arc::new(std::io::Error::other("no room")) });
    engine.handle(Message::Noted { note, result });
    assert!(matches!(engine.stopped(), Some(EngineError::Store(_))));
}

#[test]
fn what_is_over_leaves_nothing_in_memory() {
    let (mut engine, _) = engine(1);
    for number in 0..100 {
        let name = format!("a{number}");
        engine.handle(begin(&name));
        engine.handle(durable(&name));
        engine.handle(settled(&name, "only.1.1"));
        engine.handle(durable(&name));
    }
    let kept = [engine.runs.len(), engine.aside.len(), engine.left.len(), engine.calls.len()];
    assert_eq!(kept, [0; 4]);
}
