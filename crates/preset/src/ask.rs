//! Tool calls that a person decides: how they are matched, how they are shown, and how an answer changes them.
//!
//! Pure. A [`Pattern`] names a tool and, in brackets, the subject of the call. Matching is generous: a command is
//! split at shell operators, and each part is compared. It is not a sandbox: a command that is spelled differently is
//! not matched.

use crate::member::{at, text};
use envoi_contract::{
    digest::Digest,
    json::{Object, Value},
};

/// The tool with which an agent asks its own question.
pub const OWN_QUESTION: &str = "AskUserQuestion";

/// The tool with which an agent hands over its data. It needs no person's decision.
const DATA: &str = "StructuredOutput";

/// Members that contain the subject of a call. The first one present counts.
const SUBJECTS: [&str; 8] =
    ["command", "file_path", "notebook_path", "path", "pattern", "url", "query", "skill"];

/// A pattern of the tool calls that a person decides: `Bash(git push *)`, `Edit(src/*)`, `mcp__github__*`.
///
/// ```
/// use envoi_contract::json::Value;
/// use envoi_preset::Pattern;
///
/// let pattern = Pattern::parse("Bash(git push *)").unwrap();
/// let call = |command: &str| Value::parse_str(&format!(r#"{{"command":"{command}"}}"#)).unwrap();
/// assert!(pattern.matches("Bash", &call("cd app && git push origin main")));
/// assert!(!pattern.matches("Bash", &call("git pull")));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    tool: String,
    subject: Option<String>,
}

impl Pattern {
    /// Parses a pattern. The error is the reason, in words.
    ///
    /// # Errors
    /// The pattern names no tool, or a bracket is not closed.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let (tool, subject) = match text.split_once('(') {
            None => (text, None),
            Some((tool, rest)) => {
                (tool, Some(rest.strip_suffix(')').ok_or("a `(` without a `)` at the end")?))
            }
        };
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '*');
        if tool.is_empty() || !tool.chars().all(is_of_name) {
            return Err("the name of a tool comes first, such as `Bash`");
        }
        if subject.is_some_and(|subject| subject.trim().is_empty()) {
            return Err("nothing stands in the brackets");
        }
        Ok(Self { tool: tool.to_owned(), subject: subject.map(words) })
    }

    /// True if the pattern matches this call.
    #[must_use]
    pub fn matches(&self, tool: &str, input: &Value) -> bool {
        if tool == DATA || !fits(&self.tool, tool) {
            return false;
        }
        let Some(pattern) = &self.subject else { return true };
        let Some(subject) = SUBJECTS.iter().find_map(|member| text(input, &[member])) else {
            // A call without a known subject cannot be compared, so a person decides.
            return true;
        };
        let whole = words(subject);
        let fits = |text: &str| {
            // `git push *` also matches `git push` alone.
            fits(pattern, text) || pattern.strip_suffix(" *").is_some_and(|begin| begin == text)
        };
        // A path also matches from any of its folders on.
        let parts = whole.match_indices('/').filter_map(|(at, _)| whole.get(at.saturating_add(1)..));
        fits(&whole)
            || parts.filter(|_| tool != "Bash").any(fits)
            || commands(subject).any(|part| fits(&part))
    }

    /// True if the pattern matches the tool with which an agent asks its own question.
    #[must_use]
    pub fn is_of_own_question(&self) -> bool {
        fits(&self.tool, OWN_QUESTION)
    }
}

/// The commands of a shell line, without the variable assignments before them.
fn commands(line: &str) -> impl Iterator<Item = String> {
    let parts = line.split(['\n', ';', '|', '&', '(', ')', '`', '{', '}']);
    parts.map(|part| {
        let is_setting = |word: &&str| word.contains('=') && !word.starts_with('-');
        let rest: Vec<&str> = part.split_whitespace().skip_while(is_setting).collect();
        rest.join(" ")
    })
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// True if the text matches the pattern. `*` matches any text.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or("")) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

/// A tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The program's id of the call.
    pub id: String,
    /// The tool's name.
    pub tool: String,
    /// The input of the tool.
    pub input: Value,
}

