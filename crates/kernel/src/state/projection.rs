//! The audit view of a run: its pipeline envelope (contract 3).
//!
//! Derived from the events and the resulting state; no decision reads it. Parts that come from events are
//! stored. Parts that mirror the state (see [`mirror`]) are computed when the envelope is read: a run can
//! have thousands of open visits and questions, and the envelope is not read after most events.

use crate::{
    model::{
        event::{
            AttemptSettled, AttemptStarted, Course, Event, HandoffWritten, InterruptRaised, Record, Routed,
            RunEnded, RunForked,
        },
        files::Blob,
        flow::Flow,
        ids::{AttemptId, StepId, VisitId, derived},
        size::{MAX_MESSAGE_BYTES, shortened},
    },
    state::{control::Control, envelope_size, graph, step_result::StepResult},
};
use envoi_contract::{
    envelope::{Envelope, FlowInterrupt, InterruptStatus, ProcessingRecord, RecordStatus},
    handoff::Status,
    json::{Object, Value},
    routing::Decision,
    time::Timestamp,
};

/// An unlimited counter in the envelope: the largest integer that every language represents exactly.
const UNLIMITED: u64 = (1 << 53) - 1;

/// The value of `current_stage` before the first step.
const BEFORE_THE_FIRST: &str = "start";

/// Limits a sum to the largest count that contract 3 allows. A sum of reported figures may exceed it.
fn counted(sum: u64) -> u64 {
    sum.min(UNLIMITED)
}

/// Applies `record`, which `control` has applied already. `outputs_bytes` is the approximate size of all
/// outputs.
pub(crate) fn apply(
    envelope: &mut Envelope,
    outputs_bytes: &mut usize,
    flow: &Flow,
    control: &Control,
    record: &Record,
) {
    match &record.event {
        Event::RunStarted(_) => begin(envelope, flow, control, record.at),
        Event::AttemptStarted(event) => attempt_started(envelope, flow, control, event, record.at),
        Event::AttemptSettled(event) if !event.late => attempt_settled(envelope, control, event, record.at),
        Event::ModelCallStarted(event) => {
            let record = event.attempt.as_ref().and_then(|attempt| running(envelope, attempt));
            record.into_iter().for_each(|record| {
                record.llm_calls = counted(record.llm_calls.saturating_add(1));
            });
        }
        Event::StepEntered(event) => {
            let visit = VisitId { scope: event.scope.clone(), step: event.step.clone(), visit: 1 };
            again(envelope, control, &visit);
        }
        Event::GoalsSet(event) => {
            envelope.initialize_goals(&event.goals);
            envelope.current_stage_number = 1;
        }
        Event::GoalsReached(event) => {
            event.goals.iter().for_each(|goal| envelope.mark_goal_complete(goal));
        }
        Event::Routed(event) => {
            round_ended(envelope, flow, event, record.at);
            routed(envelope, flow, control, event);
        }
        Event::HandoffWritten(event) if event.visit.item().is_none() => {
            handoff_written(envelope, outputs_bytes, flow, control, event);
            failed_before_its_start(envelope, control, event, record.at);
        }
        Event::InterruptAnswered(event) if event.raise.is_some() => bounds(envelope, flow, control),
        Event::LimitsRaised(_) => bounds(envelope, flow, control),
        Event::RunReopened(event) => {
            (envelope.terminated, envelope.terminal_reason) = (false, None);
            (envelope.termination_reason, envelope.completed_at) = (None, None);
            again(envelope, control, &VisitId { scope: String::new(), step: event.step.clone(), visit: 1 });
        }
        Event::FlowCorrected(event) => {
            envelope.stage_order = flow.steps.iter().map(|step| step.id.to_string()).collect();
            envelope.metadata.insert("flow_digest".to_owned(), Value::from(event.after.to_string()));
            bounds(envelope, flow, control);
        }
        Event::RunForked(event) => {
            forked(envelope, event, record.at);
            bounds(envelope, flow, control);
        }
        Event::RunEnded(event) => ended(envelope, event, record.at),
        _ => {}
    }
    envelope_size::history(envelope);
    forget_stage(envelope, control);
}

