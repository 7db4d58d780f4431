//! From what a program writes to what it came to.

use crate::{
    ask::ToolCall,
    claude, codex,
    failure::{Class, Failure},
    lines::Lines,
    preset::Preset,
    usage::Usage,
};
use envoi_contract::json::Value;

/// The longest part of a line that is shown to people.
const MAX_SHOWN_CHARS: usize = 300;

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// One line of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    /// As it was written; bytes that are no UTF-8 are replaced.
    pub raw: String,
    /// What it says to people, in lines; none for what is of no interest to them.
    pub shown: Vec<String>,
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
    /// The session that was to be resumed is not there.
    pub lost: bool,
    /// What it used.
    pub usage: Usage,
    /// Tools that were refused, with what they were to do.
    pub denied: Vec<String>,
    /// The call of a tool that it has put off: it goes on with it when it is resumed. That is a failure of the class
    /// [`Class::Denied`], unless somebody is to be asked about the call.
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

/// What has been read of one process.
#[derive(Debug)]
pub struct Reading {
    lines: Lines,
    events: Events,
    unread: u64,
}

#[derive(Debug)]
enum Events {
    Claude(claude::Events),
    Codex(codex::Events),
}

impl Reading {
    /// Of a process that has just started.
    #[must_use]
    pub fn of(preset: Preset) -> Self {
        let events = match preset {
            Preset::Claude => Events::Claude(claude::Events::default()),
            Preset::Codex => Events::Codex(codex::Events::default()),
        };
        Self { lines: Lines::default(), events, unread: 0 }
    }

    /// Takes a piece of its standard output, of any size, and returns the lines that it ends.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Heard> {
        let lines = self.lines.push(bytes);
        lines.into_iter().map(|line| self.hear(line)).collect()
    }

    /// The line that was begun when its standard output ended, if there is one.
    pub fn end(&mut self) -> Option<Heard> {
        self.lines.end().map(|line| self.hear(line))
    }

    /// The id of the session, as soon as the program has reported it.
    #[must_use]
    pub fn session(&self) -> Option<&str> {
        match &self.events {
            Events::Claude(events) => events.session.as_deref(),
            Events::Codex(events) => events.session.as_deref(),
        }
    }

    /// Calls of a model so far, if the program tells of them.
    #[must_use]
    pub fn calls(&self) -> Option<u64> {
        match &self.events {
            Events::Claude(events) => Some(events.calls()),
            Events::Codex(_) => None,
        }
    }

    /// The version that the program states, as soon as it has.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        match &self.events {
            Events::Claude(events) => events.version.as_deref(),
            Events::Codex(_) => None,
        }
    }

    /// The call of a tool with this id was refused on purpose: that is no failure.
    pub fn excuse(&mut self, call: &str) {
        if let Events::Claude(events) = &mut self.events {
            events.excused.insert(call.to_owned());
        }
    }

    /// What it came to. A success needs exit code 0 and the closing event of the program, and no refused tool; `wants_data`: and
    /// data.
    #[must_use]
    pub fn finish(mut self, exit: Exit, stderr: &str, wants_data: bool) -> Outcome {
        self.end();
        let outcome = match self.events {
            Events::Claude(events) => events.finish(exit, stderr, wants_data),
            Events::Codex(events) => events.finish(exit, stderr, wants_data),
        };
        let mut outcome = Outcome { unread: self.unread, ..outcome };
        if outcome.failure.is_none() {
            outcome.failure = unsuccessful(&outcome, exit, wants_data);
        }
        outcome
    }

    fn hear(&mut self, raw: String) -> Heard {
        let shown = match Value::parse_str(&raw) {
            Ok(event @ Value::Object(_)) => match &mut self.events {
                Events::Claude(events) => events.hear(&event),
                Events::Codex(events) => events.hear(&event),
            },
            Ok(_) | Err(_) => {
                self.unread = self.unread.saturating_add(1);
                vec![one_line(&raw)]
            }
        };
        Heard { raw, shown }
    }
}

/// Why a program that reports success has failed all the same.
fn unsuccessful(outcome: &Outcome, exit: Exit, wants_data: bool) -> Option<Failure> {
    if exit != Exit::Code(0) {
        let message = format!("the program reported success, and {}", ended(exit));
        return Some(Failure::new(Class::Crashed, message));
    }
    if !outcome.denied.is_empty() {
        let message = format!("a tool was refused: {}", outcome.denied.join("; "));
        return Some(Failure::new(Class::Denied, message));
    }
    if wants_data && outcome.data.is_none() {
        let message = format!("the agent was to give data and gave text: {}", one_line(&outcome.text));
        return Some(Failure::new(Class::Schema, message));
    }
    None
}

/// A program that ended without its closing event.
pub(crate) fn without_end(exit: Exit, stderr: &str) -> Failure {
    let last = stderr.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let class = crate::failure::of_wording(last).unwrap_or(Class::Crashed);
    let said = if last.is_empty() { String::new() } else { format!(": {}", one_line(last)) };
    Failure::new(class, format!("the program {} without its closing event{said}", ended(exit)))
}

fn ended(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("ended with exit code {code}"),
        Exit::Signal(signal) => format!("was ended by signal {signal}"),
    }
}

/// A text as one line of bounded length.
pub(crate) fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= MAX_SHOWN_CHARS {
        return line;
    }
    let head: String = line.chars().take(MAX_SHOWN_CHARS).collect();
    format!("{head}…")
}

/// The text of a member, if it is there.
pub(crate) fn text<'v>(value: &'v Value, path: &[&str]) -> Option<&'v str> {
    at(value, path)?.as_str()
}

/// The id of a session, if it looks like one: it is an argument of the program later.
pub(crate) fn session_id(value: &Value, path: &[&str]) -> Option<String> {
    text(value, path).filter(|id| envoi_kernel::ids::is_session_id(id)).map(str::to_owned)
}

/// The count of a member, if it is there.
pub(crate) fn count(value: &Value, path: &[&str]) -> Option<u64> {
    at(value, path)?.as_u53()
}

/// The value at a path of members.
pub(crate) fn at<'v>(value: &'v Value, path: &[&str]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, name| value.get(name))
}
