//! A task from its first message to its end: started, asked about, answered, in each version and binding.

use super::{
    REVIEW, WORDS,
    peer::{Peer, Way, talk},
    served,
};
use crate::stage::{Stage, text};
use serde_json::{Value, json};

const WAYS: [Way; 3] = [Way::Rpc, Way::Rest, Way::Old];

#[test]
fn a_task_is_started_asked_about_answered_and_done_in_each_way() {
    for way in WAYS {
        let stage = Stage::new();
        let (_served, client) = served(&stage, REVIEW);
        let peer = Peer::new(&client, way);
        let task = peer.start("hello");
        peer.assert_state(&task, "INPUT_REQUIRED");
        let id = text(&task["id"]);
        assert_eq!(talk(&task), ["< hello", "> Publish it?"]);
        let asked = &task["status"]["message"];
        assert_eq!(asked["parts"][0]["text"], "Publish it?");
        let question = &asked["metadata"]["urn:envoi:a2a:question"];
        assert_eq!(question["choices"], json!(["approve", "deny"]));
        assert_eq!(question["id"], asked["messageId"]);
        let artifacts = task["artifacts"].as_array().unwrap();
        let names: Vec<&str> = artifacts.iter().map(|made| made["artifactId"].as_str().unwrap()).collect();
        assert_eq!(names, ["notes.bin", "notes.md"]);
        let raw = "/wA=";
        match way {
            Way::Old => assert_eq!(artifacts[0]["parts"][0]["file"]["bytes"], raw),
            _ => assert_eq!(artifacts[0]["parts"][0]["raw"], raw),
        }
        assert_eq!(artifacts[1]["parts"][0]["text"], "hello");

        let done = peer.say(&id, "second", "[Approved by operator] looks fine").unwrap();
        peer.assert_state(&done, "COMPLETED");
        assert_eq!(done["status"]["message"]["parts"][0]["text"], "published");
        assert_eq!(
            talk(&done),
            ["< hello", "> Publish it?", "< [Approved by operator] looks fine", "> published"]
        );
        assert_eq!(peer.get(&id).unwrap(), done);
        assert_eq!(stage.lines("did.txt"), ["draft", "publish"]);
        let events = stage.events(&id);
        let answer = events.iter().find(|event| event["type"] == "interrupt_answered").unwrap();
        assert_eq!(
            [&answer["channel"], &answer["choice"], &answer["text"]],
            ["a2a", "approve", "looks fine"],
            "{way:?}"
        );
    }
}

#[test]
fn the_context_is_the_session_of_the_run_and_the_message_as_it_came_its_raw_input() {
    let stage = Stage::new();
    let (_served, client) = served(&stage, REVIEW);
    let peer = Peer::new(&client, Way::Rpc);
    let more = json!({"contextId": "ctx-7", "metadata": {"team": "press", "urn:envoi:a2a:flow": "review", "run_id": "x"}});
    let message = peer.message("first", &[json!({"text": "hello", "metadata": {"n": 1.50}})], &more);
    let task = peer.send(message.clone(), &[]).unwrap();
    let envelope = client.get(&format!("/v1/runs/{}/envelope", text(&task["id"]))).json();
    assert_eq!((&envelope["session_id"], &envelope["user_id"]), (&json!("ctx-7"), &json!("first")));
    let raw: Value = serde_json::from_str(envelope["raw_input"].as_str().unwrap()).unwrap();
    assert_eq!(raw, message);
    let metadata = &envelope["metadata"];
    assert_eq!((&metadata["team"], &metadata["run_id"]), (&json!("press"), &task["id"]));
    assert!(metadata["urn:envoi:a2a:flow"].is_null(), "that was said to the server");
}

