//! The OpenAPI 3.1 document, made from the table of operations.
//!
//! The server serves the file of this repository, which `cargo xtask generate` writes; it generates nothing
//! at run time.
//!
//! Both client generators and people read it. An object that may have any member says so
//! (`additionalProperties`), because typed clients otherwise treat it as an object without members. Members
//! of requests have no `default`, because some generators make such members required. An operation whose
//! content has no schema is left out.

mod contracts;

use crate::operation::{self, Content, Gate, Method, Operation, Param, ParamIn};
use serde_json::{Map, Value, json};

/// The document that the server serves.
pub const TEXT: &str = include_str!("../../../spec/openapi.json");

/// Generates the document: the expected content of `spec/openapi.json`.
#[must_use]
pub fn generate() -> String {
    // All keys of the document are strings, so serializing cannot fail.
    serde_json::to_string_pretty(&document()).unwrap_or_default() + "\n"
}

fn document() -> Value {
    let mut paths = Map::new();
    for operation in operation::ALL {
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        if let Some(methods) = path.as_object_mut() {
            methods.insert(word(operation.method).to_owned(), described(operation));
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Envoi",
            "version": "1",
            "description": "Durable pipelines of agents, scripts and people. A token is always needed; what belongs to another tenant is not found.",
            "license": {"name": "Apache-2.0 OR MIT", "identifier": "Apache-2.0 OR MIT"},
        },
        "servers": [{"url": "http://127.0.0.1:7007"}],
        "security": [{"bearer": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
            "schemas": schemas(),
            "parameters": {"RequestId": {
                "name": "X-Request-Id",
                "in": "header",
                "description": "An id for this request, 1 to 128 visible ASCII characters; instead of any other one is made",
                "schema": {"type": "string"},
            }},
            "headers": {"RequestId": {
                "description": "The id of the request, as it was brought or made",
                "schema": {"type": "string"},
            }},
        },
    })
}

/// The schemas of rows and bodies, and of the contracts that they contain.
fn schemas() -> Map<String, Value> {
    let mut all = envoi_api::schema::of_rest();
    all.extend(contracts::all());
    all
}

fn word(method: Method) -> &'static str {
    match method {
        Method::Get => "get",
        Method::Post => "post",
    }
}

fn described(operation: &Operation) -> Value {
    let scopes: Vec<&str> = operation.scopes.iter().map(|scope| scope.word()).collect();
    let own_id = json!({"$ref": "#/components/parameters/RequestId"});
    let mut described = json!({
        "operationId": operation.id,
        "summary": operation.summary,
        "x-envoi-scopes": scopes,
        "parameters": operation.params.iter().map(parameter).chain([own_id]).collect::<Vec<_>>(),
        "responses": responses(operation),
    });
    if let (Some(content), Some(members)) = (media(operation.body), described.as_object_mut()) {
        // An operation with an optional body may be called without one; an upload without a body has empty
        // content.
        let required =
            !matches!(operation.body, Content::Json("Resume" | "Fork" | "Compare") | Content::Bytes);
        members.insert("requestBody".to_owned(), json!({"required": required, "content": content}));
    }
    if let (Gate::Open, Some(members)) = (operation.gate, described.as_object_mut()) {
        members.insert("security".to_owned(), json!([]));
    }
    described
}

fn parameter(param: &Param) -> Value {
    let place = match param.place {
        ParamIn::Path => "path",
        ParamIn::Query => "query",
        ParamIn::Header => "header",
    };
    let mut schema = Map::from_iter([("type".to_owned(), json!(param.kind))]);
    if !param.words.is_empty() {
        schema.insert("enum".to_owned(), json!(param.words));
    }
    if let Some(pattern) = param.pattern {
        schema.insert("pattern".to_owned(), json!(pattern));
    }
    if let Some((least, most)) = param.range {
        schema.insert("minimum".to_owned(), json!(least));
        schema.insert("maximum".to_owned(), json!(most));
    }
    json!({
        "name": param.name,
        "in": place,
        "required": param.place == ParamIn::Path,
        "description": param.about,
        "schema": schema,
    })
}

fn responses(operation: &Operation) -> Value {
    let headers = json!({"X-Request-Id": {"$ref": "#/components/headers/RequestId"}});
    let mut responses = Map::new();
    for outcome in operation::outcomes(operation) {
        let mut response = json!({"description": outcome.about, "headers": headers});
        if let (Some(content), Some(members)) = (media(outcome.content), response.as_object_mut()) {
            members.insert("content".to_owned(), content);
        }
        responses.insert(outcome.status.to_string(), response);
    }
    let other = match operation.gate {
        Gate::Token | Gate::Open => Content::Problem,
        Gate::Bridge => Content::Json("Refused"),
    };
    let other =
        json!({"description": "Whatever else went wrong", "headers": headers, "content": media(other)});
    responses.insert("default".to_owned(), other);
    responses.into()
}

