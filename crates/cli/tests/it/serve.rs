//! `envoi serve` over real sockets: runs from start to answer, streams across restarts, the permissions of a token.

mod attached;
mod backup;
mod bridge;
pub(crate) mod client;
mod correcting;
mod crowd;
mod described;
mod door;
mod fair;
mod files;
mod going_on;
mod keys;
mod lab;
mod logged;
mod pages;
mod part;
mod registered;
mod scopes;
mod steps;
mod streams;
mod tenants;

use crate::stage::{Dice, Stage, lives, text, wait_for, wait_until};
use client::{Client, Served, token};
use rustix::process::Signal;
use serde_json::json;
use std::fs;

/// A step, a question, a step; each leaves a line.
pub(crate) const APPROVAL: &str = "
flow: publish
steps:
  - id: draft
    run: echo draft >> did.txt; echo words > notes.md
    artifacts: [notes.md]
  - id: approve
    ask: 'Publish it?'
  - id: publish
    run: echo publish >> did.txt
";

/// A server with its first token, and a client that has it.
fn served(stage: &Stage) -> (Served, Client) {
    let served = Served::start(stage);
    let client = served.client(served.first.as_deref().unwrap());
    (served, client)
}

#[test]
fn a_run_is_started_answered_and_ended_over_rest() {
    let stage = Stage::new();
    let (served, admin) = served(&stage);
    let run = admin.run(APPROVAL);
    let question = admin.question(&run);
    let shown = admin.json(&format!("/v1/questions/{question}"));
    assert_eq!(shown["choices"], json!(["approve", "deny"]));
    let person = served.client(&token(&stage, &["ann", "--scope", "answer"]));
    let body = json!({"choice": "approve", "text": " fine ", "seen": shown["subject"]}).to_string();
    let answered = person.post(&format!("/v1/questions/{question}/answer"), &body);
    assert_eq!(answered.status, 200, "{}", answered.text());
    assert_eq!(answered.json()["answered_by"], "ann");
    admin.wait_until_run_is(&run, "succeeded");
    assert_eq!(stage.lines("did.txt"), ["draft", "publish"]);
    // The command line sees the same run, and the answer has the name of the token.
    let events = stage.events(&run);
    let answer = events.iter().find(|event| event["type"] == "interrupt_answered").unwrap();
    assert_eq!([&answer["by"]["actor"], &answer["channel"]], ["ann", "rest"]);
    let envelope = admin.json(&format!("/v1/runs/{run}/envelope"));
    assert_eq!(envelope["terminal_reason"], "completed");
    let handoff = admin.get(&format!("/v1/runs/{run}/handoffs/draft"));
    assert_eq!(handoff.text(), stage.expect(0, &["show", &run, "--handoff", "draft"]).out);
}

#[test]
fn an_answer_that_is_only_recorded_leaves_the_run_where_it_is() {
    let stage = Stage::new();
    let (_served, admin) = served(&stage);
    let run = admin.run(APPROVAL);
    let question = admin.question(&run);
    let body = r#"{"choice": "approve", "resume": false}"#;
    assert_eq!(admin.post(&format!("/v1/questions/{question}/answer"), body).status, 200);
    assert_eq!(stage.lines("did.txt"), ["draft"]);
    let shown = admin.json(&format!("/v1/runs/{run}"));
    assert_eq!([&shown["status"], &shown["activity"], &shown["stands"]], ["running", "stopped", "stopped"]);
    assert_eq!(admin.post(&format!("/v1/runs/{run}/resume"), "").status, 202);
    admin.wait_until_run_is(&run, "succeeded");
    assert_eq!(stage.lines("did.txt"), ["draft", "publish"]);
}

