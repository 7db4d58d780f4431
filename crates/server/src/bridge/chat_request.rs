//! A request in the protocol of a provider: the model that it names, and the members that are changed before
//! it is sent.
//!
//! Pure. All other members are passed on unchanged, in their order and with their number tokens.

use super::refusal::Refusal;
use bytes::Bytes;
use envoi_contract::json::{Object, Value};
use envoi_preset::protocol::Protocol;

/// With these members some providers use another model than the named one, at another price than the one that
/// is charged.
const ELSEWHERE: [&str; 2] = ["models", "route"];

/// A parsed request in the protocol of a provider.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChatRequest {
    /// The name of the model; `None` for the default.
    pub(crate) model: Option<String>,
    /// Whether the answer is streamed.
    pub(crate) streams: bool,
    /// Whether the client wants the usage of a streamed answer. Only chat completions make this optional.
    pub(crate) wants_usage: bool,
    protocol: Protocol,
    members: Object,
}

impl ChatRequest {
    /// Reads a body.
    ///
    /// # Errors
    /// [`Refusal::Invalid`].
    pub(crate) fn read(protocol: Protocol, body: &[u8]) -> Result<Self, Refusal> {
        let value = Value::parse(body).map_err(|error| Refusal::one("", error.to_string()))?;
        let Value::Object(members) = value else {
            return Err(Refusal::one("", "expected a JSON object"));
        };
        let model = match members.get("model") {
            None => None,
            Some(Value::String(model)) => Some(model.clone()),
            Some(_) => return Err(Refusal::one("model", "expected a string")),
        };
        let streams = match members.get("stream") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(streams)) => *streams,
            Some(_) => return Err(Refusal::one("stream", "expected true or false")),
        };
        let options = members.get("stream_options").filter(|options| **options != Value::Null);
        if options.is_some_and(|options| !matches!(options, Value::Object(_))) {
            return Err(Refusal::one("stream_options", "expected an object"));
        }
        let wants_usage = protocol != Protocol::Chat
            || options.and_then(|options| options.get("include_usage")) == Some(&Value::Bool(true));
        Ok(Self { model, streams, wants_usage, protocol, members })
    }

    /// The body for the provider, with `name` as its model. A streamed answer always includes its usage.
    pub(crate) fn for_provider(mut self, name: &str) -> Bytes {
        self.members.insert("model", Value::from(name));
        for member in ELSEWHERE {
            self.members.remove(member);
        }
        if self.streams && self.protocol == Protocol::Chat {
            let mut options = match self.members.get("stream_options") {
                Some(Value::Object(options)) => options.clone(),
                _ => Object::new(),
            };
            options.insert("include_usage", Value::Bool(true));
            self.members.insert("stream_options", Value::Object(options));
        }
        Value::Object(self.members).compact().into_bytes().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(body: &str) -> String {
        let chat = ChatRequest::read(Protocol::Chat, body.as_bytes()).unwrap();
        String::from_utf8(chat.for_provider("lab-7").to_vec()).unwrap()
    }

    #[test]
    fn only_the_model_and_the_wish_for_usage_are_changed() {
        for (body, expected) in [
            (r#"{"messages":[]}"#, r#"{"messages":[],"model":"lab-7"}"#),
            (
                r#"{"temperature":0.10,"model":"small","x_new":{"b":1e400,"a":null},"stream":false}"#,
                r#"{"temperature":0.10,"model":"lab-7","x_new":{"b":1e400,"a":null},"stream":false}"#,
            ),
            (r#"{"models":["dear"],"n":2,"route":"fallback"}"#, r#"{"n":2,"model":"lab-7"}"#),
            (
                r#"{"model":"small","stream":true}"#,
                r#"{"model":"lab-7","stream":true,"stream_options":{"include_usage":true}}"#,
            ),
            (
                r#"{"model":"small","stream":true,"stream_options":{"include_usage":false,"x":1},"n":2}"#,
                r#"{"model":"lab-7","stream":true,"stream_options":{"include_usage":true,"x":1},"n":2}"#,
            ),
        ] {
            assert_eq!(passed(body), expected);
        }
    }

    #[test]
    fn in_another_protocol_nothing_is_wished_for() {
        for protocol in [Protocol::Responses, Protocol::Messages] {
            let request = ChatRequest::read(protocol, br#"{"model":"small","stream":true,"x":1.0}"#).unwrap();
            assert!(request.streams && request.wants_usage);
            assert_eq!(
                request.for_provider("lab-7"),
                r#"{"model":"lab-7","stream":true,"x":1.0}"#.as_bytes()
            );
        }
    }

    #[test]
    fn every_requested_name_is_known() {
        for (body, model, streams, wants_usage) in [
            ("{}", None, false, false),
            (r#"{"model": "m", "stream": null, "stream_options": null}"#, Some("m"), false, false),
            (r#"{"stream": true, "stream_options": {}}"#, None, true, false),
            (r#"{"stream": true, "stream_options": {"include_usage": true}}"#, None, true, true),
        ] {
            let chat = ChatRequest::read(Protocol::Chat, body.as_bytes()).unwrap();
            let read = (chat.model.as_deref(), chat.streams, chat.wants_usage);
            assert_eq!(read, (model, streams, wants_usage), "{body}");
        }
        for body in ["", "[]", "{", r#"{"model": null}"#, r#"{"stream": 1}"#, r#"{"stream_options": true}"#] {
            assert!(
                matches!(ChatRequest::read(Protocol::Chat, body.as_bytes()), Err(Refusal::Invalid(_))),
                "{body}"
            );
        }
    }
}
