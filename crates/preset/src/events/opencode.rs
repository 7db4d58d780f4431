//! The events of opencode (`opencode run --format json`).
//!
//! This code depends on these facts, all observed with the real program. Each event names the session, and the first
//! one comes with the first answer. A step is one model call: `step_finish` gives the reason of its end, its usage
//! and its cost. The last `step_finish` with the reason `stop` is the end. A refused tool call can end the run with
//! exit code 0 after a `step_finish` with the reason `tool-calls`. A failure is an event `error`, often twice, with
//! the HTTP status if there is one. A forbidden tool does not exist: a call of it appears as a call of the tool
//! `invalid`. The calls of its subagents (the tool `task`) are in no event. A model without a price costs 0.

use crate::{
    failure::{Class, Failure, of_status, of_wording},
    member::{Masking, at, count, data_in, one_line, session_id, text, unusable_counts},
    outcome::{Exit, Outcome, without_end},
    usage::{Figures, Usage},
};
use envoi_contract::json::{Object, Value};
use envoi_kernel::ledger::Cost;

/// Tools that depend on the step's `may`. If a model calls another unknown tool, it invented the name.
const BY_PERMISSION: &[&str] = &["bash", "edit", "write", "patch", "webfetch", "websearch"];

/// See the module documentation.
#[derive(Debug, Default)]
pub(crate) struct Events {
    pub(crate) session: Option<String>,
    /// The text since the beginning of the last step that had text.
    last_text: String,
    denied: Vec<String>,
    /// The number of started steps.
    calls: u64,
    /// Sums over the finished steps. A sum is unknown if one step does not state its figure.
    used: Figures,
    /// True if a subagent has worked. Its calls are in no event.
    had_helper: bool,
    unusable: Object,
    /// True if the last step ended with the reason `stop`.
    is_over: bool,
    /// True if the last step ended with the reason `length`: the answer reached the token limit. The program then
    /// ends with exit code 0.
    is_cut: bool,
    failed: Option<Value>,
}

impl Events {
    /// Takes one event, and returns its lines for people.
    pub(crate) fn read(&mut self, event: &Value, masking: Masking<'_>) -> Vec<String> {
        let part = at(event, &["part"]).unwrap_or(&Value::Null);
        let mut shown = Vec::new();
        if self.session.is_none() {
            self.session = session_id(event, &["sessionID"]);
            if let Some(session) = &self.session {
                shown.push(format!("opencode, session {session}"));
            }
        }
        match text(event, &["type"]) {
            Some("step_start") => {
                if self.calls == 0 {
                    let nothing = Cost::default();
                    self.used = Figures { tokens_in: Some(0), tokens_out: Some(0), cost: Some(nothing) };
                }
                self.calls = self.calls.saturating_add(1);
                (self.is_over, self.is_cut, self.failed) = (false, false, None);
            }
            Some("text") => {
                self.last_text = text(part, &["text"]).unwrap_or("").to_owned();
                shown.extend(self.last_text.lines().map(str::to_owned));
            }
            Some("tool_use") => shown.extend(self.tool(part, masking)),
            Some("step_finish") => shown.extend(self.finished(part, masking)),
            Some("error") => {
                let error = at(event, &["error"]).cloned().unwrap_or_default();
                let line = format!("end: {}", one_line(message(&error), masking));
                if self.failed.as_ref() != Some(&error) {
                    shown.push(line);
                }
                self.failed = Some(error);
            }
            _ => {}
        }
        shown
    }

    fn tool(&mut self, part: &Value, masking: Masking<'_>) -> Vec<String> {
        let tool = text(part, &["tool"]).unwrap_or("a tool");
        if let ("invalid", Some(meant)) = (tool, text(part, &["state", "input", "tool"])) {
            let error = text(part, &["state", "input", "error"]).unwrap_or("");
            if BY_PERMISSION.contains(&meant) && error.contains("unavailable tool") {
                self.denied.push(one_line(meant, masking));
                return vec![format!("refused: {}", one_line(meant, masking))];
            }
            return vec![format!("! {}", one_line(error, masking))];
        }
        self.had_helper |= tool == "task";
        let about = ["command", "filePath", "path", "url", "pattern", "query"];
        let about = about.into_iter().find_map(|name| text(part, &["state", "input", name]));
        let what = one_line(&format!("{tool} {}", about.unwrap_or_default()), masking);
        let error =
            text(part, &["state", "error"]).filter(|_| text(part, &["state", "status"]) == Some("error"));
        match error {
            None => vec![format!("> {what}")],
            Some(error) if is_refusal(error) => {
                self.denied.push(what.clone());
                vec![format!("refused: {what}")]
            }
            Some(error) => vec![format!("> {what}"), format!("! {}", one_line(error, masking))],
        }
    }

