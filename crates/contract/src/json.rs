//! JSON for the contracts: a strict reader, a deterministic writer, and values that lose nothing in between.
//!
//! Owns the value model, the reader and the writer. The reader refuses input that two programs could read differently
//! (duplicate names, lone surrogates, trailing data). It keeps details that a program could lose (member order,
//! number tokens). It does not depend on any contract.
//!
//! ```
//! use envoi_contract::json::Value;
//!
//! let value = Value::parse_str(r#"{"z": 1.00, "a": [1e400, -0]}"#)?;
//! assert_eq!(value.compact(), r#"{"z":1.00,"a":[1e400,-0]}"#);
//!
//! let refused = Value::parse_str("{\"a\": 1,\n \"a\": 2}").unwrap_err();
//! assert_eq!((refused.line, refused.column, refused.pointer.as_str()), (2, 2, "/a"));
//! # Ok::<(), envoi_contract::json::Error>(())
//! ```

mod error;
mod locate;
mod members;
mod number;
mod read;
mod scan;
mod search;
mod write;

#[cfg(test)]
mod tests;

use alloc::string::String;
use alloc::vec::Vec;

pub use error::{Error, Position};
pub use locate::locate;
pub use members::Members;
pub(crate) use number::MAX_U53;
pub use number::Number;
pub(crate) use read::escape_segment;
pub use read::{MAX_BYTES, MAX_DEPTH, MAX_PART_DEPTH};
pub(crate) use search::search;
pub use write::write_string;
pub(crate) use write::{CompactObject, compact as write_compact};

/// A JSON object. Members are in the order in which they were read or inserted.
pub type Object = Members<Value>;

/// Any JSON value. Member order, string values and number tokens are kept.
///
/// Two values are equal if they would be written as the same bytes. So `1.0` and `1` differ, and so do two objects
/// with the same members in another order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Value {
    /// `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, kept as its token.
    Number(Number),
    /// A string, unescaped.
    String(String),
    /// An array.
    Array(Vec<Value>),
    /// An object.
    Object(Object),
}

impl Value {
    /// Reads one whole document.
    ///
    /// # Errors
    /// [`Error`] with the location, for anything but one JSON document in UTF-8 within [`MAX_BYTES`] and
    /// [`MAX_DEPTH`], and for an object with two members of the same name.
    pub fn parse(bytes: &[u8]) -> Result<Value, Error> {
        read::document(bytes)
    }

    /// Reads one whole document that is already known to be UTF-8.
    ///
    /// # Errors
    /// As [`Value::parse`].
    pub fn parse_str(text: &str) -> Result<Value, Error> {
        read::document(text.as_bytes())
    }

    /// The value on one line, without white space.
    #[must_use]
    pub fn compact(&self) -> String {
        let mut out = String::new();
        write::compact(self, &mut out);
        out
    }

    /// The value indented by two spaces, ending with one newline.
    #[must_use]
    pub fn pretty(&self) -> String {
        let mut out = String::new();
        write::pretty(self, 0, &mut out);
        out.push('\n');
        out
    }

    /// The nesting depth of arrays and objects, including this value: 0 for a value that is neither.
    #[must_use]
    pub fn depth(&self) -> usize {
        let deepest = match self {
            Value::Array(items) => items.iter().map(Value::depth).max(),
            Value::Object(members) => members.values().map(Value::depth).max(),
            _ => return 0,
        };
        deepest.unwrap_or_default().saturating_add(1)
    }

    /// The string, if it is one.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The truth value, if it is one.
    #[must_use]
    pub const fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(truth) => Some(*truth),
            _ => None,
        }
    }

    /// The number, if it is one.
    #[must_use]
    pub const fn as_number(&self) -> Option<&Number> {
        match self {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    /// The integer, if it is a number that [`Number::as_u53`] accepts.
    #[must_use]
    pub fn as_u53(&self) -> Option<u64> {
        self.as_number().and_then(Number::as_u53)
    }

    /// The members, if it is an object.
    #[must_use]
    pub const fn as_object(&self) -> Option<&Object> {
        match self {
            Value::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The elements, if it is an array.
    #[must_use]
    pub fn as_array(&self) -> Option<&[Value]> {
        match self {
            Value::Array(elements) => Some(elements),
            _ => None,
        }
    }

    /// The member `name`, if this is an object that has it.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.as_object().and_then(|object| object.get(name))
    }

    /// True if it is `null`.
    #[must_use]
    pub const fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// The kind of the value, with its article, for messages.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::String(String::from(text))
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::String(text)
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Value {
        Value::Bool(truth)
    }
}

impl From<u64> for Value {
    fn from(integer: u64) -> Value {
        Value::Number(Number::from(integer))
    }
}

impl From<Number> for Value {
    fn from(number: Number) -> Value {
        Value::Number(number)
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Value {
        Value::Object(object)
    }
}

impl<V: Into<Value>> From<Vec<V>> for Value {
    fn from(elements: Vec<V>) -> Value {
        Value::Array(elements.into_iter().map(Into::into).collect())
    }
}

/// `None` is `null`.
impl<V: Into<Value>> From<Option<V>> for Value {
    fn from(value: Option<V>) -> Value {
        value.map_or(Value::Null, Into::into)
    }
}
