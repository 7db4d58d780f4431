//! OpenAI chat completions, which many servers support.

use super::{End, Part, Question, Reply, is_strict, later_turns, message, object};
use crate::member::{at, count, text};
use envoi_contract::json::{Object, Value};

/// The name of the schema, which the protocol requires.
const NAME: &str = "outputs";

/// The name that newer models of OpenAI use for the output limit. They refuse `max_tokens`, and name this member in
/// the refusal.
pub(super) const NEWER_LIMIT: &str = "max_completion_tokens";

pub(super) fn body(question: &Question<'_>) -> Value {
    let mut messages: Vec<Value> = Vec::new();
    messages.extend(question.system.map(|system| message("system", system)));
    messages.push(match question.parts {
        [] => message("user", question.prompt),
        parts => {
            let own = object([("type", Value::from("text")), ("text", Value::from(question.prompt))]);
            message("user", Value::Array(parts.iter().map(part).chain([own]).collect()))
        }
    });
    messages.extend(later_turns(question).map(|(role, text)| message(role, text)));
    let mut body =
        Object::from([("model", Value::from(question.model)), ("messages", Value::Array(messages))]);
    if let Some(temperature) = question.temperature {
        body.insert("temperature", Value::Number(temperature.clone()));
    }
    if let Some(max) = question.max_tokens {
        let name = if question.is_limit_of_completion { NEWER_LIMIT } else { "max_tokens" };
        body.insert(name, Value::from(max));
    }
    if let Some(schema) = question.schema {
        let described = object([
            ("name", Value::from(NAME)),
            ("schema", schema.clone()),
            ("strict", Value::from(is_strict(schema))),
        ]);
        let format = [("type", Value::from("json_schema")), ("json_schema", described)];
        body.insert("response_format", object(format));
    }
    Value::Object(body)
}

fn part(part: &Part) -> Value {
    match part {
        Part::Text(text) => object([("type", Value::from("text")), ("text", Value::from(text.as_str()))]),
        Part::Image { media_type, base64 } => {
            let url = object([("url", Value::from(format!("data:{media_type};base64,{base64}")))]);
            object([("type", Value::from("image_url")), ("image_url", url)])
        }
    }
}

pub(super) fn reply(body: &Value) -> Option<Reply> {
    let choice = body.get("choices")?.as_array()?.first()?;
    let message = choice.get("message")?;
    let reason = text(choice, &["finish_reason"]).map(str::to_ascii_lowercase);
    let has_call =
        at(message, &["tool_calls"]).and_then(Value::as_array).is_some_and(|calls| !calls.is_empty());
    let error = choice.get("error").filter(|error| **error != Value::Null);
    let end = match (reason.as_deref(), text(message, &["refusal"])) {
        (_, Some(refusal)) => End::Refused(refusal.to_owned()),
        (Some("content_filter"), None) => {
            End::Refused("a filter of the provider stopped the answer".to_owned())
        }
        (Some("length" | "max_tokens" | "model_length"), None) => End::Cut,
        // Older servers give none. The other words are those of servers for open models.
        (None | Some("" | "stop" | "stop_sequence" | "end_turn" | "eos" | "eos_token"), None) => {
            match error {
                Some(error) => End::unfinished("choices.error", &error.compact()),
                None if has_call => End::unfinished("message", "tool_calls"),
                None => End::Whole,
            }
        }
        // A word that is not known may mean that the answer was broken off, as `error` and `abort` do.
        (Some(reason), None) => End::unfinished("finish_reason", reason),
    };
    Some(Reply {
        id: text(body, &["id"]).map(str::to_owned),
        text: content(message.get("content")?)?,
        end,
        tokens_in: count(body, &["usage", "prompt_tokens"]),
        tokens_cached: count(body, &["usage", "prompt_tokens_details", "cached_tokens"]),
        tokens_written: None,
        tokens_out: count(body, &["usage", "completion_tokens"]),
    })
}

/// The text of an answer. Some servers send it in parts. A refusal has no text.
fn content(content: &Value) -> Option<String> {
    match content {
        Value::Null => Some(String::new()),
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            Some(parts.iter().filter_map(|part| at(part, &["text"])?.as_str()).collect::<Vec<_>>().concat())
        }
        _ => None,
    }
}
