//! The schemas of bodies. What a contract defines is in [`super::contracts`].

use serde_json::{Value, json};

fn object(required: &[&str], properties: Value) -> Value {
    json!({"type": "object", "required": required, "properties": properties})
}

/// Every member is always there.
fn whole(properties: Value) -> Value {
    let required: Vec<String> =
        properties.as_object().into_iter().flat_map(|all| all.keys().cloned()).collect();
    json!({"type": "object", "required": required, "properties": properties, "additionalProperties": false})
}

fn step() -> Value {
    json!({"type": "string", "pattern": "^[a-z][a-z0-9_-]{0,63}$"})
}

fn filled_text() -> Value {
    json!({"type": "string", "minLength": 1})
}

fn list_of(name: &str) -> Value {
    json!({"type": "array", "items": {"$ref": format!("#/components/schemas/{name}")}})
}

fn text() -> Value {
    json!({"type": "string"})
}

fn maybe_text() -> Value {
    json!({"type": ["string", "null"]})
}

fn time() -> Value {
    json!({"type": "string", "format": "date-time"})
}

fn maybe_time() -> Value {
    json!({"type": ["string", "null"], "format": "date-time"})
}

fn count() -> Value {
    json!({"type": "integer", "minimum": 0, "maximum": 9_007_199_254_740_991_u64})
}

fn digest() -> Value {
    json!({"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"})
}

fn page(member: &str, of: &str) -> Value {
    whole(json!({
        (member): list_of(of),
        "next": {"type": ["string", "null"], "description": "The `cursor` of the next page"},
    }))
}

/// The `next` of lists of events.
fn next() -> Value {
    json!({"type": ["integer", "null"], "description": "The `after` of the next page; null on the last"})
}

fn maybe_count() -> Value {
    json!({"type": ["integer", "null"], "minimum": 0})
}

/// Other members are ignored.
fn bridge_turn() -> Value {
    object(
        &["user"],
        json!({
            "user": {"type": "string", "description": "What the user says; with `user_envelope` the envelope of contract 5"},
            "user_envelope": {"type": "boolean", "description": "Whether `user` is an envelope; false by default"},
            "attachments": {"type": "array", "maxItems": 20, "items": {"$ref": "#/components/schemas/Attachment"}},
            "model": {"type": "string", "description": "One of `listModels`; the configured one by default"},
            "model_id": {"type": "string", "description": "Another name for `model`; if both are there, they must be equal"},
            "system": {"type": "string", "description": "The system prompt"},
            "agent_run_id": {"description": "The run that the caller believes to be in; if it is another, no file is read"},
        }),
    )
}

pub(super) fn all() -> Value {
    let mut all = of_the_interface();
    if let Some(members) = all.as_object_mut() {
        members.extend(super::contracts::all());
    }
    all
}

/// An object with members of the client's choice.
fn free(description: &str) -> Value {
    json!({"type": "object", "additionalProperties": true, "description": description})
}

fn of_the_interface() -> Value {
    json!({
        "Problem": problem(),
        "Forbidden": whole(json!({"error": {"const": "Forbidden"}})),
        "Refused": {"type": "object", "required": ["error"], "properties": {"error": {}}, "additionalProperties": true},
        "BridgeTurn": bridge_turn(),
        "BridgeAnswer": whole(json!({
            "text": text(), "model": text(),
            "usage": whole(json!({
                "tokens_in": maybe_count(), "tokens_out": maybe_count(),
                "cost_usd": {"type": ["string", "null"], "pattern": "^[0-9]+[.][0-9]+$"},
            })),
        })),
        "BridgeRefusal": object(&["error"], json!({
            "error": text(), "code": text(), "detail": text(), "reason": text(),
            "issues": {"type": "array", "items": whole(json!({"path": text(), "message": text()}))},
        })),
        "Chat": {
            "type": "object", "additionalProperties": true,
            "description": "Whatever the provider takes; these members are looked at",
            "properties": {
                "model": text(), "stream": {"type": ["boolean", "null"]},
                "stream_options": {"type": ["object", "null"], "additionalProperties": true},
                "messages": {"type": "array", "items": {"type": "object", "additionalProperties": true}},
            },
        },
        "ChatCompletion": free("As the provider gives it"),
        "ChatRefusal": whole(json!({
            "error": whole(json!({"message": text(), "type": text(), "param": {"type": "null"}, "code": text()})),
        })),
        "ChatModels": whole(json!({
            "object": {"const": "list"},
            "data": {"type": "array", "items": whole(json!({
                "id": text(), "object": {"const": "model"}, "created": count(), "owned_by": text(),
            }))},
        })),
        "Health": whole(json!({"status": {"const": "ok"}})),
        "Document": free("An OpenAPI 3.1 document"),
        "Token": whole(json!({
            "name": text(), "tenant": text(),
            "scopes": {"type": "array", "items": {"enum": ["read", "answer", "run", "admin"]}},
        })),
        "PinnedFlow": whole(json!({
            "digest": digest(), "language": count(), "name": text(), "text": text(),
            "parts": {"type": "object", "additionalProperties": text(), "description": "Texts of the flows that it names, by their paths"},
        })),
        "Flow": whole(json!({
            "flow": text(), "digest": digest(), "language": count(),
            "files": {"type": "array", "items": text(), "description": "Its own first, then those that it names"},
            "registered_at": time(), "registered_by": text(),
        })),
        "FlowFiles": flow_files(),
        "Flows": whole(json!({"flows": list_of("Flow")})),
        "Start": start(),
        "Resume": resume(),
        "Raise": {
            "type": "object", "required": ["more"], "additionalProperties": false,
            "properties": {"more": more(), "why": maybe_text()},
            "examples": [{"more": {"agent_hops": 2}, "why": "it is worth it"}],
        },
        "Fork": fork(),
        "Run": whole(run()),
        "Forked": forked(),
        "Runs": page("runs", "Run"),
        "Event": event(),
        "Events": whole(json!({"events": list_of("Event"), "next": next()})),
        "HandoffRow": whole(json!({
            "handoff": {"type": "string", "description": "By this it is got: `[scope.]step.visit`"}, "step": text(), "scope": text(), "visit": count(), "flow": text(),
            "status": {"enum": ["succeeded", "failed", "skipped"]}, "summary": text(), "at": time(), "seq": count(),
        })),
        "Handoffs": whole(json!({"handoffs": list_of("HandoffRow")})),
        "Log": whole(json!({"attempt": text(), "seq": count(), "stdout_bytes": count(), "stderr_bytes": count()})),
        "Logs": whole(json!({"logs": list_of("Log"), "next": next()})),
        "Question": question(),
        "Questions": whole(json!({
            "questions": list_of("Question"),
            "next": {"type": ["string", "null"], "description": "The `cursor` of the next page"},
            "last_event_id": {"type": "string", "description": "A stream from here on misses nothing that is not in the list"},
        })),
        "Answer": answer(),
        "Attachment": attachment(),
    })
}

