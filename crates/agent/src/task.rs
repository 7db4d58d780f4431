//! A task, a message and their parts, as either version of the protocol writes them.
//!
//! Reads what is there and refuses little: an agent that says more, or leaves out what nobody needs, is understood.

use crate::question::Question;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use envoi_contract::json::Value;

/// What an agent says of a task.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Task {
    pub(crate) id: String,
    pub(crate) context: Option<String>,
    pub(crate) state: State,
    /// What it says with that state.
    pub(crate) status: Vec<Part>,
    /// What it asks, if it waits.
    pub(crate) question: Question,
    pub(crate) history: Vec<Said>,
    pub(crate) artifacts: Vec<Artifact>,
}

/// See [`Task`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// Submitted, working, or a word that nobody knows.
    Going,
    InputRequired,
    AuthRequired,
    Completed,
    Failed,
    Rejected,
    Canceled,
}

impl State {
    fn of(word: &str) -> Self {
        match word.trim_start_matches("TASK_STATE_").to_ascii_lowercase().replace('_', "-").as_str() {
            "input-required" => Self::InputRequired,
            "auth-required" => Self::AuthRequired,
            "completed" => Self::Completed,
            "failed" => Self::Failed,
            "rejected" => Self::Rejected,
            "canceled" | "cancelled" => Self::Canceled,
            _ => Self::Going,
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Going => "working",
            Self::InputRequired => "input-required",
            Self::AuthRequired => "auth-required",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Rejected => "rejected",
            Self::Canceled => "canceled",
        }
    }

    /// Whether it goes on only when somebody answers.
    pub(crate) fn waits(self) -> bool {
        matches!(self, Self::InputRequired | Self::AuthRequired)
    }
}

/// One message of a history.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Said {
    pub(crate) id: String,
    pub(crate) by_agent: bool,
    pub(crate) parts: Vec<Part>,
}

/// What an agent hands over.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Artifact {
    pub(crate) name: String,
    pub(crate) parts: Vec<Part>,
}

/// A piece of content, with its file name where it has one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Part {
    Text(String, Option<String>),
    Data(Value, Option<String>),
    Bytes(Vec<u8>, Option<String>),
    /// Content that lies elsewhere.
    Link(String, Option<String>),
}

fn text(value: &Value, name: &str) -> Option<String> {
    value.get(name).and_then(Value::as_str).map(str::to_owned)
}

fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value.get(name).and_then(Value::as_array).unwrap_or_default()
}

impl Task {
    /// `None` if it is no task.
    pub(crate) fn read(value: &Value) -> Option<Self> {
        let status = value.get("status")?;
        let artifacts = list(value, "artifacts").iter().enumerate().map(|(place, one)| {
            let name = text(one, "name").or_else(|| text(one, "artifactId")).filter(|name| !name.is_empty());
            let name = name.unwrap_or_else(|| format!("artifact-{}", place.saturating_add(1)));
            Artifact { name, parts: parts(one) }
        });
        let mut task = Self {
            id: text(value, "id").filter(|id| !id.is_empty())?,
            context: text(value, "contextId").filter(|id| !id.is_empty()),
            state: State::of(&text(status, "state")?),
            status: status.get("message").map(parts).unwrap_or_default(),
            question: Question::default(),
            history: list(value, "history").iter().map(Said::read).collect(),
            artifacts: artifacts.collect(),
        };
        task.question = Question::of(&task, status);
        Some(task)
    }

    /// What the agent said last: with its state, else what it hands over, else the last of its messages.
    pub(crate) fn last_words(&self) -> String {
        let handed: Vec<String> =
            self.artifacts.iter().map(|one| words(&one.parts)).filter(|text| !text.is_empty()).collect();
        [words(&self.status), handed.join("\n\n")]
            .into_iter()
            .find(|text| !text.trim().is_empty())
            .unwrap_or_else(|| self.spoken())
    }

    /// What it asks: with its state, else the last of its messages.
    pub(crate) fn question(&self) -> String {
        Some(words(&self.status)).filter(|text| !text.trim().is_empty()).unwrap_or_else(|| self.spoken())
    }

    /// Asks the same, with these words before it.
    pub(crate) fn with_preface(mut self, words: &str) -> Self {
        let asked = self.question();
        self.status.retain(|part| !matches!(part, Part::Text(..)));
        self.status.insert(0, Part::Text(format!("{words}\n\n{asked}"), None));
        self
    }

    fn spoken(&self) -> String {
        let last = self.history.iter().rev().find(|said| said.by_agent);
        last.map(|said| words(&said.parts)).unwrap_or_default()
    }

    /// The last object among its data parts.
    pub(crate) fn data(&self) -> Option<&Value> {
        let all = self.artifacts.iter().flat_map(|one| &one.parts).chain(&self.status);
        all.filter_map(object).next_back()
    }
}

/// The object of a data part.
pub(crate) fn object(part: &Part) -> Option<&Value> {
    match part {
        Part::Data(value @ Value::Object(_), _) => Some(value),
        _ => None,
    }
}

