//! Tasks that are followed: the beginning of a stream, its contents and their order, and its end.

use super::{
    REVIEW,
    peer::{Peer, Way, talk},
    served,
};
use crate::{
    serve::client::Served,
    stage::{Stage, text, wait_for},
};
use serde_json::{Value, json};
use std::{io::Write as _, net::TcpStream, thread};

const WAYS: [Way; 3] = [Way::Rpc, Way::Rest, Way::Old];

/// Each step waits until it is let go.
const GATES: &str = "
flow: gates
steps:
  - id: one
    run: while [ ! -e go1 ]; do sleep 0.02; done; echo 1 > one.txt; echo 1 > also.txt
    artifacts: ['*.txt']
  - id: ask
    ask: 'Go on?'
  - id: two
    run: while [ ! -e go2 ]; do sleep 0.02; done; echo 2 > one.txt; rm also.txt; echo the end
    artifacts: ['*.txt']
";

/// The items of a stream, one line each.
fn lines(peer: &Peer, told: &[(String, Value)]) -> Vec<String> {
    let line = |item: &Value| {
        let (kind, body) = match peer.way {
            Way::Old => (text(&item["kind"]), item.clone()),
            _ => {
                let (kind, body) = item.as_object().unwrap().iter().next().unwrap();
                (kind.clone(), body.clone())
            }
        };
        match kind.as_str() {
            "artifactUpdate" | "artifact-update" => {
                let gone = body["artifact"]["metadata"]["urn:envoi:a2a:deleted"] == true;
                let words = text(&body["artifact"]["parts"][0]["text"]);
                let words = if gone { "gone".to_owned() } else { words };
                format!("{} {}", text(&body["artifact"]["artifactId"]), words.trim())
            }
            _ => {
                let state = text(&body["status"]["state"]).replace("TASK_STATE_", "");
                let state = state.to_lowercase().replace('_', "-");
                let last = if body["final"] == true { " (final)" } else { "" };
                format!("{}{state}{last}", if kind == "task" { "task: " } else { "" })
            }
        }
    };
    told.iter().map(|(_, item)| line(item)).collect()
}

#[test]
fn a_stream_of_a_message_tells_each_thing_once_and_ends_where_the_task_rests() {
    for way in WAYS {
        let stage = Stage::new();
        let (_served, client) = served(&stage, GATES);
        let peer = Peer::new(&client, way);
        stage.write("go1", "");
        stage.write("go2", "");
        let last = |state: &str| if way == Way::Old { format!("{state} (final)") } else { state.to_owned() };
        let first = peer.message("m", &[peer.text("x")], &json!({"contextId": "c"}));
        let begun = peer.told(peer.stream(first.clone()));
        assert_eq!(
            lines(&peer, &begun),
            ["task: working", "also.txt 1", "one.txt 1", &last("input-required")],
            "{way:?}"
        );
        let task = if way == Way::Old { begun[0].1.clone() } else { begun[0].1["task"].clone() };
        assert_eq!(talk(&task), ["< x"]);
        let id = text(&task["id"]);
        // A repeated message gets the task as it is, and no more.
        assert_eq!(lines(&peer, &peer.told(peer.stream(first))), ["task: input-required"]);
        let answered = peer.told(peer.stream(peer.message("n", &[peer.text("yes")], &json!({"taskId": id}))));
        assert_eq!(
            lines(&peer, &answered),
            ["task: working", "also.txt gone", "one.txt 2", &last("completed")]
        );
        let again = peer.told(peer.stream(peer.message("n", &[peer.text("yes")], &json!({"taskId": id}))));
        assert_eq!(lines(&peer, &again), ["task: completed"]);
        let seqs: Vec<u64> = begun[1..]
            .iter()
            .chain(&answered[1..])
            .map(|(id, _)| id.split('.').next().unwrap().parse().unwrap())
            .collect();
        assert!(seqs.is_sorted(), "{seqs:?}");
    }
}