/// Saves the parts of the envelope that mirror the state before `event`, if this event may close all visits:
/// no later state has them.
pub(crate) fn before(envelope: &mut Envelope, control: &Control, event: &Event) {
    // All visits end by events of their own, except in these cases.
    let may_end_all =
        control.open.len() == 1 || matches!(event, Event::FlowCorrected(_) | Event::RunEnded(_));
    if !may_end_all {
        return;
    }
    if let Some(visit) = current(control) {
        envelope.current_stage = stage(control, visit);
    }
}

/// Reduces the envelope of a restored run to the parts that a live run stores.
pub(crate) fn forget_mirrored(envelope: &mut Envelope, control: &Control) {
    let fresh = Envelope::default();
    envelope.iteration = fresh.iteration;
    envelope.llm_call_count = fresh.llm_call_count;
    envelope.agent_hop_count = fresh.agent_hop_count;
    envelope.active_stages = fresh.active_stages;
    envelope.parallel_mode = fresh.parallel_mode;
    envelope.interrupt_pending = fresh.interrupt_pending;
    envelope.interrupt = fresh.interrupt;
    forget_stage(envelope, control);
}

/// While a visit is open, `current_stage` is computed from the state.
fn forget_stage(envelope: &mut Envelope, control: &Control) {
    if !control.open.is_empty() && envelope.current_stage != BEFORE_THE_FIRST {
        BEFORE_THE_FIRST.clone_into(&mut envelope.current_stage);
    }
}

/// The name of a visit's step in contract 3: its id, prefixed by the steps that run its flow, as in
/// `build/compile`.
fn stage(control: &Control, visit: &VisitId) -> String {
    let mut names = vec![visit.step.as_str()];
    let mut flow_state = control.flow_state(visit.flow_scope());
    while let Some(caller) = &flow_state.caller {
        names.push(caller.step.as_str());
        flow_state = control.flow_state(caller.flow_scope());
    }
    names.reverse();
    names.join("/")
}

