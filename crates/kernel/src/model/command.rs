//! The command that one attempt executes, with its templates filled in.

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
    /// Program and arguments; no shell is involved.
    Exec(Vec<String>),
    /// A script for `sh -c`: a string in a flow of language version 1.
    Shell(String),
    /// A message to another agent, sent by a program of Envoi. Only in attempts.
    A2a(Box<Call>),
    /// An agent program, started by a program of Envoi. Only in attempts.
    Agent(Box<ProgramCall>),
    /// A call of a model, made by a program of Envoi. Only in attempts.
    Model(Box<ModelCall>),
    /// A merge: a program of Envoi brings the changes of the step's items, each in a tree of its own, into
    /// the run's tree. Only in attempts.
    Merge(Box<MergeCall>),
}

impl Command {
    /// The account whose limits apply, and how many attempts in a row it had refused before this one.
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

/// Input of an attempt that merges.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeCall {
    /// The items, in their order.
    pub items: Vec<MergeItem>,
    /// How to resolve lines that several items have changed.
    #[serde(default, skip_serializing_if = "OnConflict::is_fail")]
    pub on_conflict: OnConflict,
    /// The decision of a person about these items, if they were in conflict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided: Option<MergeDecision>,
}

/// The changes of one item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeItem {
    /// Its number, from 0.
    pub item: u64,
    /// The snapshot that it began with.
    pub base: Digest,
    /// The snapshot of its result.
    pub theirs: Digest,
    /// Snapshots of its earlier results, which did not merge.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Digest>,
}

/// Input of an attempt that calls a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelCall {
    /// The model, as the configuration names it.
    pub model: String,
    /// The account that it uses.
    pub account: String,
    /// How often in a row the account has refused an attempt before this one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub refusals: u32,
    /// This model replaces the one that the step names, because that one's account is closed.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub instead: bool,
    /// The prompt.
    pub prompt: String,
    /// The system prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// Files that are passed to the model. Relative paths are in the folder of the step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The temperature, as the number is written in the flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<String>,
    /// Maximum number of tokens of an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// How often the model is called again after an answer that does not match the schema.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub repair: u32,
    /// Why the previous try failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// Input of an attempt that runs an agent program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramCall {
    /// The program, as the flow names it.
    pub program: String,
    /// The account that it uses. Events of the first version do not have it; the account then has the name of
    /// the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// The account whose limits apply, if the flow brings its own login; `None`: `account`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits_of: Option<String>,
    /// How often in a row the account has refused an attempt before this one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub refusals: u32,
    /// This program replaces the one that the step names, because that one's account is closed.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub instead: bool,
    /// It calls its models through the bridge, so all of its usage is metered.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub by_bridge: bool,
    /// The previous attempt was stopped by a limit of the account.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub was_throttled: bool,
    /// The prompt.
    pub prompt: String,
    /// The permission level: the actions that it takes without asking.
    pub may: String,
    /// Its model; `None`: the program's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Maximum number of turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// Further arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Patterns of the tool calls that a person has to approve.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ask: Vec<String>,
    /// The decision of a person about the tool call that the program was stopped for. With it, the prompt is
    /// not sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Box<CallAnswer>>,
    /// Longest time without a sign of activity of the program, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_ms: Option<u64>,
    /// Maximum number of refused tool calls in an attempt that succeeds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub denials: u32,
    /// The session of the run that it continues; `None`: it shares no session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
    /// The id of the session; `None`: the program will report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The session exists already and is resumed.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub resumes: bool,
    /// The point at which the session branches from a session of the run that this run was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork_of: Option<SessionFork>,
    /// The sums of the session before this attempt.
    #[serde(default, skip_serializing_if = "SessionFigures::is_empty")]
    pub before: SessionFigures,
    /// Why the previous try failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// An earlier attempt of the same visit was interrupted, and its last action is not known.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub cut_off: bool,
}

/// The decision of a person about one tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallAnswer {
    /// The question; `None`: it expired without an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupt: Option<InterruptId>,
    /// Digest of the call that the question showed. The answer applies to no other call.
    pub call: String,
    /// The call is allowed.
    pub allows: bool,
    /// The text of the answer.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Replacements for members of the call's input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// A point in a session at which another session begins. The original session does not change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionFork {
    /// The session.
    pub id: String,
    /// The id of the last message that both sessions share.
    pub last: String,
}

/// Sums over all processes of a session. `None` means not known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionFigures {
    /// Input tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_in: Option<u64>,
    /// Output tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_out: Option<u64>,
    /// The cost, as the program estimates it.
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

/// Input of an attempt that sends a message to another agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// The URL of the agent.
    pub url: String,
    /// The text of the first message.
    pub message: String,
    /// The data part of the first message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// The tenant of the protocol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// An address that replaces the one in the agent's card.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// The name of the secret that is sent as the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Index of the agent's task within this visit, from 0. A new task begins after one that failed.
    pub task: u32,
    /// Index of the message within the task, from 0: the first message, then one per answer.
    pub turn: u32,
    /// The answer to the agent's question that this message carries; `None` for the first message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<InterruptId>,
    /// The answer is a denial: the task is to be cancelled.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub denied: bool,
    /// A person decided to send the message again, although it may have been sent already.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub resend: bool,
}
