//! The events of Claude Code (`--output-format stream-json`).
//!
//! This code depends on these facts, all observed with the real program. Every failure of its provider has
//! `subtype: success` together with `is_error: true`. A refused tool is a success with `permission_denials`.
//! `total_cost_usd` counts the session in versions that write `model_usage_since_last_result`, and the process in
//! earlier versions. `usage` counts the process. When the program stops at its own cost limit, `usage` is zero, and
//! the figures of each model have the real usage.

use crate::{
    ask::ToolCall,
    failure::{Class, Failure, of_status, of_wording},
    member::{Masking, at, count, one_line, session_id, text, unusable_count},
    outcome::{Exit, Outcome, without_end},
    usage::{Figures, Usage},
};
use envoi_contract::json::{Object, Value};
use envoi_kernel::ledger::Cost;
use std::collections::{BTreeMap, BTreeSet};

/// The model name in messages that the program itself generated.
const SYNTHETIC: &str = "<synthetic>";

/// The members that describe a call to people. The first one present counts.
const TELLING: [&str; 8] =
    ["command", "file_path", "notebook_path", "path", "pattern", "url", "query", "description"];

/// See the module documentation.
#[derive(Debug, Default)]
pub(crate) struct Events {
    pub(crate) session: Option<String>,
    /// True once the program itself has reported its session.
    is_begun: bool,
    pub(crate) version: Option<String>,
    /// Input tokens of each call, by message id.
    calls: BTreeMap<String, u64>,
    last_text: String,
    /// The id of the last message from which another session can be forked.
    last: Option<String>,
    /// The sum of the new costs in the closing events.
    added_cost: Option<Cost>,
    /// The error in the last message that the program itself generated.
    error: Option<String>,
    reset_at: Option<u64>,
    result: Option<Value>,
    /// The last closing event with a cost. A later closing event may have none.
    priced: Option<Value>,
    /// The ids of tool calls that were refused on purpose.
    pub(crate) excused: BTreeSet<String>,
}

impl Events {
    /// Takes one event, and returns its lines for people.
    pub(crate) fn read(&mut self, event: &Value, masking: Masking<'_>) -> Vec<String> {
        let session = session_id(event, &["session_id"]);
        let is_init = text(event, &["type"]) == Some("system") && text(event, &["subtype"]) == Some("init");
        if session.is_some() && (self.session.is_none() || (is_init && !self.is_begun)) {
            self.session = session.clone();
        }
        self.is_begun |= is_init;
        let is_other = text(event, &["session_id"]).is_some() && session != self.session;
        match text(event, &["type"]) {
            // The result of another session does not end this one.
            Some("result") if is_other => {
                vec!["! the closing event of another session is not counted".to_owned()]
            }
            Some("system") => self.system(event),
            Some("assistant") => {
                // A new turn begins, so the earlier closing event was not the end.
                self.result = None;
                self.assistant(event, masking)
            }
            Some("user") => refusals(event, masking),
            Some("rate_limit_event") => self.limit(event),
            Some("result") => self.result(event),
            _ => Vec::new(),
        }
    }

    fn system(&mut self, event: &Value) -> Vec<String> {
        match text(event, &["subtype"]) {
            Some("init") => {
                self.version = text(event, &["claude_code_version"]).map(str::to_owned);
                let version = self.version.as_deref().unwrap_or("of an unknown version");
                let model = text(event, &["model"]).unwrap_or("unknown");
                let session = self.session.as_deref().unwrap_or("unknown");
                vec![format!("claude {version}, model {model}, session {session}")]
            }
            Some("api_retry") => {
                let attempt = count(event, &["attempt"]);
                let most = count(event, &["max_retries"]);
                let status = count(event, &["error_status"]).map(|status| format!(" ({status})"));
                vec![format!(
                    "retry {} of {}: {}{}",
                    attempt.unwrap_or(0),
                    most.unwrap_or(0),
                    text(event, &["error"]).unwrap_or("unknown"),
                    status.unwrap_or_default()
                )]
            }
            Some("permission_denied") => {
                let tool = text(event, &["tool_name"]).unwrap_or("a tool");
                vec![format!("refused: {tool}: {}", text(event, &["message"]).unwrap_or(""))]
            }
            _ => Vec::new(),
        }
    }

