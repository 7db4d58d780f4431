//! The steps of a run as rows: with the words of the terminal, page by page, and only what has changed.

use super::{
    client::{Client, Served, token},
    served,
};
use crate::stage::{Stage, text, wait_for};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Items of which one fails, a step that is skipped, an inner flow, a question.
const FLOW: &str = "
flow: outer
inputs: { go: { type: boolean, default: false } }
steps:
  - id: check
    for_each: ['alpha', 'beta', 'gamma']
    run: test ${{ item }} != beta
    continue_on_error: true
  - id: never
    if: inputs.go
    run: echo never
  - id: build
    flow: inner.yaml
  - id: approve
    ask: 'Publish it?'
";
const INNER: &str = "flow: inner\nsteps:\n  - id: compile\n    run: echo 3 passed\n";

fn steps(client: &Client, run: &str, query: &str) -> Value {
    client.json(&format!("/v1/runs/{run}/steps{query}"))
}

fn rows(page: &Value) -> Vec<Value> {
    page["steps"].as_array().unwrap().clone()
}

#[test]
fn a_row_has_the_words_that_the_terminal_shows() {
    let stage = Stage::new();
    stage.write("outer.yaml", FLOW);
    stage.write("inner.yaml", INNER);
    let (_served, client) = served(&stage);
    let ran = stage.expect(3, &["--json", "run", "outer.yaml"]);
    let run = text(&serde_json::from_str::<Value>(ran.out.lines().last().unwrap()).unwrap()["result"]["run"]);
    let page = steps(&client, &run, "");
    let told = stage.expect(0, &["show", &run]).out;
    let table: Vec<&str> = told.lines().skip_while(|line| !line.starts_with("VISIT")).skip(1).collect();
    let rows = rows(&page);
    for row in &rows {
        let (place, state) = (text(&row["place"]), text(&row["state"]));
        let line = table.iter().find(|line| line.trim_start().split(' ').next() == Some(place.as_str()));
        let line = line.unwrap_or_else(|| panic!("{place}: {told}"));
        assert!(line.contains(&state) && line.contains(&text(&row["summary"])), "{row}: {line}");
    }
    let of =
        |place: &str| rows.iter().find(|row| row["place"] == place).unwrap_or_else(|| panic!("{page:#}"));
    assert_eq!(of("1.check.1")["value"], "beta");
    assert_eq!([&of("1.check.1")["state"], &of("check.1")["items"]], [&json!("failed"), &json!(3)]);
    assert_eq!(of("never.1")["state"], "skipped");
    assert_eq!(of("build.1.compile.1")["part_of"], "build.1");
    assert_eq!(of("build.1.compile.1")["summary"], "3 passed");
    let asks = of("approve.1");
    assert_eq!([&asks["state"], &asks["ended_at"]], [&json!("asks"), &Value::Null]);
    assert_eq!(asks["question"], client.json("/v1/questions")["questions"][0]["question"]);
    // Steps that have not begun yet are in the shape.
    let shape = client.json(&format!("/v1/runs/{run}/shape"));
    let kinds: Vec<&Value> = shape["steps"].as_array().unwrap().iter().map(|step| &step["kind"]).collect();
    assert_eq!(kinds, ["run", "run", "flow", "ask"]);
    assert_eq!(shape["flows"]["inner"]["steps"][0]["step"], "compile");
    // And on which line each begins, in which file.
    let lines = |level: &Value| -> Vec<Value> {
        level["steps"].as_array().unwrap().iter().map(|step| step["line"].clone()).collect()
    };
    assert_eq!(lines(&shape), [5, 9, 12, 14]);
    let inner = &shape["flows"]["inner"];
    assert_eq!((&inner["file"], lines(inner)), (&json!("inner.yaml"), vec![json!(3)]));
    let files = json!({"flow": "outer.yaml", "files": {"outer.yaml": FLOW, "inner.yaml": INNER}});
    let json = [("content-type", "application/json")];
    let registered = client.call("POST", "/v1/flows", &json, files.to_string().as_bytes());
    let digest = text(&registered.json()["digest"]);
    assert_eq!(client.json(&format!("/v1/flows/{digest}/shape")), shape, "of a flow without a run, too");
    assert_eq!([&shape["inputs"][0]["input"], &shape["inputs"][0]["default"]], [&json!("go"), &json!(false)]);
    // So are the accounts those of the terminal.
    let detail = stage.json(&["--json", "show", &run]);
    let ledger = client.json(&format!("/v1/runs/{run}/ledger"));
    for name in ["used", "own_used", "reserved", "limits", "raised", "by_step"] {
        assert_eq!(ledger[name], detail[name], "{name}");
    }
}

