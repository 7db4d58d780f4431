//! What one attempt executes, with its templates filled in.

use crate::model::ids::InterruptId;
use envoi_contract::json::Value;
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
