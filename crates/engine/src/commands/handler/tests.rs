//! The commands without a loop: the test plays the loop, which also writes to the journal what others have done meanwhile.

use super::*;
use crate::attempts::presence::Presences;
use crate::model::{
    message::Adopt,
    protocol::{AnswerRequest, CallerWire, CorrectedFlow, ResumeRequest, WorkspaceUse},
    runner::CallingAttempt,
    trouble::defect,
};
use envoi_contract::{code::Code, json::Object};
use envoi_journal::{Commit, PinnedFlow, Writer};
use envoi_kernel::{
    Input, Run, Status,
    event::{Choice, Outcome},
    family::Share,
    ids::{Principal, RunId, StepId},
    input::{Answer, AttemptResult, Slot, Start},
    ledger::Ledger,
};
use std::{
    collections::BTreeMap,
    sync::mpsc::Receiver,
    thread::{self, JoinHandle},
    time::Duration,
};

const ASKS: &str = "flow: f\nsteps:\n  - id: a\n    ask: Go on?\n";
const BESIDE: &str = "flow: f\nsteps:\n  - id: a\n    needs: []\n    ask: Go on?\n  - id: b\n    needs: []\n    run: [\"true\"]\n";
const PLAIN: &str = "flow: f\nsteps:\n  - id: a\n    run: [\"true\"]\n";
const TWO: &str = "flow: f\nsteps:\n  - id: a\n    run: [\"true\"]\n  - id: b\n    run: [\"true\"]\n";
const BOUNDED: &str = "flow: f\nlimits: { agent_hops: 5 }\nsteps:\n  - id: a\n    run: [\"true\"]\n";

/// A run in a journal, and the commands for it.
struct Place {
    commands: Commands,
    /// The messages to the event loop.
    told: Receiver<Message>,
    writer: Arc<Writer>,
    id: RunId,
    _folder: tempfile::TempDir,
}

fn by() -> Principal {
    Principal { tenant: "local".to_owned(), actor: "ada".to_owned() }
}

fn place(text: &str) -> Place {
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::new(folder.path());
    let store = Arc::new(Store::open(layout.clone()).unwrap());
    let writer = Arc::new(store.writer(store.take_epoch().unwrap()).unwrap());
    let (mailbox, told) = mpsc::channel();
    let commands = Commands {
        presences: Arc::new(Presences::new(layout.root(), |_| {})),
        store,
        layout,
        mailbox,
        followers: Followers::default(),
        callers: Callers::default(),
        families: Arc::default(),
        restores: Arc::default(),
        under_way: UnderWay::default(),
        beginnings: Arc::default(),
        collections: Arc::default(),
        requests: Arc::default(),
        writer: Arc::downgrade(&writer),
        reached: |_| {},
        stop: Stop::default(),
        bounds: Bounds::default(),
    };
    let loaded = envoi_flow::load("f.yaml", text).unwrap();
    let flow = Arc::new(loaded.flow);
    let id = RunId::new("run_a").unwrap();
    let start = Start { by: by(), ..crate::model::sample::start(&id, loaded.language) };
    let records = Run::new(Arc::clone(&flow))
        .decide(Input::Start(Box::new(start)), None, crate::model::clock::now())
        .unwrap();
    let pinned = PinnedFlow {
        digest: flow.digest,
        language: loaded.language,
        name: "f.yaml".to_owned(),
        text: text.to_owned(),
        parts: loaded.parts,
        earlier: Vec::new(),
    };
    let place = Place { commands, told, writer, id, _folder: folder };
    place.commit(0, records, Some(pinned));
    place
}

fn slot() -> Option<Slot> {
    Some(Slot::new("boot"))
}

impl Place {
    fn commit(&self, expected: u64, records: Vec<envoi_kernel::Record>, pinned: Option<PinnedFlow>) {
        let run = self.id.clone();
        let blobs = Vec::new();
        let deliveries = Vec::new();
        let commit = Commit { run, expected, records, pinned, blobs, deliveries, snapshot: None };
        self.writer.commit(commit).unwrap();
    }

    /// Another client submits this input.
    fn decides(&self, input: Input, slot: Option<Slot>) {
        let run = self.commands.load(&self.id).unwrap();
        self.commit(run.next_seq(), run.decide(input, slot, crate::model::clock::now()).unwrap(), None);
    }

