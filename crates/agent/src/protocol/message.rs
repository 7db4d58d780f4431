//! A message to an agent, in either version of the protocol.

use super::{
    endpoint::Version,
    extension::{QUESTION, USER_ENVELOPE},
};
use envoi_contract::json::{Object, Value};

/// A message to an agent.
pub(crate) struct Message {
    pub(crate) id: String,
    pub(crate) context: String,
    pub(crate) task: Option<String>,
    pub(crate) text: Option<String>,
    pub(crate) data: Option<Value>,
    /// Whether the text is a user envelope (contract 5).
    pub(crate) envelope: bool,
    /// The question that the message answers, for an agent that is an Envoi.
    pub(crate) question: Option<Value>,
}

impl Message {
    pub(super) fn to_value(&self, version: Version) -> Value {
        let mut members = Object::default();
        if version == Version::V03 {
            members.insert("kind", Value::from("message"));
        }
        members.insert("messageId", Value::from(self.id.as_str()));
        members.insert("contextId", Value::from(self.context.as_str()));
        if let Some(task) = &self.task {
            members.insert("taskId", Value::from(task.as_str()));
        }
        let role = match version {
            Version::V03 => "user",
            Version::V1 => concat!("ROLE", "_USER"),
        };
        members.insert("role", Value::from(role));
        members.insert("parts", Value::from(self.parts(version)));
        if self.envelope {
            members.insert("extensions", Value::from(vec![USER_ENVELOPE]));
        }
        let metadata = self.metadata();
        if !metadata.is_empty() {
            members.insert("metadata", Value::Object(metadata));
        }
        Value::Object(members)
    }

    fn parts(&self, version: Version) -> Vec<Value> {
        let text = self.text.as_deref().map(|text| part(version, "text", Value::from(text)));
        let data = self.data.clone().map(|data| part(version, "data", data));
        text.into_iter().chain(data).collect()
    }

    fn metadata(&self) -> Object {
        let mut metadata = Object::default();
        if self.envelope {
            let mark = Value::Object(Object::from([("user_envelope", Value::from(true))]));
            metadata.insert(USER_ENVELOPE, mark);
        }
        if let Some(question) = &self.question {
            metadata.insert(QUESTION, question.clone());
        }
        metadata
    }
}

fn part(version: Version, kind: &'static str, value: Value) -> Value {
    let mut members = Object::default();
    if version == Version::V03 {
        members.insert("kind", Value::from(kind));
    }
    members.insert(kind, value);
    Value::Object(members)
}