fn begin(envelope: &mut Envelope, flow: &Flow, control: &Control, at: Timestamp) {
    let Some(started) = control.phase.started() else { return };
    envelope.envelope_id = format!("env_{}", derived(&started.run, 0, at));
    envelope.request_id = started.run.to_string();
    envelope.session_id = started.session_id().to_owned();
    envelope.user_id = started.user_id().to_owned();
    envelope.raw_input = started.raw_input();
    envelope.received_at = Some(at.to_string());
    envelope.created_at = Some(at.to_string());
    envelope.stage_order = flow.steps.iter().map(|step| step.id.to_string()).collect();
    bounds(envelope, flow, control);
    envelope.metadata = started.requester.metadata.clone();
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

/// The bounds of the flow plus the amounts that people added.
fn bounds(envelope: &mut Envelope, flow: &Flow, control: &Control) {
    let limits = &flow.limits;
    let raised = &control.raised;
    let bound =
        |max: Option<u64>, more: u64| max.map_or(UNLIMITED, |max| max.saturating_add(more).min(UNLIMITED));
    envelope.max_stages = bound(flow.goals.as_ref().map(|goals| goals.max_rounds), raised.rounds);
    envelope.max_iterations = bound(limits.iterations, raised.iterations);
    envelope.max_llm_calls = bound(limits.llm_calls, raised.llm_calls);
    envelope.max_agent_hops = bound(limits.agent_hops, raised.agent_hops);
}

fn attempt_started(
    envelope: &mut Envelope,
    flow: &Flow,
    control: &Control,
    event: &AttemptStarted,
    at: Timestamp,
) {
    let visit = &event.attempt.visit;
    let position = control.flow(flow, visit.flow_scope()).position(&visit.step).unwrap_or_default();
    let verifies = event.verifies.as_ref().map(|attempt| ("verifies", attempt.to_string()));
    let members = [("attempt", event.attempt.to_string())].into_iter().chain(verifies);
    let unknown: Object = members.map(|(name, id)| (name.to_owned(), Value::from(id))).collect();
    envelope.processing_history.push(ProcessingRecord {
        agent: stage(control, visit),
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

/// The record of an attempt in progress.
fn running<'e>(envelope: &'e mut Envelope, attempt: &AttemptId) -> Option<&'e mut ProcessingRecord> {
    let attempt = attempt.to_string();
    let of_it = |record: &&mut ProcessingRecord| {
        record.status == RecordStatus::Running
            && record.unknown.get("attempt").and_then(Value::as_str) == Some(attempt.as_str())
    };
    envelope.processing_history.iter_mut().rev().find(of_it)
}

fn attempt_settled(envelope: &mut Envelope, control: &Control, event: &AttemptSettled, at: Timestamp) {
    let step = stage(control, &event.attempt.visit);
    let attempt = event.attempt.to_string();
    let error = event.error.as_ref().map(|error| format!("{}: {}", error.code, error.message));
    if let Some(record) = running(envelope, &event.attempt) {
        record.completed_at = Some(at.to_string());
        record.duration_ms = counted(event.duration_ms);
        record.status = if event.ok { RecordStatus::Success } else { RecordStatus::Error };
        record.error = error.map(|error| shortened(error, envelope_size::MAX_RECORD_ERROR_BYTES));
        let reported = event.metrics.get("llm_calls").and_then(Value::as_u53).unwrap_or(0);
        // Its report includes the metered calls.
        record.llm_calls = record.llm_calls.max(reported);
    }
    if let Some(error) = &event.error {
        push_error(envelope, &step, Some(attempt), &error.code, &error.message, at);
    }
}

/// For a visit that failed without an attempt, no other event contains its error.
fn failed_before_its_start(
    envelope: &mut Envelope,
    control: &Control,
    event: &HandoffWritten,
    at: Timestamp,
) {
    let last = last(control, &event.visit);
    if last.is_none_or(|last| last.attempt.is_some()) {
        return;
    }
    if let Some(error) = event.handoff.error.as_deref() {
        let (code, message) = error.split_once(": ").unwrap_or(("", error));
        push_error(envelope, &stage(control, &event.visit), None, code, message, at);
    }
}

fn push_error(
    envelope: &mut Envelope,
    step: &str,
    attempt: Option<String>,
    code: &str,
    message: &str,
    at: Timestamp,
) {
    let entry = [
        ("step", Some(step.to_owned())),
        ("attempt", attempt),
        ("code", Some(code.to_owned())),
        ("message", Some(shortened(message.to_owned(), envelope_size::MAX_ERROR_BYTES))),
        ("at", Some(at.to_string())),
    ];
    let known = entry.into_iter().filter_map(|(name, text)| Some((name.to_owned(), Value::from(text?))));
    envelope.errors.push(known.collect());
}

fn routed(envelope: &mut Envelope, flow: &Flow, control: &Control, event: &Routed) {
    let of = control.flow(flow, event.visit.flow_scope());
    let named = |step: &StepId| stage(control, &VisitId { step: step.clone(), ..event.visit.clone() });
    match &event.course {
        Course::Enter(step) => revisit(envelope, &named(step)),
        Course::LoopBack(target) if of.graph => {
            for step in graph::descendants(of, target) {
                revisit(envelope, &named(step));
            }
        }
        Course::LoopBack(target) => {
            let from = of.position(target).unwrap_or(0);
            let to = of.position(&event.visit.step).unwrap_or(0);
            for step in of.steps.iter().skip(from).take(to.saturating_sub(from).saturating_add(1)) {
                revisit(envelope, &named(&step.id));
            }
        }
        Course::Round(first) => {
            let from = of.position(first).unwrap_or(0);
            let to = of.position(&event.visit.step).unwrap_or(0);
            for step in of.steps.iter().skip(from).take(to.saturating_sub(from).saturating_add(1)) {
                revisit(envelope, &named(&step.id));
            }
        }
        Course::Done(_) | Course::Gathered | Course::Complete | Course::Hold | Course::Stop => {}
    }
}

/// Records the end of a round at its last step: the work of the round, and its plan.
fn round_ended(envelope: &mut Envelope, flow: &Flow, event: &Routed, at: Timestamp) {
    let ends_one = flow.goals.as_ref().is_some_and(|plan| plan.to == event.visit.step);
    let on = matches!(event.course, Course::Round(_) | Course::Enter(_) | Course::Complete);
    if !ends_one || !on || !event.visit.scope.is_empty() {
        return;
    }
    let number = Value::from(envelope.current_stage_number);
    let before = |goal: &str| {
        let of = |stage: &Object| {
            let goals = stage.get("goals_reached").and_then(Value::as_array).unwrap_or(&[]);
            goals.iter().any(|reached| reached.as_str() == Some(goal))
        };
        envelope.completed_stages.iter().any(of)
    };
    let done = envelope.goal_completion_status.iter().filter(|(_, status)| *status == "complete");
    let reached: Vec<String> = done.map(|(goal, _)| goal.to_string()).filter(|goal| !before(goal)).collect();
    envelope.completed_stages.push(Object::from([
        ("stage_number", number.clone()),
        ("goals_reached", Value::from(reached)),
        ("completed_at", Value::from(at.to_string())),
    ]));
    if let Course::Round(first) = &event.course {
        let output = |name: &str| {
            envelope
                .outputs
                .get(first.as_str())
                .and_then(|output| output.get(name))
                .cloned()
                .unwrap_or_default()
        };
        envelope.prior_plans.push(Object::from([
            ("stage_number", number),
            ("step", Value::from(first.as_str())),
            ("summary", output("summary")),
            ("data", output("data")),
        ]));
        envelope.advance_stage();
    }
}

/// Records that a step is executed again: from the start, unless it resumes its last visit.
fn again(envelope: &mut Envelope, control: &Control, visit: &VisitId) {
    let name = stage(control, visit);
    let state = control.flow_state(visit.flow_scope()).steps.get(&visit.step);
    if state.is_none_or(|state| state.kept.is_none()) {
        return revisit(envelope, &name);
    }
    let within = format!("{name}/");
    let failed: Vec<String> = envelope.failed_stages.keys().map(ToString::to_string).collect();
    for stage in failed.into_iter().filter(|stage| *stage == name || stage.starts_with(&within)) {
        envelope.failed_stages.remove(stage.as_str());
    }
}

/// Marks a step, and the steps that it runs, as neither done nor failed, because it will be executed again.
fn revisit(envelope: &mut Envelope, stage: &str) {
    envelope.completed_stage_set.remove(stage);
    envelope.failed_stages.remove(stage);
    let within = format!("{stage}/");
    let done = envelope.completed_stage_set.keys().chain(envelope.failed_stages.keys());
    let inner: Vec<String> = done.filter(|name| name.starts_with(&within)).map(ToString::to_string).collect();
    for name in inner {
        envelope.completed_stage_set.remove(name.as_str());
        envelope.failed_stages.remove(name.as_str());
    }
}

/// The last settled visit of the step of `visit`.
fn last<'c>(control: &'c Control, visit: &VisitId) -> Option<&'c StepResult> {
    control.flow_state(visit.flow_scope()).steps.get(&visit.step)?.last.as_deref()
}

