//! Small runs for the tests of this crate.

use crate::{Commit, Layout, PinnedFlow, Reader, Store};
use envoi_contract::{
    digest::Digest, envelope::TerminalReason, handoff::Handoff, json::Object, json::Value, time::Timestamp,
};
use envoi_kernel::{
    event::{
        About, AttemptSettled, AttemptStarted, Blob, Change, Choice, Command, Course, EndStatus, Event,
        FileChange, HandoffWritten, InterruptAnswered, InterruptCancelled, InterruptExpired, InterruptRaised,
        Outcome, Record, Routed, RunEnded, RunReopened, RunStarted, TimerFired, TimerSet,
    },
    ids::{FlowId, InterruptId, Principal, RunId, StepId, TimerId, VisitId},
    requester::Requester,
};
use serde_json::json;

pub(crate) struct TestStore {
    pub(crate) store: Store,
    pub(crate) reader: Reader,
    _folder: tempfile::TempDir,
}

/// A store of its own in a folder that vanishes with it.
pub(crate) fn place() -> TestStore {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(Layout::new(folder.path().join(".envoi"))).unwrap();
    TestStore { reader: store.reader().unwrap(), store, _folder: folder }
}

pub(crate) fn run(name: &str) -> RunId {
    RunId::new(format!("run_{name}")).unwrap()
}

pub(crate) fn flow() -> FlowId {
    FlowId::new("fix").unwrap()
}

pub(crate) fn step(name: &str) -> StepId {
    StepId::new(name).unwrap()
}

pub(crate) fn visit(name: &str, visit: u32) -> VisitId {
    VisitId { scope: String::new(), step: step(name), visit }
}

pub(crate) fn interrupt(name: &str) -> InterruptId {
    InterruptId::new(format!("int_{name}")).unwrap()
}

fn ada() -> Principal {
    Principal { tenant: "local".to_owned(), actor: "ada".to_owned() }
}

pub(crate) fn pinned() -> PinnedFlow {
    let text = "flow: fix\n".to_owned();
    let parts = std::collections::BTreeMap::from([("part.yaml".to_owned(), "flow: part\n".to_owned())]);
    PinnedFlow {
        digest: Digest::of(text.as_bytes()),
        language: 1,
        name: "flow.yaml".to_owned(),
        text,
        parts,
        earlier: Vec::new(),
    }
}

/// The commit of these events from `seq` on; a second passes between two events.
pub(crate) fn commit(run: &RunId, seq: u64, events: impl IntoIterator<Item = Event>) -> Commit {
    let record = |(seq, event): (u64, Event)| {
        let at = Timestamp::from_millis(i64::try_from(seq).unwrap() * 1_000);
        Record { seq, at, event }
    };
    Commit {
        run: run.clone(),
        expected: seq,
        records: (seq..).zip(events).map(record).collect(),
        pinned: (seq == 0).then(pinned),
        blobs: Vec::new(),
        deliveries: Vec::new(),
        snapshot: None,
    }
}

pub(crate) fn started(run: &RunId) -> Event {
    Event::RunStarted(Box::new(RunStarted {
        run: run.clone(),
        flow: flow(),
        flow_digest: pinned().digest,
        language: 1,
        inputs: Object::default(),
        workspace: "/w".to_owned(),
        source: "/project/flow.yaml".to_owned(),
        shared: false,
        keep_files: false,
        snapshots: envoi_kernel::event::SnapshotScope::default(),
        no_cache: false,
        isolated: None,
        run_base: "/w/.envoi/runs/run_a".to_owned(),
        by: ada(),
        yes_to: Vec::new(),
        trace: None,
        env: envoi_contract::json::Object::new(),
        requester: Requester::default(),
        part: None,
    }))
}

pub(crate) fn attempt(name: &str, nth: u32) -> Event {
    Event::AttemptStarted(Box::new(AttemptStarted {
        attempt: visit(name, nth).attempt(1),
        command: Command::Exec(vec!["true".to_owned()]),
        env: Vec::new(),
        cwd: ".".to_owned(),
        timeout_ms: None,
        iteration: 0,
        handoff: None,
        feedback: None,
        sent_back_by: None,
        answer: None,
        boot_id: "boot".to_owned(),
        reserved: None,
        verifies: None,
        set_back: None,
        tree: None,
    }))
}

/// `files` are paths with their new content, or `None` for a deleted one.
pub(crate) fn settled(name: &str, nth: u32, files: &[(&str, Option<&[u8]>)]) -> Event {
    let change = |(path, content): &(&str, Option<&[u8]>)| FileChange {
        path: (*path).to_owned(),
        change: if content.is_some() { Change::Modified } else { Change::Deleted },
        blob: content
            .map(|bytes| Blob { digest: Digest::of(bytes), size: u64::try_from(bytes.len()).unwrap() }),
        before: None,
    };
    Event::AttemptSettled(Box::new(AttemptSettled {
        attempt: visit(name, nth).attempt(1),
        outcome: Outcome::Exited { code: 0 },
        ok: true,
        error: None,
        text: None,
        text_cut: false,
        report: None,
        data: Value::Null,
        data_kept: None,
        metrics: Object::default(),
        files: files.iter().map(change).collect(),
        manifest: None,
        started_at: Timestamp::from_millis(0),
        duration_ms: 5,
        warnings: Vec::new(),
        late: false,
        given_up: false,
        flow: None,
        workspace_digest: None,
        workspace_moving: false,
        workspace_before: None,
        agent: None,
        session: None,
        taken: None,
        throttled: None,
        set_back: None,
        cache: None,
        test_result: None,
        report_filled: Vec::new(),
    }))
}

