//! A server whose runs put a secret into every text: its REST and A2A responses, its logs, and its notices.

use super::{BEARER, EVERY_WAY, Leaky, seeds};
use crate::{
    a2a::peer::{Peer, Way},
    notify::receiver::{OK, Receiver},
    serve::client::{Client, Served},
    stage::{Process, text},
};
use rustix::process::Signal;
use serde_json::{Value, json};

/// The outputs about the run, one after the other.
#[derive(Default)]
struct Heard(Vec<u8>);

impl Heard {
    fn hear(&mut self, text: &[u8]) {
        self.0.extend(text);
        self.0.push(b'\n');
    }

    /// Everything that can be got of a run over REST.
    fn hear_rest(&mut self, client: &Client, run: &str) {
        let of_run = [
            "",
            "/artifacts",
            "/bundle",
            "/diff",
            "/envelope",
            "/events?limit=200",
            "/files",
            "/flow",
            "/handoffs",
            "/ledger",
            "/logs",
            "/patch",
            "/shape",
            "/steps",
            "/why",
        ];
        let mut paths: Vec<String> = of_run.iter().map(|path| format!("/v1/runs/{run}{path}")).collect();
        paths.extend(
            ["/v1/runs", "/v1/metrics", "/v1/questions", "/v1/questions?closed=true"].map(str::to_owned),
        );
        for row in client.json(&format!("/v1/runs/{run}/handoffs"))["handoffs"].as_array().unwrap() {
            paths.push(format!("/v1/runs/{run}/handoffs/{}", text(&row["handoff"])));
        }
        for row in client.json(&format!("/v1/questions?run={run}"))["questions"].as_array().unwrap() {
            paths.push(format!("/v1/questions/{}", text(&row["question"])));
        }
        for event in client.json(&format!("/v1/runs/{run}/events?limit=200"))["events"].as_array().unwrap() {
            if event["event"]["type"] == "attempt_settled" {
                let attempt = text(&event["event"]["attempt"]);
                paths.extend(
                    ["stdout", "stderr"].map(|stream| format!("/v1/runs/{run}/logs/{attempt}/{stream}")),
                );
            }
        }
        for path in paths {
            let reply = client.get(&path);
            self.hear(format!("{path} {:?}", reply.headers).as_bytes());
            self.hear(&reply.body);
        }
    }

    /// And over A2A, in each way.
    fn hear_a2a(&mut self, client: &Client, task: &str) {
        for way in [Way::Rpc, Way::Rest, Way::Old] {
            let peer = Peer::new(client, way);
            self.hear(peer.get(task).unwrap().to_string().as_bytes());
        }
        let peer = Peer::new(client, Way::Rpc);
        self.hear(&peer.call("ListTasks", json!({"includeArtifacts": true}), &[]).body);
        self.hear(&client.get("/.well-known/agent-card.json").body);
    }
}

#[test]
fn no_spelling_of_a_secret_is_shown_logged_or_told_by_a_server() {
    // A single seed: there is much output, and each piece is searched.
    for seed in seeds().into_iter().rev().take(1) {
        let leaky = Leaky::new(seed, "");
        let (_agent, agent) = leaky.serving("agent.py");
        let (_provider, provider) = leaky.serving("provider.py");
        let hooks = Receiver::new(&[OK]);
        leaky.stage.write(
            ".envoi/config.yaml",
            format!(
                "server: {{ a2a: {{ workspace: shared, push: {{ allow: [127.0.0.1] }} }} }}\nnotify: {{ webhook: '{}' }}\nmodels:\n  providers:\n    lab: {{ url: '{provider}', \
                 key: {{ env: BEARER }} }}\n  offer:\n    small: {{ provider: lab, name: fails }}\n",
                hooks.url
            ),
        );
        let others = format!(
            "  - {{ id: model, model: {{ use: small, prompt: 'Say it.' }}, continue_on_error: true }}\n  - {{ id: agent, a2a: {{ url: '{agent}', message: fail, token: {{ env: \
             BEARER }} }}, continue_on_error: true }}\n  - id: sure\n"
        );
        let flow = EVERY_WAY.replace("  - id: sure\n", &others);
        let mut command = leaky.stage.command(&[
            "--json",
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--log",
            "trace",
            "--log-format",
            "json",
        ]);
        let served =
            Served::said(Process::spawn(command.env("MY_TOKEN", &leaky.token).env("BEARER", BEARER)));
        let client = served.client(served.first.as_deref().unwrap());
        let registered = client.post("/v1/flows", &flow);
        assert_eq!(registered.status, 201, "{}", registered.text());
        let peer = Peer::new(&client, Way::Rpc);
        let posts = Receiver::new(&[OK]);
        let message = peer.message("first", &[peer.text("go")], &Value::Null);
        let configuration = json!({"taskPushNotificationConfig": {"url": posts.url}});
        let begun =
            peer.call("SendMessage", json!({"message": message, "configuration": configuration}), &[]);
        let task = begun.json()["result"]["task"].clone();
        peer.assert_state(&task, "INPUT_REQUIRED");
        let run = text(&task["id"]);
        let mut heard = Heard::default();
        heard.hear(&begun.body);
        heard.hear_rest(&client, &run);
        heard.hear_a2a(&client, &run);
        let ended = peer.say(&run, "second", "approve").unwrap();
        peer.assert_state(&ended, "FAILED");
        heard.hear_rest(&client, &run);
        heard.hear_a2a(&client, &run);
        for told in peer.subscribe(&run, Some("0")).unwrap() {
            heard.hear(told.data.to_string().as_bytes());
        }
        loop {
            let post = posts.next();
            heard.hear(format!("{}\n{}", post.head, post.body).as_bytes());
            if serde_json::from_str::<Value>(&post.body).unwrap()["statusUpdate"]["status"]["state"]
                == "TASK_STATE_FAILED"
            {
                break;
            }
        }
        // The notices of the question, and of the end.
        for _ in 0..2 {
            let hook = hooks.next();
            heard.hear(format!("{}\n{}", hook.head, hook.body).as_bytes());
        }
        served.process.signal(Signal::TERM);
        let done = served.process.done();
        assert!(done.err.contains("attempt_settled"), "{done:?}");
        assert!(
            String::from_utf8_lossy(&heard.0).matches("***").count() > 100,
            "a secret was printed, and masked"
        );
        leaky.assert_clean_text(&heard.0);
        leaky.assert_clean(&[&done]);
    }
}
