//! Events of a question to a person: raised, answered, expired or cancelled.

use crate::model::{
    ids::{InterruptId, Principal, VisitId},
    ledger::Ledger,
};
use envoi_contract::{
    digest::Digest, envelope::InterruptKind, json::Value, time::Timestamp, user_envelope::AttachmentRef,
};
use serde::{Deserialize, Serialize};

/// See [`Event::InterruptRaised`](super::Event::InterruptRaised).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InterruptRaised {
    /// Its id.
    pub interrupt: InterruptId,
    /// Why the run stopped.
    pub about: About,
    /// The visit that the question is about.
    pub visit: VisitId,
    /// The question, for people.
    pub question: String,
    /// Facts that help a person to answer.
    pub evidence: Value,
    /// When it was raised.
    pub raised_at: Timestamp,
    /// The word of contract 3; events of the first version do not have it ([`InterruptRaised::kind`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<InterruptKind>,
    /// When it expires; `None`: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Digest of the subject of the question: the flow, the last hand-off, the newest version of every
    /// artifact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Digest>,
    /// Artifacts that differed in the workspace when the question was raised again, as found there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub found: Vec<FoundFile>,
}

impl InterruptRaised {
    /// The word of contract 3.
    #[must_use]
    pub fn kind(&self) -> InterruptKind {
        self.kind.unwrap_or(match self.about {
            About::InDoubt => InterruptKind::SystemError,
            About::Exhausted | About::Limit => InterruptKind::ResourceExhausted,
            About::Blocked | About::Review | About::Stuck | About::Conflict => InterruptKind::AgentReview,
            About::Ask => InterruptKind::Confirmation,
            About::Agent => InterruptKind::Clarification,
            About::Throttled => InterruptKind::ResourceExhausted,
        })
    }
}

/// An artifact as found in the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundFile {
    /// Relative to the workspace.
    pub path: String,
    /// Its content; `None` if the file does not exist.
    pub digest: Option<Digest>,
}

/// Why a person is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum About {
    /// An attempt was announced, and its end is not known.
    InDoubt,
    /// A loop has used its last round.
    Exhausted,
    /// Further iteration cannot help.
    Blocked,
    /// The signal requires a person.
    Review,
    /// A bound of the run is used up.
    Limit,
    /// Several rounds in a row reached no goal.
    Stuck,
    /// A step of kind `ask` asks.
    Ask,
    /// The agent that a step talks to asks.
    Agent,
    /// The account of an agent program is closed temporarily.
    Throttled,
    /// Items of a step have changed the same lines in trees of their own.
    Conflict,
}

/// An answer of a person. [`crate::Run::accepts`] returns the choices that a question takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// A new attempt of the same visit.
    Rerun,
    /// The visit fails.
    Fail,
    /// The run goes on.
    Proceed,
    /// Another round of the loop; refused if a bound is used up.
    Again,
    /// For items in conflict: conflicting lines keep the existing version.
    Ours,
    /// For items in conflict: conflicting lines take the items' version.
    Theirs,
    /// For items in conflict: the files are replaced by those that came with the answer.
    Edit,
    /// The run fails.
    Stop,
    /// Yes.
    Approve,
    /// No.
    Deny,
    /// Words, or a completed form.
    Respond,
    /// A higher bound.
    Raise,
}

/// See [`Event::InterruptAnswered`](super::Event::InterruptAnswered) and [`Event::VoteCast`](super::Event::VoteCast).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InterruptAnswered {
    /// The question.
    pub interrupt: InterruptId,
    /// The choice.
    pub choice: Choice,
    /// The person who answered.
    pub by: Principal,
    /// The channel, such as `cli`, `terminal` or `yes_to`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub channel: String,
    /// The answer in words (contract 5).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The response: the completed form, or otherwise those of `text`, `approved` and `decision` that exist.
    #[serde(default)]
    pub data: Value,
    /// Files that came with the answer; at most 20.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<AttachmentRef>,
    /// With [`Choice::Raise`]: the amount added to the bound. `None` if the answer to another question about
    /// the same bound added it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raise: Option<Ledger>,
    /// The id of the request. A request that is repeated is acknowledged without effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
}

impl InterruptAnswered {
    /// The attachments with the file names that steps see: safe characters, no separators, unique.
    #[must_use]
    pub fn files(&self) -> Vec<(String, &AttachmentRef)> {
        crate::model::attached::named(&self.attachments)
    }
}

/// See [`Event::InterruptExpired`](super::Event::InterruptExpired).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InterruptExpired {
    /// The question.
    pub interrupt: InterruptId,
}

/// See [`Event::InterruptCancelled`](super::Event::InterruptCancelled).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InterruptCancelled {
    /// The question.
    pub interrupt: InterruptId,
    /// Whether the question is raised again because its subject has changed.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub changed: bool,
}