pub(crate) fn handoff(name: &str, nth: u32, summary: &str) -> Event {
    let handoff = json!({
        "step_id": name,
        "flow_key": "fix",
        "run_id": "run_a",
        "routing_signal": {
            "decision": "advance", "next_step_id": null, "route": null, "reason": "Linear step complete",
            "confidence": 0.9, "needs_human": false,
        },
        "summary": summary,
        "artifacts": {},
        "status": "succeeded",
        "error": null,
        "duration_ms": 5,
    });
    let handoff = Handoff::decode(handoff.to_string().as_bytes()).unwrap();
    Event::HandoffWritten(Box::new(HandoffWritten { visit: visit(name, nth), handoff, text: None }))
}

pub(crate) fn raised(name: &str, about: About) -> Event {
    Event::InterruptRaised(Box::new(InterruptRaised {
        interrupt: interrupt(name),
        about,
        visit: visit("critic", 1),
        question: "what now?".to_owned(),
        evidence: Value::Null,
        raised_at: Timestamp::from_millis(1),
        kind: None,
        expires_at: None,
        subject: None,
        found: Vec::new(),
    }))
}

pub(crate) fn answered(name: &str) -> Event {
    Event::InterruptAnswered(Box::new(InterruptAnswered {
        interrupt: interrupt(name),
        choice: Choice::Rerun,
        by: ada(),
        channel: String::new(),
        text: String::new(),
        data: Value::Null,
        attachments: Vec::new(),
        raise: None,
        request: None,
    }))
}

/// [`raised`] with something else in it.
pub(crate) fn changed_raise(name: &str, change: impl FnOnce(&mut InterruptRaised)) -> Event {
    let Event::InterruptRaised(mut event) = raised(name, About::Ask) else { unreachable!() };
    change(&mut event);
    Event::InterruptRaised(event)
}

/// [`answered`] with something else in it.
pub(crate) fn changed_answer(name: &str, change: impl FnOnce(&mut InterruptAnswered)) -> Event {
    let Event::InterruptAnswered(mut event) = answered(name) else { unreachable!() };
    change(&mut event);
    Event::InterruptAnswered(event)
}

pub(crate) fn denied(name: &str, by: &str) -> Event {
    changed_answer(name, |answer| {
        (answer.choice, answer.by.actor) = (Choice::Deny, by.to_owned());
    })
}

/// An approval of one of several people.
pub(crate) fn vote(name: &str, by: &str) -> Event {
    let Event::InterruptAnswered(mut event) = answered(name) else { unreachable!() };
    (event.choice, event.by.actor) = (Choice::Approve, by.to_owned());
    Event::VoteCast(event)
}

pub(crate) fn expired(name: &str) -> Event {
    Event::InterruptExpired(InterruptExpired { interrupt: interrupt(name) })
}

/// The question is put again, as another one.
pub(crate) fn out_of_date(name: &str) -> Event {
    Event::InterruptCancelled(InterruptCancelled { interrupt: interrupt(name), changed: true })
}

pub(crate) fn timer_set(name: &str) -> Event {
    let timer = TimerId::new(format!("tim_{name}")).unwrap();
    Event::TimerSet(TimerSet {
        timer,
        due: Timestamp::from_millis(9),
        visit: visit("critic", 1),
        account: None,
    })
}

pub(crate) fn timer_fired(name: &str) -> Event {
    Event::TimerFired(TimerFired { timer: TimerId::new(format!("tim_{name}")).unwrap() })
}

pub(crate) fn ended(status: EndStatus) -> Event {
    Event::RunEnded(RunEnded {
        status,
        terminal_reason: TerminalReason::Completed,
        reason: "every step is done".to_owned(),
        stopped_by: None,
    })
}

/// The result of an attempt that had been settled before, with a file that is no longer wanted.
pub(crate) fn late(name: &str, nth: u32) -> Event {
    let Event::AttemptSettled(mut settled) = settled(name, nth, &[("a.py", Some(b"late"))]) else {
        unreachable!()
    };
    settled.late = true;
    Event::AttemptSettled(settled)
}

/// `routed` into this step.
pub(crate) fn entered(name: &str) -> Event {
    let Event::HandoffWritten(written) = handoff(name, 1, "") else { unreachable!() };
    let signal = written.handoff.routing_signal;
    let course = Course::Enter(step(name));
    Event::Routed(Box::new(Routed {
        visit: visit("critic", 1),
        signal,
        course,
        audit: Value::Null,
        answer: None,
        end: None,
    }))
}

pub(crate) fn cancelled(name: &str) -> Event {
    Event::InterruptCancelled(InterruptCancelled { interrupt: interrupt(name), changed: false })
}

pub(crate) fn reopened(name: &str) -> Event {
    Event::RunReopened(Box::new(RunReopened {
        by: ada(),
        why: None,
        step: step(name),
        decides: None,
        elsewhere: Default::default(),
        request: None,
    }))
}
