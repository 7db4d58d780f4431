//! Writes rows as JSON text (feature `serde`): in the form that the store keeps, and in the form that programs see.
//!
//! A contract value and a time are serialized as newtype structs with special names, which formats such as JSON
//! ignore. The serializers [`kept`] and [`shown`] know the names and write the values in these forms:
//!
//! | | a contract value | a time | a member without a value |
//! |---|---|---|---|
//! | [`kept`] | an object or list that any reader keeps: itself; else its JSON as a string | milliseconds | left out |
//! | [`shown`] | itself | RFC 3339 | `null` |
//! | other formats | a string with its JSON | milliseconds | as the format does it |
//!
//! The forms of `kept` and of other formats are both read. Rows of earlier versions, in which every value was a
//! string, therefore need no change.
//!
//! [`kept`] refuses values that could not be read again: a value that is too deep or too large for the strict reader,
//! and a contract value that breaks a rule of its reader ([`crate::handoff::Handoff::check`]). A written row is
//! therefore known to be readable without reading it again.

mod names;
mod plain;
mod writer;

pub use names::{JSON, TIME};
pub use writer::{Unwritable, kept, shown};
