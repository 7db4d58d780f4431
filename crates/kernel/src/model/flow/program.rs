//! The plan of an `agent` step: a run of an agent program.

use super::Template;
use crate::model::throttle::DEFAULT_WAIT_MS;

/// Longest time without a sign of activity, unless a step sets another.
pub const DEFAULT_IDLE_MS: u64 = 15 * 60_000;

/// An agent program before its templates are filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramPlan {
    /// The program, as the flow names it.
    pub program: String,
    /// The account that it uses ([`ProgramPlan::account_of`]). Through the bridge, the account of its model
    /// ([`super::ModelPlan::account_of`]).
    pub account: String,
    /// Whether it calls its models through the bridge, which counts each call before it is made. If so,
    /// `model` is a name without expressions.
    pub by_bridge: bool,
    /// The reaction when its provider refuses it temporarily.
    pub on_throttled: OnThrottled,
    /// The prompt.
    pub prompt: Template,
    /// The label of its session; `None`: each attempt has a session of its own.
    pub session: Option<String>,
    /// The permission level: the actions that it takes without asking, as written in the flow.
    pub may: String,
    /// Its model; `None`: the program's default.
    pub model: Option<Template>,
    /// Maximum number of turns.
    pub turns: Option<u32>,
    /// Further arguments.
    pub args: Vec<Template>,
    /// The tool calls that a person has to approve.
    pub ask: AskCalls,
    /// Longest time without a sign of activity of the program, in milliseconds.
    pub idle_ms: u64,
    /// Maximum number of refused tool calls in an attempt that succeeds.
    pub denials: u32,
    /// Whether the id of a session is chosen before the start. Otherwise the program reports it.
    pub takes_session_id: bool,
    /// Environment variables that determine its login.
    pub login_variables: &'static [&'static str],
}

/// Separator between the program and the account in the name of the account.
const ACCOUNT_MARK: char = '/';

impl ProgramPlan {
    /// The name of an account: the program, or `claude/work` if the configuration names the account.
    #[must_use]
    pub fn account_of(program: &str, name: Option<&str>) -> String {
        name.map_or_else(|| program.to_owned(), |name| format!("{program}{ACCOUNT_MARK}{name}"))
    }

    /// The name of an account in the configuration; `None`: the program's own login.
    #[must_use]
    pub fn name_of(account: &str) -> Option<&str> {
        account.split_once(ACCOUNT_MARK).map(|(_, name)| name)
    }
}

/// The tool calls that become questions of the run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AskCalls {
    /// Patterns of calls, as written in the flow; empty: no call needs a person.
    pub calls: Vec<String>,
    /// Milliseconds until a question expires; `None`: never.
    pub expires_in_ms: Option<u64>,
    /// If true, the agent gets a refusal on expiry and goes on; otherwise its step fails.
    pub denies_when_expired: bool,
}

/// `on_throttled`: how long a step waits for its account, and the reaction after that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnThrottled {
    /// Longest wait; 0: no wait.
    pub wait_ms: u64,
    /// The reaction if it would have to wait longer.
    pub then: AfterWait,
}

impl Default for OnThrottled {
    fn default() -> Self {
        Self { wait_ms: DEFAULT_WAIT_MS, then: AfterWait::Fail }
    }
}

/// The reaction when a step does not wait any longer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AfterWait {
    /// The step fails.
    Fail,
    /// A person decides whether it continues to wait.
    Ask,
    /// The fallback is used.
    Use(Box<Fallback>),
}

/// An agent program that replaces the one that a step names. For a step with a model: another model, without
/// arguments and sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fallback {
    /// The program, or the name of the model in the configuration.
    pub name: String,
    /// Its account.
    pub account: String,
    /// The model of a program; `None`: the program's default.
    pub model: Option<Template>,
    /// Further arguments.
    pub args: Vec<Template>,
    /// Whether the id of a session is chosen before the start.
    pub takes_session_id: bool,
    /// Environment variables that determine the login of a program; empty for a model.
    pub login_variables: &'static [&'static str],
}
