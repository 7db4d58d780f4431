//! Decides, before each tool call, whether the call passes, waits for a person's decision, or is refused.
//!
//! The agent program starts this process before each call and waits for it. If a person has to decide, the call is
//! deferred and the program ends. Only one call can be deferred: other calls of the same turn are refused with a
//! reason, because the program would lose them. The resumed program repeats exactly the deferred call, and the answer
//! applies to no other call. An answer is used once: it is marked as used, on disk, before it is given. A call that
//! cannot be decided is an error, and then the program does not make it.

use crate::{Order, files};
use envoi_contract::json::{Object, Value};
use envoi_kernel::event::CallAnswer;
use envoi_preset::{OWN_QUESTION, Pattern, ToolCall};
use serde::{Deserialize, Serialize};
use std::{
    io::{self, Read, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

/// The file with the policy, in the attempt's folder.
const POLICY: &str = "calls.json";

/// The file with the digest of the deferred call.
const PUT_OFF: &str = "call-put-off";

/// This file exists once the answer was used.
const USED: &str = "answer-used";

/// The file with the ids of refused calls, one per line.
const REFUSED: &str = "calls-refused";

/// Largest call that can be deferred: a question shows the whole call.
const MAX_CALL_BYTES: usize = 32 * 1024;

/// Largest call that is read.
const MAX_INPUT_BYTES: u64 = 16 * 1024 * 1024;

const OTHER_WAITS: &str =
    "Another call of this turn waits for a person's decision. Make this call again after that one.";

const FROM_BEFORE: &str = "You were stopped before this call was over. It is not known whether it took effect: look before you make it \
                           again.";

const OF_HELPER: &str = "A person has to decide this call, and only the main agent can ask for that. Leave it undone, and report what is \
                         to be done.";

const TOO_LARGE: &str =
    "A person has to decide this call, and it is too large to be shown. Make it in smaller parts.";

const NOT_SHOWN: &str =
    "A person has to decide this call, and it cannot be shown: a secret of the run is not available.";

const NOT_ALLOWED: &str = "A person has refused this call.";

/// The policy for the tool calls of one process of a program.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Policy {
    /// Patterns of the calls that a person has to decide.
    ask: Vec<String>,
    answer: Option<Box<CallAnswer>>,
    /// True if the program was given a prompt. It then does not continue a call of an earlier process.
    has_prompt: bool,
    /// True if a secret cannot be read. A question could then not show the call.
    hides: bool,
}

impl Policy {
    /// Writes the policy before the program starts. Returns the shell command that runs [`decide_call`].
    pub(crate) fn write(order: &Order, answer: Option<&CallAnswer>) -> io::Result<String> {
        let policy = Self {
            ask: order.ask.clone(),
            answer: answer.cloned().map(Box::new),
            has_prompt: answer.is_none(),
            hides: order.hides,
        };
        let place = order.folder.join(POLICY);
        envoi_durable::put(&place, &serde_json::to_vec(&policy)?)?;
        // The path of this executable. It keeps running while the agent program runs. On Linux, `/proc/PID/exe` works
        // even if the file was replaced meanwhile.
        let own = if cfg!(target_os = "linux") {
            PathBuf::from(format!("/proc/{}/exe", std::process::id()))
        } else {
            std::env::current_exe()?
        };
        Ok(format!("{} {} {}", quoted(&own), crate::HOOK_ARGUMENT, quoted(&place)))
    }
}

/// Quotes a path as one word for a shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', "'\\''"))
}

/// Returns the digest of the deferred call, and the ids of the refused calls.
pub(crate) fn decided(folder: &Path) -> io::Result<(Option<String>, Vec<String>)> {
    let read = |name: &str| match files::text(&folder.join(name)) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    };
    let refused = read(REFUSED)?.unwrap_or_default();
    Ok((read(PUT_OFF)?, refused.lines().map(str::to_owned).collect()))
}