    fn serves(&self, request: Request) -> (Receiver<Response>, JoinHandle<()>) {
        let (commands, (client, heard)) = (self.commands.clone(), mpsc::channel());
        (heard, thread::spawn(move || commands.serve(request, &client)))
    }

    /// As [`Self::serves`]; a request under this name panics.
    fn serves_with_a_defect(
        &self,
        what: &'static str,
        request: Request,
    ) -> (Receiver<Response>, JoinHandle<()>) {
        let (commands, (client, heard)) = (self.commands.clone(), mpsc::channel());
        let served = move || {
            defect::is_in(what);
            commands.serve(request, &client);
            assert!(defect::has_shown(), "nothing was done that could have panicked");
        };
        (heard, thread::spawn(served))
    }

    /// Ends the live attempt: it fails, or it is in doubt. Does nothing if no attempt is live.
    fn stops(&self, in_doubt: bool) {
        let run = self.commands.load(&self.id).unwrap();
        if let Status::Ended(_) = run.status() {
            return;
        }
        if run.wants().attempts.is_empty() {
            self.decides(Input::SlotFree, slot());
        }
        let run = self.commands.load(&self.id).unwrap();
        let Some(attempt) = run.wants().attempts.first().cloned() else {
            return;
        };
        let (outcome, evidence) = (Outcome::Exited { code: 1 }, Object::new().into());
        self.decides(
            match in_doubt {
                true => Input::InDoubt { attempt, evidence },
                false => Input::Settled(Box::new(AttemptResult::empty(
                    attempt,
                    outcome,
                    crate::model::clock::now(),
                ))),
            },
            None,
        );
    }

    fn notes(&self, note: envoi_journal::Note) {
        let (sender, receiver) = mpsc::channel();
        self.writer.note(note, Box::new(move |outcome| sender.send(outcome.map(drop)).unwrap()));
        receiver.recv().unwrap().unwrap();
    }

    /// Does as the loop: a request that needs no decision.
    fn notes_done(&self, adopt: Adopt) {
        let (run, at) = (self.id.clone(), crate::model::clock::now());
        let request = adopt.request.unwrap();
        self.notes(envoi_journal::Note::Done { run, request, at });
        (adopt.reply)(Ok(()));
    }

    /// The live attempt succeeds.
    fn settles(&self) {
        let run = self.commands.load(&self.id).unwrap();
        let attempt = run.wants().attempts.first().cloned().unwrap();
        let at = crate::model::clock::now();
        let result = AttemptResult::empty(attempt, Outcome::Exited { code: 0 }, at);
        self.decides(Input::Settled(Box::new(result)), None);
    }

    /// The live attempt succeeds, and the run with it.
    fn succeeds(&self) {
        self.settles();
        let run = self.commands.load(&self.id).unwrap();
        assert!(matches!(run.status(), Status::Ended(_)));
    }

    /// Does as the loop with an adopted run; then the engine goes away before it replies.
    fn does(&self, adopt: Adopt) {
        let mut run = self.commands.load(&self.id).unwrap();
        let pinned = adopt.corrected.map(|corrected| {
            run.learn(corrected.flow);
            corrected.pinned
        });
        let input = adopt.inputs.into_iter().next().unwrap();
        let records = run.decide(input, slot(), crate::model::clock::now()).unwrap();
        self.commit(run.next_seq(), records, pinned);
        (adopt.reply)(Err(EngineError::Stopping { reason: "killed".to_owned() }));
    }

    /// The adoption that the loop gets; `None`: the request is done without it.
    fn adopted_or_done(&self, served: &JoinHandle<()>) -> Option<Adopt> {
        loop {
            match self.told.recv_timeout(Duration::from_millis(20)) {
                Ok(Message::Adopt(adopt)) => return Some(*adopt),
                Ok(_) => panic!("the loop is asked to adopt the run"),
                Err(_) if served.is_finished() => return None,
                Err(_) => {}
            }
        }
    }

    fn adopted(&self) -> Adopt {
        match self.told.recv().unwrap() {
            Message::Adopt(adopt) => *adopt,
            _ => panic!("the loop is asked to adopt the run"),
        }
    }
}

