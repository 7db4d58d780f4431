//! The audit view of a run: its pipeline envelope (contract 3), true after each event.
//!
//! Follows the events and the state that they made; no decision reads it.

use crate::{
    control::Control,
    event::{
        AttemptSettled, AttemptStarted, Course, Event, HandoffWritten, InterruptRaised, Record, Routed,
        RunEnded,
    },
    flow::Flow,
    ids::{StepId, derived},
};
use envoi_contract::{
    envelope::{Envelope, FlowInterrupt, InterruptStatus, ProcessingRecord, RecordStatus, TerminalReason},
    handoff::Status,
    json::{Object, Value},
    routing::Decision,
    time::Timestamp,
};

/// A counter without a bound, as the envelope writes it: the largest integer that every language holds.
const UNLIMITED: u64 = (1 << 53) - 1;

/// Brings `envelope` up to `record`, which `control` has already taken.
pub(crate) fn apply(envelope: &mut Envelope, flow: &Flow, control: &Control, record: &Record) {
    match &record.event {
        Event::RunStarted(_) => begin(envelope, flow, control, record.at),
        Event::AttemptStarted(event) => attempt_started(envelope, flow, event, record.at),
        Event::AttemptSettled(event) if !event.late => attempt_settled(envelope, event, record.at),
        Event::Routed(event) => routed(envelope, flow, event),
        Event::HandoffWritten(event) => {
            handoff_written(envelope, flow, control, event);
            failed_before_its_start(envelope, control, event, record.at);
        }
        Event::InterruptAnswered(event) if event.raise.is_some() => bounds(envelope, flow, control),
        Event::LimitsRaised(_) => bounds(envelope, flow, control),
        Event::RunReopened(event) => {
            (envelope.terminated, envelope.terminal_reason) = (false, None);
            (envelope.termination_reason, envelope.completed_at) = (None, None);
            revisit(envelope, &event.step);
        }
        Event::RunEnded(event) => ended(envelope, event, record.at),
        _ => {}
    }
    follow(envelope, control);
}

fn begin(envelope: &mut Envelope, flow: &Flow, control: &Control, at: Timestamp) {
    let Some(started) = control.started.as_deref() else { return };
    envelope.envelope_id = format!("env_{}", derived(&started.run, 0, at));
    envelope.request_id = started.run.to_string();
    envelope.session_id = started.run.to_string();
    envelope.user_id = started.by.actor.clone();
    envelope.raw_input = Value::Object(started.inputs.clone()).compact();
    envelope.received_at = Some(at.to_string());
    envelope.created_at = Some(at.to_string());
    envelope.stage_order = flow.steps.iter().map(|step| step.id.to_string()).collect();
    bounds(envelope, flow, control);
    envelope.max_stages = UNLIMITED;
    for (name, value) in [
        ("run_id", started.run.to_string()),
        ("flow", started.flow.to_string()),
        ("flow_digest", started.flow_digest.to_string()),
        ("workspace", started.workspace.clone()),
        ("tenant", started.by.tenant.clone()),
    ] {
        envelope.metadata.insert(name.to_owned(), Value::from(value));
    }
}

/// What the flow sets and people have added.
fn bounds(envelope: &mut Envelope, flow: &Flow, control: &Control) {
    let (limits, raised) = (&flow.limits, &control.raised);
    let bound =
        |max: Option<u64>, more: u64| max.map_or(UNLIMITED, |max| max.saturating_add(more).min(UNLIMITED));
    envelope.max_iterations = bound(limits.iterations, raised.iterations);
    envelope.max_llm_calls = bound(limits.llm_calls, raised.llm_calls);
    envelope.max_agent_hops = bound(limits.agent_hops, raised.agent_hops);
}

fn attempt_started(envelope: &mut Envelope, flow: &Flow, event: &AttemptStarted, at: Timestamp) {
    let step = &event.attempt.visit.step;
    let position = flow.position(step).unwrap_or_default();
    let verifies = event.verifies.as_ref().map(|attempt| ("verifies", attempt.to_string()));
    let members = [("attempt", event.attempt.to_string())].into_iter().chain(verifies);
    let unknown: Object = members.map(|(name, id)| (name.to_owned(), Value::from(id))).collect();
    envelope.processing_history.push(ProcessingRecord {
        agent: step.to_string(),
        stage_order: u64::try_from(position).unwrap_or_default(),
        started_at: Some(at.to_string()),
        completed_at: None,
        duration_ms: 0,
        status: RecordStatus::Running,
        error: None,
        llm_calls: 0,
        unknown,
    });
}

fn attempt_settled(envelope: &mut Envelope, event: &AttemptSettled, at: Timestamp) {
    let step = event.attempt.visit.step.to_string();
    let error = event.error.as_ref().map(|error| format!("{}: {}", error.code, error.message));
    let running =
        |record: &&mut ProcessingRecord| record.agent == step && record.status == RecordStatus::Running;
    if let Some(record) = envelope.processing_history.iter_mut().rev().find(running) {
        record.completed_at = Some(at.to_string());
        record.duration_ms = event.duration_ms;
        record.status = if event.ok { RecordStatus::Success } else { RecordStatus::Error };
        record.error = error;
        record.llm_calls = event.metrics.get("llm_calls").and_then(Value::as_u53).unwrap_or(0);
    }
    if let Some(error) = &event.error {
        push_error(envelope, &step, Some(event.attempt.to_string()), (&error.code, &error.message), at);
    }
}

