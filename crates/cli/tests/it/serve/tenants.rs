//! The permissions of a token: the document lists the operations, and each is requested in every wrong way.

use super::{
    APPROVAL,
    client::{Client, Reply, Served, token},
};
use crate::stage::{Stage, text, wait_until};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// An operation of the document.
pub(crate) struct Described {
    pub(crate) id: String,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) scopes: Vec<String>,
    pub(crate) body: Option<&'static str>,
}

/// A body that fits, for those that take one.
fn body_of(id: &str) -> Option<&'static str> {
    Some(match id {
        "registerFlow" => APPROVAL,
        "startRun" => r#"{"flow": "publish"}"#,
        "answerQuestion" => r#"{"choice": "approve"}"#,
        "uploadArtifact" => "words",
        "compareRun" => r#"{"flow": "publish"}"#,
        "correctRun" => {
            r#"{"flow": "publish", "seen": "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}"#
        }
        "raiseRun" => r#"{"more": {"agent_hops": 1}}"#,
        "resumeRun" | "cancelRun" | "forkRun" | "completeChat" | "createResponse" | "createMessage"
        | "countMessageTokens" => "{}",
        "callModel" => r#"{"user": "hello"}"#,
        _ => return None,
    })
}

/// Operations that call models refuse in their own way (contract 5).
const FORBIDDEN: &str = r#"{"error":"Forbidden"}"#;

fn is_bridge(operation: &Described) -> bool {
    operation.path.starts_with("/api/llm-bridge")
}

/// Every operation of the document that the server gives.
pub(crate) fn operations(document: &Value) -> Vec<Described> {
    let mut found = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let id = text(&operation["operationId"]);
            let scopes = operation["x-envoi-scopes"].as_array().unwrap().iter().map(text).collect();
            found.push(Described {
                body: body_of(&id),
                id,
                method: method.to_uppercase(),
                path: path.clone(),
                scopes,
            });
        }
    }
    assert!(found.len() > 20, "the document has all of them");
    found
}

/// The values for the parameters of paths: ids that exist, or that never did.
fn filled(path: &str, with: &BTreeMap<&str, String>) -> String {
    with.iter().fold(path.to_owned(), |path, (name, value)| path.replace(&format!("{{{name}}}"), value))
}

/// The same for all requests, so that their answers may be the same.
const ONE: &[(&str, &str)] = &[("x-request-id", "one")];

fn ask(client: &Client, operation: &Described, path: &str) -> Reply {
    client.call(&operation.method, path, ONE, operation.body.unwrap_or_default().as_bytes())
}

/// Two tenants; `north` has a run that waits, with a log, a hand-off and content.
struct Land {
    stage: Stage,
    served: Served,
    north: Client,
    south: Client,
    there: BTreeMap<&'static str, String>,
}

fn land() -> Land {
    let stage = Stage::new();
    let served = Served::start(&stage);
    let north = served.client(&token(&stage, &["n", "--scope", "admin", "--tenant", "north"]));
    let south = served.client(&token(&stage, &["s", "--scope", "admin", "--tenant", "south"]));
    let run = north.run(APPROVAL);
    let question = north.question(&run);
    let digest = text(&north.post("/v1/artifacts", "minutes of the north").json()["digest"]);
    let there = BTreeMap::from([
        ("run", run),
        ("question", question),
        ("digest", digest),
        ("flow", "publish".to_owned()),
        ("handoff", "draft".to_owned()),
        ("attempt", "draft.1.1".to_owned()),
        ("stream", "stdout".to_owned()),
    ]);
    Land { stage, served, north, south, there }
}