#[test]
fn a_raise_that_was_made_meanwhile_by_the_same_request_is_not_made_again() {
    let place = place(BOUNDED);
    let more = Ledger { agent_hops: 1, ..Ledger::default() };
    let request = Some("req_1".to_owned());
    let follow = ResumeRequest::follow(place.id.clone(), by(), CallerWire::default());
    let again = ResumeRequest { raise: Some(more.clone()), request: request.clone(), ..follow };
    let (heard, served) = place.serves(Request::Resume(Box::new(again)));
    let first = place.adopted();
    assert_eq!(first.inputs.len(), 1, "nothing is known of the request yet");
    let elsewhere = Share::default();
    place.decides(Input::Raise { more, by: by(), why: None, request, elsewhere }, None);
    (first.reply)(Err(EngineError::Stale { run: place.id.clone() }));
    let second = place.adopted();
    assert!(second.inputs.is_empty(), "{:?}", second.inputs);
    (second.reply)(Ok(()));
    served.join().unwrap();
    assert!(matches!(heard.try_recv(), Ok(Response::Accepted { .. })));
}

#[test]
fn a_correction_that_is_sent_again_because_no_reply_came_is_not_made_again() {
    let place = place(PLAIN);
    let correct = CorrectedFlow {
        name: "/fixed.yaml".to_owned(),
        text: PLAIN.replace("true", "false"),
        parts: BTreeMap::new(),
        language: None,
        from: Some(StepId::new("a").unwrap()),
        seen: None,
    };
    let follow = ResumeRequest::follow(place.id.clone(), by(), CallerWire::default());
    let request = Some("req_1".to_owned());
    let wanted = ResumeRequest { correct: Some(correct), reopen: true, request, ..follow };
    let (_heard, served) = place.serves(Request::Resume(Box::new(wanted.clone())));
    let mut first = place.adopted();
    let corrected = first.corrected.unwrap();
    let mut run = place.commands.load(&place.id).unwrap();
    run.learn(corrected.flow);
    let records = run.decide(first.inputs.remove(0), None, crate::model::clock::now()).unwrap();
    place.commit(run.next_seq(), records, Some(corrected.pinned));
    // The engine goes away before it replies.
    (first.reply)(Err(EngineError::Stopping { reason: "killed".to_owned() }));
    served.join().unwrap();
    let (heard, served) = place.serves(Request::Resume(Box::new(wanted.clone())));
    let second = place.adopted();
    assert!(second.inputs.is_empty(), "{:?}", second.inputs);
    (second.reply)(Ok(()));
    served.join().unwrap();
    assert!(matches!(heard.try_recv(), Ok(Response::Accepted { .. })));
    // A client with a new request id wants it done anew.
    let anew = ResumeRequest { request: Some("req_2".to_owned()), ..wanted };
    let (_heard, served) = place.serves(Request::Resume(Box::new(anew)));
    let third = place.adopted();
    assert_eq!(third.inputs.len(), 1);
    (third.reply)(Ok(()));
    served.join().unwrap();
}

/// The engine is killed after it has committed what was requested, and the run comes to a new end before the request arrives again.
#[test]
fn a_request_that_has_an_id_is_done_once_whatever_it_wants() {
    let more = Ledger { agent_hops: 1, ..Ledger::default() };
    let correct = CorrectedFlow {
        name: "/fixed.yaml".to_owned(),
        text: BOUNDED.replace("true", "false"),
        parts: BTreeMap::new(),
        language: None,
        from: Some(StepId::new("a").unwrap()),
        seen: None,
    };
    let id = RunId::new("run_a").unwrap();
    let follow = || ResumeRequest::follow(id.clone(), by(), CallerWire::default());
    for (what, wanted) in [
        ("reopen", ResumeRequest { reopen: true, ..follow() }),
        ("now", ResumeRequest { reopen: true, now: true, ..follow() }),
        ("raise", ResumeRequest { raise: Some(more), ..follow() }),
        ("correct", ResumeRequest { correct: Some(correct), ..follow() }),
        ("decide", ResumeRequest { choice: Some(Choice::Rerun), ..follow() }),
    ] {
        let place = place(BOUNDED);
        place.stops(wanted.choice.is_some());
        let wanted = ResumeRequest { request: Some("req_1".to_owned()), ..wanted };
        let (_heard, served) = place.serves(Request::Resume(Box::new(wanted.clone())));
        let first = place.adopted();
        assert_eq!(first.inputs.len(), 1, "{what}");
        place.does(first);
        served.join().unwrap();
        place.stops(wanted.choice.is_some());
        let before = place.commands.load(&id).unwrap();
        let (heard, served) = place.serves(Request::Resume(Box::new(wanted.clone())));
        // A run that has ended, and stays so, is not given to the loop.
        if let Some(second) = place.adopted_or_done(&served) {
            assert!(second.inputs.is_empty(), "{what}: {:?}", second.inputs);
            (second.reply)(Ok(()));
        }
        served.join().unwrap();
        assert!(matches!(heard.try_recv(), Ok(Response::Accepted { .. })), "{what}");
        assert_eq!(place.commands.load(&id).unwrap(), before, "{what}");
    }
}

