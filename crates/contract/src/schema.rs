//! JSON Schemas (draft 2020-12) of the messages, each generated from a table of members.
//!
//! A table describes what the codec reads. Tests compare the two, by the order of the members and with generated
//! documents. A rule that a schema cannot express is in its description. This module does not validate, because good
//! validators exist.
//!
//! ```
//! use envoi_contract::schema::Schema;
//!
//! let handoff = Schema::named("handoff").map(Schema::to_value).ok_or("no such schema")?;
//! let summary = handoff.get("properties").and_then(|members| members.get("summary"));
//! assert_eq!(summary.and_then(|summary| summary.get("maxLength")?.as_u53()), Some(2000));
//! # Ok::<(), &str>(())
//! ```

mod envelope;
mod handoff;
mod member;
mod routing;
mod shape;
mod skill_report;
mod user_envelope;
mod vectors;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::json::{Object, Value};
use member::Message;

/// The schema of one message.
///
/// Its `$id` is `urn:envoi:NAME:v1`. It refers to nothing outside itself.
#[derive(Clone, Copy, Debug)]
pub struct Schema {
    /// Its name, such as `handoff`; the file is `NAME.schema.json`.
    pub name: &'static str,
    message: &'static Message,
    /// The schemas in its `$defs`.
    parts: &'static [Part],
}

/// A message that is part of others: its name in `$defs`, and its schema.
type Part = (&'static str, fn() -> Object);

/// Every schema, in the order of the contracts.
pub const ALL: [Schema; 10] = [
    Schema { name: "routing-signal", message: &routing::SIGNAL, parts: &[("route", routing::route)] },
    Schema { name: "routing-signal-resolver", message: &routing::RESOLVER_SIGNAL, parts: &[] },
    Schema { name: "routing-input", message: &routing::INPUT, parts: &[("routing", routing::routing)] },
    Schema {
        name: "handoff",
        message: &handoff::HANDOFF,
        parts: &[("signal", routing::signal), ("route", routing::route), ("time", shape::time)],
    },
    Schema {
        name: "handoff-input",
        message: &handoff::INPUT,
        parts: &[("signal", routing::signal), ("route", routing::route), ("moment", shape::moment)],
    },
    Schema { name: "envelope", message: &envelope::STATE, parts: ENVELOPE_PARTS },
    Schema { name: "envelope-dict", message: &envelope::DICT, parts: ENVELOPE_PARTS },
    Schema { name: "skill-report", message: &skill_report::REPORT, parts: &[] },
    Schema {
        name: "user-envelope",
        message: &user_envelope::ANSWER,
        parts: &[("reference", user_envelope::reference)],
    },
    Schema { name: "conformance-vectors", message: &vectors::FILE, parts: &[("case", vectors::case)] },
];

const ENVELOPE_PARTS: &[Part] = &[
    ("interrupt", envelope::interrupt),
    ("response", envelope::response),
    ("record", envelope::record),
    ("time", shape::time),
];

impl Schema {
    /// The schema of the message `name`.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Schema> {
        ALL.iter().find(|schema| schema.name == name)
    }

    /// The title of the message.
    #[must_use]
    pub const fn title(&self) -> &'static str {
        self.message.title
    }

    /// The schema as JSON.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut schema = Object::from([
            ("$schema", Value::from("https://json-schema.org/draft/2020-12/schema")),
            ("$id", Value::from(format!("urn:envoi:{}:v1", self.name))),
        ]);
        for (keyword, value) in self.message.to_object() {
            schema.insert(keyword, value);
        }
        let parts: Vec<(String, Value)> =
            self.parts.iter().map(|(name, part)| (String::from(*name), Value::Object(part()))).collect();
        if !parts.is_empty() {
            schema.insert("$defs", Value::Object(parts.into_iter().collect()));
        }
        Value::Object(schema)
    }
}
