//! Models behind the bridge: who may call them, the responses, and the entries in the journal.

use super::{
    APPROVAL,
    client::{Client, Reply, Served, token},
    lab::{Asked, Lab, Say, answer, pieces},
};
use crate::{
    stage::{Stage, text, wait_for, wait_until},
    veil::{BELIEFS, Veil},
};
use serde_json::{Value, json};
use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    sync::{Arc, Barrier},
};

const TURN: &str = "/api/llm-bridge";
const CHAT: &str = "/api/llm-bridge/chat/completions";

/// The program with which commands call: `ask(body)` gives the status and the answer.
const ASK: &str = r#"
import json, os, sys, urllib.error, urllib.request

def ask(body, path="/chat/completions", more={}):
    url, token = os.environ["ENVOI_BRIDGE_URL"], os.environ["ENVOI_BRIDGE_TOKEN"]
    headers = {"authorization": "Bearer " + token, "content-type": "application/json", **more}
    request = urllib.request.Request(url + path, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()

def say(*words):
    with open("did.txt", "a") as did:
        print(*words, file=did)
"#;

struct Land {
    stage: Stage,
    served: Served,
    lab: Lab,
    admin: Client,
}

/// A server with models of a lab.
fn land() -> Land {
    let (stage, lab) = (Stage::new(), Lab::open());
    stage.write(".envoi/config.yaml", lab.config());
    stage.write(".envoi/lab.key", "sk-lab-7\n");
    stage.write("ask.py", ASK);
    let served = Served::start(&stage);
    let admin = served.client(served.first.as_deref().unwrap());
    Land { stage, served, lab, admin }
}

/// A flow of one step, `a`, that does this in Python.
fn step(head: &str, script: &str) -> String {
    let script = script.trim().replace('\n', "\n      ");
    format!(
        "flow: asks\n{head}\nsteps:\n  - id: a\n    run: |\n      exec python3 - <<'END'\n      from ask import *\n      {script}\n      END\n"
    )
}

fn names(events: &[Value]) -> Vec<String> {
    events.iter().map(|event| text(&event["type"])).filter(|name| name.starts_with("model_call")).collect()
}

fn error(reply: &Reply) -> Value {
    reply.json()["error"].clone()
}

#[test]
fn every_refusal_comes_in_its_order_and_the_model_is_never_called() {
    let Land { stage, served, lab, admin } = land();
    let reader = token(&stage, &["r", "--scope", "read"]);
    let answerer = token(&stage, &["a", "--scope", "answer"]);
    let large = format!(r#"{{"user": "{}""#, "x".repeat(1_000_001));
    let stranger = format!("eva_{}.run_0a.a.1.1", "0".repeat(64));
    let none = Client::new(&served.url, None);
    for token in [None, Some("x"), Some(""), Some(&reader), Some(&answerer), Some(&stranger)] {
        let client = token.map_or_else(|| none.clone(), |token| served.client(token));
        for body in ["{}", "nonsense", &large] {
            for path in [TURN, CHAT] {
                let reply = client.post(path, body);
                assert_eq!(
                    (reply.status, reply.text().as_str()),
                    (403, r#"{"error":"Forbidden"}"#),
                    "{token:?}"
                );
            }
        }
        assert_eq!(client.get("/api/llm-bridge/models").text(), r#"{"error":"Forbidden"}"#);
    }
    let first = served.first.clone().unwrap();
    let other = none.call("POST", TURN, &[("x-envoi-bridge-token", &first)], b"{");
    assert_eq!(other.status, 400, "the header carries a token as well");
    let both = admin.call("POST", TURN, &[("x-envoi-bridge-token", "wrong")], b"{");
    assert_eq!(both.status, 403, "and counts alone if it is there");

    let bad_envelope = r#""user": "{\"text\": 1}", "user_envelope": true"#;
    for (body, status, expected) in [
        (large.as_str(), 413, "body_too_large"),
        ("nonsense", 400, "Invalid request body"),
        (r#"{"user": 1, "model": "none"}"#, 400, "Invalid request body"),
        (r#"{"user": "a", "user_envelope": "true"}"#, 400, "Invalid request body"),
        (&format!(r#"{{{bad_envelope}, "model": "none"}}"#), 400, "unknown_model_id"),
        (&format!(r#"{{{bad_envelope}, "model": "keyless"}}"#), 503, "no_llm_provider"),
        (&format!("{{{bad_envelope}}}"), 400, "invalid_user_envelope"),
        (r#"{"user": "hello", "user_envelope": true}"#, 400, "invalid_user_envelope"),
    ] {
        let reply = admin.post(TURN, body);
        let told = (reply.status, error(&reply));
        assert_eq!(told, (status, json!(expected)), "{}", &body[..body.len().min(90)]);
    }
    let codes = |body: &str| admin.post(TURN, body).json()["code"].clone();
    assert_eq!(codes(r#"{"user": "a", "model": "none"}"#), "UNKNOWN_MODEL_ID");
    assert_eq!(codes(r#"{"user": "a", "model_id": "none"}"#), "UNKNOWN_MODEL_ID");
    assert_eq!(codes(r#"{"user": "a", "model": "keyless"}"#), "NO_LLM_PROVIDER");
    let refused = admin.post(TURN, r#"{"user": "hello", "user_envelope": true}"#).json();
    let reason = text(&refused["reason"]);
    assert!(reason.starts_with("user_envelope=true but body.user is not valid JSON"), "{reason}");
    assert_eq!(refused["code"], "INVALID_USER_ENVELOPE");
    let issues = admin.post(TURN, r#"{"user": 1}"#).json()["issues"].clone();
    assert_eq!(issues, json!([{"path": "user", "message": "expected a string"}]));

    for (body, status, code) in [
        ("nonsense", 400, "REQUEST_INVALID"),
        (r#"{"stream": "yes"}"#, 400, "REQUEST_INVALID"),
        (r#"{"model": "none"}"#, 400, "UNKNOWN_MODEL_ID"),
        (r#"{"model": "keyless"}"#, 503, "NO_LLM_PROVIDER"),
    ] {
        let reply = admin.post(CHAT, body);
        assert_eq!((reply.status, error(&reply)["code"].as_str()), (status, Some(code)), "{body}");
    }
    // A context that leads nowhere, or to two places.
    let nowhere = ("x-envoi-a2a-context-id", "run_00000000000000000000000000");
    for headers in [&[nowhere][..], &[nowhere, nowhere]] {
        let reply = admin.call("POST", CHAT, headers, b"{}");
        assert_eq!((reply.status, error(&reply)["code"].as_str()), (400, Some("REQUEST_INVALID")));
    }
    // A run that may not call, and an ended run.
    let broke = admin.run("flow: broke\nlimits: { llm_calls: 0 }\nsteps:\n  - id: a\n    ask: 'Well?'\n");
    admin.question(&broke);
    let over = admin.run(APPROVAL);
    admin.post(&format!("/v1/runs/{over}/cancel"), "");
    admin.wait_until_run_is(&over, "cancelled");
    for (run, status, code) in [(&broke, 429, "BUDGET_EXHAUSTED"), (&over, 409, "RUN_OVER")] {
        let headers = [("x-envoi-a2a-context-id", run.as_str())];
        let turn = admin.call("POST", TURN, &headers, br#"{"user": "a"}"#);
        assert_eq!((turn.status, turn.json()["code"].as_str()), (status, Some(code)), "{}", turn.text());
        let chat = admin.call("POST", CHAT, &headers, b"{}");
        assert_eq!((chat.status, error(&chat)["code"].as_str()), (status, Some(code)), "{}", chat.text());
        if status == 429 {
            assert_eq!(turn.json()["detail"], error(&chat)["message"]);
            assert!(text(&turn.json()["detail"]).contains("llm_calls 0 of 0 is used up"));
            assert_eq!(chat.header("x-should-retry"), "false");
        }
        assert!(names(&stage.events(run)).is_empty());
    }
    assert!(lab.asked().is_empty(), "{:?}", lab.asked());
    // The door is before the token.
    let stranger = none.call("POST", TURN, &[("origin", "https://evil.example")], b"{}");
    assert_eq!((stranger.status, stranger.json()["code"].as_str()), (403, Some("ORIGIN_NOT_ALLOWED")));
}

#[test]
fn every_refusal_on_the_paths_of_the_bridge_has_their_form() {
    let Land { stage: _stage, served: _served, lab, admin } = land();
    let evil = ("origin", "https://evil.example");
    for (method, path, header, status, code) in [
        ("POST", TURN, evil, 403, "ORIGIN_NOT_ALLOWED"),
        ("POST", CHAT, evil, 403, "ORIGIN_NOT_ALLOWED"),
        ("GET", "/api/llm-bridge/models", evil, 403, "ORIGIN_NOT_ALLOWED"),
        ("POST", TURN, ("host", "evil.example"), 421, "HOST_NOT_ALLOWED"),
        ("POST", CHAT, ("host", "evil.example"), 421, "HOST_NOT_ALLOWED"),
        ("DELETE", TURN, ("x-a", "b"), 405, "METHOD_NOT_ALLOWED"),
        ("DELETE", CHAT, ("x-a", "b"), 405, "METHOD_NOT_ALLOWED"),
        ("POST", "/api/llm-bridge/embeddings", ("x-a", "b"), 404, "NOT_FOUND"),
    ] {
        let reply = admin.call(method, path, &[header], b"");
        assert_eq!(reply.status, status, "{path}: {}", reply.text());
        assert_eq!(reply.header("content-type"), "application/json", "{path} {code}");
        let (told, message) = match path {
            TURN => (reply.json()["code"].clone(), reply.json()["detail"].clone()),
            _ => (error(&reply)["code"].clone(), error(&reply)["message"].clone()),
        };
        assert_eq!(told, json!(code), "{path}: {}", reply.text());
        assert!(message.is_string() && !error(&reply).is_null(), "{path}: {}", reply.text());
        assert_ne!(reply.header("x-request-id"), "");
    }
    let none = Client::new(admin.url(), None);
    assert_eq!(none.post("/api/llm-bridge/embeddings", "{}").text(), r#"{"error":"Forbidden"}"#);
    // A provider that got no request may get it again; a provider that broke off in the middle has perhaps been paid.
    let unreachable = admin.post(CHAT, r#"{"model": "unreachable"}"#);
    assert_eq!((unreachable.status, unreachable.header("x-should-retry").as_str()), (502, ""));
    for (path, body, status) in [(CHAT, "{}", 502), (TURN, r#"{"user": "a"}"#, 500)] {
        lab.will_say([Say::BreakOff]);
        let broken = admin.post(path, body);
        assert_eq!((broken.status, broken.header("x-should-retry").as_str()), (status, "false"), "{path}");
    }
}

#[test]
fn a_call_that_a_stopping_server_breaks_off_is_not_to_be_paid_for_twice() {
    for (path, body) in [(CHAT, "{}"), (TURN, r#"{"user": "a"}"#)] {
        let Land { stage: _stage, served, lab, admin } = land();
        lab.will_say([Say::Hang(vec![])]);
        let reply = std::thread::scope(|scope| {
            let asking = scope.spawn(|| admin.post(path, body));
            wait_until("the provider", || lab.asked().len() == 1);
            served.process.signal(rustix::process::Signal::TERM);
            asking.join().unwrap()
        });
        assert_eq!(reply.status, 503, "{}", reply.text());
        assert_eq!(reply.header("content-type"), "application/json", "{path}");
        let told = if path == TURN { reply.json() } else { error(&reply) };
        assert_eq!(told["code"], "ENGINE_STOPPING", "{}", reply.text());
        let message = text(if path == TURN { &told["detail"] } else { &told["message"] });
        assert!(message.contains("the provider received the request"), "{message}");
        assert_eq!(reply.header("x-should-retry"), "false", "an OpenAI client would ask, and pay, again");
        assert_eq!(reply.header("retry-after"), "");
        assert!(!reply.text().contains("Idempotency-Key"), "{}", reply.text());
    }
}

#[test]
fn the_model_gets_the_text_alone_and_without_the_flag_the_whole_request() {
    let Land { stage: _stage, served: _served, lab, admin } = land();
    let wrapped = r#"{"text": " Fine.\n", "attachments": []}"#;
    for (user, flag, told) in [
        (" plain \u{e9}\n", false, " plain \u{e9}\n"),
        (wrapped, false, wrapped),
        (wrapped, true, " Fine.\n"),
        ("", false, ""),
    ] {
        let reply = admin.post(TURN, &json!({"user": user, "user_envelope": flag}).to_string());
        assert_eq!(reply.status, 200, "{}", reply.text());
        let usage = json!({"tokens_in": 100, "tokens_out": 10, "cost_usd": "0.000021"});
        assert_eq!(reply.json(), json!({"text": "words", "model": "small", "usage": usage}));
        let asked = lab.last();
        let expected = json!({"model": "lab-small-2", "messages": [{"role": "user", "content": told}]});
        assert_eq!(asked.json(), expected, "and nothing else");
        assert!(asked.head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{}", asked.head);
        assert!(asked.head.to_lowercase().contains("authorization: bearer sk-lab-7\r\n"), "{}", asked.head);
    }
    let free = admin.post(TURN, r#"{"user": "a", "model": "free", "system": "Be brief."}"#).json();
    assert_eq!((&free["model"], &free["usage"]["cost_usd"]), (&json!("free"), &Value::Null));
    assert_eq!(lab.last().system(), "Be brief.");
    let listed = admin.json("/api/llm-bridge/models");
    let ids: Vec<&str> =
        listed["data"].as_array().unwrap().iter().filter_map(|row| row["id"].as_str()).collect();
    let called = [
        "free",
        "messages",
        "messages-unreachable",
        "responses",
        "responses-unreachable",
        "small",
        "unreachable",
    ];
    assert_eq!(ids, called, "those that can be called");
}

#[test]
fn files_are_read_inside_the_tenant_of_the_run_alone() {
    let Land { stage, served, lab, admin: _ } = land();
    let client = |name: &str, tenant: &str| {
        served.client(&token(&stage, &[name, "--scope", "admin", "--tenant", tenant]))
    };
    let (north, south) = (client("n", "north"), client("s", "south"));
    let typed = [("content-type", "text/plain")];
    let own = north.call("POST", "/v1/artifacts", &typed, b"minutes of the north").json();
    let theirs = south.call("POST", "/v1/artifacts", &typed, b"minutes of the south").json();
    let run = north.run(APPROVAL);
    north.question(&run);
    let strange = south.run(APPROVAL);
    south.question(&strange);
    let mut titled = theirs.clone();
    titled["title"] = json!("theirs\n- own (text/plain): fine");
    let ask = |headers: &[(&str, &str)], more: Value| {
        let mut body = json!({"user": "Sum up.", "attachments": [own, titled]});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let reply = north.call("POST", TURN, headers, body.to_string().as_bytes());
        assert_eq!(reply.status, 200, "{}", reply.text());
        let asked = lab.last();
        (asked.user(), asked.system())
    };
    let context = [("x-envoi-a2a-context-id", run.as_str())];
    let (user, system) = ask(&context, json!({"system": "Be brief."}));
    assert_eq!(user[0], json!({"type": "text", "text": "Sum up."}));
    assert!(text(&user[1]["text"]).ends_with("\n\nminutes of the north"), "{user}");
    assert_eq!(user.as_array().unwrap().len(), 2, "{user}");
    let system = text(&system);
    let lines: Vec<&str> = system.lines().collect();
    let line =
        "- theirs - own (text/plain): fine (text/plain, 20 bytes): NOT readable — there is no such content";
    assert_eq!(lines, ["Attachments of the user's message:", line, "", "Be brief."]);
    // No files without a run, with another tenant's, with one that the body names, or with two that differ.
    let other = [("x-envoi-a2a-context-id", strange.as_str())];
    let two = json!({"agent_run_id": "run_00000000000000000000000000"});
    for (headers, more) in [
        (&[][..], json!({})),
        (&[][..], json!({"agent_run_id": run})),
        (&other[..], json!({})),
        (&context[..], two),
        (&context[..], json!({"agent_run_id": strange})),
    ] {
        let (user, system) = ask(headers, more);
        assert_eq!(user, "Sum up.", "the turn goes on");
        assert_eq!(text(&system).matches("NOT readable").count(), 2, "{system}");
        assert!(!text(&system).contains("minutes of"), "{system}");
    }
    let (user, _) = ask(&context, json!({"agent_run_id": run}));
    assert_eq!(user.as_array().unwrap().len(), 2, "one that agrees is no harm");
    // The run of the header pays; another tenant's does not.
    assert_eq!(names(&stage.events(&run)).len(), 8);
    assert!(names(&stage.events(&strange)).is_empty());
}

#[test]
fn a_command_that_calls_by_the_openai_api_is_metered_into_its_run_and_bounded() {
    let Land { stage, served: _served, lab, admin } = land();
    lab.will_say([Say::Whole(200, answer("hello")), Say::Pieces(pieces())]);
    let script = r#"
status, said = ask({"model": "small", "messages": [{"role": "user", "content": "hi"}]})
say(status, json.loads(said)["choices"][0]["message"]["content"])
status, said = ask({"messages": [], "stream": True})
say(status, said.count("data: "), "prompt_tokens" in said)
status, said = ask({"messages": []})
say(status, json.loads(said)["error"]["code"])
print("my token is", os.environ["ENVOI_BRIDGE_TOKEN"])
open("token.txt", "w").write(os.environ["ENVOI_BRIDGE_TOKEN"])
"#;
    let run = admin.run(&step("limits: { llm_calls: 2 }", script));
    admin.wait_until_run_is(&run, "succeeded");
    assert_eq!(stage.lines("did.txt"), ["200 hello", "200 3 False", "429 BUDGET_EXHAUSTED"]);
    assert_eq!(lab.asked().len(), 2, "past the limit the model is not called");
    let shown = stage.json(&["--json", "show", &run]);
    let used = &shown["used"];
    assert_eq!(
        (&used["llm_calls"], &used["tokens_in"], &used["tokens_out"]),
        (&json!(2), &json!(200), &json!(20))
    );
    assert_eq!(used["cost_usd"], "0.000042");
    assert_eq!(shown["by_step"]["a"]["llm_calls"], 2, "{}", shown["by_step"]);
    let events = stage.events(&run);
    let pair = ["model_call_started", "model_call_ended"];
    assert_eq!(names(&events), [pair, pair].concat());
    let begun = events.iter().find(|event| event["type"] == "model_call_started").unwrap();
    assert_eq!([&begun["attempt"], &begun["model"], &begun["provider"]], ["a.1.1", "small", "lab"]);
    // The token is this attempt's alone: masked in what it wrote, dead with it, and good for nothing else.
    let token = stage.read("token.txt");
    assert!(token.starts_with("eva_") && token.ends_with(&format!(".{run}.a.1.1")), "{token}");
    let log = stage.expect(0, &["logs", &run]);
    assert!(log.out.contains("my token is") && !log.out.contains(&token), "{}", log.out);
    let dead = Client::new(admin.url(), Some(&token));
    assert_eq!((dead.post(CHAT, "{}").status, dead.post(TURN, r#"{"user": "a"}"#).status), (403, 403));
    let runs = |client: &Client| client.call("GET", "/v1/runs", &[("x-request-id", "one")], &[]);
    let (dead, nobody) = (runs(&dead), runs(&Client::new(admin.url(), None)));
    assert_eq!((dead.status, dead.body), (401, nobody.body));
}

#[test]
fn a_live_attempt_s_token_pays_from_its_budget_and_opens_nothing_else() {
    let Land { stage, served, lab, admin } = land();
    let script = "open('token.txt', 'w').write(os.environ['ENVOI_BRIDGE_TOKEN'])\nimport time\nwhile not \
                  os.path.exists('go'): time.sleep(0.02)\nprint(os.environ['ENVOI_BRIDGE_URL'])";
    let head = "limits: { llm_calls: 5 }";
    let flow = step(head, script).replace("  - id: a\n", "  - id: a\n    budget: { llm_calls: 1 }\n");
    let run = admin.run(&flow);
    let token =
        wait_for("its token", || Some(stage.read("token.txt")).filter(|token| token.ends_with("a.1.1")));
    let attempt = served.client(&token);
    assert_eq!(attempt.get("/v1/health").status, 401, "a live one too");
    let elsewhere = [("x-envoi-a2a-context-id", "run_00000000000000000000000000")];
    let turn = attempt.call("POST", TURN, &elsewhere, br#"{"user": "a"}"#);
    assert_eq!(turn.status, 200, "its own run pays, whatever the header says: {}", turn.text());
    let reserved = stage.json(&["--json", "show", &run])["reserved"]["llm_calls"].clone();
    assert_eq!(reserved, 0, "what it has used is not set aside any more");
    let past = attempt.post(TURN, r#"{"user": "a"}"#);
    assert_eq!(past.status, 429);
    assert_eq!(
        past.json()["detail"],
        json!("no further model call may begin: llm_calls 1 of 1 is used up by the attempt")
    );
    assert_eq!(lab.asked().len(), 1);
    stage.write("go", "");
    admin.wait_until_run_is(&run, "succeeded");
    let log = stage.expect(0, &["logs", &run]);
    assert!(log.out.contains(&format!("{}/api/llm-bridge", served.url)), "{}", log.out);
    assert_eq!(stage.json(&["--json", "show", &run])["used"]["llm_calls"], 1);
}

#[test]
fn commands_get_the_public_url_of_the_server_and_it_answers_to_that_name() {
    let (stage, lab) = (Stage::new(), Lab::open());
    stage.write(".envoi/lab.key", "sk-lab-7\n");
    stage.write("ask.py", ASK);
    let admin = token(&stage, &["t", "--scope", "admin"]);
    let script = "print(os.environ['ENVOI_BRIDGE_URL'])";
    for (server, bridge, host, card) in [
        (
            "public_url: 'https://envoi.example'",
            "https://envoi.example",
            "envoi.example",
            "https://envoi.example",
        ),
        ("public_url: 'https://inside:443'", "https://inside:443", "inside", "https://inside:443"),
        (
            "public_url: 'http://inside:7', a2a: { url: 'https://outside.example' }",
            "http://inside:7",
            "inside:7",
            "https://outside.example",
        ),
    ] {
        stage.write(".envoi/config.yaml", format!("server: {{ {server} }}\n{}", lab.config()));
        let served = Served::start(&stage);
        let admin = served.client(&admin);
        let run = admin.run(&step("", script));
        admin.wait_until_run_is(&run, "succeeded");
        let log = stage.expect(0, &["logs", &run]);
        assert!(log.out.contains(&format!("{bridge}/api/llm-bridge\n")), "{}", log.out);
        let asked = |host| admin.call("GET", "/api/llm-bridge/models", &[("host", host)], &[]).status;
        assert_eq!((asked(host), asked("elsewhere.example")), (200, 421), "{server}");
        let card_there = admin.get("/.well-known/agent-card.json").text();
        assert!(card_there.contains(&format!("{card}/a2a")), "{server}: {card_there}");
    }
}

#[test]
fn a_provider_gets_the_trace_of_the_paying_run_and_of_each_call() {
    let Land { stage, served: _served, lab, admin } = land();
    let script = "ask({'messages': []})\nask({'user': 'a'}, '')\nopen('trace.txt', 'w').write(os.environ['TRACEPARENT'])";
    let run = admin.run(&step("", script));
    admin.wait_until_run_is(&run, "succeeded");
    // This call is charged to no run, and a client's own data on itself is not passed on.
    let own = stage.read("trace.txt");
    let alone = admin.call("POST", CHAT, &[("traceparent", &own)], b"{}");
    assert_eq!(alone.status, 200, "{}", alone.text());
    let told = |asked: &Asked| {
        let head = asked.head.to_lowercase();
        head.lines().find_map(|line| Some(line.strip_prefix("traceparent: ")?.trim().to_owned()))
    };
    let told: Vec<Option<String>> = lab.asked().iter().map(told).collect();
    assert_eq!((told.len(), &told[2]), (3, &None));
    let parts = |trace: &str| trace.split('-').map(str::to_owned).collect::<Vec<_>>();
    let (own, first, second) =
        (parts(&own), parts(told[0].as_ref().unwrap()), parts(told[1].as_ref().unwrap()));
    assert_eq!((&first[..2], &first[3]), (&own[..2], &own[3]));
    assert_eq!((&second[..2], &second[3]), (&own[..2], &own[3]));
    assert!(first[2] != own[2] && second[2] != own[2] && first[2] != second[2], "{told:?}");
}

#[test]
fn a_provider_s_certificate_is_checked_against_the_authorities_that_are_named() {
    let (stage, lab) = (Stage::new(), Lab::open());
    let veil = Veil::before(&lab.url());
    stage.write(".envoi/config.yaml", lab.config().replace(&lab.url(), &veil.url));
    stage.write(".envoi/lab.key", "sk-lab-7\n");
    let admin = token(&stage, &["t", "--scope", "admin"]);
    for (authorities, is_believed) in BELIEFS {
        let served = Served::believing(&stage, authorities);
        let reply = served.client(&admin).post(TURN, r#"{"user": "a"}"#);
        match is_believed {
            true => assert_eq!((reply.status, &reply.json()["text"]), (200, &json!("words"))),
            false => assert_eq!((reply.status, reply.text().contains("cannot be reached")), (500, true)),
        }
        served.process.kill();
    }
    assert_eq!(lab.asked().len(), 1, "neither a key nor a word is sent to the others");
    let head = lab.last().head.to_lowercase();
    assert!(head.contains("authorization: bearer sk-lab-7\r\n"), "{head}");
    assert!(head.contains(&format!("host: {}\r\n", &veil.url["https://".len()..])), "{head}");
}

#[test]
fn the_stream_of_a_provider_passes_unchanged_without_an_unwanted_usage() {
    let Land { stage: _stage, served: _served, lab, admin } = land();
    let with_usage = r#"{"stream": true, "stream_options": {"include_usage": true}, "x": 1.50}"#;
    for (body, hidden) in [(r#"{"stream": true, "x": 1.50}"#, true), (with_usage, false)] {
        lab.will_say([Say::Pieces(pieces())]);
        let reply = admin.post(CHAT, body);
        let all = pieces();
        let expected: Vec<String> =
            all.iter().filter(|piece| !hidden || !piece.contains("prompt_tokens")).cloned().collect();
        assert_eq!((reply.status, reply.text()), (200, expected.concat()));
        assert_eq!(reply.header("content-type"), "text/event-stream");
        let asked = String::from_utf8(lab.last().body).unwrap();
        assert!(asked.contains(r#""include_usage":true"#) && asked.contains(r#""x":1.50"#), "{asked}");
    }
}

#[test]
fn openai_clients_get_the_error_of_the_provider_in_its_own_words() {
    let Land { stage, served: _served, lab, admin } = land();
    let run = admin.run(APPROVAL);
    admin.question(&run);
    let context = [("x-envoi-a2a-context-id", run.as_str())];
    let own = r#"{"error": {"message": "slow down", "code": "rate"}}"#;
    lab.will_say([
        Say::Whole(429, own.to_owned()),
        Say::Whole(500, own.to_owned()),
        Say::Whole(200, "{}".to_owned()),
    ]);
    let chat = admin.call("POST", CHAT, &context, b"{}");
    assert_eq!((chat.status, chat.text().as_str()), (429, own));
    assert_eq!(chat.header("x-lab-secret"), "", "its headers are not passed on");
    for (body, detail) in [
        (r#"{"user": "a"}"#, "the model's provider: it answered with status 500"),
        (r#"{"user": "a"}"#, "the model's provider: its answer is no chat completion"),
        (r#"{"user": "a", "model": "unreachable"}"#, "the model's provider cannot be reached"),
    ] {
        let reply = admin.call("POST", TURN, &context, body.as_bytes());
        assert_eq!(
            (reply.status, reply.json()),
            (500, json!({"error": "Internal server error", "detail": detail}))
        );
    }
    let gone = admin.post(CHAT, r#"{"model": "unreachable"}"#);
    assert_eq!((gone.status, error(&gone)["code"].as_str()), (502, Some("PROVIDER_FAILED")));
    let ended: Vec<String> = stage
        .events(&run)
        .iter()
        .filter(|event| event["type"] == "model_call_ended")
        .map(|event| text(&event["outcome"]))
        .collect();
    assert_eq!(ended, ["failed", "failed", "failed", "failed"]);
    assert_eq!(stage.json(&["--json", "show", &run])["used"]["llm_calls"], 4, "each was a call");
}

#[test]
fn a_key_that_its_provider_repeats_is_masked_in_every_answer_and_every_spelling() {
    let stage = Stage::new();
    let lab = Lab::open();
    stage.write(".envoi/config.yaml", lab.config());
    stage.write(".envoi/lab.key", "Lk9/qW+7zR&Vb-33mN\n");
    let served = Served::start(&stage);
    let admin = served.client(&token(&stage, &["t", "--scope", "admin"]));
    let spellings =
        "Lk9/qW+7zR&Vb-33mN TGs5L3FXKzd6UiZWYi0zM21O Lk9%2FqW%2B7zR%26Vb-33mN Lk9\\/qW+7zR\\u0026Vb-33mN";
    let masked = |text: &str| {
        assert!(!text.contains("33mN") && !text.contains("VYi0zM"), "{text}");
        text.matches("***").count()
    };
    let error = format!(r#"{{"error": {{"message": "denied: Bearer {spellings}"}}}}"#);
    for (status, body) in [
        (
            200,
            format!(r#"{{"id": "{spellings}", "choices": [{{"message": {{"content": "{spellings}"}}}}]}}"#),
        ),
        (200, format!("<html>{spellings}")),
        (401, error.clone()),
        (500, error.clone()),
    ] {
        lab.will_say([Say::Whole(status, body)]);
        let reply = admin.post(CHAT, "{}");
        assert_eq!(reply.status, status);
        assert!(masked(&reply.text()) >= 4, "{}", reply.text());
    }
    lab.will_say([Say::Whole(200, error)]);
    assert!(
        masked(&admin.post("/api/llm-bridge/v1/messages/count_tokens", r#"{"model": "messages"}"#).text())
            >= 4
    );
    lab.will_say([Say::Whole(200, answer(spellings))]);
    assert!(masked(&admin.post(TURN, r#"{"user": "a"}"#).text()) >= 4);
    let event = format!("data: {{\"choices\": [{{\"delta\": {{\"content\": \"{spellings}\"}}}}]}}\n\n");
    for cut in 0..event.len() {
        let (first, second) = event.split_at(cut);
        let pieces = [first, second, "data: [DONE]\n\n"].map(str::to_owned);
        lab.will_say([Say::Pieces(pieces.into_iter().filter(|piece| !piece.is_empty()).collect())]);
        let text = admin.post(CHAT, r#"{"stream": true}"#).text();
        assert!(masked(&text) == 4 && text.ends_with("data: [DONE]\n\n"), "{cut}: {text}");
    }
}

/// A request for a model, as small as it may be.
const SMALL: &str = r#"{"model": "small"}"#;

/// So many requests of 16 MiB of the first token. They wait for their provider until they are dropped.
fn waiting(served: &Served, lab: &Lab, count: usize) -> Vec<TcpStream> {
    lab.will_say((0..count).map(|_| Say::Hang(vec![])));
    let large = [SMALL, &" ".repeat((16 << 20) - SMALL.len())].concat();
    let waiting = (0..count)
        .map(|_| {
            let mut client = TcpStream::connect(served.address()).unwrap();
            let head = format!(
                "POST {CHAT} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\ncontent-length: {}\r\n\r\n",
                served.address(),
                served.first.as_deref().unwrap(),
                large.len()
            );
            client.write_all(head.as_bytes()).unwrap();
            client.write_all(large.as_bytes()).unwrap();
            client
        })
        .collect();
    wait_until("all wait for the provider", || lab.asked().len() == count);
    waiting
}

#[test]
fn the_requests_of_a_token_that_wait_have_a_bound_leave_room_for_others_and_are_forgotten_when_they_end() {
    let Land { stage, served, lab, admin } = land();
    const MANY: usize = 6;
    let waiting = waiting(&served, &lab, MANY);
    for (path, body) in [(CHAT, SMALL), (TURN, r#"{"user": "a"}"#)] {
        let refused = admin.post(path, body);
        let told = if path == TURN { refused.json() } else { error(&refused) };
        assert_eq!((refused.status, &told["code"]), (429, &json!("TOO_MANY_CALLS")), "{}", refused.text());
        assert_eq!(refused.header("retry-after"), "2");
    }
    assert_eq!(lab.asked().len(), MANY, "no model is called");
    for arguments in
        [&["second", "--scope", "admin"][..], &["other", "--scope", "admin", "--tenant", "north"]]
    {
        let other = served.client(&token(&stage, arguments));
        assert_eq!(other.post(CHAT, SMALL).status, 200, "{arguments:?}");
    }
    drop(waiting);
    wait_until("they are forgotten", || admin.post(CHAT, SMALL).status == 200);
}

#[test]
fn a_message_whose_files_have_no_room_is_refused_before_its_call_counts() {
    let Land { stage, served, lab, admin } = land();
    let typed = [("content-type", "image/png")];
    let image = admin.call("POST", "/v1/artifacts", &typed, &vec![7; 13 << 20]).json();
    let run = admin.run(APPROVAL);
    admin.question(&run);
    let waiting = waiting(&served, &lab, 5);
    let body = json!({"user": "What is it?", "attachments": [image]}).to_string();
    let context = [("x-envoi-a2a-context-id", run.as_str())];
    let ask = || admin.call("POST", TURN, &context, body.as_bytes());
    let refused = ask();
    assert_eq!(
        (refused.status, &refused.json()["code"]),
        (429, &json!("TOO_MANY_CALLS")),
        "{}",
        refused.text()
    );
    assert!(names(&stage.events(&run)).is_empty(), "the call does not count");
    drop(waiting);
    wait_until("there is room", || ask().status == 200);
    assert_eq!(names(&stage.events(&run)), ["model_call_started", "model_call_ended"]);
}

#[test]
fn a_client_that_goes_away_breaks_its_call_off() {
    let Land { stage, served, lab, admin } = land();
    let run = admin.run(APPROVAL);
    admin.question(&run);
    for (nth, (first, stream)) in [(vec![], false), (pieces()[..1].to_vec(), true)].into_iter().enumerate() {
        lab.will_say([Say::Hang(first.clone())]);
        let mut client = TcpStream::connect(served.address()).unwrap();
        let body = format!(r#"{{"stream": {stream}}}"#);
        let request = format!(
            "POST {CHAT} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\nx-envoi-a2a-context-id: {run}\r\ncontent-length: \
             {}\r\n\r\n{body}",
            served.address(),
            served.first.as_deref().unwrap(),
            body.len()
        );
        client.write_all(request.as_bytes()).unwrap();
        wait_until("the lab is asked", || lab.asked().len() == nth + 1);
        if stream {
            let mut seen = Vec::new();
            while !String::from_utf8_lossy(&seen).contains("one") {
                let mut buffer = [0; 512];
                let count = client.read(&mut buffer).unwrap();
                assert!(count > 0, "{}", String::from_utf8_lossy(&seen));
                seen.extend_from_slice(&buffer[..count]);
            }
        }
        drop(client);
        wait_until("the lab is left", || lab.gone() == nth + 1);
        let ended = wait_for("the end of the call", || {
            let events = stage.events(&run);
            let ended: Vec<_> =
                events.into_iter().filter(|event| event["type"] == "model_call_ended").collect();
            ended.get(nth).cloned()
        });
        assert_eq!((&ended["outcome"], &ended["tokens_in"]), (&json!("broken_off"), &Value::Null));
    }
    assert_eq!(stage.json(&["--json", "show", &run])["used"]["llm_calls"], 2);
}

#[test]
fn a_client_that_goes_away_before_the_usage_is_reported_is_still_charged() {
    let Land { stage, served, lab, admin } = land();
    let run = admin.run(APPROVAL);
    admin.question(&run);
    let barrier = Arc::new(Barrier::new(2));
    lab.will_say([Say::Halves(pieces()[..2].to_vec(), Arc::clone(&barrier), pieces()[2..].to_vec())]);
    let mut client = TcpStream::connect(served.address()).unwrap();
    let body = r#"{"stream": true}"#;
    let request = format!(
        "POST {CHAT} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\nx-envoi-a2a-context-id: {run}\r\ncontent-length: \
         {}\r\n\r\n{body}",
        served.address(),
        served.first.as_deref().unwrap(),
        body.len()
    );
    client.write_all(request.as_bytes()).unwrap();
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).contains("two") {
        let mut buffer = [0; 512];
        let count = client.read(&mut buffer).unwrap();
        assert!(count > 0, "{}", String::from_utf8_lossy(&seen));
        seen.extend_from_slice(&buffer[..count]);
    }
    drop(client);
    // By then the server has most likely seen that the client is gone. If not, the call ends as it would have.
    for _ in 0..20 {
        assert_eq!(admin.get("/v1/health").status, 200);
    }
    barrier.wait();
    let ended = wait_for("the end of the call", || {
        stage.events(&run).into_iter().find(|event| event["type"] == "model_call_ended")
    });
    assert_eq!((&ended["tokens_in"], &ended["tokens_out"]), (&json!(100), &json!(10)), "{ended}");
}

#[test]
fn a_call_under_way_when_the_server_is_killed_counts_once_and_the_run_goes_on() {
    let Land { stage, served, lab, admin } = land();
    let address = served.address();
    lab.will_say([Say::Hang(Vec::new())]);
    let script = r#"
import time
while True:
    try:
        status, said = ask({"messages": []})
    except OSError:
        time.sleep(0.05)
        continue
    if status == 200:
        break
say(status)
"#;
    let run = admin.run(&step("", script));
    wait_until("the lab is asked", || lab.asked().len() == 1);
    served.process.kill();
    wait_until("the lab is left", || lab.gone() == 1);
    let _after = Served::on(&stage, &address);
    admin.wait_until_run_is(&run, "succeeded");
    assert_eq!(stage.lines("did.txt"), ["200"]);
    let events = stage.events(&run);
    let calls: Vec<(String, Value)> = events
        .iter()
        .filter(|event| text(&event["type"]).starts_with("model_call"))
        .map(|event| (text(&event["call"]), event["outcome"].clone()))
        .collect();
    let (first, second) = (&calls[0].0, &calls[2].0);
    assert_ne!(first, second);
    let expected =
        [(first, Value::Null), (first, json!("broken_off")), (second, Value::Null), (second, json!("ok"))];
    assert_eq!(calls.iter().map(|(call, outcome)| (call, outcome.clone())).collect::<Vec<_>>(), expected);
    let used = stage.json(&["--json", "show", &run])["used"].clone();
    assert_eq!((&used["llm_calls"], &used["tokens_in"]), (&json!(2), &json!(100)));
}

#[test]
fn who_calls_a_conversation_as_another_client_does_is_charged_for_their_own_run() {
    let Land { stage, served, lab: _lab, admin } = land();
    let flow = "flow: gate\nsteps:\n  - id: approve\n    ask: 'Go?'\n";
    assert_eq!(admin.post("/v1/flows", flow).status, 201);
    let client = |name: &str, tenant: &str| {
        served.client(&token(&stage, &[name, "--scope", "admin", "--tenant", tenant]))
    };
    let (ann, bob, eve) = (client("ann", "local"), client("bob", "local"), client("eve", "local"));
    let begin = |client: &Client, context: &str| {
        let message = json!({"messageId": "1", "role": "ROLE_USER", "parts": [{"text": "x"}], "contextId": context,
            "metadata": {"urn:envoi:a2a:workspace": "shared"}});
        let body =
            json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}});
        let headers = [("a2a-version", "1.0"), ("content-type", "application/json")];
        let told = client.call("POST", "/a2a", &headers, body.to_string().as_bytes()).json();
        text(&told["result"]["task"]["id"])
    };
    let ask = |client: &Client, context: &str| {
        let body = json!({"messages": [{"role": "user", "content": "hello"}]}).to_string();
        client.call("POST", CHAT, &[("x-envoi-a2a-context-id", context)], body.as_bytes()).status
    };
    let (anns, bobs, alone) = (begin(&ann, "shared"), begin(&bob, "shared"), begin(&bob, "alone"));
    let paid = || [&anns, &bobs, &alone].map(|run| names(&stage.events(run)).len() / 2);
    assert_eq!((ask(&ann, "shared"), paid()), (200, [1, 0, 0]));
    assert_eq!((ask(&bob, "shared"), paid()), (200, [1, 1, 0]));
    assert_eq!((ask(&eve, "shared"), paid()), (400, [1, 1, 0]), "whose is meant?");
    assert_eq!((ask(&eve, "alone"), paid()), (200, [1, 1, 1]), "whoever calls for its only client");
}

#[test]
fn a_command_names_its_own_conversation_although_that_has_gone_on_in_another_run() {
    let Land { stage, served: _served, lab, admin } = land();
    let typed = [("content-type", "text/plain")];
    let file = admin.call("POST", "/v1/artifacts", &typed, b"minutes").json();
    let script = format!(
        "import time\nwhile not os.path.exists('go'): time.sleep(0.02)\nask({{'user': 'Sum up.', 'attachments': \
         [json.loads('{file}')]}}, '', {{'x-envoi-a2a-context-id': 'shared'}})"
    );
    assert_eq!(admin.post("/v1/flows", &step("", &script)).status, 201);
    let begin = |id: &str| {
        let message = json!({"messageId": id, "role": "ROLE_USER", "parts": [{"text": "x"}], "contextId": "shared",
            "metadata": {"urn:envoi:a2a:workspace": "shared"}});
        let params = json!({"message": message, "configuration": {"returnImmediately": true}});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
        let headers = [("a2a-version", "1.0"), ("content-type", "application/json")];
        let told = admin.call("POST", "/a2a", &headers, body.to_string().as_bytes()).json();
        text(&told["result"]["task"]["id"])
    };
    let (older, newer) = (begin("1"), begin("2"));
    stage.write("go", "");
    for run in [&older, &newer] {
        admin.wait_until_run_is(run, "succeeded");
        assert_eq!(names(&stage.events(run)).len(), 2, "each pays its own");
    }
    let users: Vec<Value> = lab.asked().iter().map(|asked| asked.user()).collect();
    let shown =
        |user: &Value| user.as_array().is_some_and(|parts| text(&parts[1]["text"]).ends_with("minutes"));
    assert!(users.len() == 2 && users.iter().all(shown), "{users:?}");
}

#[test]
fn a_server_that_is_stopped_ends_at_once_and_aborts_its_calls() {
    let Land { stage, served, lab, admin } = land();
    let run = admin.run(APPROVAL);
    admin.question(&run);
    lab.will_say([Say::Hang(pieces()[..1].to_vec())]);
    let asking = admin.clone();
    let context = run.clone();
    let asked = std::thread::spawn(move || {
        let headers = [("x-envoi-a2a-context-id", context.as_str())];
        asking.try_call("POST", CHAT, &headers, br#"{"stream": true}"#)
    });
    wait_until("the lab is asked", || lab.asked().len() == 1);
    wait_until("the call stands", || names(&stage.events(&run)).len() == 1);
    served.process.signal(rustix::process::Signal::TERM);
    let done = served.process.done();
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(asked.join().unwrap().is_err(), "the client sees that the answer is not whole");
    wait_until("the lab is left", || lab.gone() == 1);
    // By this engine, or by the next one.
    let _after = Served::start(&stage);
    let question = text(&stage.json(&["--json", "inbox"])[0]["question"]);
    let reply = stage.envoi(&["approve", &question]);
    assert_eq!(reply.code, Some(0), "{reply:?}");
    let ended = stage.events(&run).into_iter().find(|event| event["type"] == "model_call_ended").unwrap();
    assert_eq!(ended["outcome"], "broken_off");
}
