//! The order of one attempt: the engine composes it and writes it as a file into the attempt's folder.

use envoi_contract::json::Value;
use envoi_kernel::{
    event::{CallAnswer, SessionFork},
    ledger::Cost,
};
use envoi_preset::Figures;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The instructions for one attempt. Contains no secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// The name of the preset that starts the program and reads its events.
    pub preset: String,
    /// The program: a name to find in `PATH`, or a path.
    pub program: PathBuf,
    /// The prompt.
    pub prompt: String,
    /// The permission level: what the agent may do without asking.
    pub may: String,
    /// The model to use.
    #[serde(default)]
    pub model: Option<String>,
    /// The largest number of turns.
    #[serde(default)]
    pub turns: Option<u32>,
    /// Extra arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// Patterns of tool calls that a person has to decide.
    #[serde(default)]
    pub ask: Vec<String>,
    /// A person's decision about the call that the session was stopped for.
    #[serde(default)]
    pub answer: Option<Box<CallAnswer>>,
    /// The JSON Schema of the step's data.
    #[serde(default)]
    pub schema: Option<Value>,
    /// The session id. `None` when the program assigns it.
    #[serde(default)]
    pub session: Option<String>,
    /// True if the session has already begun.
    #[serde(default)]
    pub resumes: bool,
    /// The session to fork, and the point at which to fork it.
    #[serde(default)]
    pub fork_of: Option<SessionFork>,
    /// The usage of the session before this attempt.
    #[serde(default)]
    pub before: Before,
    /// A file with feedback from the critic, or from the person who sent the run back.
    #[serde(default)]
    pub feedback: Option<PathBuf>,
    /// The reason why the previous try failed.
    #[serde(default)]
    pub failure: Option<String>,
    /// True if a rate limit of the account stopped the previous attempt.
    #[serde(default)]
    pub was_throttled: bool,
    /// The folder where the program keeps its sessions, if known.
    #[serde(default)]
    pub home: Option<PathBuf>,
    /// True if times in the program's messages are in UTC.
    #[serde(default)]
    pub is_utc: bool,
    /// The longest time without a sign of work, in milliseconds.
    #[serde(default)]
    pub idle_ms: Option<u64>,
    /// The largest number of refused tool calls in an attempt that succeeds.
    #[serde(default)]
    pub denials: u32,
    /// The largest number of model calls. It needs a program that reports how many it made.
    #[serde(default)]
    pub max_calls: Option<u64>,
    /// The largest cost in US dollars. It needs a program that limits its own cost or reports the cost of each call.
    #[serde(default)]
    pub max_cost: Option<String>,
    /// The address of the bridge for model calls.
    #[serde(default)]
    pub bridge: Option<String>,
    /// True if an earlier attempt was interrupted, so that the result of its last action is unknown.
    #[serde(default)]
    pub cut_off: bool,
    /// True if the files were restored to their state at the beginning of the step.
    #[serde(default)]
    pub set_back: bool,
    /// The folder of the attempt.
    pub folder: PathBuf,
    /// The path of the report file.
    pub report: PathBuf,
    /// The path of the text file.
    pub output: PathBuf,
    /// The number of secrets to mask. Each one is in its own variable ([`crate::SECRET_VARIABLES`]).
    #[serde(default)]
    pub secrets: usize,
    /// True if a secret cannot be read. Then no output of the agent is written to a file.
    #[serde(default)]
    pub hides: bool,
}

/// The usage of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Before {
    /// Input tokens.
    #[serde(default)]
    pub tokens_in: Option<u64>,
    /// Output tokens.
    #[serde(default)]
    pub tokens_out: Option<u64>,
    /// The cost in billionths of a US dollar.
    #[serde(default)]
    pub nano_usd: Option<u64>,
}

impl Before {
    pub(crate) fn figures(self) -> Figures {
        let cost = self.nano_usd.map(Cost::from_nano_usd);
        Figures { tokens_in: self.tokens_in, tokens_out: self.tokens_out, cost }
    }
}
