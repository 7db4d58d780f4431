//! The server's requests and answers, as types of the libraries for Python and TypeScript.
//!
//! Generated only from the OpenAPI document. Left out are schemas without members of their own (the
//! contracts, which the libraries have as classes), and those that the clients convert (problems, references
//! to files).

use serde_json::{Map, Value};
use std::{collections::BTreeSet, fmt::Write as _};

/// Schemas for which the clients have hand-written types.
const BY_HAND: &[&str] = &[
    "Attachment",
    "Problem",
    "Envelope",
    "EnvelopeInterrupt",
    "EnvelopeRecord",
    "EnvelopeResponse",
    "Handoff",
    "HandoffRoute",
    "HandoffSignal",
];

const REFERENCE: &str = "#/components/schemas/";

/// A schema with members.
struct Shape<'d> {
    name: &'d str,
    members: Vec<Member<'d>>,
    /// Whether clients send it; otherwise they read it.
    sent: bool,
}

struct Member<'d> {
    name: &'d str,
    schema: &'d Value,
    required: bool,
}

/// The values that a schema allows, independent of a language.
enum Kind<'d> {
    Text,
    Words(Vec<&'d str>),
    Count,
    Truth,
    List(Box<Kind<'d>>),
    Named(&'d str),
    /// An object whose members are described inline.
    Members(Vec<Member<'d>>),
    /// An object with any members.
    Object,
    /// Any value.
    Free,
    Nullable(Box<Kind<'d>>),
}

fn shapes(document: &Value) -> Vec<Shape<'_>> {
    let mut sent = BTreeSet::new();
    let paths = document.get("paths").and_then(Value::as_object);
    for operation in
        paths.into_iter().flat_map(Map::values).filter_map(Value::as_object).flat_map(Map::values)
    {
        references(operation.get("requestBody").unwrap_or(&Value::Null), &mut sent);
    }
    let schemas = document.pointer("/components/schemas").and_then(Value::as_object);
    schemas
        .into_iter()
        .flatten()
        .filter(|(name, schema)| schema.get("properties").is_some() && !BY_HAND.contains(&name.as_str()))
        .map(|(name, schema)| Shape { name, members: members(schema), sent: sent.contains(name.as_str()) })
        .collect()
}

/// Schemas that are one of several others, with their names.
fn unions(document: &Value) -> Vec<(&str, Vec<Kind<'_>>)> {
    let schemas = document.pointer("/components/schemas").and_then(Value::as_object);
    schemas
        .into_iter()
        .flatten()
        .filter(|(name, _)| !BY_HAND.contains(&name.as_str()))
        .filter_map(|(name, schema)| {
            let each = schema.get("anyOf").and_then(Value::as_array)?;
            Some((name.as_str(), each.iter().map(kind).collect()))
        })
        .collect()
}

/// The names of the schemas that `value` refers to.
fn references<'d>(value: &'d Value, found: &mut BTreeSet<&'d str>) {
    match value {
        Value::Object(members) => {
            found.extend(
                members.get("$ref").and_then(Value::as_str).and_then(|to| to.strip_prefix(REFERENCE)),
            );
            members.values().for_each(|member| references(member, found));
        }
        Value::Array(elements) => elements.iter().for_each(|element| references(element, found)),
        _ => {}
    }
}

fn members(schema: &Value) -> Vec<Member<'_>> {
    let required: Vec<&str> = words(schema.get("required"));
    let properties = schema.get("properties").and_then(Value::as_object);
    properties
        .into_iter()
        .flatten()
        .map(|(name, schema)| Member { name, schema, required: required.contains(&name.as_str()) })
        .collect()
}

fn words(list: Option<&Value>) -> Vec<&str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

fn kind(schema: &Value) -> Kind<'_> {
    if let Some(name) = schema.get("$ref").and_then(Value::as_str).and_then(|to| to.strip_prefix(REFERENCE)) {
        return Kind::Named(name);
    }
    if let Some(word) = schema.get("const").and_then(Value::as_str) {
        return Kind::Words(vec![word]);
    }
    if let Some([of, Value::Object(null)]) = schema.get("anyOf").and_then(Value::as_array).map(Vec::as_slice)
        && null.get("type").is_some_and(|kind| kind == "null")
    {
        return Kind::Nullable(Box::new(kind(of)));
    }
    let mut types = words(schema.get("type"));
    types.extend(schema.get("type").and_then(Value::as_str));
    let nullable = types.contains(&"null");
    let words_of = schema.get("enum").map(|of| Kind::Words(words(Some(of))));
    let plain = match words_of {
        Some(words) => words,
        None => typed(schema, &types),
    };
    if nullable { Kind::Nullable(Box::new(plain)) } else { plain }
}

