//! Anthropic messages.

use super::{End, Part, Question, Reply, later_turns, message, object};
use crate::member::{count, text};
use envoi_contract::json::{Object, Value};

/// The output limit if a flow states none. The protocol requires a number, and every current model supports this one.
const MAX_TOKENS: u64 = 8_192;

pub(super) fn body(question: &Question<'_>) -> Value {
    let mut messages: Vec<Value> = Vec::new();
    messages.push(match question.parts {
        [] => message("user", question.prompt),
        parts => {
            let own = object([("type", Value::from("text")), ("text", Value::from(question.prompt))]);
            message("user", Value::Array(parts.iter().map(part).chain([own]).collect()))
        }
    });
    messages.extend(later_turns(question).map(|(role, text)| message(role, text)));
    let mut body = Object::from([
        ("model", Value::from(question.model)),
        ("max_tokens", Value::from(question.max_tokens.unwrap_or(MAX_TOKENS))),
    ]);
    if let Some(system) = question.system {
        body.insert("system", Value::from(system));
    }
    body.insert("messages", Value::Array(messages));
    if let Some(temperature) = question.temperature {
        body.insert("temperature", Value::Number(temperature.clone()));
    }
    if let Some(schema) = question.schema {
        let format = object([("type", Value::from("json_schema")), ("schema", closed(schema))]);
        body.insert("output_config", object([("format", format)]));
    }
    Value::Object(body)
}

/// Returns the schema with `additionalProperties: false` in each object, which the protocol requires. An answer that
/// fits it also fits the flow's schema.
fn closed(schema: &Value) -> Value {
    match schema {
        Value::Object(members) => {
            let mut closed: Object =
                members.iter().map(|(name, member)| (name.to_owned(), closed(member))).collect();
            let is_object = members.get("type").and_then(Value::as_str) == Some("object");
            if is_object && !members.contains_key("additionalProperties") {
                closed.insert("additionalProperties", Value::Bool(false));
            }
            Value::Object(closed)
        }
        Value::Array(items) => Value::Array(items.iter().map(closed).collect()),
        other => other.clone(),
    }
}

fn part(part: &Part) -> Value {
    match part {
        Part::Text(text) => object([("type", Value::from("text")), ("text", Value::from(text.as_str()))]),
        Part::Image { media_type, base64 } => {
            let source = object([
                ("type", Value::from("base64")),
                ("media_type", Value::from(*media_type)),
                ("data", Value::from(base64.as_str())),
            ]);
            object([("type", Value::from("image")), ("source", source)])
        }
    }
}

pub(super) fn reply(body: &Value) -> Option<Reply> {
    let content = body.get("content")?.as_array()?;
    let texts = content.iter().filter(|part| text(part, &["type"]) == Some("text"));
    let end = match text(body, &["stop_reason"]) {
        Some("max_tokens" | "model_context_window_exceeded") => End::Cut,
        Some("refusal") => End::Refused("the model refuses to answer this".to_owned()),
        None | Some("end_turn" | "stop_sequence") => {
            let call = content.iter().any(|part| text(part, &["type"]) == Some("tool_use"));
            if call { End::unfinished("content.type", "tool_use") } else { End::Whole }
        }
        // The model waits for a tool or another turn. A word that is not known may mean that it was broken off.
        Some(reason) => End::unfinished("stop_reason", reason),
    };
    // `input_tokens` does not include cached tokens.
    let given = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
    let counts = given.map(|name| count(body, &["usage", name]));
    let tokens_in = counts.iter().any(Option::is_some);
    let sum = counts.iter().flatten().fold(0_u64, |sum, count| sum.saturating_add(*count));
    Some(Reply {
        id: text(body, &["id"]).map(str::to_owned),
        text: texts.filter_map(|part| text(part, &["text"])).collect::<Vec<_>>().concat(),
        end,
        tokens_in: tokens_in.then_some(sum),
        tokens_cached: count(body, &["usage", "cache_read_input_tokens"]),
        tokens_written: count(body, &["usage", "cache_creation_input_tokens"]),
        tokens_out: count(body, &["usage", "output_tokens"]),
    })
}