fn problem() -> Value {
    object(
        &["type", "title", "status", "detail", "code", "hint", "request_id"],
        json!({
            "type": {"type": "string", "description": "urn:envoi:error:CODE"},
            "title": text(), "status": count(), "detail": text(),
            "code": {"type": "string", "description": "`envoi explain CODE` says more"}, "hint": maybe_text(),
            "request_id": {"type": "string", "description": "As in `X-Request-Id`: the server's log knows the request by it"},
        }),
    )
}

/// The members of a run.
fn run() -> Value {
    json!({
        "run": text(), "flow": text(), "flow_digest": digest(),
        "status": {"enum": ["running", "waiting", "succeeded", "failed", "exhausted", "cancelled"]},
        "in_doubt": {"type": "boolean"}, "step": maybe_text(), "workspace": text(), "tenant": text(), "actor": text(), "started_at": time(), "updated_at": time(),
        "events": count(), "live_attempts": count(), "open_questions": count(), "terminal_reason": maybe_text(),
        "reason": maybe_text(), "forked_from": maybe_text(), "root": maybe_text(),
        "activity": {
            "type": ["string", "null"], "enum": ["working", "stopped", "set_aside", null],
            "description": "Whether anything works on the run now; null for one that is over",
        },
        "activity_since": maybe_time(),
        "set_aside": set_aside(),
    })
}

/// Why a run is set aside; null if it is not.
fn set_aside() -> Value {
    let mut members = whole(json!({
        "since": time(), "code": {"type": "string", "description": "`envoi explain CODE` says more"}, "reason": text(),
        "evidence": text(),
    }));
    if let Some(members) = members.as_object_mut() {
        members.insert("type".to_owned(), json!(["object", "null"]));
    }
    members
}

fn forked() -> Value {
    let mut members = run();
    if let Some(members) = members.as_object_mut() {
        let notes = json!({
            "type": "array", "items": text(),
            "description": "What should be known besides, such as files that lie otherwise than at the cut",
        });
        members.insert("notes".to_owned(), notes);
    }
    whole(members)
}

fn fork() -> Value {
    json!({
        "type": "object", "additionalProperties": false,
        "properties": {
            "from": {
                "type": ["string", "null"], "pattern": "^[a-z][a-z0-9_-]{0,63}$",
                "description": "A step of the run's own flow, as it was entered last; the one that stopped it by default",
            },
            "workspace": workspace(),
            "yes_to": {"type": "array", "items": step(), "description": "Steps whose questions are approved as they are put"},
            "why": maybe_text(),
        },
        "examples": [{"why": "the script is mended"}],
    })
}

fn workspace() -> Value {
    json!({
        "type": "string", "enum": ["alone", "shared", "copy"],
        "description": "How the run uses its workspace; alone by default",
    })
}