/// It has no event. Sent again after the run has failed since, it reopened the run.
#[test]
fn a_request_that_finds_nothing_to_do_does_nothing_when_it_comes_again() {
    let follow = |place: &Place| ResumeRequest::follow(place.id.clone(), by(), CallerWire::default());
    let resume = |place: &Place, request: &str, now: bool| {
        let request = Some(request.to_owned());
        ResumeRequest { reopen: true, again: true, now, request, ..follow(place) }
    };
    for (what, goes_on, now) in [("goes on", true, false), ("now", true, true), ("is over", false, false)] {
        let place = place(PLAIN);
        place.decides(Input::SlotFree, slot());
        if !goes_on {
            place.succeeds();
        }
        let wanted = resume(&place, "req_1", now);
        let (heard, served) = place.serves(Request::Resume(Box::new(wanted.clone())));
        if let Some(first) = place.adopted_or_done(&served) {
            assert!(goes_on && first.inputs.is_empty(), "{what}: {:?}", first.inputs);
            assert_eq!(
                first.request.as_deref(),
                Some("req_1"),
                "{what}: the loop notes it when it has the run"
            );
            place.notes_done(first);
        }
        served.join().unwrap();
        assert!(matches!(heard.try_recv(), Ok(Response::Accepted { .. })), "{what}");
        assert!(place.commands.was_done(&place.id, Some("req_1")).unwrap(), "{what}");
        if !goes_on {
            continue;
        }
        place.stops(false);
        let before = place.commands.load(&place.id).unwrap();
        assert!(matches!(before.status(), Status::Ended(_)), "{what}");
        let (heard, served) = place.serves(Request::Resume(Box::new(wanted)));
        let second = place.adopted_or_done(&served);
        assert!(second.is_none(), "{what}: {:?}", second.map(|second| second.inputs));
        served.join().unwrap();
        assert!(matches!(heard.try_recv(), Ok(Response::Accepted { .. })), "{what}");
        // A client with a new request id wants it done anew.
        let (_heard, served) = place.serves(Request::Resume(Box::new(resume(&place, "req_2", now))));
        let third = place.adopted();
        assert_eq!(third.inputs.len(), 1, "{what}");
        (third.reply)(Ok(()));
        served.join().unwrap();
    }
}

/// Once the cause is mended, the request is sent again and must be done.
#[test]
fn a_request_that_is_refused_is_not_noted_as_done() {
    for (flow, is_over) in [(TWO, false), (PLAIN, true)] {
        let place = place(flow);
        place.decides(Input::SlotFree, slot());
        place.settles();
        let run = place.commands.load(&place.id).unwrap();
        assert_eq!(matches!(run.status(), Status::Ended(_)), is_over);
        let folder = place.commands.layout.run(&place.id);
        std::fs::create_dir_all(folder.parent().unwrap()).unwrap();
        std::fs::write(&folder, "in the way of the files of the run").unwrap();
        let follow = ResumeRequest::follow(place.id.clone(), by(), CallerWire::default());
        let wanted = ResumeRequest { reopen: true, again: true, request: Some("req_1".to_owned()), ..follow };
        let (heard, served) = place.serves(Request::Resume(Box::new(wanted)));
        match place.told.recv().unwrap() {
            Message::Unloadable { reply, .. } => {
                reply(Err(EngineError::Stopping { reason: "killed".to_owned() }))
            }
            _ => panic!("the files of the run cannot be written"),
        }
        served.join().unwrap();
        assert!(!matches!(heard.try_recv(), Ok(Response::Accepted { .. })));
        assert!(!place.commands.was_done(&place.id, Some("req_1")).unwrap(), "{is_over}");
    }
}

