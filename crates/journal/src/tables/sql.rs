//! The form of ids, counters and closed vocabularies in columns.

use rusqlite::types::Type;
use serde::{Serialize, de::DeserializeOwned};
use std::error::Error;

/// A run's short key, by which its rows refer to it.
pub(crate) type RunKey = i64;

/// A count for a column; larger counts become the largest column value.
pub(crate) fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A count from a column; there are none below zero.
pub(crate) fn unsigned(column: i64) -> u64 {
    u64::try_from(column).unwrap_or(0)
}

/// An event as a line of JSON, for callers that pass it on: it is not decoded.
pub(crate) fn line(seq: u64, at_ms: i64, body: &str) -> String {
    format!("{{\"seq\":{seq},\"at\":{at_ms},\"event\":{body}}}")
}

/// The body of an event in its [`line`], or nothing if that is no line of this place and time.
pub(crate) fn body(line: &str, seq: u64, at_ms: i64) -> Option<&str> {
    line.strip_prefix(&format!("{{\"seq\":{seq},\"at\":{at_ms},\"event\":"))?.strip_suffix('}')
}

/// The word of a closed vocabulary, as in events.
pub(crate) fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        Ok(other) => other.to_string(),
        Err(_) => String::new(),
    }
}

/// A value of a closed vocabulary, or an id, from a text column.
pub(crate) fn read<T: DeserializeOwned>(row: &rusqlite::Row<'_>, column: &str) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    from_word(text).map_err(|error| damaged(error.into()))
}

/// As [`read`], for a column that may be null.
pub(crate) fn read_optional<T: DeserializeOwned>(
    row: &rusqlite::Row<'_>,
    column: &str,
) -> rusqlite::Result<Option<T>> {
    let text: Option<String> = row.get(column)?;
    text.map(from_word).transpose().map_err(|error| damaged(error.into()))
}

fn from_word<T: DeserializeOwned>(text: String) -> Result<T, serde_json::Error> {
    serde_json::from_value(serde_json::Value::String(text))
}

/// Why an event cannot be understood.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub(crate) struct EventDamage {
    /// Its place in its run.
    pub(crate) seq: u64,
    /// The decoder's finding.
    pub(crate) reason: String,
}

/// The fault of a column, without the words of the database about it.
pub(crate) fn reason(error: rusqlite::Error) -> Box<dyn Error + Send + Sync> {
    match error {
        rusqlite::Error::FromSqlConversionFailure(_, _, reason) => reason,
        error => error.into(),
    }
}

/// A column that cannot be understood.
pub(crate) fn damaged(error: Box<dyn Error + Send + Sync>) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, Type::Text, error)
}
