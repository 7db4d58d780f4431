//! The events of the Gemini CLI (`gemini -o stream-json`).
//!
//! This code depends on these facts, all observed with the real program. The text comes in pieces, separately for
//! each turn. A success is `result` with `status: success`; a program that was ended exits with 0 and writes no
//! `result`. A failure has a message and no kind: the message contains the provider's error as JSON, and the exit
//! code is the HTTP status modulo 256. The turn limit in its settings has its own error type. A tool that would need
//! a person does not exist, so a call of it is a call of an unregistered tool. Figures count this process. The cost
//! and the number of calls are not reported.

use crate::{
    failure::{Class, Failure, of_status, of_wording},
    member::{Masking, at, count, data_in, one_line, session_id, text, unusable_counts},
    outcome::{Exit, Outcome, without_end},
    usage::{Figures, Usage},
};
use envoi_contract::json::Value;

/// Tools that depend on the step's `may`. If a model calls another unknown tool, it invented the name.
const BY_PERMISSION: &[&str] =
    &["run_shell_command", "write_file", "replace", "web_fetch", "google_web_search", "activate_skill"];

/// See the module documentation.
#[derive(Debug, Default)]
pub(crate) struct Events {
    pub(crate) session: Option<String>,
    /// The text of the last turn that had text.
    last_text: String,
    /// Bytes of this text that were already shown.
    shown: usize,
    /// True if the next piece begins a turn.
    begins: bool,
    denied: Vec<String>,
    /// Tool calls without a result so far: id and description.
    calls: Vec<(String, String)>,
    /// The message of the last error event. The closing event of a failure may have none.
    error: Option<String>,
    /// The closing event.
    result: Option<Value>,
}

impl Events {
    /// Takes one event, and returns its lines for people.
    pub(crate) fn read(&mut self, event: &Value, masking: Masking<'_>) -> Vec<String> {
        match text(event, &["type"]) {
            Some("init") => {
                self.session = session_id(event, &["session_id"]);
                let model = text(event, &["model"]).unwrap_or("unknown");
                vec![format!("gemini, model {}", one_line(model, masking))]
            }
            Some("message") if text(event, &["role"]) == Some("assistant") => {
                self.result = None;
                if core::mem::take(&mut self.begins) {
                    (self.last_text, self.shown) = (String::new(), 0);
                }
                self.last_text.push_str(text(event, &["content"]).unwrap_or(""));
                self.whole_lines()
            }
            Some("tool_use") => {
                self.result = None;
                let mut shown = self.rest_of_text();
                let call = called(event, masking);
                shown.push(format!("> {call}"));
                self.calls.push((text(event, &["tool_id"]).unwrap_or("").to_owned(), call));
                shown
            }
            Some("tool_result") => self.done(event, masking),
            Some("error") => {
                self.error = text(event, &["message"]).map(str::to_owned);
                vec![format!("! {}", one_line(text(event, &["message"]).unwrap_or(""), masking))]
            }
            Some("result") => {
                let mut shown = self.rest_of_text();
                self.result = Some(event.clone());
                shown.push(match failed(event, self.error.as_deref()) {
                    None => "end: success".to_owned(),
                    Some(message) => format!("end: {}", one_line(&Stated::of(message).message, masking)),
                });
                shown
            }
            _ => Vec::new(),
        }
    }

    fn done(&mut self, event: &Value, masking: Masking<'_>) -> Vec<String> {
        let id = text(event, &["tool_id"]).unwrap_or("");
        let place = self.calls.iter().position(|(call, _)| call == id);
        let what = place.map(|place| self.calls.swap_remove(place).1).unwrap_or_default();
        if text(event, &["status"]) != Some("error") {
            return Vec::new();
        }
        let is_named = || BY_PERMISSION.contains(&what.split(' ').next().unwrap_or(""));
        let is_denied = match text(event, &["error", "type"]) {
            Some("policy_violation") => true,
            Some("tool_not_registered") => is_named(),
            _ => false,
        };
        if is_denied {
            self.denied.push(what.clone());
            return vec![format!("refused: {what}")];
        }
        let message = text(event, &["error", "message"]).or(text(event, &["output"])).unwrap_or_default();
        vec![format!("! {}", one_line(message, masking))]
    }

    /// The complete lines of the text that were not shown yet.
    fn whole_lines(&mut self) -> Vec<String> {
        let new = self.last_text.get(self.shown..).unwrap_or_default();
        let Some(end) = new.rfind('\n') else { return Vec::new() };
        let lines = new.get(..end).unwrap_or_default().lines().map(str::to_owned).collect();
        self.shown = self.shown.saturating_add(end).saturating_add(1);
        lines
    }