/// The values that a schema with a `type` allows, except null.
fn typed<'d>(schema: &'d Value, types: &[&str]) -> Kind<'d> {
    match types.iter().find(|name| **name != "null") {
        Some(&"string") => Kind::Text,
        Some(&"integer") => Kind::Count,
        Some(&"boolean") => Kind::Truth,
        Some(&"array") => Kind::List(Box::new(schema.get("items").map_or(Kind::Free, kind))),
        Some(&"object") if schema.get("properties").is_some() => Kind::Members(members(schema)),
        Some(&"object") => Kind::Object,
        _ => Kind::Free,
    }
}

fn told(schema: &Value) -> Option<&str> {
    schema.get("description").and_then(Value::as_str)
}

/// The Python module, with the types that are read. Types that are sent are arguments of methods there.
pub(super) fn python(document: &Value) -> String {
    let mut out = String::from(
        "\"\"\"What the server's answers look like: dictionaries with these members.\n\n\
         Generated from `spec/openapi.json` by `cargo xtask generate`: change it there. A newer server may say more.\n\"\"\"\n\n\
         from __future__ import annotations\n\nfrom typing import Any, Dict, List, Literal, Optional, TypedDict",
    );
    let unions = unions(document);
    out.push_str(if unions.is_empty() { "\n" } else { ", Union\n" });
    for (name, each) in &unions {
        // It is evaluated when the module is loaded, and may name a type that is defined below.
        let quoted = |kind: &Kind<'_>| match kind {
            Kind::Named(name) => format!("\"{name}\""),
            kind => python_type(kind),
        };
        let each: Vec<_> = each.iter().map(quoted).collect();
        let _ = write!(out, "\n{name} = Union[{}]\n", each.join(", "));
    }
    for Shape { name, members, .. } in shapes(document).iter().filter(|shape| !shape.sent) {
        if members.iter().any(|member| RESERVED.contains(&member.name)) {
            python_call(&mut out, name, members);
            continue;
        }
        let (required, others): (Vec<_>, Vec<_>) = members.iter().partition(|member| member.required);
        let base = if others.is_empty() { (*name).to_owned() } else { format!("_{name}") };
        let _ = write!(out, "\n\nclass {base}(TypedDict):\n");
        required.iter().for_each(|member| python_member(&mut out, member));
        if !others.is_empty() {
            let _ = write!(out, "\n\nclass {name}({base}, total=False):\n");
            others.iter().for_each(|member| python_member(&mut out, member));
        }
    }
    out
}

/// Reserved words of Python that are also names of members.
const RESERVED: &[&str] = &["from", "with", "for", "in", "is", "not", "and", "or", "if", "class", "pass"];

