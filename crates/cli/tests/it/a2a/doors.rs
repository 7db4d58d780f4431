//! Which requests are accepted: tokens, tenants, scopes, versions, paths, bodies.

use super::{
    REVIEW,
    peer::{Peer, Way},
    served,
};
use crate::{
    serve::client::{Client, Reply, Served, token},
    stage::{Stage, text, wait_until},
};
use serde_json::{Value, json};

/// An operation in a request: its name, and the required scope of the token.
struct Asked {
    name: &'static str,
    scope: &'static str,
    way: Way,
    call: Box<dyn Fn(&Client) -> Reply>,
}

/// Every operation in every way, about one task.
fn operations(task: &str) -> Vec<Asked> {
    operations_by(task, Peer::new)
}

/// The same, by peers that are made so.
fn operations_by(task: &str, peer: impl Fn(&Client, Way) -> Peer + Clone + 'static) -> Vec<Asked> {
    let mut all = Vec::new();
    let message = |way: Way, task: Option<&str>| {
        let parts =
            if way == Way::Old { json!([{"kind": "text", "text": "yes"}]) } else { json!([{"text": "yes"}]) };
        let role = if way == Way::Old { "user" } else { "ROLE_USER" };
        let mut message = json!({"kind": "message", "messageId": "m", "role": role, "parts": parts});
        if let Some(task) = task {
            message["taskId"] = task.into();
        }
        json!({"message": message})
    };
    let push = json!({"taskId": task, "id": "p", "url": "https://hook.example",
        "pushNotificationConfig": {"id": "p", "url": "https://hook.example"}});
    let named = json!({"taskId": task, "id": "p"});
    let old_named = json!({"id": task, "pushNotificationConfigId": "p"});
    let id = json!({"id": task});
    for (way, method, scope, params) in [
        (Way::Rpc, "SendMessage", "answer", message(Way::Rpc, Some(task))),
        (Way::Rpc, "SendStreamingMessage", "answer", message(Way::Rpc, Some(task))),
        (Way::Rpc, "GetTask", "read", id.clone()),
        (Way::Rpc, "CancelTask", "run", id.clone()),
        (Way::Rpc, "SubscribeToTask", "read", id.clone()),
        (Way::Rpc, "CreateTaskPushNotificationConfig", "run", push.clone()),
        (Way::Rpc, "GetTaskPushNotificationConfig", "read", named.clone()),
        (Way::Rpc, "ListTaskPushNotificationConfigs", "read", json!({"taskId": task})),
        (Way::Rpc, "DeleteTaskPushNotificationConfig", "run", named),
        (Way::Old, "message/send", "answer", message(Way::Old, Some(task))),
        (Way::Old, "message/stream", "answer", message(Way::Old, Some(task))),
        (Way::Old, "tasks/get", "read", id.clone()),
        (Way::Old, "tasks/cancel", "run", id.clone()),
        (Way::Old, "tasks/resubscribe", "read", id.clone()),
        (Way::Old, "tasks/pushNotificationConfig/set", "run", push.clone()),
        (Way::Old, "tasks/pushNotificationConfig/get", "read", old_named.clone()),
        (Way::Old, "tasks/pushNotificationConfig/list", "read", id),
        (Way::Old, "tasks/pushNotificationConfig/delete", "run", old_named),
    ] {
        let peer = peer.clone();
        let call = move |client: &Client| peer(client, way).call(method, params.clone(), &[]);
        all.push(Asked { name: method, scope, way, call: Box::new(call) });
    }
    let configs = format!("/tasks/{task}/pushNotificationConfigs");
    for (verb, path, scope, body) in [
        ("POST", "/message:send".to_owned(), "answer", message(Way::Rest, Some(task))),
        ("POST", "/message:stream".to_owned(), "answer", message(Way::Rest, Some(task))),
        ("GET", format!("/tasks/{task}"), "read", Value::Null),
        ("POST", format!("/tasks/{task}:cancel"), "run", json!({})),
        ("POST", format!("/tasks/{task}:subscribe"), "read", json!({})),
        ("GET", format!("/tasks/{task}:subscribe"), "read", Value::Null),
        ("POST", configs.clone(), "run", json!({"url": "https://hook.example"})),
        ("GET", configs.clone(), "read", Value::Null),
        ("GET", format!("{configs}/p"), "read", Value::Null),
        ("DELETE", format!("{configs}/p"), "run", Value::Null),
    ] {
        let peer = peer.clone();
        let call = move |client: &Client| peer(client, Way::Rest).ask(verb, &path, &body, &[]);
        all.push(Asked { name: "rest", scope, way: Way::Rest, call: Box::new(call) });
    }
    all
}

