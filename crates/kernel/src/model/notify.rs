//! Targets of notices, as a flow or a configuration declares them.
//!
//! Owns their shape, and which events cause a notice. Decides nothing about a run, and no run waits for a
//! notice. The crate `notify` sends notices; the engine and the journal ensure that none is lost.

use crate::model::{command::Command, event::Event, secret::SecretSource};
use serde::{Deserialize, Serialize};

/// A target of `notify:`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The address.
    pub to: Address,
    /// The moments that cause a notice to it, at least one.
    pub on: Vec<Moment>,
}

/// The address of a target. Contains no secret, only the source of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Address {
    /// A command in the folder of the file that declares it.
    Command(Command),
    /// A URL that receives a CloudEvent by POST.
    Webhook(Webhook),
}

/// An address as stored with a notice. A later engine can send it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Posting {
    /// The folder of the declaring file: commands run there, and token paths are relative to it.
    pub folder: String,
    /// The address.
    pub to: Address,
}

/// See [`Address::Webhook`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Webhook {
    /// `http:` or `https:`, without a user and a password.
    pub url: String,
    /// Read at each try and sent as `Authorization: Bearer`.
    pub token: Option<SecretSource>,
    /// Maximum duration of a try.
    pub timeout_ms: u64,
}

/// A moment that can cause a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    /// A question to a person was raised.
    Question,
    /// A question was not answered in time.
    Expiry,
    /// A run has ended.
    End,
}

impl Moment {
    /// All moments.
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

    /// The moment of this event, or `None` if it causes no notice.
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
