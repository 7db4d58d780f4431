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
    /// The visit that is concerned.
    pub visit: VisitId,
    /// The question, for people.
    pub question: String,
    /// What one needs to know to answer.
    pub evidence: Value,
    /// When.
    pub raised_at: Timestamp,
    /// The word of contract 3; events of the first version do not have it ([`InterruptRaised::kind`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<InterruptKind>,
    /// When it lapses; `None`: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Digest of what the question shows: the flow, the last hand-off, the newest version of every artifact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Digest>,
    /// Artifacts that differed in the workspace when the question was put again, as they were found there.
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

/// An artifact as it lies in the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundFile {
    /// Relative to the workspace.
    pub path: String,
    /// Its content; `None` when it is not there.
    pub digest: Option<Digest>,
}

/// Why a person is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum About {
    /// An attempt was announced, and its end is not known.
    InDoubt,
    /// A loop has had its last round.
    Exhausted,
    /// Further iteration cannot help.
    Blocked,
    /// The signal says that a person is needed.
    Review,
    /// A bound of the run leaves nothing over.
    Limit,
    /// Round after round no goal is reached.
    Stuck,
    /// A step asks.
    Ask,
    /// The agent asks that a step talks to.
    Agent,
    /// The account of an agent program is closed for a while.
    Throttled,
    /// Items of a step have changed the same lines in trees of their own.
    Conflict,
}

/// What a person may decide; [`crate::Run::accepts`] says which of it a question takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// A new attempt of the same visit.
    Rerun,
    /// The visit has failed.
    Fail,
    /// Go on.
    Proceed,
    /// Another round of the loop; refused past a bound.
    Again,
    /// Of items in conflict: for the lines in conflict, what is there already.
    Ours,
    /// Of items in conflict: for the lines in conflict, what the items have.
    Theirs,
    /// Of items in conflict: the files become what came with the answer.
    Edit,
    /// The run fails.
    Stop,
    /// Yes.
    Approve,
    /// No.
    Deny,
    /// Words, or a form that is filled in.
    Respond,
    /// A higher bound.
    Raise,
}

/// See [`Event::InterruptAnswered`](super::Event::InterruptAnswered) and [`Event::VoteCast`](super::Event::VoteCast).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InterruptAnswered {
    /// Which question.
    pub interrupt: InterruptId,
    /// The decision.
    pub choice: Choice,
    /// Who decided.
    pub by: Principal,
    /// Through which channel, such as `cli`, `terminal` or `yes_to`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub channel: String,
    /// The answer in words (contract 5).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The response: the form that was filled in, else what of `text`, `approved` and `decision` there is.
    #[serde(default)]
    pub data: Value,
    /// Files that came with it; at most 20.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<AttachmentRef>,
    /// With [`Choice::Raise`]: what is added to the bound. `None` when the answer to another question about the same
    /// bound added it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raise: Option<Ledger>,
    /// The id of the request that brought it. A request that is repeated, because no reply came, is answered as done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
}

impl InterruptAnswered {
    /// The attachments with the file names that steps find them under: plain, without separators, each once.
    #[must_use]
    pub fn files(&self) -> Vec<(String, &AttachmentRef)> {
        crate::model::attached::named(&self.attachments)
    }
}

/// See [`Event::InterruptExpired`](super::Event::InterruptExpired).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InterruptExpired {
    /// Which question.
    pub interrupt: InterruptId,
}

/// See [`Event::InterruptCancelled`](super::Event::InterruptCancelled).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InterruptCancelled {
    /// Which question.
    pub interrupt: InterruptId,
    /// Whether the question is put again, because what it showed has changed.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub changed: bool,
}