/// Two tenants; a task of `north` waits.
fn land(stage: &Stage) -> (Served, Client, Client, String) {
    let served = Served::start(stage);
    let north = served.client(&token(stage, &["n", "--scope", "admin", "--tenant", "north"]));
    let south = served.client(&token(stage, &["s", "--scope", "admin", "--tenant", "south"]));
    assert_eq!(north.post("/v1/flows", REVIEW).status, 201);
    let task = text(&Peer::new(&north, Way::Rpc).start("x")["id"]);
    (served, north, south, task)
}

/// The status and the code of a refusal of the server's own, which has the shape of the binding.
fn refusal(reply: &Reply, way: Way) -> (u16, String) {
    assert_eq!(reply.header("content-type"), "application/json", "{}", reply.text());
    let body = reply.json();
    let (error, info) = (&body["error"], &body["error"]["details"][0]);
    let code = match way {
        Way::Rest => {
            assert_eq!((&error["code"], error["status"].is_string()), (&json!(reply.status), true), "{body}");
            &info["metadata"]["code"]
        }
        Way::Rpc | Way::Old => {
            assert_eq!([&body["jsonrpc"], &body["id"]], [&json!("2.0"), &Value::Null]);
            let data = &error["data"];
            if way == Way::Rpc { &data[0]["metadata"]["code"] } else { &data["code"] }
        }
    };
    (reply.status, code.as_str().unwrap_or_else(|| panic!("{way:?}: {body}")).to_owned())
}

#[test]
fn what_is_refused_before_it_is_an_operation_has_the_shape_of_its_binding_too() {
    let stage = Stage::new();
    let (_served, client) = served(&stage, REVIEW);
    let large = vec![b' '; 2 * 1024 * 1024];
    let json = ("content-type", "application/json");
    for (verb, headers, body, status, code) in [
        ("POST", &[("content-type", "text/plain")][..], &b"x"[..], 415, "MEDIA_TYPE_NOT_TAKEN"),
        ("POST", &[json], &large, 413, "BODY_TOO_LARGE"),
        ("POST", &[json, ("origin", "https://evil.example")], b"{}", 403, "ORIGIN_NOT_ALLOWED"),
        ("POST", &[json, ("host", "evil.example")], b"{}", 421, "HOST_NOT_ALLOWED"),
        ("PUT", &[json], b"{}", 405, "METHOD_NOT_ALLOWED"),
    ] {
        for (path, way) in [
            ("/a2a", Way::Rpc),
            ("/a2a/", Way::Old),
            ("/a2a/review", Way::Old),
            ("/a2a/review/?A2A-Version=1.0", Way::Rpc),
            ("/a2a/message:send", Way::Rest),
            ("/a2a/review/message:send", Way::Rest),
        ] {
            let mut headers = headers.to_vec();
            if way != Way::Old {
                headers.push(("a2a-version", "1.0"));
            }
            let reply = client.call(verb, path, &headers, body);
            assert_eq!(refusal(&reply, way), (status, code.to_owned()), "{verb} {path}");
        }
    }
    for path in ["/a2a/nothing/at/all", "/a2a/Nothing", "/a2a/message:other", "/a2a/review/nothing"] {
        assert_eq!(refusal(&client.get(path), Way::Rest), (404, "NOT_FOUND".to_owned()), "{path}");
    }
    let card =
        client.call("GET", "/a2a/review/.well-known/agent-card.json", &[("host", "evil.example")], b"");
    assert_eq!(refusal(&card, Way::Rest), (421, "HOST_NOT_ALLOWED".to_owned()));
    // Elsewhere it is a problem.
    let reply = client.call("POST", "/v1/runs", &[json, ("origin", "https://evil.example")], b"{}");
    assert_eq!((reply.status, reply.header("content-type").as_str()), (403, "application/problem+json"));
}

#[test]
fn a_client_that_starts_too_much_gets_the_time_of_its_next_try() {
    let stage = Stage::new();
    stage.write(".envoi/config.yaml", "server: { a2a: { workspace: shared }, limits: { starts: 1 } }\n");
    let (_served, client) = served(&stage, REVIEW);
    let peer = |way| Peer::new(&client, way);
    peer(Way::Rpc).start("x");
    let message = |way| json!({"message": peer(way).message("m", &[peer(way).text("x")], &Value::Null)});
    for reply in [
        peer(Way::Rpc).call("SendMessage", message(Way::Rpc), &[]),
        peer(Way::Old).call("message/send", message(Way::Old), &[]),
        peer(Way::Rest).ask("POST", "/message:send", &message(Way::Rest), &[]),
    ] {
        assert!(reply.status == 429 && reply.text().contains("TOO_MANY_STARTS"), "{}", reply.text());
        let seconds: u32 = reply.header("retry-after").parse().unwrap();
        assert!((1..=60).contains(&seconds), "{seconds}");
    }
}