fn handoff_written(
    envelope: &mut Envelope,
    outputs_bytes: &mut usize,
    flow: &Flow,
    control: &Control,
    event: &HandoffWritten,
) {
    let visit = &event.visit;
    let handoff = &event.handoff;
    let stage = stage(control, visit);
    let last = last(control, visit);
    let mut output = Object::default();
    output.insert("summary".to_owned(), Value::from(handoff.summary.as_str()));
    output.insert("data".to_owned(), last.map(|last| last.data.clone()).unwrap_or_default());
    output.insert("artifacts".to_owned(), last.map(|last| last.artifacts.clone()).unwrap_or_default());
    let report = |stage: &str| report_of(control, stage);
    envelope_size::put_output(envelope, outputs_bytes, &stage, Value::Object(output), report);
    if handoff.routing_signal.decision == Decision::Loop {
        // A critic without a text still has a decision.
        let feedback =
            if handoff.summary.is_empty() { &handoff.routing_signal.reason } else { &handoff.summary };
        envelope.loop_feedback.push(feedback.clone());
    }
    if handoff.status == Status::Failed {
        let error = handoff.error.clone().unwrap_or_default();
        envelope.failed_stages.insert(stage, shortened(error, envelope_size::MAX_ERROR_BYTES));
    } else if !is_to_be_revisited(flow, control, visit) {
        envelope.completed_stage_set.insert(stage, true);
    }
}

