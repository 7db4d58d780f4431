//! `model` steps, with the stub of the three protocols of providers that the tests of agent programs use.

use crate::serve::client::{Client, Served};
use crate::stage::{Stage, signal, text, wait_until};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{SystemTime, UNIX_EPOCH},
};

/// The key of the provider. It is nowhere in a store.
const KEY: &str = "sk-lab-0123456789";

/// The stub, which ends with the test.
pub(crate) struct Stub {
    child: Child,
    pub(crate) port: u16,
}

impl Stub {
    pub(crate) fn start(stage: &Stage) -> Self {
        let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../preset/tests/programs/stub.py");
        let in_two_hours = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() + 2 * 3_600;
        let mut child = Command::new("python3")
            .args(["-B", "-u"])
            .arg(script)
            .env("STUB_LOG", stage.path("asked"))
            .env("STUB_RESET_AT", in_two_hours.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { child, port: line.trim().parse().unwrap() }
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// A store whose models answer by the scenario, one in each protocol, and a flow with the step `ask` that has these keys.
fn stage(scenario: &str, keys: &str) -> (Stage, Stub) {
    let stage = Stage::new();
    let stub = Stub::start(&stage);
    let mut config = "models:\n  providers:\n".to_owned();
    let mut offer = "  offer:\n".to_owned();
    for protocol in ["chat", "responses", "messages"] {
        config.push_str(&format!(
            "    {protocol}: {{ url: 'http://127.0.0.1:{}/{protocol}--{scenario}', protocol: {protocol}, key: {{ file: lab.key }} }}\n",
            stub.port
        ));
        offer.push_str(&format!(
            "    {protocol}: {{ provider: {protocol}, name: lab-1, price: {{ in: \"0.15\", out: \"0.60\", cache_read: \"0.05\", cache_write: \"0.25\" }} }}\n"
        ));
    }
    config.push_str("    nobody: { url: 'http://127.0.0.1:1' }\n    gone: { url: 'http://127.0.0.1:1', key: { env: NO_SUCH_KEY } }\n");
    offer.push_str("    unreachable: { provider: nobody }\n    keyless: { provider: gone }\n");
    stage.write(".envoi/config.yaml", format!("{config}{offer}"));
    stage.write(".envoi/lab.key", format!("{KEY}\n"));
    stage.write("flow.yaml", flow("chat", keys));
    (stage, stub)
}

fn flow(model: &str, keys: &str) -> String {
    format!(
        "flow: asks\nsteps:\n  - id: ask\n    model: {{ use: {model}, prompt: 'Say hello.', system: 'Be brief.' }}\n{keys}"
    )
}

/// The same flow with data.
fn judging(model: &str, repair: u32) -> String {
    format!(
        "flow: judges\nsteps:\n  - id: ask\n    model: {{ use: {model}, prompt: Judge., repair: {repair} }}\n    outputs: {{ type: object, \
         required: [verdict, score], properties: {{ verdict: {{ enum: [good, bad] }}, score: {{ type: integer }} }} }}\n  - id: then\n    \
         run: ['sh', '-c', 'echo $0 > then', '${{{{ steps.ask.data.score }}}}']\n"
    )
}

/// What the providers were asked, in order. The last line may be still being written.
fn asked(stage: &Stage) -> Vec<Value> {
    let told = stage.read("asked");
    let whole = told.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The run that was begun last.
fn newest(stage: &Stage) -> String {
    text(&stage.runs()[0]["run"])
}

/// How the last attempt settled.
fn settled(stage: &Stage) -> Value {
    let events = stage.events(&newest(stage));
    events.into_iter().rfind(|event| event["type"] == "attempt_settled").unwrap()
}

#[test]
fn a_model_is_asked_in_each_protocol_and_what_it_used_is_charged() {
    let (stage, _stub) = stage("plain", "");
    // 20 of the input tokens come from a cache, and with `messages` 10 are written to it.
    let costs = [("chat", "0.000019"), ("responses", "0.000019"), ("messages", "0.00002")];
    for (place, (protocol, cost)) in costs.into_iter().enumerate() {
        stage.write("flow.yaml", flow(protocol, ""));
        stage.expect(0, &["run", "flow.yaml"]);
        let run = newest(&stage);
        let row = stage.json(&["--json", "show", &run]);
        let used = &row["used"];
        assert_eq!(
            json!([used["llm_calls"], used["tokens_in"], used["tokens_out"], used["cost_usd"]]),
            json!([1, 100, 10, cost]),
            "{protocol}"
        );
        let models = row["by_model"].as_array().unwrap();
        assert_eq!(models.len(), 1, "{protocol}: {models:?}");
        assert_eq!(
            json!([
                models[0]["model"],
                models[0]["llm_calls"],
                models[0]["tokens_in"],
                models[0]["cost_usd"]
            ]),
            json!([protocol, 1, 100, cost])
        );
        let shown = stage.expect(0, &["show", &run]).out;
        assert!(shown.contains("MODEL") && shown.contains(&format!("${cost}")), "{shown}");
        let envelope = stage.json(&["--json", "show", &run, "--envelope"]);
        assert_eq!(envelope["outputs"]["ask"]["summary"], "Hello from the stub.", "{protocol}");
        assert_eq!(settled(&stage)["metrics"]["request_ids"], json!(["req_1"]), "{protocol}");
        let call = &asked(&stage)[place];
        let body = call["body"].to_string();
        assert!(
            body.contains("Say hello.") && body.contains("Be brief.") && body.contains("lab-1"),
            "{body}"
        );
        let key = match protocol {
            "messages" => text(&call["headers"]["x-api-key"]),
            _ => text(&call["headers"]["authorization"]).replace("Bearer ", ""),
        };
        assert_eq!(key, KEY, "{protocol}");
        let logs = stage.expect(0, &["logs", &run]);
        assert!(logs.out.contains("Hello from the stub.") && logs.out.contains("request req_1"), "{logs:?}");
    }
    for (place, bytes) in files_below(&stage.store()) {
        let is_the_key = place.ends_with("lab.key");
        assert!(is_the_key || !contains(&bytes, KEY.as_bytes()), "{} has the key", place.display());
    }
}

fn files_below(folder: &std::path::Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(files_below(&entry.path()));
        } else if kind.is_file() {
            found.push((entry.path(), fs::read(entry.path()).unwrap_or_default()));
        }
    }
    found
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}

#[test]
fn data_that_does_not_fit_is_asked_for_again_with_what_is_wrong() {
    let (stage, _stub) = stage("repair", "");
    for (place, protocol) in ["chat", "responses", "messages"].into_iter().enumerate() {
        stage.write("flow.yaml", judging(protocol, 2));
        stage.expect(0, &["run", "flow.yaml"]);
        assert_eq!(stage.read("then"), "7\n");
        let metrics = settled_of(&stage, "ask");
        assert_eq!((&metrics["llm_calls"], &metrics["request_ids"]), (&json!(2), &json!(["req_1", "req_2"])));
        let calls = asked(&stage);
        let (first, second) =
            (calls[2 * place]["body"].to_string(), calls[2 * place + 1]["body"].to_string());
        assert!(first.contains("json_schema") && !first.contains("perhaps"), "{first}");
        assert!(second.contains("perhaps") && second.contains("cannot be used"), "{second}");
    }
}

fn settled_of(stage: &Stage, step: &str) -> Value {
    let events = stage.events(&newest(stage));
    let of = |event: &Value| event["type"] == "attempt_settled" && text(&event["attempt"]).starts_with(step);
    events.into_iter().rfind(of).unwrap()["metrics"].clone()
}

#[test]
fn data_that_never_fits_is_a_failure_and_a_budget_stops_repairs() {
    let (stage, _stub) = stage("plain", "");
    stage.write("flow.yaml", judging("chat", 2));
    let done = stage.expect(1, &["run", "flow.yaml"]);
    assert!(done.err.contains("AGENT_SCHEMA") && done.err.contains("asked again 2 times"), "{done:?}");
    assert_eq!(asked(&stage).len(), 3);
    let bounded = judging("chat", 2).replace("    outputs:", "    budget: { llm_calls: 2 }\n    outputs:");
    stage.write("flow.yaml", bounded);
    let done = stage.expect(1, &["run", "flow.yaml"]);
    assert!(done.err.contains("the budget allows no further call"), "{done:?}");
    assert_eq!(asked(&stage).len(), 3 + 2);
}

#[test]
fn a_failure_has_its_class_in_each_protocol_and_is_tried_again_only_where_that_helps() {
    for (scenario, code, calls) in [
        ("unauthorized", "AGENT_AUTH", 1),
        ("forbidden", "AGENT_AUTH", 1),
        ("no-model", "AGENT_MODEL", 1),
        ("credit", "AGENT_BILLING", 1),
        ("too-long", "AGENT_TOO_LONG", 1),
        ("length", "AGENT_TOO_LONG", 1),
        ("overloaded", "AGENT_OVERLOADED", 2),
        ("malformed", "AGENT_OVERLOADED", 2),
        ("filter", "AGENT_REFUSED", 1),
    ] {
        let (stage, _stub) = stage(scenario, "");
        for (place, protocol) in ["chat", "responses", "messages"].into_iter().enumerate() {
            stage.write("flow.yaml", flow(protocol, "    retry: { attempts: 2, backoff: 1ms..2ms }\n"));
            let done = stage.expect(1, &["run", "flow.yaml"]);
            assert!(done.err.contains(code), "{scenario} {protocol}: {done:?}");
            assert_eq!(asked(&stage).len(), calls * (place + 1), "{scenario} {protocol}");
        }
    }
}

#[test]
fn the_most_tokens_of_an_answer_are_stated_in_the_word_that_the_provider_knows() {
    for (scenario, words) in
        [("plain", vec!["max_tokens"]), ("newer", vec!["max_tokens", "max_completion_tokens"])]
    {
        let (stage, _stub) = stage(scenario, "");
        stage.write("flow.yaml", flow("chat", "").replace("'Be brief.'", "'Be brief.', max_tokens: 5"));
        stage.expect(0, &["run", "flow.yaml"]);
        let told = asked(&stage).into_iter().map(|call| {
            let body = call["body"].as_object().unwrap();
            let limits = body.iter().filter(|(_, value)| **value == json!(5));
            limits.map(|(name, _)| name.clone()).collect::<Vec<_>>().join(" ")
        });
        assert_eq!(told.collect::<Vec<_>>(), words, "{scenario}");
        assert_eq!(stage.json(&["--json", "show"])["used"]["llm_calls"], 1, "{scenario}");
    }
}

#[test]
fn a_model_that_cannot_be_called_is_reported() {
    let (stage, _stub) = stage("plain", "");
    for (model, code, words) in [
        ("none", "AGENT_MODEL", "offers no model `none`"),
        ("keyless", "AGENT_AUTH", "NO_SUCH_KEY"),
        ("unreachable", "AGENT_NETWORK", "no connection"),
    ] {
        stage.write("flow.yaml", flow(model, ""));
        let done = stage.expect(1, &["run", "flow.yaml"]);
        assert!(done.err.contains(code) && done.err.contains(words), "{model}: {done:?}");
    }
    assert_eq!(asked(&stage), Vec::<Value>::new());
}

#[test]
fn a_short_limit_is_waited_for_by_the_attempt() {
    let (stage, _stub) = stage("busy-once", "");
    stage.expect(0, &["run", "flow.yaml"]);
    let used = &stage.json(&["--json", "show", &stage.run_id()])["used"];
    assert_eq!((asked(&stage).len(), &used["llm_calls"], &used["agent_hops"]), (2, &json!(1), &json!(1)));
}

#[test]
fn a_step_whose_model_is_at_its_limit_goes_on_with_another_one() {
    let (stage, stub) = stage("plain", "");
    let config = stage.read(".envoi/config.yaml");
    let tight = format!(
        "  providers:\n    tight: {{ url: 'http://127.0.0.1:{}/chat--limit', key: {{ file: lab.key }} }}",
        stub.port
    );
    let config = config.replacen("  providers:", &tight, 1) + "    tight: { provider: tight, name: lab-2 }\n";
    stage.write(".envoi/config.yaml", config);
    let keys = "    on_throttled: { use: messages }\n";
    stage.write("flow.yaml", flow("tight", keys));
    stage.expect(0, &["run", "flow.yaml"]);
    let models: Vec<Value> = asked(&stage).iter().map(|call| call["body"]["model"].clone()).collect();
    assert_eq!(models, [json!("lab-2"), json!("lab-1")]);
    let used = &stage.json(&["--json", "show"])["used"];
    assert_eq!((&used["llm_calls"], &used["tokens_in"]), (&json!(1), &json!(100)));
    // The account stays closed, and the next run does not ask it.
    stage.expect(0, &["run", "flow.yaml"]);
    assert_eq!(asked(&stage).len(), 3);
}

#[test]
fn a_limit_closes_the_account_of_the_model_for_every_run() {
    let (stage, _stub) = stage("limit", "");
    for protocol in ["chat", "messages"] {
        let before = asked(&stage).len();
        stage.write("flow.yaml", flow(protocol, ""));
        let engine = stage.start(&["run", "flow.yaml", "--share-workspace"]);
        let account = format!("model {protocol}");
        let waits = || {
            let runs = stage.runs().into_iter();
            runs.filter(|run| run["waits_for"]["account"] == account).collect::<Vec<_>>()
        };
        wait_until("the wait", || waits().len() == 1);
        let run = text(&waits()[0]["run"]);
        assert_eq!(stage.json(&["--json", "show", &run])["used"]["agent_hops"], 0);
        let shown = stage.expect(0, &["show", &run]);
        assert!(shown.out.contains(&format!("waiting for {account} until ")), "{shown:?}");
        // Another run does not call it.
        let second = stage.start(&["run", "flow.yaml", "--share-workspace"]);
        wait_until("both to wait", || waits().len() == 2);
        assert_eq!(asked(&stage).len(), before + 1);
        second.kill();
        engine.kill();
    }
    let keys = "    on_throttled: fail\n    retry: { attempts: 3, backoff: 1ms..2ms }\n";
    stage.write("flow.yaml", flow("responses", keys));
    let done = stage.expect(1, &["run", "flow.yaml", "--share-workspace"]);
    assert!(done.err.contains("AGENT_THROTTLED"), "{done:?}");
    assert_eq!(asked(&stage).len(), 3);
}

#[test]
fn a_call_that_broke_off_is_in_doubt_and_a_person_decides() {
    let (stage, _stub) = stage("cut-once", "");
    let done = stage.expect(5, &["run", "flow.yaml"]);
    assert!(done.err.contains("in doubt") || done.err.contains("IN_DOUBT"), "{done:?}");
    let run = stage.run_id();
    let shown = stage.expect(5, &["resume", &run]);
    assert!(!shown.err.is_empty());
    assert_eq!(asked(&stage).len(), 1, "nothing is called again before a person has decided");
    let inbox = stage.json(&["--json", "inbox"]);
    let question = stage.json(&["--json", "show", &text(&inbox[0]["question"])]);
    let evidence = question.to_string();
    assert!(evidence.contains("it is not known what became of it"), "{evidence}");
    stage.expect(0, &["resume", &run, "--in-doubt", "rerun"]);
    assert_eq!(asked(&stage).len(), 2);
}

#[test]
fn a_call_that_broke_off_is_made_again_where_the_flow_says_so() {
    let (stage, _stub) = stage("cut-once", "    on_in_doubt: rerun\n");
    stage.expect(0, &["run", "flow.yaml"]);
    assert_eq!(asked(&stage).len(), 2);
    let events = stage.events(&stage.run_id());
    let doubts = events
        .iter()
        .filter(|event| event["type"] == "attempt_settled" && event.to_string().contains("in_doubt"));
    assert!(doubts.count() > 0, "{events:?}");
}

#[test]
fn a_call_whose_process_was_killed_is_in_doubt() {
    let (stage, _stub) = stage("silent", "");
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the call", || asked(&stage).len() == 1);
    let supervisors = stage.supervisors();
    let process = stage.step_processes().into_iter().find(|pid| !supervisors.contains(pid)).unwrap();
    signal(process, Signal::KILL);
    let done = engine.done();
    assert_eq!(done.code, Some(5), "{done:?}");
    stage.expect(1, &["resume", &stage.run_id(), "--in-doubt", "fail"]);
    assert_eq!(asked(&stage).len(), 1);
}

#[test]
fn a_call_whose_record_was_removed_is_in_doubt() {
    let (stage, _stub) = stage("silent", "");
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the call", || asked(&stage).len() == 1);
    let dir = stage.attempt("ask.1.1").unwrap();
    for name in ["calls", "unanswered"] {
        fs::remove_file(dir.join(name)).unwrap();
    }
    signal(stage.supervisor("ask.1.1").unwrap(), Signal::KILL);
    let done = engine.done();
    assert_eq!(done.code, Some(5), "{done:?}");
    assert_eq!(asked(&stage).len(), 1, "the first call may have been paid for");
}

#[test]
fn an_attempt_that_is_killed_while_it_waits_for_a_limit_runs_again_without_a_question() {
    let (stage, _stub) = stage("soon-once", "");
    let engine = stage.start(&["run", "flow.yaml"]);
    wait_until("the call", || asked(&stage).len() == 1);
    let dir = stage.attempt("ask.1.1").unwrap();
    let waits = || fs::read_to_string(dir.join("stdout")).is_ok_and(|out| out.contains("tried again in"));
    wait_until("the wait", waits);
    signal(stage.supervisor("ask.1.1").unwrap(), Signal::KILL);
    let done = engine.done();
    assert_eq!(done.code, Some(0), "{done:?}");
    let used = &stage.json(&["--json", "show", &stage.run_id()])["used"];
    assert_eq!((asked(&stage).len(), &used["llm_calls"], &used["agent_hops"]), (2, &json!(1), &json!(2)));
}

#[test]
fn calls_in_doubt_count_for_the_limits_of_the_run() {
    let (stage, _stub) = stage("silent", "    on_in_doubt: rerun\n");
    let unlimited = std::fs::read_to_string(stage.path("flow.yaml")).unwrap();
    stage.write("flow.yaml", unlimited.replacen("steps:", "limits: { llm_calls: 2 }\nsteps:", 1));
    let engine = stage.start(&["run", "flow.yaml"]);
    for calls in [1, 2] {
        wait_until("the call", || asked(&stage).len() == calls);
        let supervisors = stage.supervisors();
        let process = stage.step_processes().into_iter().find(|pid| !supervisors.contains(pid)).unwrap();
        signal(process, Signal::KILL);
    }
    let done = engine.done();
    assert_eq!(done.code, Some(4), "{done:?}");
    assert!(done.err.contains("llm_calls 2 of 2 is used up"), "{done:?}");
    assert_eq!(asked(&stage).len(), 2, "a third call would pass the limit");
    let used = &stage.json(&["--json", "show", &stage.run_id()])["used"];
    assert_eq!(used["llm_calls"], 2, "{used}");
}

#[test]
fn files_are_given_with_the_prompt_and_never_from_outside() {
    let (stage, _stub) = stage("plain", "");
    stage.write("notes.md", "words of the notes");
    let files = |files: &str| {
        format!(
            "flow: reads\nsteps:\n  - {{ id: make, run: 'echo made > made.txt', artifacts: [made.txt] }}\n  - id: ask\n    model: {{ use: chat, \
             prompt: 'Read.', files: {files} }}\n"
        )
    };
    stage.write("flow.yaml", files("[notes.md, '${{ steps.make.artifacts }}']"));
    stage.expect(0, &["run", "flow.yaml"]);
    let body = asked(&stage)[0]["body"].to_string();
    assert!(body.contains("File `notes.md`") && body.contains("words of the notes"), "{body}");
    assert!(body.contains("made.txt`") && body.contains("made\\n"), "{body}");
    stage.write("flow.yaml", files(".envoi/lab.key"));
    let done = stage.expect(1, &["run", "flow.yaml"]);
    assert!(done.err.contains("FILE_UNREADABLE") && !done.err.contains(KEY), "{done:?}");
    assert_eq!(asked(&stage).len(), 1);
}

/// A run that waits, and may be named as the one that pays.
const WAITS: &str = "flow: pays\nsteps:\n  - id: a\n    ask: 'Well?'\n";

#[test]
fn the_bridge_has_each_protocol_with_and_without_streams_and_meters_it() {
    let (stage, _stub) = stage("plain", "");
    let served = Served::start(&stage);
    let admin = served.client(served.first.as_deref().unwrap());
    let said = json!([{"role": "user", "content": "Hi."}]);
    for (protocol, path, end, question, [whole, streamed]) in [
        (
            "messages",
            "/v1/messages",
            "message_stop",
            json!({"max_tokens": 5, "messages": said}),
            [json!([1, 100, 10, "0.00002"]), json!([1, 120, 10, "0.000022"])],
        ),
        (
            "responses",
            "/responses",
            "response.completed",
            json!({"input": said}),
            [json!([1, 100, 10, "0.000019"]), json!([1, 100, 10, "0.000019"])],
        ),
    ] {
        for streams in [false, true] {
            let run = admin.run(WAITS);
            let mut body = question.clone();
            body["model"] = json!(protocol);
            body["stream"] = json!(streams);
            let headers = [("x-envoi-a2a-context-id", run.as_str()), ("anthropic-beta", "new-thing")];
            let reply =
                admin.call("POST", &format!("/api/llm-bridge{path}"), &headers, body.to_string().as_bytes());
            assert_eq!(reply.status, 200, "{}", reply.text());
            assert!(reply.text().contains("Hello from the stub."), "{}", reply.text());
            assert_eq!(reply.text().contains(end), streams, "{}", reply.text());
            let used = stage.json(&["--json", "show", &run])["used"].take();
            let used = json!([used["llm_calls"], used["tokens_in"], used["tokens_out"], used["cost_usd"]]);
            let expected = if streams { streamed.clone() } else { whole.clone() };
            assert_eq!(used, expected, "{protocol} {streams}");
            let call = asked(&stage).pop().unwrap();
            assert_eq!(call["body"]["model"], "lab-1");
            if protocol == "messages" {
                let headers = &call["headers"];
                assert_eq!(
                    (&headers["x-api-key"], &headers["anthropic-beta"]),
                    (&json!(KEY), &json!("new-thing"))
                );
                assert_eq!(headers["anthropic-version"], "2023-06-01");
            }
        }
    }
    // Anthropic's clients may have the token as their key. To count tokens is no call.
    let key = [("x-api-key", served.first.as_deref().unwrap())];
    let count = Client::new(&served.url, None).call(
        "POST",
        "/api/llm-bridge/v1/messages/count_tokens",
        &key,
        br#"{"model": "messages"}"#,
    );
    assert_eq!((count.status, count.json()), (200, json!({"input_tokens": 10})));
}

#[test]
fn the_bridge_refuses_in_the_form_of_the_protocol_and_passes_limits_on() {
    let (stage, _stub) = stage("limit", "");
    let served = Served::start(&stage);
    let admin = served.client(served.first.as_deref().unwrap());
    let messages =
        |model: &str| admin.post("/api/llm-bridge/v1/messages", &json!({"model": model}).to_string());
    for (model, code, words) in [
        ("none", "UNKNOWN_MODEL_ID", "no model"),
        ("chat", "REQUEST_INVALID", "/api/llm-bridge/chat/completions"),
    ] {
        let reply = messages(model);
        let told = reply.json();
        assert_eq!(
            (reply.status, &told["type"], &told["error"]["code"]),
            (400, &json!("error"), &json!(code))
        );
        assert!(text(&told["error"]["message"]).contains(words), "{told}");
    }
    let limited = messages("messages");
    assert_eq!((limited.status, limited.header("retry-after").as_str()), (429, "7200"));
    assert_eq!(limited.header("anthropic-ratelimit-unified-status"), "rejected");
    assert_eq!(limited.json()["error"]["type"], "rate_limit_error");
    let limited = admin.post("/api/llm-bridge/responses", &json!({"model": "responses"}).to_string());
    assert_eq!((limited.status, limited.header("x-codex-primary-used-percent").as_str()), (429, "100"));
    assert_eq!(limited.json()["error"]["type"], "usage_limit_reached");
}
