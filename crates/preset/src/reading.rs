//! Turns the output of a program into its outcome.

use crate::{
    events::{claude, codex, gemini, opencode},
    failure::{Class, Failure, of_status, of_wording},
    lines::{Lines, MAX_LINE_BYTES},
    member::{Masking, as_it_is, count, one_line},
    outcome::{Exit, Outcome, ended},
    pieces::piece,
    preset::Preset,
    usage::Usage,
};
use envoi_contract::json::Value;

/// A line of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramLine {
    /// The line as it was written. Invalid UTF-8 is replaced.
    pub raw: String,
    /// Lines for people; empty if the line has no interesting content.
    pub shown: Vec<String>,
    /// Whether the text may go on in the next line.
    pub part: Part,
}

/// Whether the text of a line may go on in the next one. Such lines have to be masked together, because a line may
/// contain half a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// A complete event.
    Whole,
    /// Not an event. A text may go on in the next line of this kind.
    Text,
    /// An event with this piece of a text. The next event of this kind has the next piece
    /// ([`crate::with_whole_text`]).
    Piece(String),
}

/// The output of one process, as far as it was read.
#[derive(Debug)]
pub struct Reading<'m> {
    lines: Lines,
    events: Events,
    masking: Masking<'m>,
    /// The number of events that were read.
    read: u64,
    unread: u64,
    /// See [`Reading::last_error`], with its class.
    last_error: Option<(String, Option<Class>)>,
    /// See [`Reading::allow_denials`].
    denials: u32,
}

#[derive(Debug)]
enum Events {
    Claude(claude::Events),
    Codex(codex::Events),
    Gemini(gemini::Events),
    OpenCode(opencode::Events),
}

impl<'m> Reading<'m> {
    /// A reading for a process that has just started. Its text is masked before it is shown.
    #[must_use]
    pub fn of(preset: Preset, masking: Masking<'m>) -> Self {
        let events = match preset {
            Preset::Claude => Events::Claude(claude::Events::default()),
            Preset::Codex => Events::Codex(codex::Events::default()),
            Preset::Gemini => Events::Gemini(gemini::Events::default()),
            Preset::OpenCode => Events::OpenCode(opencode::Events::default()),
        };
        Self { lines: Lines::default(), events, masking, read: 0, unread: 0, last_error: None, denials: 0 }
    }

