//! What a program came to.

use crate::{
    ask::ToolCall,
    failure::{Class, Failure, of_wording},
    member::{Masking, one_line},
    usage::Usage,
};
use envoi_contract::json::{Object, Value};

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// What a program came to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// The agent's last text.
    pub text: String,
    /// Its data, where it was to give some.
    pub data: Option<Value>,
    /// The id of its session, if it has reported one.
    pub session: Option<String>,
    /// The id of the agent's last message in it, if another session can begin there.
    pub last: Option<String>,
    /// The session that was to be resumed is not there.
    pub lost: bool,
    /// What it used.
    pub usage: Usage,
    /// It ended without its closing event: it may have used more.
    pub is_cut_off: bool,
    /// Figures of its use that it states and that cannot be, as members of `metrics` (contract 4): they are not known, and the
    /// step gets a warning.
    pub unusable: Object,
    /// Tools that were refused, with what they were to do.
    pub denied: Vec<String>,
    /// The call of a tool that it has put off: it goes on with it when it is resumed. That is a failure of the class
    /// [`Class::Denied`], unless a person is to decide about the call.
    pub deferred: Option<ToolCall>,
    /// It was resumed without a prompt, for a call that was put off, and there is none.
    pub nothing_waits: bool,
    /// When the limit of the account is over, if that was stated: Unix time in seconds.
    pub throttled_until: Option<u64>,
    /// The version that the program states.
    pub version: Option<String>,
    /// Lines that could not be read.
    pub unread: u64,
    /// Why it failed; none: it succeeded.
    pub failure: Option<Failure>,
}

impl Outcome {
    /// That more calls of tools were refused than the step allows, as a failure.
    #[must_use]
    pub fn refused_too_often(&self, denials: u32) -> Option<Failure> {
        let refused = self.denied.len();
        if u32::try_from(refused).unwrap_or(u32::MAX) <= denials {
            return None;
        }
        let what = match denials {
            0 => "a tool was refused".to_owned(),
            most => format!("{refused} calls of a tool were refused, and `denials` allows {most}"),
        };
        Some(Failure::new(Class::Denied, format!("{what}: {}", self.denied.join("; "))))
    }
}

/// A program that ended without its closing event.
pub(crate) fn without_end(exit: Exit, stderr: &str, masking: Masking<'_>) -> Failure {
    let last = stderr.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let class = of_wording(last).unwrap_or(Class::Crashed);
    let reason = if last.is_empty() { String::new() } else { format!(": {}", one_line(last, masking)) };
    Failure::new(class, format!("the program {} without its closing event{reason}", ended(exit)))
}

/// The exit, as a part of a sentence.
pub(crate) fn ended(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("ended with exit code {code}"),
        Exit::Signal(signal) => format!("was ended by signal {signal}"),
    }
}