/// Ids of the same shape that never were.
fn never(there: &BTreeMap<&'static str, String>) -> BTreeMap<&'static str, String> {
    let mut never = there.clone();
    never.insert("run", "run_00000000000000000000000000".to_owned());
    never.insert("question", "int_00000000000000000000000000".to_owned());
    never.insert("digest", format!("sha256:{}", "0".repeat(64)));
    never.insert("flow", "nothing".to_owned());
    never
}

#[test]
fn without_a_good_token_every_operation_answers_the_same_whatever_is_there() {
    let Land { stage, served, north, there, .. } = land();
    let document = north.json("/v1/openapi.json");
    let lost = token(&stage, &["lost", "--scope", "admin", "--tenant", "north"]);
    stage.expect(0, &["token", "revoke", "lost"]);
    let short = token(&stage, &["short", "--scope", "admin", "--tenant", "north", "--expires", "1ms"]);
    let wrong = format!("{}{}", &lost[..21], "0".repeat(64));
    let expired = served.client(&short);
    wait_until("its end", || expired.get("/v1/health").status == 401);
    let mut bearers = vec![("none", Client::new(&served.url, None)), ("expired", expired)];
    for (name, token) in [("wrong", wrong.as_str()), ("revoked", &lost), ("empty", ""), ("nonsense", "x")] {
        bearers.push((name, served.client(token)));
    }
    let before = north.json("/v1/runs");
    let nobody = |path| Client::new(&served.url, None).call("GET", path, ONE, &[]);
    let expected = nobody("/v1/health").body;
    let never = never(&there);
    for operation in operations(&document) {
        for (name, client) in &bearers {
            for with in [&there, &never] {
                let reply = ask(client, &operation, &filled(&operation.path, with));
                // This operation gives a session: `door.rs`.
                if operation.id == "createSession" {
                    assert_eq!(reply.status, 400, "with {name}");
                    continue;
                }
                if is_bridge(&operation) {
                    assert_eq!((reply.status, reply.text().as_str()), (403, FORBIDDEN), "{}", operation.id);
                    continue;
                }
                assert_eq!(reply.status, 401, "{} with {name}: {}", operation.id, reply.text());
                assert_eq!(reply.body, expected, "{} with {name}", operation.id);
                assert_eq!(reply.header("www-authenticate"), "Bearer");
            }
        }
    }
    for path in ["/v1", "/v1/nothing", "/v2/runs"] {
        assert_eq!(nobody(path).body, expected, "not even which paths there are: {path}");
    }
    assert_eq!(north.json("/v1/runs"), before, "and nothing was done");
}

#[test]
fn with_too_small_a_scope_every_operation_answers_the_same_whatever_is_there() {
    let Land { stage, served, north, there, .. } = land();
    let document = north.json("/v1/openapi.json");
    let before = north.json("/v1/runs");
    let never = never(&there);
    let mut refused = 0;
    for scope in ["read", "answer", "run"] {
        let client = served.client(&token(&stage, &[scope, "--scope", scope, "--tenant", "north"]));
        for operation in operations(&document) {
            let allowed = operation.scopes.iter().any(|wanted| wanted == "read" || wanted == scope);
            if allowed {
                continue;
            }
            let replies =
                [&there, &never].map(|with| ask(&client, &operation, &filled(&operation.path, with)));
            if is_bridge(&operation) {
                for reply in &replies {
                    assert_eq!((reply.status, reply.text().as_str()), (403, FORBIDDEN), "{}", operation.id);
                }
                continue;
            }
            for reply in &replies {
                assert_eq!(reply.status, 403, "{} with {scope}: {}", operation.id, reply.text());
                assert_eq!(reply.json()["code"], "SCOPE_TOO_SMALL");
            }
            assert_eq!(replies[0].body, replies[1].body, "{}", operation.id);
            refused += 1;
        }
    }
    assert_eq!(
        refused, 23,
        "every operation that changes something, and the one that gives all files of a run"
    );
    assert_eq!(north.json("/v1/runs"), before, "and nothing was done");
}

#[test]
fn what_is_another_tenant_s_is_as_if_it_had_never_been() {
    let Land { stage, served: _served, north, south, there } = land();
    let document = north.json("/v1/openapi.json");
    let never = never(&there);
    let before = (north.json("/v1/runs"), north.json("/v1/questions"));
    let mut asked = 0;
    for operation in operations(&document).iter().filter(|operation| operation.path.contains('{')) {
        let theirs = ask(&south, operation, &filled(&operation.path, &there));
        let nobodys = ask(&south, operation, &filled(&operation.path, &never));
        assert_eq!(theirs.status, 404, "{}: {}", operation.id, theirs.text());
        let unnamed = |reply: &Reply, with: &BTreeMap<&str, String>| {
            with.values().fold(reply.text(), |text, value| text.replace(value.as_str(), "*"))
        };
        assert_eq!(unnamed(&theirs, &there), unnamed(&nobodys, &never), "{}", operation.id);
        let names =
            |reply: &Reply| -> Vec<String> { reply.headers.keys().map(ToString::to_string).collect() };
        assert_eq!(names(&theirs), names(&nobodys), "{}", operation.id);
        asked += 1;
    }
    assert!(asked >= 15, "{asked}");
    // Lists, cursors, figures and references show nothing of it either.
    let (run, question, digest) = (&there["run"], &there["question"], &there["digest"]);
    for path in ["/v1/runs", "/v1/flows", "/v1/questions?closed=true", &format!("/v1/questions?run={run}")] {
        let shown = south.json(path);
        let lists = shown.as_object().unwrap().values().filter_map(Value::as_array);
        assert!(lists.map(Vec::len).sum::<usize>() == 0, "{path}: {shown}");
    }
    for cursor in [format!("/v1/runs?cursor={run}"), format!("/v1/questions?cursor={question}")] {
        assert_eq!(south.get(&cursor).status, 400, "{cursor}");
    }
    let seen = format!("{run}:1");
    for path in ["/v1/questions/stream", "/v1/stream"] {
        let stream = south.call("GET", path, &[("last-event-id", &seen)], &[]);
        assert_eq!(stream.status, 400, "nor an event of it: {path}");
    }
    for path in [format!("/v1/runs?root={run}"), "/v1/runs?q=publish".to_owned()] {
        assert_eq!(south.json(&path)["runs"], json!([]), "{path}");
    }
    assert_eq!(south.post("/v1/runs", r#"{"flow": "publish"}"#).status, 404);
    assert!(south.get("/v1/metrics").text().contains("envoi_runs_unfinished 0\n"));
    let mut stream = south.follow("/v1/questions/stream", Some("0")).unwrap();
    let mut hints = south.follow("/v1/stream", Some("0")).unwrap();
    // Own content can be attached, another's cannot, although the store has it.
    let own = south.run(APPROVAL);
    let asked = south.question(&own);
    let told = stream.next().unwrap();
    assert_eq!(told.data["run"], json!(own), "the first question that it hears of is its own");
    assert_eq!(hints.next().unwrap().data["run"], json!(own), "and the first run that changes");
    let reference = north.post("/v1/artifacts", "minutes of the north").json();
    assert_eq!(text(&reference["digest"]), *digest);
    let body = json!({"choice": "approve", "attachments": [reference]}).to_string();
    let refused = south.post(&format!("/v1/questions/{asked}/answer"), &body);
    assert_eq!((refused.status, refused.json()["code"].as_str()), (422, Some("ATTACHMENT_UNREADABLE")));
    let brought = south.post("/v1/artifacts", "minutes of the north");
    assert_eq!(brought.status, 201, "that the north has it is not seen by this either");
    assert_eq!(south.post(&format!("/v1/questions/{asked}/answer"), &body).status, 200);
    assert_eq!((north.json("/v1/runs"), north.json("/v1/questions")), before, "and nothing was done");
    // Each tenant works in a folder of its own.
    assert_eq!(stage.lines(".envoi/tenants/north/did.txt"), ["draft"]);
    south.wait_until_run_is(&own, "succeeded");
    assert_eq!(stage.lines(".envoi/tenants/south/did.txt"), ["draft", "publish"]);
}