/// Decides one tool call, as the only work of a process. Reads the call from standard input and writes the decision
/// to standard output.
#[must_use]
pub fn decide_call(policy: &Path) -> ExitCode {
    match decide(policy, io::stdin().lock()) {
        Ok(None) => ExitCode::SUCCESS,
        Ok(Some(decision)) => match io::stdout().lock().write_all(decision.compact().as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
        Err(error) => {
            eprintln!("this call cannot be decided, and is not made: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The decision for the call on `input`. `None` leaves the decision to the program.
fn decide(policy: &Path, input: impl Read) -> io::Result<Option<Value>> {
    let folder = policy.parent().map(Path::to_owned).unwrap_or_default();
    let policy: Policy = serde_json::from_str(&files::text(policy)?)?;
    let mut bytes = Vec::new();
    input.take(MAX_INPUT_BYTES.saturating_add(1)).read_to_end(&mut bytes)?;
    let event = Value::parse(&bytes).map_err(io::Error::other)?;
    let text = |name: &str| event.get(name).and_then(Value::as_str);
    let lacks = |name: &str| io::Error::other(format!("it has no `{name}`"));
    let call = ToolCall {
        id: text("tool_use_id").ok_or_else(|| lacks("tool_use_id"))?.to_owned(),
        tool: text("tool_name").ok_or_else(|| lacks("tool_name"))?.to_owned(),
        input: event.get("tool_input").cloned().unwrap_or_default(),
    };
    let notes = Notes { folder };
    let digest = call.digest().to_string();
    if let Some(answer) = policy.answer.as_deref().filter(|answer| answer.call == digest)
        && notes.note_once(USED, &digest)?
    {
        return carry_out(answer, &call, &notes).map(Some);
    }
    let mut patterns = Vec::new();
    for pattern in &policy.ask {
        patterns.push(Pattern::parse(pattern).map_err(io::Error::other)?);
    }
    if !patterns.iter().any(|pattern| pattern.matches(&call.tool, &call.input)) {
        return Ok(None);
    }
    let is_from_before = text("prompt_id").is_none() && policy.has_prompt;
    let why_not = if is_from_before {
        Some(FROM_BEFORE)
    } else if text("agent_id").is_some() {
        Some(OF_HELPER)
    } else if policy.hides {
        Some(NOT_SHOWN)
    } else if call.input.compact().len() > MAX_CALL_BYTES || call.question().len() > MAX_CALL_BYTES {
        Some(TOO_LARGE)
    } else if !notes.note_once(PUT_OFF, &digest)? {
        Some(OTHER_WAITS)
    } else {
        None
    };
    match why_not {
        Some(reason) => notes.refuse(&call, reason).map(Some),
        None => Ok(Some(decision("defer", []))),
    }
}

fn carry_out(answer: &CallAnswer, call: &ToolCall, notes: &Notes) -> io::Result<Value> {
    if !answer.allows {
        let reason = if answer.text.trim().is_empty() { NOT_ALLOWED } else { answer.text.trim() };
        return notes.refuse(call, reason);
    }
    let changed = call.answered(&answer.text, answer.data.as_ref());
    Ok(decision("allow", changed.map(|input| ("updatedInput", input))))
}

/// The decision in the form that the program reads.
fn decision(word: &str, more: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let mut output = Object::from([
        ("hookEventName", Value::from("PreToolUse")),
        ("permissionDecision", Value::from(word)),
    ]);
    for (name, value) in more {
        output.insert(name, value);
    }
    Value::Object(Object::from([("hookSpecificOutput", Value::Object(output))]))
}

/// Notes about decisions, in the attempt's folder.
struct Notes {
    folder: PathBuf,
}

impl Notes {
    /// Returns false if this was noted before. Several calls of one turn may be decided at the same time.
    fn note_once(&self, name: &str, text: &str) -> io::Result<bool> {
        envoi_durable::write_new(&self.folder.join(name), text.as_bytes())
    }

    fn refuse(&self, call: &ToolCall, reason: &str) -> io::Result<Value> {
        let mut file = files::added_to(&self.folder.join(REFUSED))?;
        file.write_all(format!("{}\n", call.id).as_bytes())?;
        Ok(decision("deny", [("permissionDecisionReason", Value::from(reason))]))
    }
}

/// True if the agent may ask its own questions.
pub(crate) fn has_own_questions(order: &Order) -> bool {
    let patterns = order.ask.iter().filter_map(|pattern| Pattern::parse(pattern).ok());
    patterns.into_iter().any(|pattern| pattern.matches(OWN_QUESTION, &Value::Null))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tempfile::TempDir;

    struct Attempt {
        folder: TempDir,
    }

    impl Attempt {
        fn new(answer: Option<CallAnswer>) -> Self {
            Self::with(Policy {
                ask: vec!["Bash(git push *)".to_owned(), OWN_QUESTION.to_owned()],
                has_prompt: answer.is_none(),
                answer: answer.map(Box::new),
                hides: false,
            })
        }

        fn with(policy: Policy) -> Self {
            let folder = TempDir::new().unwrap();
            fs::write(folder.path().join(POLICY), serde_json::to_vec(&policy).unwrap()).unwrap();
            Self { folder }
        }

        /// Returns the decision for this call, and its reason or input.
        fn decide(&self, call: &str) -> (String, String) {
            let decision = decide(&self.folder.path().join(POLICY), call.as_bytes()).unwrap();
            let Some(decision) = decision else { return ("none".to_owned(), String::new()) };
            let output = decision.get("hookSpecificOutput").unwrap();
            let word = output.get("permissionDecision").and_then(Value::as_str).unwrap().to_owned();
            let reason = output.get("permissionDecisionReason").and_then(Value::as_str).map(str::to_owned);
            let input = output.get("updatedInput").map(Value::compact);
            (word, reason.or(input).unwrap_or_default())
        }
    }

    fn bash(id: &str, command: &str) -> String {
        format!(
            r#"{{"prompt_id":"p","tool_name":"Bash","tool_input":{{"command":"{command}"}},"tool_use_id":"{id}"}}"#
        )
    }

    /// The call as the resumed program repeats it.
    fn again(call: &str) -> String {
        call.replace(r#""prompt_id":"p","#, "")
    }

    fn answer(id: &str, command: &str, allows: bool, text: &str, data: Option<&str>) -> CallAnswer {
        let input = Value::Object(Object::from([("command", Value::from(command))]));
        let call = ToolCall { id: id.to_owned(), tool: "Bash".to_owned(), input };
        CallAnswer {
            interrupt: None,
            call: call.digest().to_string(),
            allows,
            text: text.to_owned(),
            data: data.map(|data| Value::parse_str(data).unwrap()),
        }
    }

    fn word(word: &str, rest: &str) -> (String, String) {
        (word.to_owned(), rest.to_owned())
    }

    #[test]
    fn the_first_call_of_a_turn_is_put_off_and_the_others_are_refused() {
        let attempt = Attempt::new(None);
        assert_eq!(attempt.decide(&bash("1", "git pull")), word("none", ""));
        assert_eq!(attempt.decide(&bash("2", "git push a")), word("defer", ""));
        assert_eq!(attempt.decide(&bash("3", "git push b")), word("deny", OTHER_WAITS));
        assert_eq!(attempt.decide(&bash("4", "git pull")), word("none", ""));
        let (put_off, refused) = decided(attempt.folder.path()).unwrap();
        assert_eq!(put_off, Some(answer("2", "git push a", true, "", None).call));
        assert_eq!(refused, ["3"]);
    }

    #[test]
    fn an_answer_is_for_exactly_one_call_and_is_used_once() {
        let (push, other) = (again(&bash("2", "git push a")), bash("3", "git push a"));
        let attempt = Attempt::new(Some(answer("2", "git push a", true, "go", None)));
        assert_eq!(attempt.decide(&push), word("allow", ""));
        assert_eq!(attempt.decide(&other), word("defer", ""), "the same command again is another call");
        let attempt = Attempt::new(Some(answer("2", "git push a", true, "go", None)));
        assert_eq!(attempt.decide(&again(&bash("2", "git push --force"))), word("defer", ""));
        let attempt = Attempt::new(Some(answer("2", "git push a", true, "go", None)));
        assert_eq!(attempt.decide(&push), word("allow", ""));
        assert_eq!(attempt.decide(&push), word("defer", ""), "once");
    }

    #[test]
    fn a_denial_brings_its_reason_and_an_approval_may_change_the_call() {
        let push = again(&bash("2", "git push a"));
        let denied = |text| Attempt::new(Some(answer("2", "git push a", false, text, None))).decide(&push);
        assert_eq!(denied("not on a Friday"), word("deny", "not on a Friday"));
        assert_eq!(denied(" "), word("deny", NOT_ALLOWED));
        let changed = answer("2", "git push a", true, "", Some(r#"{"command":"git push --dry-run"}"#));
        let changed = Attempt::new(Some(changed)).decide(&push);
        assert_eq!(changed, word("allow", r#"{"command":"git push --dry-run"}"#));
    }

    #[test]
    fn an_impossible_call_is_refused_with_the_reason() {
        let push = bash("2", "git push a");
        assert_eq!(Attempt::new(None).decide(&again(&push)), word("deny", FROM_BEFORE));
        let of_helper = push.replace("{\"prompt_id\"", "{\"agent_id\":\"h\",\"prompt_id\"");
        assert_eq!(Attempt::new(None).decide(&of_helper), word("deny", OF_HELPER));
        let large = bash("2", &format!("git push {}", "x".repeat(MAX_CALL_BYTES)));
        assert_eq!(Attempt::new(None).decide(&large), word("deny", TOO_LARGE));
        let ask = vec!["Bash".to_owned()];
        let hides = Attempt::with(Policy { ask, answer: None, has_prompt: true, hides: true });
        assert_eq!(hides.decide(&push), word("deny", NOT_SHOWN));
    }

    #[test]
    fn what_cannot_be_read_is_an_error_and_never_a_permission() {
        let attempt = Attempt::new(None);
        let policy = attempt.folder.path().join(POLICY);
        for input in ["", "[]", "{}", r#"{"tool_name":"Bash"}"#, "not json"] {
            assert!(decide(&policy, input.as_bytes()).is_err(), "{input}");
        }
        fs::write(&policy, "{}").unwrap();
        assert!(decide(&policy, bash("1", "ls").as_bytes()).is_err());
        fs::remove_file(&policy).unwrap();
        assert!(decide(&policy, bash("1", "ls").as_bytes()).is_err());
    }

    #[test]
    fn a_path_is_one_word_of_a_shell() {
        assert_eq!(quoted(Path::new("/a b/it's")), "'/a b/it'\\''s'");
    }
}
