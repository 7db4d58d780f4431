//! JSON Schemas in a flow: the declaration of an input (with a `default`), the form of a question, and the data of a
//! report.
//!
//! Finds mistakes in a schema, and their locations. [`crate::values::inputs`] checks the inputs of a run,
//! [`crate::values::answers`] completed forms, and [`crate::parse::outputs`] reports.

use crate::syntax::{
    diagnostic::{Diagnostic, Problems},
    read::{self, refuse},
    suggestion::did_you_mean,
    tree,
    yaml::{Key, Kind, Node},
};
use crate::values::json_schema::Schema;
use envoi_contract::json::Value;

/// The content of a declaration.
#[derive(Debug)]
pub(crate) struct Declaration {
    pub(crate) schema: Value,
    pub(crate) default: Option<Value>,
}

/// Keywords of JSON Schema 2020-12. The standard ignores unknown words, so a misspelt keyword would check nothing.
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
    keywords(members, problems);
    let written = tree::value_without(node, "default");
    let schema = compiled(&written, node, &name, problems)?;
    let default = member(node, "default");
    if let Some(node) = default {
        default_fits(&schema, node, &name, problems);
    }
    (problems.count() == before).then(|| Declaration { schema: written, default: default.map(tree::value) })
}

/// The `outputs` of a step that runs a command: a schema for any value.
pub(crate) fn of_data(node: &Node, problems: &mut Problems) -> Option<Value> {
    let Kind::Mapping(members) = &node.kind else {
        let expected = "a JSON Schema such as `{ type: object, required: [url] }`";
        return refuse(problems, read::mismatch(node, "`outputs`", expected));
    };
    let before = problems.count();
    keywords(members, problems);
    let written = tree::value(node);
    compiled(&written, node, "`outputs`", problems)?;
    (problems.count() == before).then_some(written)
}

/// The `schema` of a question: a schema for an object, whose members are the fields that people fill in.
pub(crate) fn form(node: &Node, problems: &mut Problems) -> Option<Value> {
    const WHOLE: &str = "`{ type: object, properties: { channel: { enum: [blog, mail] } } }`";
    let Kind::Mapping(members) = &node.kind else {
        return refuse(problems, read::mismatch(node, "`schema`", "a JSON Schema of an object").help(WHOLE));
    };
    let before = problems.count();
    keywords(members, problems);
    // An unknown keyword may be a misspelt `type`, and one mistake is reported once.
    if let (true, Some(node)) = (problems.count() == before, no_object(node)) {
        let message = "`schema` is not that of an object: a form has fields";
        problems.add(Diagnostic::invalid(node.span, message).help(WHOLE));
    }
    let written = tree::value(node);
    compiled(&written, node, "the form", problems);
    // Done even if the whole schema is invalid, so that mistakes in fields are reported at the same time.
    for (key, field) in member(node, "properties").map(members_of).unwrap_or_default() {
        let name = format!("field `{}`", key.text);
        keywords(members_of(field), problems);
        let schema = Schema::new(&crate::values::answers::on_its_own(tree::value(field), &written)).ok();
        if let (Some(schema), Some(default)) = (schema, member(field, "default")) {
            default_fits(&schema, default, &name, problems);
        }
    }
    (problems.count() == before).then_some(written)
}

/// The location of a `type` that is not `object`, or of the schema if `type` is missing.
fn no_object(node: &Node) -> Option<&Node> {
    let kind = member(node, "type");
    if kind.and_then(read::as_text) == Some("object") { None } else { Some(kind.unwrap_or(node)) }
}

fn members_of(node: &Node) -> &[(Key, Node)] {
    match &node.kind {
        Kind::Mapping(members) => members,
        _ => &[],
    }
}

fn member<'n>(node: &'n Node, name: &str) -> Option<&'n Node> {
    members_of(node).iter().find(|(key, _)| key.text == name).map(|(_, node)| node)
}

fn keywords(members: &[(Key, Node)], problems: &mut Problems) {
    for (key, _) in members {
        let word = key.text.as_str();
        if !KEYWORDS.contains(&word) && !word.starts_with("x-") {
            let message = format!("`{word}` is no keyword of JSON Schema");
            let help = did_you_mean(word, KEYWORDS.iter().copied());
            problems.add(Diagnostic::invalid(key.span, message).maybe_help(help));
        }
    }
}

fn compiled(schema: &Value, node: &Node, name: &str, problems: &mut Problems) -> Option<Schema> {
    match Schema::new(schema) {
        Ok(schema) => Some(schema),
        Err(first) => {
            for mismatch in Schema::mistakes(schema, first) {
                let span = at(node, &mismatch.path).span;
                let message = format!("the schema of {name} is not valid: {}", mismatch.reason);
                problems.add(Diagnostic::invalid(span, message));
            }
            None
        }
    }
}

fn default_fits(schema: &Schema, node: &Node, name: &str, problems: &mut Problems) {
    for mismatch in schema.check(&tree::value(node)) {
        let message = format!("the default of {name} does not fit its schema: {}", mismatch.reason);
        problems.add(Diagnostic::invalid(at(node, &mismatch.path).span, message));
    }
}

/// The node at a path of names and indexes, or the last one that exists on the path.
pub(crate) fn at<'n>(node: &'n Node, path: &[String]) -> &'n Node {
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
