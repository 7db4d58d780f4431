//! A task that is at work again after it had failed: the updates for its clients, followers and receivers.

use super::{
    peer::{Peer, Way, talk},
    served,
};
use crate::{
    notify::receiver::{OK, Receiver},
    serve::client::{Client, Served},
    stage::{Stage, text},
};
use serde_json::{Value, json};

/// Fails until it is mended.
const FRAIL: &str = "
flow: frail
inputs:
  message: { type: string }
steps:
  - id: try
    run: echo try >> did.txt; [ -e mended ] && echo tried
  - id: gate
    ask: 'Go on?'
  - id: last
    run: echo last >> did.txt; echo the end
";

/// The states of the task, each with its position.
fn states(told: &[(String, Value)]) -> Vec<(String, String)> {
    let state = |item: &Value| {
        let status = item.get("statusUpdate").or_else(|| item.get("task")).unwrap_or(item);
        text(&status["status"]["state"]).replace("TASK_STATE_", "").to_lowercase().replace('_', "-")
    };
    told.iter().map(|(place, item)| (place.clone(), state(item))).collect()
}

#[test]
fn all_followers_see_that_a_finished_task_works_again_also_after_a_kill() {
    for way in [Way::Rpc, Way::Rest, Way::Old] {
        let stage = Stage::new();
        let allow = "server: { a2a: { push: { allow: [127.0.0.1] } } }\n";
        stage.write(".envoi/config.yaml", allow);
        let receiver = Receiver::new(&[OK]);
        let (server, client) = served(&stage, FRAIL);
        let (address, token) = (server.address(), server.first.clone().unwrap());
        let peer = Peer::new(&client, way);
        let failed = peer.start("x");
        peer.assert_state(&failed, "FAILED");
        assert_eq!(failed["metadata"]["urn:envoi:a2a:terminal_reason"], "tool_failed_fatally");
        let id = text(&failed["id"]);
        // A client that subscribes after the end gets the end, or a refusal because the task is over.
        let ended = states(&peer.told(peer.subscribe(&id, Some("0")).unwrap()));
        let (end, state) = ended.last().unwrap();
        assert_eq!(state, "failed");
        let refused = peer.subscribe(&id, None).unwrap();
        assert_eq!(refused.status, if way == Way::Rest { 400 } else { 200 });
        peer.say(&id, "late", "yes").unwrap_err();

        stage.write("mended", "");
        assert_eq!(client.post(&format!("/v1/runs/{id}/resume"), "").status, 202);
        client.question(&id);
        let asks = peer.get(&id).unwrap();
        peer.assert_state(&asks, "INPUT_REQUIRED");
        let talked = talk(&asks);
        assert_eq!((talked.len(), &talked[0][..], &talked[2][..]), (3, "< x", "> Go on?"), "{talked:?}");
        assert_eq!(talked[1], talk(&failed)[1], "what was said at the end stays said");
        assert_eq!(asks["metadata"]["urn:envoi:a2a:terminal_reason"], Value::Null);
        let listed = |client: &Client, state: &str| {
            let path = format!("/tasks?status=TASK_STATE_{state}");
            Peer::new(client, Way::Rest).ask("GET", &path, &Value::Null, &[]).json()["totalSize"].clone()
        };
        assert_eq!([listed(&client, "FAILED"), listed(&client, "INPUT_REQUIRED")], [0, 1]);

        server.process.kill();
        let server = Served::on(&stage, &address);
        let client = server.client(&token);
        let peer = Peer::new(&client, way);
        assert_eq!(peer.get(&id).unwrap(), asks);
        assert_eq!([listed(&client, "FAILED"), listed(&client, "INPUT_REQUIRED")], [0, 1]);
        // A reader that has got the end goes on behind it; a new reader begins with the question.
        let behind = peer.subscribe(&id, Some(end)).unwrap();
        let mut anew = peer.subscribe(&id, None).unwrap();
        let first = anew.next().unwrap().data;
        let first = match way {
            Way::Rpc => &first["result"]["task"],
            Way::Rest => &first["task"],
            Way::Old => &first["result"],
        };
        assert_eq!(*first, asks, "all events make the same task as what is kept of them");
        let push =
            json!({"taskId": id, "url": receiver.url, "pushNotificationConfig": {"url": receiver.url}});
        let set = match way {
            Way::Rest => peer.ask("POST", &format!("/tasks/{id}/pushNotificationConfigs"), &push, &[]),
            Way::Rpc => peer.call("CreateTaskPushNotificationConfig", push, &[]),
            Way::Old => peer.call("tasks/pushNotificationConfig/set", push, &[]),
        };
        assert!(set.status == 200 && set.json()["error"].is_null(), "{}", set.text());
        peer.assert_state(&peer.say(&id, "answer", "yes").unwrap(), "COMPLETED");
        let words = |told: Vec<(String, Value)>| -> Vec<String> {
            states(&told).into_iter().map(|(_, state)| state).collect()
        };
        assert_eq!(words(peer.told(behind)), ["working", "input-required", "working", "completed"]);
        assert_eq!(words(peer.told(anew)), ["working", "completed"]);
        let posted = [receiver.next(), receiver.next()].map(|post| serde_json::from_str(&post.body).unwrap());
        let posted = posted.into_iter().map(|told| (String::new(), told)).collect();
        assert_eq!(words(posted), ["working", "completed"]);
        // A reader that has got only the beginning gets one end at a time.
        let from_the_start = states(&peer.told(peer.subscribe(&id, Some("0")).unwrap()));
        assert_eq!(from_the_start, ended, "a stream ends with an end");
        let done = peer.get(&id).unwrap();
        assert_eq!(talk(&done)[1..3], talked[1..3]);
        assert_eq!(stage.read("did.txt"), "try\ntry\nlast\n");
    }
}
