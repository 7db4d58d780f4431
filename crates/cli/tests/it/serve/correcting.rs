//! A flow that is corrected over REST: the permission, the comparison, and that exactly the shown correction is made.

use super::{client::Client, client::token, served};
use crate::stage::{Stage, text, wait_until};
use serde_json::{Value, json};

/// `make` is dear, `use` has a typo.
fn flow(command: &str) -> String {
    format!(
        "flow: fix\nsteps:\n  - id: make\n    run: echo made >> ledger; echo words\n  - id: use\n    run: {command}\n  - id: last\n    \
         run: echo last >> ledger\n"
    )
}

const TYPO: &str = "ehco used >> ledger";
const RIGHT: &str = "echo used >> ledger";

fn register(client: &Client, flow: &str) -> String {
    let registered = client.call("POST", "/v1/flows", &[], flow.as_bytes());
    assert!(matches!(registered.status, 200 | 201), "{}", registered.text());
    text(&registered.json()["digest"])
}

fn failed(client: &Client) -> String {
    let run = client.run(&flow(TYPO));
    client.wait_until_run_is(&run, "failed");
    run
}

fn compare(client: &Client, run: &str, body: &Value) -> Value {
    let reply = client.post(&format!("/v1/runs/{run}/compare"), &body.to_string());
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()
}

/// A request with a key of its own.
fn correct(client: &Client, run: &str, key: &str, body: &Value) -> (u16, Value) {
    let path = format!("/v1/runs/{run}/correct");
    let reply = client.call("POST", &path, &[("idempotency-key", key)], body.to_string().as_bytes());
    (reply.status, reply.json())
}

fn types(client: &Client, run: &str) -> Vec<String> {
    let events = client.json(&format!("/v1/runs/{run}/events"));
    events["events"].as_array().unwrap().iter().map(|event| text(&event["event"]["type"])).collect()
}

fn count(client: &Client, run: &str, kind: &str) -> usize {
    types(client, run).iter().filter(|found| *found == kind).count()
}