#[test]
fn without_a_good_token_every_operation_answers_the_same_and_does_nothing() {
    let stage = Stage::new();
    let (served, north, _, task) = land(&stage);
    let short = token(&stage, &["short", "--scope", "admin", "--tenant", "north", "--expires", "1ms"]);
    let expired = served.client(&short);
    wait_until("its end", || expired.get("/v1/health").status == 401);
    let before = Peer::new(&north, Way::Rest).get(&task).unwrap();
    let bearers = [Client::new(&served.url, None), expired, served.client("evt_0_0"), served.client("")];
    for asked in operations(&task).iter().chain(&operations("run_0")) {
        for client in &bearers {
            let reply = (asked.call)(client);
            assert_eq!(refusal(&reply, asked.way), (401, "TOKEN_NEEDED".to_owned()), "{}", asked.name);
            assert_eq!(reply.header("www-authenticate"), "Bearer");
        }
    }
    for path in ["/a2a/nothing/here", "/a2a/tasks", "/a2a/extendedAgentCard"] {
        let reply = Client::new(&served.url, None).get(path);
        assert_eq!(refusal(&reply, Way::Rest), (401, "TOKEN_NEEDED".to_owned()), "{path}");
    }
    assert_eq!(Peer::new(&north, Way::Rest).get(&task).unwrap(), before);
}

#[test]
fn a_task_of_another_tenant_is_as_if_there_were_none() {
    let stage = Stage::new();
    let (_served, north, south, task) = land(&stage);
    assert_eq!(south.post("/v1/flows", REVIEW).status, 201);
    let before = Peer::new(&north, Way::Rest).get(&task).unwrap();
    let never = "run_00000000000000000000000000";
    for (there, nowhere) in operations(&task).iter().zip(&operations(never)) {
        let (there, nowhere) = ((there.call)(&south), (nowhere.call)(&south));
        assert_eq!((there.status, there.text()), (nowhere.status, nowhere.text()));
        let told = there.json();
        assert!(told["error"]["code"] == -32001 || told["error"]["code"] == 404, "{told}");
    }
    assert_eq!(Peer::new(&north, Way::Rest).get(&task).unwrap(), before);
    let rest = Peer::new(&south, Way::Rest);
    assert_eq!(rest.ask("GET", "/tasks", &Value::Null, &[]).json()["totalSize"], 0);
    // A context is of a token: the same name is another conversation.
    let context = text(&before["contextId"]);
    let message = |peer: &Peer| peer.message("m", &[peer.text("yes")], &json!({"contextId": context}));
    let old = Peer::new(&south, Way::Old);
    assert_ne!(old.send(message(&old), &[]).unwrap()["id"], task.as_str());
}

#[test]
fn a_task_of_another_flow_is_as_if_there_were_none_below_a_flow_s_path() {
    let stage = Stage::new();
    let (_served, client) = served(&stage, REVIEW);
    let task = text(&Peer::new(&client, Way::Rpc).start("x")["id"]);
    let other = "flow: other\nsteps:\n  - id: a\n    run: echo a\n";
    assert_eq!(client.post("/v1/flows", other).status, 201);
    let before = Peer::new(&client, Way::Rest).get(&task).unwrap();
    let below = |task: &str, flow: &'static str| {
        operations_by(task, move |client: &Client, way: Way| Peer::of_flow(client, way, flow))
    };
    let never = "run_00000000000000000000000000";
    for (there, nowhere) in below(&task, "other").iter().zip(&below(never, "other")) {
        let (there, nowhere) = ((there.call)(&client), (nowhere.call)(&client));
        assert_eq!((there.status, there.text()), (nowhere.status, nowhere.text()));
        let told = there.json();
        assert!(told["error"]["code"] == -32001 || told["error"]["code"] == 404, "{told}");
    }
    // `tenant` is the same as the path.
    let rpc = Peer::new(&client, Way::Rpc);
    let get = |tenant: &str| rpc.call("GetTask", json!({"tenant": tenant, "id": task}), &[]).json();
    assert_eq!(get("other")["error"]["code"], -32001);
    assert_eq!(get("review")["result"], before);
    assert_eq!(Peer::new(&client, Way::Rest).get(&task).unwrap(), before);
    let digest = text(&client.json(&format!("/v1/runs/{task}"))["flow_digest"]);
    for flow in ["review", digest.as_str()] {
        assert_eq!(Peer::of_flow(&client, Way::Rest, flow).get(&task).unwrap(), before, "{flow}");
    }
    let own = Peer::of_flow(&client, Way::Old, "review");
    own.assert_state(&own.say(&task, "m", "yes").unwrap(), "COMPLETED");
}