/// By how much bounds are raised.
fn more() -> Value {
    json!({
        "type": "object", "additionalProperties": false,
        "properties": {
            "agent_hops": count(), "iterations": count(), "llm_calls": count(), "rounds": count(), "wall_time_ms": count(),
            "cost_usd": {
                "type": "string", "pattern": "^[0-9]{1,9}(\\.[0-9]{1,30})?$", "description": "Dollars as a decimal, such as `2.50`",
            },
        },
    })
}

fn event() -> Value {
    object(
        &["seq", "at", "event"],
        json!({
            "seq": count(), "at": count(), "event": {
                "type": "object", "required": ["type"], "properties": {"type": text()}, "additionalProperties": true,
            },
        }),
    )
}

fn start() -> Value {
    json!({
        "type": "object", "required": ["flow"], "additionalProperties": false,
        "properties": {
            "flow": {"type": "string", "description": "Digest of a registered flow, or its id for the newest"},
            "inputs": free("By the names that the flow declares"),
            "workspace": workspace(),
            "yes_to": {"type": "array", "items": step(), "description": "Steps whose questions are approved as they are put"},
            "user_id": requester_id("The user on whose behalf the run is started; the name of the token by default"),
            "session_id": requester_id("The conversation that the run belongs to; the run's id by default"),
            "metadata": {
                "type": "object", "additionalProperties": true,
                "description": "Stands in the run's envelope; at most 64 KiB, and no name that Envoi writes there itself (`run_id`, `flow`, …)",
            },
            "raw_input": {
                "type": ["string", "null"], "maxLength": 1_048_576,
                "description": "The request as it came to the caller; the inputs as JSON by default",
            },
        },
        "examples": [{"flow": "publish", "inputs": {}, "workspace": "shared", "user_id": "ada", "metadata": {"team": "press"}}],
    })
}

/// Stated by the caller, and not checked.
fn requester_id(description: &str) -> Value {
    json!({"type": ["string", "null"], "minLength": 1, "maxLength": 256, "description": description})
}

fn flow_files() -> Value {
    json!({
        "type": "object", "required": ["flow", "files"], "additionalProperties": false,
        "properties": {
            "flow": {"type": "string", "description": "Which of the files the flow is"},
            "files": {
                "type": "object", "additionalProperties": text(),
                "description": "The texts of all flows that belong to it, by their paths",
            },
        },
        "examples": [{"flow": "main.yaml", "files": {
            "main.yaml": "flow: outer\nsteps:\n  - id: build\n    flow: ./inner.yaml\n",
            "inner.yaml": "flow: inner\nsteps:\n  - id: say\n    run: echo words\n",
        }}],
    })
}

fn resume() -> Value {
    json!({
        "type": "object", "additionalProperties": false,
        "properties": {"choice": {"enum": ["rerun", "fail", "proceed", "again", "stop"]}, "why": maybe_text()},
        "examples": [{"why": "the network is back"}],
    })
}

fn question() -> Value {
    object(
        &[
            "question",
            "run",
            "about",
            "kind",
            "step",
            "scope",
            "visit",
            "text",
            "raised_at",
            "expires_at",
            "state",
        ],
        json!({
            "question": text(), "run": text(), "about": text(), "kind": text(), "step": text(), "scope": text(),
            "visit": count(), "text": text(), "raised_at": time(), "expires_at": maybe_time(),
            "state": {"enum": ["open", "lapsed", "answered", "expired", "changed", "cancelled"]},
            "closed_at": maybe_time(), "answer": maybe_text(), "answered_by": maybe_text(),
            "choices": {"type": "array", "items": text(), "description": "What an open one takes, the most usual first"},
            "schema": {"description": "The form that it wants as `data`, or null"},
            "evidence": {}, "approved_by": {"type": "array", "items": text()},
            "subject": {"type": ["string", "null"], "description": "Digest of what is shown; send it back as `seen`"},
        }),
    )
}

fn answer() -> Value {
    json!({
        "type": "object", "additionalProperties": false,
        "properties": {
            "choice": {"enum": ["approve", "deny", "respond", "proceed", "again", "stop", "rerun", "fail", "raise"]},
            "text": maybe_text(), "data": {}, "seen": digest(),
            "resume": {"type": "boolean", "description": "Whether the run goes on, as it does by default; else the answer is only recorded"},
            "user_envelope": {"type": "boolean", "description": "Whether `text` is contract 5's envelope; its attachments come before those beside it, and there are at most 20 of both; false by default"},
            "attachments": {"type": "array", "maxItems": 20, "items": {"$ref": "#/components/schemas/Attachment"}},
            "raise": more(),
        },
        "examples": [{"choice": "approve", "text": "fine"}],
    })
}

fn attachment() -> Value {
    json!({
        "type": "object",
        "required": ["artifactId", "representationRevisionId", "digest", "mime", "originKind"],
        "description": "Contract 5", "additionalProperties": false,
        "properties": {
            "artifactId": filled_text(), "representationRevisionId": filled_text(), "digest": digest(), "mime": filled_text(),
            "originKind": {"enum": ["upload", "email_attachment", "agent_generated", "external_link", "live_generator"]},
            "title": text(), "filename": text(), "size": count(),
        },
    })
}
