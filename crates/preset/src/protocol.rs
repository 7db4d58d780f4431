//! The protocols of model providers: the wire format of a call without tools, and of its reply.
//!
//! Each protocol has its own file below. Nothing is sent here, and no schema is checked.

mod chat;
mod messages;
pub mod rejection;
mod responses;

use core::fmt;
use envoi_contract::json::{Number, Object, Value};

/// A protocol for calling a provider.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// OpenAI chat completions, which most servers support.
    #[default]
    Chat,
    /// OpenAI responses.
    Responses,
    /// Anthropic messages.
    Messages,
}

impl Protocol {
    /// True if the text of a refusal means that the call has to be repeated with
    /// [`Question::is_limit_of_completion`].
    #[must_use]
    pub fn wants_limit_of_completion(self, refusal: &str) -> bool {
        self == Self::Chat && refusal.contains(chat::NEWER_LIMIT)
    }

    /// All protocols.
    pub const ALL: [Self; 3] = [Self::Chat, Self::Responses, Self::Messages];

    /// The name in a configuration.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Responses => "responses",
            Self::Messages => "messages",
        }
    }

    /// The protocol with this name.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|protocol| protocol.word() == word)
    }

    /// The path that is appended to the address of a provider.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Self::Chat => "/chat/completions",
            Self::Responses => "/responses",
            Self::Messages => "/messages",
        }
    }

    /// The headers of a call, without those that every JSON request has.
    #[must_use]
    pub fn headers(self, key: Option<&str>) -> Vec<(&'static str, String)> {
        match self {
            Self::Chat | Self::Responses => {
                key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect()
            }
            Self::Messages => {
                let version = [("anthropic-version", "2023-06-01".to_owned())];
                version.into_iter().chain(key.map(|key| ("x-api-key", key.to_owned()))).collect()
            }
        }
    }

    /// The response header with the request id, for the provider's support.
    #[must_use]
    pub const fn id_header(self) -> &'static str {
        match self {
            Self::Chat | Self::Responses => "x-request-id",
            Self::Messages => "request-id",
        }
    }

    /// The body of a call.
    #[must_use]
    pub fn body(self, question: &Question<'_>) -> Value {
        match self {
            Self::Chat => chat::body(question),
            Self::Responses => responses::body(question),
            Self::Messages => messages::body(question),
        }
    }

    /// Interprets the body of a reply with status 200. `None` if it is not a reply of this protocol.
    #[must_use]
    pub fn reply(self, body: &Value) -> Option<Reply> {
        if body.get("error").is_some_and(|error| !error.is_null()) {
            return None;
        }
        let mut reply = match self {
            Self::Chat => chat::reply(body),
            Self::Responses => responses::reply(body),
            Self::Messages => messages::reply(body),
        }?;
        // For example a tool call, although no tool was offered.
        if reply.end == End::Whole && reply.text.trim().is_empty() {
            reply.end = End::Refused("the answer has no text".to_owned());
        }
        Some(reply)
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A request to a model.
#[derive(Debug, Clone)]
pub struct Question<'a> {
    /// The provider's name for the model.
    pub model: &'a str,
    /// The system instructions.
    pub system: Option<&'a str>,
    /// The first prompt.
    pub prompt: &'a str,
    /// The files for the model.
    pub parts: &'a [Part],
    /// Answers that did not fit, each with the reason.
    pub repairs: &'a [(String, String)],
    /// The temperature.
    pub temperature: Option<&'a Number>,
    /// The largest number of output tokens.
    pub max_tokens: Option<u64>,
    /// For [`Protocol::Chat`]: true to send `max_tokens` under the name `max_completion_tokens`. Newer models of
    /// OpenAI require that name; all other servers know only `max_tokens`.
    pub is_limit_of_completion: bool,
    /// The JSON Schema of the answer.
    pub schema: Option<&'a Value>,
}

/// A file for a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Text with its heading.
    Text(String),
    /// An image.
    Image {
        /// The media type.
        media_type: &'static str,
        /// The bytes in base64.
        base64: String,
    },
}

/// The answer of a model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reply {
    /// The id that the provider assigned.
    pub id: Option<String>,
    /// The text of the answer.
    pub text: String,
    /// How it ended.
    pub end: End,
    /// Input tokens, including those of a cache.
    pub tokens_in: Option<u64>,
    /// Input tokens that were read from a cache.
    pub tokens_cached: Option<u64>,
    /// Input tokens that were written to a cache, if the provider charges for that.
    pub tokens_written: Option<u64>,
    /// Output tokens.
    pub tokens_out: Option<u64>,
}

/// How an answer ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum End {
    /// It is complete.
    #[default]
    Whole,
    /// It reached the token limit.
    Cut,
    /// The model, or a filter of the provider, refused to answer. Contains the reason.
    Refused(String),
}

impl End {
    /// An answer in which the model waits for a tool or another turn, which it does not get.
    fn unfinished(member: &str, word: &str) -> Self {
        Self::Refused(format!("the answer is not finished: `{member}` is `{word}`"))
    }
}

/// The text before the reason why an answer does not fit, for the model.
const WRONG: &str = "This answer cannot be used: ";

/// The text after that reason.
const AGAIN: &str = "\nAnswer again, with the corrected JSON alone.";

/// The turns after the first: the role and the text of each.
fn later_turns<'q>(question: &'q Question<'_>) -> impl Iterator<Item = (&'static str, String)> + use<'q> {
    question.repairs.iter().flat_map(|(answer, wrong)| {
        // Some providers refuse an empty message.
        let answer = if answer.trim().is_empty() { "(nothing)" } else { answer.as_str() };
        [("assistant", answer.to_owned()), ("user", format!("{WRONG}{wrong}{AGAIN}"))]
    })
}

/// A message with one text.
fn message(role: &str, text: impl Into<Value>) -> Value {
    Value::Object(Object::from([("role", Value::from(role)), ("content", text.into())]))
}

/// An object of these members.
fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::Object(Object::from(members))
}

/// True if a provider can enforce this schema strictly: each object lists and requires all its members, and allows no
/// others.
fn is_strict(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => {
            let properties = members.get("properties").and_then(Value::as_object);
            let is_object =
                properties.is_some() || members.get("type").and_then(Value::as_str) == Some("object");
            let required = members.get("required").and_then(Value::as_array).unwrap_or(&[]);
            let names_all = properties.is_some_and(|properties| {
                properties.keys().all(|name| required.iter().any(|other| other.as_str() == Some(name)))
            });
            let is_closed = members.get("additionalProperties") == Some(&Value::Bool(false));
            (!is_object || (names_all && is_closed)) && members.values().all(is_strict)
        }
        Value::Array(items) => items.iter().all(is_strict),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

#[cfg(test)]
mod tests;
