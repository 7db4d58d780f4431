//! Writes a run as a task: its status, its artifacts, its history, and the updates of a stream.
//!
//! Structured content is sent as data parts: the data of the last step's report with the last message, and a
//! JSON file as its artifact. Pure except for the content of files, which comes from a [`ContentSource`]. The
//! history has the messages of clients as they were sent; an answer through another interface is written from
//! the journal.

use super::{
    fold::{
        Answered, Data, End, FileVersion, Fold, HistoryEntry, Question, Standing, TaskUpdate, UpdateKind,
    },
    state,
};
use envoi_a2a::extension::QUESTION;
use envoi_a2a::model::{
    Artifact, ArtifactUpdate, Content, Message, Part, Role, StatusUpdate, StreamItem, Task, TaskState,
    TaskStatus,
};
use envoi_contract::{
    digest::Digest,
    json::{Object, Value},
};
use envoi_journal::{Aside, RunRow};
use envoi_kernel::event::Choice;
use std::sync::Arc;

/// Metadata of a question's message while other questions are open: all open questions, oldest first.
pub(crate) const OPEN_QUESTIONS: &str = "urn:envoi:a2a:open_questions";

/// Metadata of an answer that was given through another interface.
pub(crate) const ANSWER: &str = "urn:envoi:a2a:answer";

/// Metadata of an artifact that was deleted again.
pub(crate) const DELETED: &str = "urn:envoi:a2a:deleted";

/// Metadata of an artifact: the digest of its content.
pub(crate) const DIGEST: &str = "urn:envoi:a2a:digest";

/// Metadata of a task: its flow. In a client's message: the flow to start.
pub(crate) const FLOW: &str = "urn:envoi:a2a:flow";

/// Metadata of a finished task: the terminal reason of contract 3.
pub(crate) const TERMINAL_REASON: &str = "urn:envoi:a2a:terminal_reason";

/// Metadata of a task whose run is set aside, and of the message about it: the code, and since when.
pub(crate) const SET_ASIDE: &str = "urn:envoi:a2a:set_aside";

/// Metadata of a last message whose data is too large or too deep to be included: its size in bytes.
pub(crate) const DATA_LEFT_OUT: &str = "urn:envoi:a2a:data_left_out";

/// A file with this ending that contains one URL is shown as that URL, under its name without the ending.
const LINK: &str = ".uri";

/// Maximum length of such a URL, in bytes.
const MAX_LINK_BYTES: u64 = 2_048;

/// Maximum nesting of included data. A reply has up to nine levels around it, and readers, including Envoi's,
/// stop at [`MAX_DEPTH`](envoi_contract::json::MAX_DEPTH).
const MAX_CARRIED_DEPTH: usize = 100;

/// Larger content is not included but referenced by its URL.
pub(crate) const MAX_CARRIED_BYTES: u64 = 1024 * 1024;

/// Longer evidence is left out; the artifacts and REST have it.
const MAX_EVIDENCE_BYTES: usize = 16 * 1024;

/// A source of content.
pub(crate) trait ContentSource {
    /// The bytes with this digest; `None` if they cannot be read.
    fn bytes(&self, digest: &Digest) -> Option<Vec<u8>>;
    /// Takes `bytes` from the rest that may still be included; `false` if too little is left.
    fn has_room(&self, _bytes: u64) -> bool {
        true
    }
    /// A URL from which a client can get the bytes.
    fn url(&self, digest: &Digest) -> String;
}

/// The ids of the task and its context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TaskIds {
    pub(crate) task: String,
    pub(crate) context: String,
}

/// A stored message of a client.
#[derive(Debug, Clone)]
pub(crate) struct ClientMessage {
    /// The id of the message's request in the journal.
    pub(crate) request: String,
    /// Whether it started the task.
    pub(crate) begins: bool,
    /// The message as it was sent.
    pub(crate) message: Message,
}

/// Converts one run to a task.
pub(crate) struct TaskWriter<'s> {
    pub(crate) ids: &'s TaskIds,
    pub(crate) content: &'s dyn ContentSource,
    /// Why the run is set aside, if the client should see it. The run has not ended: the state of the task
    /// does not change.
    pub(crate) aside: Option<&'s Aside>,
}