fn media(content: Content) -> Option<Value> {
    let reference = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    // The parsed flow, as an object: the schema does not describe the text of the file.
    let flow = json!({"type": "object", "additionalProperties": true, "description": "A flow file: urn:envoi:flow:v1"});
    Some(match content {
        Content::None => return None,
        Content::Json(name) => json!({"application/json": {"schema": reference(name)}}),
        Content::JsonOrEvents(name) => json!({
            "application/json": {"schema": reference(name)},
            "text/event-stream": {"schema": {"type": "string"}},
        }),
        Content::Problem => json!({"application/problem+json": {"schema": reference("Problem")}}),
        Content::Yaml => json!({"application/yaml": {"schema": flow}}),
        Content::Text(kind) => json!({kind: {"schema": {"type": "string"}}}),
        Content::Flow(name) => json!({
            "application/yaml": {"schema": flow},
            "application/json": {"schema": reference(name)},
        }),
        Content::Bytes => {
            json!({"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}})
        }
        Content::Events => json!({"text/event-stream": {"schema": {"type": "string"}}}),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_served_is_what_the_operations_and_the_rows_make() {
        assert!(TEXT == generate(), "`cargo xtask generate` writes spec/openapi.json");
    }

    #[test]
    fn everything_that_is_referred_to_is_there_and_every_parameter_of_a_path_is_described() {
        let document = document();
        let mut refs = Vec::new();
        collect(&document, &mut refs);
        assert!(refs.len() > operation::ALL.len());
        for reference in refs {
            assert!(document.pointer(&reference[1..]).is_some(), "{reference}");
        }
        for operation in operation::ALL {
            let named =
                operation.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
            let described = operation.params.iter().filter(|param| param.place == ParamIn::Path);
            assert!(named.eq(described.map(|param| param.name)), "{}", operation.id);
        }
    }

    #[test]
    fn generators_of_clients_find_what_they_need() {
        let document = document();
        let mut wrong = Vec::new();
        search(&document["components"]["schemas"], "schemas", &mut |place, schema| {
            let is = |kind: &str| {
                schema["type"] == kind
                    || schema["type"].as_array().is_some_and(|kinds| kinds.contains(&kind.into()))
            };
            let says = |names: [&str; 2]| names.iter().any(|name| schema.get(name).is_some());
            if is("object") && !says(["properties", "additionalProperties"]) {
                wrong.push(format!("{place}: an object without members, or with any?"));
            }
            if is("array") && !says(["items", "prefixItems"]) {
                wrong.push(format!("{place}: a list of what?"));
            }
            // Schemas of the contracts are shared with their readers, which use the defaults.
            let of_a_contract =
                ["schemas/Envelope", "schemas/Handoff"].iter().any(|name| place.starts_with(name));
            if schema.get("default").is_some() && !of_a_contract {
                wrong.push(format!("{place}: `default` makes the member required in typed clients"));
            }
        });
        for (path, methods) in document["paths"].as_object().unwrap() {
            let bodies = methods.as_object().unwrap().values().flat_map(|operation| {
                let responses = operation["responses"].as_object().unwrap().values();
                responses.chain(operation.get("requestBody"))
            });
            for content in bodies.filter_map(|body| body["content"].as_object()).flatten() {
                if content.1.get("schema").is_none() {
                    wrong.push(format!("{path}: {} has no schema", content.0));
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
        // The contracts are included with their members, not as arbitrary objects.
        for (name, member) in [("Envelope", "raw_input"), ("Handoff", "routing_signal")] {
            assert!(document["components"]["schemas"][name]["properties"].get(member).is_some(), "{name}");
        }
    }

    fn search(value: &Value, place: &str, look: &mut dyn FnMut(&str, &Value)) {
        let Some(members) = value.as_object() else { return };
        if members.contains_key("type") {
            look(place, value);
        }
        for (name, value) in members.iter().filter(|(name, _)| *name != "examples") {
            let place = format!("{place}/{name}");
            search(value, &place, look);
            value.as_array().into_iter().flatten().for_each(|value| search(value, &place, look));
        }
    }

    fn collect(value: &Value, refs: &mut Vec<String>) {
        match value {
            Value::Object(members) => members.iter().for_each(|(name, value)| match value.as_str() {
                Some(reference) if name == "$ref" => refs.push(reference.to_owned()),
                _ => collect(value, refs),
            }),
            Value::Array(values) => values.iter().for_each(|value| collect(value, refs)),
            _ => {}
        }
    }
}
