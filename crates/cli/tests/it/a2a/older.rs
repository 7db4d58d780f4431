//! Habits of clients of 0.3 that clients of 1.0 do not have, as they occur in practice.

use super::{
    REVIEW, WORDS,
    peer::{Peer, Way, talk},
    served,
};
use crate::stage::{Stage, text, wait_for};
use serde_json::{Value, json};

#[test]
fn a_client_that_makes_contexts_and_repeats_message_ids_polls_its_way_through() {
    let stage = Stage::new();
    stage.write(".envoi/config.yaml", "server: { a2a: { workspace: shared } }\n");
    let (_served, client) = served(&stage, REVIEW);
    // As one of them really asks: a slash at the end, no version, no configuration, an id that is null.
    let ask = |id: Value, method: &str, params: Value| {
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string();
        let headers = [("content-type", "application/json")];
        let reply = client.call("POST", "/a2a/", &headers, body.as_bytes());
        assert_eq!(reply.status, 200, "{}", reply.text());
        let told = reply.json();
        assert_eq!(told["id"], id);
        told
    };
    let say = |context: &str, id: &str, words: &str| {
        let message = json!({"role": "user", "parts": [{"text": words, "kind": "text"}], "kind": "message",
            "messageId": id, "contextId": context});
        ask(json!("a-b-c"), "message/send", json!({"message": message}))["result"].clone()
    };
    let poll = |task: &Value, state: &str| {
        wait_for(state, || {
            let told = ask(Value::Null, "tasks/get", json!({"id": task["id"]}))["result"].clone();
            (told["status"]["state"] == state).then_some(told)
        })
    };
    for context in ["c1", "c2"] {
        let task = say(context, "0", "hello");
        assert_eq!(task["contextId"], context);
        assert_eq!(task["history"].as_array().unwrap().last().unwrap()["taskId"], task["id"]);
        let waiting = poll(&task, "input-required");
        assert_eq!(talk(&waiting), ["< hello", "> Publish it?"]);
        // Without the id of the task: the only one of the context that waits is meant.
        assert_eq!(say(context, "2", "yes")["id"], task["id"]);
        let done = poll(&task, "completed");
        assert_eq!(talk(&done), ["< hello", "> Publish it?", "< yes", "> published"]);
        // The same message again is no new task, and a new message begins one.
        assert_eq!(say(context, "2", "yes")["id"], task["id"]);
        assert_eq!(say(context, "0", "hello")["id"], task["id"]);
        let next = say(context, "4", "hello again");
        assert_ne!(next["id"], task["id"]);
        poll(&next, "input-required");
    }
    let missing = ask(json!(1), "tasks/get", json!({"id": "run_0"}));
    assert_eq!(missing["error"], json!({"code": -32001, "message": "Task not found", "data": null}));
}

#[test]
fn a_message_in_a_context_in_which_several_tasks_wait_names_its_task() {
    let stage = Stage::new();
    let (_served, client) = served(&stage, REVIEW);
    let old = Peer::new(&client, Way::Old);
    let new = Peer::new(&client, Way::Rpc);
    let begin = |id: &str| {
        let more = json!({"contextId": "c"});
        text(&new.send(new.message(id, &[new.text("x")], &more), &[]).unwrap()["id"])
    };
    let (one, two) = (begin("1"), begin("2"));
    let answer = |more: Value| old.send(old.message("3", &[old.text("yes")], &more), &[]);
    let refused = answer(json!({"contextId": "c"})).unwrap_err();
    assert_eq!(refused.code, -32602);
    assert!(refused.message.contains(&one) && refused.message.contains(&two), "{}", refused.message);
    old.assert_state(&answer(json!({"contextId": "c", "taskId": one})).unwrap(), "COMPLETED");
    // Now there is one.
    let done = answer(json!({"contextId": "c"}));
    assert_eq!(done.unwrap()["id"], one, "that very message was the answer of the other one");
    let done = old.send(old.message("4", &[old.text("yes")], &json!({"contextId": "c"})), &[]).unwrap();
    assert_eq!(done["id"], two.as_str());
    old.assert_state(&done, "COMPLETED");
}