#[test]
fn pages_of_whatever_length_and_later_looks_come_to_the_same_rows() {
    let stage = Stage::new();
    stage.write("outer.yaml", FLOW);
    stage.write("inner.yaml", INNER);
    let (served, client) = served(&stage);
    let ran = stage.expect(3, &["--json", "run", "outer.yaml"]);
    let run = text(&serde_json::from_str::<Value>(ran.out.lines().last().unwrap()).unwrap()["result"]["run"]);
    let by_place = |pages: &[Value]| -> BTreeMap<String, Value> {
        pages.iter().flat_map(rows).map(|row| (text(&row["place"]), row)).collect()
    };
    let whole = by_place(&[steps(&client, &run, "")]);
    for limit in 1..=5 {
        let mut pages = vec![steps(&client, &run, &format!("?limit={limit}"))];
        while let Some(next) = pages.last().unwrap()["next"].as_u64() {
            pages.push(steps(&client, &run, &format!("?limit={limit}&after={next}")));
        }
        assert!(pages.len() > 1, "{limit}");
        assert_eq!(by_place(&pages), whole, "{limit}");
    }
    // Nothing has changed: only what is not over comes again.
    let newest = steps(&client, &run, "")["newest"].as_u64().unwrap();
    let later = rows(&steps(&client, &run, &format!("?after={newest}")));
    assert_eq!(later.len(), 1);
    assert_eq!(later[0]["place"], "approve.1");
    // From any earlier look on, the changes lead to the present rows.
    let question = text(&client.json("/v1/questions")["questions"][0]["question"]);
    assert_eq!(
        client.post(&format!("/v1/questions/{question}/answer"), r#"{"choice": "approve"}"#).status,
        200
    );
    client.wait_until_run_is(&run, "succeeded");
    let now = by_place(&[steps(&client, &run, "")]);
    assert_eq!(now["approve.1"]["state"], "succeeded");
    for after in 0..newest {
        let mut known = by_place(&[steps(&client, &run, "")]);
        known.retain(|_, row| row["seq"].as_u64().unwrap() <= after);
        known.extend(by_place(&[steps(&client, &run, &format!("?after={after}"))]));
        assert_eq!(known, now, "{after}");
    }
    // Another server makes the same rows, without what this one has kept.
    drop(served);
    let again = Served::start(&stage);
    let other = again.client(&token(&stage, &["other"]));
    assert_eq!(by_place(&[steps(&other, &run, "")]), now);
}

/// It fails, is corrected, asks, and goes round.
const LIVES: &str = "
flow: lives
limits: { agent_hops: 20 }
steps:
  - id: draft
    run: echo draft >> drafts
  - id: check
    run: MISTAKE
  - id: ok
    ask: 'Publish it?'
    routing: { loop_to: draft, max_iterations: 3 }
";

#[test]
fn a_run_that_is_looked_at_all_the_time_is_shown_as_by_a_server_that_has_kept_nothing() {
    let stage = Stage::new();
    let (served, client) = served(&stage);
    let run = client.run(&LIVES.replace("MISTAKE", "exit 3"));
    let look = |client: &Client| {
        ["steps", "ledger", "shape"].map(|part| client.json(&format!("/v1/runs/{run}/{part}")))
    };
    // Each look keeps the run as it is then; the next one reads on from there.
    let until = |status: &str| {
        wait_for(status, || {
            look(&client);
            let row = client.json(&format!("/v1/runs/{run}"));
            (row["status"] == status).then(|| look(&client))
        })
    };
    let failed = until("failed");
    assert_eq!(failed[0]["steps"][1]["state"], "failed");
    let corrected = LIVES.replace("MISTAKE", "echo good").replace("agent_hops: 20", "agent_hops: 30");
    let registered = client.call("POST", "/v1/flows", &[], corrected.as_bytes());
    let flow = text(&registered.json()["digest"]);
    let compared = client.post(&format!("/v1/runs/{run}/compare"), &json!({"flow": flow}).to_string()).json();
    let body = json!({"flow": flow, "seen": compared["subject"]}).to_string();
    assert_eq!(client.post(&format!("/v1/runs/{run}/correct"), &body).status, 202);
    for (answer, then) in [("again", "waiting"), ("approve", "succeeded")] {
        until("waiting");
        let question = client.question(&run);
        let path = format!("/v1/questions/{question}/answer");
        assert_eq!(client.post(&path, &json!({"choice": answer}).to_string()).status, 200);
        if then == "waiting" {
            wait_for("the next question", || {
                look(&client);
                let open = client.json(&format!("/v1/questions?run={run}"));
                open["questions"].get(0).filter(|row| row["question"] != json!(question)).map(|_| ())
            });
        }
    }
    let kept = until("succeeded");
    drop(served);
    let again = Served::start(&stage);
    let anew = look(&again.client(&token(&stage, &["other"])));
    assert_eq!(kept, anew);
    assert_eq!(
        [&kept[2]["digest"], &kept[1]["limits"]["agent_hops"]],
        [&json!(flow), &json!(30)],
        "as the flow says by which it was corrected"
    );
}

/// Three steps with a report of their cost each, but the second one, which fails at first.
const COSTS: &str = r#"
flow: costs
steps:
  - id: first
    run: |
      printf '{"ok":true,"generatedAt":"t","skillName":"s","metrics":{"cost_usd":0.05}}' > $ENVOI_REPORT
  - id: second
    run: test -e good
  - id: third
    run: |
      printf '{"ok":true,"generatedAt":"t","skillName":"s","metrics":{"cost_usd":0.05}}' > $ENVOI_REPORT
"#;

#[test]
fn a_list_of_runs_says_when_a_step_is_tried_again_and_not_of_a_run_that_is_over() {
    let stage = Stage::new();
    let (_served, client) = served(&stage);
    let run = client.run(
        "flow: waits\nsteps:\n  - id: one\n    run: 'false'\n    retry: { attempts: 2, backoff: 3h..3h }\n",
    );
    let next_try = || client.json("/v1/runs?so_far=true")["so_far"][0]["next_try_at"].clone();
    let due = wait_for("the time of the next try", || Some(next_try()).filter(|due| !due.is_null()));
    assert_eq!(due, rows(&steps(&client, &run, ""))[0]["next_try_at"], "as its own view has it");
    assert_eq!(client.post(&format!("/v1/runs/{run}/cancel"), "").status, 202);
    client.wait_until_run_is(&run, "cancelled");
    assert_eq!(next_try(), Value::Null);
}

#[test]
fn a_list_of_runs_has_what_each_has_done_and_used_so_far() {
    let stage = Stage::new();
    stage.write("costs.yaml", COSTS);
    stage.write("outer.yaml", FLOW);
    stage.write("inner.yaml", INNER);
    let (_served, client) = served(&stage);
    stage.expect(1, &["--json", "run", "costs.yaml"]);
    stage.expect(3, &["--json", "run", "outer.yaml"]);
    let told = |query: &str| {
        let page = client.json(&format!("/v1/runs{query}"));
        let of = |row: &Value| {
            let members = ["steps_done", "steps", "agent_hops", "cost_usd", "unknown_costs"];
            members.map(|name| row[name].clone())
        };
        let rows = page["so_far"].as_array().unwrap();
        let order: Vec<Value> = rows.iter().map(|row| row["run"].clone()).collect();
        let runs: Vec<Value> =
            page["runs"].as_array().unwrap().iter().map(|row| row["run"].clone()).collect();
        (runs, order, rows.iter().map(of).collect::<Vec<_>>())
    };
    assert_eq!(told("").2, Vec::<[Value; 5]>::new(), "only who asks for it pays for it");
    let (runs, order, rows) = told("?so_far=true");
    assert_eq!(order, runs);
    // A failed step that the run may go on past, a skipped one, a done one, and one that asks.
    assert_eq!(rows[0], [json!(2), json!(4), json!(4), json!("0.00"), json!(0)]);
    assert_eq!(rows[1], [json!(1), json!(3), json!(2), json!("0.05"), json!(0)]);
    let costs = text(&runs[1]);
    let ledger = client.json(&format!("/v1/runs/{costs}/ledger"));
    assert_eq!(ledger["own_used"]["cost_usd"], rows[1][3], "as its own view has it");
    // Changes since the last look are seen.
    stage.write("good", "");
    stage.expect(0, &["resume", &costs]);
    assert_eq!(told("?so_far=true&flow=costs").2, [[json!(3), json!(3), json!(4), json!("0.10"), json!(0)]]);
    assert_eq!(client.get("/v1/runs?so_far=perhaps").status, 400);
    // How many there are does not depend on the page, nor on the status that is asked for.
    let counts = |query: &str| client.json(&format!("/v1/runs?limit=1{query}"))["counts"].clone();
    assert_eq!(counts(""), Value::Null, "only who asks for it pays for it");
    assert_eq!(counts("&counts=true&status=failed"), json!({"succeeded": 1, "waiting": 1}));
    assert_eq!(counts("&counts=true&flow=costs"), json!({"succeeded": 1}));
}
