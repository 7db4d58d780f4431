//! Tasks of a tenant: listed, cancelled, and their push configurations.

use super::{
    REVIEW,
    peer::{Peer, Way, talk},
    served,
};
use crate::stage::{Stage, text, wait_for};
use serde_json::{Value, json};

/// A step that lasts until it is let go.
const LONG: &str = "
flow: long
steps:
  - id: one
    run: echo begun >> did.txt; while [ ! -e go ]; do sleep 0.02; done; echo done >> did.txt
";

#[test]
fn tasks_are_listed_by_their_last_change_in_pages_and_by_filters() {
    let stage = Stage::new();
    stage.write(".envoi/config.yaml", "server: { a2a: { workspace: copy } }\n");
    let (_served, client) = served(&stage, REVIEW);
    let peer = Peer::new(&client, Way::Rest);
    let begin = |id: &str, context: &str| {
        let message = peer.message(id, &[peer.text(&format!("words {id}"))], &json!({"contextId": context}));
        text(&peer.send(message, &[]).unwrap()["id"])
    };
    let ids: Vec<String> = ["1", "2", "3", "4", "5"].iter().map(|id| begin(id, "c")).collect();
    let apart = begin("6", "d");
    peer.say(&ids[1], "7", "yes").unwrap();
    // A run that was not started over A2A is also a task, with its own context.
    let other = text(&client.post("/v1/runs", r#"{"flow": "review", "workspace": "shared"}"#).json()["run"]);
    client.question(&other);
    let list = |query: &str| {
        let reply = peer.ask("GET", &format!("/tasks?{query}"), &Value::Null, &[]);
        assert_eq!(reply.status, 200, "{}", reply.text());
        reply.json()
    };
    let names = |page: &Value| {
        page["tasks"].as_array().unwrap().iter().map(|task| text(&task["id"])).collect::<Vec<_>>()
    };
    let newest = [&other, &ids[1], &apart, &ids[4], &ids[3], &ids[2], &ids[0]].map(Clone::clone);
    let all = list("");
    assert_eq!(names(&all), newest);
    assert_eq!(
        [&all["totalSize"], &all["pageSize"], &all["nextPageToken"]],
        [&json!(7), &json!(50), &json!("")]
    );
    assert!(all["tasks"].as_array().unwrap().iter().all(|task| task["artifacts"].is_null()));
    let (mut found, mut token) = (Vec::new(), String::new());
    for _ in 0..4 {
        let page = list(&format!("pageSize=2&pageToken={token}"));
        assert_eq!([&page["totalSize"], &page["pageSize"]], [7, 2]);
        found.extend(names(&page));
        token = text(&page["nextPageToken"]);
    }
    assert_eq!((found.as_slice(), token.as_str()), (&newest[..], ""));
    assert_eq!(names(&list("contextId=d")), [apart.as_str()]);
    assert_eq!(names(&list(&format!("contextId={other}"))), [other.as_str()]);
    assert_eq!(names(&list("status=TASK_STATE_COMPLETED")), [ids[1].as_str()]);
    assert_eq!(list("status=TASK_STATE_INPUT_REQUIRED&contextId=c")["totalSize"], 4);
    assert_eq!(list("status=TASK_STATE_REJECTED")["totalSize"], 0);
    let some = list("includeArtifacts=true&historyLength=1&contextId=d");
    assert_eq!(some["tasks"][0]["artifacts"][1]["parts"][0]["text"], "words 6");
    assert_eq!(talk(&some["tasks"][0]), ["> Publish it?"]);
    let since = text(&all["tasks"][1]["status"]["timestamp"]);
    let later = names(&list(&format!("statusTimestampAfter={since}")));
    assert_eq!(later, newest[..2], "since {since}");
    for bad in ["pageToken=x", "pageSize=0", "pageSize=101", "pageSize=-1", "status=DONE", "historyLength=-1"]
    {
        let reply = peer.ask("GET", &format!("/tasks?{bad}"), &Value::Null, &[]);
        assert_eq!(reply.status, 400, "{bad}: {}", reply.text());
    }
    let rpc = Peer::new(&client, Way::Rpc);
    let listed = rpc.call("ListTasks", json!({"contextId": "d"}), &[]).json();
    assert_eq!(listed["result"]["tasks"], list("contextId=d")["tasks"]);
}

#[test]
fn a_task_is_over_when_it_is_reported_as_cancelled() {
    for way in [Way::Rpc, Way::Rest, Way::Old] {
        let stage = Stage::new();
        let (_served, client) = served(&stage, LONG);
        let peer = Peer::new(&client, way);
        let mut stream = peer.stream(peer.message("m", &[peer.text("x")], &Value::Null));
        stream.next().unwrap();
        let id =
            wait_for("the task", || client.json("/v1/runs")["runs"][0]["run"].as_str().map(str::to_owned));
        wait_for("its step", || (stage.lines("did.txt").len() == 1).then_some(()));
        let task = peer.cancel(&id).unwrap();
        peer.assert_state(&task, "CANCELED");
        let told = peer.told(stream);
        let last = &told.last().unwrap().1;
        let state =
            if way == Way::Old { &last["status"]["state"] } else { &last["statusUpdate"]["status"]["state"] };
        assert_eq!(*state, peer.word("CANCELED"), "{told:?}");
        assert_eq!(peer.get(&id).unwrap(), task);
        stage.assert_nothing_left();
        for gone in [&id, "run_0"] {
            let (old, new) =
                if gone == "run_0" { (-32001, "TASK_NOT_FOUND") } else { (-32002, "TASK_NOT_CANCELABLE") };
            let refused = peer.cancel(gone).unwrap_err();
            assert_eq!(refused.code, if way == Way::Rest { json!(new) } else { json!(old) }, "{gone}");
        }
        assert_eq!(stage.lines("did.txt"), ["begun"]);
    }
}

#[test]
fn a_task_that_waits_is_cancelled_too() {
    let stage = Stage::new();
    let (_served, client) = served(&stage, REVIEW);
    let peer = Peer::new(&client, Way::Rpc);
    let id = text(&peer.start("x")["id"]);
    let task = peer.cancel(&id).unwrap();
    peer.assert_state(&task, "CANCELED");
    assert_eq!(peer.say(&id, "m", "yes").unwrap_err().code, -32004);
    assert_eq!(stage.lines("did.txt"), ["draft"]);
}

#[test]
fn push_configurations_are_set_read_listed_and_deleted_in_each_version() {
    let stage = Stage::new();
    let (_served, client) = served(&stage, REVIEW);
    let (new, rest, old) =
        (Peer::new(&client, Way::Rpc), Peer::new(&client, Way::Rest), Peer::new(&client, Way::Old));
    let id = text(&new.start("x")["id"]);
    let path = format!("/tasks/{id}/pushNotificationConfigs");
    let set = json!({"taskId": id, "id": "mine", "url": "https://hook.example/a", "token": "t",
        "authentication": {"scheme": "Bearer", "credentials": "c"}});
    let one = new.call("CreateTaskPushNotificationConfig", set.clone(), &[]).json()["result"].clone();
    assert_eq!(one, set);
    let made = rest.ask("POST", &path, &json!({"url": "https://hook.example/b"}), &[]).json();
    let name = text(&made["id"]);
    assert!(name.starts_with("push_"), "{made}");
    let nested =
        json!({"taskId": id, "pushNotificationConfig": {"id": "third", "url": "https://hook.example/c"}});
    let third = old.call("tasks/pushNotificationConfig/set", nested.clone(), &[]).json()["result"].clone();
    assert_eq!(third, nested);
    assert_eq!(rest.ask("GET", &format!("{path}/mine"), &Value::Null, &[]).json(), set);
    let got = new.call("GetTaskPushNotificationConfig", json!({"taskId": id, "id": name}), &[]);
    assert_eq!(got.json()["result"], made);
    let listed =
        old.call("tasks/pushNotificationConfig/list", json!({"id": id}), &[]).json()["result"].clone();
    assert_eq!(listed.as_array().unwrap().len(), 3);
    let page = rest.ask("GET", &format!("{path}?pageSize=2"), &Value::Null, &[]).json();
    assert_eq!(page["configs"].as_array().unwrap().len(), 2);
    let next = format!("{path}?pageSize=2&pageToken={}", text(&page["nextPageToken"]));
    let page = rest.ask("GET", &next, &Value::Null, &[]).json();
    assert_eq!((page["configs"].as_array().unwrap().len(), &page["nextPageToken"]), (1, &Value::Null));
    for _ in 0..2 {
        assert_eq!(rest.ask("DELETE", &format!("{path}/mine"), &Value::Null, &[]).status, 200);
    }
    assert_eq!(rest.ask("GET", &format!("{path}/mine"), &Value::Null, &[]).status, 404);
    for (url, status) in [("ftp://x", 400), ("https://", 400), ("https:///x", 400), ("", 400)] {
        assert_eq!(rest.ask("POST", &path, &json!({"url": url}), &[]).status, status, "{url}");
    }
    let elsewhere = "/tasks/run_0/pushNotificationConfigs";
    assert_eq!(rest.ask("POST", elsewhere, &json!({"url": "https://x.example"}), &[]).status, 404);
    // The first message may bring one.
    let message = new.message("m", &[new.text("x")], &Value::Null);
    let configuration = json!({"taskPushNotificationConfig": {"url": "https://hook.example/d"}});
    let begun = new.call("SendMessage", json!({"message": message, "configuration": configuration}), &[]);
    let task = text(&begun.json()["result"]["task"]["id"]);
    let listed = rest.ask("GET", &format!("/tasks/{task}/pushNotificationConfigs"), &Value::Null, &[]).json();
    assert_eq!(listed["configs"][0]["url"], "https://hook.example/d");
}