    fn assistant(&mut self, event: &Value, masking: Masking<'_>) -> Vec<String> {
        let is_synthetic = text(event, &["message", "model"]) == Some(SYNTHETIC);
        if let Some(id) = text(event, &["message", "id"]).filter(|_| !is_synthetic) {
            let usage = at(event, &["message", "usage"]).unwrap_or(&Value::Null);
            self.calls.insert(id.to_owned(), tokens_in(usage).unwrap_or(0));
        }
        // Messages of a subagent are not part of the session. Messages that the program generated are not from the
        // agent.
        if !is_synthetic && at(event, &["parent_tool_use_id"]).is_none_or(Value::is_null) {
            self.last = session_id(event, &["uuid"]).or(self.last.take());
        }
        if let Some(error) = text(event, &["error"]) {
            self.error = Some(error.to_owned());
        }
        let mut shown = Vec::new();
        for part in parts(event) {
            match text(part, &["type"]) {
                Some("text") => {
                    let message = text(part, &["text"]).unwrap_or("");
                    // The text of a subagent is not the agent's final text.
                    if at(event, &["parent_tool_use_id"]).is_none_or(Value::is_null) {
                        self.last_text = message.to_owned();
                    }
                    shown.extend(message.lines().map(str::to_owned));
                }
                Some("tool_use") => shown.push(format!("> {}", call(part, masking))),
                _ => {}
            }
        }
        shown
    }

    fn limit(&mut self, event: &Value) -> Vec<String> {
        let info = at(event, &["rate_limit_info"]).unwrap_or(&Value::Null);
        let status = text(info, &["status"]).unwrap_or("");
        let window = text(info, &["rateLimitType"]).unwrap_or("unknown");
        match status {
            "rejected" => {
                self.reset_at = count(info, &["resetsAt"]);
                vec![format!("the limit of the account is reached ({window})")]
            }
            "allowed_warning" => vec![format!("the limit of the account is near ({window})")],
            _ => Vec::new(),
        }
    }

    fn result(&mut self, event: &Value) -> Vec<String> {
        self.result = Some(event.clone());
        if cost_of(event).is_some_and(|cost| cost.is_ok()) {
            self.priced = Some(event.clone());
        }
        if let Some(Value::Object(models)) = at(event, &["model_usage_since_last_result"]) {
            let costs = models.iter().filter_map(|(_, used)| at(used, &["costUSD"])?.as_number());
            for cost in costs.filter_map(|cost| Cost::of_number(cost.as_str())) {
                self.added_cost = Some(self.added_cost.unwrap_or_default().saturating_add(cost));
            }
        }
        let turns = count(event, &["num_turns"]).unwrap_or(0);
        let reason = text(event, &["terminal_reason"]).or_else(|| text(event, &["subtype"]));
        vec![format!("end after {turns} turns: {}", reason.unwrap_or("unknown"))]
    }

