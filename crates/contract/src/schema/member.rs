//! A message as a table of members, and the schema that is generated from it.

use alloc::vec::Vec;

use super::shape::described;
use crate::json::{Object, Value};

/// A kind of document.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) title: &'static str,
    pub(super) description: &'static str,
    pub(super) body: Body,
    /// Rules between members.
    pub(super) rules: &'static [fn() -> Object],
}

/// The content of a document.
#[derive(Debug)]
pub(super) enum Body {
    /// Members in the order in which they are written, and whether others are kept or refused.
    Object(&'static [Member], Others),
    /// Only the named members of the table; others are kept.
    Chosen(&'static [Member], &'static [&'static str]),
    /// Elements of one kind.
    List(fn() -> Object),
}

/// The treatment of members that are not in the table.
#[derive(Clone, Copy, Debug)]
pub(super) enum Others {
    Kept,
    Refused,
}

/// A member.
#[derive(Debug)]
pub(super) struct Member {
    name: &'static str,
    required: bool,
    shape: fn() -> Object,
    description: &'static str,
}

/// A required member.
pub(super) const fn must(name: &'static str, shape: fn() -> Object, description: &'static str) -> Member {
    Member { name, required: true, shape, description }
}

/// An optional member.
pub(super) const fn may(name: &'static str, shape: fn() -> Object, description: &'static str) -> Member {
    Member { name, required: false, shape, description }
}

impl Message {
    /// The schema without the keywords that only a whole document has.
    pub(super) fn to_object(&self) -> Object {
        let mut schema = Object::from([
            ("title", Value::from(self.title)),
            ("description", Value::from(self.description)),
        ]);
        let body = match self.body {
            Body::Object(members, others) => object(members.iter(), others),
            Body::Chosen(members, names) => {
                object(members.iter().filter(|member| names.contains(&member.name)), Others::Kept)
            }
            Body::List(element) => {
                Object::from([("type", Value::from("array")), ("items", Value::Object(element()))])
            }
        };
        for (keyword, value) in body {
            schema.insert(keyword, value);
        }
        if !self.rules.is_empty() {
            let rules: Vec<Value> = self.rules.iter().map(|rule| Value::Object(rule())).collect();
            schema.insert("allOf", Value::from(rules));
        }
        schema
    }
}

fn object<'a>(members: impl Iterator<Item = &'a Member>, others: Others) -> Object {
    let mut required = Vec::new();
    let mut properties = Object::new();
    for Member { name, required: must, shape, description } in members {
        required.extend(must.then_some(*name));
        properties.insert(*name, Value::Object(described(description, shape())));
    }
    let mut schema = Object::from([("type", Value::from("object"))]);
    if !required.is_empty() {
        schema.insert("required", Value::from(required));
    }
    schema.insert("properties", Value::Object(properties));
    schema.insert("additionalProperties", Value::from(matches!(others, Others::Kept)));
    schema
}
