//! Calls the operation that a case names.

use alloc::vec::Vec;

use super::{Got, state};
use crate::envelope::InterruptKind;
use crate::error::Diagnostic;
use crate::json::{Object, Value};
use crate::skill_report::{Observed, SkillError, judge};
use crate::user_envelope::{AttachmentRef, answer_text, parse};
use crate::{handoff, routing};

/// The operations that a case can call.
pub(crate) const OPERATIONS: [&str; 9] = [
    "route.resolve",
    "route.convert",
    "handoff.write",
    "handoff.read",
    "skill.judge",
    "user_envelope.parse",
    "user_envelope.answer_text",
    "envelope.apply",
    "envelope.roundtrip",
];

/// Runs a case; `None` if it is not understood.
pub(super) fn run(case: &Value) -> Option<Got> {
    match case.get("op")?.as_str()? {
        "route.resolve" => Some(Got::of(resolve(&argument(case)?))),
        "route.convert" => convert(case.get("input")?),
        "handoff.write" => Some(Got::of(write(&argument(case)?))),
        "handoff.read" => {
            let read = handoff::Handoff::decode(&argument(case)?);
            Some(Got::of(read.map(|handoff| handoff.to_value())))
        }
        "envelope.apply" => state::apply(case.get("input")?),
        "envelope.roundtrip" => Some(state::roundtrip(&argument(case)?, case.get("expect"))),
        "user_envelope.parse" => user_envelope_parse(case.get("input")?),
        "user_envelope.answer_text" => {
            let text = answer_text(case.get("input")?, InterruptKind::Confirmation).ok()?;
            Some(Got::Value(Value::from(text)))
        }
        "skill.judge" => skill_judge(case.get("input")?).map(Got::Value),
        _ => None,
    }
}

/// The bytes for a decoder.
fn argument(case: &Value) -> Option<Vec<u8>> {
    match case.get("input_text") {
        Some(text) => text.as_str().map(|text| text.as_bytes().to_vec()),
        None => case.get("input").map(|input| input.compact().into_bytes()),
    }
}

fn resolve(bytes: &[u8]) -> Result<Value, Diagnostic> {
    let input = routing::decode_input(bytes)?;
    routing::resolve(&input).map(|resolution| resolution.signal.resolver())
}

fn convert(input: &Value) -> Option<Got> {
    let current_flow = input.get("current_flow").and_then(Value::as_str);
    let orchestrator = match input.get("to")?.as_str()? {
        "orchestrator" => true,
        "resolver" => false,
        _ => return None,
    };
    let converted = routing::Signal::decode(input.get("signal")?)
        .map(|signal| if orchestrator { signal.orchestrator(current_flow) } else { signal.resolver() });
    Some(Got::of(converted))
}

fn write(bytes: &[u8]) -> Result<Value, Diagnostic> {
    handoff::write(handoff::decode_draft(bytes)?).map(|handoff| handoff.to_value())
}

fn skill_judge(input: &Value) -> Option<Value> {
    let flag = |name| input.get(name).and_then(Value::as_bool).unwrap_or(false);
    let verdict = judge(&Observed {
        exit: code(input.get("exit"))?,
        signal: code(input.get("signal"))?,
        timed_out: flag("timed_out"),
        cancelled: flag("cancelled"),
        stderr: input.get("stderr").and_then(Value::as_str).unwrap_or(""),
        report_text: input.get("report_text").and_then(Value::as_str).map(str::as_bytes),
        report_unreadable: None,
        assigned: flag("assigned"),
        declared: flag("declared"),
        skill: input.get("skill").and_then(Value::as_str),
        ..Observed::default()
    });
    let error = verdict.error.as_ref().map_or(Value::Null, SkillError::to_value);
    Some(Value::Object(Object::from([("ok", Value::from(verdict.ok)), ("error", error)])))
}

fn user_envelope_parse(input: &Value) -> Option<Got> {
    let raw = input.get("raw")?.as_str()?;
    let enabled = input.get("enabled")?.as_bool()?;
    let top_level = input.get("top_level").and_then(Value::as_array).unwrap_or(&[]);
    let top_level: Result<Vec<AttachmentRef>, Diagnostic> =
        top_level.iter().map(AttachmentRef::decode).collect();
    Some(match top_level.map(|top_level| parse(raw, enabled, &top_level)) {
        Err(refusal) => Got::of(Err(refusal)),
        Ok(Err(refusal)) => Got::Refused { code: refusal.code(), reason: refusal.reason },
        Ok(Ok(answer)) => Got::Value(answer.to_value()),
    })
}

/// An exit code or signal. An absent or null value means none. Returns `None` for any other value.
fn code(value: Option<&Value>) -> Option<Option<i32>> {
    match value {
        None | Some(Value::Null) => Some(None),
        Some(Value::Number(number)) => number.as_str().parse().ok().map(Some),
        Some(_) => None,
    }
}
