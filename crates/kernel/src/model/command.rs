//! What one attempt executes, with its templates filled in.

use crate::model::{
    ids::InterruptId,
    ledger::Cost,
    on_conflict::{MergeDecision, OnConflict},
};
use envoi_contract::{digest::Digest, json::Value};
use serde::{Deserialize, Serialize};

/// A command with its templates filled in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Program and arguments; no shell.
    Exec(Vec<String>),
    /// For `sh -c`: a string in a flow of language version 1.
    Shell(String),
    /// Another agent is talked to, by a program of our own. Of attempts only.
    A2a(Box<Call>),
    /// An agent program is started, by a program of our own. Of attempts only.
    Agent(Box<ProgramCall>),
    /// A model is called, by a program of our own. Of attempts only.
    Model(Box<ModelCall>),
    /// What the items of the step have changed, each in a tree of its own, is brought into the run's tree, by a program of our own. Of
    /// attempts only.
    Merge(Box<MergeCall>),
}

impl Command {
    /// The account whose limits hold for it, and how often in a row that had refused an attempt before this one.
    #[must_use]
    pub fn account(&self) -> Option<(&str, u32)> {
        match self {
            Self::Agent(call) => {
                let account = call.limits_of.as_deref().or(call.account.as_deref()).unwrap_or(&call.program);
                Some((account, call.refusals))
            }
            Self::Model(call) => Some((&call.account, call.refusals)),
            Self::Exec(_) | Self::Shell(_) | Self::A2a(_) | Self::Merge(_) => None,
        }
    }
}

/// What one attempt merges.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeCall {
    /// In the order of the items.
    pub items: Vec<MergeItem>,
    /// What decides where several of them have changed the same lines.
    #[serde(default, skip_serializing_if = "OnConflict::is_fail")]
    pub on_conflict: OnConflict,
    /// What a person has decided about these items, which are in conflict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided: Option<MergeDecision>,
    /// The step is no list: its only item is what the step itself has done.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub alone: bool,
}

/// What one item has changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeItem {
    /// Its number, from 0.
    pub item: u64,
    /// The snapshot that it began with.
    pub base: Digest,
    /// The snapshot of what it has left.
    pub theirs: Digest,
    /// What it had left when it was done before, and did not fit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Digest>,
}

/// What one attempt asks a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelCall {
    /// The model, as the configuration names it.
    pub model: String,
    /// The account that it uses.
    pub account: String,
    /// How often in a row the account has refused an attempt before this one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub refusals: u32,
    /// The model goes on in place of the one that the step names, whose account is closed.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub instead: bool,
    /// The prompt.
    pub prompt: String,
    /// Its instructions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// Files that are given to it. Relative ones are in the folder of the step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// A number, as it is written in the flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<String>,
    /// The most tokens of an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// How often the model gets another try after an answer that does not fit the schema.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub repair: u32,
    /// Why the try before it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// What one attempt has an agent program do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramCall {
    /// The program, as the flow names it.
    pub program: String,
    /// The account that it uses; events of the first version do not have it, and then it is named as the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// The account whose limits hold for it, where the flow brings a login of its own; `None`: `account`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits_of: Option<String>,
    /// How often in a row the account has refused an attempt before this one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub refusals: u32,
    /// The program goes on in place of the one that the step names, whose account is closed.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub instead: bool,
    /// It calls its models through the bridge: all that it uses is metered.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub by_bridge: bool,
    /// The attempt before it was stopped by a limit of the account.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub was_throttled: bool,
    /// What it is to do.
    pub prompt: String,
    /// What it does without asking.
    pub may: String,
    /// Its model; `None`: its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The most turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// Further arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Patterns of the calls of tools that a person decides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ask: Vec<String>,
    /// What a person has decided about the call that the program was stopped for. Then it is not given the prompt again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Box<CallAnswer>>,
    /// The longest time without a sign of work of the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_ms: Option<u64>,
    /// The most calls of tools that are refused in an attempt that succeeds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub denials: u32,
    /// The session of the run that it goes on with; `None`: it shares none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
    /// The id of the session; `None`: the program reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The session has begun.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub resumes: bool,
    /// Where the session begins in the one of the run that this one was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork_of: Option<SessionFork>,
    /// The sums of the session before this attempt.
    #[serde(default, skip_serializing_if = "SessionFigures::is_empty")]
    pub before: SessionFigures,
    /// Why the try before it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// An attempt of the same visit before it was cut off, and what it did last is not known.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub cut_off: bool,
}

/// What a person has decided about one call of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallAnswer {
    /// The question; `None`: it has expired without an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupt: Option<InterruptId>,
    /// Digest of the call that the question showed. The answer is for no other one.
    pub call: String,
    /// It may be made.
    pub allows: bool,
    /// The words of the answer.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// What takes the place of members of the call's input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// A place in a session, at which another one begins. The session itself stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionFork {
    /// The session.
    pub id: String,
    /// The last message that both have.
    pub last: String,
}

/// Sums over all processes of a session. What is not known is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionFigures {
    /// Tokens that the model was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_in: Option<u64>,
    /// Tokens that the model gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_out: Option<u64>,
    /// What it cost, by the program's own estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
}

impl SessionFigures {
    /// Whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What one attempt says to another agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// The agent.
    pub url: String,
    /// The text of the first message.
    pub message: String,
    /// The data part beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// The tenant of the protocol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The address that is spoken to in place of the one that the agent's card names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// The name of the secret that it shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Which of the agent's tasks in this visit it is about, from 0: another one begins after one that failed.
    pub task: u32,
    /// Which message to that task it is, from 0: the first one, then one for each answer.
    pub turn: u32,
    /// The answer to the agent's question that it passes on; none with the first message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<InterruptId>,
    /// The answer is no: the task is to be cancelled.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub denied: bool,
    /// A person decided to send it again, although it is not known whether it was sent.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub resend: bool,
}