#[test]
fn who_may_start_runs_corrects_one_by_a_registered_flow_as_it_was_compared() {
    let stage = Stage::new();
    let (served, admin) = served(&stage);
    let run = failed(&admin);
    let digest = register(&admin, &flow(RIGHT));
    let ann = served.client(&token(&stage, &["ann", "--scope", "run"]));
    let before = types(&admin, &run);
    let compared = compare(&ann, &run, &json!({"flow": "fix"}));
    let rows: Vec<[&Value; 4]> = compared["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| [&step["step"], &step["change"], &step["status"], &step["from_here"]])
        .collect();
    let expected = json!([
        ["make", "kept", "succeeded", "stays"],
        ["use", "changed", "failed", "runs_again"],
        ["last", "kept", null, "runs"],
    ]);
    assert_eq!(json!(rows), expected);
    assert_eq!(compared["steps"][1]["differs_in"], json!(["run"]));
    assert_eq!((&compared["goes_on_at"], &compared["corrected_digest"]), (&json!("use"), &json!(digest)));
    assert_eq!([&compared["refusals"], &compared["is_same"]], [&json!([]), &json!(false)]);
    assert_eq!(types(&admin, &run), before, "to compare changes nothing");
    let body = json!({"flow": "fix", "seen": compared["subject"], "reason": "a typo"});
    let (status, row) = correct(&ann, &run, "once", &body);
    assert_eq!((status, &row["flow_digest"]), (202, &json!(digest)), "{row}");
    admin.wait_until_run_is(&run, "succeeded");
    assert_eq!(stage.lines("ledger"), ["made", "used", "last"]);
    // Sent again, also when the name is that of another flow by now, it is done already.
    register(&admin, &flow("echo other >> ledger"));
    assert_eq!(correct(&ann, &run, "once", &body).0, 202);
    let (status, reused) =
        correct(&ann, &run, "once", &json!({"flow": "fix", "seen": compared["corrected_digest"]}));
    assert_eq!((status, &reused["code"]), (422, &json!("KEY_REUSED")));
    assert_eq!((count(&admin, &run, "flow_corrected"), stage.lines("ledger").len()), (1, 3));
    let events = admin.json(&format!("/v1/runs/{run}/events"));
    let corrected = events["events"].as_array().unwrap().iter().map(|event| &event["event"]);
    let corrected = corrected.clone().find(|event| event["type"] == "flow_corrected").unwrap();
    assert_eq!((&corrected["by"]["actor"], &corrected["why"]), (&json!("ann"), &json!("a typo")));
}

#[test]
fn an_unregistered_flow_needs_the_scope_admin() {
    let stage = Stage::new();
    let (served, admin) = served(&stage);
    let run = failed(&admin);
    let ann = served.client(&token(&stage, &["ann", "--scope", "run"]));
    let eve = served.client(&token(&stage, &["eve", "--scope", "admin", "--tenant", "south"]));
    let brought = json!({"flow": "fix.yaml", "files": {"fix.yaml": flow("touch owned")}});
    let null = admin.post(&format!("/v1/runs/{run}/compare"), r#"{"flow": "fix.yaml", "files": null}"#);
    assert_eq!((null.status, &null.json()["code"]), (400, &json!("REQUEST_INVALID")));
    let before = admin.json(&format!("/v1/runs/{run}"));
    for operation in ["compare", "correct", "fork"] {
        let mut body = brought.clone();
        if operation == "correct" {
            body["seen"] = before["flow_digest"].clone();
        }
        let path = format!("/v1/runs/{run}/{operation}");
        let refused = ann.post(&path, &body.to_string());
        assert_eq!(
            (refused.status, &refused.json()["code"]),
            (403, &json!("SCOPE_TOO_SMALL")),
            "{operation}"
        );
        // A flow that another tenant has registered is not visible.
        register(&eve, &flow("touch owned"));
        let digest = text(&eve.json("/v1/flows")["flows"][0]["digest"]);
        let named = json!({"flow": digest, "seen": before["flow_digest"]});
        let named = if operation == "correct" { named } else { json!({ "flow": digest }) };
        let refused = admin.post(&path, &named.to_string());
        assert_eq!((refused.status, &refused.json()["code"]), (404, &json!("FLOW_NOT_FOUND")), "{operation}");
    }
    assert_eq!(admin.json(&format!("/v1/runs/{run}")), before);
    assert!(!stage.path("owned").exists());
    let fixed = json!({"flow": "fix.yaml", "files": {"fix.yaml": flow(RIGHT)}});
    let compared = compare(&admin, &run, &fixed);
    let body = json!({"flow": "fix.yaml", "files": fixed["files"], "seen": compared["subject"]});
    assert_eq!(correct(&admin, &run, "once", &body).0, 202);
    admin.wait_until_run_is(&run, "succeeded");
    assert_eq!(stage.lines("ledger"), ["made", "used", "last"]);
    let known = admin.json("/v1/flows");
    assert_eq!(
        known["flows"].as_array().unwrap().len(),
        1,
        "what corrects one run is not registered by that"
    );
}

#[test]
fn what_means_something_else_by_now_is_refused_and_changes_nothing() {
    let stage = Stage::new();
    let (_served, admin) = served(&stage);
    let run = failed(&admin);
    let digest = register(&admin, &flow(RIGHT));
    let other = register(&admin, &flow("echo other >> ledger"));
    let seen = |flow: &str| compare(&admin, &run, &json!({ "flow": flow }))["subject"].clone();
    let stale = seen(&other);
    let before = types(&admin, &run);
    let refused = |body: Value| {
        let (status, problem) = correct(&admin, &run, "refused", &body);
        (status, text(&problem["code"]))
    };
    for body in [json!({"flow": digest}), json!({"flow": digest, "seen": "yes"}), json!({"seen": stale})] {
        assert_eq!(refused(body.clone()), (400, "REQUEST_INVALID".to_owned()), "{body}");
    }
    assert_eq!(
        correct(&admin, &run, "other", &json!({"flow": digest, "seen": stale})).1["code"],
        "COMPARISON_CHANGED"
    );
    let own = text(&admin.json(&format!("/v1/runs/{run}"))["flow_digest"]);
    let same = json!({"flow": own, "seen": stale});
    assert_eq!(correct(&admin, &run, "same", &same).1["code"], "NOT_CORRECTABLE");
    let gone = register(&admin, &flow(RIGHT).replace("id: use", "id: uses"));
    let compared = compare(&admin, &run, &json!({ "flow": gone }));
    assert!(text(&compared["refusals"][0]).contains("step `use` is gone"), "{compared}");
    let (status, problem) =
        correct(&admin, &run, "gone", &json!({"flow": gone, "seen": compared["subject"]}));
    assert_eq!((status, &problem["code"]), (409, &json!("NOT_CORRECTABLE")), "{problem}");
    assert_eq!((types(&admin, &run), stage.lines("ledger")), (before, vec!["made".to_owned()]));
}

#[test]
fn while_an_attempt_runs_the_correction_waits_and_two_at_once_are_one() {
    let waits = |command: &str| flow(command).replace("echo words", "while [ ! -e go ]; do sleep 0.05; done");
    let stage = Stage::new();
    let (_served, admin) = served(&stage);
    let run = admin.run(&waits(TYPO));
    wait_until("the first step runs", || stage.path("ledger").exists());
    let digest = register(&admin, &waits(RIGHT));
    let compared = compare(&admin, &run, &json!({ "flow": digest }));
    assert_eq!(compared["waits"], true, "{compared}");
    let body = json!({"flow": digest, "seen": compared["subject"]});
    let replies = std::thread::scope(|scope| {
        let both = [0, 1].map(|_| scope.spawn(|| correct(&admin, &run, "once", &body).0));
        both.map(|one| one.join().unwrap())
    });
    assert_eq!(replies, [202, 202]);
    assert_eq!(count(&admin, &run, "correction_requested"), 1);
    stage.write("go", "");
    admin.wait_until_run_is(&run, "succeeded");
    assert_eq!(stage.lines("ledger"), ["made", "used", "last"]);
}

#[test]
fn a_fork_goes_on_under_a_corrected_flow() {
    let stage = Stage::new();
    let (_served, admin) = served(&stage);
    let run = failed(&admin);
    let digest = register(&admin, &flow(RIGHT));
    let path = format!("/v1/runs/{run}/fork");
    let forked = admin.post(&path, &json!({"flow": digest, "reason": "a typo"}).to_string());
    assert_eq!(forked.status, 201, "{}", forked.text());
    let fork = text(&forked.json()["run"]);
    admin.wait_until_run_is(&fork, "succeeded");
    assert_eq!(stage.lines("ledger"), ["made", "used", "last"]);
    assert_eq!(admin.json(&format!("/v1/runs/{fork}"))["flow_digest"], json!(digest));
    let pinned = admin.json(&format!("/v1/runs/{fork}/flow"));
    assert_eq!((&pinned["digest"], pinned["earlier"].as_array().unwrap().len()), (&json!(digest), 1));
    assert_eq!(count(&admin, &run, "flow_corrected"), 0, "the old run is as it was");
    // Its own history replays, and can be forked and corrected again.
    let again = admin.post(&format!("/v1/runs/{fork}/fork"), r#"{"from": "last"}"#);
    assert_eq!(again.status, 201, "{}", again.text());
    admin.wait_until_run_is(&text(&again.json()["run"]), "succeeded");
    assert_eq!(stage.lines("ledger"), ["made", "used", "last", "last"]);
}
