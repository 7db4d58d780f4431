//! A message of an attempt to an agent, in the types of A2A.

use envoi_a2a::{
    extension::{QUESTION, USER_ENVELOPE},
    model::{self, Content, Part, Role},
};
use envoi_contract::json::{Object, Value};

/// A message to an agent.
pub(crate) struct Message {
    pub(crate) id: String,
    pub(crate) context: String,
    pub(crate) task: Option<String>,
    pub(crate) text: Option<String>,
    pub(crate) data: Option<Value>,
    /// True if the text is a user envelope (contract 5).
    pub(crate) envelope: bool,
    /// The question that the message answers, if the agent is an Envoi.
    pub(crate) question: Option<Value>,
}

impl Message {
    pub(super) fn to_model(&self) -> model::Message {
        let text = self.text.as_deref().map(Part::text);
        let data = self.data.clone().map(|data| Part::of(Content::Data(data)));
        model::Message {
            id: self.id.clone(),
            context_id: Some(self.context.clone()),
            task_id: self.task.clone(),
            role: Role::User,
            parts: text.into_iter().chain(data).collect(),
            metadata: self.metadata(),
            extensions: if self.envelope { vec![USER_ENVELOPE.to_owned()] } else { Vec::new() },
            reference_task_ids: Vec::new(),
        }
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
