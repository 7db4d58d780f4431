//! Keeps a pipeline envelope (contract 3) within the size of a document, however long its run takes.
//!
//! A document has at most 16 MiB. So the envelope keeps only the newest 10,000 records of its history, 8 MiB
//! of outputs, and the newest entries of other lists that grow with failures or rounds. The journal has
//! everything.

use crate::model::{files::Blob, size::is_reference};
use envoi_contract::{
    envelope::Envelope,
    json::{Object, Value},
};

/// Maximum number of records of `processing_history`, according to contract 3.
const MOST_RECORDS: usize = 10_000;

/// Maximum size of all `outputs` together, according to contract 3. Above it, the largest data become
/// references.
const MAX_OUTPUT_BYTES: usize = 8 * 1024 * 1024;

/// Maximum size of an error in a record of the history, which can have many.
pub(crate) const MAX_RECORD_ERROR_BYTES: usize = 100;

/// Maximum size of an error elsewhere in the envelope.
pub(crate) const MAX_ERROR_BYTES: usize = 500;

/// Maximum number of entries of `errors`, `loop_feedback`, `prior_plans` and `completed_stages`.
const MOST_ERRORS: usize = 500;
const MOST_FEEDBACK: usize = 100;
const MOST_PLANS: usize = 20;
const MOST_STAGES: usize = 500;

/// Keeps only the newest entries of lists that grow with attempts, failures and rounds.
pub(crate) fn history(envelope: &mut Envelope) {
    let gone = keep_newest(&mut envelope.processing_history, MOST_RECORDS);
    if gone > 0 {
        count(envelope, gone);
    }
    keep_newest(&mut envelope.errors, MOST_ERRORS);
    keep_newest(&mut envelope.loop_feedback, MOST_FEEDBACK);
    keep_newest(&mut envelope.prior_plans, MOST_PLANS);
    keep_newest(&mut envelope.completed_stages, MOST_STAGES);
}

/// Removes the oldest entries; returns how many.
fn keep_newest<T>(all: &mut Vec<T>, most: usize) -> usize {
    let gone = all.len().saturating_sub(most);
    if gone > 0 {
        all.drain(..gone);
    }
    gone
}

/// Sets `metadata.envoi.history`: the number of attempts, and how many of them are omitted.
fn count(envelope: &mut Envelope, gone: usize) {
    let known = envelope.metadata.get("envoi").and_then(Value::as_object).cloned().unwrap_or_default();
    let before = known.get("history").and_then(|history| history.get("omitted")).and_then(Value::as_u53);
    let omitted = before.unwrap_or(0).saturating_add(u64::try_from(gone).unwrap_or(u64::MAX));
    let kept = u64::try_from(envelope.processing_history.len()).unwrap_or(u64::MAX);
    let history = Object::from([
        ("total", Value::from(kept.saturating_add(omitted))),
        ("omitted", Value::from(omitted)),
    ]);
    let mut own = known;
    own.insert("history".to_owned(), Value::Object(history));
    envelope.metadata.insert("envoi".to_owned(), Value::Object(own));
}

/// Replaces an earlier output of a stage. `bytes` is the approximate size of all outputs; passing it on saves
/// measuring all of them for each output.
pub(crate) fn put_output(
    envelope: &mut Envelope,
    bytes: &mut usize,
    stage: &str,
    output: Value,
    report: impl Fn(&str) -> Option<Blob>,
) {
    let before = envelope.outputs.get(stage).map_or(0, weight);
    *bytes = bytes.saturating_sub(before).saturating_add(weight(&output));
    envelope.outputs.insert(stage, output);
    if *bytes > MAX_OUTPUT_BYTES {
        outputs(envelope, report);
        *bytes = total(envelope);
    }
}

/// Replaces the largest `data`, then the largest `artifacts`, by references until the outputs fit. `report`
/// returns the report of a step, by its name in the envelope.
fn outputs(envelope: &mut Envelope, report: impl Fn(&str) -> Option<Blob>) {
    for member in ["data", "artifacts"] {
        while total(envelope) > MAX_OUTPUT_BYTES {
            let Some((stage, size)) = largest(envelope, member) else { break };
            let reference = match report(&stage).filter(|_| member == "data") {
                Some(blob) => Object::from([
                    ("$artifact", Value::from(blob.digest.to_string())),
                    ("size", Value::from(blob.size)),
                ]),
                None => Object::from([
                    (
                        "$omitted",
                        Value::from("the outputs have over 8 MiB; the step's report or hand-off has it"),
                    ),
                    ("size", Value::from(u64::try_from(size).unwrap_or(u64::MAX))),
                ]),
            };
            let Some(Value::Object(output)) = envelope.outputs.get_mut(&stage) else { break };
            output.insert(member.to_owned(), Value::Object(reference));
        }
    }
}

/// Approximate size of all outputs in bytes.
pub(crate) fn total(envelope: &Envelope) -> usize {
    envelope.outputs.values().map(weight).fold(0, usize::saturating_add)
}

