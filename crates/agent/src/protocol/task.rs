//! A task as an attempt follows it: the received task, and what identifies its question.

use super::part;
use crate::protocol::question::Question;
use envoi_a2a::{
    extension::QUESTION,
    model::{Artifact, Content, Message, Part, Role, TaskState},
    received::ReceivedTask,
};
use envoi_contract::{
    digest::Digest,
    json::{Object, Value},
};

/// A task, in the state that the agent reports.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Task {
    pub(crate) id: String,
    pub(crate) context: Option<String>,
    pub(crate) state: TaskState,
    /// The parts of the message that comes with the state.
    pub(crate) status: Vec<Part>,
    /// The question of a task that waits. Meaningless for any other task.
    pub(crate) question: Question,
    pub(crate) history: Vec<Message>,
    pub(crate) artifacts: Vec<Artifact>,
}

impl Task {
    pub(crate) fn new(received: ReceivedTask) -> Self {
        let ReceivedTask { task, status_at } = received;
        let status = task.status;
        let mut new = Self {
            id: task.id,
            context: Some(task.context_id).filter(|id| !id.is_empty()),
            state: status.state,
            status: status.message.as_ref().map(|message| message.parts.clone()).unwrap_or_default(),
            question: Question::default(),
            history: task.history,
            artifacts: task.artifacts,
        };
        new.question = new.identify_question(status.message.as_ref(), status_at);
        new
    }

    /// Builds the properties that identify the question of the task. `message` comes with the task's state, and `at`
    /// is the time of that state, as the agent wrote it.
    fn identify_question(&self, message: Option<&Message>, at: Option<String>) -> Question {
        let shown_data = self.status.iter().filter_map(part::object).map(Value::compact);
        let shown: Vec<String> =
            [self.state.word().to_owned(), self.question_text()].into_iter().chain(shown_data).collect();
        // If the question is only in the history, its id is that of the message there.
        let has_text = !part::text(&self.status).trim().is_empty();
        let in_history = self.last_of_agent().filter(|_| !has_text);
        let mut ids = [message, in_history].into_iter().flatten().map(|message| &message.id);
        let named = message.and_then(|message| message.metadata.get(QUESTION));
        let history = self.history.iter().map(|message| message.id.clone());
        Question {
            id: ids.find(|id| !id.is_empty()).cloned(),
            at,
            asks: Digest::of(shown.join("\n").as_bytes()).hex(),
            named: named.and_then(envoi_question),
            history: history.filter(|id| !id.is_empty()).collect(),
        }
    }

    /// Whether the task waits for an answer.
    pub(crate) const fn waits(&self) -> bool {
        self.state.is_interrupted()
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
        self.status.retain(|part| !matches!(part.content, Content::Text(_)));
        self.status.insert(0, Part::text(format!("{preface}\n\n{question}")));
        self
    }

    fn last_of_agent(&self) -> Option<&Message> {
        self.history.iter().rev().find(|message| message.role == Role::Agent)
    }

    fn last_text_of_agent(&self) -> String {
        self.last_of_agent().map(|message| part::text(&message.parts)).unwrap_or_default()
    }

    /// The last object among its data parts.
    pub(crate) fn data(&self) -> Option<&Value> {
        let of_artifacts = self.artifacts.iter().flat_map(|artifact| &artifact.parts);
        of_artifacts.chain(&self.status).filter_map(part::object).next_back()
    }
}

/// The id and the subject of a question of another Envoi, which wants them back with the answer.
fn envoi_question(metadata: &Value) -> Option<Value> {
    let text = |name: &str| metadata.get(name).and_then(Value::as_str);
    let mut members = Object::from([("id", Value::from(text("id")?))]);
    if let Some(subject) = text("subject") {
        members.insert("subject", Value::from(subject));
    }
    Some(Value::Object(members))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Task {
        Task::new(envoi_a2a::received::task(&Value::parse_str(text).unwrap()).unwrap())
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
        assert_eq!((new.final_text().as_str(), new.state), ("done", TaskState::Completed));
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
}
