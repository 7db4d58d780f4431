//! The differences between a schema and its codec, each with the reason.
//!
//! Each exception rewrites a document so that both read it alike, and they must agree on the result. In addition, a
//! schema does not see the text: two members of one name, the limit of 16 MiB, and the labelled form of the filters'
//! inputs.

use envoi_contract::envelope::Envelope;
use envoi_contract::json::{Number, Object, Value};
use envoi_contract::routing::Signal;
use envoi_contract::time::Timestamp;

/// A difference.
pub(super) struct Exception {
    pub(super) message: &'static str,
    pub(super) why: &'static str,
    /// A document on which schema and codec differ.
    pub(super) example: &'static str,
    /// True if the codec accepts the document and the schema does not; false for the opposite.
    pub(super) codec_accepts: bool,
    retell: fn(&Value) -> Value,
}

/// All differences.
pub(super) const EXCEPTIONS: &[Exception] = &[
    Exception {
        message: "routing-signal",
        why: "words are read in any case; listing them all would hide the four that are ours",
        example: r#"{"decision": "Advance"}"#,
        codec_accepts: true,
        retell: |signal| with_member(signal, "decision", lower),
    },
    Exception {
        message: "handoff",
        why: "words of the signal are read in any case",
        example: r#"{"step_id":"s","flow_key":"f","run_id":"r","routing_signal":{"decision":"LOOP"},"summary":"","status":"skipped"}"#,
        codec_accepts: true,
        retell: |handoff| {
            with_member(handoff, "routing_signal", |signal| with_member(signal, "decision", lower))
        },
    },
    Exception {
        message: "handoff",
        why: "earlier versions wrote lists and texts where objects and records stand now; they are wrapped when read",
        example: r#"{"step_id":"s","flow_key":"f","run_id":"r","routing_signal":{"decision":"loop"},"summary":"","status":"skipped","file_changes":[{"path":"a"}]}"#,
        codec_accepts: true,
        retell: in_shape,
    },
    Exception {
        message: "handoff-input",
        why: "a step may state anything where objects and records stand; it is wrapped",
        example: r#"{"step_id":"s","flow_key":"f","run_id":"r","status":"skipped","decisions_made":"d"}"#,
        codec_accepts: true,
        retell: in_shape,
    },
    Exception {
        message: "handoff-input",
        why: "words of the signal are read in any case",
        example: r#"{"step_id":"s","flow_key":"f","run_id":"r","routing_signal":{"decision":"LOOP"},"status":"skipped"}"#,
        codec_accepts: true,
        retell: |draft| {
            let lowered = |signal: &Value| with_member(signal, "decision", lower);
            with_member(&with_member(draft, "routing_signal", lowered), "routing", lowered)
        },
    },
    Exception {
        message: "envelope",
        why: "relatives write the reason of an end in upper case",
        example: r#"{"terminal_reason": "COMPLETED"}"#,
        codec_accepts: true,
        retell: |envelope| with_member(envelope, "terminal_reason", lower),
    },
    Exception {
        message: "envelope-dict",
        why: "relatives write the reason of an end in upper case",
        example: r#"{"terminal_reason": "COMPLETED"}"#,
        codec_accepts: true,
        retell: |envelope| with_member(envelope, "terminal_reason", lower),
    },
    Exception {
        message: "routing-signal-resolver",
        why: "this is the form that the resolver writes; a signal is read in either form, and with members missing",
        example: r#"{"decision": "advance"}"#,
        codec_accepts: true,
        retell: |signal| Signal::decode(signal).map_or_else(|_| signal.clone(), |read| read.resolver()),
    },
    Exception {
        message: "envelope-dict",
        why: "the exchanged form may hold members of the complete state; only that schema has their types",
        example: r#"{"max_iterations": "3"}"#,
        codec_accepts: false,
        retell: without_state,
    },
    Exception {
        message: "handoff-input",
        why: "where a listed artifact stands follows from the flow, which a schema cannot put before the name",
        example: r#"{"step_id":"s","flow_key":"..","run_id":"r","status":"skipped","artifacts":["a"]}"#,
        codec_accepts: false,
        retell: |draft| match draft.get("artifacts") {
            Some(Value::Array(_)) => with_member(draft, "flow_key", plain_name),
            _ => draft.clone(),
        },
    },
    Exception {
        message: "handoff-input",
        why: "whether a time is past the calendar follows from adding its offset",
        example: r#"{"step_id":"s","flow_key":"f","run_id":"r","status":"skipped","timestamp":"9999-12-31T23:59:59-00:01"}"#,
        codec_accepts: false,
        retell: |draft| with_member(&with_member(draft, "timestamp", in_calendar), "started_at", in_calendar),
    },
    Exception {
        message: "handoff",
        why: "a validator holds numbers as doubles: this one is 1 there",
        example: r#"{"step_id":"s","flow_key":"f","run_id":"r","routing_signal":{"decision":"loop"},"summary":"","status":"skipped","duration_ms":1.00000000000000000001}"#,
        codec_accepts: false,
        retell: rounded,
    },
    Exception {
        message: "conformance-vectors",
        why: "a case that is not understood is a failure of that case; the file is still run",
        example: r#"[{"op": "no.such"}]"#,
        codec_accepts: true,
        retell: |file| if file.as_array().is_some() { Value::Array(Vec::new()) } else { file.clone() },
    },
];