/// The run was set aside, or another one came into its workspace, after the request had found nothing in its way.
#[test]
fn a_request_that_the_loop_refuses_is_not_noted_as_done() {
    let run = RunId::new("run_a").unwrap();
    let busy = EngineError::WorkspaceBusy {
        run: RunId::new("run_b").unwrap(),
        workspace: "/w".to_owned(),
        wanted: "/w".to_owned(),
    };
    let aside = EngineError::SetAside {
        run,
        code: Code::RunFilesFailed.as_str().to_owned(),
        reason: "no room".to_owned(),
    };
    for refused in [busy, aside] {
        let place = place(PLAIN);
        place.decides(Input::SlotFree, slot());
        let follow = ResumeRequest::follow(place.id.clone(), by(), CallerWire::default());
        let wanted = ResumeRequest { reopen: true, request: Some("req_1".to_owned()), ..follow };
        let (heard, served) = place.serves(Request::Resume(Box::new(wanted)));
        (place.adopted().reply)(Err(refused));
        served.join().unwrap();
        assert!(matches!(heard.try_recv(), Ok(Response::Refused(_))));
        assert!(!place.commands.was_done(&place.id, Some("req_1")).unwrap());
    }
}

#[test]
fn a_run_that_is_not_begun_leaves_no_folder_unless_it_may_begin_yet() {
    let place = place(PLAIN);
    let stopping = || EngineError::Stopping { reason: "it is closing".to_owned() };
    let full = || {
        let source = Arc::new(std::io::Error::other("no room"));
        EngineError::Store(envoi_journal::CommitError::Full { source })
    };
    let other = RunId::new("run_b").unwrap();
    for (run, error, stays) in [
        (&other, full(), false),
        (&other, EngineError::Refused(envoi_kernel::Refusal::NotStarted), false),
        // The loop has ended. Its commit may still be on its way to the journal.
        (&other, stopping(), true),
        // The journal has it: the engine ended before it could reply.
        (&place.id, stopping(), true),
        (&place.id, EngineError::Refused(envoi_kernel::Refusal::AlreadyStarted), true),
    ] {
        place.commands.begin_starts(run).unwrap();
        let refused = place.commands.not_begun(run, error, None);
        assert_eq!(place.commands.layout.run(run).exists(), stays, "{run}: {}", refused.message);
    }
}

#[test]
fn a_request_that_has_a_run_tried_again_does_so_once() {
    let place = place(PLAIN);
    place.decides(Input::SlotFree, slot());
    let set_aside = || {
        let why = envoi_journal::Aside::new(crate::model::clock::now(), Code::RunFilesFailed, "no room", "");
        place.notes(envoi_journal::Note::SetAside { run: place.id.clone(), aside: why, undone: Vec::new() });
    };
    set_aside();
    let follow = ResumeRequest::follow(place.id.clone(), by(), CallerWire::default());
    let wanted = ResumeRequest { reopen: true, again: true, request: Some("req_1".to_owned()), ..follow };
    let (heard, served) = place.serves(Request::Resume(Box::new(wanted.clone())));
    let first = place.adopted();
    assert_eq!(first.again.as_ref().map(|why| why.reason.as_str()), Some("no room"));
    assert!(first.inputs.is_empty());
    assert_eq!(first.request.as_deref(), Some("req_1"), "the loop notes it as it takes the run up");
    let (run, at, requests) = (place.id.clone(), crate::model::clock::now(), vec!["req_1".to_owned()]);
    place.notes(envoi_journal::Note::TakeUp { run, at, requests });
    // The engine is killed before it replies: sent again, the request does nothing, also after the run has failed.
    assert!(place.commands.was_done(&place.id, Some("req_1")).unwrap());
    (first.reply)(Ok(()));
    served.join().unwrap();
    assert!(matches!(heard.try_recv(), Ok(Response::Accepted { .. })));
    set_aside();
    let (heard, served) = place.serves(Request::Resume(Box::new(wanted)));
    assert!(place.adopted_or_done(&served).is_none(), "it is not tried again");
    served.join().unwrap();
    let Ok(Response::Refused(refused)) = heard.try_recv() else { panic!("it is set aside") };
    assert_eq!(refused.code, Code::RunSetAside);
}

