//! Generates whole values of every contract.

use envoi_contract::envelope::{
    Envelope, FlowInterrupt, InterruptKind, InterruptResponse, InterruptStatus, ProcessingRecord,
    RecordStatus, TerminalReason,
};
use envoi_contract::handoff::{Handoff, Status};
use envoi_contract::json::{Members, Number, Object, Value};
use envoi_contract::routing::{Decision, Route, Signal};
use envoi_contract::skill_report::SkillReport;
use envoi_contract::time::Timestamp;
use envoi_contract::user_envelope::{AttachmentRef, OriginKind, UserEnvelope};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::values::{content, count, name, object, text, unknown, value};

fn texts() -> BoxedStrategy<Vec<String>> {
    vec(text(), 0..3).boxed()
}

fn objects() -> BoxedStrategy<Vec<Object>> {
    vec(object(), 0..3).boxed()
}

fn map_of<V: std::fmt::Debug + Clone + 'static>(
    of: impl Strategy<Value = V> + 'static,
) -> BoxedStrategy<Members<V>> {
    vec((text(), of), 0..4).prop_map(|members| members.into_iter().collect()).boxed()
}

/// Times as systems write them: any offset, any precision, no offset.
fn time() -> BoxedStrategy<String> {
    let moment = (-60_000_000_000_000..250_000_000_000_000_i64).prop_map(Timestamp::from_millis);
    let tail = select(vec!["", "Z", "z", "+05:30", "-00:00", ".5Z", ".123456789", ".123456+00:00"]);
    (moment, tail)
        .prop_map(|(moment, tail)| {
            let shown = moment.to_string();
            format!("{}{tail}", shown.strip_suffix(&shown[19..]).unwrap_or(&shown))
        })
        .boxed()
}

fn confidence() -> BoxedStrategy<Number> {
    select(vec!["0", "1", "0.9", "0.70", "1.000", "1e-3", "0.1234567890123456789", "-0.0"])
        .prop_filter_map("a number", Number::parse)
        .boxed()
}

/// Any signal with the same meaning in both forms.
pub(crate) fn signal() -> BoxedStrategy<Signal> {
    const KNOWN: &[&str] = &["decision", "next_step_id", "route", "reason", "confidence", "needs_human"];
    let part = || "[a-zé _-]{1,6}";
    let route = (option::of(part()), part()).prop_map(|(flow, step_id)| Route {
        flow,
        step_id,
        unknown: Object::new(),
    });
    let target = (option::of(text()), option::of(route), any::<bool>());
    let manner = (text(), confidence(), any::<bool>(), unknown(KNOWN));
    (select(Decision::ALL.as_slice()), target, manner)
        .prop_filter_map(
            "a branch has a target",
            |(decision, (next_step_id, route, raw), (reason, confidence, needs_human, unknown))| {
                let branch = decision == Decision::Branch;
                let targeted = !branch || (next_step_id.is_some() && route.is_some());
                let raw_decision = raw.then(|| "AGAIN".to_owned());
                targeted.then_some(Signal {
                    decision,
                    raw_decision,
                    next_step_id,
                    route,
                    reason,
                    confidence,
                    needs_human,
                    unknown,
                })
            },
        )
        .boxed()
}

/// Any report.
pub(crate) fn report() -> BoxedStrategy<SkillReport> {
    const KNOWN: &[&str] = &["ok", "generatedAt", "skillName", "data", "metrics", "error"];
    let free = (option::of(value()), option::of(object()), option::of(value()), unknown(KNOWN));
    (any::<bool>(), text(), text(), free)
        .prop_map(|(ok, generated_at, skill_name, (data, metrics, error, unknown))| SkillReport {
            ok,
            generated_at,
            skill_name,
            data,
            metrics,
            error,
            unknown,
        })
        .boxed()
}

fn path() -> BoxedStrategy<String> {
    vec("[a-z.é ]{0,3}[a-z]", 1..4).prop_map(|segments| segments.join("/")).boxed()
}