#[test]
fn every_follower_of_a_task_sees_the_same_to_its_end_also_across_a_question() {
    for way in WAYS {
        let stage = Stage::new();
        let (_served, client) = served(&stage, GATES);
        let peer = Peer::new(&client, way);
        let mut first = peer.stream(peer.message("m", &[peer.text("x")], &Value::Null));
        let begun = first.next().unwrap();
        let task = match way {
            Way::Rpc => begun.data["result"]["task"].clone(),
            Way::Rest => begun.data["task"].clone(),
            Way::Old => begun.data["result"].clone(),
        };
        let id = text(&task["id"]);
        let told = thread::scope(|scope| {
            let follow = || {
                let mut stream = peer.subscribe(&id, None).unwrap();
                let first = stream.next().unwrap();
                (first, stream)
            };
            let streams: Vec<_> = (0..3).map(|_| follow()).collect();
            let all: Vec<_> = streams
                .into_iter()
                .map(|(first, stream)| {
                    let told = scope.spawn(|| peer.told(stream));
                    (first, told)
                })
                .collect();
            stage.write("go1", "");
            let rest = peer.told(first);
            assert_eq!(rest.len(), 3, "it ends at the question: {rest:?}");
            // A client that subscribes now gets the question first, and stays.
            let (late_first, late) = follow();
            let late = scope.spawn(|| peer.told(late));
            stage.write("go2", "");
            peer.send(peer.message("n", &[peer.text("yes")], &json!({"taskId": id})), &[]).unwrap();
            let mut told: Vec<_> = all
                .into_iter()
                .map(|(first, told)| {
                    let mut told = told.join().unwrap();
                    told.insert(0, (first.id, Value::Null));
                    told
                })
                .collect();
            let mut late = late.join().unwrap();
            late.insert(0, (late_first.id, Value::Null));
            told.push(late);
            told
        });
        let (late, same) = told.split_last().unwrap();
        assert!(same.iter().all(|told| told[1..] == same[0][1..]), "{told:?}");
        let last = if way == Way::Old { "completed (final)" } else { "completed" };
        let all =
            ["also.txt 1", "one.txt 1", "input-required", "working", "also.txt gone", "one.txt 2", last];
        assert_eq!(lines(&peer, &same[0][1..]), all, "{way:?}");
        assert_eq!(late[1..], same[0][4..]);
        // It is over: 1.0 refuses to follow it, 0.3 yields the task and ends, also for a client that knows its end.
        let newest = same[0].last().map(|(place, _)| place.as_str());
        for known in [None, newest] {
            let after_the_end = peer.subscribe(&id, known).unwrap();
            assert_eq!(after_the_end.status, if way == Way::Rest { 400 } else { 200 });
            let told = peer.told(after_the_end);
            match way {
                Way::Old => {
                    let [(_, task)] = told.as_slice() else { panic!("{told:?}") };
                    assert_eq!((&task["kind"], &task["id"]), (&"task".into(), &Value::from(id.clone())));
                    peer.assert_state(task, "COMPLETED");
                }
                Way::Rpc | Way::Rest => assert!(told.iter().all(|(_, item)| item.is_null()), "{told:?}"),
            }
        }
        // A client that reconnects with a position gets the items after it.
        for (at, (place, _)) in same[0].iter().enumerate().take(7) {
            let rest = peer.told(peer.subscribe(&id, Some(place)).unwrap());
            assert_eq!(rest, same[0][at + 1..], "after {place}");
        }
    }
}

#[test]
fn a_follower_that_comes_back_after_a_kill_misses_nothing_and_gets_nothing_twice() {
    let stage = Stage::new();
    let (before, client) = served(&stage, GATES);
    let address = before.address();
    let peer = Peer::new(&client, Way::Rest);
    let mut stream = peer.stream(peer.message("m", &[peer.text("x")], &Value::Null));
    let begun = stream.next().unwrap();
    let id = text(&begun.data["task"]["id"]);
    before.process.kill();
    assert!(stream.next().is_none());
    let middle = Served::on(&stage, &address);
    let mut stream = peer.subscribe(&id, Some(&begun.id)).unwrap();
    stage.write("go1", "");
    let first = stream.next().unwrap();
    // In the middle of the updates of one event.
    assert!(first.id.contains('.'), "{first:?}");
    middle.process.kill();
    let _after = Served::on(&stage, &address);
    stage.write("go2", "");
    let mut stream = peer.subscribe(&id, Some(&first.id)).unwrap();
    let mut told = vec![(first.id, first.data)];
    for _ in 0..2 {
        let next = stream.next().unwrap();
        told.push((next.id, next.data));
    }
    peer.say(&id, "n", "yes").unwrap();
    told.extend(peer.told(stream));
    assert_eq!(
        lines(&peer, &told),
        ["also.txt 1", "one.txt 1", "input-required", "working", "also.txt gone", "one.txt 2", "completed"]
    );
    for bad in ["x", "1.x", "99999", ""] {
        assert_eq!(peer.subscribe(&id, Some(bad)).unwrap().status, 400, "{bad}");
    }
}

