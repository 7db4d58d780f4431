//! A request with an `Idempotency-Key` is done once: one table of all operations that take one.

use super::{
    client::{Client, Served},
    served,
};
use crate::stage::{Stage, text, wait_for, wait_until};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const STOPS: &str = "flow: stops\nsteps:\n  - id: a\n    run: 'false'\n";

const ASKS: &str = "flow: asks\nsteps:\n  - id: a\n    ask: 'Go on?'\n  - id: b\n    ask: 'Really?'\n";

const BOUNDED: &str = "flow: bounded\nlimits: { agent_hops: 1 }\nsteps:\n  - { id: a, run: 'true' }\n  - { id: b, run: 'true' }\n  - { id: c, run: 'true' }\n";

const LOOPS: &str = "
flow: loops
steps:
  - { id: a, run: 'true' }
  - id: c
    run: 'false'
    routing: { kind: microloop, success_values: [VERIFIED], loop_to: a, max_iterations: 0, on_exhausted: ask, status_from_exit: { 0: VERIFIED, 1: UNVERIFIED } }
";

/// A request that would have an effect again if it were sent twice.
struct Row {
    operation: &'static str,
    path: String,
    body: Value,
    /// The run that it changes.
    run: String,
}

/// Runs that rest, and the request for each.
fn rows(admin: &Client) -> Vec<Row> {
    let resting = |flow: &str| {
        let run = admin.run(flow);
        rest(admin, &run);
        run
    };
    let row = |operation: &'static str, flow: &str, end: &str, body: Value| {
        let run = resting(flow);
        Row { operation, path: format!("/v1/runs/{run}/{end}"), body, run }
    };
    let compared = resting(STOPS);
    let seen =
        admin.post(&format!("/v1/runs/{compared}/compare"), r#"{"flow": "stops", "from": "a"}"#).json();
    let body = json!({"flow": "stops", "from": "a", "seen": seen["subject"]});
    let asks = resting(ASKS);
    let question = admin.question(&asks);
    vec![
        row("resumeRun", STOPS, "resume", json!({})),
        row("resumeRun", STOPS, "resume", json!({"now": true, "reason": "the limit is over"})),
        row("resumeRun", LOOPS, "resume", json!({"choice": "proceed"})),
        row("raiseRun", BOUNDED, "raise", json!({"more": {"agent_hops": 1}})),
        row("forkRun", STOPS, "fork", json!({"workspace": "shared"})),
        Row { operation: "correctRun", path: format!("/v1/runs/{compared}/correct"), body, run: compared },
        Row {
            operation: "answerQuestion",
            path: format!("/v1/questions/{question}/answer"),
            body: json!({"choice": "approve"}),
            run: asks,
        },
        Row {
            operation: "startRun",
            path: "/v1/runs".to_owned(),
            body: json!({"flow": "stops", "workspace": "shared"}),
            run: String::new(),
        },
    ]
}

/// The row of a run that goes on no further.
fn rest(admin: &Client, run: &str) -> Value {
    let path = format!("/v1/runs/{run}");
    wait_for("a rest", || Some(admin.json(&path)).filter(|row| row["status"] != "running"))
}

fn send(admin: &Client, nth: usize, row: &Row) -> Value {
    let key = format!("key-{nth}");
    let headers = [("idempotency-key", key.as_str())];
    let reply = admin.call("POST", &row.path, &headers, row.body.to_string().as_bytes());
    assert!((200..300).contains(&reply.status), "{} {}: {}", row.operation, row.body, reply.text());
    reply.json()
}

/// How many runs there are, and how many events each of these has at its rest.
fn lived(admin: &Client, runs: &[String]) -> (usize, Vec<Value>) {
    let count = admin.json("/v1/runs?limit=200")["runs"].as_array().unwrap().len();
    (count, runs.iter().map(|run| rest(admin, run)["events"].clone()).collect())
}