#[test]
fn cancelling_a_cancelled_run_is_accepted() {
    let place = place(BOUNDED);
    place.decides(Input::Cancel { by: by() }, None);
    let run = place.id.clone();
    let caller = CallerWire::default();
    let (heard, served) = place.serves(Request::Cancel { run, by: by(), caller: Box::new(caller) });
    (place.adopted().reply)(Ok(()));
    served.join().unwrap();
    assert!(
        matches!(heard.try_recv(), Ok(Response::Accepted { .. })),
        "a rest may be one of another request"
    );
    assert!(matches!(heard.try_recv(), Ok(Response::Rest { .. })));
}

#[test]
fn an_answer_that_the_same_request_gave_meanwhile_is_taken() {
    let place = place(ASKS);
    let run = place.commands.load(&place.id).unwrap();
    let interrupt = run.interrupts().next().unwrap().interrupt.clone();
    let request = Some("req_1".to_owned());
    let answer = Answer { request, ..Answer::new(interrupt.clone(), Choice::Approve, by()) };
    let run = place.id.clone();
    let caller = CallerWire::default();
    let asked = AnswerRequest { run, answer: answer.clone(), follow: false, caller };
    let (heard, served) = place.serves(Request::Answer(Box::new(asked)));
    let adopted = place.adopted();
    place.decides(Input::Answer(Box::new(answer)), None);
    (adopted.reply)(Err(EngineError::Refused(envoi_kernel::Refusal::NotOpen { interrupt })));
    served.join().unwrap();
    assert!(matches!(heard.try_recv(), Ok(Response::Accepted { .. })));
}

/// The attempts that wait for what is asked: an attempt of the run itself.
fn within(place: &Place, attempt: &str) -> CallerWire {
    let within = vec![CallingAttempt::parse(&format!("{}:{attempt}", place.id)).unwrap()];
    CallerWire { within, ..CallerWire::default() }
}

#[test]
fn a_run_that_one_of_its_own_steps_waits_for_is_refused() {
    let place = place(PLAIN);
    place.decides(Input::SlotFree, slot());
    let resume = |attempt| {
        let caller = within(&place, attempt);
        place.serves(Request::Resume(Box::new(ResumeRequest::follow(place.id.clone(), by(), caller))))
    };
    let (heard, served) = resume("a.1.1");
    served.join().unwrap();
    let Ok(Response::Refused(refused)) = heard.try_recv() else { panic!("it waits for itself") };
    assert_eq!((refused.code.as_str(), refused.exit_code()), ("REFUSED", 6));
    assert!(refused.message.contains("a.1.1"), "{}", refused.message);
    // An attempt that is over waits for nothing.
    let (_heard, served) = resume("a.2.1");
    (place.adopted().reply)(Ok(()));
    served.join().unwrap();
}

#[test]
fn an_answer_of_a_step_to_its_own_run_is_taken_only_if_the_step_does_not_wait_for_the_run() {
    let place = place(BESIDE);
    place.decides(Input::SlotFree, slot());
    let run = place.commands.load(&place.id).unwrap();
    let interrupt = run.interrupts().next().unwrap().interrupt.clone();
    let answer = |follow| {
        let answer = Answer::new(interrupt.clone(), Choice::Approve, by());
        let caller = within(&place, "b.1.1");
        place.serves(Request::Answer(Box::new(AnswerRequest {
            run: place.id.clone(),
            answer,
            follow,
            caller,
        })))
    };
    let (heard, served) = answer(true);
    served.join().unwrap();
    let Ok(Response::Refused(refused)) = heard.try_recv() else { panic!("it waits for itself") };
    assert_eq!((refused.code.as_str(), refused.exit_code()), ("REFUSED", 6));
    assert!(refused.message.contains("b.1.1"), "{}", refused.message);
    assert!(refused.hint.unwrap().contains("--no-resume"));
    assert!(place.told.try_recv().is_err(), "the loop is asked for nothing");
    let (heard, served) = answer(false);
    (place.adopted().reply)(Ok(()));
    served.join().unwrap();
    assert!(matches!(heard.try_recv(), Ok(Response::Accepted { .. })));
}