impl ToolCall {
    /// A digest that binds an answer to exactly this call.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let call = Object::from([
            ("id", Value::from(self.id.as_str())),
            ("tool", Value::from(self.tool.as_str())),
            ("input", sorted(&self.input)),
        ]);
        Digest::of(Value::Object(call).compact().as_bytes())
    }

    /// True if the call is the agent's own question, which is answered in words.
    #[must_use]
    pub fn is_own_question(&self) -> bool {
        self.tool == OWN_QUESTION
    }

    /// The whole call as a readable question to a person. Terminal control characters are escaped.
    #[must_use]
    pub fn question(&self) -> String {
        let question = match self.tool.as_str() {
            OWN_QUESTION => self.own_questions(),
            "Bash" => {
                let command = text(&self.input, &["command"]).unwrap_or_default();
                format!(
                    "The agent wants to run a command:\n\n{}{}",
                    indented("", command),
                    self.others(&["command"])
                )
            }
            "Edit" => {
                let part = |name: &str| text(&self.input, &[name]).unwrap_or_default();
                let path = part("file_path");
                let old = part("old_string");
                let new = part("new_string");
                let rest = self.others(&["file_path", "old_string", "new_string"]);
                format!(
                    "The agent wants to change {path}:\n\n{}{}{rest}",
                    indented("- ", old),
                    indented("+ ", new)
                )
            }
            "Write" => {
                let part = |name: &str| text(&self.input, &[name]).unwrap_or_default();
                let rest = self.others(&["file_path", "content"]);
                format!(
                    "The agent wants to write {}:\n\n{}{rest}",
                    part("file_path"),
                    indented("+ ", part("content"))
                )
            }
            tool => format!("The agent wants to use {tool}:\n\n{}", self.others(&[])),
        };
        written_out(&question)
    }

    fn own_questions(&self) -> String {
        let questions = at(&self.input, &["questions"]).and_then(Value::as_array).unwrap_or(&[]);
        let mut texts = Vec::new();
        for question in questions {
            let mut lines = vec![text(question, &["question"]).unwrap_or("").to_owned()];
            let options = at(question, &["options"]).and_then(Value::as_array).unwrap_or(&[]);
            for option in options {
                let about =
                    text(option, &["description"]).map_or_else(String::new, |about| format!(": {about}"));
                lines.push(format!("- {}{about}", text(option, &["label"]).unwrap_or("")));
            }
            texts.push(lines.join("\n"));
        }
        texts.join("\n\n")
    }

    /// The members that are not in `shown`, one per line.
    fn others(&self, shown: &[&str]) -> String {
        let members = self.input.as_object().into_iter().flat_map(|members| members.iter());
        let others = members.filter(|(name, _)| !shown.contains(name));
        let lines = others.map(|(name, value)| match value.as_str() {
            Some(text) if text.contains('\n') => format!("{name}:\n{}", indented("", text)),
            Some(text) => format!("{name}: {text}\n"),
            None => format!("{name}: {}\n", value.compact()),
        });
        let lines: String = lines.collect();
        if lines.is_empty() || shown.is_empty() { lines } else { format!("\n{lines}") }
    }

    /// The input of the call after an answer. `None` means that the input is unchanged.
    ///
    /// Members of `data` replace members of the input, or answer the agent's own questions by name. `words` answers
    /// each of these questions.
    #[must_use]
    pub fn answered(&self, words: &str, data: Option<&Value>) -> Option<Value> {
        let mut input = self.input.as_object()?.clone();
        let given = data.and_then(Value::as_object);
        if !self.is_own_question() {
            for (name, value) in given?.iter() {
                input.insert(name, value.clone());
            }
            return Some(Value::Object(input));
        }
        let questions = at(&self.input, &["questions"]).and_then(Value::as_array).unwrap_or(&[]);
        let names = questions.iter().filter_map(|question| text(question, &["question"]));
        let mut answers: Object = names.map(|name| (name.to_owned(), Value::from(words))).collect();
        for (name, value) in given.into_iter().flat_map(|given| given.iter()) {
            answers.insert(name, value.clone());
        }
        input.insert("answers", Value::Object(answers));
        Some(Value::Object(input))
    }
}