    /// Takes a piece of standard output, of any size, and returns the lines that it completes.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<ProgramLine> {
        let lines = self.lines.push(bytes);
        lines.into_iter().map(|line| self.read(line)).collect()
    }

    /// Returns the incomplete last line at the end of standard output, if there is one.
    pub fn end(&mut self) -> Option<ProgramLine> {
        self.lines.end().map(|line| self.read(line))
    }

    /// The number of events so far: JSON objects with a type, and objects that are too long to be read. Other lines
    /// are no sign of work, and neither are events about a retried call.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.read.saturating_add(self.lines.skipped_objects)
    }

    /// The last event about an error or a retried call; `None` if there was none since the last sign of work.
    #[must_use]
    pub fn last_error(&self) -> Option<&str> {
        self.last_error.as_ref().map(|(words, _)| words.as_str())
    }

    /// True if the last error is a rate limit of the account. A program that is refused for hours may wait that long
    /// by itself.
    #[must_use]
    pub fn is_limited(&self) -> bool {
        self.last_error.as_ref().is_some_and(|(_, class)| *class == Some(Class::Throttled))
    }

    /// The session id, once the program has reported it.
    #[must_use]
    pub fn session(&self) -> Option<&str> {
        match &self.events {
            Events::Claude(events) => events.session.as_deref(),
            Events::Codex(events) => events.session.as_deref(),
            Events::Gemini(events) => events.session.as_deref(),
            Events::OpenCode(events) => events.session.as_deref(),
        }
    }

    /// The number of model calls so far, if the program reports them.
    #[must_use]
    pub fn calls(&self) -> Option<u64> {
        match &self.events {
            Events::Claude(events) => Some(events.calls()),
            Events::OpenCode(events) => events.calls(),
            Events::Codex(_) | Events::Gemini(_) => None,
        }
    }

    /// The usage that the program has reported so far.
    #[must_use]
    pub fn usage(&self) -> Usage {
        match &self.events {
            Events::Claude(events) => events.usage(),
            Events::Codex(events) => events.usage(),
            Events::Gemini(events) => events.usage(),
            Events::OpenCode(events) => events.usage(),
        }
    }

    /// The program's version, once it has reported it.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        match &self.events {
            Events::Claude(events) => events.version.as_deref(),
            Events::Codex(_) | Events::Gemini(_) | Events::OpenCode(_) => None,
        }
    }

    /// Marks a tool call as refused on purpose, which is not a failure.
    pub fn excuse(&mut self, call: &str) {
        if let Events::Claude(events) = &mut self.events {
            events.excused.insert(call.to_owned());
        }
    }

    /// Sets how many refused tool calls a success may have.
    pub fn allow_denials(&mut self, most: u32) {
        self.denials = most;
    }

    /// Returns the outcome. A success needs exit code 0, the program's closing event, and no more refused calls than
    /// allowed. With `wants_data` it also needs data.
    #[must_use]
    pub fn finish(mut self, exit: Exit, stderr: &str, wants_data: bool) -> Outcome {
        self.end();
        let outcome = match self.events {
            Events::Claude(events) => events.finish(exit, stderr, self.masking),
            Events::Codex(events) => events.finish(exit, stderr, wants_data, self.masking),
            Events::Gemini(events) => events.finish(exit, stderr, wants_data, self.masking),
            Events::OpenCode(events) => events.finish(exit, stderr, wants_data, self.masking),
        };
        let skipped = self.lines.skipped;
        let mut outcome = Outcome { unread: self.unread.saturating_add(skipped), ..outcome };
        if let Some(failure) = outcome.failure.as_mut().filter(|_| skipped > 0) {
            let limit = MAX_LINE_BYTES >> 20;
            let what = match skipped {
                1 => "a line that it wrote has more than".to_owned(),
                lines => format!("{lines} lines that it wrote have more than"),
            };
            failure.message = format!("{}; {what} {limit} MiB, which is not read", failure.message);
        }
        if outcome.failure.is_none() {
            outcome.failure = unsuccessful(&outcome, exit, self.denials, wants_data, self.masking);
        }
        outcome
    }

    fn read(&mut self, raw: String) -> ProgramLine {
        let (shown, part) = match Value::parse_str(&raw) {
            Ok(event @ Value::Object(_)) => {
                let part = piece(&event).map_or(Part::Whole, |piece| Part::Piece(piece.to_owned()));
                let shown = match &mut self.events {
                    Events::Claude(events) => events.read(&event, self.masking),
                    Events::Codex(events) => events.read(&event, self.masking),
                    Events::Gemini(events) => events.read(&event, self.masking),
                    Events::OpenCode(events) => events.read(&event, self.masking),
                };
                if is_sign_of_work(&event) {
                    self.read = self.read.saturating_add(1);
                    self.last_error = None;
                } else if !shown.is_empty() {
                    let words = shown.join(" ");
                    let status = count(&event, &["error_status"]);
                    let class = status.and_then(of_status).or_else(|| of_wording(&words));
                    self.last_error = Some((words.strip_prefix("! ").unwrap_or(&words).to_owned(), class));
                }
                (shown, part)
            }
            Ok(_) | Err(_) => {
                self.unread = self.unread.saturating_add(1);
                (vec![as_it_is(&raw, self.masking)], Part::Text)
            }
        };
        ProgramLine { raw, shown, part }
    }
}

/// True if an event shows that the program works. An event about a retried call does not, because some programs retry
/// for ever. An item of `codex` that is an error or a warning does not either.
fn is_sign_of_work(event: &Value) -> bool {
    let member = |name: &str| event.get(name).and_then(Value::as_str);
    match member("type") {
        None | Some("error") => false,
        Some("item.completed") => {
            event.get("item").and_then(|item| item.get("type")).and_then(Value::as_str) != Some("error")
        }
        Some(_) => member("subtype") != Some("api_retry"),
    }
}