#[test]
fn what_is_not_plainly_a_decision_is_refused_and_the_task_waits_on() {
    for way in WAYS {
        let stage = Stage::new();
        let (_served, client) = served(&stage, REVIEW);
        let peer = Peer::new(&client, way);
        let task = peer.start("hello");
        let id = text(&task["id"]);
        for words in ["", "perhaps", "yes please", "approved", "I do not approve", "[approved by operator]"] {
            let refused = peer.say(&id, "m", words).unwrap_err();
            assert_eq!(refused.code, if way == Way::Rest { json!("INVALID_PARAMS") } else { json!(-32602) });
            assert_eq!(refused.status, if way == Way::Rest { 400 } else { 200 });
            assert!(refused.message.contains("`approve`, `deny`") || words.is_empty(), "{}", refused.message);
            let now = peer.get(&id).unwrap();
            peer.assert_state(&now, "INPUT_REQUIRED");
            assert_eq!(talk(&now), talk(&task), "{words}");
        }
        let denied = peer.send(
            peer.message(
                "n",
                &[peer.data(json!({"approved": false, "text": "not yet"}))],
                &json!({"taskId": id}),
            ),
            &[],
        );
        let denied = denied.unwrap();
        peer.assert_state(&denied, "FAILED");
        assert_eq!(denied["metadata"]["urn:envoi:a2a:terminal_reason"], "policy_violation");
        assert_eq!(stage.lines("did.txt"), ["draft"]);
        let late = peer.say(&id, "o", "yes").unwrap_err();
        assert_eq!(late.code, if way == Way::Rest { json!("UNSUPPORTED_OPERATION") } else { json!(-32004) });
    }
}

#[test]
fn words_reach_the_step_byte_for_byte_and_files_come_with_them() {
    for way in WAYS {
        let stage = Stage::new();
        let (_served, client) = served(&stage, WORDS);
        let peer = Peer::new(&client, way);
        let id = text(&peer.start("go")["id"]);
        let looks = r#"{"text": "an envelope?",  "attachments": []}"#;
        let file = match way {
            Way::Old => {
                json!({"kind": "file", "file": {"name": "b.bin", "mimeType": "x/y", "bytes": "/wA="}})
            }
            _ => json!({"raw": "/wA=", "filename": "b.bin", "mediaType": "x/y"}),
        };
        let message = peer.message("m", &[peer.text(looks), file], &json!({"taskId": id}));
        let done = peer.send(message, &[]).unwrap();
        peer.assert_state(&done, "COMPLETED");
        let answer: Value = serde_json::from_str(&stage.read("answer.json")).unwrap();
        assert_eq!(answer["text"], looks, "{way:?}");
        assert_eq!(answer["attachments"][0]["mime"], "x/y");
        assert_eq!(std::fs::read(stage.path("got-b.bin")).unwrap(), [0xff, 0]);
    }
}