/// The same value with sorted members.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut all: Vec<(String, Value)> =
                members.iter().map(|(name, value)| (name.to_owned(), sorted(value))).collect();
            all.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(all.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

fn indented(mark: &str, text: &str) -> String {
    text.lines().map(|line| format!("    {mark}{line}\n")).collect()
}

/// Escapes terminal control characters, and characters that change the order of others.
fn written_out(text: &str) -> String {
    let is_hidden = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
    };
    let mut shown = String::with_capacity(text.len());
    for c in text.trim_end().chars() {
        match c {
            '\t' => shown.push_str("    "),
            c if is_hidden(c) => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(tool: &str, input: &str) -> ToolCall {
        ToolCall { id: "t1".to_owned(), tool: tool.to_owned(), input: Value::parse_str(input).unwrap() }
    }

    #[test]
    fn a_pattern_names_the_calls_that_it_is_to_name() {
        for (pattern, tool, input, expected) in [
            ("Bash", "Bash", r#"{"command":"ls"}"#, true),
            ("Bash", "BashOutput", r#"{"command":"ls"}"#, false),
            ("Bash(git push *)", "Bash", r#"{"command":"git push"}"#, true),
            ("Bash(git push *)", "Bash", r#"{"command":"git  push\torigin"}"#, true),
            ("Bash(git push *)", "Bash", r#"{"command":"A=1 git push -f; ls"}"#, true),
            ("Bash(git push *)", "Bash", r#"{"command":"true && (git push)"}"#, true),
            ("Bash(git push *)", "Bash", r#"{"command":"echo $(git push x)"}"#, true),
            ("Bash(git push *)", "Bash", r#"{"command":"git pushd"}"#, false),
            ("Bash(git push *)", "Bash", r#"{"cmd":"git pull"}"#, true),
            ("Edit(src/*)", "Edit", r#"{"file_path":"/w/src/a.rs"}"#, true),
            ("Edit(src/*)", "Edit", r#"{"file_path":"/w/lib/a.rs"}"#, false),
            ("*(*.env)", "Write", r#"{"file_path":".env"}"#, true),
            ("mcp__git__*", "mcp__git__push", r#"{}"#, true),
            ("*", "StructuredOutput", r#"{}"#, false),
            ("*", "WebFetch", r#"{}"#, true),
            ("AskUserQuestion", "AskUserQuestion", r#"{"questions":[]}"#, true),
        ] {
            let found = Pattern::parse(pattern).unwrap().matches(tool, &call(tool, input).input);
            assert_eq!(found, expected, "{pattern} {tool} {input}");
        }
        for wrong in ["", "(x)", "Bash(", "Bash()", "Bash( )", "a b"] {
            assert!(Pattern::parse(wrong).is_err(), "{wrong}");
        }
        assert!(Pattern::parse("Ask*").unwrap().is_of_own_question());
    }

    #[test]
    fn a_call_is_shown_whole_and_with_nothing_that_a_terminal_obeys() {
        let bash = call("Bash", r#"{"command":"git push\nrm x\u001b[2K","description":"send"}"#);
        let expected =
            "The agent wants to run a command:\n\n    git push\n    rm x\\u{1b}[2K\n\ndescription: send";
        assert_eq!(bash.question(), expected);
        let edit = call("Edit", r#"{"file_path":"a","old_string":"b\nc","new_string":"d"}"#);
        assert_eq!(edit.question(), "The agent wants to change a:\n\n    - b\n    - c\n    + d");
        let other = call("Web", r#"{"url":"u","n":[1]}"#);
        assert_eq!(other.question(), "The agent wants to use Web:\n\nurl: u\nn: [1]");
    }

    #[test]
    fn an_answer_belongs_to_one_call_and_changes_what_it_names() {
        let push = call("Bash", r#"{"command":"git push","timeout":1}"#);
        let other = ToolCall { id: "t2".to_owned(), ..push.clone() };
        assert_ne!(push.digest(), other.digest());
        assert_eq!(push.digest(), call("Bash", r#"{"timeout":1,"command":"git push"}"#).digest());
        assert_eq!(push.answered("yes", None), None);
        let data = Value::parse_str(r#"{"command":"git push --dry-run"}"#).unwrap();
        let changed = push.answered("", Some(&data)).unwrap();
        assert_eq!(changed.compact(), r#"{"command":"git push --dry-run","timeout":1}"#);

        let input = r#"{"questions":[{"question":"Which?","options":[{"label":"A","description":"one"}]},{"question":"When?"}]}"#;
        let asks = call(OWN_QUESTION, input);
        assert_eq!(asks.question(), "Which?\n- A: one\n\nWhen?");
        let data = Value::parse_str(r#"{"When?":"now"}"#).unwrap();
        let answered = asks.answered("A", Some(&data)).unwrap();
        assert_eq!(at(&answered, &["answers"]).unwrap().compact(), r#"{"Which?":"A","When?":"now"}"#);
    }
}