    fn finished(&mut self, part: &Value, masking: Masking<'_>) -> Option<String> {
        let tokens = at(part, &["tokens"]).unwrap_or(&Value::Null);
        let others = |names: &[&[&str]]| {
            names.iter().filter_map(|path| count(tokens, path)).fold(0, u64::saturating_add)
        };
        // Cached tokens are not included in `input`, and reasoning tokens are not included in `output`.
        let given = count(tokens, &["input"])
            .map(|input| input.saturating_add(others(&[&["cache", "read"], &["cache", "write"]])));
        let gave = count(tokens, &["output"]).map(|output| output.saturating_add(others(&[&["reasoning"]])));
        let stated = at(part, &["cost"]).unwrap_or(&Value::Null);
        let cost = stated.as_number().and_then(|cost| Cost::of_number(cost.as_str()));
        let add = |sum: Option<u64>, more: Option<u64>| Some(sum?.saturating_add(more?));
        self.used = Figures {
            tokens_in: add(self.used.tokens_in, given),
            tokens_out: add(self.used.tokens_out, gave),
            // Zero means that the program's settings have no price for the model.
            cost: self
                .used
                .cost
                .zip(cost.filter(|cost| *cost != Cost::default()))
                .map(|(sum, more)| sum.saturating_add(more)),
        };
        for (name, figure) in unusable_counts(tokens, "input", "output").iter() {
            self.unusable.insert(name, figure.clone());
        }
        if cost.is_none() && !stated.is_null() {
            self.unusable.insert("cost_usd", stated.clone());
        }
        let reason = text(part, &["reason"]).unwrap_or("unknown");
        (self.is_over, self.is_cut) = (reason == "stop", reason == "length");
        (reason != "tool-calls").then(|| format!("end: {}", one_line(reason, masking)))
    }

    /// The number of model calls; `None` if a subagent has worked.
    pub(crate) fn calls(&self) -> Option<u64> {
        (!self.had_helper).then_some(self.calls)
    }

    /// See [`crate::Reading::usage`].
    pub(crate) fn usage(&self) -> Usage {
        let process = if self.had_helper { Figures::default() } else { self.used };
        Usage { llm_calls: self.calls(), process, ..Usage::default() }
    }

    /// See [`crate::Reading::finish`].
    pub(crate) fn finish(self, exit: Exit, stderr: &str, wants_data: bool, masking: Masking<'_>) -> Outcome {
        let failure = match &self.failed {
            Some(error) => Some(failure(error, masking)),
            None if self.is_over => None,
            None if self.is_cut => {
                Some(Failure::new(Class::TooLong, "the answer was cut at its most tokens".to_owned()))
            }
            // The run ended because of a refused call.
            None if !self.denied.is_empty() => {
                let refused = self.denied.join("; ");
                Some(Failure::new(
                    Class::Denied,
                    format!("a tool was refused, and the program ended there: {refused}"),
                ))
            }
            None => Some(without_end(exit, &without_colours(stderr), masking)),
        };
        let mut usage = self.usage();
        let is_cut_off = !self.is_over && !self.is_cut && self.failed.is_none();
        if is_cut_off {
            // The last step was interrupted, so its output is unknown.
            usage.process.tokens_out = None;
        }
        Outcome {
            data: data_in(&self.last_text).filter(|_| wants_data),
            text: self.last_text,
            lost: self.session.is_none() && stderr.contains("Session not found"),
            session: self.session,
            usage,
            is_cut_off,
            unusable: self.unusable,
            denied: self.denied,
            failure,
            ..Outcome::default()
        }
    }
}

/// True if the error of a call means that no one allowed it, or that the rules forbid it.
fn is_refusal(error: &str) -> bool {
    error.contains("rejected permission") || error.contains("prevents you from using this specific tool call")
}

fn message(error: &Value) -> &str {
    text(error, &["data", "message"]).or(text(error, &["name"])).unwrap_or("it does not say why")
}

fn failure(error: &Value, masking: Masking<'_>) -> Failure {
    let said = message(error);
    let class = match text(error, &["name"]) {
        Some("ContentFilterError") => Some(Class::Refused),
        Some("ContextOverflowError") => Some(Class::TooLong),
        Some("ProviderAuthError") => Some(Class::Auth),
        Some("ProviderModelNotFoundError") => Some(Class::Model),
        // The status is that of a temporary limit, and the wording differs between providers. The body has a fixed
        // code.
        _ => text(error, &["data", "responseBody"])
            .filter(|body| body.contains("insufficient_quota"))
            .map(|_| Class::Billing),
    };
    let class = class
        .or_else(|| of_wording(said))
        .or_else(|| count(error, &["data", "statusCode"]).and_then(of_status))
        .unwrap_or(Class::Crashed);
    Failure::new(class, one_line(said, masking))
}

/// Removes terminal colours. The program writes them even when its output is not a terminal.
fn without_colours(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or("").to_owned();
    parts.fold(first, |text, part| {
        let (_, rest) = part.split_once('m').unwrap_or(("", part));
        text + rest
    })
}
