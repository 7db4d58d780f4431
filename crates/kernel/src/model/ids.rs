//! Ids of flows, steps, runs, visits, attempts, interrupts, timers and model calls.
//!
//! Owns their spelling and their parsing. Ids that a run creates are derived from its own id and the sequence
//! number of the creating event, so that repeating a decision gives the same ids.

use core::fmt;
use envoi_contract::time::Timestamp;
use serde::{Deserialize, Serialize, Serializer, ser::Error as _};
use sha2::{Digest as _, Sha256};
use std::sync::Arc;

/// Why a text is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {expected}")]
pub struct BadId {
    /// The given text.
    pub text: String,
    /// A description of the accepted form.
    pub expected: &'static str,
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $expected:literal, $valid:expr) => {
        $(#[$doc])*
        ///
        /// A copy shares the text: a run in flight holds each of its ids many times.
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
        #[serde(try_from = "String")]
        pub struct $name(Arc<str>);

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl $name {
            /// Checks the spelling.
            ///
            /// # Errors
            /// [`BadId`] has the expected form.
            pub fn new(text: impl Into<String>) -> Result<Self, BadId> {
                let text = text.into();
                if $valid(&text) { Ok(Self(text.into())) } else { Err(BadId { text, expected: $expected }) }
            }

            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadId;
            fn try_from(text: String) -> Result<Self, BadId> {
                Self::new(text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.as_str().to_owned()
            }
        }
    };
}

text_id!(
    /// The id of a flow: `[a-z][a-z0-9_-]{0,63}`.
    FlowId,
    "a lower-case letter, then up to 63 of `a-z 0-9 _ -`",
    is_key
);
text_id!(
    /// The id of a step: `[a-z][a-z0-9_-]{0,63}`, unique within its flow.
    StepId,
    "a lower-case letter, then up to 63 of `a-z 0-9 _ -`",
    is_key
);
text_id!(
    /// The id of a run: `run_` and 26 letters or digits (a UUIDv7 in Crockford's base 32).
    RunId,
    "`run_` and up to 60 of `a-z 0-9`",
    |text: &str| is_prefixed(text, "run_")
);
text_id!(
    /// The id of an interrupt: `int_` and 26 letters or digits.
    InterruptId,
    "`int_` and up to 60 of `a-z 0-9`",
    |text: &str| is_prefixed(text, "int_")
);
text_id!(
    /// The id of a timer: `tim_` and 26 letters or digits.
    TimerId,
    "`tim_` and up to 60 of `a-z 0-9`",
    |text: &str| is_prefixed(text, "tim_")
);
text_id!(
    /// The id of a model call: `call_` and 26 letters or digits. The caller creates it.
    CallId,
    "`call_` and up to 60 of `a-z 0-9`",
    |text: &str| is_prefixed(text, "call_")
);

/// Whether `text` is a valid id of a flow or a step.
#[must_use]
pub fn is_key(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_lowercase())
        && text.len() <= 64
        && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-')
}

fn is_prefixed(text: &str, prefix: &str) -> bool {
    text.strip_prefix(prefix).is_some_and(|rest| {
        (1..=60).contains(&rest.len()) && rest.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    })
}

/// The sequence number of an event in its run: from 0, without gaps.
pub type Seq = u64;

/// The nth entry of a run into a step, in a scope.
///
/// `scope` is the path of inner flows and items, joined by dots: `build.2` is the flow that the second visit
/// of `build` runs, `0` the first item of a `for_each`, `0.build.2` and `build.2.0` are nested combinations
/// of both. It is empty in the run's own flow. `visit` counts from 1.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct VisitId {
    /// Path of inner flows and items; empty in the run's own flow.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub scope: String,
    /// The step.
    pub step: StepId,
    /// Number of the entry, from 1.
    pub visit: u32,
}

impl VisitId {
    /// The scope of the flow that contains the step: this scope without the item.
    #[must_use]
    pub fn flow_scope(&self) -> &str {
        match self.item() {
            Some(_) => self.scope.rsplit_once('.').map_or("", |(flow, _)| flow),
            None => &self.scope,
        }
    }

    /// The index of the item of a `for_each`, from 0. `None`: not an item.
    #[must_use]
    pub fn item(&self) -> Option<u64> {
        let mut segments = self.scope.split('.').filter(|segment| !segment.is_empty());
        let mut item = None;
        while let Some(segment) = segments.next() {
            item = segment.parse().ok();
            if item.is_none() {
                segments.next();
            }
        }
        item
    }

    /// The visit that this one is an item of; otherwise this visit.
    #[must_use]
    pub fn whole(&self) -> Self {
        Self { scope: self.flow_scope().to_owned(), ..self.clone() }
    }

    /// An item of this visit, by index from 0.
    #[must_use]
    pub fn nth(&self, item: u64) -> Self {
        Self { scope: within(&self.scope, &item.to_string()), ..self.clone() }
    }

