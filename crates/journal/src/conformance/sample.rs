//! The smallest runs: a start, timers, a question, an end. Ids are made of a name.

use crate::model::commit::{Commit, PinnedFlow};
use envoi_contract::{
    digest::Digest,
    envelope::TerminalReason,
    json::{Object, Value},
    time::Timestamp,
};
use envoi_kernel::{
    event::{About, EndStatus, Event, InterruptRaised, Record, RunEnded, RunStarted, TimerFired, TimerSet},
    ids::{BadId, FlowId, InterruptId, Principal, RunId, StepId, TimerId, VisitId},
    requester::Requester,
};
use std::collections::BTreeMap;

/// The run `run_<name>`; a name is of `a-z 0-9`.
///
/// # Errors
/// [`BadId`] for another name.
pub fn run(name: &str) -> Result<RunId, BadId> {
    RunId::new(format!("run_{name}"))
}

/// The commit of these events from `seq` on, a second apart; at 0 with a flow.
#[must_use]
pub fn commit(run: &RunId, seq: u64, events: impl IntoIterator<Item = Event>) -> Commit {
    let at = |seq: u64| Timestamp::from_millis(i64::try_from(seq.saturating_mul(1_000)).unwrap_or(i64::MAX));
    let records = (seq..).zip(events).map(|(seq, event)| Record { seq, at: at(seq), event }).collect();
    let pinned = (seq == 0).then(pinned);
    Commit {
        run: run.clone(),
        expected: seq,
        records,
        pinned,
        blobs: Vec::new(),
        deliveries: Vec::new(),
        snapshot: None,
    }
}

fn pinned() -> PinnedFlow {
    let text = "flow: sample\n".to_owned();
    let parts = BTreeMap::from([("parts/\"a\".yaml".to_owned(), "flow: part\nsteps: []\n".to_owned())]);
    PinnedFlow {
        digest: Digest::of(text.as_bytes()),
        language: 1,
        name: "sample.yaml".to_owned(),
        text,
        parts,
        earlier: Vec::new(),
    }
}

/// `run_started`.
///
/// # Errors
/// None, as long as the ids used here are spelled well.
pub fn started(run: &RunId) -> Result<Event, BadId> {
    Ok(Event::RunStarted(Box::new(RunStarted {
        run: run.clone(),
        flow: FlowId::new("sample")?,
        flow_digest: pinned().digest,
        language: 1,
        inputs: Object::default(),
        workspace: "/".to_owned(),
        source: "/project/flow.yaml".to_owned(),
        shared: false,
        keep_files: false,
        snapshots: envoi_kernel::event::SnapshotScope::default(),
        no_cache: false,
        isolated: None,
        run_base: "/".to_owned(),
        by: Principal { tenant: "local".to_owned(), actor: "sample".to_owned() },
        yes_to: Vec::new(),
        trace: None,
        env: envoi_contract::json::Object::new(),
        requester: Requester::default(),
        part: None,
    })))
}

fn visit() -> Result<VisitId, BadId> {
    Ok(VisitId { scope: String::new(), step: StepId::new("step")?, visit: 1 })
}

/// `timer_set` of the timer `tim_<name>`.
///
/// # Errors
/// [`BadId`] for a name that is not of `a-z 0-9`.
pub fn timer_set(name: &str) -> Result<Event, BadId> {
    let timer = TimerId::new(format!("tim_{name}"))?;
    Ok(Event::TimerSet(TimerSet { timer, due: Timestamp::from_millis(1), visit: visit()?, account: None }))
}

/// `timer_fired` of the timer `tim_<name>`.
///
/// # Errors
/// [`BadId`] for a name that is not of `a-z 0-9`.
pub fn timer_fired(name: &str) -> Result<Event, BadId> {
    Ok(Event::TimerFired(TimerFired { timer: TimerId::new(format!("tim_{name}"))? }))
}

/// `interrupt_raised` of the question `int_<name>`, about a review.
///
/// # Errors
/// [`BadId`] for a name that is not of `a-z 0-9`.
pub fn interrupted(name: &str) -> Result<Event, BadId> {
    Ok(Event::InterruptRaised(Box::new(InterruptRaised {
        interrupt: InterruptId::new(format!("int_{name}"))?,
        about: About::Review,
        visit: visit()?,
        question: "go on?".to_owned(),
        evidence: Value::Null,
        raised_at: Timestamp::from_millis(1),
        kind: None,
        expires_at: None,
        subject: None,
        found: Vec::new(),
    })))
}

/// `run_ended`, well.
#[must_use]
pub fn ended() -> Event {
    Event::RunEnded(RunEnded {
        status: EndStatus::Succeeded,
        terminal_reason: TerminalReason::Completed,
        reason: "every step is done".to_owned(),
        stopped_by: None,
    })
}
