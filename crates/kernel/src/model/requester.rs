//! The requester of a run, as the caller states it (contract 3: `user_id`, `session_id`, `metadata`,
//! `raw_input`).
//!
//! Owns the four members, their bounds and their defaults in an envelope. They affect no decision: the
//! [`Principal`](crate::model::ids::Principal) identifies the starter and the tenant of a run.

use envoi_contract::json::{MAX_PART_DEPTH, Object, Value};
use serde::{Deserialize, Serialize};

/// Maximum length of `user_id` and `session_id`. A2A clients choose context ids of up to this size.
const MAX_ID_BYTES: usize = 256;

/// Maximum size of `metadata`, as JSON on one line. It is stored in the journal and in every envelope.
const MAX_METADATA_BYTES: usize = 64 * 1024;

/// Maximum size of `raw_input`. It is stored in the journal beside the inputs that were derived from it.
pub const MAX_RAW_INPUT_BYTES: usize = 1024 * 1024;

/// Members of an envelope's `metadata` that the engine writes itself.
const RESERVED: [&str; 8] =
    ["run_id", "flow", "flow_digest", "workspace", "tenant", "envoi", "forked_from", "forked_at_step"];

/// The requester of a run. Every member is optional.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Requester {
    /// The user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<String>,
    /// The conversation that the run belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Further data that the caller wants to find in the envelope.
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    pub metadata: Object,
    /// The request as received, before inputs were derived from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_input: Option<String>,
}

/// Which member of a requester exceeds its bounds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequesterError {
    /// An id is empty or too long.
    #[error("`{name}` has {bytes} bytes; expected 1 to {}", MAX_ID_BYTES)]
    Id {
        /// Its member.
        name: &'static str,
        /// Its length in bytes.
        bytes: usize,
    },
    /// The engine writes this member itself.
    #[error("`metadata.{name}` is written by Envoi; choose another name")]
    Reserved {
        /// The member.
        name: &'static str,
    },
    /// The metadata is too large.
    #[error("`metadata` has {bytes} bytes; at most {} are kept", MAX_METADATA_BYTES)]
    Metadata {
        /// Its size as compact JSON, in bytes.
        bytes: usize,
    },
    /// The metadata is nested too deeply.
    #[error("`metadata` has {depth} levels of nesting; at most {MAX_PART_DEPTH} are kept")]
    Nested {
        /// Its number of levels.
        depth: usize,
    },
    /// The raw input is too large.
    #[error("`raw_input` has {bytes} bytes; at most {} are kept", MAX_RAW_INPUT_BYTES)]
    RawInput {
        /// Its length in bytes.
        bytes: usize,
    },
}

impl Requester {
    /// Whether no member is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Checks that all members are within their bounds.
    ///
    /// # Errors
    /// An id is empty or too long; the metadata or the raw input is too large; or the metadata use a name
    /// that is reserved for the engine.
    pub fn check(&self) -> Result<(), RequesterError> {
        for (name, id) in [("user_id", &self.user_id), ("session_id", &self.session_id)] {
            if let Some(id) = id.as_ref().filter(|id| id.is_empty() || id.len() > MAX_ID_BYTES) {
                return Err(RequesterError::Id { name, bytes: id.len() });
            }
        }
        if let Some(name) = RESERVED.iter().copied().find(|name| self.metadata.contains_key(name)) {
            return Err(RequesterError::Reserved { name });
        }
        let bytes =
            if self.metadata.is_empty() { 0 } else { Value::Object(self.metadata.clone()).compact().len() };
        if bytes > MAX_METADATA_BYTES {
            return Err(RequesterError::Metadata { bytes });
        }
        let depth = Value::Object(self.metadata.clone()).depth();
        if depth > MAX_PART_DEPTH {
            return Err(RequesterError::Nested { depth });
        }
        match self.raw_input.as_ref().map(String::len) {
            Some(bytes) if bytes > MAX_RAW_INPUT_BYTES => Err(RequesterError::RawInput { bytes }),
            _ => Ok(()),
        }
    }

    /// `metadata` without the names that are reserved for the engine, for callers that cannot know them.
    #[must_use]
    pub fn without_reserved(metadata: &Object) -> Object {
        let kept = metadata.iter().filter(|(name, _)| !RESERVED.contains(name));
        kept.map(|(name, value)| (name.to_owned(), value.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_and_reserved_names_are_refused_with_a_sentence() {
        let text = |bytes: usize| Some("x".repeat(bytes));
        let metadata = |name: &str, bytes: usize| Object::from([(name, Value::from("x".repeat(bytes)))]);
        let nested = |levels: usize| {
            let value = Value::parse_str(&format!("{}{}", "[".repeat(levels), "]".repeat(levels)));
            Object::from([("deep", value.unwrap())])
        };
        let none = Requester::default;
        for (requester, wrong) in [
            (none(), None),
            (Requester { user_id: text(MAX_ID_BYTES), ..none() }, None),
            (Requester { user_id: text(0), ..none() }, Some("`user_id`")),
            (Requester { session_id: text(MAX_ID_BYTES + 1), ..none() }, Some("`session_id`")),
            (Requester { metadata: metadata("team", 10), ..none() }, None),
            (Requester { metadata: metadata("run_id", 10), ..none() }, Some("`metadata.run_id`")),
            (Requester { metadata: metadata("team", MAX_METADATA_BYTES), ..none() }, Some("`metadata` has")),
            (Requester { metadata: nested(MAX_PART_DEPTH - 1), ..none() }, None),
            (Requester { metadata: nested(MAX_PART_DEPTH), ..none() }, Some("`metadata` has 101 levels")),
            (Requester { raw_input: text(MAX_RAW_INPUT_BYTES), ..none() }, None),
            (Requester { raw_input: text(MAX_RAW_INPUT_BYTES + 1), ..none() }, Some("`raw_input`")),
        ] {
            let found = requester.check().err();
            assert_eq!(found.is_some(), wrong.is_some(), "{found:?}");
            assert!(
                found.map(|error| error.to_string()).unwrap_or_default().contains(wrong.unwrap_or_default())
            );
        }
        let both = Object::from([("run_id", Value::from("r")), ("team", Value::from("t"))]);
        assert_eq!(Requester::without_reserved(&both), Object::from([("team", Value::from("t"))]));
    }

    #[test]
    fn a_run_that_began_before_there_were_requesters_has_none() {
        let read: Requester = serde_json::from_str("{}").unwrap();
        assert!(read.is_empty());
        assert_eq!(serde_json::to_string(&read).unwrap(), "{}");
    }
}