#[test]
fn a_waiting_client_gets_the_status_when_the_server_stops() {
    let stage = Stage::new();
    let (server, client) = served(&stage, GATES);
    let peer = Peer::new(&client, Way::Rpc);
    let task = thread::scope(|scope| {
        let waiting = scope.spawn(|| peer.start("x"));
        wait_for("the task", || (client.json("/v1/runs")["runs"][0]["live_attempts"] == 1).then_some(()));
        server.process.signal(rustix::process::Signal::TERM);
        waiting.join().unwrap()
    });
    peer.assert_state(&task, "WORKING");
}

#[test]
fn what_waits_counts_as_a_stream_of_the_token() {
    let stage = Stage::new();
    stage.write(".envoi/config.yaml", "server: { limits: { streams: 1 } }\n");
    let (_served, client) = served(&stage, GATES);
    let peer = Peer::new(&client, Way::Rpc);
    let mut stream = peer.stream(peer.message("m", &[peer.text("x")], &Value::Null));
    let begun = stream.next().unwrap();
    let id = text(&begun.data["result"]["task"]["id"]);
    let other = peer.call("SubscribeToTask", json!({"id": id}), &[]);
    assert_eq!(other.json()["error"]["data"][0]["metadata"]["code"], "TOO_MANY_STREAMS", "{}", other.text());
    // A refused request has started nothing.
    let refused = peer.send(peer.message("n", &[peer.text("x")], &Value::Null), &[]).unwrap_err();
    assert!(refused.text.contains("TOO_MANY_STREAMS"), "{}", refused.text);
    assert!(refused.message.contains("as many streams open as it may"), "{}", refused.message);
    let params = json!({"message": peer.message("o", &[peer.text("x")], &Value::Null)});
    let refused = peer.call("SendStreamingMessage", params, &[]).text();
    assert!(refused.contains("TOO_MANY_STREAMS"), "{refused}");
    assert_eq!(client.json("/v1/runs")["runs"].as_array().unwrap().len(), 1);
    // Other requests are still possible.
    assert!(peer.get(&id).is_ok());
    drop(stream);
    stage.write("go1", "");
    wait_for("the place", || {
        peer.call("SubscribeToTask", json!({"id": "run_0"}), &[]).text().contains("-32001").then_some(())
    });
}

#[test]
fn a_client_that_has_gone_is_not_waited_for() {
    let stage = Stage::new();
    stage.write(".envoi/config.yaml", "server: { limits: { streams: 1, keep_alive: 1d } }\n");
    let (server, client) = served(&stage, GATES);
    let peer = Peer::new(&client, Way::Rpc);
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage",
        "params": {"message": peer.message("m", &[peer.text("x")], &Value::Null)}})
    .to_string();
    let mut socket = TcpStream::connect(server.address()).unwrap();
    let head = format!(
        "POST /a2a HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\na2a-version: 1.0\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        server.address(),
        server.first.as_deref().unwrap(),
        body.len()
    );
    socket.write_all(format!("{head}{body}").as_bytes()).unwrap();
    let id = wait_for("the task", || {
        let run = &client.json("/v1/runs")["runs"][0];
        (run["live_attempts"] == 1).then(|| text(&run["run"]))
    });
    let follow = || peer.call("SubscribeToTask", json!({"id": "run_0"}), &[]).text();
    wait_for("its place taken", || follow().contains("TOO_MANY_STREAMS").then_some(()));
    drop(socket);
    wait_for("its place free", || follow().contains("-32001").then_some(()));
    peer.assert_state(&peer.get(&id).unwrap(), "WORKING");
}

#[test]
fn a_message_that_wants_no_wait_is_answered_at_once() {
    for way in WAYS {
        let stage = Stage::new();
        let (_served, client) = served(&stage, REVIEW);
        let peer = Peer::new(&client, way);
        let message = peer.message("m", &[peer.text("x")], &Value::Null);
        let task = match way {
            Way::Rpc => {
                let params = json!({"message": message, "configuration": {"returnImmediately": true, "historyLength": 0}});
                peer.call("SendMessage", params, &[]).json()["result"]["task"].clone()
            }
            Way::Rest => {
                let body = json!({"message": message, "configuration": {"returnImmediately": true, "historyLength": 0}});
                peer.ask("POST", "/message:send", &body, &[]).json()["task"].clone()
            }
            // Without a word about it, and with the history that these clients look at.
            Way::Old => peer.call("message/send", json!({"message": message}), &[]).json()["result"].clone(),
        };
        assert_eq!(task["history"].is_null(), way != Way::Old, "{task:#}");
        let id = text(&task["id"]);
        wait_for("the question", || {
            (peer.get(&id).unwrap()["status"]["state"] == peer.word("INPUT_REQUIRED")).then_some(())
        });
    }
}