    /// The scope of the flow that this visit runs.
    #[must_use]
    pub fn inside(&self) -> String {
        within(&self.scope, &format!("{}.{}", self.step, self.visit))
    }

    /// Whether this visit is part of `other`: one of its items, or within the flow that it runs, at any
    /// depth.
    #[must_use]
    pub fn is_part_of(&self, other: &Self) -> bool {
        let own_item = self.step == other.step && self.visit == other.visit && self.item().is_some();
        if own_item && self.flow_scope() == other.scope {
            return true;
        }
        if self.is_within(&other.inside()) {
            return true;
        }
        let rest = if other.scope.is_empty() {
            Some(self.scope.as_str())
        } else {
            self.scope.strip_prefix(&other.scope).and_then(|rest| rest.strip_prefix('.'))
        };
        let item =
            rest.and_then(|rest| rest.split('.').next()).and_then(|segment| segment.parse::<u64>().ok());
        other.item().is_none() && item.is_some_and(|item| self.is_within(&other.nth(item).inside()))
    }

    /// Whether this visit is within `scope`, at any depth.
    #[must_use]
    pub fn is_within(&self, scope: &str) -> bool {
        scope.is_empty()
            || self.scope == scope
            || self.scope.strip_prefix(scope).is_some_and(|rest| rest.starts_with('.'))
    }

    /// The attempt of the visit with this number (from 1).
    #[must_use]
    pub fn attempt(&self, attempt: u32) -> AttemptId {
        AttemptId { visit: self.clone(), attempt }
    }
}

fn within(scope: &str, segment: &str) -> String {
    if scope.is_empty() { segment.to_owned() } else { format!("{scope}.{segment}") }
}

impl fmt::Display for VisitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.scope.is_empty() {
            write!(f, "{}.", self.scope)?;
        }
        write!(f, "{}.{}", self.step, self.visit)
    }
}

/// The nth execution within a visit, written `[scope.]step.visit.attempt`; unique within its run.
///
/// ```
/// use envoi_kernel::ids::AttemptId;
///
/// let id = AttemptId::parse("2.look.1.3")?;
/// assert_eq!((id.visit.item(), id.visit.step.as_str(), id.visit.visit, id.attempt), (Some(2), "look", 1, 3));
/// assert_eq!(id.to_string(), "2.look.1.3");
/// # Ok::<(), envoi_kernel::ids::BadId>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct AttemptId {
    /// The visit it belongs to.
    pub visit: VisitId,
    /// Number of the attempt, from 1.
    pub attempt: u32,
}

impl AttemptId {
    /// Parses `[scope.]step.visit.attempt`.
    ///
    /// # Errors
    /// [`BadId`] if the text does not have that form.
    pub fn parse(text: &str) -> Result<Self, BadId> {
        let bad = || BadId { text: text.to_owned(), expected: "`[scope.]step.visit.attempt`" };
        let mut parts = text.rsplitn(4, '.');
        let attempt = parts.next().and_then(count).ok_or_else(bad)?;
        let visit = parts.next().and_then(count).ok_or_else(bad)?;
        let step = parts.next().and_then(|s| StepId::new(s).ok()).ok_or_else(bad)?;
        let scope = parts.next().unwrap_or("").to_owned();
        Ok(Self { visit: VisitId { scope, step, visit }, attempt })
    }
}

fn count(text: &str) -> Option<u32> {
    text.parse().ok().filter(|n| *n > 0)
}

impl fmt::Display for AttemptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.visit, self.attempt)
    }
}

impl TryFrom<String> for AttemptId {
    type Error = BadId;
    fn try_from(text: String) -> Result<Self, BadId> {
        Self::parse(&text)
    }
}

/// Refuses to write an id that its reader would refuse.
impl Serialize for AttemptId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.attempt == 0 || self.visit.visit == 0 {
            return Err(S::Error::custom(format_args!("`{self}`: visits and attempts count from 1")));
        }
        serializer.collect_str(self)
    }
}

impl From<AttemptId> for String {
    fn from(id: AttemptId) -> String {
        id.to_string()
    }
}

/// The actor of an action, and the tenant: part of every event that a person or a client causes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Principal {
    /// The tenant; `local` for a person at the machine.
    pub tenant: String,
    /// The person or client, such as a login name.
    pub actor: String,
}

/// A UUIDv7 made of `now` and 10 bytes of a SHA-256, spelled in Crockford's base 32 (26 characters).
///
/// `seed` is the hashed material: a run's id and a sequence number inside the kernel, random bytes outside.
#[must_use]
pub fn uuid_v7_text(now: Timestamp, seed: &[u8]) -> String {
    let hash: [u8; 32] = Sha256::digest(seed).into();
    let millis = u128::from(u64::try_from(now.as_millis()).unwrap_or(0)) & 0xFFFF_FFFF_FFFF;
    let mut random = 0_u128;
    for byte in hash.iter().take(10) {
        random = (random << 8) | u128::from(*byte);
    }
    let rand_a = (random >> 68) & 0xFFF;
    let rand_b = random & 0x3FFF_FFFF_FFFF_FFFF;
    base32((millis << 80) | (0x7 << 76) | (rand_a << 64) | (0b10 << 62) | rand_b)
}

