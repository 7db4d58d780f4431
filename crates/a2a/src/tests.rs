//! Tests whole requests and their whole answers, in both versions and both bindings.

use super::{
    InPath,
    fault::{Fault, Kind},
    json_rpc,
    model::{
        Authentication, Content, Message, Part, PushConfig, Role, Secret, StatusUpdate, StreamItem, Task,
        TaskState, TaskStatus,
    },
    read, read_rest,
    request::{Configuration, ListQuery, Method, Params, Reply, Request, SendRequest, TaskQuery},
    service_parameters::{EXTENSIONS, Extensions, VERSION, negotiate_version},
    version::Version,
    write, write_item, write_request,
};
use envoi_contract::{
    json::{Object, Value},
    time::Timestamp,
};

/// Answers a body like a server: the text of a first message is returned as the task's history.
fn answer(headers: &[(&str, &str)], body: &str) -> String {
    let header = |wanted: &str| headers.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value);
    let version = match negotiate_version(header(VERSION), None) {
        Ok(version) => version,
        Err(fault) => return json_rpc::error(&json_rpc::Id::Null, Version::V10, &fault),
    };
    let incoming = match json_rpc::read(body.as_bytes()) {
        Ok(incoming) => incoming,
        Err(json_rpc::Unreadable { id, fault }) => return json_rpc::error(&id, version, &fault),
    };
    let done = Method::named(&incoming.method, version)
        .and_then(|method| read(version, method, &incoming.params))
        .and_then(|request| echo(request.params));
    match done {
        Ok(reply) => json_rpc::result(&incoming.id, write(version, &reply)),
        Err(fault) => json_rpc::error(&incoming.id, version, &fault),
    }
}

fn echo(params: Params) -> Result<Reply, Fault> {
    match params {
        Params::Send(send) => Ok(Reply::SentTask(task(send.message))),
        _ => Err(Fault::task_not_found()),
    }
}

fn task(message: Message) -> Task {
    Task {
        id: "t".to_owned(),
        context_id: "c".to_owned(),
        status: TaskStatus { state: TaskState::Working, message: None, timestamp: None },
        artifacts: Vec::new(),
        history: vec![message],
        metadata: Object::new(),
    }
}

const OF_V10: &[(&str, &str)] = &[("A2A-Version", "1.0")];

#[test]
fn a_message_is_taken_and_answered_in_its_own_version() {
    assert_eq!(
        answer(
            OF_V10,
            concat!(
                r#"{"jsonrpc":"2.0","id":1.50,"method":"SendMessage","params":{"message":"#,
                r#"{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}}"#
            )
        ),
        concat!(
            r#"{"jsonrpc":"2.0","id":1.50,"result":{"task":{"id":"t","contextId":"c","#,
            r#""status":{"state":"TASK_STATE_WORKING"},"#,
            r#""history":[{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}]}}}"#
        )
    );
    assert_eq!(
        answer(
            &[],
            concat!(
                r#"{"jsonrpc":"2.0","id":null,"method":"message/send","params":{"message":"#,
                r#"{"messageId":"m","role":"user","parts":[{"kind":"text","text":"hi"}]}}}"#
            )
        ),
        concat!(
            r#"{"jsonrpc":"2.0","id":null,"result":{"kind":"task","id":"t","contextId":"c","#,
            r#""status":{"state":"working"},"#,
            r#""history":[{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"hi"}]}]}}"#
        )
    );
}

