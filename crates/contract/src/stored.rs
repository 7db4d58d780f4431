//! How rows are written as JSON text (feature `serde`): in the form that the store keeps, and in the form that programs are shown.
//!
//! A value of the contracts and a time are written as newtype structs with the names below, which formats such as JSON do not show.
//! A serializer that knows the names can write what they stand for. [`kept`] and [`shown`] do.
//!
//! | | a value of the contracts | a time | a member without a value |
//! |---|---|---|---|
//! | [`kept`] | itself, where it is an object or a list that any reader of JSON gives back unchanged; else a string with its JSON | milliseconds | left out |
//! | [`shown`] | itself | RFC 3339 | `null` |
//! | other formats | a string with its JSON | milliseconds | as the format has it |
//!
//! The forms of `kept` and of other formats are both read, whichever of them wrote a row. So rows of earlier versions, in which every value
//! was a string, stay as they are.
//!
//! [`kept`] refuses what could not be read again: a value that is too deep or too large for the strict reader, and contract values that
//! break a rule of their reader ([`crate::handoff::Handoff::check`]). So a row need not be read again in order to trust it.

mod names;
mod plain;
mod writer;

pub use names::{JSON, TIME};
pub use writer::{Unwritable, kept, shown};
