//! The events of the Codex CLI (`codex exec --json`).
//!
//! This code depends on these facts, all observed with the real program. Only `turn.failed` is a failure: `error` and
//! items of type `error` are also warnings and retries. Its failures have a text and no kind. `turn.completed.usage`
//! counts the whole thread. The cost and the number of calls are not reported. A missing thread gives an exit code
//! and a text on standard error. A call that is refused (to leave the sandbox, or a patch where nothing may be
//! written) is in no event, only on standard error. A command that the sandbox stops fails like any other.

use crate::{
    failure::{Class, Failure, of_wording},
    member::{Masking, at, count, one_line, session_id, text, unusable_counts},
    outcome::{Exit, Outcome, without_end},
    usage::{Figures, Usage},
};
use envoi_contract::json::Value;

/// The prefix of a message on standard error about a call that was not made.
const NOT_CALLED: &str = "codex_core::tools::router: error=";
/// The texts in such a message that mean a refusal.
const REFUSALS: &[&str] = &["reject command", "rejected by user approval settings"];

/// See the module documentation.
#[derive(Debug, Default)]
pub(crate) struct Events {
    pub(crate) session: Option<String>,
    last_text: String,
    denied: Vec<String>,
    /// The usage of the closing event.
    completed: Option<Value>,
    failed: Option<String>,
}

impl Events {
    /// Takes one event, and returns its lines for people.
    pub(crate) fn read(&mut self, event: &Value, masking: Masking<'_>) -> Vec<String> {
        match text(event, &["type"]) {
            Some("thread.started") => {
                self.session = session_id(event, &["thread_id"]);
                vec![format!("codex, session {}", self.session.as_deref().unwrap_or("unknown"))]
            }
            Some("turn.started") => {
                (self.completed, self.failed) = (None, None);
                Vec::new()
            }
            Some("turn.completed") => {
                self.completed = Some(at(event, &["usage"]).cloned().unwrap_or_default());
                vec!["end: completed".to_owned()]
            }
            Some("turn.failed") => {
                let message = text(event, &["error", "message"]).unwrap_or("it does not say why");
                self.failed = Some(message.to_owned());
                vec![format!("end: {}", one_line(message, masking))]
            }
            Some("error") => {
                vec![format!("! {}", one_line(text(event, &["message"]).unwrap_or(""), masking))]
            }
            Some("item.started") => started(event, masking).into_iter().collect(),
            Some("item.completed") => self.completed(at(event, &["item"]).unwrap_or(&Value::Null), masking),
            _ => Vec::new(),
        }
    }

    fn completed(&mut self, item: &Value, masking: Masking<'_>) -> Vec<String> {
        let member = |name: &str| text(item, &[name]).unwrap_or("");
        if member("status") == "declined" {
            let what = one_line(&format!("{} {}", member("type"), member("command")), masking);
            self.denied.push(what.clone());
            return vec![format!("refused: {what}")];
        }
        match member("type") {
            "agent_message" => {
                self.last_text = member("text").to_owned();
                member("text").lines().map(str::to_owned).collect()
            }
            "error" => vec![format!("! {}", one_line(member("message"), masking))],
            "command_execution" if member("status") == "failed" => {
                let code =
                    at(item, &["exit_code"]).and_then(Value::as_number).map(|code| code.as_str().to_owned());
                vec![format!("! exit code {}", code.as_deref().unwrap_or("unknown"))]
            }
            "file_change" => {
                let changes = at(item, &["changes"]).and_then(Value::as_array).unwrap_or(&[]);
                let paths = changes.iter().filter_map(|change| text(change, &["path"]));
                paths.map(|path| format!("> edit {path}")).collect()
            }
            _ => Vec::new(),
        }
    }

    /// See [`crate::Reading::usage`].
    pub(crate) fn usage(&self) -> Usage {
        let session = self.completed.as_ref().map(|usage| Figures {
            tokens_in: count(usage, &["input_tokens"]),
            tokens_out: count(usage, &["output_tokens"]),
            cost: None,
        });
        Usage { session: session.unwrap_or_default(), ..Usage::default() }
    }

    /// See [`crate::Reading::finish`].
    pub(crate) fn finish(self, exit: Exit, stderr: &str, wants_data: bool, masking: Masking<'_>) -> Outcome {
        let data = Value::parse_str(self.last_text.trim()).ok().filter(|_| wants_data);
        let failure = match (&self.failed, &self.completed) {
            (Some(message), _) => {
                Some(Failure::new(of_wording(message).unwrap_or(Class::Crashed), one_line(message, masking)))
            }
            (None, Some(_)) => None,
            (None, None) => Some(without_end(exit, stderr, masking)),
        };
        let counts = |usage| unusable_counts(usage, "input_tokens", "output_tokens");
        let unusable = self.completed.as_ref().map(counts).unwrap_or_default();
        let usage = self.usage();
        let mut denied = self.denied;
        denied.extend(refused(stderr, masking));
        Outcome {
            text: self.last_text,
            data,
            lost: self.session.is_none() && stderr.contains("no rollout found"),
            session: self.session,
            usage,
            unusable,
            denied,
            failure,
            ..Outcome::default()
        }
    }
}

/// The refusals in standard error.
fn refused(stderr: &str, masking: Masking<'_>) -> impl Iterator<Item = String> {
    let reasons = stderr.lines().filter_map(|line| line.split_once(NOT_CALLED).map(|(_, reason)| reason));
    reasons
        .filter(|reason| REFUSALS.iter().any(|refusal| reason.contains(refusal)))
        .map(move |reason| one_line(reason, masking))
}

fn started(event: &Value, masking: Masking<'_>) -> Option<String> {
    let item = at(event, &["item"])?;
    match text(item, &["type"])? {
        "command_execution" => Some(format!("> {}", one_line(text(item, &["command"])?, masking))),
        "mcp_tool_call" => Some(format!("> {}", one_line(text(item, &["tool"])?, masking))),
        "web_search" => Some(format!("> search {}", one_line(text(item, &["query"]).unwrap_or(""), masking))),
        _ => None,
    }
}