impl TaskWriter<'_> {
    /// The current task.
    pub(crate) fn task(&self, fold: &Fold, sent: &[ClientMessage], with_artifacts: bool) -> Task {
        let artifacts = match with_artifacts {
            true => fold.files().map(|made| self.artifact(made)).collect(),
            false => Vec::new(),
        };
        let flow = fold.run().started().map(|started| Value::from(started.flow.as_str()));
        let standing = fold.standing();
        let mut metadata: Object = flow.into_iter().map(|flow| (FLOW, flow)).collect();
        if let Some(end) = &standing.end {
            metadata.insert(TERMINAL_REASON, Value::from(end.ended.terminal_reason.word()));
        }
        if let Some(why) = self.aside.filter(|_| standing.end.is_none()) {
            metadata.insert(SET_ASIDE, aside_detail(why));
        }
        Task {
            id: self.ids.task.clone(),
            context_id: self.ids.context.clone(),
            history: fold.history().iter().flat_map(|turn| self.turn(turn, sent)).collect(),
            status: self.status(&standing),
            artifacts,
            metadata,
        }
    }

    /// The task of an unreadable run, from its row. It has not ended, unless the run has.
    pub(crate) fn unreadable(&self, row: &RunRow) -> Task {
        let state = if row.ended.is_some() { state::of_row(row) } else { TaskState::Working };
        let aside = self.aside.filter(|_| row.ended.is_none());
        let mut metadata = Object::from([(FLOW, Value::from(row.flow.as_str()))]);
        if let Some(ended) = &row.ended {
            metadata.insert(TERMINAL_REASON, Value::from(ended.terminal_reason.as_str()));
        }
        if let Some(why) = aside {
            metadata.insert(SET_ASIDE, aside_detail(why));
        }
        Task {
            id: self.ids.task.clone(),
            context_id: self.ids.context.clone(),
            history: Vec::new(),
            status: TaskStatus {
                state,
                message: aside.map(|why| self.set_aside(why)),
                timestamp: Some(row.updated_at),
            },
            artifacts: Vec::new(),
            metadata,
        }
    }

    /// An update in the form of a stream item. `last`: whether the stream ends after it.
    pub(crate) fn item(&self, update: &TaskUpdate, last: bool) -> StreamItem {
        match &update.kind {
            UpdateKind::Status(standing) => self.status_item(standing, last),
            UpdateKind::File(made) => StreamItem::Artifact(ArtifactUpdate {
                task_id: self.ids.task.clone(),
                context_id: self.ids.context.clone(),
                artifact: self.artifact(made),
                append: false,
                last_chunk: true,
                metadata: Object::new(),
            }),
        }
    }

    /// The status of the task as a stream item. `last`: whether the stream ends after it.
    pub(crate) fn status_item(&self, standing: &Standing, last: bool) -> StreamItem {
        let aside = self.aside.filter(|_| standing.end.is_none());
        StreamItem::Status(StatusUpdate {
            task_id: self.ids.task.clone(),
            context_id: self.ids.context.clone(),
            status: self.status(standing),
            metadata: aside.map(|why| (SET_ASIDE, aside_detail(why))).into_iter().collect(),
            last,
        })
    }

    pub(crate) fn status(&self, standing: &Standing) -> TaskStatus {
        let message = match (&standing.end, standing.questions.first()) {
            (Some(end), _) => Some(self.ended(end)),
            (None, Some(question)) => Some(self.question_message(question, &standing.questions)),
            (None, None) => self.aside.map(|why| self.set_aside(why)),
        };
        TaskStatus { state: standing.state, message, timestamp: Some(standing.at) }
    }

    fn set_aside(&self, why: &Aside) -> Message {
        let id = format!("aside_{}_{}", self.ids.task, why.since.as_millis());
        let text = format!("set aside: {}; an operator must resume the run", why.reason);
        self.message(&id, Role::Agent, text, Object::from([(SET_ASIDE, aside_detail(why))]))
    }

    fn turn(&self, turn: &HistoryEntry, sent: &[ClientMessage]) -> Vec<Message> {
        match turn {
            HistoryEntry::Begun => {
                sent.iter().filter(|sent| sent.begins).map(|sent| self.client_message(sent)).collect()
            }
            HistoryEntry::Question(question) => vec![self.question_message(question, &[])],
            HistoryEntry::Answered(answered) => {
                let request = answered.answer.request.as_deref();
                let answer = sent.iter().find(|sent| !sent.begins && Some(sent.request.as_str()) == request);
                vec![answer.map_or_else(|| self.answered(answered), |sent| self.client_message(sent))]
            }
            HistoryEntry::Ended(end) => vec![self.ended(end)],
        }
    }

    fn client_message(&self, sent: &ClientMessage) -> Message {
        let mut message = sent.message.clone();
        message.task_id = Some(self.ids.task.clone());
        message.context_id = Some(self.ids.context.clone());
        message
    }

    fn message(&self, id: &str, role: Role, text: String, metadata: Object) -> Message {
        Message {
            id: id.to_owned(),
            context_id: Some(self.ids.context.clone()),
            task_id: Some(self.ids.task.clone()),
            role,
            parts: vec![Part::text(text)],
            metadata,
            extensions: Vec::new(),
            reference_task_ids: Vec::new(),
        }
    }

    /// The message of a question; `open` are all open questions.
    fn question_message(&self, question: &Question, open: &[Arc<Question>]) -> Message {
        let raised = &question.raised;
        let mut metadata = Object::from([(QUESTION, detail(question))]);
        if open.len() > 1 {
            let ids: Vec<Value> =
                open.iter().map(|open| Value::from(open.raised.interrupt.as_str())).collect();
            metadata.insert(OPEN_QUESTIONS, Value::Array(ids));
        }
        self.message(raised.interrupt.as_str(), Role::Agent, raised.question.clone(), metadata)
    }

    fn answered(&self, answered: &Answered) -> Message {
        let answer = &answered.answer;
        let text = if answer.text.trim_ascii().is_empty() { answer.choice.word() } else { &answer.text };
        let members = Object::from([
            ("question", Value::from(answer.interrupt.as_str())),
            ("choice", Value::from(answer.choice.word())),
            ("by", Value::from(answer.by.actor.as_str())),
            ("channel", Value::from(answer.channel.as_str())),
        ]);
        let metadata = Object::from([(ANSWER, Value::Object(members))]);
        self.message(&answered.id, Role::User, text.to_owned(), metadata)
    }

    fn ended(&self, end: &End) -> Message {
        let bytes = end.text.as_ref().and_then(|text| self.content.bytes(&text.digest));
        let text = bytes.map(|bytes| {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            // Most commands end their output with a line feed; it is not part of the text.
            text.strip_suffix('\n').map(str::to_owned).unwrap_or(text)
        });
        let text = text.unwrap_or_else(|| end.ended.reason.clone());
        let mut message = self.message(&end.id, Role::Agent, text, Object::new());
        if let Some(data) = end.data.as_ref().and_then(|data| self.data(data)) {
            let size = u64::try_from(data.compact().len()).unwrap_or(u64::MAX);
            let fits = size <= MAX_CARRIED_BYTES && depth(&data) <= MAX_CARRIED_DEPTH;
            if fits && self.content.has_room(size) {
                message.parts.push(Part::of(Content::Data(data)));
            } else {
                message.metadata.insert(DATA_LEFT_OUT, Value::from(size));
            }
        }
        message
    }

    /// The data itself; `None` if its content cannot be read, which is logged.
    fn data(&self, data: &Data) -> Option<Value> {
        match data {
            Data::Here(value) => Some(value.clone()),
            Data::InReport(report) => Value::parse(&self.content.bytes(report)?).ok()?.get("data").cloned(),
            Data::Kept(content) => Value::parse(&self.content.bytes(content)?).ok(),
        }
    }

    /// The artifact of a path: JSON as data, other text as text, other content as bytes, large content as a
    /// URL.
    pub(crate) fn artifact(&self, made: &FileVersion) -> Artifact {
        let mut name = made.path.rsplit('/').next().unwrap_or(&made.path).to_owned();
        let mut media_type = made.blob.as_ref().map(|_| crate::state::attachments::type_of(&made.path));
        let (content, metadata) = match &made.blob {
            None => (Content::Text(String::new()), Object::from([(DELETED, Value::from(true))])),
            Some(blob) => {
                let small = blob.size <= MAX_CARRIED_BYTES && self.content.has_room(blob.size);
                let bytes = if small { self.content.bytes(&blob.digest) } else { None };
                let content = match bytes.map(String::from_utf8) {
                    None => Content::Url(self.content.url(&blob.digest)),
                    Some(Ok(text)) if media_type.as_deref() == Some(JSON) => json_or_text(text),
                    Some(Ok(text)) => match link(&name, &text) {
                        Some((shown, address)) => {
                            // The content behind the URL is not read; its type follows from its name.
                            media_type = Some(crate::state::attachments::type_of(&shown));
                            name = shown;
                            Content::Url(address)
                        }
                        None => Content::Text(text),
                    },
                    Some(Err(bytes)) => Content::Raw(bytes.into_bytes()),
                };
                (content, Object::from([(DIGEST, Value::from(blob.digest.to_string()))]))
            }
        };
        let part = Part { content, metadata: Object::new(), media_type, filename: Some(name.clone()) };
        Artifact {
            id: made.path.clone(),
            name: Some(name),
            description: None,
            parts: vec![part],
            metadata,
            extensions: Vec::new(),
        }
    }
}

