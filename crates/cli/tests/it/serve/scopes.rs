//! A request that equals an answer needs the scope of an answer.

use super::{
    client::{Client, Served, token},
    served,
};
use crate::stage::{Stage, text};
use serde_json::{Value, json};

const FLOW: &str = "
flow: y
steps:
  - { id: p, run: 'true' }
  - { id: q, ask: 'Publish?' }
  - { id: r, run: 'echo r >> did.txt' }
";

/// The same without the question, and with another end.
const LESS: &str = "
flow: y
steps:
  - { id: p, run: 'true' }
  - { id: r, run: 'echo r >> did.txt' }
";
const OTHER: &str = "
flow: y
steps:
  - { id: p, run: 'true' }
  - { id: q, ask: 'Publish?' }
  - { id: r, run: 'echo other >> did.txt' }
";

fn register(client: &Client, flow: &str) -> String {
    text(&client.post("/v1/flows", flow).json()["digest"])
}

/// A token that may run, and a token that may answer too.
fn tokens(stage: &Stage, served: &Served) -> [Client; 2] {
    [&["ann", "--scope", "run"][..], &["bob", "--scope", "run", "--scope", "answer"][..]]
        .map(|arguments| served.client(&token(stage, arguments)))
}

fn begin(client: &Client, path: &str, body: &Value) -> (u16, Value) {
    let reply = client.post(path, &body.to_string());
    (reply.status, reply.json())
}

fn is_refused((status, body): &(u16, Value)) -> bool {
    let says = text(&body["detail"]).contains("scope answer") && body["scopes"] == json!(["answer"]);
    *status == 403 && body["code"] == "SCOPE_TOO_SMALL" && says
}

#[test]
fn a_yes_in_advance_needs_the_scope_answer() {
    let stage = Stage::new();
    let (served, admin) = served(&stage);
    register(&admin, FLOW);
    let [ann, bob] = tokens(&stage, &served);
    let start = json!({"flow": "y", "yes_to": ["q"], "workspace": "shared"});
    let refused = begin(&ann, "/v1/runs", &start);
    assert!(is_refused(&refused), "{refused:?}");
    let plain = begin(&ann, "/v1/runs", &json!({"flow": "y", "workspace": "shared"}));
    assert_eq!(plain.0, 201, "{plain:?}");
    let run = text(&plain.1["run"]);
    admin.wait_until_run_is(&run, "waiting");
    assert_eq!(admin.post(&format!("/v1/runs/{run}/cancel"), "{}").status, 202);
    admin.wait_until_run_is(&run, "cancelled");
    let fork = json!({"from": "q", "yes_to": ["q"], "workspace": "shared"});
    let refused = begin(&ann, &format!("/v1/runs/{run}/fork"), &fork);
    assert!(is_refused(&refused), "{refused:?}");
    for (path, body) in [("/v1/runs".to_owned(), &start), (format!("/v1/runs/{run}/fork"), &fork)] {
        let begun = begin(&bob, &path, body);
        assert_eq!(begun.0, 201, "{begun:?}");
        let row = if begun.1["run"].is_object() { &begun.1["run"]["run"] } else { &begun.1["run"] };
        admin.wait_until_run_is(&text(row), "succeeded");
    }
    assert_eq!(stage.lines("did.txt"), ["r", "r"]);
}

#[test]
fn a_decision_on_a_review_needs_the_scope_answer() {
    let stage = Stage::new();
    let (served, admin) = served(&stage);
    let [ann, bob] = tokens(&stage, &served);
    let run = admin.run(
        "flow: loops\nsteps:\n  - { id: a, run: 'true' }\n  - id: c\n    run: 'false'\n    routing: { kind: microloop, success_values: [VERIFIED], loop_to: a, max_iterations: 0, on_exhausted: ask, \
         status_from_exit: { 0: VERIFIED, 1: UNVERIFIED } }\n",
    );
    admin.wait_until_run_is(&run, "waiting");
    let path = format!("/v1/runs/{run}/resume");
    let refused = begin(&ann, &path, &json!({"choice": "proceed"}));
    assert!(is_refused(&refused), "{refused:?}");
    assert_eq!(begin(&bob, &path, &json!({"choice": "proceed"})).0, 202);
    admin.wait_until_run_is(&run, "succeeded");
}

#[test]
fn a_correction_that_does_away_with_a_question_needs_the_scope_answer() {
    let stage = Stage::new();
    let (served, admin) = served(&stage);
    let [ann, bob] = tokens(&stage, &served);
    let (less, other) = (register(&admin, LESS), register(&admin, OTHER));
    let run = admin.run(FLOW);
    admin.wait_until_run_is(&run, "waiting");
    let correct = |client: &Client, flow: &str, from: Option<&str>| {
        let mut body = json!({"flow": flow});
        if let Some(from) = from {
            body["from"] = json!(from);
        }
        let compared = begin(client, &format!("/v1/runs/{run}/compare"), &body);
        body["seen"] = compared.1["subject"].clone();
        begin(client, &format!("/v1/runs/{run}/correct"), &body)
    };
    for (flow, from) in [(&less, Some("r")), (&other, Some("p"))] {
        let refused = correct(&ann, flow, from);
        assert!(is_refused(&refused), "{refused:?}");
    }
    // A correction that leaves each question as it is, is accepted; the question is put again to those who may answer.
    let old = admin.question(&run);
    assert_eq!(correct(&ann, &other, None).0, 202);
    assert_ne!(admin.question(&run), old);
    assert_eq!(stage.lines("did.txt"), Vec::<String>::new());
    assert_eq!(correct(&bob, &less, Some("r")).0, 202);
    admin.wait_until_run_is(&run, "succeeded");
    assert_eq!(stage.lines("did.txt"), ["r"]);
}