/// A type with a member whose name is a reserved word, so that the class syntax cannot be used.
fn python_call(out: &mut String, name: &str, members: &[Member<'_>]) {
    // Words in a type are in double quotes.
    let each: Vec<_> = members
        .iter()
        .map(|member| format!("    \"{}\": '{}',\n", member.name, python_type(&kind(member.schema))))
        .collect();
    let total = if members.iter().all(|member| member.required) { "" } else { ", total=False" };
    let _ = write!(out, "\n\n{name} = TypedDict(\"{name}\", {{\n{}}}{total})\n", each.concat());
}

fn python_member(out: &mut String, member: &Member<'_>) {
    let _ = writeln!(out, "    {}: {}", member.name, python_type(&kind(member.schema)));
    if let Some(told) = told(member.schema) {
        let _ = writeln!(out, "    \"\"\"{told}.\"\"\"");
    }
}

fn python_type(kind: &Kind<'_>) -> String {
    match kind {
        Kind::Text => "str".to_owned(),
        Kind::Words(words) => {
            let words: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
            format!("Literal[{}]", words.join(", "))
        }
        Kind::Count => "int".to_owned(),
        Kind::Truth => "bool".to_owned(),
        Kind::List(of) => format!("List[{}]", python_type(of)),
        Kind::Named(name) => (*name).to_owned(),
        Kind::Members(_) | Kind::Object => "Dict[str, Any]".to_owned(),
        Kind::Free => "Any".to_owned(),
        Kind::Nullable(of) => format!("Optional[{}]", python_type(of)),
    }
}

/// The TypeScript module, with types that are read and types that are sent.
pub(super) fn typescript(document: &Value) -> String {
    let mut out = String::from(
        "/**\n * What the server's answers and requests look like.\n *\n \
         * Generated from `spec/openapi.json` by `cargo xtask generate`: change it there. A newer server may say more.\n */\n\n\
         import type { JsonObject, JsonValue } from \"../json/value.js\";\n\
         import type { AttachmentRef } from \"../user-envelope/attachment.js\";\n",
    );
    typescript_unions(&mut out, document);
    for Shape { name, members, sent } in shapes(document) {
        let _ = write!(out, "\nexport interface {name} {{\n");
        members.iter().for_each(|member| typescript_member(&mut out, member, sent, "  "));
        out.push_str("}\n");
    }
    let free: Vec<_> =
        shapes(document).into_iter().filter(|shape| !shape.sent).flat_map(|shape| shape.members).collect();
    let free: BTreeSet<_> =
        free.iter().filter(|member| is_free(&kind(member.schema))).map(|member| member.name).collect();
    let free: Vec<_> = free.iter().map(|name| format!("\"{name}\"")).collect();
    let _ = write!(
        out,
        "\n/** The members above that stay as they were read. */\nexport const FREE: ReadonlySet<string> = new Set([{}]);\n",
        free.join(", ")
    );
    out
}

fn typescript_unions(out: &mut String, document: &Value) {
    for (name, each) in unions(document) {
        let each: Vec<_> = each.iter().map(|kind| typescript_type(kind, true, "")).collect();
        let _ = write!(out, "\nexport type {name} = {};\n", each.join(" | "));
    }
}

/// The module of the web page: plain JSON, with the members of all objects.
pub(super) fn page(document: &Value) -> String {
    let mut out = String::from(
        "/**\n * What the server's answers and requests look like.\n *\n \
         * Generated from `spec/openapi.json` by `cargo xtask generate`: change it there.\n */\n\n\
         /** A reference to a file (contract 5). */\nexport type AttachmentRef = object;\n",
    );
    typescript_unions(&mut out, document);
    for Shape { name, members, .. } in shapes(document) {
        let _ = write!(out, "\nexport interface {name} {{\n");
        members.iter().for_each(|member| typescript_member(&mut out, member, true, "  "));
        out.push_str("}\n");
    }
    out
}

fn is_free(kind: &Kind<'_>) -> bool {
    match kind {
        Kind::Free | Kind::Object | Kind::Members(_) => true,
        Kind::Nullable(of) => is_free(of),
        _ => false,
    }
}

fn typescript_member(out: &mut String, member: &Member<'_>, sent: bool, margin: &str) {
    if let Some(told) = told(member.schema) {
        let _ = writeln!(out, "{margin}/** {told}. */");
    }
    let mark = if member.required { "" } else { "?" };
    // Callers may leave a member out by omitting it or with `undefined`.
    let kind = typescript_type(&kind(member.schema), sent, margin);
    let open = if sent && !member.required && kind != "unknown" { " | undefined" } else { "" };
    let _ = writeln!(out, "{margin}{}{mark}: {kind}{open};", member.name);
}

fn typescript_type(kind: &Kind<'_>, sent: bool, margin: &str) -> String {
    match kind {
        Kind::Text => "string".to_owned(),
        Kind::Words(words) => {
            let words: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
            words.join(" | ")
        }
        Kind::Count => "number".to_owned(),
        Kind::Truth => "boolean".to_owned(),
        Kind::List(of) => {
            let of = typescript_type(of, sent, margin);
            let of = if of.contains(' ') { format!("({of})") } else { of };
            format!("{}{of}[]", if sent { "readonly " } else { "" })
        }
        Kind::Named("Attachment") => "AttachmentRef".to_owned(),
        Kind::Named(name) => (*name).to_owned(),
        Kind::Members(members) if sent => {
            let mut out = String::from("{\n");
            let inner = format!("{margin}  ");
            members.iter().for_each(|member| typescript_member(&mut out, member, sent, &inner));
            out + margin + "}"
        }
        // A sent value may be any JavaScript value that JSON can express.
        Kind::Object if sent => "object".to_owned(),
        Kind::Free if sent => "unknown".to_owned(),
        Kind::Members(_) | Kind::Object => "JsonObject".to_owned(),
        Kind::Free => "JsonValue".to_owned(),
        Kind::Nullable(of) => format!("{} | null", typescript_type(of, sent, margin)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn document() -> Value {
        json!({
            "paths": {"/x": {"post": {"requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Sent"}}}}}}},
            "components": {"schemas": {
                "Empty": {"type": "object"},
                "Either": {"anyOf": [{"$ref": "#/components/schemas/Row"}, {"type": "integer"}, {"type": "object", "required": ["most"], "properties": {"most": {"type": "integer"}}}]},
                "Problem": {"properties": {"code": {"type": "string"}}},
                "Sent": {"properties": {"inputs": {"type": "object"}, "more": {"type": "object", "properties": {"calls": {"type": "integer"}}}}},
                "Range": {"required": ["from", "to", "way"], "properties": {
                    "from": {"type": "integer"}, "to": {"$ref": "#/components/schemas/Row"}, "way": {"enum": ["up", "down"]},
                }},
                "Row": {"required": ["name", "at"], "properties": {
                    "at": {"type": "integer"}, "name": {"type": ["string", "null"], "description": "Who"},
                    "state": {"enum": ["open", "closed"]}, "shown": {}, "by": {"type": "array", "items": {"type": "string"}},
                }},
            }},
        })
    }

    #[test]
    fn python_has_what_is_read_with_optional_members_apart() {
        let text = python(&document());
        assert!(text.ends_with(
            "\n\nclass _Row(TypedDict):\n    at: int\n    name: Optional[str]\n    \"\"\"Who.\"\"\"\n\n\n\
             class Row(_Row, total=False):\n    by: List[str]\n    shown: Any\n    state: Literal[\"open\", \"closed\"]\n"
        ), "{text}");
        assert!(
            text.contains(
                "\n\nRange = TypedDict(\"Range\", {\n    \"from\": 'int',\n    \"to\": 'Row',\n    \"way\": 'Literal[\"up\", \"down\"]',\n})\n"
            ),
            "{text}"
        );
        assert!(
            text.contains("TypedDict, Union\n\nEither = Union[\"Row\", int, Dict[str, Any]]\n"),
            "{text}"
        );
        assert!(!text.contains("Sent") && !text.contains("Empty") && !text.contains("Problem"), "{text}");
    }

    #[test]
    fn typescript_has_what_is_read_and_what_is_sent_and_says_what_is_free() {
        let text = typescript(&document());
        for part in [
            "\nexport type Either = Row | number | {\n  most: number;\n};\n",
            "export interface Row {\n  at: number;\n  by?: string[];\n  /** Who. */\n  name: string | null;\n  shown?: JsonValue;\n",
            "export interface Sent {\n  inputs?: object | undefined;\n  more?: {\n    calls?: number | undefined;\n  } | undefined;\n}\n",
            "new Set([\"shown\"]);\n",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }
}