/// The media type of files that are sent as data.
const JSON: &str = "application/json";

/// The value of a JSON file, or its text if not every JSON reader would read it in the same way.
fn json_or_text(text: String) -> Content {
    match Value::parse_str(&text) {
        Ok(value) if depth(&value) <= MAX_CARRIED_DEPTH => Content::Data(value),
        _ => Content::Text(text),
    }
}

/// The nesting depth of a value.
fn depth(value: &Value) -> usize {
    let inner = match value {
        Value::Object(members) => members.iter().map(|(_, value)| depth(value)).max(),
        Value::Array(values) => values.iter().map(depth).max(),
        _ => return 0,
    };
    inner.unwrap_or_default().saturating_add(1)
}

/// The name and the URL of a file that refers to content elsewhere: `report.pdf.uri` with one URL in it.
fn link(name: &str, text: &str) -> Option<(String, String)> {
    let shown = name.strip_suffix(LINK).filter(|shown| !shown.is_empty())?;
    let address = text.trim_ascii();
    let is_one = u64::try_from(address.len()).is_ok_and(|size| size <= MAX_LINK_BYTES)
        && ["https://", "http://"]
            .iter()
            .any(|scheme| address.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty()))
        && address.bytes().all(|byte| byte.is_ascii_graphic());
    is_one.then(|| (shown.to_owned(), address.to_owned()))
}

