//! The bridge to models: contract 5's call, and the OpenAI API.

use crate::{
    request::Attachment,
    scalar::{object, words},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The body of `callModel` (contract 5). Other members are ignored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = true))]
pub struct BridgeTurn {
    /// What the user says; with `user_envelope` the envelope of contract 5.
    pub user: String,
    /// Whether `user` is an envelope; false by default.
    #[schemars(with = "bool", default)]
    pub user_envelope: Option<bool>,
    /// Files that belong to it.
    #[serde(default)]
    #[schemars(length(max = 20))]
    pub attachments: Vec<Attachment>,
    /// One of `listModels`; the configured one by default.
    #[schemars(with = "String", default)]
    pub model: Option<String>,
    /// Another name for `model`; if both are there, they must be equal.
    #[schemars(with = "String", default)]
    pub model_id: Option<String>,
    /// The system prompt.
    #[schemars(with = "String", default)]
    pub system: Option<String>,
    /// The run that the caller believes to be in; if it is another, no file is read.
    #[serde(default)]
    pub agent_run_id: Value,
}

/// The answer of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BridgeAnswer {
    /// What the model says.
    pub text: String,
    /// Which model it was.
    pub model: String,
    /// What the call used.
    pub usage: Usage,
}

/// What a call of a model used; null: not known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Usage {
    /// Tokens that the model was given.
    pub tokens_in: Option<u64>,
    /// Tokens that the model gave.
    pub tokens_out: Option<u64>,
    /// Dollars.
    #[schemars(regex(pattern = r"^[0-9]+[.][0-9]+$"))]
    pub cost_usd: Option<String>,
}

/// How the bridge refuses a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = true))]
pub struct BridgeRefusal {
    /// The refusal as a word.
    pub error: String,
    /// The error code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", default)]
    pub code: Option<String>,
    /// What exactly is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", default)]
    pub detail: Option<String>,
    /// Why a file cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", default)]
    pub reason: Option<String>,
    /// Each mistake at its place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub issues: Vec<Issue>,
}

/// A mistake at its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Issue {
    /// Where.
    pub path: String,
    /// What.
    pub message: String,
}

/// The body of a call in a protocol of a provider: whatever the provider takes; these members are looked at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = true))]
pub struct Chat {
    /// One of `listModels`; the configured one by default.
    #[schemars(with = "String", default)]
    pub model: Option<String>,
    /// Whether the answer comes as a stream.
    pub stream: Option<bool>,
    /// As the provider takes it.
    #[schemars(with = "Option<OpenObject>")]
    pub stream_options: Option<Map<String, Value>>,
    /// The conversation.
    #[serde(default)]
    #[schemars(with = "Vec<OpenObject>")]
    pub messages: Vec<Map<String, Value>>,
}

/// The schema of an object with any members.
struct OpenObject;

impl JsonSchema for OpenObject {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "OpenObject".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        object(generator)
    }
}

/// How the OpenAI API refuses a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChatRefusal {
    /// Why.
    pub error: ChatError,
}

/// Why the OpenAI API refuses a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct ChatError {
    /// What exactly is wrong.
    pub message: String,
    /// The class of error, as the OpenAI API has it.
    #[serde(rename = "type")]
    pub kind: String,
    /// Always null.
    pub param: (),
    /// The error code.
    pub code: String,
}

words! {
    /// The `type` of an error of Anthropic messages.
    MessagesErrorWord {
        /// An error.
        Error = "error",
    }
}

/// How the API of Anthropic messages refuses a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessagesRefusal {
    /// What this is.
    #[serde(rename = "type")]
    pub kind: MessagesErrorWord,
    /// Why.
    pub error: MessagesError,
}

/// Why the API of Anthropic messages refuses a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct MessagesError {
    /// The class of error, as that API has it.
    #[serde(rename = "type")]
    pub kind: String,
    /// What exactly is wrong.
    pub message: String,
    /// The error code of Envoi.
    pub code: String,
}

words! {
    /// The `object` of a list of the OpenAI API.
    ListObject {
        /// A list.
        List = "list",
    }
}

words! {
    /// The `object` of an element in the OpenAI API's list of models.
    ModelObject {
        /// A model.
        Model = "model",
    }
}

/// The models that may be called, as the OpenAI API lists them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChatModels {
    /// What this is.
    pub object: ListObject,
    /// The models.
    pub data: Vec<ChatModel>,
}

/// A model, as the OpenAI API lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct ChatModel {
    /// Its id.
    pub id: String,
    /// What this is.
    pub object: ModelObject,
    /// When, in seconds since 1970; 0: not known.
    pub created: u64,
    /// Who offers it.
    pub owned_by: String,
}
