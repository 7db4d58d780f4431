//! Two runs in one workspace: the loop lets the second one in only when nothing of the first can write there.

use super::*;
use crate::model::message::Purpose;
use envoi_contract::code::Code;
use envoi_kernel::{
    event::{Choice, Reach},
    input::Answer,
};

const ASKS: &str = "flow: asks\nsteps:\n  - id: first\n    ask: Go on?\n  - id: work\n    run: [work]\n";

type Received = Arc<Mutex<Option<Result<(), EngineError>>>>;

fn received() -> (Received, Reply) {
    let received = Received::default();
    let tell = Arc::clone(&received);
    (received, Box::new(move |result| *tell.lock().unwrap() = Some(result)))
}

/// The reply that has come so far, in a word.
fn word(received: &Received) -> &'static str {
    match received.lock().unwrap().take() {
        None => "none yet",
        Some(Ok(())) => "done",
        Some(Err(EngineError::WorkspaceBusy { .. })) => "busy",
        Some(Err(_)) => "another error",
    }
}

/// A run in `/w` that has not agreed to share it.
fn begin_alone(name: &str, text: &str) -> (Received, Message) {
    let Message::Begin(mut begin) = begin_of(name, text) else { panic!("it begins") };
    begin.start.workspace = "/w".to_owned();
    begin.start.shared = false;
    let (received, reply) = received();
    begin.reply = reply;
    (received, Message::Begin(begin))
}

fn resume(run: &Run, again: bool, is_inside: bool) -> (Received, Message) {
    let (received, reply) = received();
    let run = run.clone();
    let purpose = Purpose::GoOn;
    let caller = Arc::new(Caller::default());
    let adopt = Adopt {
        corrected: None,
        run,
        inputs: Vec::new(),
        purpose,
        again: again
            .then(|| Aside::new(Timestamp::from_millis(7), Code::RunUnreadable, "an event is damaged", "")),
        is_inside,
        request: None,
        tail_bytes: 0,
        caller,
        reply,
    };
    (received, Message::Adopt(Box::new(adopt)))
}

fn troubled(name: &str) -> Message {
    Message::Troubled { run: id(name), trouble: Trouble::new(TroubleKind::Files, "no room") }
}

fn noted(note: Note) -> Message {
    Message::Noted { note, result: Ok(Receipt { events_bytes: 0 }) }
}

fn taken_up(name: &str) -> Message {
    noted(Note::TakeUp { run: id(name), at: Timestamp::from_millis(0), requests: Vec::new() })
}

fn aside_is_durable(name: &str) -> Message {
    let aside = Aside::new(Timestamp::from_millis(0), "RUN_FILES_FAILED".parse().unwrap(), "", "");
    noted(Note::SetAside { run: id(name), aside, undone: Vec::new() })
}

/// Whether a run can begin in `/w` now.
fn lets_in(engine: &mut Engine, name: &str) -> &'static str {
    let (received, begin) = begin_alone(name, FLOW);
    engine.handle(begin);
    engine.handle(durable(name));
    word(&received)
}

#[test]
fn of_two_runs_that_begin_at_the_same_moment_one_is_let_in() {
    let (mut engine, _) = engine(2);
    let ((first, begin_first), (second, begin_second)) = (begin_alone("a", FLOW), begin_alone("b", FLOW));
    engine.handle(begin_first);
    engine.handle(begin_second);
    engine.handle(durable("a"));
    assert_eq!([word(&first), word(&second)], ["done", "busy"]);
}

