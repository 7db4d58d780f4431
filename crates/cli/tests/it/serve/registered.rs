//! Flows that name other flows, registered over REST: the files that belong to them.

use super::{client::Client, served};
use crate::stage::{Stage, text};
use serde_json::{Value, json};

/// Its file is not called as its flow is: another one is.
const OUTER: &str = "
flow: build
steps:
  - id: plan
    run: echo plan >> did.txt
  - id: make
    flow: ./build.yaml
    inputs: { word: made }
";

const BUILD: &str = "
flow: compile
inputs: { word: { type: string } }
steps:
  - id: link
    run: echo ${{ inputs.word }} >> did.txt; echo linked
  - id: twice
    flow: parts/deep.yaml
";

const DEEP: &str = "flow: deep\nsteps:\n  - { id: last, run: 'echo deep >> did.txt' }\n";

fn register(client: &Client, flow: &str, files: &[(&str, &str)]) -> crate::serve::client::Reply {
    let files: serde_json::Map<String, Value> =
        files.iter().map(|(path, text)| ((*path).to_owned(), json!(text))).collect();
    let body = json!({"flow": flow, "files": files}).to_string();
    client.call("POST", "/v1/flows", &[("content-type", "application/json")], body.as_bytes())
}

#[test]
fn a_flow_with_those_that_it_names_is_what_it_would_be_in_a_folder() {
    let stage = Stage::new();
    let (_served, admin) = served(&stage);
    let files = [("ci/main.yaml", OUTER), ("ci/build.yaml", BUILD), ("ci/parts/deep.yaml", DEEP)];
    let registered = register(&admin, "ci/main.yaml", &files);
    assert_eq!(registered.status, 201, "{}", registered.text());
    assert_eq!(registered.json()["files"], json!(["main.yaml", "build.yaml", "parts/deep.yaml"]));
    assert_eq!(admin.json("/v1/flows")["flows"], json!([registered.json()]));
    assert_eq!(register(&admin, "ci/main.yaml", &files).status, 200, "it is known");
    for (query, status, expected) in [
        ("", 200, OUTER),
        ("?file=main.yaml", 200, OUTER),
        ("?file=parts/deep.yaml", 200, DEEP),
        ("?file=ci/main.yaml", 404, ""),
        ("?file=../config.yaml", 404, ""),
    ] {
        let got = admin.get(&format!("/v1/flows/build{query}"));
        assert_eq!(got.status, status, "{query}");
        assert!(status != 200 || got.text() == expected, "{query}");
    }
    let started = admin.post("/v1/runs", r#"{"flow": "build"}"#);
    assert_eq!(started.status, 201, "{}", started.text());
    let run = text(&started.json()["run"]);
    admin.wait_until_run_is(&run, "succeeded");
    assert_eq!(stage.lines("did.txt"), ["plan", "made", "deep"]);
    // Hand-offs of the flows within are got by their names.
    let path = format!("/v1/runs/{run}/handoffs");
    let rows = admin.json(&path);
    let names: Vec<String> =
        rows["handoffs"].as_array().unwrap().iter().map(|row| text(&row["handoff"])).collect();
    assert_eq!(names, ["plan.1", "make.1.link.1", "make.1.twice.1.last.1", "make.1.twice.1", "make.1"]);
    assert_eq!(admin.json(&format!("{path}/make.1.link.1"))["summary"], "linked");
    assert_eq!(admin.json(&format!("{path}/make.1.twice.1.last"))["flow_key"], "deep");
    // As in a folder, digest and all.
    for (name, text) in [("main.yaml", OUTER), ("build.yaml", BUILD), ("parts/deep.yaml", DEEP)] {
        stage.write(name, text);
    }
    stage.expect(0, &["run", "main.yaml"]);
    let local = &stage.runs()[0];
    assert_ne!(local["run"], json!(run));
    assert_eq!(
        admin.json(&format!("/v1/runs/{}", text(&local["run"])))["flow_digest"],
        registered.json()["digest"]
    );
}

#[test]
fn nothing_outside_of_what_is_given_can_be_named_and_each_mistake_has_its_place() {
    let stage = Stage::new();
    let (_served, admin) = served(&stage);
    // Files in the folder are not the files of the request.
    stage.write("build.yaml", BUILD);
    stage.write("parts/deep.yaml", DEEP);
    let naming = |path: &str| OUTER.replace("./build.yaml", path);
    let wrong = BUILD.replace("run: echo", "rnu: echo");
    let (absolute, out) = (naming("/etc/passwd"), naming("../build.yaml"));
    let (link, circle) = (naming("parts/../../build.yaml"), naming("./main.yaml"));
    for (flow, files, words) in [
        ("main.yaml", vec![("main.yaml", OUTER)], "main.yaml:7:11"),
        (
            "main.yaml",
            vec![("main.yaml", OUTER)],
            "`build.yaml` cannot be read: it is not among the files that were given",
        ),
        ("main.yaml", vec![("main.yaml", absolute.as_str())], "is an absolute path"),
        (
            "ci/main.yaml",
            vec![("ci/main.yaml", out.as_str()), ("build.yaml", BUILD)],
            "leads out of this file's folder",
        ),
        (
            "main.yaml",
            vec![("main.yaml", link.as_str()), ("build.yaml", BUILD)],
            "leads out of this file's folder",
        ),
        ("main.yaml", vec![("main.yaml", circle.as_str())], "a flow cannot be a part of itself"),
        (
            "main.yaml",
            vec![("main.yaml", OUTER), ("build.yaml", wrong.as_str()), ("parts/deep.yaml", DEEP)],
            "build.yaml:6:5",
        ),
        (
            "main.yaml",
            vec![("main.yaml", OUTER), ("build.yaml", wrong.as_str()), ("parts/deep.yaml", DEEP)],
            "did you mean `run`?",
        ),
        ("ci/main.yaml", vec![("ci/main.yaml", OUTER), ("build.yaml", BUILD)], "`build.yaml` cannot be read"),
        (
            "main.yaml",
            vec![("main.yaml", OUTER), ("build.yaml", BUILD), ("parts/deep.yaml", DEEP), ("more.yaml", DEEP)],
            "no flow among these files names `more.yaml`",
        ),
    ] {
        let refused = register(&admin, flow, &files);
        assert_eq!((refused.status, refused.json()["code"].as_str()), (422, Some("FLOW_INVALID")));
        let detail = text(&refused.json()["detail"]);
        assert!(detail.contains(words), "{words}: {detail}");
    }
    for body in [
        r#"{"files": {"main.yaml": ""}}"#,
        r#"{"flow": "main.yaml"}"#,
        r#"{"flow": "main.yaml", "files": []}"#,
        r#"{"flow": "main.yaml", "files": {"main.yaml": 1}}"#,
        r#"{"flow": "main.yaml", "files": {"other.yaml": ""}}"#,
        r#"{"flow": "../main.yaml", "files": {"../main.yaml": "flow: f"}}"#,
        r#"{"flow": "ci/", "files": {"ci/": "flow: f"}}"#,
        r#"{"flow": "main.yaml", "files": {"main.yaml": "", "main.yaml": ""}}"#,
        r#"{"flow": "main.yaml", "files": {"main.yaml": ""}, "folder": "."}"#,
        "flow: main",
    ] {
        let kind = [("content-type", "application/json; charset=utf-8")];
        let refused = admin.call("POST", "/v1/flows", &kind, body.as_bytes());
        assert_eq!(
            (refused.status, refused.json()["code"].as_str()),
            (400, Some("REQUEST_INVALID")),
            "{body}"
        );
    }
    let alone = admin.post("/v1/flows", OUTER);
    assert_eq!(alone.status, 422, "a text alone names no other");
    assert_eq!(admin.json("/v1/flows")["flows"], json!([]));
}
