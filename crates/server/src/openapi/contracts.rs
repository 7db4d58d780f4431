//! The schemas of the contracts that bodies are made of, as components of the document.
//!
//! They are those of `spec/schemas`, with their parts under names of their own: OpenAPI has one place for schemas, and a
//! generator of clients makes a type of each.

use envoi_contract::schema;
use serde_json::{Map, Value};

/// Contracts by their names in `spec/schemas`, and the names of their components.
const BODIES: [(&str, &str); 2] = [("envelope", "Envelope"), ("handoff", "Handoff")];

const PARTS: &str = "#/$defs/";

/// All components, by their names.
pub(super) fn all() -> Map<String, Value> {
    let found = BODIES.iter().filter_map(|(name, component)| {
        let schema = schema::ALL.iter().find(|schema| schema.name == *name)?;
        // The text was written by a serializer, so that reading it cannot fail.
        let mut schema: Value = serde_json::from_str(&schema.to_value().compact()).unwrap_or_default();
        rename(&mut schema, component);
        let members = schema.as_object_mut()?;
        // Of the document in which they stand, not of one of its schemas.
        members.remove("$schema");
        members.remove("$id");
        // Some generators name types by it.
        members.remove("title");
        let parts = members.remove("$defs");
        let parts = parts.as_ref().and_then(Value::as_object).into_iter().flatten();
        let mut all: Vec<(String, Value)> =
            parts.map(|(part, schema)| (part_name(component, part), schema.clone())).collect();
        all.push(((*component).to_owned(), schema));
        Some(all)
    });
    found.flatten().collect()
}

/// `EnvelopeInterrupt` of the part `interrupt`.
fn part_name(component: &str, part: &str) -> String {
    let mut letters = part.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().fold(component.to_owned(), |name, first| format!("{name}{first}")) + letters.as_str()
}

/// Rewrites references to the parts' present place, and marks objects without named members as open.
fn rename(value: &mut Value, component: &str) {
    match value {
        Value::Object(members) => {
            let is_object = members.get("type").is_some_and(|kind| {
                kind == "object" || kind.as_array().is_some_and(|kinds| kinds.contains(&"object".into()))
            });
            if is_object
                && !members.contains_key("properties")
                && !members.contains_key("additionalProperties")
            {
                members.insert("additionalProperties".to_owned(), true.into());
            }
            for (name, value) in members {
                let part = value.as_str().filter(|_| name == "$ref").and_then(|to| to.strip_prefix(PARTS));
                match part {
                    Some(part) => {
                        *value = format!("#/components/schemas/{}", part_name(component, part)).into()
                    }
                    None => rename(value, component),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| rename(value, component)),
        _ => {}
    }
}
