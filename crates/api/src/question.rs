//! Questions to people: as short rows, in pages, and with everything that is needed for an answer.

pub mod preview;

use crate::{
    Time,
    amounts::{Amounts, Limits},
    handoff::HandoffStatus,
    scalar::{maybe_digest, words},
};
use envoi_contract::digest::Digest;
use envoi_kernel::{
    event::About,
    ids::{FlowId, InterruptId, RunId, StepId},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

words! {
    /// The state of a question.
    QuestionState {
        /// Waiting for a person.
        Open = "open",
        /// Expired, but not closed by an engine yet.
        Lapsed = "lapsed",
        /// Answered by a person.
        Answered = "answered",
        /// Closed, because it was not answered in time.
        Expired = "expired",
        /// Replaced by another question, because its subject has changed.
        Changed = "changed",
        /// Closed, because the run was cancelled.
        Cancelled = "cancelled",
    }
}

/// A question at a glance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Question {
    /// Its id.
    #[schemars(with = "String")]
    pub question: InterruptId,
    /// The run that asks.
    #[schemars(with = "String")]
    pub run: RunId,
    /// Why the run asks: `ask`, `agent`, `review`, `blocked`, `exhausted`, `stuck`, `limit`, `throttled`, `conflict` or `in_doubt`.
    #[schemars(with = "String")]
    pub about: About,
    /// The kind of question, as a word of contract 3.
    pub kind: String,
    /// The step that is concerned.
    #[schemars(with = "String")]
    pub step: StepId,
    /// The inner flows and the item in which its visit stands; empty at the top.
    pub scope: String,
    /// Which visit of the step, from 1.
    pub visit: u32,
    /// The question.
    pub text: String,
    /// When it was raised.
    pub raised_at: Time,
    /// When it lapses; null: never.
    pub expires_at: Option<Time>,
    /// What has become of it.
    pub state: QuestionState,
    /// When it was closed; null while it is open.
    pub closed_at: Option<Time>,
    /// The choice that closed it; null if there was none.
    pub answer: Option<String>,
    /// Who made it.
    pub answered_by: Option<String>,
}

/// A page of questions, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Questions {
    /// The questions.
    pub questions: Vec<Question>,
    /// The `cursor` of the next page; null on the last.
    #[schemars(with = "Option<String>")]
    pub next: Option<InterruptId>,
    /// A stream from here on misses nothing that is not in the list.
    pub last_event_id: String,
}

/// A question with all that one needs to answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuestionDetail {
    /// The question at a glance.
    #[serde(flatten)]
    pub row: Question,
    /// The choices that it takes, the most usual first; empty if it is closed.
    pub choices: Vec<String>,
    /// The form that it wants as `data`; null if it wants none.
    pub schema: Value,
    /// The names of its fields, in the order of the flow file; members of `schema` have none.
    pub fields: Vec<String>,
    /// What one needs to know to answer.
    pub evidence: Value,
    /// The digest of what is shown; send it back as `seen`.
    #[schemars(schema_with = "maybe_digest")]
    pub subject: Option<Digest>,
    /// Approvals so far, where several people have to approve.
    pub votes: Vec<Vote>,
    /// How many different people have to approve.
    pub quorum: u32,
    /// The id of the flow.
    #[schemars(with = "String")]
    pub flow: FlowId,
    /// The title of the flow; null if it has none.
    pub title: Option<String>,
    /// Who started the run.
    pub started_by: String,
    /// The reason why the caller may not answer, as a sentence; null if the caller may, or if the question is closed.
    pub barred: Option<String>,
    /// What each choice leads to; null if the question is closed.
    pub leads: Option<Vec<Lead>>,
    /// What happens if no answer comes; null if the question does not lapse or is closed.
    pub silence: Option<String>,
    /// Files that the run had changed when it put the question.
    pub files: Vec<ChangedFile>,
    /// The last hand-off before the question; null if there is none.
    pub last_handoff: Option<LastHandoff>,
    /// What the run and its family have used.
    pub used: Amounts,
    /// The limits of the run; null is unlimited.
    pub limits: Limits,
    /// The answer; null if there is none.
    pub given: Option<Given>,
}

/// The last hand-off before a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LastHandoff {
    /// Its name, such as `draft.1`.
    pub handoff: String,
    /// What it came to.
    pub status: HandoffStatus,
    /// Whether a critic has verified it; null if none has judged it.
    pub verified: Option<bool>,
    /// Why it failed; null if it did not.
    pub error: Option<String>,
    /// Its summary.
    pub summary: String,
}

/// The approval of one of several people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Vote {
    /// Who.
    pub by: String,
    /// The way it came in, such as `cli` or `rest`.
    pub channel: String,
    /// In words.
    pub text: String,
}

/// What a choice leads to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lead {
    /// The choice.
    pub choice: String,
    /// What it leads to, in words.
    pub leads_to: String,
}

/// A file that a run has changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedFile {
    /// Its path in the workspace.
    pub path: String,
    /// Whether the run made it.
    pub created: bool,
    /// The digest of its content before the run, or before the visit that was asked about; null if there was none, or if that is not known.
    pub before_digest: Option<String>,
    /// The digest of its content when the question was raised, or of the last one that the run, or the visit, has left; null if it was deleted.
    pub after_digest: Option<String>,
    /// The size of that content; null if it was deleted, or if the server does not say.
    #[serde(default)]
    pub size_bytes: Option<u64>,
}

/// The files that a run has changed so far, by their paths.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedFiles {
    /// The files; at most 1,000.
    pub files: Vec<ChangedFile>,
    /// How many there are.
    pub total: u64,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Given {
    /// Its event in the journal of the run; null if the server does not say.
    #[serde(default)]
    pub event: Option<u64>,
    /// When.
    pub at: Time,
    /// The choice.
    pub choice: String,
    /// Who.
    pub by: String,
    /// The way it came in, such as `cli` or `rest`.
    pub channel: String,
    /// In words.
    pub text: String,
    /// The form that was filled in.
    pub data: Value,
    /// References to its files (contract 5).
    #[schemars(with = "Vec<std::collections::BTreeMap<String, Value>>")]
    pub attachments: Vec<Value>,
}
