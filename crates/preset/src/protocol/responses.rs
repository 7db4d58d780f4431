//! OpenAI responses.

use super::{End, Part, Question, Reply, is_strict, later_turns, message, object};
use crate::member::{count, text};
use envoi_contract::json::{Object, Value};

/// The name of the schema, which the protocol requires.
const NAME: &str = "outputs";

pub(super) fn body(question: &Question<'_>) -> Value {
    let mut input: Vec<Value> = Vec::new();
    input.push(match question.parts {
        [] => message("user", question.prompt),
        parts => {
            let own = object([("type", Value::from("input_text")), ("text", Value::from(question.prompt))]);
            message("user", Value::Array(parts.iter().map(part).chain([own]).collect()))
        }
    });
    input.extend(later_turns(question).map(|(role, text)| message(role, text)));
    // The provider need not store the answer, because a further try sends everything again.
    let mut body = Object::from([
        ("model", Value::from(question.model)),
        ("input", Value::Array(input)),
        ("store", Value::from(false)),
    ]);
    if let Some(system) = question.system {
        body.insert("instructions", Value::from(system));
    }
    if let Some(temperature) = question.temperature {
        body.insert("temperature", Value::Number(temperature.clone()));
    }
    if let Some(max) = question.max_tokens {
        body.insert("max_output_tokens", Value::from(max));
    }
    if let Some(schema) = question.schema {
        let format = object([
            ("type", Value::from("json_schema")),
            ("name", Value::from(NAME)),
            ("schema", schema.clone()),
            ("strict", Value::from(is_strict(schema))),
        ]);
        body.insert("text", object([("format", format)]));
    }
    Value::Object(body)
}

fn part(part: &Part) -> Value {
    match part {
        Part::Text(text) => {
            object([("type", Value::from("input_text")), ("text", Value::from(text.as_str()))])
        }
        Part::Image { media_type, base64 } => {
            let url = Value::from(format!("data:{media_type};base64,{base64}"));
            object([("type", Value::from("input_image")), ("image_url", url)])
        }
    }
}

pub(super) fn reply(body: &Value) -> Option<Reply> {
    let output = body.get("output")?.as_array()?;
    let contents = || {
        let messages = output.iter().filter(|item| text(item, &["type"]) == Some("message"));
        messages.filter_map(|item| item.get("content")?.as_array()).flatten()
    };
    let of = |kind: &'static str, member: &'static str| {
        contents()
            .filter(move |part| text(part, &["type"]) == Some(kind))
            .filter_map(move |part| text(part, &[member]))
    };
    let refusal = of("refusal", "refusal").next().map(str::to_owned);
    let end = match (refusal, text(body, &["status"]), text(body, &["incomplete_details", "reason"])) {
        (Some(refusal), ..) => End::Refused(refusal),
        (None, Some("incomplete"), Some("content_filter")) => {
            End::Refused("a filter of the provider stopped the answer".to_owned())
        }
        (None, Some("incomplete"), _) => End::Cut,
        (None, Some("failed" | "cancelled" | "in_progress" | "queued"), _) => return None,
        (None, None | Some("completed"), None) => output.iter().find_map(unfinished).unwrap_or(End::Whole),
        (None, None | Some("completed"), Some(reason)) => End::unfinished("incomplete_details", reason),
        (None, Some(status), _) => End::unfinished("status", status),
    };
    Some(Reply {
        id: text(body, &["id"]).map(str::to_owned),
        text: of("output_text", "text").collect::<Vec<_>>().concat(),
        end,
        tokens_in: count(body, &["usage", "input_tokens"]),
        tokens_cached: count(body, &["usage", "input_tokens_details", "cached_tokens"]),
        tokens_written: None,
        tokens_out: count(body, &["usage", "output_tokens"]),
    })
}

/// How the answer ends if this item is not a complete text. An item that calls something waits for a result that
/// never comes.
fn unfinished(item: &Value) -> Option<End> {
    let kind = text(item, &["type"])?;
    match text(item, &["status"]) {
        Some(status @ ("incomplete" | "in_progress")) if kind == "message" => {
            Some(End::unfinished("output.status", status))
        }
        _ if kind.ends_with("_call") || kind == "mcp_approval_request" => {
            Some(End::unfinished("output.type", kind))
        }
        _ => None,
    }
}