impl Said {
    pub(crate) fn read(value: &Value) -> Self {
        let by_agent = text(value, "role")
            .is_some_and(|role| role.trim_start_matches("ROLE_").eq_ignore_ascii_case("agent"));
        Self { id: text(value, "messageId").unwrap_or_default(), by_agent, parts: parts(value) }
    }
}

/// The texts of these parts, one after the other.
pub(crate) fn words(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(text, _) => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn parts(of: &Value) -> Vec<Part> {
    list(of, "parts").iter().filter_map(part).collect()
}

fn part(value: &Value) -> Option<Part> {
    let file = value.get("file").unwrap_or(value);
    let name = text(file, "filename").or_else(|| text(file, "name")).filter(|name| !name.is_empty());
    if let Some(text) = text(value, "text") {
        return Some(Part::Text(text, name));
    }
    if let Some(data) = value.get("data") {
        // 0.3 has only objects there: the SDKs wrap any other value in one, and say so.
        let is_wrapped = value.get("metadata").and_then(|said| said.get("data_part_compat")?.as_bool());
        let data = data.get("value").filter(|_| is_wrapped == Some(true)).unwrap_or(data);
        return Some(Part::Data(data.clone(), name));
    }
    if let Some(bytes) = text(file, "raw").or_else(|| text(file, "bytes")) {
        // What is no base64 is not understood, and nothing else depends on it.
        return Some(Part::Bytes(STANDARD.decode(bytes).ok()?, name));
    }
    let link = text(file, "url").or_else(|| text(file, "uri"))?;
    Some(Part::Link(link, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Task {
        Task::read(&Value::parse_str(text).unwrap()).unwrap()
    }

    #[test]
    fn both_versions_say_the_same() {
        let new = read(
            r#"{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED","message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"done"}]}},
            "history":[{"messageId":"u","role":"ROLE_USER","parts":[{"text":"do"}]}],
            "artifacts":[{"artifactId":"a","name":"out","parts":[{"data":{"n":1}},{"raw":"aGk=","filename":"hi.txt"},{"url":"https://x","filename":"y"}]}]}"#,
        );
        let old = read(
            r#"{"kind":"task","id":"t","contextId":"c","status":{"state":"completed","message":{"kind":"message","messageId":"m","role":"agent","parts":[{"kind":"text","text":"done"}]}},
            "history":[{"messageId":"u","role":"user","parts":[{"kind":"text","text":"do"}]}],
            "artifacts":[{"artifactId":"a","name":"out","parts":[{"kind":"data","data":{"n":1}},{"kind":"file","file":{"bytes":"aGk=","name":"hi.txt"}},{"kind":"file","file":{"uri":"https://x","name":"y"}}]}]}"#,
        );
        let plain = |task: Task| Task { question: Question::default(), ..task };
        assert_eq!(plain(new.clone()), plain(old));
        assert_eq!((new.last_words().as_str(), new.state), ("done", State::Completed));
        assert_eq!(new.data().map(Value::compact).as_deref(), Some(r#"{"n":1}"#));
    }

    #[test]
    fn data_that_0_3_has_wrapped_is_unwrapped() {
        for (metadata, data) in [
            (r#","metadata":{"data_part_compat":true}"#, "[1]"),
            (r#","metadata":{"data_part_compat":false}"#, r#"{"value":[1]}"#),
            ("", r#"{"value":[1]}"#),
        ] {
            let text = format!(r#"{{"kind":"data","data":{{"value":[1]}}{metadata}}}"#);
            let expected = Part::Data(Value::parse_str(data).unwrap(), None);
            assert_eq!(part(&Value::parse_str(&text).unwrap()), Some(expected), "{text}");
        }
    }

    #[test]
    fn the_last_words_are_those_of_the_state_then_of_artifacts_then_of_the_history() {
        let state = |status: &str, artifacts: &str, history: &str| {
            read(&format!(
                r#"{{"id":"t","status":{{"state":"completed"{status}}},"artifacts":[{artifacts}],"history":[{history}]}}"#
            ))
        };
        let status = r#","message":{"parts":[{"text":"first"},{"text":"of all"}]}"#;
        let artifact = r#"{"artifactId":"a","parts":[{"text":"second"}]}"#;
        let history =
            r#"{"role":"agent","parts":[{"text":"third"}]},{"role":"user","parts":[{"text":"me"}]}"#;
        assert_eq!(state(status, artifact, history).last_words(), "first\nof all");
        assert_eq!(state("", artifact, history).last_words(), "second");
        assert_eq!(state("", "", history).last_words(), "third");
        assert_eq!(state("", "", "").last_words(), "");
        assert_eq!(state("", artifact, history).question(), "third", "an artifact asks nothing");
    }

    #[test]
    fn what_is_no_task_is_none() {
        for text in
            ["{}", r#"{"id":"t"}"#, r#"{"id":"","status":{"state":"working"}}"#, r#"{"id":"t","status":{}}"#]
        {
            assert_eq!(Task::read(&Value::parse_str(text).unwrap()), None, "{text}");
        }
    }
}