/// Any valid hand-off.
pub(crate) fn handoff() -> BoxedStrategy<Handoff> {
    const KNOWN: &[&str] = &[
        "step_id",
        "flow_key",
        "run_id",
        "routing_signal",
        "summary",
        "artifacts",
        "status",
        "error",
        "duration_ms",
        "timestamp",
        "file_changes",
        "prompt_hash",
        "verification_passed",
        "verification_details",
        "routing_audit",
        "assumptions_made",
        "decisions_made",
    ];
    // Both have content.
    let record = || content().prop_map(|value| Value::Object(Object::from([("x", value)])));
    let maybe = || prop_oneof![Just(Value::Null), record()];
    let records = || prop_oneof![Just(Value::Null), vec(record(), 1..3).prop_map(Value::Array)];
    let identity = (name(), name(), name());
    let story = (signal(), text(), map_of(path()), count(), option::of(time()));
    let ending = prop_oneof![
        Just((Status::Succeeded, None)),
        option::of(name()).prop_map(|error| (Status::Failed, error)),
        option::of(name()).prop_map(|error| (Status::Skipped, error)),
    ];
    let verified = (option::of(name()), option::of(any::<bool>()), maybe());
    let extras = (maybe(), verified, maybe(), records(), records(), unknown(KNOWN));
    (identity, story, ending, extras)
        .prop_map(|(identity, story, (status, error), extras)| {
            let (step_id, flow_key, run_id) = identity;
            let (routing_signal, summary, artifacts, duration_ms, timestamp) = story;
            let (file_changes, verified, routing_audit, assumptions_made, decisions_made, unknown) = extras;
            let (prompt_hash, verification_passed, verification_details) = verified;
            Handoff {
                step_id,
                flow_key,
                run_id,
                routing_signal,
                summary,
                artifacts,
                status,
                error,
                duration_ms,
                timestamp,
                file_changes,
                prompt_hash,
                verification_passed,
                verification_details,
                routing_audit,
                assumptions_made,
                decisions_made,
                unknown,
            }
        })
        .boxed()
}

/// Any answer to an interrupt.
pub(crate) fn response() -> BoxedStrategy<InterruptResponse> {
    const KNOWN: &[&str] = &["text", "approved", "decision", "data", "received_at"];
    let words = (option::of(text()), option::of(any::<bool>()), option::of(text()));
    (words, option::of(object()), option::of(time()), unknown(KNOWN))
        .prop_map(|((text, approved, decision), data, received_at, unknown)| InterruptResponse {
            text,
            approved,
            decision,
            data,
            received_at,
            unknown,
        })
        .boxed()
}

/// Any interrupt, with or without owner and status.
pub(crate) fn interrupt() -> BoxedStrategy<FlowInterrupt> {
    const KNOWN: &[&str] = &[
        "id",
        "kind",
        "request_id",
        "user_id",
        "session_id",
        "envelope_id",
        "question",
        "message",
        "data",
        "response",
        "status",
        "created_at",
        "expires_at",
        "resolved_at",
        "trace_id",
        "span_id",
    ];
    let ids = prop::array::uniform5(option::of(text()));
    let words = prop::array::uniform4(option::of(text()));
    let times = prop::array::uniform3(option::of(time()));
    let state = (option::of(object()), option::of(response()), option::of(select(InterruptStatus::ALL)));
    (ids, select(InterruptKind::ALL), words, state, times, unknown(KNOWN))
        .prop_map(|(ids, kind, words, (data, response, status), times, unknown)| {
            let [id, request_id, user_id, session_id, envelope_id] = ids;
            let [question, message, trace_id, span_id] = words;
            let [created_at, expires_at, resolved_at] = times;
            FlowInterrupt {
                id,
                kind,
                request_id,
                user_id,
                session_id,
                envelope_id,
                question,
                message,
                data,
                response,
                status,
                created_at,
                expires_at,
                resolved_at,
                trace_id,
                span_id,
                unknown,
            }
        })
        .boxed()
}

/// Any record.
pub(crate) fn record() -> BoxedStrategy<ProcessingRecord> {
    const KNOWN: &[&str] = &[
        "agent",
        "stage_order",
        "started_at",
        "completed_at",
        "duration_ms",
        "status",
        "error",
        "llm_calls",
    ];
    let times = (option::of(time()), option::of(time()));
    let counts = (count(), count(), count());
    (text(), counts, times, select(RecordStatus::ALL), option::of(text()), unknown(KNOWN))
        .prop_map(
            |(
                agent,
                (stage_order, duration_ms, llm_calls),
                (started_at, completed_at),
                status,
                error,
                unknown,
            )| {
                ProcessingRecord {
                    agent,
                    stage_order,
                    started_at,
                    completed_at,
                    duration_ms,
                    status,
                    error,
                    llm_calls,
                    unknown,
                }
            },
        )
        .boxed()
}