#[test]
fn a_run_that_is_set_aside_has_its_workspace_until_its_attempt_is_over() {
    let (mut engine, doings) = engine(2);
    assert_eq!(lets_in(&mut engine, "a"), "done");
    let first = engine.run(&id("a")).unwrap().clone();
    engine.handle(troubled("a"));
    engine.handle(aside_is_durable("a"));
    assert_eq!(lets_in(&mut engine, "b"), "busy", "the runner is at the attempt, or about to start it");
    engine.handle(settled("a", "only.1.1"));
    doings.take();
    assert_eq!(lets_in(&mut engine, "b"), "done");
    // Its attempt is over, so it would have to enter the workspace anew.
    let (received, again) = resume(&first, true, false);
    let Message::Adopt(again) = again else { panic!("it is adopted") };
    engine.handle(Message::Adopt(Box::new(Adopt { request: Some("req_1".to_owned()), ..*again })));
    assert_eq!(word(&received), "busy");
    assert!(
        !doings.take().iter().any(|done| done.starts_with("run_a")),
        "a request that is refused is not done"
    );
    assert!(engine.run(&id("a")).is_none());
    engine.handle(settled("b", "only.1.1"));
    engine.handle(durable("b"));
    let (received, again) = resume(&first, true, false);
    engine.handle(again);
    engine.handle(taken_up("a"));
    assert_eq!(word(&received), "done");
}

/// Another run comes into its workspace between the commit that takes it up and the run itself.
#[test]
fn a_request_that_is_refused_after_its_run_was_taken_up_is_not_done() {
    let (mut engine, doings) = engine(2);
    assert_eq!(lets_in(&mut engine, "a"), "done");
    let first = engine.run(&id("a")).unwrap().clone();
    engine.handle(troubled("a"));
    engine.handle(aside_is_durable("a"));
    engine.handle(settled("a", "only.1.1"));
    let (received, again) = resume(&first, true, false);
    let Message::Adopt(again) = again else { panic!("it is adopted") };
    engine.handle(Message::Adopt(Box::new(Adopt { request: Some("req_1".to_owned()), ..*again })));
    assert_eq!(doings.take().last().map(String::as_str), Some("run_a is taken up: `req_1` is done"));
    assert_eq!(lets_in(&mut engine, "b"), "done");
    doings.take();
    engine.handle(taken_up("a"));
    assert!(
        doings
            .take()
            .iter()
            .any(|done| done.starts_with("run_a is set aside: ") && done.ends_with(": `req_1` is not done")),
        "the same request is to be tried when it comes again"
    );
    engine.handle(aside_is_durable("a"));
    assert_eq!(word(&received), "busy");
}

#[test]
fn a_run_from_the_journal_goes_on_beside_another_one_only_if_it_is_inside_already() {
    for (is_inside, expected) in [(false, "busy"), (true, "done")] {
        let (mut before, _) = engine(1);
        assert_eq!(lets_in(&mut before, "a"), "done");
        let first = before.run(&id("a")).unwrap().clone();
        let (mut after, doings) = engine(2);
        doings.next.borrow_mut().insert(id("a"), first.next_seq());
        assert_eq!(lets_in(&mut after, "b"), "done");
        let (received, resumed) = resume(&first, false, is_inside);
        after.handle(resumed);
        assert_eq!(word(&received), expected);
    }
}

#[test]
fn a_run_that_waits_for_a_person_leaves_its_workspace_to_others() {
    let (mut engine, _) = engine(2);
    let (received, begin) = begin_alone("a", ASKS);
    engine.handle(begin);
    engine.handle(durable("a"));
    assert_eq!(word(&received), "done");
    let first = engine.run(&id("a")).unwrap().clone();
    assert_eq!(lets_in(&mut engine, "b"), "done");
    let (received, resumed) = resume(&first, false, false);
    engine.handle(resumed);
    assert_eq!(word(&received), "busy");
}

#[test]
fn a_run_with_requests_only_keeps_no_other_run_out() {
    let (mut before, _) = engine(1);
    assert_eq!(lets_in(&mut before, "a"), "done");
    before.handle(settled("a", "only.1.1"));
    let stopped = before.run(&id("a")).unwrap().clone();
    let (mut after, doings) = engine(2);
    doings.next.borrow_mut().insert(id("a"), stopped.next_seq());
    let (received, reply) = received();
    let inputs = vec![Input::Cancel { by: by() }];
    let caller = Arc::new(Caller::default());
    let purpose = Purpose::Decide;
    let again = None;
    let is_inside = false;
    let adopt = Adopt {
        corrected: None,
        run: stopped,
        inputs,
        purpose,
        again,
        is_inside,
        request: None,
        tail_bytes: 0,
        caller,
        reply,
    };
    after.handle(Message::Adopt(Box::new(adopt)));
    after.handle(durable("a"));
    assert_eq!(word(&received), "done");
    assert_eq!(lets_in(&mut after, "b"), "done");
}