/// The report of the step with this name in contract 3, if the run still has it.
fn report_of(control: &Control, name: &str) -> Option<Blob> {
    control.flow_states().find_map(|(scope, flow_state)| {
        flow_state.steps.iter().find_map(|(step, state)| {
            let visit = VisitId { scope: scope.to_owned(), step: step.clone(), visit: 1 };
            let blob = state.last.as_deref()?.report_blob.as_ref()?;
            (stage(control, &visit) == name).then(|| blob.clone())
        })
    })
}

/// Whether a loop has gone back to this step, or to one before it, in the same commit.
fn is_to_be_revisited(flow: &Flow, control: &Control, visit: &VisitId) -> bool {
    let of = control.flow(flow, visit.flow_scope());
    let flow_state = control.flow_state(visit.flow_scope());
    if of.graph {
        return flow_state.steps.get(&visit.step).is_none_or(|state| state.standing.is_none() && !state.held);
    }
    let position = of.position(&visit.step);
    let here = control.open.keys().filter(|open| open.scope == visit.flow_scope());
    here.into_iter().any(|open| of.position(&open.step) <= position)
}

/// Attempts that were live in the original run have no known end.
fn forked(envelope: &mut Envelope, event: &RunForked, at: Timestamp) {
    let running = |record: &&mut ProcessingRecord| record.status == RecordStatus::Running;
    for record in envelope.processing_history.iter_mut().filter(running) {
        record.completed_at = Some(at.to_string());
        record.status = RecordStatus::Error;
        record.error = Some(format!("still under way in {} where this run was forked from it", event.from));
    }
    envelope.metadata.insert("forked_from".to_owned(), Value::from(event.from.as_str()));
    envelope.metadata.insert("forked_at_step".to_owned(), Value::from(event.step.as_str()));
}

fn ended(envelope: &mut Envelope, event: &RunEnded, at: Timestamp) {
    envelope.terminated = true;
    envelope.terminal_reason = Some(event.terminal_reason);
    envelope.termination_reason = Some(shortened(event.reason.clone(), MAX_MESSAGE_BYTES));
    envelope.completed_at = Some(at.to_string());
}

/// The visit that `current_stage` names: the first running one, otherwise the first waiting one.
fn current(control: &Control) -> Option<&VisitId> {
    control.live().map(|(visit, _)| visit).next().or_else(|| control.open.keys().next())
}

/// Computes the members that mirror the state. `current_stage` keeps its last value when no visit is open.
pub(crate) fn mirror(envelope: &mut Envelope, flow: &Flow, control: &Control) {
    envelope.iteration = counted(control.ledger.iterations);
    envelope.llm_call_count = counted(control.ledger.llm_calls);
    envelope.agent_hop_count = counted(control.ledger.agent_hops);
    envelope.active_stages = control.open.keys().map(|visit| (stage(control, visit), true)).collect();
    if let Some(visit) = current(control) {
        envelope.current_stage = stage(control, visit);
    }
    let graph =
        control.flow_states().any(|(scope, flow_state)| !flow_state.over && control.flow(flow, scope).graph);
    envelope.parallel_mode = graph || control.open.values().any(|open| open.for_each.is_some());
    let oldest = control.interrupts.values().next();
    envelope.interrupt_pending = oldest.is_some();
    envelope.interrupt = oldest.map(|raised| interrupt(control, raised));
}

fn interrupt(control: &Control, raised: &InterruptRaised) -> FlowInterrupt {
    let started = control.phase.started();
    let run = started.map(|started| started.run.to_string());
    let mut data = Object::default();
    data.insert("step".to_owned(), Value::from(stage(control, &raised.visit)));
    data.insert("evidence".to_owned(), raised.evidence.clone());
    let mut shown = FlowInterrupt::new(raised.interrupt.to_string(), raised.kind(), raised.raised_at);
    shown.request_id.clone_from(&run);
    shown.user_id = started.map(|started| started.user_id().to_owned());
    shown.session_id = started.map(|started| started.session_id().to_owned());
    shown.question = Some(raised.question.clone());
    shown.expires_at = raised.expires_at.map(|at| at.to_string());
    shown.data = Some(data);
    shown.status = Some(InterruptStatus::Pending);
    shown
}
