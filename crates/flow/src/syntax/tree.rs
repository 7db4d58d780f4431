//! The file as a JSON value.
//!
//! Owns the conversion of nodes to JSON, and the digest of a whole file.

use crate::syntax::yaml::{Kind, Meaning, Node, Scalar};
use envoi_contract::{
    digest::Digest,
    json::{Number, Object, Value},
};
use std::collections::BTreeMap;

/// The node as JSON. Member order and number tokens are kept.
pub(crate) fn value(node: &Node) -> Value {
    match &node.kind {
        Kind::Scalar(scalar) => scalar_value(scalar),
        Kind::Sequence(items) => Value::Array(items.iter().map(value).collect()),
        Kind::Mapping(members) => {
            Value::Object(object(members.iter().map(|(key, node)| (key.text.as_str(), node))))
        }
    }
}

/// The value of a mapping without the member `name`.
pub(crate) fn value_without(node: &Node, name: &str) -> Value {
    match &node.kind {
        Kind::Mapping(members) => {
            let kept = members.iter().filter(|(key, _)| key.text != name);
            Value::Object(object(kept.map(|(key, node)| (key.text.as_str(), node))))
        }
        _ => value(node),
    }
}

fn object<'n>(members: impl Iterator<Item = (&'n str, &'n Node)>) -> Object {
    members.map(|(name, node)| (name, value(node))).collect()
}

fn scalar_value(scalar: &Scalar) -> Value {
    match scalar.meaning() {
        Meaning::Null => Value::Null,
        Meaning::Bool(flag) => Value::Bool(flag),
        Meaning::Number => {
            Number::parse(&scalar.text).map_or_else(|| Value::from(scalar.text.as_str()), Value::Number)
        }
        Meaning::Text => Value::from(scalar.text.as_str()),
    }
}

/// SHA-256 of the tree as compact JSON, with members sorted by code point. Comments, the order of keys and the
/// quoting style do not affect it. Defaults do not either, because they are not in the tree.
pub(crate) fn digest(root: &Node) -> Digest {
    Digest::of(sorted(&value(root)).compact().as_bytes())
}

/// Like [`digest`], for a file and the files that it names, by their paths.
pub(crate) fn digest_with(root: &Node, parts: BTreeMap<String, Value>) -> Digest {
    let parts = Value::Object(parts.into_iter().collect());
    Digest::of(sorted(&Value::Array(vec![value(root), parts])).compact().as_bytes())
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        Value::Object(members) => {
            let mut pairs: Vec<(&str, Value)> =
                members.iter().map(|(name, member)| (name, sorted(member))).collect();
            pairs.sort_by(|a, b| a.0.cmp(b.0));
            Value::Object(pairs.into_iter().collect())
        }
        other => other.clone(),
    }
}
