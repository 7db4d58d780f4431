//! Interprets the output of each agent program, one file per program: it turns events into progress and an outcome.
//! `invocation` has the arguments of a program.

pub(crate) mod claude;
pub(crate) mod codex;
pub(crate) mod gemini;
pub(crate) mod opencode;