fn base32(value: u128) -> String {
    const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    (0..26)
        .rev()
        .filter_map(|place| usize::try_from((value >> (place * 5)) & 31).ok())
        .filter_map(|digit| ALPHABET.get(digit).map(|b| char::from(*b)))
        .collect()
}

/// The id, without its prefix, of the object that event `seq` of `run` creates at `now`.
#[must_use]
pub fn derived(run: &RunId, seq: Seq, now: Timestamp) -> String {
    let mut seed = run.as_str().as_bytes().to_vec();
    seed.push(0);
    seed.extend_from_slice(&seq.to_be_bytes());
    uuid_v7_text(now, &seed)
}

/// Maximum length of a session id. Longer ids are not stored.
const MAX_SESSION_ID_BYTES: usize = 200;

/// Whether the text is a valid session id of an agent program: a letter or a digit, then letters, digits, and
/// `-`, `_`, `.` or `:`. The id later becomes an argument of the program, so it must not look like an option.
#[must_use]
pub fn is_session_id(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
    text.len() <= MAX_SESSION_ID_BYTES
        && text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.bytes().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_id_reads_what_it_writes() {
        for text in ["repair.1.1", "3.repair.12.2", "build.2.critic.1.9", "0.build.2.7.critic.1.9"] {
            assert_eq!(AttemptId::parse(text).map(|id| id.to_string()), Ok(text.to_owned()));
        }
    }

    #[test]
    fn a_scope_tells_the_flow_and_the_item() {
        for (text, flow_state, item) in [
            ("a.1.1", "", None),
            ("0.a.1.1", "", Some(0)),
            ("build.2.a.1.1", "build.2", None),
            ("build.2.7.a.1.1", "build.2", Some(7)),
            ("3.build.2.a.1.1", "3.build.2", None),
            ("3.build.2.7.a.1.1", "3.build.2", Some(7)),
        ] {
            let visit = AttemptId::parse(text).unwrap().visit;
            assert_eq!((visit.flow_scope(), visit.item()), (flow_state, item), "{text}");
            assert!(visit.is_within(flow_state) && visit.whole().item().is_none());
        }
    }

    #[test]
    fn an_item_and_an_inner_flow_are_within_what_holds_them() {
        let build = AttemptId::parse("build.2.1").unwrap().visit;
        assert_eq!(build.inside(), "build.2");
        assert_eq!(build.nth(3).inside(), "3.build.2");
        assert_eq!(build.nth(3).whole(), build);
        let inner = AttemptId::parse("build.2.a.1.1").unwrap().visit;
        assert!(inner.is_within("build.2") && inner.is_within("") && !inner.is_within("build.20"));
        assert!(!AttemptId::parse("build.21.a.1.1").unwrap().visit.is_within("build.2"));
        for (part, whole, expected) in [
            ("0.build.2.1", "build.2.1", true),
            ("build.2.a.1.1", "build.2.1", true),
            ("4.build.2.a.1.1", "build.2.1", true),
            ("4.build.2.9.a.1.1", "4.build.2.1", true),
            ("3.build.2.a.1.1", "4.build.2.1", false),
            ("build.2.1", "build.2.1", false),
            ("build.1.a.1.1", "build.2.1", false),
            ("a.1.1", "build.2.1", false),
        ] {
            let visit = |text| AttemptId::parse(text).unwrap().visit;
            assert_eq!(visit(part).is_part_of(&visit(whole)), expected, "{part} in {whole}");
        }
    }

    #[test]
    fn what_is_no_attempt_id_is_refused() {
        for text in ["", "repair", "repair.1", "repair.0.1", "repair.1.0", "Repair.1.1", "repair.1.x"] {
            assert!(AttemptId::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn keys_have_letters_digits_and_two_signs() {
        for good in ["a", "fix-until-green", "a_1"] {
            assert!(is_key(good), "{good}");
        }
        let long = "a".repeat(65);
        for bad in ["", "1a", "A", "a b", "ä", "-a", long.as_str()] {
            assert!(!is_key(bad), "{bad}");
        }
    }

    #[test]
    fn derived_ids_sort_by_time_and_differ_by_seed() {
        let run = RunId::new("run_x").unwrap();
        let early = derived(&run, 9, Timestamp::from_millis(1_000));
        let late = derived(&run, 1, Timestamp::from_millis(2_000));
        assert!(early < late && early.len() == 26);
        assert_eq!(early, derived(&run, 9, Timestamp::from_millis(1_000)));
        assert_ne!(early, derived(&run, 8, Timestamp::from_millis(1_000)));
    }
}