#[test]
fn a_request_with_a_key_is_done_once_also_after_a_restart_of_the_server() {
    let stage = Stage::new();
    let (first, admin) = served(&stage);
    let address = first.address();
    let rows = rows(&admin);
    let operations = admin.json("/v1/openapi.json");
    let takes_key = |operation: &&Value| {
        let params = operation["parameters"].as_array();
        params.is_some_and(|params| params.iter().any(|param| param["name"] == "Idempotency-Key"))
    };
    let all =
        operations["paths"].as_object().unwrap().values().flat_map(|path| path.as_object().unwrap().values());
    let with_key: BTreeSet<String> =
        all.filter(takes_key).map(|operation| text(&operation["operationId"])).collect();
    let tried: BTreeSet<String> = rows.iter().map(|row| row.operation.to_owned()).collect();
    assert_eq!(with_key, tried, "each operation that takes a key stands in the table");
    let before: Vec<Value> = rows.iter().map(|row| rest_of(&admin, row)).collect();
    let runs: Vec<String> =
        rows.iter().enumerate().map(|(nth, row)| run_of(&send(&admin, nth, row), row)).collect();
    let once = lived(&admin, &runs);
    for ((row, before), events) in rows.iter().zip(&before).zip(&once.1) {
        assert_ne!(before, events, "{} {} does something", row.operation, row.body);
    }
    first.process.kill();
    let _second = Served::on(&stage, &address);
    for (nth, row) in rows.iter().enumerate() {
        assert_eq!(run_of(&send(&admin, nth, row), row), runs[nth], "{} {}", row.operation, row.body);
        assert_eq!(lived(&admin, &runs), once, "{} {}", row.operation, row.body);
    }
}

/// Nothing of the run shows that it was done, and the server has ended since.
#[test]
fn a_resumption_that_found_nothing_to_do_does_nothing_when_it_comes_again_after_the_run_has_failed() {
    let stage = Stage::new();
    let (first, admin) = served(&stage);
    let address = first.address();
    let run = admin
        .run("flow: waits\nsteps:\n  - id: a\n    run: while [ ! -e go ]; do sleep 0.02; done; exit 3\n");
    let path = format!("/v1/runs/{run}/resume");
    let key = [("idempotency-key", "once")];
    wait_until("its step", || stage.supervisor("a.1.1").is_some());
    assert_eq!(admin.call("POST", &path, &key, b"{}").status, 202);
    let other = admin.call("POST", &path, &key, br#"{"reason": "it was too early"}"#);
    assert_eq!((other.status, other.json()["code"].as_str()), (422, Some("KEY_REUSED")), "{}", other.text());
    stage.write("go", "");
    let failed = rest(&admin, &run);
    assert_eq!(failed["status"], "failed");
    assert_eq!(admin.call("POST", &path, &key, b"{}").status, 202);
    assert_eq!(rest(&admin, &run)["events"], failed["events"]);
    first.process.kill();
    let _second = Served::on(&stage, &address);
    assert_eq!(admin.call("POST", &path, &key, b"{}").status, 202);
    assert_eq!(rest(&admin, &run)["events"], failed["events"]);
    assert_eq!(admin.call("POST", &path, &[("idempotency-key", "anew")], b"{}").status, 202);
    assert_ne!(rest(&admin, &run)["events"], failed["events"], "another request means it");
}

/// It was done. That the run cannot go on just now is no refusal of it.
#[test]
fn a_request_that_was_done_is_not_refused_because_another_run_is_at_work_in_the_workspace_by_now() {
    let stage = Stage::new();
    let (_served, admin) = served(&stage);
    let alone = |flow: &str| {
        let registered = admin.post("/v1/flows", flow).json();
        let started = admin.post("/v1/runs", &json!({"flow": registered["digest"]}).to_string());
        assert_eq!(started.status, 201, "{}", started.text());
        text(&started.json()["run"])
    };
    let run = alone("flow: checks\nsteps:\n  - id: a\n    run: test -e ok\n  - id: b\n    ask: 'Go on?'\n");
    assert_eq!(rest(&admin, &run)["status"], "failed");
    stage.write("ok", "");
    let path = format!("/v1/runs/{run}/resume");
    let send = || admin.call("POST", &path, &[("idempotency-key", "once")], b"{}");
    assert_eq!(send().status, 202);
    let waits = rest(&admin, &run);
    assert_eq!(waits["status"], "waiting", "{waits}");
    alone("flow: works\nsteps:\n  - id: w\n    run: while [ ! -e go ]; do sleep 0.02; done\n");
    wait_until("the step of the other run", || stage.supervisor("w.1.1").is_some());
    let anew = admin.call("POST", &path, &[("idempotency-key", "anew")], b"{}");
    assert_eq!(anew.json()["code"], "WORKSPACE_BUSY", "another request is refused: {}", anew.text());
    let again = send();
    assert_eq!((again.status, &again.json()["events"]), (202, &waits["events"]), "{}", again.text());
    stage.write("go", "");
}

/// How many events the run of this request has before it.
fn rest_of(admin: &Client, row: &Row) -> Value {
    if row.run.is_empty() { Value::Null } else { rest(admin, &row.run)["events"].clone() }
}

/// The run that a request has changed, or begun.
fn run_of(reply: &Value, row: &Row) -> String {
    match row.operation {
        "forkRun" | "startRun" => text(&reply["run"]),
        _ => row.run.clone(),
    }
}