/// The error code of the answer to `body`.
fn code(headers: &[(&str, &str)], body: &str) -> String {
    let said = answer(headers, body);
    let code = said.split_once(r#""error":{"code":"#).and_then(|(_, rest)| rest.split_once(','));
    code.unwrap_or_else(|| panic!("{said}")).0.to_owned()
}

#[test]
fn what_cannot_be_done_is_answered_with_the_error_that_the_specification_has_for_it() {
    let get = |method: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":"r4","method":"{method}","params":{params}}}"#)
    };
    let rows = [
        (OF_V10, get("GetTask", r#"{"id":"x"}"#), "-32001"),
        (&[], get("tasks/get", r#"{"id":"x"}"#), "-32001"),
        (OF_V10, get("GetTask", "{}"), "-32602"),
        (&[], get("tasks/get", "{}"), "-32602"),
        (OF_V10, get("SendMessage", "{}"), "-32602"),
        (OF_V10, get("GetTask", "[]"), "-32602"),
        (OF_V10, get("nonexistent/method", "{}"), "-32601"),
        (&[], get("tasks/list", "{}"), "-32601"),
        (OF_V10, get("message/send", "{}"), "-32009"),
        (&[], get("SendMessage", "{}"), "-32009"),
        (&[("A2A-Version", "99.0")], get("GetTask", r#"{"id":"x"}"#), "-32009"),
        (OF_V10, "{".to_owned(), "-32700"),
        (&[], "{".to_owned(), "-32700"),
        (OF_V10, "[]".to_owned(), "-32600"),
    ];
    for (headers, body, expected) in rows {
        assert_eq!(code(headers, &body), expected, "{headers:?} {body}");
    }
    assert_eq!(
        answer(&[], &get("tasks/get", r#"{"id":"x"}"#)),
        r#"{"jsonrpc":"2.0","id":"r4","error":{"code":-32001,"message":"Task not found","data":null}}"#
    );
}

#[test]
fn http_with_json_is_the_same_without_the_frame() {
    let body = br#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}"#;
    let read = read_rest(Method::Send, InPath::default(), &[], body).unwrap();
    let reply = echo(read.params).unwrap();
    assert_eq!(
        write(Version::V10, &reply).compact(),
        concat!(
            r#"{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"},"#,
            r#""history":[{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}]}}"#
        )
    );
    let asked = InPath { task: Some("x"), ..InPath::default() };
    let read = read_rest(Method::Get, asked, &[], b"").unwrap();
    assert_eq!(
        echo(read.params).unwrap_err().rest().compact(),
        concat!(
            r#"{"error":{"code":404,"status":"NOT_FOUND","message":"Task not found","details":["#,
            r#"{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","#,
            r#""domain":"a2a-protocol.org","metadata":{}}]}}"#
        )
    );
}

#[test]
fn an_item_of_a_stream_is_a_whole_response_of_json_rpc() {
    let status = TaskStatus { state: TaskState::Completed, message: None, timestamp: None };
    let (task_id, context_id) = ("t".to_owned(), "c".to_owned());
    let item =
        StreamItem::Status(StatusUpdate { task_id, context_id, status, metadata: Object::new(), last: true });
    let id = json_rpc::Id::Text("r1".to_owned());
    let rows = [
        (
            Version::V10,
            r#"{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}"#,
        ),
        (
            Version::V03,
            r#"{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"completed"},"final":true}"#,
        ),
    ];
    for (version, expected) in rows {
        let said = json_rpc::result(&id, write_item(version, &item));
        assert_eq!(said, format!(r#"{{"jsonrpc":"2.0","id":"r1","result":{expected}}}"#));
        assert!(!said.contains('\n'));
    }
}

#[test]
fn clients_of_either_version_name_extensions_in_their_own_header() {
    for name in EXTENSIONS {
        let headers = [(name, "urn:a, urn:b"), ("A2A-Version", "1.0")];
        let values = headers.iter().filter(|(name, _)| EXTENSIONS.contains(name)).map(|(_, value)| *value);
        assert!(Extensions::named(values).contain("urn:b"), "{name}");
    }
}

#[test]
fn a_message_of_one_version_can_be_written_in_the_other() {
    let part = Part::text("hi");
    let message = Message {
        id: "m".to_owned(),
        context_id: None,
        task_id: None,
        role: Role::Agent,
        parts: vec![part],
        metadata: Object::new(),
        extensions: Vec::new(),
        reference_task_ids: Vec::new(),
    };
    let reply = Reply::SentMessage(message);
    assert_eq!(
        [Version::V10, Version::V03].map(|version| write(version, &reply).compact()),
        [
            r#"{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"hi"}]}}"#,
            r#"{"kind":"message","messageId":"m","role":"agent","parts":[{"kind":"text","text":"hi"}]}"#,
        ]
    );
}

/// A request of each operation, with everything that both versions can express.
fn requests() -> Vec<Params> {
    let config = || PushConfig {
        id: Some("p".to_owned()),
        task_id: Some("t".to_owned()),
        url: "https://receiver".to_owned(),
        token: Some(Secret("token".to_owned())),
        authentication: Some(Authentication {
            scheme: "Bearer".to_owned(),
            credentials: Some(Secret("secret".to_owned())),
        }),
    };
    let send = |return_immediately: bool| SendRequest {
        message: Message {
            id: "m".to_owned(),
            context_id: Some("c".to_owned()),
            task_id: Some("t".to_owned()),
            role: Role::User,
            parts: vec![Part::text("go"), Part::of(Content::Data(Value::from(vec![1_u64])))],
            metadata: Object::from([("a", Value::Null)]),
            extensions: vec!["urn:x".to_owned()],
            reference_task_ids: vec!["r".to_owned()],
        },
        configuration: Configuration {
            accepted_output_modes: vec!["text/plain".to_owned()],
            push_config: Some(PushConfig { task_id: None, ..config() }),
            history_length: Some(0),
            return_immediately: Some(return_immediately),
        },
        metadata: Object::from([("b", Value::from(1_u64))]),
    };
    let id = || "t".to_owned();
    let list = ListQuery {
        context_id: Some("c".to_owned()),
        state: Some(TaskState::Working),
        page_size: 7,
        page_token: Some("next".to_owned()),
        history_length: Some(3),
        status_after: Timestamp::parse("2026-01-02T03:04:05.678Z"),
        include_artifacts: true,
    };
    vec![
        Params::Send(send(true)),
        Params::Stream(send(false)),
        Params::Get(TaskQuery { id: id(), history_length: Some(50) }),
        Params::List(list),
        Params::Cancel { id: id(), metadata: Object::from([("c", Value::from("d"))]) },
        Params::Subscribe { id: id() },
        Params::PushSet(config()),
        Params::PushGet { task_id: id(), id: Some("p".to_owned()) },
        Params::PushList { task_id: id(), page_size: None, page_token: None },
        Params::PushDelete { task_id: id(), id: "p".to_owned() },
        Params::ExtendedCard,
    ]
}

#[test]
fn a_server_reads_the_request_that_a_client_has_written() {
    for params in requests() {
        let method = params.method();
        for (version, tenant) in [(Version::V03, None), (Version::V10, Some("f".to_owned()))] {
            let request = Request { tenant, params: params.clone() };
            let written = write_request(version, &request);
            let Some(name) = method.name(version) else {
                assert_eq!((method, version, written), (Method::List, Version::V03, None));
                continue;
            };
            assert_eq!(Method::named(name, version), Ok(method));
            let text = json_rpc::request_text(&json_rpc::Id::Null, name, written.unwrap());
            let incoming = json_rpc::read(text.as_bytes()).unwrap();
            assert_eq!(incoming.method, name);
            assert_eq!(read(version, method, &incoming.params), Ok(request), "{text}");
        }
    }
}

#[test]
fn a_client_reads_the_result_or_the_error_that_a_server_has_written() {
    use json_rpc::{Response, read_response};
    let id = json_rpc::Id::Null;
    let result = json_rpc::result(&id, true.into());
    assert_eq!(read_response(result.as_bytes()), Ok(Response::Result(true.into())));
    for kind in Kind::ALL {
        let text = json_rpc::error(&id, Version::V10, &Fault::new(kind).detail("why"));
        let Ok(Response::Error(error)) = read_response(text.as_bytes()) else { panic!("{text}") };
        let known = Some(kind).filter(|kind| kind.domain() == "a2a-protocol.org");
        assert_eq!(error.kind(), known, "{text}");
        assert!(error.message.is_some_and(|message| message.ends_with(": why")), "{text}");
    }
    for (text, expected) in [
        ("{}", Response::Neither),
        ("7", Response::Neither),
        (r#"{"result":null}"#, Response::Result(Value::Null)),
        (r#"{"error":null,"result":1}"#, Response::Result(1_u64.into())),
    ] {
        assert_eq!(read_response(text.as_bytes()), Ok(expected), "{text}");
    }
    for text in [r#"{"error":{},"result":1}"#, r#"{"error":{"code":"-32001"}}"#, r#"{"error":{"code":-1.5}}"#]
    {
        let Ok(Response::Error(error)) = read_response(text.as_bytes()) else { panic!("{text}") };
        assert_eq!(error.kind(), None, "{text}");
    }
    assert!(read_response(b"<html>").is_err());
}
