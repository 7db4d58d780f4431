//! Receivers that clients have named: they are notified at least once, with the contents of streams, and never at an internal address
//! unless that is allowed.

use super::{
    REVIEW, known,
    peer::{Peer, Way, talk},
    served,
};
use crate::{
    notify::receiver::{Answer, OK, Receiver, Request},
    serve::client::{Served, token},
    stage::{Stage, text},
    veil::{BELIEFS, Veil},
};
use serde_json::{Value, json};

/// A stage whose server may post to receivers of these tests.
fn stage() -> Stage {
    let stage = Stage::new();
    stage.write(
        ".envoi/config.yaml",
        "server: { a2a: { workspace: shared, push: { allow: [127.0.0.1] } } }\n",
    );
    stage
}

fn body(request: &Request) -> Value {
    serde_json::from_str(&request.body).unwrap()
}

/// The common parts of a post and of the item of a stream: the position, and the data.
fn as_streamed(task: &str, request: &Request) -> (String, Value) {
    let id = request.header("idempotency-key").unwrap();
    (id.strip_prefix(&format!("{task}:")).unwrap().to_owned(), body(request))
}

#[test]
fn messages_under_way_at_a_kill_are_sent_by_the_next_server_and_equal_the_streams() {
    let stage = stage();
    let receiver = Receiver::new(&[OK, Answer::Hangs, OK]);
    let (served, client) = served(&stage, REVIEW);
    let peer = Peer::new(&client, Way::Rpc);
    let message = peer.message("first", &[peer.text("hello")], &Value::Null);
    let push = json!({"url": receiver.url, "token": "t0ken",
        "authentication": {"scheme": "Bearer", "credentials": "s3cret"}});
    let params = json!({"message": message, "configuration": {"taskPushNotificationConfig": push}});
    let begun = peer.call("SendMessage", params, &[]).json()["result"]["task"].clone();
    peer.assert_state(&begun, "INPUT_REQUIRED");
    let task = text(&begun["id"]);
    let mut told = vec![receiver.next(), receiver.next()];
    let cut_short = as_streamed(&task, &told[1]);
    let (token, address) = (served.first.clone().unwrap(), served.address());
    served.process.kill();
    let served = Served::on(&stage, &address);
    let client = served.client(&token);
    let peer = Peer::new(&client, Way::Rpc);
    peer.say(&task, "second", "yes").unwrap();
    while body(told.last().unwrap())["statusUpdate"]["status"]["state"] != "TASK_STATE_COMPLETED" {
        told.push(receiver.next());
    }
    for request in &told {
        assert_eq!(request.header("content-type"), Some("application/a2a+json"));
        assert_eq!(request.header("authorization"), Some("Bearer s3cret"));
        assert_eq!(request.header("x-a2a-notification-token"), Some("t0ken"));
    }
    let done = peer.get(&task).unwrap();
    peer.assert_state(&done, "COMPLETED");
    let followed = peer.told(peer.subscribe(&task, Some("0")).unwrap());
    let mut told: Vec<(String, Value)> = told.iter().map(|request| as_streamed(&task, request)).collect();
    assert_eq!(told.iter().filter(|told| **told == cut_short).count(), 2, "it is told again");
    // Both posts were about one event, which the next server sends as a whole.
    assert_eq!(told[..2], told[2..4]);
    told.drain(..2);
    assert_eq!(told, followed);
    assert!(receiver.is_quiet());
}