#[test]
fn a_question_beside_work_is_shown_and_answered_in_its_context() {
    let flow = "
flow: beside
steps:
  - id: ask
    needs: []
    ask: { kind: clarification, message: 'What shall it say?' }
  - id: work
    needs: []
    run: while [ ! -e go ]; do sleep 0.02; done
";
    let stage = Stage::new();
    stage.write(".envoi/config.yaml", "server: { a2a: { workspace: shared } }\n");
    let (_served, client) = served(&stage, flow);
    let (old, new) = (Peer::new(&client, Way::Old), Peer::new(&client, Way::Rpc));
    let more = json!({"contextId": "c", "metadata": {"urn:envoi:a2a:flow": "beside"}});
    let say = |id: &str, words: &str, blocking: bool| {
        let message = old.message(id, &[old.text(words)], &more);
        let params = json!({"message": message, "configuration": {"blocking": blocking}});
        old.call("message/send", params, &[]).json()["result"].clone()
    };
    // A client that waits for the task gets the question, although the other step goes on.
    let task = say("1", "go", true);
    old.assert_state(&task, "INPUT_REQUIRED");
    assert_eq!(task["status"]["message"]["parts"][0]["text"], "What shall it say?");
    let listed = |state: &str| {
        let query = json!({"contextId": "c", "status": state});
        let page = new.call("ListTasks", query, &[]).json()["result"].clone();
        (page["totalSize"].clone(), page["tasks"][0]["status"]["state"].clone())
    };
    assert_eq!(listed("TASK_STATE_INPUT_REQUIRED"), (json!(1), json!("TASK_STATE_INPUT_REQUIRED")));
    assert_eq!(listed("TASK_STATE_WORKING").0, 0);
    let answered = say("2", "words", false);
    assert_eq!(answered["id"], task["id"]);
    old.assert_state(&answered, "WORKING");
    assert_eq!(client.json("/v1/runs")["runs"].as_array().unwrap().len(), 1);
    stage.write("go", "");
    old.assert_state(&say("2", "words", true), "COMPLETED");
}

#[test]
fn a_flow_that_is_named_is_the_only_one_that_is_answered_or_repeated_and_a_late_decision_begins_nothing() {
    let stage = Stage::new();
    stage.write(".envoi/config.yaml", "server: { a2a: { workspace: copy } }\n");
    let (_served, client) = served(&stage, WORDS);
    assert_eq!(client.post("/v1/flows", REVIEW).status, 201);
    let headers = [("content-type", "application/json")];
    let say = |flow: &str, id: &str, words: &str| {
        let message = json!({"role": "user", "parts": [{"text": words, "kind": "text"}], "kind": "message",
            "messageId": id, "contextId": "c"});
        let params = json!({"message": message, "configuration": {"blocking": true}});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": params});
        client.call("POST", &format!("/a2a/{flow}"), &headers, body.to_string().as_bytes()).json()
    };
    let review = say("review", "0", "hello")["result"].clone();
    assert_eq!(review["status"]["state"], "input-required", "{review}");
    // The very same, to another flow: neither a repetition nor an answer of the one that waits.
    let words = say("words", "0", "hello")["result"].clone();
    assert_ne!(words["id"], review["id"], "{words}");
    assert_eq!(say("review", "1", "yes")["result"]["id"], review["id"]);
    assert_eq!(say("words", "2", "so")["result"]["id"], words["id"]);
    // Nothing waits any more.
    for (flow, late) in [("review", "yes"), ("review", "[Approved by operator] fine"), ("words", "no")] {
        let refused = say(flow, "3", late);
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    let runs = || client.json("/v1/runs")["runs"].as_array().unwrap().len();
    assert_eq!(runs(), 2);
    // The message that started a task is recognized, although the flow does not accept such a message now.
    let other = REVIEW.replace("inputs:", "inputs:\n  more: { type: string }");
    assert_eq!(client.post("/v1/flows", &other).status, 201);
    assert_eq!(say("review", "0", "hello")["result"]["id"], review["id"]);
    assert_eq!(say("review", "1", "yes")["result"]["id"], review["id"]);
    assert_eq!(runs(), 2);
}
