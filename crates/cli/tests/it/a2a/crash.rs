//! `kill -9` at any moment: a message that is sent twice is handled once, and earlier responses stay true.

use super::{
    REVIEW,
    peer::{Peer, Way, talk},
    served,
};
use crate::{
    serve::client::Served,
    stage::{Dice, Stage, text, wait_for},
};
use serde_json::{Value, json};

#[test]
fn a_task_that_waits_is_answered_after_a_kill_and_a_restart() {
    for way in [Way::Rpc, Way::Rest, Way::Old] {
        let stage = Stage::new();
        let (before, client) = served(&stage, REVIEW);
        let address = before.address();
        let peer = Peer::new(&client, way);
        let task = peer.start("hello");
        let id = text(&task["id"]);
        before.process.kill();
        let _after = Served::on(&stage, &address);
        assert_eq!(peer.get(&id).unwrap(), task, "it was read from the journal before, too");
        let done = peer.say(&id, "second", "yes").unwrap();
        peer.assert_state(&done, "COMPLETED");
        assert_eq!(talk(&done), ["< hello", "> Publish it?", "< yes", "> published"]);
        assert_eq!(stage.lines("did.txt"), ["draft", "publish"]);
    }
}

#[test]
fn a_message_that_is_sent_again_after_a_kill_is_done_once() {
    const ROUNDS: usize = 8;
    let stage = Stage::new();
    let (first, client) = served(&stage, REVIEW);
    let address = first.address();
    let mut dice = Dice::new();
    let mut server = Some(first);
    for round in 0..ROUNDS {
        let way = [Way::Rpc, Way::Rest, Way::Old][round % 3];
        let peer = Peer::new(&client, way);
        let begin = peer.message("0", &[peer.text("hello")], &json!({"contextId": format!("c{round}")}));
        // Said while the server is killed, then again, as often as it takes.
        let mut said = |message: &Value, longest: u64| {
            std::thread::scope(|scope| {
                let (asking, message) = (peer.clone(), message.clone());
                let asked = scope.spawn(move || {
                    // A killed server does not respond, so `send` panics.
                    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(asking.send(message, &[]))))
                });
                std::thread::park_timeout(dice.micros(0, longest));
                server.take().unwrap().process.kill();
                drop(asked.join());
            });
            server = Some(Served::on(&stage, &address));
            peer.send(message.clone(), &[]).unwrap()
        };
        let task = said(&begin, 150_000);
        peer.assert_state(&task, "INPUT_REQUIRED");
        let answer = peer.message("1", &[peer.text("yes")], &json!({"taskId": task["id"]}));
        let done = said(&answer, 150_000);
        peer.assert_state(&done, "COMPLETED");
        assert_eq!(talk(&done), ["< hello", "> Publish it?", "< yes", "> published"], "round {round}");
        assert_eq!(peer.send(begin, &[]).unwrap(), done);
    }
    assert_eq!(client.json("/v1/runs")["runs"].as_array().unwrap().len(), ROUNDS);
    let lines = stage.lines("did.txt");
    for line in ["draft", "publish"] {
        assert_eq!(lines.iter().filter(|said| *said == line).count(), ROUNDS, "{lines:?}");
    }
}

#[test]
fn a_kill_while_a_client_waits_loses_nothing_of_the_task() {
    let flow = "
flow: slow
steps:
  - id: one
    run: echo one >> did.txt; while [ ! -e go ]; do sleep 0.02; done; echo said
";
    let stage = Stage::new();
    let (before, client) = served(&stage, flow);
    let address = before.address();
    let peer = Peer::new(&client, Way::Rpc);
    let message = peer.message("m", &[peer.text("x")], &json!({"contextId": "c"}));
    let broken = std::thread::scope(|scope| {
        let asked = scope.spawn(|| {
            let body =
                json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}});
            let headers = [("content-type", "application/json"), ("a2a-version", "1.0")];
            client.try_call("POST", "/a2a", &headers, body.to_string().as_bytes())
        });
        wait_for("the step", || (stage.lines("did.txt").len() == 1).then_some(()));
        before.process.kill();
        asked.join().unwrap()
    });
    assert!(broken.is_err(), "{broken:?}");
    let _after = Served::on(&stage, &address);
    stage.write("go", "");
    let done = peer.send(message, &[]).unwrap();
    peer.assert_state(&done, "COMPLETED");
    assert_eq!(talk(&done), ["< x", "> said"]);
    assert_eq!(stage.lines("did.txt"), ["one"]);
}
