//! A run that is set aside does not end its task. A client that waits, follows the stream or gets push notifications learns the
//! reason.

use super::{
    peer::{Peer, Way},
    served,
};
use crate::{
    notify::receiver::{OK, Receiver, Request},
    repair::sql,
    serve::client::Served,
    stage::{Stage, text, wait_until},
};
use serde_json::{Value, json};

const WAYS: [Way; 3] = [Way::Rpc, Way::Rest, Way::Old];

/// Its first step puts a file where its hand-offs belong; the last one waits until it is let go.
const NASTY: &str = "
flow: nasty
steps:
  - id: first
    run: 'rm -rf \"$ENVOI_RUN_BASE/nasty\"; touch \"$ENVOI_RUN_BASE/nasty\"'
  - id: second
    run: while [ ! -e go ]; do sleep 0.02; done; echo done
";

fn stage() -> Stage {
    let stage = Stage::new();
    stage.write(
        ".envoi/config.yaml",
        "server: { a2a: { workspace: shared, push: { allow: [127.0.0.1] } } }\n",
    );
    stage
}

/// Takes the cause away and has the run tried again.
fn resume(stage: &Stage, run: &str) {
    std::fs::remove_file(stage.store().join("runs").join(run).join("nasty")).unwrap();
    stage.expect(0, &["resume", run, "--detach"]);
}

/// Whether a status shows that its run is set aside.
fn says_aside(peer: &Peer, status: &Value) -> bool {
    assert_eq!(status["state"], peer.word("WORKING"), "it is no end: {status:#}");
    let message = &status["message"];
    let words = message["parts"][0]["text"].as_str().unwrap_or_default();
    let detail = &message["metadata"]["urn:envoi:a2a:set_aside"];
    let says = detail["code"].is_string() && detail["since"].is_string();
    assert_eq!(
        says,
        words.starts_with("set aside: ") && words.ends_with("; an operator must resume the run")
    );
    says
}

/// The status in a message, by any of its names.
fn status(told: &Value) -> Value {
    let found = ["/statusUpdate/status", "/task/status", "/status"];
    found.iter().find_map(|place| told.pointer(place)).cloned().unwrap_or_default()
}

#[test]
fn a_blocking_message_and_a_look_at_the_task_say_that_it_is_set_aside() {
    for way in WAYS {
        let stage = stage();
        let (_served, client) = served(&stage, NASTY);
        let peer = Peer::new(&client, way);
        let task = peer.start("x");
        assert!(says_aside(&peer, &task["status"]), "{way:?} {task:#}");
        assert_eq!(task["metadata"]["urn:envoi:a2a:set_aside"]["code"], "RUN_FILES_FAILED");
        let run = text(&task["id"]);
        assert!(says_aside(&peer, &peer.get(&run).unwrap()["status"]));
        let cancelled = peer.cancel(&run).unwrap();
        assert!(says_aside(&peer, &cancelled["status"]), "it is tried, and cannot end: {cancelled:#}");
        let envelope = client.json(&format!("/v1/runs/{run}/envelope"));
        let ended = [&envelope["terminated"], &envelope["terminal_reason"], &envelope["completed_at"]];
        assert_eq!(ended, [&json!(false), &Value::Null, &Value::Null], "{way:?}");
        resume(&stage, &run);
        client.wait_until_run_is(&run, "cancelled");
        let task = peer.get(&run).unwrap();
        peer.assert_state(&task, "CANCELED");
        assert_eq!(task["metadata"]["urn:envoi:a2a:set_aside"], Value::Null);
        assert_eq!(client.json(&format!("/v1/runs/{run}/envelope"))["terminal_reason"], "user_cancelled");
    }
}

#[test]
fn a_task_whose_events_cannot_be_read_is_no_end_and_the_other_ones_are_served() {
    const ASKS: &str = "flow: asks\nsteps:\n  - { id: a, ask: { message: Go on?, expires_in: 100d } }\n  - { id: b, run: echo b }\n";
    for way in WAYS {
        let stage = stage();
        let (before, client) = served(&stage, ASKS);
        let token = before.first.clone().unwrap();
        let peer = Peer::new(&client, way);
        let run = text(&peer.start("x")["id"]);
        let whole = client.run(ASKS);
        client.wait_until_run_is(&whole, "waiting");
        before.process.kill();
        let change = |from: &str, to: &str| {
            let event = format!("run = (SELECT run FROM journals WHERE id = '{run}') AND seq = 1");
            sql(&stage, &format!("UPDATE events SET body = replace(body, '{from}', '{to}') WHERE {event}"));
        };
        change("{\"type\":", "{\"kind\":");
        let after = Served::start(&stage);
        let client = after.client(&token);
        let peer = Peer::new(&client, way);
        client.wait_until_run_is(&whole, "waiting");
        wait_until("the run to be aside", || {
            client.json(&format!("/v1/runs/{run}"))["activity"] == "set_aside"
        });
        let task = peer.get(&run).unwrap();
        assert!(says_aside(&peer, &task["status"]), "{way:?} {task:#}");
        assert_eq!(task["metadata"]["urn:envoi:a2a:set_aside"]["code"], "RUN_UNREADABLE", "{way:?} {task:#}");
        let row = client.json(&format!("/v1/runs/{run}"));
        assert_eq!(
            (&row["activity"], &row["set_aside"]["code"]),
            (&json!("set_aside"), &json!("RUN_UNREADABLE"))
        );
        let resumed = client.post(&format!("/v1/runs/{run}/resume"), "{}");
        assert_eq!(
            (resumed.status, &resumed.json()["code"]),
            (409, &json!("RUN_SET_ASIDE")),
            "{}",
            resumed.text()
        );
        assert_eq!(client.json("/v1/runs")["runs"].as_array().unwrap().len(), 2);
        // It takes no other task out of a list.
        if way != Way::Old {
            let listed = match way {
                Way::Rest => peer.ask("GET", "/tasks", &Value::Null, &[]).json(),
                _ => peer.call("ListTasks", json!({}), &[]).json()["result"].clone(),
            };
            assert_eq!(listed["tasks"].as_array().map(Vec::len), Some(2), "{way:?} {listed:#}");
        }
        stage.expect(0, &["approve", &whole]);
        change("{\"kind\":", "{\"type\":");
        stage.expect(3, &["resume", &run]);
        assert_eq!(client.json(&format!("/v1/runs/{run}"))["set_aside"], Value::Null);
        peer.assert_state(&peer.get(&run).unwrap(), "INPUT_REQUIRED");
    }
}

