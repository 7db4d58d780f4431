//! What the output of each agent program means, one file for each: events, in; progress and the outcome, out. The arguments that a
//! program gets are in `invocation`.

pub(crate) mod claude;
pub(crate) mod codex;
pub(crate) mod gemini;
pub(crate) mod opencode;
