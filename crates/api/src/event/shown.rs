//! Events in the form that programs see.
//!
//! In the journal a time is a number, a contract value may be a text so that nothing of it is lost, and a member
//! without a value may be missing. In this form a contract value is JSON, with its member order and number tokens, a
//! time is RFC 3339, and every member is present. The kernel owns the members of events; the writer is
//! [`envoi_contract::stored`].

use envoi_contract::{json, stored};
use envoi_kernel::Record;

/// The event as a row of [`crate::event::Event`]: JSON on one line.
#[must_use]
pub fn shown(record: &Record) -> String {
    let mut out = String::new();
    match stored::shown(record, &mut out) {
        Ok(()) => out,
        // Every event type can be written, because the journal has written it.
        Err(_) => "null".to_owned(),
    }
}

/// Like [`shown`], for the text in the journal. A text that is not an event of this version is returned unchanged.
#[must_use]
pub fn text(journal: String) -> String {
    match serde_json::from_str::<Record>(&journal) {
        Ok(record) => shown(&record),
        Err(_) => journal,
    }
}

/// Like [`text`], with the text of the journal as the member `stored`.
#[must_use]
pub fn text_and_stored(journal: String) -> String {
    let Ok(record) = serde_json::from_str::<Record>(&journal) else { return journal };
    let mut out = shown(&record);
    if out.pop() != Some('}') {
        return journal;
    }
    out.push_str(",\"stored\":");
    json::write_string(&journal, &mut out);
    out.push('}');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use envoi_contract::{json::Value, time::Timestamp};

    /// Stored records of every type.
    const STORED: &str = include_str!("../../../kernel/tests/it/stored/records.jsonl");

    /// Collects every text in `value`.
    fn texts<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
        match value {
            Value::String(text) => found.push(text),
            Value::Array(elements) => elements.iter().for_each(|element| texts(element, found)),
            Value::Object(members) => members.values().for_each(|member| texts(member, found)),
            _ => {}
        }
    }

    #[test]
    fn values_and_times_are_themselves_in_every_type_of_event() {
        let mut seen = 0;
        for line in STORED.lines() {
            let Ok(record) = serde_json::from_str::<Record>(line) else { panic!("{line}") };
            seen += 1;
            let text = shown(&record);
            let shown = Value::parse_str(&text).unwrap();
            assert_eq!(shown.compact(), text, "{line}");
            let with = Value::parse_str(&text_and_stored(line.to_owned())).unwrap();
            assert_eq!(with.get("stored").and_then(Value::as_str), Some(line));
            assert_eq!(with.get("event"), shown.get("event"));
            assert_eq!(shown.get("seq").and_then(Value::as_u53), Some(record.seq), "{line}");
            let at = shown.get("at").and_then(Value::as_str).and_then(Timestamp::parse);
            assert_eq!(at, Some(record.at), "{line}");
            assert_eq!(
                shown.get("event").and_then(|event| event.get("type")).and_then(Value::as_str),
                Some(record.event.name())
            );
            let mut all = Vec::new();
            texts(&shown, &mut all);
            let folded: Vec<_> = all
                .into_iter()
                .filter(|text| text.starts_with(['{', '[']) || matches!(*text, "null" | "true"))
                .collect();
            assert!(folded.is_empty(), "{folded:?}: {line}");
        }
        assert!(seen > 20, "{seen}");
    }
}
