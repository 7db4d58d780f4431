//! Contract 2: the hand-off, and the input of its writer.

use super::member::{Body, Member, Message, Others, may, must};
use super::shape::{
    any_of, count, count_or, free, has, list, map, maybe_flag, maybe_object, maybe_part, maybe_text, member,
    object, of_type, only, part, telling_text, text, when, with, words,
};
use crate::handoff::{MAX_SUMMARY_SCALARS, Status};
use crate::json::{Object, Value};

/// The hand-off from one step to the next.
pub(super) const HANDOFF: Message = Message {
    title: "Hand-off",
    description: "What happened in a step, where its files are, and where to go. Ours have the first nine members, `timestamp` where \
           a time is known, the others only when they have content, and no member outside this list.",
    body: Body::Object(HANDOFF_MEMBERS, Others::Kept),
    rules: &[success_has_no_error],
};

const HANDOFF_MEMBERS: &[Member] = &[
    must("step_id", telling_text, "The step."),
    must("flow_key", telling_text, "The flow of the step."),
    must("run_id", telling_text, "The run."),
    must("routing_signal", || part("signal"), "Where to go."),
    must(
        "summary",
        || with(text(), "maxLength", u64::try_from(MAX_SUMMARY_SCALARS).unwrap_or(u64::MAX)),
        "What the next step should know; at most 2000 Unicode scalar values.",
    ),
    may("artifacts", || map(path()), "Names of files, and their paths relative to the run's directory."),
    may(
        "status",
        status,
        "How the execution ended; a critic's verdict is no status. Ours always have it; without it an `error` means failed.",
    ),
    may("error", maybe_text, "Why it failed; none beside `succeeded`."),
    may("duration_ms", || count_or(0), "How long it took, in milliseconds."),
    may("timestamp", || maybe_part("time"), "When it was written. Ours are UTC with milliseconds and `Z`."),
    may(
        "file_changes",
        maybe_object,
        "What changed in the workspace. Ours: `files`, a list of path, digest, size and change, and `total`; of more than 1,000 \
         files `manifest` (the digest of the list), `total` and `bytes`.",
    ),
    may("prompt_hash", maybe_text, "Digest of the prompt."),
    may("verification_passed", maybe_flag, "Whether a verification passed."),
    may(
        "verification_details",
        maybe_object,
        "What a verification found; also where an overruled identity is recorded.",
    ),
    may("routing_audit", maybe_object, "Why the routing signal is what it is."),
    may("assumptions_made", records, "What the step took for granted."),
    may("decisions_made", records, "What the step decided."),
];

fn status() -> Object {
    words(Status::ALL.map(Status::word))
}

/// A list of objects, or null.
fn records() -> Object {
    any_of([list(object()), of_type("null")])
}

fn success_has_no_error() -> Object {
    let succeeded = has("status", only("const", Status::Succeeded.word()));
    when(succeeded, member("error", only("maxLength", 0_u64)))
}

/// A path that stays inside the directory that it is relative to.
fn path() -> Object {
    with(
        text(),
        "pattern",
        "^(?![A-Za-z]:/)(?!\\.\\.(?:/|$))[^/\\\\\\u0000]+(?:/(?!\\.\\.(?:/|$))[^/\\\\\\u0000]+)*$",
    )
}

/// The name of a file in the flow's folder.
fn name() -> Object {
    with(text(), "pattern", "^(?!\\.\\.(?:/|$))[^/\\\\\\u0000]+(?:/(?!\\.\\.(?:/|$))[^/\\\\\\u0000]+)*$")
}

/// The writer's input.
pub(super) const INPUT: Message = Message {
    title: "Input of the hand-off writer",
    description: "What `envoi handoff` reads: the members of a hand-off, of which only the identity and the status must be there, and \
           the step's text. Labelled text is read too. The flow of listed artifacts must be a folder's name.",
    body: Body::Object(INPUT_MEMBERS, Others::Kept),
    rules: &[success_has_no_error, one_word_for_the_signal, one_word_for_the_duration],
};

const INPUT_MEMBERS: &[Member] = &[
    must("step_id", telling_text, "The step."),
    must("flow_key", telling_text, "The flow of the step."),
    must(
        "run_id",
        telling_text,
        "The run; `run-YYYYMMDD-HHMMSS-…` gives the hand-off its time where nothing else does.",
    ),
    may(
        "routing_signal",
        || maybe_part("signal"),
        "Where to go; null or absent: `advance`, no routing signal given.",
    ),
    may("routing", || maybe_part("signal"), "The word of the label for `routing_signal`; not both."),
    may(
        "summary",
        maybe_text,
        "The summary, if the step has one; one of more than 2000 scalars is shortened.",
    ),
    may("output", maybe_text, "The step's text, from which a summary is made otherwise."),
    may(
        "artifacts",
        artifacts,
        "The step's files: a map of names to paths relative to the run's directory, or a list of names in the flow's folder.",
    ),
    must("status", status, "How the execution ended; a critic's verdict is no status."),
    may("error", maybe_text, "Why it failed; none beside `succeeded`."),
    may("duration_ms", || count_or(0), "How long it took, in milliseconds."),
    may(
        "duration",
        labelled_duration,
        "The word of the label for `duration_ms`, also as `45000 ms`; not both.",
    ),
    may(
        "timestamp",
        || maybe_part("moment"),
        "When the hand-off is made; absent, it follows from `started_at` or from the run's id.",
    ),
    may("started_at", || maybe_part("moment"), "When the step began."),
    may("file_changes", maybe_object, "What changed in the workspace."),
    may("prompt_hash", maybe_text, "Digest of the prompt."),
    may("verification_passed", maybe_flag, "Whether a verification passed."),
    may("verification_details", maybe_object, "What a verification found."),
    may("routing_audit", maybe_object, "Why the routing signal is what it is."),
    may("assumptions_made", records, "What the step took for granted."),
    may("decisions_made", records, "What the step decided."),
];

fn labelled_duration() -> Object {
    any_of([count(), with(text(), "pattern", "^(?:0|[1-9][0-9]{0,14})(?: ms)?$")])
}

fn one_word_for_the_signal() -> Object {
    when(has("routing", free()), only("not", Value::Object(has("routing_signal", free()))))
}

fn one_word_for_the_duration() -> Object {
    when(has("duration", free()), only("not", Value::Object(has("duration_ms", free()))))
}

fn artifacts() -> Object {
    let named = with(map(path()), "propertyNames", only("minLength", 1_u64));

    any_of([named, list(name()), of_type("null")])
}
