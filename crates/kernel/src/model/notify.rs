//! Recipients of notices: the targets that a flow and a configuration declare.
//!
//! Owns their shape, and which events cause a notice. Decides nothing about a run, and no run waits for a notice. How one is
//! sent is `notify`'s, that none is lost is the engine's and the journal's.

use crate::model::{command::Command, event::Event, secret::SecretSource};
use serde::{Deserialize, Serialize};

/// One target of `notify:`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// How it is reached.
    pub to: Address,
    /// The moments that cause a notice to it, at least one.
    pub on: Vec<Moment>,
}

/// How a target is reached. Holds no secret, only where one is to be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Address {
    /// A command in the folder of the file that declares it.
    Command(Command),
    /// A CloudEvent is posted there.
    Webhook(Webhook),
}

/// How a target is reached, as it is kept with a notice: a later engine may send it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Posting {
    /// Of the file that declares it: where a command runs, and what the path of a token is relative to.
    pub folder: String,
    /// How it is reached.
    pub to: Address,
}

/// See [`Address::Webhook`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Webhook {
    /// `http:` or `https:`, without a user and a password.
    pub url: String,
    /// Read at each try, for `Authorization: Bearer`.
    pub token: Option<SecretSource>,
    /// Longest duration of a try.
    pub timeout_ms: u64,
}

/// A moment that may cause a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    /// A question was put to a person.
    Question,
    /// A question was not answered in time.
    Expiry,
    /// A run is over.
    End,
}

impl Moment {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Question, Self::Expiry, Self::End];

    /// The word for it, as in `on:`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Question => "question",
            Self::Expiry => "expiry",
            Self::End => "end",
        }
    }

    /// The moment of this event, if it causes a notice.
    #[must_use]
    pub fn of(event: &Event) -> Option<Self> {
        match event {
            Event::InterruptRaised(_) => Some(Self::Question),
            Event::InterruptExpired(_) => Some(Self::Expiry),
            Event::RunEnded(_) => Some(Self::End),
            _ => None,
        }
    }
}