#[test]
fn a_missing_scope_is_reported_and_nothing_is_done() {
    let stage = Stage::new();
    let (served, north, _, task) = land(&stage);
    let before = Peer::new(&north, Way::Rest).get(&task).unwrap();
    for scope in ["read", "answer", "run"] {
        let client = served.client(&token(&stage, &[scope, "--scope", scope, "--tenant", "north"]));
        for asked in operations(&task).iter().filter(|asked| asked.scope != "read" && asked.scope != scope) {
            let reply = (asked.call)(&client);
            assert_eq!(reply.status, 403, "{} as {scope}: {}", asked.name, reply.text());
            assert!(reply.text().contains("SCOPE_TOO_SMALL"), "{}", reply.text());
            assert!(asked.way == Way::Rest || reply.json()["id"] == 7);
        }
        if scope != "run" {
            let peer = Peer::new(&client, Way::Rpc);
            let start = peer.message("s", &[peer.text("x")], &Value::Null);
            assert_eq!(peer.call("SendMessage", json!({"message": start}), &[]).status, 403);
        }
        assert_eq!(Peer::new(&client, Way::Rest).get(&task).unwrap(), before);
    }
    // The scope that is wanted is enough.
    let answer = served.client(&token(&stage, &["a2", "--scope", "answer", "--tenant", "north"]));
    let peer = Peer::new(&answer, Way::Rpc);
    peer.assert_state(&peer.say(&task, "m", "yes").unwrap(), "COMPLETED");
}

#[test]
fn what_is_no_request_is_refused_in_the_words_of_its_binding() {
    let stage = Stage::new();
    let (_served, client) = served(&stage, REVIEW);
    let rpc = |path: &str, headers: &[(&str, &str)], body: &str| {
        let headers: Vec<(&str, &str)> =
            [("content-type", "application/json")].into_iter().chain(headers.iter().copied()).collect();
        client.call("POST", path, &headers, body.as_bytes())
    };
    let get = r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"run_0"}}"#;
    let old = r#"{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"run_0"}}"#;
    let new = [("a2a-version", "1.0")];
    for (path, headers, body, code) in [
        ("/a2a", &new[..], get, -32001),
        ("/a2a/", &new[..], get, -32001),
        ("/a2a/review", &new[..], get, -32001),
        ("/a2a/review/", &new[..], get, -32001),
        ("/a2a?A2A-Version=1.0", &[], get, -32001),
        ("/a2a", &[], old, -32001),
        ("/a2a", &[("a2a-version", "0.3")], old, -32001),
        ("/a2a", &[], get, -32009),
        ("/a2a", &new[..], old, -32009),
        ("/a2a", &[("a2a-version", "2.0")], get, -32009),
        ("/a2a", &new[..], "{", -32700),
        ("/a2a", &new[..], "", -32700),
        ("/a2a", &new[..], "[]", -32600),
        ("/a2a", &new[..], r#"{"jsonrpc":"2.0","id":1,"method":"Nothing"}"#, -32601),
        ("/a2a", &new[..], r#"{"jsonrpc":"2.0","id":1,"method":"GetTask"}"#, -32602),
        ("/a2a", &new[..], r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{}}"#, -32602),
    ] {
        let reply = rpc(path, headers, body);
        assert_eq!(
            (reply.status, &reply.json()["error"]["code"]),
            (200, &json!(code)),
            "{path} {body}: {}",
            reply.text()
        );
        assert_eq!(reply.header("content-type"), "application/json");
    }
    for (verb, path, headers, status) in [
        ("GET", "/a2a/tasks/run_0", &new[..], 404),
        ("GET", "/a2a/review/tasks/run_0", &new[..], 404),
        ("GET", "/a2a/tasks/run_0?A2A-Version=1.0", &[], 404),
        ("GET", "/a2a/tasks/run_0", &[], 400),
        ("GET", "/a2a/tasks/run_0", &[("a2a-version", "0.3")], 400),
        ("GET", "/a2a/tasks/run_0", &[("a2a-version", "7.1")], 400),
        ("GET", "/a2a", &new[..], 405),
        ("DELETE", "/a2a/tasks/run_0", &new[..], 405),
        ("GET", "/a2a/nothing/at/all", &new[..], 404),
        ("GET", "/a2a/Nothing", &new[..], 404),
        ("POST", "/a2a/message:send", &new[..], 400),
    ] {
        let reply = client.call(verb, path, headers, b"");
        assert_eq!(reply.status, status, "{verb} {path}: {}", reply.text());
    }
    for path in ["/a2a", "/a2a/message:send"] {
        let headers = [("content-type", "text/plain"), ("a2a-version", "1.0")];
        assert_eq!(client.call("POST", path, &headers, get.as_bytes()).status, 415, "{path}");
        let headers = [("content-type", "application/a2a+json; charset=utf-8"), ("a2a-version", "1.0")];
        assert_ne!(client.call("POST", path, &headers, get.as_bytes()).status, 415, "{path}");
    }
    let body =
        json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]}}).to_string();
    let headers = [("a2a-version", "1.0"), ("content-type", "application/a2a+json")];
    let reply = client.call("POST", "/a2a/message:send", &headers, body.as_bytes());
    assert_eq!((reply.status, reply.header("content-type").as_str()), (200, "application/a2a+json"));
    let large = vec![b' '; 2 * 1024 * 1024];
    assert_eq!(client.call("POST", "/a2a", &headers, &large).status, 413);
}