/// A visit that failed without an attempt has no other event that tells of its error.
fn failed_before_its_start(
    envelope: &mut Envelope,
    control: &Control,
    event: &HandoffWritten,
    at: Timestamp,
) {
    let step = &event.visit.step;
    let last = control.steps.get(step).and_then(|state| state.last.as_ref());
    if last.is_none_or(|last| last.attempt.is_some()) {
        return;
    }
    if let Some(error) = event.handoff.error.as_deref() {
        push_error(envelope, step.as_str(), None, error.split_once(": ").unwrap_or(("", error)), at);
    }
}

fn push_error(
    envelope: &mut Envelope,
    step: &str,
    attempt: Option<String>,
    error: (&str, &str),
    at: Timestamp,
) {
    let (code, message) = error;
    let entry = [
        ("step", Some(step.to_owned())),
        ("attempt", attempt),
        ("code", Some(code.to_owned())),
        ("message", Some(message.to_owned())),
        ("at", Some(at.to_string())),
    ];
    let known = entry.into_iter().filter_map(|(name, text)| Some((name.to_owned(), Value::from(text?))));
    envelope.errors.push(known.collect());
}

fn routed(envelope: &mut Envelope, flow: &Flow, event: &Routed) {
    match &event.course {
        Course::Enter(step) => revisit(envelope, step),
        Course::LoopBack(target) => {
            let (from, to) =
                (flow.position(target).unwrap_or(0), flow.position(&event.visit.step).unwrap_or(0));
            for step in flow.steps.iter().skip(from).take(to.saturating_sub(from).saturating_add(1)) {
                revisit(envelope, &step.id);
            }
        }
        Course::Complete | Course::Hold | Course::Stop => {}
    }
}

/// A step that is to be done, maybe again, is neither done nor failed.
fn revisit(envelope: &mut Envelope, step: &StepId) {
    envelope.completed_stage_set.remove(step.as_str());
    envelope.failed_stages.remove(step.as_str());
}

fn handoff_written(envelope: &mut Envelope, flow: &Flow, control: &Control, event: &HandoffWritten) {
    let (step, handoff) = (&event.visit.step, &event.handoff);
    let last = control.steps.get(step).and_then(|state| state.last.as_ref());
    let mut output = Object::default();
    output.insert("summary".to_owned(), Value::from(handoff.summary.as_str()));
    output.insert("data".to_owned(), last.map(|last| last.data.clone()).unwrap_or_default());
    output.insert("artifacts".to_owned(), last.map(|last| last.artifacts.clone()).unwrap_or_default());
    envelope.outputs.insert(step.to_string(), Value::Object(output));
    if handoff.routing_signal.decision == Decision::Loop {
        // A critic that wrote nothing to its text still said so much.
        let said = if handoff.summary.is_empty() { &handoff.routing_signal.reason } else { &handoff.summary };
        envelope.loop_feedback.push(said.clone());
    }
    let position = flow.position(step);
    let to_be_revisited = control.open.keys().any(|open| flow.position(&open.step) <= position);
    if handoff.status == Status::Failed {
        envelope.failed_stages.insert(step.to_string(), handoff.error.clone().unwrap_or_default());
    } else if !to_be_revisited {
        envelope.completed_stage_set.insert(step.to_string(), true);
    }
}

fn ended(envelope: &mut Envelope, event: &RunEnded, at: Timestamp) {
    envelope.terminated = true;
    envelope.terminal_reason = TerminalReason::parse(&event.terminal_reason);
    envelope.termination_reason = Some(event.reason.clone());
    envelope.completed_at = Some(at.to_string());
}

/// Members that mirror the state.
fn follow(envelope: &mut Envelope, control: &Control) {
    envelope.iteration = control.ledger.iterations;
    envelope.llm_call_count = control.ledger.llm_calls;
    envelope.agent_hop_count = control.ledger.agent_hops;
    envelope.active_stages = control.open.keys().map(|visit| (visit.step.to_string(), true)).collect();
    if let Some(visit) = control.open.keys().next() {
        envelope.current_stage = visit.step.to_string();
    }
    let oldest = control.interrupts.values().next();
    envelope.interrupt_pending = oldest.is_some();
    envelope.interrupt = oldest.map(|raised| interrupt(control, raised));
}

fn interrupt(control: &Control, raised: &InterruptRaised) -> FlowInterrupt {
    let started = control.started.as_deref();
    let run = started.map(|started| started.run.to_string());
    let mut data = Object::default();
    data.insert("step".to_owned(), Value::from(raised.visit.step.as_str()));
    data.insert("evidence".to_owned(), raised.evidence.clone());
    let mut shown = FlowInterrupt::new(raised.interrupt.to_string(), raised.kind(), raised.raised_at);
    shown.request_id.clone_from(&run);
    shown.user_id = started.map(|started| started.by.actor.clone());
    shown.session_id = run;
    shown.question = Some(raised.question.clone());
    shown.expires_at = raised.expires_at.map(|at| at.to_string());
    shown.data = Some(data);
    shown.status = Some(InterruptStatus::Pending);
    shown
}