#[test]
fn a_message_to_a_task_that_cannot_be_read_and_a_stream_of_it_say_what_a_look_at_it_says() {
    const ASKS: &str = "flow: asks\nsteps:\n  - { id: a, ask: Go on? }\n  - { id: b, run: echo b }\n";
    // The second one can be decoded, and contradicts the event before it.
    for damage in ["body = substr(body, 1, 20)", "at_ms = 1"] {
        for way in WAYS {
            let stage = stage();
            let (_served, client) = served(&stage, ASKS);
            let peer = Peer::new(&client, way);
            let run = text(&peer.start("x")["id"]);
            let event = format!("run = (SELECT run FROM journals WHERE id = '{run}') AND seq = 1");
            sql(&stage, &format!("UPDATE events SET {damage} WHERE {event}"));
            let task = peer.get(&run).unwrap();
            assert!(says_aside(&peer, &task["status"]), "{way:?} {damage} {task:#}");
            let refused = peer.say(&run, "second", "yes").unwrap_err();
            assert!(refused.text.contains("RUN_SET_ASIDE"), "{way:?} {damage} {}", refused.text);
            assert!(refused.message.contains("is set aside"), "{way:?} {damage} {}", refused.message);
            let streamed = peer.told(peer.subscribe(&run, None).unwrap());
            assert_eq!(streamed.len(), 1, "{way:?} {damage} {streamed:?}");
            assert!(says_aside(&peer, &status(&streamed[0].1)), "{way:?} {damage} {streamed:?}");
        }
    }
}

#[test]
fn a_stream_of_a_message_ends_when_the_run_is_set_aside_and_a_follower_hears_that_it_goes_on() {
    for way in WAYS {
        let stage = stage();
        let (_served, client) = served(&stage, NASTY);
        let peer = Peer::new(&client, way);
        let told = peer.told(peer.stream(peer.message("m", &[peer.text("x")], &Value::Null)));
        let (id, last) = told.last().unwrap();
        assert!(says_aside(&peer, &status(last)), "{way:?} {told:#?}");
        assert_eq!(last["final"], if way == Way::Old { json!(true) } else { Value::Null });
        let first = &told[0].1;
        let run = text(if way == Way::Old { &first["id"] } else { &first["task"]["id"] });
        // A client that subscribes again with the last id gets the reason again: the run is still set aside.
        let mut again = peer.subscribe(&run, Some(id)).unwrap();
        let mut stream = peer.subscribe(&run, None).unwrap();
        let strip = |data: Value| if way == Way::Rest { data } else { data["result"].clone() };
        let mut next = || stream.next().map(|told| strip(told.data)).unwrap();
        assert!(says_aside(&peer, &status(&strip(again.next().unwrap().data))));
        next();
        assert!(says_aside(&peer, &status(&next())));
        resume(&stage, &run);
        let goes_on = status(&next());
        assert!(!says_aside(&peer, &goes_on), "{goes_on:#}");
        assert!(!says_aside(&peer, &status(&strip(again.next().unwrap().data))));
        stage.write("go", "");
        assert_eq!(status(&next())["state"], peer.word("COMPLETED"));
        assert_eq!(peer.told(again).len(), 1);
    }
}

#[test]
fn a_receiver_is_posted_once_that_the_run_is_set_aside_and_once_that_it_goes_on() {
    let stage = stage();
    let receiver = Receiver::new(&[OK]);
    let (_served, client) = served(&stage, NASTY);
    let peer = Peer::new(&client, Way::Rpc);
    let message = peer.message("first", &[peer.text("hello")], &Value::Null);
    let params = json!({"message": message,
        "configuration": {"taskPushNotificationConfig": {"url": receiver.url}}});
    let task = peer.call("SendMessage", params, &[]).json()["result"]["task"].clone();
    let body = |request: &Request| serde_json::from_str::<Value>(&request.body).unwrap();
    let mut told = vec![receiver.next()];
    while !says_aside(&peer, &status(&body(told.last().unwrap()))) {
        told.push(receiver.next());
    }
    let run = text(&task["id"]);
    resume(&stage, &run);
    let goes_on = receiver.next();
    assert!(!says_aside(&peer, &status(&body(&goes_on))));
    stage.write("go", "");
    let end = receiver.next();
    assert_eq!(status(&body(&end))["state"], "TASK_STATE_COMPLETED");
    told.extend([goes_on, end]);
    let mut keys: Vec<_> = told.iter().map(|request| request.header("idempotency-key").unwrap()).collect();
    keys.dedup();
    assert_eq!(keys.len(), told.len(), "each has a key of its own: {keys:?}");
    assert!(receiver.is_quiet());
}