#[test]
fn a_step_may_cancel_its_own_run() {
    let place = place(PLAIN);
    let run = place.id.clone();
    let caller = within(&place, "a.1.1");
    let (heard, served) = place.serves(Request::Cancel { run, by: by(), caller: Box::new(caller) });
    (place.adopted().reply)(Ok(()));
    served.join().unwrap();
    assert!(matches!(heard.try_recv(), Ok(Response::Accepted { .. })));
}

#[test]
fn a_run_whose_row_is_ahead_of_its_events_is_set_aside() {
    let place = place(PLAIN);
    let follow = ResumeRequest::follow(place.id.clone(), by(), CallerWire::default());
    let (heard, served) = place.serves(Request::Resume(Box::new(follow)));
    let run = place.id.clone();
    let mut adopted = 0;
    let trouble = loop {
        match place.told.recv().unwrap() {
            Message::Adopt(adopt) => {
                adopted += 1;
                assert!(adopted < 10, "it is loaded again and again");
                (adopt.reply)(Err(EngineError::Stale { run: run.clone() }));
            }
            Message::Unloadable { trouble, reply, .. } => {
                let code = trouble.kind.code().as_str().to_owned();
                let reason = trouble.reason.clone();
                reply(Err(EngineError::SetAside { run: run.clone(), code, reason }));
                break trouble;
            }
            _ => panic!("the loop is asked for something else"),
        }
    };
    served.join().unwrap();
    assert_eq!(trouble.kind.code(), Code::RunInconsistent, "{}", trouble.reason);
    let Ok(Response::Refused(refused)) = heard.try_recv() else { panic!("nothing was done") };
    assert_eq!((refused.code.as_str(), refused.exit_code()), ("RUN_SET_ASIDE", 8));
}

/// Whether a person asks for it, or an engine that comes up and goes through all runs.
#[test]
fn a_run_that_panics_as_it_is_loaded_is_set_aside() {
    let place = place(PLAIN);
    let follow = ResumeRequest::follow(place.id.clone(), by(), CallerWire::default());
    let request = Request::Resume(Box::new(follow));
    let (heard, served) = place.serves_with_a_defect("loading it", request);
    let Message::Unloadable { run, trouble, reply } = place.told.recv().unwrap() else {
        panic!("the loop is asked for something else")
    };
    assert!(run == place.id && trouble.reason.contains("loading it panicked"), "{}", trouble.reason);
    let (code, reason) = (trouble.kind.code().as_str().to_owned(), trouble.reason);
    reply(Err(EngineError::SetAside { run, code, reason }));
    served.join().unwrap();
    let Ok(Response::Refused(refused)) = heard.try_recv() else { panic!("nothing was done") };
    assert_eq!((refused.code.as_str(), refused.exit_code()), ("RUN_SET_ASIDE", 8));
    assert!(refused.message.contains("RUN_INCONSISTENT"), "{}", refused.message);
}

#[test]
fn a_command_that_panics_is_refused_with_the_reason_and_others_are_taken_as_before() {
    let place = place(PLAIN);
    let cancel = || Request::Cancel { run: place.id.clone(), by: by(), caller: Box::default() };
    let (heard, served) = place.serves_with_a_defect("the command", cancel());
    served.join().unwrap();
    let Ok(Response::Refused(refused)) = heard.try_recv() else { panic!("the client hears nothing") };
    assert!(refused.message.contains("panicked"), "{}", refused.message);
    assert_eq!((refused.exit_code(), place.commands.under_way.count()), (8, 0));
    let (heard, served) = place.serves(cancel());
    (place.adopted().reply)(Ok(()));
    served.join().unwrap();
    assert!(matches!(heard.try_recv(), Ok(Response::Accepted { .. })));
}

#[test]
fn a_copy_of_an_engine_that_went_away_is_made_again() {
    let place = place(PLAIN);
    let workspace = tempfile::tempdir().unwrap();
    let (file, run) = (workspace.path().join("a"), RunId::new("run_b").unwrap());
    let copied = |content: &str| {
        std::fs::write(&file, content).unwrap();
        let copy = place.commands.workspace(workspace.path(), WorkspaceUse::Copy, &run, &[]).unwrap();
        std::fs::read_to_string(copy.join("a")).unwrap()
    };
    assert_eq!((copied("before"), copied("now")), ("before".to_owned(), "now".to_owned()));
}
