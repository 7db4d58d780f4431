//! What an `agent` step has an agent program do.

use super::Template;

/// An agent program before its templates are filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramPlan {
    /// The program, as the flow names it.
    pub program: String,
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
    /// The id of a session is chosen before the start; otherwise the program reports it.
    pub takes_session_id: bool,
}