#[test]
fn a_receiver_of_the_older_version_is_sent_the_task_as_it_stood_then() {
    let stage = stage();
    let receiver = Receiver::new(&[OK]);
    let (_served, client) = served(&stage, REVIEW);
    let peer = Peer::new(&client, Way::Old);
    let begun = peer.start("hello");
    let task = text(&begun["id"]);
    let config = json!({"taskId": task, "pushNotificationConfig": {"url": receiver.url, "token": "t0ken"}});
    let set = peer.call("tasks/pushNotificationConfig/set", config, &[]).json();
    assert!(set["error"].is_null(), "{set}");
    peer.say(&task, "second", "yes").unwrap();
    let mut told = vec![receiver.next()];
    while body(told.last().unwrap())["status"]["state"] != "completed" {
        told.push(receiver.next());
    }
    let first = body(&told[0]);
    assert_eq!((&first["kind"], &first["status"]["state"]), (&json!("task"), &json!("working")));
    assert_eq!(talk(&first).last().unwrap(), "< yes", "{first:#}");
    let last = told.last().unwrap();
    assert_eq!(last.header("content-type"), Some("application/json"));
    assert_eq!(last.header("x-a2a-notification-token"), Some("t0ken"));
    assert_eq!(last.header("authorization"), None);
    assert_eq!(body(last), peer.get(&task).unwrap());
    assert!(receiver.is_quiet());
}

/// A question, and nothing else.
const GATE: &str = "
flow: gate
steps:
  - id: approve
    ask: 'Go?'
";

/// Says something to a task, and brings a push configuration.
fn bring(peer: &Peer, message: &Value, push: &Value) -> Value {
    let params = json!({"message": message, "configuration": {"taskPushNotificationConfig": push}});
    peer.call("SendMessage", params, &[]).json()
}

/// Ids and places of the push configurations of a task.
fn configs(peer: &Peer, task: &str) -> Vec<(String, String)> {
    let told = peer.call("ListTaskPushNotificationConfigs", json!({"taskId": task}), &[]).json();
    let configs = told["result"]["configs"].as_array().cloned().unwrap_or_default();
    configs.iter().map(|config| (text(&config["id"]), text(&config["url"]))).collect()
}

