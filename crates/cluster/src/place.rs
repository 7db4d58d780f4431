//! The place of an attempt: the worker, its incarnation, and the instance of its machine.
//!
//! It is in `attempt_started`, where the local engine puts only the boot.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The name of a worker: letters, digits, `-` and `.`, at most 60. A disk has this name, and no other.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct WorkerId(String);

/// Text that is not a valid place or worker name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no {expected}")]
pub struct BadPlace {
    /// The text.
    pub text: String,
    /// The expected form.
    pub expected: &'static str,
}

impl WorkerId {
    /// Checks the spelling.
    ///
    /// # Errors
    /// [`BadPlace`]: the text is not valid.
    pub fn new(text: impl Into<String>) -> Result<Self, BadPlace> {
        let text = text.into();
        let is_fine = (1..=60).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.');
        let expected = "name of a worker: 1 to 60 letters, digits, `-` and `.`";
        if is_fine { Ok(Self(text)) } else { Err(BadPlace { text, expected }) }
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for WorkerId {
    type Error = BadPlace;
    fn try_from(text: String) -> Result<Self, BadPlace> {
        Self::new(text)
    }
}

impl From<WorkerId> for String {
    fn from(worker: WorkerId) -> Self {
        worker.0
    }
}

/// A worker in one incarnation, written `worker#incarnation@instance`.
///
/// ```
/// use envoi_cluster::Place;
///
/// let place = Place::parse("gpu-1#3@5e0c")?;
/// assert_eq!((place.worker.as_str(), place.incarnation, place.instance.as_str()), ("gpu-1", 3, "5e0c"));
/// assert_eq!(place.to_string(), "gpu-1#3@5e0c");
/// # Ok::<(), envoi_cluster::BadPlace>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// The worker.
    pub worker: WorkerId,
    /// Number of the incarnation: how often the worker has joined, including this time.
    pub incarnation: u64,
    /// The running instance of its machine, with its disk. No process of an earlier instance exists any more.
    /// Two instances that run at the same time differ, even two containers of one host, and even if one disk
    /// is a copy of the other.
    pub instance: String,
}

impl Place {
    /// Parses `worker#incarnation@instance`.
    ///
    /// # Errors
    /// [`BadPlace`]: the text does not have that form.
    pub fn parse(text: &str) -> Result<Self, BadPlace> {
        let bad = || BadPlace {
            text: text.to_owned(),
            expected: "place: `worker#incarnation@instance` was expected",
        };
        let (worker, rest) = text.split_once('#').ok_or_else(bad)?;
        let (incarnation, instance) = rest.split_once('@').ok_or_else(bad)?;
        let worker = WorkerId::new(worker)?;
        let incarnation = incarnation.parse().ok().filter(|number| *number > 0).ok_or_else(bad)?;
        Ok(Self { worker, incarnation, instance: instance.to_owned() })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}@{}", self.worker, self.incarnation, self.instance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_of_another_form_is_refused() {
        for text in ["", "instance-1", "w#1", "w@b", "w#0@b", "w#x@b", "#1@b", "a b#1@c", "w#@b"] {
            assert!(Place::parse(text).is_err(), "{text}");
        }
        assert_eq!(Place::parse("w#1@").unwrap().instance, "");
    }
}
