//! Runs cases of the pipeline envelope: sequences of operations, and round trips through bytes.

use alloc::string::ToString;
use alloc::vec::Vec;

use super::Got;
use crate::decode::Fields;
use crate::envelope::{
    DEFAULT_MIN_PROGRESS_STAGES, ENVELOPE_INVALID, Envelope, FlowInterrupt, InterruptStatus, ProcessingRecord,
};
use crate::error::Diagnostic;
use crate::json::{Object, Value};

/// Applies the operations to a new envelope; `None` if an operation is not understood.
pub(super) fn apply(input: &Value) -> Option<Got> {
    let mut envelope = Envelope::default();
    let mut observations: Vec<Value> = Vec::new();
    for operation in input.get("operations")?.as_array()? {
        match step(&mut envelope, operation)? {
            Ok(observed) => observations.extend(observed),
            Err(refusal) => return Some(Got::of(Err(refusal))),
        }
    }
    Some(Got::Members(Value::Object(Object::from([
        ("observations", Value::from(observations)),
        ("to_dict", envelope.to_dict()),
        ("to_state_dict", envelope.to_state_dict()),
    ]))))
}

/// An operation; `None` if it is not understood.
fn step(envelope: &mut Envelope, operation: &Value) -> Option<Result<Option<Value>, Diagnostic>> {
    match operation.get("op")?.as_str()? {
        "new" => return Some(replace(envelope, Envelope::from_dict(operation.get("args")?))),
        "set" => {
            let changed = with_member(envelope, operation.get("field")?.as_str()?, operation.get("value")?);
            return Some(replace(envelope, changed));
        }
        "set_terminal_reason" => {
            let changed = with_member(envelope, "terminal_reason", operation.get("value")?);
            return Some(replace(envelope, changed));
        }
        "append_record" => {
            let record = ProcessingRecord::from_value(operation.get("record")?);
            return Some(record.map(|record| {
                envelope.processing_history.push(record);
                None
            }));
        }
        "set_interrupt" => {
            let interrupt = constructed(operation.get("interrupt")?);
            let pending = operation.get("pending")?.as_bool()?;
            return Some(interrupt.map(|interrupt| {
                envelope.interrupt = interrupt;
                envelope.interrupt_pending = pending;
                None
            }));
        }
        "initialize_goals" => {
            let goals = operation.get("goals")?.as_array()?.iter();
            let goals: Option<Vec<_>> = goals.map(|goal| goal.as_str().map(ToString::to_string)).collect();
            envelope.initialize_goals(&goals?);
        }
        "mark_goal_complete" => envelope.mark_goal_complete(operation.get("goal")?.as_str()?),
        "advance_stage" => {
            let times = operation.get("times").map_or(Some(1), Value::as_u53)?;
            (0..times).for_each(|_| envelope.advance_stage());
        }
        "observe_stage_context" => {
            let observed = [
                ("call", Value::from("get_stage_context")),
                ("result", envelope.get_stage_context().to_value()),
            ];
            return Some(Ok(Some(Value::Object(Object::from(observed)))));
        }
        "observe_is_stuck" => {
            return observe_is_stuck(envelope, operation).map(|observed| Ok(Some(observed)));
        }
        _ => return None,
    }
    Some(Ok(None))
}

fn replace(
    envelope: &mut Envelope,
    changed: Result<Envelope, Diagnostic>,
) -> Result<Option<Value>, Diagnostic> {
    *envelope = changed?;
    Ok(None)
}

fn with_member(envelope: &Envelope, field: &str, value: &Value) -> Result<Envelope, Diagnostic> {
    let mut state = Fields::of(&envelope.to_state_dict(), ENVELOPE_INVALID)?.rest();
    state.insert(field, value.clone());
    Envelope::from_dict(&Value::Object(state))
}

/// An interrupt with the defaults of its constructor: status `pending` and empty `data`, unless they are given.
fn constructed(value: &Value) -> Result<Option<FlowInterrupt>, Diagnostic> {
    if value.is_null() {
        return Ok(None);
    }
    let mut interrupt = FlowInterrupt::from_value(value)?;
    interrupt.status = interrupt.status.or(Some(InterruptStatus::Pending));
    interrupt.data.get_or_insert_default();
    Ok(Some(interrupt))
}

fn observe_is_stuck(envelope: &Envelope, operation: &Value) -> Option<Value> {
    let args = operation.get("args").cloned().unwrap_or_else(|| Value::Object(Object::new()));
    let min = args.get("min_progress_stages").map_or(Some(DEFAULT_MIN_PROGRESS_STAGES), Value::as_u53)?;
    let observed =
        [("call", Value::from("is_stuck")), ("args", args), ("result", Value::from(envelope.is_stuck(min)))];
    Some(Value::Object(Object::from(observed)))
}

/// Decodes and encodes twice. Returns the texts of the expected members if both round trips agree.
pub(super) fn roundtrip(bytes: &[u8], expected: Option<&Value>) -> Got {
    let trip = |bytes: &[u8]| Envelope::decode(bytes).map(|envelope| envelope.to_state_dict());
    let twice = trip(bytes).and_then(|once| trip(once.compact().as_bytes()).map(|twice| (once, twice)));
    Got::of(twice.map(|(once, twice)| {
        let names = expected.and_then(|expected| expected.get("members")).and_then(Value::as_object);
        let text_of = |name: &str| {
            let texts = (once.get(name)?.compact(), twice.get(name)?.compact());
            (texts.0 == texts.1).then_some((name.to_string(), Value::from(texts.0)))
        };
        let members: Object = names.into_iter().flat_map(Object::keys).filter_map(text_of).collect();
        Value::Object(Object::from([("members", Value::Object(members))]))
    }))
}
