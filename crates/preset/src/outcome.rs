//! The result of a program.

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

/// The result of a program.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// The agent's last text.
    pub text: String,
    /// The data, if the step has data.
    pub data: Option<Value>,
    /// The session id, if the program has reported one.
    pub session: Option<String>,
    /// The id of the agent's last message in the session, if another session can be forked there.
    pub last: Option<String>,
    /// True if the session to resume does not exist.
    pub lost: bool,
    /// The reported usage.
    pub usage: Usage,
    /// True if the program ended without its closing event. It may then have used more than it reported.
    pub is_cut_off: bool,
    /// Impossible figures in the reported usage, as members of `metrics` (contract 4). They count as unknown, and the
    /// step gets a warning.
    pub unusable: Object,
    /// Refused tool calls, with descriptions.
    pub denied: Vec<String>,
    /// The tool call that was deferred. The resumed program repeats it. It is a failure of the class
    /// [`Class::Denied`], unless a person decides about the call.
    pub deferred: Option<ToolCall>,
    /// True if the program was resumed without a prompt for a deferred call, and no call was deferred.
    pub nothing_waits: bool,
    /// The end of the account's rate limit, if stated: Unix time in seconds.
    pub throttled_until: Option<u64>,
    /// The version that the program reported.
    pub version: Option<String>,
    /// The number of lines that could not be read.
    pub unread: u64,
    /// The failure. `None` if the program succeeded.
    pub failure: Option<Failure>,
}

impl Outcome {
    /// The failure if more tool calls were refused than the step allows.
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

/// The failure of a program that ended without its closing event.
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
