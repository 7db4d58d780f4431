//! Size limits of a step's output within events (docs/limits.md).
//!
//! Events, hand-offs and envelopes must stay readable, no matter how large a step's output, an agent's answer
//! or a report is. So this module either shortens longer parts, with a mark, or replaces them by a reference
//! to the stored content.

use crate::model::files::Blob;
use envoi_contract::{
    json::{MAX_PART_DEPTH, Object, Value},
    skill_report::SkillError,
};

/// Maximum size of `data` and `metrics` in an event (contract 3).
pub(crate) const MAX_DATA_BYTES: usize = 64 * 1024;

/// Maximum size of an error message. The attempt's report and streams have the whole text.
pub(crate) const MAX_MESSAGE_BYTES: usize = 16 * 1024;

/// Maximum size of an error code.
const MAX_CODE_BYTES: usize = 200;

/// Maximum size of a question: a person reads it, and each list of questions contains it.
pub(crate) const MAX_QUESTION_BYTES: usize = 64 * 1024;

/// Maximum size of all values of a `for_each` together: they are in one event, and each reaches a command as
/// a variable.
pub(crate) const MAX_ITEMS_BYTES: usize = 4 * 1024 * 1024;

/// Maximum size of a value passed as one argument or variable (Linux refuses single ones over 128 KiB).
pub(crate) const MAX_VALUE_BYTES: usize = 100 * 1024;

/// Maximum size of a command's arguments and the flow's variables together. Linux refuses more than 2 MiB,
/// including the rest of the environment.
pub(crate) const MAX_COMMAND_BYTES: usize = 2 * 1024 * 1024;

/// The members of `metrics` that the engine uses, and the one that marks them as lower bounds.
const COUNTED: [&str; 5] = ["llm_calls", "tokens_in", "tokens_out", "cost_usd", "at_least"];

/// Shortens a text of more than `max` bytes to its beginning and a note of how much is missing.
pub(crate) fn shortened(text: String, max: usize) -> String {
    if text.len() <= max {
        return text;
    }
    let end = (0..=max).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    let (kept, omitted) = text.split_at(end);
    format!("{kept} … [{} bytes omitted]", omitted.len())
}

/// Description of a report or of data that exceed the limit of the contracts. The limit plus one byte is kept
/// of such a file.
pub(crate) const CUT_DOCUMENT: &str = "a file of more than 16 MiB";

/// Whether these bytes are the beginning of such a file.
pub(crate) fn is_cut_document(bytes: &[u8]) -> bool {
    bytes.len() > envoi_contract::json::MAX_BYTES
}

/// The first line of a text whose beginning was cut. [`is_shortened`] recognizes such a text too, so no
/// expression takes it for the whole one.
pub(crate) const CUT_BEGINNING: &str =
    "… [beginning of the text: an unknown number of characters omitted] …\n";

/// Whether this summary of a hand-off (contract 2) is probably shortened: it contains the line that marks an
/// omission.
pub(crate) fn is_shortened(summary: &str) -> bool {
    summary.lines().any(|line| line.starts_with("… [") && line.ends_with(" characters omitted] …"))
}

/// Shortens an error so that it fits into an event.
pub(crate) fn of_error(error: SkillError) -> SkillError {
    SkillError {
        code: shortened(error.code, MAX_CODE_BYTES),
        message: shortened(error.message, MAX_MESSAGE_BYTES),
    }
}

/// Whether these data fit into an event and into the documents made from it.
pub(crate) fn fits(data: &Value) -> bool {
    data.compact().len() <= MAX_DATA_BYTES && data.depth() <= MAX_PART_DEPTH
}

/// Replaces data over the limit by a reference to the content that holds them. Keeps the `status` beside the
/// reference, because routing reads it: a critic that denies in its report must not pass only because its
/// report is long.
pub(crate) fn of_data(data: Value, holds: Option<&Blob>) -> Value {
    match holds {
        Some(blob) if !fits(&data) => {
            let status = data.get("status").and_then(Value::as_str).map(str::to_owned);
            let status =
                status.map(|status| ("status".to_owned(), Value::from(shortened(status, MAX_CODE_BYTES))));
            Value::Object(status.into_iter().chain(reference(blob)).collect())
        }
        _ => data,
    }
}

/// Reduces metrics over the limit to the members that the engine uses, with a reference to the report that
/// holds all of them.
pub(crate) fn of_metrics(metrics: Object, report: Option<&Blob>) -> Object {
    let Some(blob) = report else { return metrics };
    if fits(&Value::Object(metrics.clone())) {
        return metrics;
    }
    let short = |value: &&Value| value.compact().len() <= MAX_CODE_BYTES;
    let counted = COUNTED
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), metrics.get(name).filter(short)?.clone())));
    counted.chain(reference(blob)).collect()
}

/// Whether these data are the engine's replacement for data that are too large. A step may not hand over such
/// data itself, because a reader could not distinguish them.
pub(crate) fn is_reference(data: &Value) -> bool {
    RESERVED.iter().any(|name| data.get(name).is_some())
}

/// The members that mark data as a reference or as omitted.
pub(crate) const RESERVED: [&str; 2] = ["$artifact", "$omitted"];

fn reference(blob: &Blob) -> Object {
    Object::from([("$artifact", Value::from(blob.digest.to_string())), ("size", Value::from(blob.size))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_shortened_between_characters_and_says_what_is_missing() {
        for (text, max, expected) in [
            ("short", 5, "short"),
            ("longer", 5, "longe … [1 bytes omitted]"),
            ("éé", 3, "é … [2 bytes omitted]"),
            ("é", 1, " … [2 bytes omitted]"),
        ] {
            assert_eq!(shortened(text.to_owned(), max), expected);
        }
    }

    #[test]
    fn data_that_is_nested_too_deeply_for_other_documents_is_a_reference_too() {
        let blob = Blob { digest: envoi_contract::digest::Digest::of(b"data"), size: 4 };
        let nested = |levels: usize| {
            Value::parse_str(&format!("{}{}", "[".repeat(levels), "]".repeat(levels))).unwrap()
        };
        let of = |status: &str, levels: usize| {
            Value::Object(Object::from([("status", Value::from(status)), ("x", nested(levels))]))
        };
        let fits = of("VERIFIED", MAX_PART_DEPTH - 1);
        assert_eq!(of_data(fits.clone(), Some(&blob)), fits);
        let reference = of_data(of("VERIFIED", MAX_PART_DEPTH), Some(&blob));
        assert!(is_reference(&reference), "{reference:?}");
        assert_eq!(reference.get("status").and_then(Value::as_str), Some("VERIFIED"));
        let metrics = Object::from([("llm_calls", Value::from(7_u64)), ("x", nested(MAX_PART_DEPTH))]);
        let kept = of_metrics(metrics, Some(&blob));
        assert_eq!(kept.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["llm_calls", "$artifact", "size"]);
    }

    #[test]
    fn large_metrics_keep_what_is_counted() {
        let blob = Blob { digest: envoi_contract::digest::Digest::of(b"report"), size: 6 };
        let large = Value::from("x".repeat(MAX_DATA_BYTES));
        let metrics = Object::from([("llm_calls", Value::from(7_u64)), ("other", large.clone())]);
        let kept = of_metrics(metrics.clone(), Some(&blob));
        assert_eq!(kept.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["llm_calls", "$artifact", "size"]);
        let lied = of_metrics(Object::from([("cost_usd", large)]), Some(&blob));
        assert!(lied.get("cost_usd").is_none());
        assert_eq!(of_metrics(metrics.clone(), None), metrics);
    }
}