/// Without the reason, which is in the message.
fn aside_detail(why: &Aside) -> Value {
    let since = why.since.to_string();
    Value::Object(Object::from([("code", Value::from(why.code.as_str())), ("since", Value::from(since))]))
}

/// The data that a client needs to answer.
fn detail(question: &Question) -> Value {
    let raised = &question.raised;
    let choices: Vec<Value> = question.choices.iter().map(|choice| Value::from(choice.word())).collect();
    let mut members = Object::from([
        ("id", Value::from(raised.interrupt.as_str())),
        ("kind", Value::from(raised.kind().word())),
        ("step", Value::from(raised.visit.step.as_str())),
        ("choices", Value::Array(choices)),
    ]);
    if let Some(form) = &question.form {
        members.insert("schema", form.clone());
    }
    if let Some(at) = raised.expires_at {
        members.insert("expires_at", Value::from(at.to_string()));
    }
    if let Some(subject) = raised.subject {
        members.insert("subject", Value::from(subject.to_string()));
    }
    if !raised.evidence.is_null() && raised.evidence.compact().len() <= MAX_EVIDENCE_BYTES {
        members.insert("evidence", raised.evidence.clone());
    }
    Value::Object(members)
}

/// Whether a question accepts free text.
pub(crate) fn takes_words(choices: &[Choice]) -> bool {
    choices.contains(&Choice::Respond)
}
