//! The log of the server: every request under one id, with its sender; and no contents.

use super::client::{Client, Served};
use crate::stage::Stage;
use rustix::process::Signal;
use serde_json::{Value, json};

/// Each text with `unsaid` in it must not be logged.
const FLOW: &str = "
flow: f
inputs: { word: { type: string, default: '' } }
secrets: { KEY: { file: key.txt } }
steps:
  - id: a
    run: echo unsaid-output $KEY
    env: { WORD: '${{ inputs.word }}' }
  - id: b
    ask: 'unsaid question?'
";

const LOUD: &[&str] = &["--log", "trace", "--log-format", "json"];

/// The lines of the log of a server that was used like this.
fn log_of(stage: &Stage, use_it: impl FnOnce(&Served, &Client)) -> Vec<Value> {
    let served = Served::with(stage, LOUD);
    let admin = served.client(served.first.as_deref().unwrap());
    use_it(&served, &admin);
    served.process.signal(Signal::TERM);
    let done = served.process.done();
    assert_eq!((done.code, done.out.as_str()), (Some(0), ""), "{}", done.err);
    done.err.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
}

#[test]
fn a_server_parses_a_registered_flow_once_and_loads_a_run_once_for_an_answer() {
    let stage = Stage::new();
    stage.write("key.txt", "a-secret");
    let lines = log_of(&stage, |_, admin| {
        assert_eq!(admin.post("/v1/flows", FLOW).status, 201);
        let body = json!({"flow": "f", "inputs": {"word": "w"}}).to_string();
        let started = admin.post("/v1/runs", &body);
        assert_eq!(started.status, 201);
        let run = started.json()["run"].as_str().unwrap().to_owned();
        let asked = admin.question(&run);
        let path = format!("/v1/questions/{asked}/answer");
        let headers = [("x-request-id", "the-answer")];
        let said = json!({"choice": "approve"}).to_string();
        assert_eq!(admin.call("POST", &path, &headers, said.as_bytes()).status, 200);
        admin.wait_until_run_is(&run, "succeeded");
    });
    let count = |what: &str| lines.iter().filter(|line| line["message"] == what).count();
    // As it came, under the name `flow.yaml`; and once as the flow `f.yaml` that it became.
    assert_eq!(count("a flow is parsed"), 2);
    let of_answers =
        |line: &&Value| line["message"] == "a run is loaded" && line["span"]["id"] == "the-answer";
    assert_eq!(lines.iter().filter(of_answers).count(), 2, "for the answer, and for the reply");
}

#[test]
fn a_request_is_known_by_one_id_in_its_answer_and_in_the_log() {
    let stage = Stage::new();
    stage.write("key.txt", "unsaid-secret");
    let mut run = String::new();
    let lines = log_of(&stage, |served, admin| {
        assert_eq!(admin.post("/v1/flows", FLOW).status, 201);
        let body = json!({"flow": "f", "inputs": {"word": "unsaid-input"}}).to_string();
        let headers = [("x-request-id", "mine"), ("x-other", "unsaid-header")];
        let started = admin.call("POST", "/v1/runs", &headers, body.as_bytes());
        assert_eq!((started.status, started.header("x-request-id").as_str()), (201, "mine"));
        run = started.json()["run"].as_str().unwrap().to_owned();
        let asked = admin.question(&run);
        let said = json!({"choice": "approve", "text": "unsaid-answer"}).to_string();
        assert_eq!(admin.post(&format!("/v1/questions/{asked}/answer"), &said).status, 200);
        admin.wait_until_run_is(&run, "succeeded");
        assert_eq!(admin.call("GET", "/v1/runs?q=unsaid-query", &[], &[]).status, 200);
        assert_eq!(admin.call("GET", "/v1/runs?unsaid-name=1", &[], &[]).status, 400);
        let missing = admin.call("GET", "/v1/runs/unsaid-path", &[("x-request-id", "two words")], &[]);
        let made = missing.header("x-request-id");
        assert!(missing.status == 404 && made.starts_with("req_"), "{made}");
        assert_eq!(missing.json()["request_id"], made.as_str(), "a problem names its request");
        let stranger = served.client("eva_unsaid-token");
        let refused = stranger.call("GET", "/v1/runs/unsaid", &[("x-request-id", "strange")], &[]);
        assert_eq!((refused.status, refused.json()["request_id"].as_str()), (401, Some("strange")));
    });
    let text = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    assert!(!text.contains("unsaid") && !text.contains("envoi_local_"), "{text}");
    let of = |id: &str, said: &str| {
        let found = lines.iter().find(|line| line["span"]["id"] == id && line["message"] == said);
        found.unwrap_or_else(|| panic!("{said} of {id}: {text}"))
    };
    let start = of("mine", "answered");
    assert_eq!(
        ["method", "route", "tenant", "token", "status"].map(|name| start["span"][name].clone()),
        [json!("POST"), json!("/v1/runs"), json!("local"), json!("first"), json!(201)]
    );
    assert_eq!(of("mine", "asked")["run"], run, "which run a request is about");
    let strange = &of("strange", "answered")["span"];
    assert_eq!((&strange["status"], &strange["token"]), (&json!(401), &Value::Null));
    assert_eq!(strange["route"], "/v1/runs/{run}", "not what was asked for, but what there is");
    let happened: Vec<&str> = lines
        .iter()
        .filter(|line| line["run"] == run && line["level"] == "INFO")
        .filter_map(|line| line["event"].as_str())
        .collect();
    assert_eq!(happened, ["run_started", "interrupt_raised", "interrupt_answered", "run_ended"]);
}

#[test]
fn a_run_that_a_client_starts_belongs_to_the_client_s_trace() {
    let caller = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let flow = "flow: f\nsteps:\n  - id: a\n    run: echo $TRACEPARENT\n";
    let (own, twice) = (("traceparent", caller), ("traceparent", "00-x"));
    let stage = Stage::new();
    let served = Served::start(&stage);
    let admin = served.client(served.first.as_deref().unwrap());
    assert_eq!(admin.post("/v1/flows", flow).status, 201);
    for (headers, belongs) in
        [(vec![own], true), (vec![twice], false), (vec![own, twice], false), (vec![], false)]
    {
        let started = admin.call("POST", "/v1/runs", &headers, br#"{"flow": "f"}"#);
        assert_eq!(started.status, 201, "{headers:?}: {}", started.text());
        let run = started.json()["run"].as_str().unwrap().to_owned();
        admin.wait_until_run_is(&run, "succeeded");
        let told = admin.get(&format!("/v1/runs/{run}/logs/a.1.1/stdout")).text();
        assert_eq!(told.starts_with(&caller[..36]), belongs, "{headers:?}: {told}");
    }
}