#[test]
fn the_card_needs_no_token_and_names_no_flow_and_the_extended_one_names_the_caller_s() {
    const CARD: &str = "/.well-known/agent-card.json";
    let stage = Stage::new();
    let (served, north, south, _) = land(&stage);
    let nobody = Client::new(&served.url, None);
    let reply = nobody.get(CARD);
    assert_eq!((reply.status, reply.header("content-type").as_str()), (200, "application/json"));
    assert!(!reply.text().contains("review"), "{}", reply.text());
    let card = reply.json();
    let url = format!("{}/a2a", served.url);
    assert_eq!(card["url"], url.as_str());
    let interfaces = card["supportedInterfaces"].as_array().unwrap();
    assert!(interfaces.iter().all(|interface| interface["url"] == url.as_str()));
    let (tag, date) = (reply.header("etag"), reply.header("last-modified"));
    for (name, value, status) in [
        ("if-none-match", tag.as_str(), 304),
        ("if-none-match", "\"other\"", 200),
        ("if-modified-since", date.as_str(), 304),
    ] {
        let reply = nobody.call("GET", CARD, &[(name, value)], &[]);
        assert_eq!((reply.status, reply.body.is_empty()), (status, status == 304), "{name} {value}");
        assert_eq!(reply.header("cache-control"), "public, max-age=300");
    }
    for (version, older) in [("1.0", false), ("1.0.1", false), ("0.3", true), ("", true), ("7.0", true)] {
        let reply = nobody.call("GET", CARD, &[("a2a-version", version)], &[]);
        assert_eq!(reply.json()["url"] == url.as_str(), older, "{version}");
        assert_eq!(reply.header("vary"), "host, a2a-version");
    }
    assert_eq!(nobody.call("GET", CARD, &[("host", "evil.example")], &[]).status, 421);
    for flow in ["review", "there-is-none"] {
        let place = format!("/a2a/{flow}{CARD}");
        let reply = nobody.get(&place);
        assert_eq!(reply.status, 200, "{place}");
        let expected = card.to_string().replace(&url, &format!("{url}/{flow}"));
        assert_eq!(reply.json().to_string(), expected);
        assert_eq!(nobody.call("GET", &place, &[("host", "evil.example")], &[]).status, 421);
        assert_eq!(nobody.call("POST", &place, &[], b"{}").status, 401);
    }
    assert_eq!(nobody.call("POST", CARD, &[], b"{}").status, 405);

    let skills = |client: &Client| {
        let rest = Peer::new(client, Way::Rest).ask("GET", "/extendedAgentCard", &Value::Null, &[]).json();
        let new = Peer::new(client, Way::Rpc).call("GetExtendedAgentCard", json!({}), &[]).json();
        let old = Peer::new(client, Way::Old);
        let old = old.call("agent/getAuthenticatedExtendedCard", json!({}), &[]).json();
        assert_eq!(new["result"], rest);
        assert_eq!(old["result"]["skills"], rest["skills"]);
        assert_eq!([&old["result"]["url"], &rest["url"]], [&json!(url), &Value::Null]);
        rest["skills"].as_array().unwrap().iter().map(|skill| text(&skill["id"])).collect::<Vec<_>>()
    };
    assert_eq!(skills(&north), ["review"]);
    assert_eq!(skills(&south), ["run"]);
}
