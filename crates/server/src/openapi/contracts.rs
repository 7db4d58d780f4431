//! The schemas of contracts in bodies, as components of the document.
//!
//! They are the schemas of `spec/schemas`, with their parts as separate components: OpenAPI has one place for
//! schemas, and a client generator makes a type of each.

use envoi_contract::schema;
use serde_json::{Map, Value};

/// Names of contracts in `spec/schemas`, and the names of their components.
const BODIES: [(&str, &str); 2] = [("envelope", "Envelope"), ("handoff", "Handoff")];

const PARTS: &str = "#/$defs/";

/// All components, by name.
pub(super) fn all() -> Map<String, Value> {
    let found = BODIES.iter().filter_map(|(name, component)| {
        let schema = schema::ALL.iter().find(|schema| schema.name == *name)?;
        // A serializer wrote the text, so parsing cannot fail.
        let mut schema: Value = serde_json::from_str(&schema.to_value().compact()).unwrap_or(Value::Null);
        rename(&mut schema, component);
        let members = schema.as_object_mut()?;
        // These belong to a document, not to a schema inside it.
        members.remove("$schema");
        members.remove("$id");
        // Some generators name types by the title.
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

/// The component name of a part: `EnvelopeInterrupt` for `interrupt`.
fn part_name(component: &str, part: &str) -> String {
    let mut letters = part.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().fold(component.to_owned(), |name, first| format!("{name}{first}")) + letters.as_str()
}

/// Updates references to the parts, and marks objects without named members as open.
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