#[test]
fn an_answer_after_kill_9_and_a_restart_counts_once_and_the_run_goes_on() {
    let stage = Stage::new();
    let (before, admin) = served(&stage);
    let address = before.address();
    let run = admin.run(APPROVAL);
    let question = admin.question(&run);
    before.process.kill();
    let _after = Served::on(&stage, &address);
    let path = format!("/v1/questions/{question}/answer");
    let (key, body) = ([("idempotency-key", "once")], br#"{"choice": "approve"}"#);
    for round in 0..3 {
        let answered = admin.call("POST", &path, &key, body);
        assert_eq!(answered.status, 200, "round {round}: {}", answered.text());
    }
    let other = admin.call("POST", &path, &key, br#"{"choice": "deny"}"#);
    assert_eq!((other.status, other.json()["code"].as_str()), (422, Some("KEY_REUSED")));
    assert_eq!(
        admin.post(&path, r#"{"choice": "approve"}"#).status,
        409,
        "without the key it is another one"
    );
    admin.wait_until_run_is(&run, "succeeded");
    assert_eq!(stage.lines("did.txt"), ["draft", "publish"]);
}

#[test]
fn a_start_with_a_key_starts_one_run_wherever_the_server_is_killed() {
    let stage = Stage::new();
    let (first, admin) = served(&stage);
    let address = first.address();
    let flow = "flow: tick\nsteps:\n  - id: a\n    run: echo a >> did.txt\n";
    assert_eq!(admin.post("/v1/flows", flow).status, 201);
    let mut dice = Dice::new();
    let mut server = Some(first);
    let rounds = 6;
    for round in 0..rounds {
        let key = format!("round-{round}");
        let ask = |client: &Client| {
            let headers = [("idempotency-key", key.as_str())];
            client.try_call("POST", "/v1/runs", &headers, br#"{"flow": "tick", "workspace": "shared"}"#)
        };
        let asking = admin.clone();
        std::thread::scope(|scope| {
            scope.spawn(|| drop(ask(&asking)));
            std::thread::park_timeout(dice.micros(0, 30_000));
            server.take().unwrap().process.kill();
        });
        server = Some(Served::on(&stage, &address));
        let again = ask(&admin).unwrap();
        assert!([200, 201].contains(&again.status), "{}", again.text());
        let run = text(&again.json()["run"]);
        admin.wait_until_run_is(&run, "succeeded");
        let once_more = ask(&admin).unwrap();
        assert_eq!((once_more.status, text(&once_more.json()["run"])), (200, run));
    }
    assert_eq!(admin.json("/v1/runs")["runs"].as_array().unwrap().len(), rounds);
    assert_eq!(stage.lines("did.txt").len(), rounds);
}

#[test]
fn a_key_is_of_the_token_that_brings_it_for_starts_and_forks_too() {
    let stage = Stage::new();
    let (served, admin) = served(&stage);
    let flow = "flow: tick\nsteps:\n  - id: a\n    run: echo a >> did.txt\n";
    assert_eq!(admin.post("/v1/flows", flow).status, 201);
    let other = served.client(&token(&stage, &["other", "--scope", "run"]));
    let key = [("idempotency-key", "1")];
    let ask = |client: &Client, path: &str, body: &str| client.call("POST", path, &key, body.as_bytes());
    let start = |client: &Client| ask(client, "/v1/runs", r#"{"flow": "tick", "workspace": "shared"}"#);
    let mut runs = Vec::new();
    for client in [&admin, &other] {
        let (first, again) = (start(client), start(client));
        assert_eq!((first.status, again.status), (201, 200), "{}", again.text());
        assert_eq!(first.json()["run"], again.json()["run"]);
        runs.push(text(&first.json()["run"]));
    }
    assert_ne!(runs[0], runs[1], "two scripts that number their keys do not take each other's runs");
    // A fork has the workspace for itself.
    runs.iter().for_each(|run| admin.wait_until_run_is(run, "succeeded"));
    let path = format!("/v1/runs/{}/fork", runs[0]);
    let fork = |client: &Client| client.call("POST", &path, &[("idempotency-key", "f")], br#"{"from": "a"}"#);
    let forks = [&admin, &other].map(|client| {
        let forked = fork(client);
        assert_eq!(forked.status, 201, "{}", forked.text());
        let run = text(&forked.json()["run"]);
        admin.wait_until_run_is(&run, "succeeded");
        run
    });
    assert_ne!(forks[0], forks[1]);
}

#[test]
fn requests_with_one_key_at_once_start_one_run() {
    let stage = Stage::new();
    let (_served, admin) = served(&stage);
    assert_eq!(
        admin.post("/v1/flows", "flow: tick\nsteps:\n  - id: a\n    run: echo a >> did.txt\n").status,
        201
    );
    for round in 0..10 {
        let key = format!("round-{round}");
        let ask = || {
            let headers = [("idempotency-key", key.as_str())];
            admin.call("POST", "/v1/runs", &headers, br#"{"flow": "tick", "workspace": "shared"}"#)
        };
        let replies = std::thread::scope(|scope| {
            let asking: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
            asking.into_iter().map(|asking| asking.join().unwrap()).collect::<Vec<_>>()
        });
        let mut statuses: Vec<u16> = replies.iter().map(|reply| reply.status).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 200, 200, 201], "{replies:?}");
        assert!(replies.iter().all(|reply| reply.json()["run"] == replies[0].json()["run"]));
    }
    assert_eq!(admin.json("/v1/runs")["runs"].as_array().unwrap().len(), 10);
}

#[test]
fn a_server_that_is_stopped_ends_at_once_and_the_step_goes_on() {
    let stage = Stage::new();
    let (before, admin) = served(&stage);
    let address = before.address();
    let flow =
        "flow: slow\nsteps:\n  - id: a\n    run: while [ ! -e go ]; do sleep 0.05; done; echo a >> did.txt\n";
    let run = admin.run(flow);
    let mut stream = admin.follow(&format!("/v1/runs/{run}/stream"), None).unwrap();
    assert_eq!(stream.next().unwrap().event, "run_started");
    assert_eq!(stream.next().unwrap().event, "attempt_started");
    let supervisor = wait_for("the supervisor", || stage.supervisor("a.1.1"));
    before.process.signal(Signal::TERM);
    assert!(stream.next().is_none() && !stream.broke_off, "the stream ends in order");
    let done = before.process.done();
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(lives(supervisor), "live steps are not ended by it");
    let _after = Served::on(&stage, &address);
    stage.write("go", "");
    admin.wait_until_run_is(&run, "succeeded");
    assert_eq!(stage.lines("did.txt"), ["a"]);
    // A reader that comes back with its last event gets the rest and nothing twice.
    let rest: Vec<String> =
        admin.follow(&format!("/v1/runs/{run}/stream"), Some("1")).unwrap().map(|told| told.id).collect();
    assert_eq!(rest, (2..2 + rest.len()).map(|seq| seq.to_string()).collect::<Vec<_>>());
    assert!(rest.len() > 2);
}

#[test]
fn a_run_of_another_terminal_is_handed_to_the_server_and_seen_there() {
    let stage = Stage::with_flow(APPROVAL);
    let (served, admin) = served(&stage);
    let pid = served.process.pid();
    let done = stage.expect(3, &["run", "flow.yaml"]);
    let run = stage.run_id();
    assert_eq!(admin.json(&format!("/v1/runs/{run}"))["status"], "waiting", "{done:?}");
    stage.expect(0, &["approve"]);
    assert_eq!(admin.json(&format!("/v1/runs/{run}"))["status"], "succeeded");
    assert!(lives(pid), "the server stays when the run is over");
    let second = stage.envoi(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(second.code, Some(6), "{second:?}");
    assert!(second.err.contains("ENGINE_BUSY"), "{second:?}");
}

#[test]
fn other_names_and_other_pages_are_turned_away() {
    let stage = Stage::new();
    stage.write(
        ".envoi/config.yaml",
        "server: { hosts: [envoi.example], origins: ['https://app.example'] }\n",
    );
    let (served, admin) = served(&stage);
    let own = served.url.clone();
    for (name, value, status, code) in [
        ("host", "evil.example", 421, "HOST_NOT_ALLOWED"),
        ("host", "127.0.0.1", 421, "HOST_NOT_ALLOWED"),
        ("host", "ENVOI.example", 200, ""),
        ("origin", "https://evil.example", 403, "ORIGIN_NOT_ALLOWED"),
        ("origin", "null", 403, "ORIGIN_NOT_ALLOWED"),
        ("origin", "https://app.example.evil", 403, "ORIGIN_NOT_ALLOWED"),
        ("origin", "https://app.example", 200, ""),
        ("origin", &own, 200, ""),
    ] {
        let reply = admin.call("GET", "/v1/health", &[(name, value)], &[]);
        assert_eq!(reply.status, status, "{name} {value}: {}", reply.text());
        assert_eq!(reply.json()["code"].as_str().unwrap_or_default(), code, "{name} {value}");
    }
}

#[test]
fn a_certificate_makes_it_https() {
    let stage = Stage::new();
    stage.write(".envoi/chain.pem", include_str!("serve/certificate.pem"));
    stage.write(".envoi/key.pem", include_str!("serve/key.pem"));
    stage.write(".envoi/config.yaml", "server: { tls: { certificate: chain.pem, key: key.pem } }\n");
    let (served, admin) = served(&stage);
    assert!(served.url.starts_with("https://"), "{}", served.url);
    assert_eq!(admin.json("/v1/health"), json!({"status": "ok"}));
    let plain = Client::new(&format!("http://{}", served.address()), served.first.as_deref());
    assert!(plain.try_call("GET", "/v1/health", &[], &[]).is_err(), "nothing is said in the clear");
    // A server that cannot come up reports that before it looks for another one.
    stage.write(".envoi/key.pem", "no key");
    let done = stage.envoi(&["serve", "--listen", "127.0.0.1:0", "--take-over"]);
    assert_eq!(done.code, Some(2), "{done:?}");
    assert!(done.err.contains("TLS_UNUSABLE") && done.err.contains("key.pem"), "{done:?}");
    assert_eq!(admin.json("/v1/health"), json!({"status": "ok"}), "the other one stays the engine");
}

#[test]
fn a_certificate_that_cannot_be_read_keeps_the_server_down_before_anything() {
    let stage = Stage::new();
    stage.write(".envoi/config.yaml", "server: { tls: { certificate: chain.pem, key: key.pem } }\n");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let done = stage.envoi(&["serve", "--listen", &address]);
    assert_eq!(done.code, Some(2), "not even the address is looked at: {done:?}");
    assert!(done.err.contains("TLS_UNUSABLE") && done.err.contains("chain.pem"), "{done:?}");
    assert_eq!(done.out, "", "no token was made that nobody would see");
    fs::remove_file(stage.path(".envoi/config.yaml")).unwrap();
    served(&stage);
}

#[test]
fn a_question_whose_time_runs_out_while_no_server_is_there_expires_when_one_comes_up() {
    let stage = Stage::new();
    let (mut server, admin) = served(&stage);
    let address = server.address();
    let expired = |run: &str| stage.events(run).iter().any(|event| event["type"] == "interrupt_expired");
    // Twice as much time each time, until the server is gone before the question is.
    for seconds in [1, 2, 4, 8, 16, 32] {
        let flow = format!(
            "flow: waits\nsteps:\n  - id: sure\n    ask: {{ message: 'Sure?', expires_in: {seconds}s }}\n"
        );
        let run = admin.run(&flow);
        let question = admin.question(&run);
        server.process.kill();
        let gone_before = expired(&run);
        wait_until("its time", || {
            let listed = stage.json(&["--json", "inbox", "--all"]);
            let of_run = |row: &&serde_json::Value| row["run"] == json!(run);
            listed.as_array().unwrap().iter().find(of_run).unwrap()["state"] != "open"
        });
        assert_eq!(expired(&run), gone_before, "nobody was there to see it");
        server = Served::on(&stage, &address);
        // There is no request: the server applies it by itself.
        wait_until("the end", || expired(&run));
        admin.wait_until_run_is(&run, "failed");
        assert_eq!(admin.json(&format!("/v1/questions/{question}"))["state"], "expired");
        if !gone_before {
            return;
        }
    }
    panic!("each question was gone before its server");
}

#[test]
fn a_configuration_with_mistakes_keeps_the_server_down_and_says_all_of_them() {
    let stage = Stage::new();
    stage.write(".envoi/config.yaml", "server: { listen: here, prot: 1 }\n");
    let done = stage.envoi(&["serve"]);
    assert_eq!(done.code, Some(2), "{done:?}");
    for words in ["CONFIG_INVALID", "`listen`", "unknown key `prot`"] {
        assert!(done.err.contains(words), "{words}: {done:?}");
    }
}

#[test]
fn an_address_in_use_is_reported_and_the_store_stays_free() {
    let stage = Stage::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let done = stage.envoi(&["serve", "--listen", &address]);
    assert_eq!(done.code, Some(8), "{done:?}");
    assert!(done.err.contains("ADDRESS_UNUSABLE"), "{done:?}");
    served(&stage);
}

#[test]
fn tokens_are_made_once_listed_without_themselves_and_revoked_at_once() {
    let stage = Stage::new();
    let made = token(
        &stage,
        &["ci", "--scope", "run", "--scope", "answer", "--tenant", "north", "--expires", "30d"],
    );
    let taken = stage.envoi(&["token", "create", "ci", "--tenant", "north"]);
    assert!(taken.code == Some(6) && taken.err.contains("TOKEN_NAME_TAKEN"), "{taken:?}");
    let bad = stage.envoi(&["token", "create", "a b"]);
    assert!(bad.code == Some(2) && bad.err.contains("TOKEN_INVALID"), "{bad:?}");
    let listed = stage.expect(0, &["--json", "token", "list"]).out;
    assert!(!listed.contains(made.rsplit('_').next().unwrap()), "{listed}");
    let rows: serde_json::Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(rows[0]["scopes"], json!(["read", "answer", "run"]));
    assert_eq!([&rows[0]["state"], &rows[0]["tenant"]], ["good", "north"]);
    let served = Served::start(&stage);
    assert_eq!(served.first, None, "there is a token already");
    let client = served.client(&made);
    assert_eq!(client.get("/v1/runs").status, 200);
    let mut stream = client.follow("/v1/questions/stream", None).unwrap();
    assert_eq!(stream.status, 200);
    stage.expect(0, &["token", "revoke", "ci"]);
    assert_eq!(client.get("/v1/runs").status, 401);
    // A stream that is open shows nothing more.
    let admin = served.client(&token(&stage, &["boss", "--scope", "admin", "--tenant", "north"]));
    admin.run(APPROVAL);
    assert!(stream.next().is_none(), "it ends instead");
    let nobody = stage.envoi(&["token", "revoke", "nobody"]);
    assert!(nobody.code == Some(2) && nobody.err.contains("TOKEN_NOT_FOUND"), "{nobody:?}");
    let states = stage.json(&["--json", "token", "list"]);
    wait_until("its state", || states.as_array().unwrap().iter().any(|row| row["state"] == "revoked"));
}