/// The reason why a program failed although it reported success.
fn unsuccessful(
    outcome: &Outcome,
    exit: Exit,
    denials: u32,
    wants_data: bool,
    masking: Masking<'_>,
) -> Option<Failure> {
    if exit != Exit::Code(0) {
        let message = format!("the program reported success, and {}", ended(exit));
        return Some(Failure::new(Class::Crashed, message));
    }
    if let Some(failure) = outcome.refused_too_often(denials) {
        return Some(failure);
    }
    if wants_data && outcome.data.is_none() {
        let message =
            format!("the agent was to give data and gave text: {}", one_line(&outcome.text, masking));
        return Some(Failure::new(Class::Schema, message));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_an_object_that_names_its_type_or_is_too_long_to_be_read() {
        let mask = |text: &str| text.to_owned();
        for preset in Preset::ALL {
            let mut reading = Reading::of(preset, Masking::with(&mask));
            let mut events = |bytes: &[u8]| {
                let before = reading.events();
                reading.push(bytes);
                reading.events() - before
            };
            for line in ["still here\n", "[1]\n", "{}\n", "{\"type\":1}\n"] {
                assert_eq!(events(line.as_bytes()), 0, "{line}");
            }
            assert_eq!(events(b"{\"type\":\"new\"}\n"), 1);
            let more = vec![b'x'; MAX_LINE_BYTES];
            for (begin, counts) in [(" {\"type\":\"long\",\"is\":\"", 1), ("words", 0)] {
                assert_eq!(
                    (events(begin.as_bytes()), events(&more), events(b"x")),
                    (0, 0, 0),
                    "it has no end yet"
                );
                assert_eq!(events(b"\"}\n"), counts, "{begin}");
            }
        }
    }

    #[test]
    fn the_last_error_is_kept_until_the_program_works_again() {
        let mask = |text: &str| text.replace("s3cret", "***");
        for (preset, trouble, work, said, is_limited) in [
            (
                Preset::Claude,
                r#"{"type":"system","subtype":"api_retry","attempt":3,"max_retries":10,"error":"overloaded"}"#,
                r#"{"type":"assistant","message":{"content":[]}}"#,
                "retry 3 of 10: overloaded",
                false,
            ),
            (
                Preset::Claude,
                r#"{"type":"system","subtype":"api_retry","attempt":3,"max_retries":10,"error_status":429,"error":"rate_limit"}"#,
                r#"{"type":"assistant","message":{"content":[]}}"#,
                "retry 3 of 10: rate_limit (429)",
                true,
            ),
            (
                Preset::Codex,
                r#"{"type":"error","message":"Reconnecting... s3cret"}"#,
                r#"{"type":"turn.started"}"#,
                "Reconnecting... ***",
                false,
            ),
            (
                Preset::Codex,
                r#"{"type":"error","message":"Reconnecting... 1/1 (exceeded retry limit, last status: 429 Too Many Requests)"}"#,
                r#"{"type":"turn.started"}"#,
                "Reconnecting... 1/1 (exceeded retry limit, last status: 429 Too Many Requests)",
                true,
            ),
            (
                Preset::Codex,
                r#"{"type":"item.completed","item":{"id":"item_0","type":"error","message":"s3cret is slow"}}"#,
                r#"{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"Done."}}"#,
                "*** is slow",
                false,
            ),
        ] {
            let mut reading = Reading::of(preset, Masking::with(&mask));
            let mut last_error = |line: &str| {
                reading.push(format!("{line}\n").as_bytes());
                (reading.last_error().map(str::to_owned), reading.is_limited())
            };
            let said = (Some(said.to_owned()), is_limited);
            assert_eq!(last_error("still here"), (None, false));
            assert_eq!(last_error(trouble), said);
            assert_eq!(last_error("{}"), said, "it says nothing");
            assert_eq!(last_error(work), (None, false), "{preset:?}");
        }
    }
}
