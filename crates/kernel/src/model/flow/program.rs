//! What an `agent` step has an agent program do.

use super::Template;
use crate::model::throttle::DEFAULT_WAIT_MS;

/// The longest time without a sign of work, unless a step says something else.
pub const DEFAULT_IDLE_MS: u64 = 15 * 60_000;

/// An agent program before its templates are filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramPlan {
    /// The program, as the flow names it.
    pub program: String,
    /// The account that it uses ([`ProgramPlan::account_of`]); through the bridge that of its model ([`super::ModelPlan::account_of`]).
    pub account: String,
    /// It calls its models through the bridge, which counts each call before it is made. Then `model` is a name without expressions.
    pub by_bridge: bool,
    /// What follows when its provider refuses it for a while.
    pub on_throttled: OnThrottled,
    /// What it is to do.
    pub prompt: Template,
    /// The label of its session; `None`: each attempt has a session of its own.
    pub session: Option<String>,
    /// What it does without asking, as the flow says it.
    pub may: String,
    /// Its model; `None`: its own.
    pub model: Option<Template>,
    /// The most turns.
    pub turns: Option<u32>,
    /// Further arguments.
    pub args: Vec<Template>,
    /// The calls of tools that a person decides.
    pub ask: AskCalls,
    /// The longest time without a sign of work of the program.
    pub idle_ms: u64,
    /// The most calls of tools that are refused in an attempt that succeeds.
    pub denials: u32,
    /// The id of a session is chosen before the start; otherwise the program reports it.
    pub takes_session_id: bool,
    /// Variables that decide with which login it works.
    pub login_variables: &'static [&'static str],
}

/// What stands between the name of a program and that of an account in the name of the account.
const ACCOUNT_MARK: char = '/';

impl ProgramPlan {
    /// How an account is called: as the program, or, if the configuration has it under a name, `claude/work`.
    #[must_use]
    pub fn account_of(program: &str, name: Option<&str>) -> String {
        name.map_or_else(|| program.to_owned(), |name| format!("{program}{ACCOUNT_MARK}{name}"))
    }

    /// The name by which the configuration has an account; `None`: the program's own login.
    #[must_use]
    pub fn name_of(account: &str) -> Option<&str> {
        account.split_once(ACCOUNT_MARK).map(|(_, name)| name)
    }
}

/// Which calls of tools become questions of the run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AskCalls {
    /// Patterns of calls, as the flow has them; none: no call needs a person.
    pub calls: Vec<String>,
    /// Milliseconds until a question lapses; `None`: never.
    pub expires_in_ms: Option<u64>,
    /// Then the agent gets a refusal and goes on; otherwise its step fails.
    pub denies_when_expired: bool,
}

/// `on_throttled`: how long a step waits for its account, and what follows then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnThrottled {
    /// The longest wait; 0: none.
    pub wait_ms: u64,
    /// What follows where it would have to wait longer.
    pub then: AfterWait,
}

impl Default for OnThrottled {
    fn default() -> Self {
        Self { wait_ms: DEFAULT_WAIT_MS, then: AfterWait::Fail }
    }
}

/// What follows when a step does not wait any longer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AfterWait {
    /// It fails.
    Fail,
    /// A person decides whether it waits on.
    Ask,
    /// The fallback goes on.
    Use(Box<Fallback>),
}

/// The agent program that goes on in place of the one that a step names; for a step with a model another model, which has neither
/// arguments nor sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fallback {
    /// The program, or the model as the configuration names it.
    pub name: String,
    /// Its account.
    pub account: String,
    /// The model of a program; `None`: its own.
    pub model: Option<Template>,
    /// Further arguments.
    pub args: Vec<Template>,
    /// The id of a session is chosen before the start.
    pub takes_session_id: bool,
    /// Variables that decide with which login a program works; none for a model.
    pub login_variables: &'static [&'static str],
}
