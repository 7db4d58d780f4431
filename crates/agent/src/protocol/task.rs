//! A task, as either version of the protocol writes it.
//!
//! Reads leniently: unknown members and missing members that are not needed are accepted.

use super::part::{self, Part, list, parts, string};
use crate::protocol::{extension::QUESTION, question::Question};
use envoi_contract::{
    digest::Digest,
    json::{Object, Value},
};

/// A task, in the state that the agent reports.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Task {
    pub(crate) id: String,
    pub(crate) context: Option<String>,
    pub(crate) state: State,
    /// The parts of the message that comes with the state.
    pub(crate) status: Vec<Part>,
    /// The question of a task that waits. Of any other task it has no meaning.
    pub(crate) question: Question,
    pub(crate) history: Vec<HistoryMessage>,
    pub(crate) artifacts: Vec<Artifact>,
}

/// The state of a [`Task`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// Submitted, working, or a state that is not known.
    Working,
    InputRequired,
    AuthRequired,
    Completed,
    Failed,
    Rejected,
    Canceled,
}

impl State {
    fn read(text: &str) -> Self {
        match text.trim_start_matches("TASK_STATE_").to_ascii_lowercase().replace('_', "-").as_str() {
            "input-required" => Self::InputRequired,
            "auth-required" => Self::AuthRequired,
            "completed" => Self::Completed,
            "failed" => Self::Failed,
            "rejected" => Self::Rejected,
            "canceled" | "cancelled" => Self::Canceled,
            _ => Self::Working,
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::InputRequired => "input-required",
            Self::AuthRequired => "auth-required",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Rejected => "rejected",
            Self::Canceled => "canceled",
        }
    }

    /// Whether the task waits for an answer.
    pub(crate) fn waits(self) -> bool {
        matches!(self, Self::InputRequired | Self::AuthRequired)
    }
}

/// One message of a history.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HistoryMessage {
    pub(crate) id: String,
    pub(crate) by_agent: bool,
    pub(crate) parts: Vec<Part>,
}

impl HistoryMessage {
    fn read(value: &Value) -> Self {
        let by_agent = string(value, "role")
            .is_some_and(|role| role.trim_start_matches("ROLE_").eq_ignore_ascii_case("agent"));
        Self { id: string(value, "messageId").unwrap_or_default(), by_agent, parts: parts(value) }
    }
}

/// A result that the agent hands over.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Artifact {
    pub(crate) name: String,
    pub(crate) parts: Vec<Part>,
}

impl Artifact {
    /// `place` is its place in the list, from 0. An artifact without a name is named after it.
    fn read(value: &Value, place: usize) -> Self {
        let name =
            string(value, "name").or_else(|| string(value, "artifactId")).filter(|name| !name.is_empty());
        let name = name.unwrap_or_else(|| format!("artifact-{}", place.saturating_add(1)));
        Self { name, parts: parts(value) }
    }
}

impl Task {
    /// `None` if it is no task.
    pub(crate) fn read(value: &Value) -> Option<Self> {
        let status = value.get("status")?;
        let artifacts = list(value, "artifacts").iter().enumerate();
        let mut task = Self {
            id: string(value, "id").filter(|id| !id.is_empty())?,
            context: string(value, "contextId").filter(|id| !id.is_empty()),
            state: State::read(&string(status, "state")?),
            status: status.get("message").map(parts).unwrap_or_default(),
            question: Question::default(),
            history: list(value, "history").iter().map(HistoryMessage::read).collect(),
            artifacts: artifacts.map(|(place, artifact)| Artifact::read(artifact, place)).collect(),
        };
        task.question = task.read_question(status);
        Some(task)
    }