/// Another run has come between the command's look and the commit that takes it up.
#[test]
fn a_run_that_is_taken_up_and_finds_another_one_at_work_is_aside_again_with_its_reason() {
    let (mut before, _) = engine(1);
    assert_eq!(lets_in(&mut before, "a"), "done");
    before.handle(settled("a", "only.1.1"));
    let first = before.run(&id("a")).unwrap().clone();
    let (mut engine, doings) = engine(2);
    doings.next.borrow_mut().insert(id("a"), first.next_seq());
    let (received, resumed) = resume(&first, true, false);
    engine.handle(resumed);
    assert_eq!(lets_in(&mut engine, "b"), "done");
    doings.take();
    engine.handle(taken_up("a"));
    assert_eq!(doings.take(), ["run_a is shown as taken up", "run_a is set aside: RUN_UNREADABLE"]);
    assert_eq!(word(&received), "none yet", "the row does not say yet that it is aside");
    engine.handle(aside_is_durable("a"));
    assert_eq!(word(&received), "busy");
    let shown = "run_a is shown as set aside: RUN_UNREADABLE: an event is damaged";
    assert_eq!(doings.take(), [shown]);
    let (received, resumed) = resume(&first, true, false);
    engine.handle(settled("b", "only.1.1"));
    engine.handle(durable("b"));
    engine.handle(resumed);
    engine.handle(taken_up("a"));
    assert_eq!(word(&received), "done", "it can be tried again");
}

#[test]
fn a_run_that_leaves_its_rest_where_another_one_works_is_set_aside() {
    let (mut engine, doings) = engine(2);
    let (begun, begin) = begin_alone("a", ASKS);
    engine.handle(begin);
    engine.handle(durable("a"));
    assert_eq!(word(&begun), "done");
    let question = engine.run(&id("a")).unwrap().interrupts().next().unwrap().interrupt.clone();
    assert_eq!(lets_in(&mut engine, "b"), "done", "a rests");
    doings.take();
    let answer = Answer::new(question, Choice::Approve, by());
    let (received, reply) = received();
    engine.handle(Message::Input { run: id("a"), input: Box::new(Input::Answer(Box::new(answer))), reply });
    engine.handle(durable("a"));
    assert_eq!(word(&received), "done", "the answer is recorded");
    let done = doings.take();
    assert!(done.contains(&"run_a is set aside: WORKSPACE_BUSY".to_owned()), "{done:?}");
    assert!(!done.iter().any(|done| done.starts_with("run_a ensures")), "{done:?}");
    engine.handle(aside_is_durable("a"));
    engine.handle(settled("b", "only.1.1"));
    engine.handle(durable("b"));
    assert!(engine.run(&id("b")).is_none(), "b went on, and is over");
}

/// A request of a run that is held in the loop or not.
fn decide(run: &Run, inputs: Vec<Input>) -> (Received, Message) {
    let (received, Message::Adopt(adopt)) = resume(run, false, false) else { panic!("it is adopted") };
    (received, Message::Adopt(Box::new(Adopt { inputs, purpose: Purpose::Decide, ..*adopt })))
}

/// Files of the run go back to another state, in its workspace or in this folder.
fn restore(folder: Option<&str>) -> Input {
    let digest = |word: &[u8]| envoi_contract::digest::Digest::of(word);
    let wanted = envoi_kernel::event::FilesRestoring {
        from: digest(b"now"),
        to: digest(b"then"),
        reach: folder.map_or(Reach::Workspace, |folder| Reach::Folder(folder.to_owned())),
        undoes: false,
        by: by(),
        why: None,
        folders_gone: None,
        folders_back: None,
        found: Vec::new(),
    };
    Input::RestoreFiles(Box::new(wanted))
}