    /// See [`crate::Reading::finish`].
    pub(crate) fn finish(self, exit: Exit, stderr: &str, masking: Masking<'_>) -> Outcome {
        let usage = self.usage();
        let unusable = self.unusable();
        let Some(result) = &self.result else {
            let failure = without_end(exit, stderr, masking);
            let session = self.session;
            let text = self.last_text;
            let lost = is_lost(stderr);
            let nothing_waits = stderr.contains("No deferred tool marker found");
            return Outcome {
                text,
                session,
                last: self.last,
                lost,
                nothing_waits,
                usage,
                is_cut_off: true,
                unusable,
                version: self.version,
                failure: Some(failure),
                ..Outcome::default()
            };
        };
        let errors: Vec<&str> = at(result, &["errors"])
            .and_then(Value::as_array)
            .unwrap_or(&[])
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let denials = match at(result, &["permission_denials"]) {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(denials)) => {
                let is_excused = |denial: &&Value| {
                    text(denial, &["tool_use_id"]).is_some_and(|id| self.excused.contains(id))
                };
                denials
                    .iter()
                    .filter(|denial| !is_excused(denial))
                    .map(|denied| denial(denied, masking))
                    .collect()
            }
            // The form is unknown. It counts as a refusal unless it is clearly empty.
            Some(other) => match other.compact().as_str() {
                "0" | "false" | "{}" | "\"\"" => Vec::new(),
                message => vec![one_line(message, masking)],
            },
        };
        let failure = self.failure(result, &errors, masking);
        let is_throttled = failure.as_ref().is_some_and(|failure| failure.class == Class::Throttled);
        Outcome {
            text: text(result, &["result"]).map_or_else(|| self.last_text.clone(), str::to_owned),
            data: at(result, &["structured_output"]).filter(|data| !data.is_null()).cloned(),
            lost: errors.iter().any(|error| is_lost(error)),
            denied: denials,
            deferred: deferred(result),
            nothing_waits: false,
            throttled_until: self.reset_at.filter(|_| is_throttled),
            failure,
            session: self.session,
            last: self.last,
            usage,
            is_cut_off: false,
            unusable,
            version: self.version,
            unread: 0,
        }
    }

    fn failure(&self, result: &Value, errors: &[&str], masking: Masking<'_>) -> Option<Failure> {
        let is_error = at(result, &["is_error"]).and_then(Value::as_bool).unwrap_or(true);
        let subtype = text(result, &["subtype"]).unwrap_or("");
        let reason = text(result, &["terminal_reason"]).unwrap_or("");
        let of_another_form =
            at(result, &["result"]).filter(|message| !matches!(message, Value::String(_) | Value::Null));
        let message = text(result, &["result"]).or(errors.first().copied()).unwrap_or(subtype);
        if !is_error && subtype == "success" {
            if let Some(other) = of_another_form {
                let other = one_line(&other.compact(), masking);
                let message = format!("the `result` of the closing event is no text: {other}");
                return Some(Failure::new(Class::Crashed, message));
            }
            return match (reason, text(result, &["stop_reason"])) {
                ("tool_deferred", _) | (_, Some("tool_deferred")) => {
                    Some(Failure::new(Class::Denied, "a tool waits for a permission that was not given"))
                }
                (_, Some("refusal")) => Some(Failure::new(Class::Refused, one_line(message, masking))),
                _ => None,
            };
        }
        let class = match (reason, subtype) {
            ("prompt_too_long", _) => Class::TooLong,
            ("max_turns", _) | (_, "error_max_turns") => Class::Turns,
            ("budget_exhausted", _) | (_, "error_max_budget_usd") => Class::Budget,
            _ if text(result, &["stop_reason"]) == Some("refusal") => Class::Refused,
            _ => self.class_of_error(result).or_else(|| of_wording(message)).unwrap_or(Class::Crashed),
        };
        Some(Failure::new(class, one_line(message, masking)))
    }

    /// The failure class that the structure of the events states.
    fn class_of_error(&self, result: &Value) -> Option<Class> {
        if self.reset_at.is_some() {
            return Some(Class::Throttled);
        }
        match self.error.as_deref() {
            Some("authentication_failed") => return Some(Class::Auth),
            Some("billing_error") => return Some(Class::Billing),
            Some("model_not_found") => return Some(Class::Model),
            Some("rate_limit") => return Some(Class::Throttled),
            Some("max_output_tokens") => return Some(Class::TooLong),
            _ => {}
        }
        if text(result, &["api_error"]) == Some("connection_failed") {
            return Some(Class::Network);
        }
        count(result, &["api_error_status"]).and_then(of_status)
    }

    pub(crate) fn calls(&self) -> u64 {
        u64::try_from(self.calls.len()).unwrap_or(u64::MAX)
    }

    pub(crate) fn usage(&self) -> Usage {
        let llm_calls = Some(self.calls());
        let cost = self.priced.as_ref().and_then(cost_of).and_then(|cost| cost.ok());
        let is_of_session =
            self.priced.as_ref().is_some_and(|event| event.get("model_usage_since_last_result").is_some());
        let session = Figures { cost: cost.filter(|_| is_of_session), ..Figures::default() };
        let cost = cost.filter(|_| !is_of_session);
        let Some(result) = &self.result else {
            // If the process was ended, only the input tokens of its calls are known, and the costs stated before.
            let given = self.calls.values().fold(0, |sum: u64, tokens| sum.saturating_add(*tokens));
            let process = Figures { tokens_in: Some(given), cost, ..Figures::default() };
            return Usage { llm_calls, process, session, added_cost: self.added_cost };
        };
        let usage = at(result, &["usage"]).unwrap_or(&Value::Null);
        let stated = (tokens_in(usage), count(usage, &["output_tokens"]));
        let (tokens_in, tokens_out) = match stated {
            (Some(0), Some(0)) => of_models(result).unwrap_or(stated),
            _ => stated,
        };
        let process = Figures { tokens_in, tokens_out, cost };
        Usage { llm_calls, process, session, added_cost: self.added_cost }
    }

    /// See [`Outcome::unusable`].
    fn unusable(&self) -> Object {
        let Some(result) = &self.result else { return Object::default() };
        let cost = cost_of(result).and_then(|cost| cost.err()).filter(|_| self.priced.is_none());
        let tokens = |name: &str| unusable_count(at(result, &["usage"])?, name);
        let figures = [
            ("cost_usd", cost),
            ("tokens_in", tokens("input_tokens")),
            ("tokens_out", tokens("output_tokens")),
        ];
        figures.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.clone()))).collect()
    }
}