    /// What identifies the question of the task; `status` is its status as it came.
    fn read_question(&self, status: &Value) -> Question {
        let message = status.get("message").unwrap_or(&Value::Null);
        let shown_data = self.status.iter().filter_map(Part::object).map(Value::compact);
        let shown: Vec<String> =
            [self.state.as_str().to_owned(), self.question_text()].into_iter().chain(shown_data).collect();
        // A question that stands only in the history has the id of its message there.
        let has_text = !part::text(&self.status).trim().is_empty();
        let id_in_history = self.last_of_agent().filter(|_| !has_text).map(|message| message.id.clone());
        let ids = self.history.iter().map(|message| message.id.clone());
        Question {
            id: string(message, "messageId").or(id_in_history).filter(|id| !id.is_empty()),
            at: string(status, "timestamp"),
            asks: Digest::of(shown.join("\n").as_bytes()).hex(),
            named: message
                .get("metadata")
                .and_then(|metadata| metadata.get(QUESTION))
                .and_then(envoi_question),
            history: ids.filter(|id| !id.is_empty()).collect(),
        }
    }

    /// The text of the status, else of the artifacts, else of the agent's last message.
    pub(crate) fn final_text(&self) -> String {
        let of_artifacts: Vec<String> = self
            .artifacts
            .iter()
            .map(|artifact| part::text(&artifact.parts))
            .filter(|text| !text.is_empty())
            .collect();
        [part::text(&self.status), of_artifacts.join("\n\n")]
            .into_iter()
            .find(|text| !text.trim().is_empty())
            .unwrap_or_else(|| self.last_text_of_agent())
    }

    /// The text of the question: of the status, else of the agent's last message.
    pub(crate) fn question_text(&self) -> String {
        let text = part::text(&self.status);
        if text.trim().is_empty() { self.last_text_of_agent() } else { text }
    }

    /// The same task, with `preface` before the text of its question.
    pub(crate) fn with_preface(mut self, preface: &str) -> Self {
        let question = self.question_text();
        self.status.retain(|part| !matches!(part, Part::Text(..)));
        self.status.insert(0, Part::Text(format!("{preface}\n\n{question}"), None));
        self
    }

    fn last_of_agent(&self) -> Option<&HistoryMessage> {
        self.history.iter().rev().find(|message| message.by_agent)
    }

    fn last_text_of_agent(&self) -> String {
        self.last_of_agent().map(|message| part::text(&message.parts)).unwrap_or_default()
    }

    /// The last object among its data parts.
    pub(crate) fn data(&self) -> Option<&Value> {
        let of_artifacts = self.artifacts.iter().flat_map(|artifact| &artifact.parts);
        of_artifacts.chain(&self.status).filter_map(Part::object).next_back()
    }
}

/// The id and the subject of a question of another Envoi, which it wants back with the answer.
fn envoi_question(metadata: &Value) -> Option<Value> {
    let mut members = Object::from([("id", Value::from(string(metadata, "id")?))]);
    if let Some(subject) = string(metadata, "subject") {
        members.insert("subject", Value::from(subject));
    }
    Some(Value::Object(members))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Task {
        Task::read(&Value::parse_str(text).unwrap()).unwrap()
    }

    #[test]
    fn both_versions_read_the_same() {
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
        assert_eq!((new.final_text().as_str(), new.state), ("done", State::Completed));
        assert_eq!(new.data().map(Value::compact).as_deref(), Some(r#"{"n":1}"#));
    }

    #[test]
    fn the_text_is_that_of_the_status_then_of_artifacts_then_of_the_history() {
        let state = |status: &str, artifacts: &str, history: &str| {
            read(&format!(
                r#"{{"id":"t","status":{{"state":"completed"{status}}},"artifacts":[{artifacts}],"history":[{history}]}}"#
            ))
        };
        let status = r#","message":{"parts":[{"text":"first"},{"text":"of all"}]}"#;
        let artifact = r#"{"artifactId":"a","parts":[{"text":"second"}]}"#;
        let history =
            r#"{"role":"agent","parts":[{"text":"third"}]},{"role":"user","parts":[{"text":"me"}]}"#;
        assert_eq!(state(status, artifact, history).final_text(), "first\nof all");
        assert_eq!(state("", artifact, history).final_text(), "second");
        assert_eq!(state("", "", history).final_text(), "third");
        assert_eq!(state("", "", "").final_text(), "");
        assert_eq!(state("", artifact, history).question_text(), "third", "an artifact is no question");
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