    /// The text that was not shown yet, at the end of its turn.
    fn rest_of_text(&mut self) -> Vec<String> {
        self.begins = true;
        let rest = self.last_text.get(self.shown..).unwrap_or_default();
        let lines = rest.lines().map(str::to_owned).collect();
        self.shown = self.last_text.len();
        lines
    }

    /// See [`crate::Reading::usage`].
    pub(crate) fn usage(&self) -> Usage {
        let stats = self.result.as_ref().and_then(|result| at(result, &["stats"]));
        let process = stats.map(|stats| Figures {
            tokens_in: count(stats, &["input_tokens"]),
            tokens_out: count(stats, &["output_tokens"]),
            cost: None,
        });
        Usage { process: process.unwrap_or_default(), ..Usage::default() }
    }

    /// See [`crate::Reading::finish`].
    pub(crate) fn finish(self, exit: Exit, stderr: &str, wants_data: bool, masking: Masking<'_>) -> Outcome {
        let failure = match &self.result {
            None => Some(not_begun(exit, stderr, masking)),
            Some(result) => failed(result, self.error.as_deref()).map(|message| {
                let failure = Stated::of(message).failure(exit, masking);
                match text(result, &["error", "type"]) {
                    Some("FatalTurnLimitedError") => Failure { class: Class::Turns, ..failure },
                    _ => failure,
                }
            }),
        };
        let stats = self.result.as_ref().and_then(|result| at(result, &["stats"]));
        let unusable = stats.map(|stats| unusable_counts(stats, "input_tokens", "output_tokens"));
        let is_unknown = |line: &str| {
            line.contains("Invalid session identifier") || line.contains("No previous sessions found")
        };
        let usage = self.usage();
        Outcome {
            data: data_in(&self.last_text).filter(|_| wants_data),
            text: self.last_text,
            lost: self.session.is_none() && stderr.lines().any(is_unknown),
            session: self.session,
            usage,
            unusable: unusable.unwrap_or_default(),
            denied: self.denied,
            failure,
            ..Outcome::default()
        }
    }
}

/// The tool's name and its subject.
fn called(event: &Value, masking: Masking<'_>) -> String {
    let tool = text(event, &["tool_name"]).unwrap_or("a tool");
    let about = ["command", "file_path", "path", "url", "pattern", "query"];
    let about = about.into_iter().find_map(|name| text(event, &["parameters", name]));
    one_line(&format!("{tool} {}", about.unwrap_or_default()), masking)
}

/// The message of a closing event that is not a success. `before` is the message of the last error event.
fn failed<'m>(result: &'m Value, before: Option<&'m str>) -> Option<&'m str> {
    let is_success = text(result, &["status"]) == Some("success");
    let message = text(result, &["error", "message"]).or(before);
    (!is_success).then(|| message.unwrap_or("it does not say why"))
}

/// The failure of a program that ended without a closing event. Its standard error begins with the reason.
fn not_begun(exit: Exit, stderr: &str, masking: Masking<'_>) -> Failure {
    let reason = stderr.lines().map(str::trim).find(|line| line.starts_with("Error"));
    let failure = without_end(exit, reason.unwrap_or(stderr), masking);
    match exit {
        Exit::Code(41) => Failure { class: Class::Auth, ..failure },
        _ => failure,
    }
}

/// The content of a failure message.
struct Stated {
    message: String,
    status: Option<u64>,
}

impl Stated {
    /// Parses `[API Error: {"error":{"code":401,"message":"…"}}]`. The brackets may also contain plain text.
    fn of(message: &str) -> Self {
        let body = message.find('{').zip(message.rfind('}')).and_then(|(from, to)| message.get(from..=to));
        let error = body.and_then(|body| Value::parse_str(body).ok());
        let plain = || Self { message: message.to_owned(), status: None };
        error.as_ref().and_then(|error| at(error, &["error"])).map_or_else(plain, |error| Self {
            message: text(error, &["message"]).unwrap_or(message).to_owned(),
            status: count(error, &["code"]),
        })
    }

    /// The wording is more precise than the status: 400 can mean a prompt that is too long, or a missing payment.
    fn failure(&self, exit: Exit, masking: Masking<'_>) -> Failure {
        let class = of_wording(&self.message)
            .or_else(|| self.status.or_else(|| status_of(exit)).and_then(of_status))
            .unwrap_or(Class::Crashed);
        Failure::new(class, one_line(&self.message, masking))
    }
}

/// The HTTP status in the exit code, which is the status modulo 256. The program's own exit codes are below 144,
/// which stands for status 400.
fn status_of(exit: Exit) -> Option<u64> {
    match exit {
        Exit::Code(code @ 144..=255) => u64::try_from(code).ok().map(|code| code.saturating_add(256)),
        Exit::Code(_) | Exit::Signal(_) => None,
    }
}
