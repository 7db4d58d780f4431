//! Fields of declared data: `steps.build.data.imgae`, where the schema of `build` has an `image`.
//!
//! Owns which fields a schema has. The caller decides whether an unknown field is a mistake or a warning.

use crate::syntax::{read::listed, suggestion::nearest};
use envoi_contract::json::Value;

/// Keywords that may declare more fields than `properties` does. A schema with one of them is not judged.
const DECLARE_MORE: [&str; 10] = [
    "$dynamicRef",
    "$ref",
    "allOf",
    "anyOf",
    "dependentSchemas",
    "else",
    "if",
    "oneOf",
    "patternProperties",
    "then",
];

/// A field that a schema does not declare.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UnknownField<'a> {
    pub(super) name: &'a str,
    /// The fields that are declared in its place.
    declared: Vec<&'a str>,
    /// No data with this field fits the schema.
    pub(super) is_impossible: bool,
}

impl UnknownField<'_> {
    /// The declared field that was meant, as a question.
    pub(super) fn meant(&self) -> Option<String> {
        // `data.image-id` is `data.image` minus `id`.
        let with_hyphen =
            |field: &&&str| field.strip_prefix(self.name).is_some_and(|rest| rest.starts_with('-'));
        match self.declared.iter().find(with_hyphen) {
            Some(field) => Some(format!("a field with a hyphen is written `['{field}']`")),
            None => nearest(self.name, self.declared.iter().copied())
                .map(|near| format!("did you mean `{near}`?")),
        }
    }

    pub(super) fn help(&self) -> String {
        self.meant().unwrap_or_else(|| format!("it has {}", listed(&self.declared)))
    }
}

/// The first field of `path` that `schema` does not declare. `None` where the schema does not list its fields, or lists them in a way
/// that is not read here.
pub(super) fn unknown<'a>(schema: &'a Value, path: &'a [String]) -> Option<UnknownField<'a>> {
    let mut schema = schema;
    for name in path {
        let fields =
            schema.get("properties").and_then(Value::as_object).filter(|fields| !fields.is_empty())?;
        match fields.get(name) {
            Some(field) => schema = field,
            None if DECLARE_MORE.iter().any(|keyword| schema.get(keyword).is_some()) => return None,
            None => {
                let is_false = |keyword: &str| schema.get(keyword) == Some(&Value::Bool(false));
                let is_impossible = is_false("additionalProperties") || is_false("unevaluatedProperties");
                let declared = fields.keys().collect();
                return Some(UnknownField { name, declared, is_impossible });
            }
        }
    }
    None
}