/// A run that has ended and that the loop holds no more.
fn ended(engine: &mut Engine, doings: &Doings, name: &str, workspace: &str) -> Run {
    let (_, Message::Begin(mut begin)) = begin_alone(name, FLOW) else { panic!("it begins") };
    begin.start.workspace = workspace.to_owned();
    engine.handle(Message::Begin(begin));
    engine.handle(durable(name));
    let mut run = engine.run(&id(name)).unwrap().clone();
    engine.handle(settled(name, "only.1.1"));
    engine.handle(durable(name));
    assert!(engine.run(&id(name)).is_none(), "it is over");
    let attempt = AttemptId::parse("only.1.1").unwrap();
    let result = AttemptResult::empty(attempt, Outcome::Exited { code: 0 }, Timestamp::from_millis(1_000));
    let records = run.decide(Input::Settled(Box::new(result)), None, Timestamp::from_millis(1_000)).unwrap();
    records.iter().for_each(|record| run.apply(record).unwrap());
    assert_eq!(doings.next.borrow().get(&id(name)), Some(&run.next_seq()));
    run
}

#[test]
fn no_run_comes_to_work_where_files_are_set_back_until_the_journal_says_that_they_are() {
    for (workspace, folder) in [("/w", None), ("/w/below", None), ("/tree", Some("/w"))] {
        let (mut engine, doings) = engine(2);
        let run = ended(&mut engine, &doings, "a", workspace);
        let (received, begun) = decide(&run, vec![restore(folder)]);
        engine.handle(begun);
        assert_eq!(lets_in(&mut engine, "b"), "busy", "{workspace}: it is not durable yet");
        let mut restoring = engine.run(&id("a")).unwrap().clone();
        engine.handle(durable("a"));
        assert_eq!(word(&received), "done");
        assert_eq!(lets_in(&mut engine, "b"), "busy", "{workspace}");
        let records = run.decide(restore(folder), None, Timestamp::from_millis(1_000)).unwrap();
        records.iter().for_each(|record| restoring.apply(record).unwrap());
        let (received, kept) = decide(&restoring, vec![Input::FilesKept { reason: "no room".to_owned() }]);
        engine.handle(kept);
        assert_eq!(lets_in(&mut engine, "b"), "busy", "{workspace}: its end is not durable yet");
        engine.handle(durable("a"));
        assert_eq!([word(&received), lets_in(&mut engine, "b")], ["done", "done"], "{workspace}");
    }
}

/// An earlier engine has begun it.
#[test]
fn a_restore_that_goes_on_keeps_other_runs_out_as_well() {
    let (mut before, doings) = engine(2);
    let mut run = ended(&mut before, &doings, "a", "/w");
    let records = run.decide(restore(None), None, Timestamp::from_millis(1_000)).unwrap();
    records.iter().for_each(|record| run.apply(record).unwrap());
    let (mut engine, doings) = engine(2);
    doings.next.borrow_mut().insert(id("a"), run.next_seq());
    let (received, held) = decide(&run, Vec::new());
    engine.handle(held);
    assert_eq!([word(&received), lets_in(&mut engine, "b")], ["done", "busy"]);
}

#[test]
fn files_are_not_set_back_where_another_run_is_at_work_or_if_the_run_refuses() {
    let (mut engine, doings) = engine(2);
    let run = ended(&mut engine, &doings, "a", "/w");
    assert_eq!(lets_in(&mut engine, "b"), "done");
    for folder in [None, Some("/w/below")] {
        let (received, begun) = decide(&run, vec![restore(folder)]);
        engine.handle(begun);
        assert_eq!(word(&received), "busy", "{folder:?}");
    }
    let (received, begun) = decide(&run, vec![restore(Some("/elsewhere")), restore(Some("/elsewhere"))]);
    engine.handle(begun);
    engine.handle(durable("a"));
    assert_eq!(word(&received), "another error", "it is under way already");
    engine.handle(settled("b", "only.1.1"));
    engine.handle(durable("b"));
    assert_eq!(lets_in(&mut engine, "c"), "done", "nothing is held where the request was refused");
}