/// The stage with the largest member of this name that is not a reference yet.
fn largest(envelope: &Envelope, member: &str) -> Option<(String, usize)> {
    let of_stage = |(stage, output): (&str, &Value)| {
        let value = output.get(member)?;
        (!is_reference(value)).then(|| (stage.to_owned(), weight(value)))
    };
    let all = envelope.outputs.iter().filter_map(of_stage);
    all.max_by_key(|(_, weight)| *weight).filter(|(_, weight)| *weight > REFERENCE_BYTES)
}

/// Size of a reference. Smaller members are not replaced.
const REFERENCE_BYTES: usize = 200;

/// An upper estimate of the size of a value as compact JSON, without writing it: counts every control
/// character as six bytes.
fn weight(value: &Value) -> usize {
    let text = |text: &str| {
        let escaped = text.bytes().filter(|byte| *byte < 0x20 || matches!(byte, b'"' | b'\\' | 0x7f)).count();
        text.len().saturating_add(escaped.saturating_mul(5)).saturating_add(2)
    };
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(number) => number.as_str().len().saturating_add(1),
        Value::String(string) => text(string).saturating_add(1),
        Value::Array(elements) => elements.iter().map(weight).fold(2, usize::saturating_add),
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| text(name).saturating_add(1).saturating_add(weight(member)))
            .fold(2, usize::saturating_add),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use envoi_contract::{digest::Digest, envelope::ProcessingRecord};

    #[test]
    fn the_newest_records_are_kept_and_the_others_counted() {
        let mut envelope = Envelope::default();
        for nth in 0..MOST_RECORDS + 3 {
            let record = ProcessingRecord { duration_ms: nth as u64, ..ProcessingRecord::default() };
            envelope.processing_history.push(record);
            history(&mut envelope);
        }
        assert_eq!(envelope.processing_history.len(), MOST_RECORDS);
        assert_eq!(envelope.processing_history[0].duration_ms, 3);
        let metadata = envelope.metadata.get("envoi").unwrap().compact();
        assert_eq!(metadata, r#"{"history":{"total":10003,"omitted":3}}"#);
    }

    #[test]
    fn the_largest_data_become_references_until_the_outputs_fit() {
        let mut envelope = Envelope::default();
        let output = |bytes: usize| {
            let data = Value::from("\u{1}".repeat(bytes));
            Value::Object(Object::from([("summary", Value::from("s")), ("data", data)]))
        };
        for (stage, bytes) in [("a", 500_000), ("b", 600_000), ("c", 700_000)] {
            envelope.outputs.insert(stage, output(bytes));
        }
        let blob = Blob { digest: Digest::of(b"report"), size: 7 };
        outputs(&mut envelope, |stage| (stage == "c").then(|| blob.clone()));
        let data = |envelope: &Envelope, stage: &str| {
            envelope.outputs.get(stage).unwrap().get("data").unwrap().clone()
        };
        assert_eq!(
            data(&envelope, "c").get("$artifact").and_then(Value::as_str),
            Some(blob.digest.to_string().as_str())
        );
        assert!(
            data(&envelope, "a").as_str().is_some() && data(&envelope, "b").as_str().is_some(),
            "these two fit"
        );
        assert!(Envelope::decode(envelope.compact().as_bytes()).is_ok());
        envelope.outputs.insert("d", output(1_000_000));
        outputs(&mut envelope, |_| None);
        assert!(data(&envelope, "b").as_str().is_some());
        assert!(envelope.outputs.get("d").unwrap().get("data").unwrap().get("$omitted").is_some());
    }

    #[test]
    fn the_bytes_of_all_outputs_are_known_after_each_of_them() {
        let mut envelope = Envelope::default();
        let mut bytes = 0;
        let rows = [
            ("a", 10, None),
            ("b", 1_000_000, None),
            ("a", 5, None),
            ("c", 900_000, Some("b")),
            ("b", 1, None),
        ];
        for (stage, length, reference) in rows {
            let data = Value::from("\u{1}".repeat(length));
            put_output(
                &mut envelope,
                &mut bytes,
                stage,
                Value::Object(Object::from([("data", data)])),
                |_| None,
            );
            assert_eq!(bytes, total(&envelope), "{stage}");
            assert!(bytes <= MAX_OUTPUT_BYTES, "{stage}");
            let omitted = |stage: &str| {
                envelope.outputs.get(stage).unwrap().get("data").unwrap().get("$omitted").is_some()
            };
            let is_omitted = |name: &&str| envelope.outputs.get(name).is_some() && omitted(name);
            assert_eq!(["a", "b", "c"].into_iter().find(is_omitted), reference, "{stage}");
        }
    }

    #[test]
    fn what_is_weighed_is_no_lighter_than_what_is_written() {
        for text in [r#"{"a":[1,true,null,"x\"\\\u0001é"],"\n":{}}"#, "[]", r#""""#, "1.50"] {
            let value = Value::parse_str(text).unwrap();
            assert!(weight(&value) >= value.compact().len(), "{text}");
        }
    }
}
