//! How serializers recognize a value of the contracts and a time in stored rows (feature `serde`).
//!
//! In a row a value is the text of its compact JSON, and a time is a number. Both are written as newtype structs with these
//! names, which formats such as JSON do not show. A serializer that shows rows to programs can write what they stand for.

/// The name of a text that is JSON.
pub const JSON: &str = "envoi::json";

/// The name of a number that is a time, in milliseconds since 1970.
pub const TIME: &str = "envoi::time";
