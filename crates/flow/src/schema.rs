//! The declaration of an input: a JSON Schema with a `default`.
//!
//! Owns what is wrong with a declaration, and where in the file. Values that a run is given are checked by
//! [`crate::inputs`].

use crate::{
    diagnostic::{Diagnostic, Problems},
    json_schema::Schema,
    read::{self, refuse},
    suggestion::did_you_mean,
    tree,
    yaml::{Key, Kind, Node},
};
use envoi_contract::json::Value;

/// What a declaration says.
#[derive(Debug)]
pub(crate) struct Declaration {
    pub(crate) schema: Value,
    pub(crate) default: Option<Value>,
}

/// Keywords of JSON Schema 2020-12. It lets every other word pass and ignores it; a misspelt one would check nothing.
const KEYWORDS: &[&str] = &[
    "$anchor",
    "$comment",
    "$defs",
    "$dynamicAnchor",
    "$dynamicRef",
    "$id",
    "$ref",
    "$schema",
    "$vocabulary",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "contains",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "default",
    "definitions",
    "dependentRequired",
    "dependentSchemas",
    "deprecated",
    "description",
    "else",
    "enum",
    "examples",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "if",
    "items",
    "maxContains",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minContains",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "oneOf",
    "pattern",
    "patternProperties",
    "prefixItems",
    "properties",
    "propertyNames",
    "readOnly",
    "required",
    "then",
    "title",
    "type",
    "unevaluatedItems",
    "unevaluatedProperties",
    "uniqueItems",
    "writeOnly",
];

pub(crate) fn declaration(key: &Key, node: &Node, problems: &mut Problems) -> Option<Declaration> {
    let name = format!("input `{}`", key.text);
    let Kind::Mapping(members) = &node.kind else {
        let expected = "a JSON Schema such as `{ type: string }`";
        return refuse(problems, read::mismatch(node, &name, expected));
    };
    let before = problems.count();
    for (key, _) in members {
        let word = key.text.as_str();
        if !KEYWORDS.contains(&word) && !word.starts_with("x-") {
            let message = format!("`{word}` is no keyword of JSON Schema");
            let help = did_you_mean(word, KEYWORDS.iter().copied());
            problems.add(Diagnostic::invalid(key.span, message).maybe_help(help));
        }
    }
    let written = tree::value_without(node, "default");
    let schema = match Schema::new(&written) {
        Ok(schema) => schema,
        Err(mismatch) => {
            let span = at(node, &mismatch.path).span;
            let message = format!("the schema of {name} is not valid: {}", mismatch.reason);
            return refuse(problems, Diagnostic::invalid(span, message));
        }
    };
    let default = members.iter().find(|(key, _)| key.text == "default").map(|(_, node)| node);
    if let Some(node) = default {
        for mismatch in schema.check(&tree::value(node)) {
            let message = format!("the default of {name} does not fit its schema: {}", mismatch.reason);
            problems.add(Diagnostic::invalid(at(node, &mismatch.path).span, message));
        }
    }
    (problems.count() == before).then(|| Declaration { schema: written, default: default.map(tree::value) })
}

/// The node that a path of names and indices leads to, as far as it goes.
fn at<'n>(node: &'n Node, path: &[String]) -> &'n Node {
    let mut current = node;
    for part in path {
        let below = match &current.kind {
            Kind::Mapping(members) => members.iter().find(|(key, _)| key.text == *part).map(|(_, node)| node),
            Kind::Sequence(items) => part.parse::<usize>().ok().and_then(|index| items.get(index)),
            Kind::Scalar(_) => None,
        };
        let Some(below) = below else { break };
        current = below;
    }
    current
}