#[test]
fn an_envelope_is_taken_apart_where_it_is_announced_twice_and_refused_if_it_is_none() {
    const URI: &str = "urn:envoi:a2a:user-envelope:v1";
    for way in WAYS {
        let stage = Stage::new();
        let (_served, client) = served(&stage, WORDS);
        let peer = Peer::new(&client, way);
        let uploaded =
            client.call("POST", "/v1/artifacts", &[("content-type", "text/plain")], b"minutes").json();
        let id = text(&peer.start("go")["id"]);
        let named = if way == Way::Old { "x-a2a-extensions" } else { "a2a-extensions" };
        let header = [(named, URI)];
        let said = |words: &str, opted: bool, headers: &[(&str, &str)]| {
            let mut more = json!({"taskId": id});
            if opted {
                more["metadata"] = json!({URI: {"user_envelope": true}});
            }
            peer.send(peer.message("m", &[peer.text(words)], &more), headers)
        };
        let mut lost = uploaded.clone();
        lost["digest"] = format!("sha256:{}", "0".repeat(64)).into();
        let too_many = vec![uploaded.clone(); 21];
        for (words, reason) in [
            ("fine".to_owned(), "is not valid JSON"),
            (r#"{"text": "fine", "files": []}"#.to_owned(), "does not match {text, attachments?}"),
            (json!({"text": "fine", "attachments": [lost]}).to_string(), "cannot be read"),
            (json!({"text": "fine", "attachments": too_many}).to_string(), "does not match"),
        ] {
            let refused = said(&words, true, &header).unwrap_err();
            assert_eq!(refused.code, if way == Way::Rest { json!("INVALID_PARAMS") } else { json!(-32602) });
            assert!(refused.message.contains(reason), "{reason}: {}", refused.message);
            peer.assert_state(&peer.get(&id).unwrap(), "INPUT_REQUIRED");
        }
        let envelope = json!({"text": "fine", "attachments": [uploaded]}).to_string();
        let done = said(&envelope, true, &header).unwrap();
        peer.assert_state(&done, "COMPLETED");
        let answer: Value = serde_json::from_str(&stage.read("answer.json")).unwrap();
        assert_eq!(answer["text"], "fine");
        assert_eq!(answer["attachments"], json!([uploaded]));
        let files: Vec<_> = std::fs::read_dir(stage.path("")).unwrap().flatten().collect();
        let got = files.iter().find(|file| file.file_name().to_string_lossy().starts_with("got-")).unwrap();
        assert_eq!(std::fs::read_to_string(got.path()).unwrap(), "minutes");
        // The same again is what it was, although its file is lost by now.
        let hex = text(&uploaded["digest"])[7..].to_owned();
        std::fs::remove_file(stage.path(".envoi/artifacts/sha256").join(&hex[..2]).join(&hex[2..])).unwrap();
        assert_eq!(talk(&said(&envelope, true, &header).unwrap()), talk(&done));
        client.call("POST", "/v1/artifacts", &[("content-type", "text/plain")], b"minutes");

        // Announced once alone, it is text.
        for (opted, headers) in [(true, &[][..]), (false, &header[..])] {
            let id = text(&peer.start("go")["id"]);
            let more = match opted {
                true => json!({"taskId": id, "metadata": {URI: {"user_envelope": true}}}),
                false => json!({"taskId": id}),
            };
            peer.send(peer.message("m", &[peer.text(&envelope)], &more), headers).unwrap();
            let answer: Value = serde_json::from_str(&stage.read("answer.json")).unwrap();
            assert_eq!(answer["text"], envelope.as_str(), "{way:?} {opted}");
        }
    }
}

#[test]
fn a_message_that_comes_again_is_done_once_and_another_of_its_id_is_not_taken_for_it() {
    for way in WAYS {
        let stage = Stage::new();
        let (_served, client) = served(&stage, REVIEW);
        let peer = Peer::new(&client, way);
        let first = |words: &str, context: &str| {
            peer.send(peer.message("0", &[peer.text(words)], &json!({"contextId": context})), &[]).unwrap()
        };
        let task = first("hello", "c1");
        assert_eq!(task["contextId"], "c1");
        assert_eq!(first("hello", "c1")["id"], task["id"]);
        let (elsewhere, id) = (first("hello", "c2"), text(&task["id"]));
        assert_ne!(elsewhere["id"], task["id"]);
        let done = peer.say(&id, "0", "yes").unwrap();
        assert_eq!(peer.say(&id, "0", "yes").unwrap(), done);
        assert_eq!(first("hello", "c1"), done, "the task as it stands now");
        let refused = peer.say(&id, "0", "no").unwrap_err();
        assert_eq!(
            refused.code,
            if way == Way::Rest { json!("UNSUPPORTED_OPERATION") } else { json!(-32004) }
        );
        assert_eq!(stage.lines("did.txt"), ["draft", "draft", "publish"]);
        // Without a context nothing is a repetition.
        let twice = [peer.start("x"), peer.start("x")];
        assert_ne!(twice[0]["id"], twice[1]["id"]);
    }
}

#[test]
fn ids_that_do_not_belong_together_and_ids_that_never_were_are_refused() {
    for way in WAYS {
        let stage = Stage::new();
        let (_served, client) = served(&stage, REVIEW);
        let peer = Peer::new(&client, way);
        let id = text(&peer.start("hello")["id"]);
        let say = |more: Value| peer.send(peer.message("m", &[peer.text("yes")], &more), &[]).unwrap_err();
        let other = say(json!({"taskId": id, "contextId": "other"}));
        assert_eq!(other.code, if way == Way::Rest { json!("INVALID_PARAMS") } else { json!(-32602) });
        for never in ["run_00000000000000000000000000", "x", "run_\u{e9}"] {
            let refused = say(json!({"taskId": never}));
            let expected = if way == Way::Rest { json!("TASK_NOT_FOUND") } else { json!(-32001) };
            assert_eq!(refused.code, expected, "{never}");
            assert_eq!(peer.get(never).unwrap_err().code, expected, "{never}");
        }
        assert_eq!(stage.lines("did.txt"), ["draft"]);
    }
}

#[test]
fn several_questions_are_distinguished_by_their_ids() {
    let flow = "
flow: both
steps:
  - id: one
    needs: []
    ask: 'One?'
  - id: two
    needs: []
    ask: { kind: clarification, message: 'Two?' }
  - id: last
    needs: [one, two]
    run: echo last
";
    let stage = Stage::new();
    let (_served, client) = served(&stage, flow);
    let peer = Peer::new(&client, Way::Rpc);
    let task = peer.start("go");
    peer.assert_state(&task, "INPUT_REQUIRED");
    let id = text(&task["id"]);
    let open = &task["status"]["message"]["metadata"]["urn:envoi:a2a:open_questions"];
    assert_eq!(open.as_array().unwrap().len(), 2, "{task:#}");
    let refused = peer.say(&id, "m", "yes").unwrap_err();
    assert_eq!(refused.code, -32602);
    for named in open.as_array().unwrap() {
        assert!(refused.message.contains(named.as_str().unwrap()), "{}", refused.message);
    }
    let history = task["history"].as_array().unwrap();
    let question = |words: &str| {
        let asked = history.iter().find(|message| message["parts"][0]["text"] == words).unwrap();
        asked["metadata"]["urn:envoi:a2a:question"].clone()
    };
    let say = |words: &str, named: Value| {
        let more = json!({"taskId": id, "metadata": {"urn:envoi:a2a:question": named}});
        peer.send(peer.message("m", &[peer.text(words)], &more), &[])
    };
    assert_eq!(say("yes", json!("int_0")).unwrap_err().code, -32602);
    // The question is named by its id, or by its text.
    let after = say("something", question("Two?")["id"].clone()).unwrap();
    peer.assert_state(&after, "INPUT_REQUIRED");
    assert_eq!(after["status"]["message"]["parts"][0]["text"], "One?");
    let done = say("yes", question("One?")).unwrap();
    peer.assert_state(&done, "COMPLETED");
}

#[test]
fn a_message_chooses_its_flow_and_gives_it_its_inputs() {
    let stage = Stage::new();
    stage.write(".envoi/config.yaml", "server: { a2a: { default_flow: review, workspace: shared } }\n");
    let (_served, client) = served(&stage, REVIEW);
    let peer = Peer::new(&client, Way::Rpc);
    let typed = "flow: typed\ninputs: { count: { type: integer } }\nsteps:\n  - id: a\n    run: echo \"$N\"\n    env: { N: '${{ inputs.count }}' }\n";
    assert_eq!(client.post("/v1/flows", typed).status, 201);
    let started = |params: Value| {
        let reply = peer.call("SendMessage", params, &[]);
        let body = reply.json();
        match body["error"].is_null() {
            true => text(&body["result"]["task"]["metadata"]["urn:envoi:a2a:flow"]),
            false => format!("{} {}", body["error"]["code"], body["error"]["message"]),
        }
    };
    let message = |part: Value, metadata: Value| peer.message("m", &[part], &json!({"metadata": metadata}));
    let seven = || json!({"data": {"count": 7}});
    assert_eq!(started(json!({"message": message(json!({"text": "x"}), json!({}))})), "review");
    assert_eq!(started(json!({"tenant": "typed", "message": message(seven(), json!({}))})), "typed");
    let named = json!({"urn:envoi:a2a:flow": "typed"});
    assert_eq!(started(json!({"tenant": "review", "message": message(seven(), named)})), "typed");
    for (tenant, part, words) in [
        ("typed", json!({"text": "x"}), "input `count` is missing"),
        ("typed", json!({"data": {"count": "x"}}), "input `count`"),
        ("nothing", json!({"text": "x"}), "there is no flow `nothing`"),
    ] {
        let told = started(json!({"tenant": tenant, "message": message(part, json!({}))}));
        assert!(told.starts_with("-32602") && told.contains(words), "{words}: {told}");
    }
    let over_rest = Peer::new(&client, Way::Rest);
    let reply =
        over_rest.ask("POST", "/typed/message:send", &json!({"message": message(seven(), json!({}))}), &[]);
    assert_eq!(reply.json()["task"]["status"]["message"]["parts"][0]["text"], "7", "{}", reply.text());
    let file = json!({"raw": "/wA="});
    assert_eq!(started(json!({"message": message(file, json!({}))})).split(' ').next(), Some("-32005"));
    // Nothing was started by what was refused.
    assert_eq!(client.json("/v1/runs")["runs"].as_array().unwrap().len(), 4);
}