#[test]
fn a_push_configuration_sent_with_an_answer_gets_all_that_the_answer_causes() {
    let stage = stage();
    let receiver = Receiver::new(&[OK]);
    let (_served, client) = served(&stage, GATE);
    let peer = Peer::new(&client, Way::Rpc);
    let task = text(&peer.start("hello")["id"]);
    let answer = peer.message("second", &[peer.text("yes")], &json!({"taskId": task}));
    let push = json!({"id": "mine", "url": receiver.url});
    let done = bring(&peer, &answer, &push)["result"]["task"].clone();
    peer.assert_state(&done, "COMPLETED");
    let told = as_streamed(&task, &receiver.next());
    assert_eq!(told.1["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(Some(&told), peer.told(peer.subscribe(&task, Some("0")).unwrap()).last());
    // The same message again: a notified receiver gets nothing twice; a new one begins at the answer.
    bring(&peer, &answer, &push);
    peer.call("DeleteTaskPushNotificationConfig", json!({"taskId": task, "id": "mine"}), &[]);
    assert_eq!(configs(&peer, &task), []);
    bring(&peer, &answer, &push);
    assert_eq!(as_streamed(&task, &receiver.next()), told);
    assert!(receiver.is_quiet());
}

#[test]
fn what_a_refused_message_brings_takes_nobodys_place_and_another_tokens_is_left_alone() {
    let stage = stage();
    let (mine, other) = (Receiver::new(&[OK]), Receiver::new(&[OK]));
    let (served, client) = served(&stage, GATE);
    let peer = Peer::new(&client, Way::Rpc);
    let task = text(&peer.start("hello")["id"]);
    let set = |peer: &Peer, url: &str| {
        let config = json!({"taskId": task, "id": "mine", "url": url});
        peer.call("CreateTaskPushNotificationConfig", config, &[]).json()
    };
    assert!(set(&peer, &mine.url)["error"].is_null());
    let asked = text(&peer.get(&task).unwrap()["status"]["message"]["messageId"]);
    let say = |peer: &Peer, subject: &str| {
        let seen = json!({"id": asked, "subject": format!("sha256:{}", subject.repeat(64))});
        let more = json!({"taskId": task, "metadata": {"urn:envoi:a2a:question": seen}});
        bring(peer, &peer.message("m", &[peer.text("yes")], &more), &json!({"id": "mine", "url": other.url}))
    };
    let refused = say(&peer, "0");
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    assert_eq!(configs(&peer, &task), [("mine".to_owned(), mine.url.clone())]);
    let bob = Peer::new(&served.client(&token(&stage, &["bob", "--scope", "admin"])), Way::Rpc);
    for refused in [set(&bob, &other.url), say(&bob, "1")] {
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
        assert!(refused.to_string().contains("is another token's"), "{refused}");
    }
    assert_eq!(configs(&peer, &task), [("mine".to_owned(), mine.url.clone())]);
    peer.cancel(&task).unwrap();
    assert_eq!(body(&mine.next())["statusUpdate"]["status"]["state"], "TASK_STATE_CANCELED");
    assert!(other.is_quiet());
}

#[test]
fn over_https_a_receiver_s_certificate_is_checked_against_the_authorities_that_are_named() {
    for (authorities, is_believed) in BELIEFS {
        let stage = Stage::new();
        stage.write(".envoi/config.yaml", "server: { a2a: { push: { allow: [localhost] } } }\n");
        let receiver = Receiver::new(&[OK]);
        let veil = Veil::before(&receiver.url);
        let (served, client) = known(Served::believing(&stage, authorities), REVIEW);
        let peer = Peer::new(&client, Way::Rpc);
        let message = peer.message("first", &[peer.text("hello")], &Value::Null);
        let push = json!({"url": format!("{}/hook", veil.url), "token": "t0ken"});
        let params = json!({"message": message, "configuration": {"taskPushNotificationConfig": push}});
        let begun = peer.call("SendMessage", params, &[]).json()["result"]["task"].clone();
        peer.assert_state(&begun, "INPUT_REQUIRED");
        match is_believed {
            true => assert_eq!(receiver.next().header("x-a2a-notification-token"), Some("t0ken")),
            false => veil.wait_until_refused(),
        }
        served.process.kill();
        assert!(is_believed || receiver.is_quiet(), "{authorities:?}");
    }
}

#[test]
fn internal_addresses_are_refused_and_get_no_request() {
    let stage = Stage::new();
    let receiver = Receiver::new(&[OK]);
    let (_served, client) = served(&stage, REVIEW);
    let (rpc, rest, old) =
        (Peer::new(&client, Way::Rpc), Peer::new(&client, Way::Rest), Peer::new(&client, Way::Old));
    let task = text(&rpc.start("hello")["id"]);
    let path = format!("/tasks/{task}/pushNotificationConfigs");
    for (url, reason) in [
        (receiver.url.as_str(), "`http:` is not taken for `127.0.0.1`"),
        ("https://169.254.169.254/latest", "the address 169.254.169.254 is link-local"),
        ("https://[::ffff:10.0.0.1]/", "is private"),
        ("https://localhost/", "is of this machine"),
        ("https://ann:pw@hook.example/", "may not contain a name and a password"),
    ] {
        let config = json!({"taskId": task, "url": url, "pushNotificationConfig": {"url": url}});
        let refused = [
            rpc.call("CreateTaskPushNotificationConfig", config.clone(), &[]),
            old.call("tasks/pushNotificationConfig/set", config, &[]),
            rpc.call(
                "SendMessage",
                {
                    let message = rpc.message(url, &[rpc.text("x")], &Value::Null);
                    json!({"message": message, "configuration": {"taskPushNotificationConfig": {"url": url}}})
                },
                &[],
            ),
        ];
        for reply in refused {
            assert_eq!(reply.json()["error"]["code"], -32602, "{url}: {}", reply.text());
            assert!(reply.text().contains(reason), "{url}: {}", reply.text());
        }
        let reply = rest.ask("POST", &path, &json!({"url": url}), &[]);
        assert!(reply.status == 400 && reply.text().contains(reason), "{url}: {}", reply.text());
    }
    let none = rest.ask("GET", &path, &Value::Null, &[]).json();
    assert_eq!(none["configs"], Value::Null, "{none}");
    assert_eq!(rest.ask("GET", "/tasks", &Value::Null, &[]).json()["totalSize"], 1, "nothing was started");
    assert!(receiver.is_quiet());
}
