//! The names that tell a serializer the meaning of a newtype struct.

/// The name of a text that is JSON.
pub const JSON: &str = "envoi::json";

/// The name of a number that is a time, in milliseconds since 1970.
pub const TIME: &str = "envoi::time";
