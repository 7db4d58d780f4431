//! Contract 3: the state of a pipeline in its two forms, with its parts.

use super::member::{Body, Member, Message, Others, may, must};
use super::shape::{
    count_or, flag_map, flag_or_false, list, maybe_flag, maybe_object, maybe_part, maybe_text, maybe_time,
    maybe_words, object, objects, part, text, text_map, texts, with, words,
};
use crate::envelope::{DICT_MEMBERS, InterruptKind, InterruptStatus, RecordStatus, TerminalReason};
use crate::json::Object;

/// The complete state.
pub(super) const STATE: Message = Message {
    title: "Pipeline envelope",
    description: "The complete state of a pipeline: ours have all 37 members, nulls and all. Any of them may be missing when it is \
           read; the defaults fill it.",
    body: Body::Object(STATE_MEMBERS, Others::Kept),
    rules: &[],
};

/// The form that related systems exchange.
pub(super) const DICT: Message = Message {
    title: "Pipeline envelope, exchanged form",
    description: "The 22 members that related systems exchange while a pipeline runs. The other members of the complete state are read too, \
           with the types that they have there.",
    body: Body::Chosen(STATE_MEMBERS, &DICT_MEMBERS),
    rules: &[],
};

const STATE_MEMBERS: &[Member] = &[
    may("envelope_id", text_or_empty, "The envelope itself."),
    may("request_id", text_or_empty, "The request that caused it."),
    may("user_id", text_or_empty, "The user who made the request."),
    may("session_id", text_or_empty, "The session of the request."),
    may("raw_input", text_or_empty, "The text of the request."),
    may("received_at", maybe_time, "When the request came."),
    may("outputs", object, "What each step gave, free-form; of ours `{summary, data, artifacts}` by step."),
    may("current_stage", || with(text(), "default", "start"), "The step that is current."),
    may("stage_order", texts, "The steps in order."),
    may("iteration", || count_or(0), "How often a loop has gone back."),
    may("max_iterations", || count_or(3), "How often loops may go back."),
    may("llm_call_count", || count_or(0), "Model calls made."),
    may("max_llm_calls", || count_or(10), "Model calls allowed."),
    may("agent_hop_count", || count_or(0), "Attempts started."),
    may("max_agent_hops", || count_or(21), "Attempts allowed."),
    may("terminal_reason", reason, "Why it ended, for programs; read in upper case too."),
    may("terminated", flag_or_false, "Whether it ended."),
    may("termination_reason", maybe_text, "Why it ended, for people."),
    may("interrupt_pending", flag_or_false, "Whether it waits for a person."),
    may("interrupt", || maybe_part("interrupt"), "What it waits for; the oldest, if there are several."),
    may("active_stages", flag_map, "Steps that are running."),
    may("completed_stage_set", flag_map, "Steps that are done."),
    may("failed_stages", text_map, "Steps that failed, and why."),
    may("parallel_mode", flag_or_false, "Whether steps run beside one another."),
    may("completed_stages", objects, "What each finished round did, free-form."),
    may("current_stage_number", || count_or(1), "The round of the goals."),
    may("max_stages", || count_or(5), "Rounds allowed."),
    may("all_goals", texts, "The goals, duplicates and all."),
    may("remaining_goals", texts, "The goals that are not done."),
    may(
        "goal_completion_status",
        text_map,
        "Each goal's status: `pending`, `complete`, or a relative's `satisfied`.",
    ),
    may("prior_plans", objects, "Plans that were tried, free-form."),
    may("loop_feedback", texts, "The feedback of critics."),
    may("processing_history", || list(part("record")), "One record an attempt."),
    may("errors", objects, "What went wrong, free-form."),
    may("created_at", maybe_time, "When it was made."),
    may("completed_at", maybe_time, "When it ended."),
    may("metadata", object, "Free-form."),
];

fn text_or_empty() -> Object {
    with(text(), "default", "")
}

fn reason() -> Object {
    maybe_words(TerminalReason::ALL.iter().map(|reason| reason.word()))
}

/// A question for which the pipeline waits.
pub(super) fn interrupt() -> Object {
    INTERRUPT.to_object()
}

const INTERRUPT: Message = Message {
    title: "Interrupt",
    description: "One question to a person or a system. Ours have all 16 members; of another system's only the kind must be there.",
    body: Body::Object(
        &[
            may("id", maybe_text, "The interrupt itself."),
            must("kind", || words(InterruptKind::ALL.iter().map(|kind| kind.word())), "What it asks for."),
            may("request_id", maybe_text, "The request it belongs to."),
            may("user_id", maybe_text, "The user who should answer."),
            may("session_id", maybe_text, "The session it belongs to."),
            may("envelope_id", maybe_text, "The envelope it belongs to."),
            may("question", maybe_text, "A question."),
            may("message", maybe_text, "A message."),
            may("data", maybe_object, "What else there is to know, free-form."),
            may("response", || maybe_part("response"), "The answer."),
            may("status", interrupt_status, "What became of it."),
            may("created_at", maybe_time, "When it was raised."),
            may("expires_at", maybe_time, "When it expires; null for never."),
            may("resolved_at", maybe_time, "When it was answered."),
            may("trace_id", maybe_text, "Its trace."),
            may("span_id", maybe_text, "Its span."),
        ],
        Others::Kept,
    ),
    rules: &[],
};

fn interrupt_status() -> Object {
    maybe_words(InterruptStatus::ALL.iter().map(|status| status.word()))
}

/// An answer to an interrupt.
pub(super) fn response() -> Object {
    RESPONSE.to_object()
}

const RESPONSE: Message = Message {
    title: "Response",
    description: "The answer to an interrupt; written with the members that are not null.",
    body: Body::Object(
        &[
            may("text", maybe_text, "Words."),
            may("approved", maybe_flag, "Yes or no."),
            may("decision", maybe_text, "A decision by name."),
            may("data", maybe_object, "What else was answered, free-form."),
            may("received_at", maybe_time, "When it came; stored once."),
        ],
        Others::Kept,
    ),
    rules: &[],
};

/// An entry of the history.
pub(super) fn record() -> Object {
    RECORD.to_object()
}

const RECORD: Message = Message {
    title: "Processing record",
    description: "One attempt of a step; ours have all 8 members.",
    body: Body::Object(
        &[
            may("agent", text_or_empty, "The step."),
            may("stage_order", || count_or(0), "Its place in the order."),
            may("started_at", maybe_time, "When it began."),
            may("completed_at", maybe_time, "When it ended."),
            may("duration_ms", || count_or(0), "How long it took, in milliseconds."),
            may("status", record_status, "How it went."),
            may("error", maybe_text, "Why it failed."),
            may("llm_calls", || count_or(0), "Model calls it made."),
        ],
        Others::Kept,
    ),
    rules: &[],
};

fn record_status() -> Object {
    let words = words(RecordStatus::ALL.iter().map(|status| status.word()));
    with(words, "default", RecordStatus::Running.word())
}