/// Rewrites the document for all exceptions of the message. The difference in numbers applies to every message.
pub(super) fn rewritten(message: &str, document: &Value) -> Value {
    let ours = EXCEPTIONS.iter().filter(|exception| exception.message == message);
    ours.fold(rounded(document), |document, exception| (exception.retell)(&document))
}

fn with_member(value: &Value, name: &str, retell: impl Fn(&Value) -> Value) -> Value {
    let Value::Object(members) = value else { return value.clone() };
    let mut members = members.clone();
    if let Some(member) = members.get_mut(name) {
        *member = retell(member);
    }
    Value::Object(members)
}

/// Wraps the members that the codec wraps if they have another shape.
fn in_shape(handoff: &Value) -> Value {
    let object = |value: &Value| match value {
        Value::Null | Value::Object(_) => value.clone(),
        other => Value::Object(Object::from([("details", other.clone())])),
    };
    let records = |value: &Value| match value {
        Value::Null => Value::Null,
        Value::Array(elements) => Value::Array(elements.iter().map(object).map(record).collect()),
        other => Value::Array(vec![record(object(other))]),
    };
    let objects = ["file_changes", "verification_details", "routing_audit"];
    let handoff = objects.iter().fold(handoff.clone(), |handoff, name| with_member(&handoff, name, object));
    let lists = ["assumptions_made", "decisions_made"];
    lists.iter().fold(handoff, |handoff, name| with_member(&handoff, name, records))
}

fn record(value: Value) -> Value {
    if value.as_object().is_some() { value } else { Value::Object(Object::new()) }
}

fn lower(word: &Value) -> Value {
    word.as_str().map_or_else(|| word.clone(), |word| Value::from(word.to_ascii_lowercase()))
}

fn plain_name(flow: &Value) -> Value {
    match flow.as_str() {
        Some(name) if !name.trim_ascii().is_empty() => Value::from("f"),
        _ => flow.clone(),
    }
}

fn in_calendar(time: &Value) -> Value {
    match time.as_str().and_then(|text| text.get(..4)) {
        Some("9999" | "0000") if time.as_str().is_some_and(|text| Timestamp::parse(text).is_none()) => {
            Value::from(format!("2024{}", time.as_str().and_then(|text| text.get(4..)).unwrap_or_default()))
        }
        _ => time.clone(),
    }
}

/// Removes the members that only the complete state has.
fn without_state(envelope: &Value) -> Value {
    let Value::Object(members) = envelope else { return envelope.clone() };
    let (state, dict) = (Envelope::default().to_state_dict(), Envelope::default().to_dict());
    let kept = |name: &str| state.get(name).is_none() || dict.get(name).is_some();
    Value::Object(members.clone().into_iter().filter(|(name, _)| kept(name)).collect::<Object>())
}

/// Rounds numbers to doubles.
fn rounded(value: &Value) -> Value {
    match value {
        Value::Number(number) => Value::Number(nearest(number)),
        Value::Array(elements) => Value::Array(elements.iter().map(rounded).collect()),
        Value::Object(members) => {
            Value::Object(members.iter().map(|(name, value)| (name.to_owned(), rounded(value))).collect())
        }
        other => other.clone(),
    }
}

fn nearest(number: &Number) -> Number {
    let double: f64 = number.as_str().parse().unwrap_or(f64::MAX);
    let shown = format!("{:e}", double.clamp(f64::MIN, f64::MAX));
    Number::parse(&shown).filter(|shown| !shown.same_value(number)).unwrap_or_else(|| number.clone())
}