/// The cost in a closing event, or the invalid value in its place. `None` if the event states nothing.
fn cost_of(event: &Value) -> Option<Result<Cost, &Value>> {
    let stated = at(event, &["total_cost_usd"]).filter(|cost| !cost.is_null())?;
    let cost = match stated {
        Value::Number(number) => Cost::of_number(number.as_str()),
        Value::String(text) => Cost::parse(text),
        _ => None,
    };
    Some(cost.ok_or(stated))
}

/// All input tokens of a call, including those of the provider's cache.
fn tokens_in(usage: &Value) -> Option<u64> {
    let of = |name: &str| count(usage, &[name]).unwrap_or(0);
    let kept = of("cache_creation_input_tokens").saturating_add(of("cache_read_input_tokens"));
    count(usage, &["input_tokens"]).map(|tokens| tokens.saturating_add(kept))
}

/// Input and output tokens of all models in a closing event. `modelUsage` counts the process in versions that do not
/// report the new usage.
fn of_models(event: &Value) -> Option<(Option<u64>, Option<u64>)> {
    let models = at(event, &["model_usage_since_last_result"]).or_else(|| at(event, &["modelUsage"]))?;
    let Value::Object(models) = models else { return None };
    let sum = |names: &[&str]| {
        let counts = models.iter().flat_map(|(_, used)| names.iter().filter_map(|name| count(used, &[name])));
        Some(counts.fold(0, u64::saturating_add))
    };
    Some((sum(&["inputTokens", "cacheCreationInputTokens", "cacheReadInputTokens"]), sum(&["outputTokens"])))
}

fn parts(event: &Value) -> &[Value] {
    at(event, &["message", "content"]).and_then(Value::as_array).unwrap_or(&[])
}

/// A short description of a tool call.
fn call(part: &Value, masking: Masking<'_>) -> String {
    let name = text(part, &["name"]).unwrap_or("a tool");
    described(name, at(part, &["input"]).unwrap_or(&Value::Null), masking)
}

fn denial(denial: &Value, masking: Masking<'_>) -> String {
    let name = text(denial, &["tool_name"]).unwrap_or("a tool");
    described(name, at(denial, &["tool_input"]).unwrap_or(&Value::Null), masking)
}

fn described(name: &str, input: &Value, masking: Masking<'_>) -> String {
    let telling = TELLING.iter().find_map(|member| text(input, &[member]));
    one_line(&format!("{name} {}", telling.map_or_else(|| input.compact(), str::to_owned)), masking)
}

/// The tool results that are errors, as lines for people.
fn refusals(event: &Value, masking: Masking<'_>) -> Vec<String> {
    let errors =
        parts(event).iter().filter(|part| part.get("is_error").and_then(Value::as_bool) == Some(true));
    errors
        .filter_map(|part| text(part, &["content"]))
        .map(|message| format!("! {}", one_line(message, masking)))
        .collect()
}

/// The tool call that the program has deferred at its end.
fn deferred(result: &Value) -> Option<ToolCall> {
    let call = at(result, &["deferred_tool_use"])?;
    let is_end = text(result, &["stop_reason"]) == Some("tool_deferred");
    let found = |name: &str| text(call, &[name]).map(str::to_owned);
    let input = at(call, &["input"]).cloned().unwrap_or_default();
    Some(ToolCall { id: found("id")?, tool: found("name")?, input }).filter(|_| is_end)
}

fn is_lost(message: &str) -> bool {
    message.contains("No conversation found with session ID")
}