const MEMBERS: &[&str] = &[
    "envelope_id",
    "request_id",
    "user_id",
    "session_id",
    "raw_input",
    "received_at",
    "outputs",
    "current_stage",
    "stage_order",
    "iteration",
    "max_iterations",
    "llm_call_count",
    "max_llm_calls",
    "agent_hop_count",
    "max_agent_hops",
    "terminal_reason",
    "terminated",
    "termination_reason",
    "interrupt_pending",
    "interrupt",
    "active_stages",
    "completed_stage_set",
    "failed_stages",
    "parallel_mode",
    "completed_stages",
    "current_stage_number",
    "max_stages",
    "all_goals",
    "remaining_goals",
    "goal_completion_status",
    "prior_plans",
    "loop_feedback",
    "processing_history",
    "errors",
    "created_at",
    "completed_at",
    "metadata",
];

/// Any envelope.
pub(crate) fn envelope() -> BoxedStrategy<Envelope> {
    let words = (prop::array::uniform6(text()), option::of(text()));
    let counts = prop::array::uniform8(count());
    let flags = prop::array::uniform3(any::<bool>());
    let lists = (prop::array::uniform4(texts()), prop::array::uniform3(objects()), vec(record(), 0..3));
    let maps = (map_of(any::<bool>()), map_of(any::<bool>()), map_of(text()), map_of(text()));
    let ending = (option::of(select(TerminalReason::ALL)), option::of(interrupt()));
    let times = prop::array::uniform3(option::of(time()));
    let free = (object(), object(), unknown(MEMBERS));
    (words, counts, flags, lists, maps, ending, times, free)
        .prop_map(|(words, counts, flags, lists, maps, ending, times, free)| {
            let (
                [envelope_id, request_id, user_id, session_id, raw_input, current_stage],
                termination_reason,
            ) = words;
            let [
                iteration,
                max_iterations,
                llm_call_count,
                max_llm_calls,
                agent_hop_count,
                max_agent_hops,
                current_stage_number,
                max_stages,
            ] = counts;
            let [terminated, interrupt_pending, parallel_mode] = flags;
            let ([stage_order, all_goals, remaining_goals, loop_feedback], objects, processing_history) =
                lists;
            let [completed_stages, prior_plans, errors] = objects;
            let (active_stages, completed_stage_set, failed_stages, goal_completion_status) = maps;
            let (terminal_reason, interrupt) = ending;
            let [received_at, created_at, completed_at] = times;
            let (outputs, metadata, unknown) = free;
            Envelope {
                envelope_id,
                request_id,
                user_id,
                session_id,
                raw_input,
                received_at,
                outputs,
                current_stage,
                stage_order,
                iteration,
                max_iterations,
                llm_call_count,
                max_llm_calls,
                agent_hop_count,
                max_agent_hops,
                terminal_reason,
                terminated,
                termination_reason,
                interrupt_pending,
                interrupt,
                active_stages,
                completed_stage_set,
                failed_stages,
                parallel_mode,
                completed_stages,
                current_stage_number,
                max_stages,
                all_goals,
                remaining_goals,
                goal_completion_status,
                prior_plans,
                loop_feedback,
                processing_history,
                errors,
                created_at,
                completed_at,
                metadata,
                unknown,
            }
        })
        .boxed()
}

fn attachment() -> BoxedStrategy<AttachmentRef> {
    let ids = prop::array::uniform4(name());
    (ids, select(OriginKind::ALL), prop::array::uniform2(option::of(text())), option::of(count()))
        .prop_map(|(ids, origin_kind, [title, filename], size)| {
            let [artifact_id, representation_revision_id, digest, mime] = ids;
            AttachmentRef {
                artifact_id,
                representation_revision_id,
                digest,
                mime,
                origin_kind,
                title,
                filename,
                size,
            }
        })
        .boxed()
}

/// Any answer of a person.
pub(crate) fn answer() -> BoxedStrategy<UserEnvelope> {
    (text(), vec(attachment(), 0..=20))
        .prop_map(|(text, attachments)| UserEnvelope { text, attachments })
        .boxed()
}
