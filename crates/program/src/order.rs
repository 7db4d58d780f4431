//! The order of one attempt: the engine composes it and writes it as a file into the attempt's folder.

use envoi_contract::json::Value;
use envoi_kernel::{
    event::{CallAnswer, SessionFork},
    ledger::Cost,
};
use envoi_preset::Figures;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What one attempt has to do. Holds no secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// The preset by which the program is started and read.
    pub preset: String,
    /// The program: a name that is looked for in `PATH`, or a path.
    pub program: PathBuf,
    /// What the agent is to do.
    pub prompt: String,
    /// What it does without asking.
    pub may: String,
    /// Its model.
    #[serde(default)]
    pub model: Option<String>,
    /// The most turns.
    #[serde(default)]
    pub turns: Option<u32>,
    /// Further arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// Patterns of the calls of tools that a person decides.
    #[serde(default)]
    pub ask: Vec<String>,
    /// What a person has decided about the call that the session was stopped for.
    #[serde(default)]
    pub answer: Option<Box<CallAnswer>>,
    /// The JSON Schema of its data.
    #[serde(default)]
    pub schema: Option<Value>,
    /// The id of the session; none: the program reports it.
    #[serde(default)]
    pub session: Option<String>,
    /// The session has begun.
    #[serde(default)]
    pub resumes: bool,
    /// Where the session begins in another one.
    #[serde(default)]
    pub fork_of: Option<SessionFork>,
    /// The sums of the session before this attempt.
    #[serde(default)]
    pub before: Before,
    /// A file with the words of the critic, or of the person who sent the run back.
    #[serde(default)]
    pub feedback: Option<PathBuf>,
    /// Why the try before it failed.
    #[serde(default)]
    pub failure: Option<String>,
    /// The attempt before it was stopped by a limit of the account.
    #[serde(default)]
    pub was_throttled: bool,
    /// The folder where the program keeps its sessions, if it is known.
    #[serde(default)]
    pub home: Option<PathBuf>,
    /// Times in the messages of the program are in UTC.
    #[serde(default)]
    pub is_utc: bool,
    /// The longest time without a sign of work of the program.
    #[serde(default)]
    pub idle_ms: Option<u64>,
    /// The most calls of tools that are refused in an attempt that succeeds.
    #[serde(default)]
    pub denials: u32,
    /// The most calls of a model, where the program says how many it has made.
    #[serde(default)]
    pub max_calls: Option<u64>,
    /// The most that it may cost in US dollars, where the program tests that itself or says what each call has cost.
    #[serde(default)]
    pub max_cost: Option<String>,
    /// The address of the bridge through which it calls its models.
    #[serde(default)]
    pub bridge: Option<String>,
    /// An earlier attempt was cut off, and what it did last is not known.
    #[serde(default)]
    pub cut_off: bool,
    /// The files were set back to what they were when the step began.
    #[serde(default)]
    pub set_back: bool,
    /// The folder of the attempt.
    pub folder: PathBuf,
    /// The file for the report.
    pub report: PathBuf,
    /// The file for the text.
    pub output: PathBuf,
    /// How many secrets are to be masked. Each is in a variable of its own ([`crate::SECRET_VARIABLES`]).
    #[serde(default)]
    pub secrets: usize,
    /// A secret cannot be read: nothing from the agent is written to a file.
    #[serde(default)]
    pub hides: bool,
}

/// Sums of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Before {
    /// Tokens that the model was given.
    #[serde(default)]
    pub tokens_in: Option<u64>,
    /// Tokens that the model gave.
    #[serde(default)]
    pub tokens_out: Option<u64>,
    /// What it cost, in billionths of a US dollar.
    #[serde(default)]
    pub nano_usd: Option<u64>,
}

impl Before {
    pub(crate) fn figures(self) -> Figures {
        let cost = self.nano_usd.map(Cost::from_nano_usd);
        Figures { tokens_in: self.tokens_in, tokens_out: self.tokens_out, cost }
    }
}
