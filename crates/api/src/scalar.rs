//! Values that several rows use: times, words of a fixed set, any JSON.

use envoi_contract::{json, time::Timestamp};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use std::{borrow::Cow, fmt};

/// A moment: RFC 3339, in UTC, with milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub Timestamp);

impl From<Timestamp> for Time {
    fn from(at: Timestamp) -> Self {
        Self(at)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        let at = Timestamp::parse(&text);
        at.map(Self).ok_or_else(|| D::Error::custom(format_args!("`{text}` is not a time of RFC 3339")))
    }
}

impl JsonSchema for Time {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Time".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "format": "date-time"})
    }
}

/// The schema of a digest.
pub(crate) fn digest(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"})
}

/// The schema of an optional digest.
pub(crate) fn maybe_digest(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": ["string", "null"], "pattern": "^sha256:[0-9a-f]{64}$"})
}

/// The schema of an amount of dollars.
pub(crate) fn dollars(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "pattern": "^[0-9]+([.][0-9]+)?$"})
}

/// The schema of an optional amount of dollars.
pub(crate) fn maybe_dollars(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": ["string", "null"], "pattern": "^[0-9]+([.][0-9]+)?$"})
}

/// The schema of an object whose members the client chooses.
pub(crate) fn object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "additionalProperties": true})
}

/// The schema of the id of a step.
pub(crate) fn step(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "pattern": "^[a-z][a-z0-9_-]{0,63}$"})
}

/// Converts a contract value to a serde value. Numbers that serde's values cannot represent exactly are rounded.
#[must_use]
pub fn any(value: &json::Value) -> serde_json::Value {
    // A serializer wrote the text, so it can be read.
    serde_json::from_str(&value.compact()).unwrap_or(serde_json::Value::Null)
}

/// Declares an enum of words: the name of each variant in Rust, and its word in JSON.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// All values.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The words of all values.
            pub const WORDS: &'static [&'static str] = &[$($word,)+];

            /// The word in JSON.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }

            /// The value with this word.
            #[must_use]
            pub fn of(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|found| found.word() == word)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.word())
            }
        }

        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({"type": "string", "enum": Self::WORDS})
            }
        }
    };
}

pub(crate) use words;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_and_read_as_rfc_3339_in_utc() {
        let at = Time(Timestamp::from_millis(1_763_800_000_123));
        let text = serde_json::to_string(&at).unwrap();
        assert_eq!(text, "\"2025-11-22T08:26:40.123Z\"");
        assert_eq!(serde_json::from_str::<Time>(&text).unwrap(), at);
        for bad in ["7", "\"yesterday\"", "null"] {
            assert!(serde_json::from_str::<Time>(bad).is_err(), "{bad}");
        }
    }
}
