//! Runs that go on over REST: with higher limits, as a fork; and the remains of the parts of one.

use super::{
    client::{Client, Served, token},
    served,
};
use crate::stage::{Done, Stage, text, wait_for, wait_until};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs;

/// Two steps, of which one may be attempted.
const BOUNDED: &str = "
flow: bounded
limits: { agent_hops: 1 }
steps:
  - id: a
    run: echo a >> did.txt
  - id: b
    run: echo b >> did.txt
";

/// Files that the run needs are read again when the server comes up: a file system that is gone must not keep others waiting.
#[test]
fn a_run_that_cannot_be_taken_up_keeps_neither_the_server_nor_other_runs_from_going_on() {
    for (how, said) in [("wait", "is not resumed yet"), ("panic", "does not go on, because of a defect")] {
        let stage = Stage::new();
        let flow = |name: &str| {
            format!("flow: {name}\nsteps:\n  - id: a\n    run: while [ ! -e go ]; do sleep 0.02; done\n")
        };
        let (served, admin) = served(&stage);
        let start = |name: &str| {
            assert_eq!(admin.post("/v1/flows", &flow(name)).status, 201);
            let body = format!(r#"{{"flow": "{name}", "workspace": "shared"}}"#);
            text(&admin.post("/v1/runs", &body).json()["run"])
        };
        let runs = [start("hangs"), start("goes")];
        for run in &runs {
            admin.wait_until_run_is(run, "running");
        }
        served.process.kill();
        let served = Served::failing(&stage, &format!("start-of-hangs:{how}"));
        stage.write("go", "");
        let admin = served.client(&token(&stage, &["again", "--scope", "admin"]));
        admin.wait_until_run_is(&runs[1], "succeeded");
        let done = ended(served);
        assert_eq!(done.code, Some(0), "{done:?}");
        assert!(done.err.contains(&format!("run {} {said}", runs[0])), "{done:?}");
        stage.expect(0, &["resume", &runs[0]]);
    }
}

/// Reading a pipe blocks until something is written to it.
#[test]
fn a_secret_whose_file_became_a_pipe_sets_only_its_run_aside() {
    let stage = Stage::new();
    let flow = "flow: keyed\nsecrets: { KEY: { file: key } }\nsteps:\n  - id: a\n    run: while [ ! -e go ]; do sleep 0.02; done; echo $KEY\n  - id: b\n    run: echo $KEY\n";
    stage.write("key", "hunter22\n");
    let (served, admin) = served(&stage);
    let run = admin.run(flow);
    wait_until("its step", || stage.supervisor("a.1.1").is_some());
    served.process.kill();
    fs::remove_file(stage.path("key")).unwrap();
    let pipe = std::process::Command::new("mkfifo").arg(stage.path("key")).status().unwrap();
    assert!(pipe.success());
    let served = Served::start(&stage);
    let admin = served.client(&token(&stage, &["again", "--scope", "admin"]));
    // A server reports that it listens also if it is still taking up runs.
    let row = wait_for("the run to be aside", || {
        let row = admin.get(&format!("/v1/runs/{run}")).json();
        (!row["set_aside"].is_null()).then_some(row)
    });
    assert_eq!(row["set_aside"]["code"], "SECRET_MISSING", "{row}");
    assert!(text(&row["set_aside"]["reason"]).contains("not a regular file"), "{row}");
    let listed = |filter: &str| {
        let found = admin.json(&format!("/v1/runs?{filter}"))["runs"].clone();
        found
            .as_array()
            .unwrap()
            .iter()
            .map(|row| (text(&row["run"]), text(&row["stands"])))
            .collect::<Vec<_>>()
    };
    assert_eq!(listed("stands=set_aside"), [(run.clone(), "set_aside".to_owned())]);
    assert!(listed("stands=running").is_empty() && listed("in_doubt=true").is_empty());
    let done = ended(served);
    assert_eq!(done.code, Some(0), "{done:?}");
    let refused = stage.expect(6, &["resume", &run]);
    assert!(refused.err.contains("SECRET_MISSING"), "{refused:?}");
    fs::remove_file(stage.path("key")).unwrap();
    stage.write("key", "hunter22\n");
    stage.write("go", "");
    stage.expect(0, &["resume", &run]);
}

fn ended(served: Served) -> Done {
    served.process.signal(Signal::TERM);
    served.process.done()
}

fn count(stage: &Stage, run: &str, kind: &str) -> usize {
    stage.events(run).iter().filter(|event| event["type"] == kind).count()
}

#[test]
fn a_run_that_a_bound_has_ended_goes_on_when_it_is_raised_once_for_a_key() {
    let stage = Stage::new();
    let (_served, admin) = served(&stage);
    let run = admin.run(BOUNDED);
    admin.wait_until_run_is(&run, "exhausted");
    let path = format!("/v1/runs/{run}/raise");
    for (body, status, code) in [
        (r#"{"more": {"llm_calls": 1}}"#, 409, "NOT_RAISED"),
        (r#"{"more": {}}"#, 409, "NOT_RAISED"),
        ("{}", 400, "REQUEST_INVALID"),
        (r#"{"more": []}"#, 400, "REQUEST_INVALID"),
        (r#"{"more": {"agent_hops": -1}}"#, 400, "REQUEST_INVALID"),
        (r#"{"more": {"agent_hops": 1.5}}"#, 400, "REQUEST_INVALID"),
        (r#"{"more": {"agent_hops": "1"}}"#, 400, "REQUEST_INVALID"),
        (r#"{"more": {"hops": 1}}"#, 400, "REQUEST_INVALID"),
        (r#"{"more": {"cost_usd": 1.5}}"#, 400, "REQUEST_INVALID"),
        (r#"{"more": {"cost_usd": "-1"}}"#, 400, "REQUEST_INVALID"),
        (r#"{"more": {"agent_hops": 1}, "by": "me"}"#, 400, "REQUEST_INVALID"),
    ] {
        let refused = admin.post(&path, body);
        assert_eq!((refused.status, refused.json()["code"].as_str()), (status, Some(code)), "{body}");
    }
    assert_eq!(count(&stage, &run, "limits_raised"), 0);
    let key = [("idempotency-key", "more")];
    let body = br#"{"more": {"agent_hops": 1}, "reason": "it is worth it"}"#;
    for round in 0..3 {
        let raised = admin.call("POST", &path, &key, body);
        assert_eq!(raised.status, 202, "round {round}: {}", raised.text());
        admin.wait_until_run_is(&run, "succeeded");
    }
    let other = admin.call("POST", &path, &key, br#"{"more": {"agent_hops": 2}}"#);
    assert_eq!((other.status, other.json()["code"].as_str()), (422, Some("KEY_REUSED")));
    assert_eq!(stage.lines("did.txt"), ["a", "b"]);
    let events = stage.events(&run);
    let raised: Vec<&Value> = events.iter().filter(|event| event["type"] == "limits_raised").collect();
    assert_eq!(raised.len(), 1, "one key, one raise");
    assert_eq!([&raised[0]["why"], &raised[0]["by"]["actor"]], [&json!("it is worth it"), &json!("first")]);
    assert_eq!(raised[0]["more"]["agent_hops"], 1);
}

#[test]
fn a_run_is_forked_once_for_a_key_and_another_body_is_reported() {
    let stage = Stage::new();
    let (_served, admin) = served(&stage);
    let flow = "
flow: ways
steps:
  - id: make
    run: echo make >> did.txt; echo one > out.txt
    artifacts: [out.txt]
  - id: use
    run: sh use.sh
";
    stage.write("use.sh", "exit 1");
    let root = admin.run(flow);
    admin.wait_until_run_is(&root, "failed");
    stage.write("use.sh", "echo use >> did.txt");
    stage.write("out.txt", "other");
    let path = format!("/v1/runs/{root}/fork");
    for (body, status, code) in [
        (r#"{"from": "Use"}"#, 400, "REQUEST_INVALID"),
        (r#"{"from": 1}"#, 400, "REQUEST_INVALID"),
        (r#"{"workspace": "mine"}"#, 400, "REQUEST_INVALID"),
        (r#"{"steps": "ways"}"#, 400, "REQUEST_INVALID"),
        (r#"{"from": "nothing"}"#, 409, "NOT_FORKABLE"),
        (r#"{"yes_to": ["make"]}"#, 422, "YES_TO_INVALID"),
    ] {
        let refused = admin.post(&path, body);
        assert_eq!((refused.status, refused.json()["code"].as_str()), (status, Some(code)), "{body}");
    }
    // `compareRun` gives the same reason before the fork as the fork itself.
    let compared = |body: &str| {
        let reply = admin.post(&format!("/v1/runs/{root}/compare"), body);
        assert_eq!(reply.status, 200, "{}", reply.text());
        reply.json()
    };
    let lists = |of: &Value, name: &str| of[name].as_array().unwrap().iter().map(text).collect::<Vec<_>>();
    for body in ["{}", r#"{"fork": true}"#, r#"{"fork": true, "from": "use"}"#] {
        let found = compared(body);
        assert!(
            lists(&found, "notes").iter().any(|note| note.ends_with("not set back: `out.txt`")),
            "{body} {found}"
        );
        assert_eq!(found["refusals"], json!([]), "{body}");
    }
    assert_eq!(compared(r#"{"fork": true, "from": "make"}"#)["notes"], json!([]), "nothing lay there then");
    assert!(
        lists(&compared(r#"{"fork": true, "from": "nothing"}"#), "refusals")[0].contains("no step `nothing`")
    );
    assert_eq!(admin.post(&format!("/v1/runs/{root}/compare"), r#"{"fork": 1}"#).status, 400);
    let key = [("idempotency-key", "again")];
    let fork = |body: &str| admin.call("POST", &path, &key, body.as_bytes());
    let begun = fork(r#"{"reason": "the script is mended"}"#);
    assert_eq!(begun.status, 201, "{}", begun.text());
    let run = text(&begun.json()["run"]);
    assert!(text(&begun.json()["notes"][0]).contains("other than then: `out.txt`"), "{}", begun.text());
    admin.wait_until_run_is(&run, "succeeded");
    let again = fork(r#"{"reason": "the script is mended"}"#);
    assert_eq!((again.status, text(&again.json()["run"])), (200, run.clone()));
    assert_eq!(again.json()["notes"], json!([]));
    assert_eq!(fork("").json()["code"], "KEY_REUSED");
    let started = admin.call("POST", "/v1/runs", &key, br#"{"flow": "ways"}"#);
    assert_eq!(started.json()["code"], "KEY_REUSED", "a key is of one request, whichever it was");
    assert_eq!(stage.lines("did.txt"), ["make", "use"]);
    let forked = &stage.events(&run)[count(&stage, &root, "handoff_written")..];
    assert!(forked.iter().any(|event| event["type"] == "run_forked" && event["from"] == json!(root)));
    // While one of a family goes on, the others do not.
    stage.write("use.sh", "while [ ! -e go ]; do sleep 0.02; done");
    let live = text(&admin.post(&path, r#"{"workspace": "shared"}"#).json()["run"]);
    assert_ne!(live, root);
    let busy = admin.post(&path, r#"{"workspace": "shared"}"#);
    assert_eq!((busy.status, busy.json()["code"].as_str()), (409, Some("FAMILY_BUSY")), "{}", busy.text());
    for body in ["{}", r#"{"fork": true}"#] {
        assert_eq!(lists(&compared(body), "refusals"), [text(&busy.json()["detail"])], "{body}");
    }
    let own = admin.post(&format!("/v1/runs/{live}/compare"), "{}").json();
    assert_eq!(own["refusals"], json!([]), "the one that is under way is not in its own way");
    stage.write("go", "");
    admin.wait_until_run_is(&live, "succeeded");
}

#[test]
fn the_files_of_a_visit_are_those_that_it_and_its_parts_have_changed_beside_what_was_there_before_it() {
    let stage = Stage::new();
    let (_served, admin) = served(&stage);
    let flow = "
flow: files
inputs: { names: { type: array, default: [a, b] } }
steps:
  - id: first
    run: echo one > both.txt
    artifacts: [both.txt]
  - id: each
    for_each: ${{ inputs.names }}
    max_parallel: 1
    run: echo ${{ item }} > ${{ item }}.txt
    artifacts: ['?.txt']
  - id: last
    run: echo two > both.txt
    artifacts: [both.txt]
";
    let run = admin.run(flow);
    admin.wait_until_run_is(&run, "succeeded");
    let path = format!("/v1/runs/{run}/files");
    let files = |query: &str| admin.json(&format!("{path}{query}"));
    let names = |query: &str| {
        files(query)["files"].as_array().unwrap().iter().map(|file| text(&file["path"])).collect::<Vec<_>>()
    };
    let first = &files("?place=first.1")["files"][0];
    assert_eq!((&first["created"], &first["before_digest"]), (&json!(true), &Value::Null));
    let last = &files("?place=last.1")["files"][0];
    assert_eq!((&last["created"], &last["before_digest"]), (&json!(false), &first["after_digest"]));
    assert_eq!(&files("")["files"][2]["after_digest"], &last["after_digest"]);
    assert_eq!(names("?place=each.1"), ["a.txt", "b.txt"]);
    assert_eq!(names("?place=1.each.1"), ["b.txt"]);
    for place in ["last.2", "last", "last.1.1", "", "..", "%00"] {
        let refused = admin.get(&format!("{path}?place={place}"));
        assert_eq!(
            (refused.status, refused.json()["code"].as_str()),
            (400, Some("REQUEST_INVALID")),
            "{place}"
        );
    }
}

#[test]
fn each_hand_off_of_the_list_is_got_by_its_name_those_of_items_too() {
    let stage = Stage::new();
    let (_served, admin) = served(&stage);
    let flow = "
flow: fan
inputs: { words: { type: array, default: [one, two] } }
steps:
  - id: say
    for_each: ${{ inputs.words }}
    run: echo ${{ item }}
";
    let run = admin.run(flow);
    admin.wait_until_run_is(&run, "succeeded");
    let path = format!("/v1/runs/{run}/handoffs");
    let rows = admin.json(&path);
    let mut names: Vec<String> =
        rows["handoffs"].as_array().unwrap().iter().map(|row| text(&row["handoff"])).collect();
    names.sort_unstable();
    assert_eq!(names, ["0.say.1", "1.say.1", "say.1"]);
    for row in rows["handoffs"].as_array().unwrap() {
        let name = text(&row["handoff"]);
        let got = admin.json(&format!("{path}/{name}"));
        assert_eq!([&got["step_id"], &got["summary"]], [&row["step"], &row["summary"]], "{name}");
        // Without the visit it is the newest.
        let newest = name.strip_suffix(".1").unwrap();
        assert_eq!(admin.json(&format!("{path}/{newest}")), got, "{newest}");
        assert_eq!(admin.json(&format!("{path}/{newest}?visit=1")), got);
        assert_eq!(admin.get(&format!("{path}/{newest}?visit=2")).status, 404);
    }
    assert_eq!(admin.json(&format!("{path}/1.say.1"))["summary"], "two");
    for none in [
        "2.say.1",
        "say.2",
        "0.say.2",
        "say.1?visit=2",
        "0",
        "say.",
        ".say",
        ".say.1",
        "say.0",
        "0.1.say",
        "x",
    ] {
        assert_eq!(admin.get(&format!("{path}/{none}")).status, 404, "{none}");
    }
}

/// All pages of a list of a run, of one row each; the rows.
fn paged(admin: &Client, path: &str, member: &str) -> Vec<Value> {
    let (mut rows, mut after) = (Vec::new(), String::new());
    loop {
        let page = admin.json(&format!("{path}?limit=1{after}"));
        assert!(page[member].as_array().unwrap().len() <= 1, "{page}");
        rows.extend(page[member].as_array().unwrap().iter().cloned());
        match page["next"].as_u64() {
            Some(next) => after = format!("&after={next}"),
            None => return rows,
        }
    }
}

#[test]
fn what_a_run_has_done_comes_in_pages_and_each_event_as_it_was_written() {
    let stage = Stage::new();
    let (_served, admin) = served(&stage);
    let run = admin.run(BOUNDED);
    admin.wait_until_run_is(&run, "exhausted");
    for (path, member) in [("events", "events"), ("why", "events"), ("logs", "logs")] {
        let path = format!("/v1/runs/{run}/{path}");
        let whole = admin.json(&path);
        assert_eq!(whole["next"], Value::Null, "{path}");
        assert_eq!(json!(paged(&admin, &path, member)), whole[member], "{path}");
    }
    let written: Vec<Value> = stage
        .expect(0, &["show", &run, "--events"])
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(json!(written), admin.json(&format!("/v1/runs/{run}/events"))["events"]);
    let names = |path: &str| -> Vec<String> {
        let told = admin.json(&format!("/v1/runs/{run}/{path}"));
        told["events"].as_array().unwrap().iter().map(|event| text(&event["event"]["type"])).collect()
    };
    assert_eq!(names("why").last().map(String::as_str), Some("run_ended"));
    assert!(!names("why").contains(&"attempt_started".to_owned()));
    let logs = admin.json(&format!("/v1/runs/{run}/logs"));
    assert_eq!(logs["logs"].as_array().unwrap().len(), 1);
    assert_eq!(logs["logs"][0]["attempt"], "a.1.1");
}
