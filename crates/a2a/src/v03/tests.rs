//! Tests requests and results of 0.3 in their wire form.

use super::{enums, reply, request, stream_item};
use crate::{
    fault::{Fault, Kind},
    json_rpc,
    model::{
        Artifact, ArtifactUpdate, Authentication, Content, Message, Part, PushConfig, Role, Secret,
        StatusUpdate, StreamItem, Task, TaskState, TaskStatus,
    },
    request::{Configuration, Method, Params, Reply, Request, SendRequest, TaskPage, TaskQuery},
    version::Version,
};
use envoi_contract::{
    json::{Object, Value},
    time::Timestamp,
};

fn params(text: &str) -> Object {
    Value::parse_str(text).unwrap().as_object().unwrap().clone()
}

fn read(method: Method, text: &str) -> Params {
    let read = request(method, &params(text));
    read.unwrap_or_else(|fault| panic!("{text}: {}", fault.rest().compact())).params
}

fn fields(method: Method, text: &str) -> Vec<String> {
    let fault = request(method, &params(text)).unwrap_err();
    assert_eq!(fault.kind, Kind::InvalidParams);
    let error = fault.rpc(Version::V03);
    let message = error.get("message").and_then(Value::as_str).unwrap();
    assert!(message.starts_with("Invalid parameters: "), "{message}");
    let violations = error.get("data").and_then(|data| data.get("fieldViolations")?.as_array()).unwrap();
    let field = |one: &Value| one.get("field").and_then(Value::as_str).unwrap().to_owned();
    violations.iter().map(field).collect()
}

fn user(id: &str, parts: Vec<Part>) -> Message {
    Message {
        id: id.to_owned(),
        context_id: None,
        task_id: None,
        role: Role::User,
        parts,
        metadata: Object::new(),
        extensions: Vec::new(),
        reference_task_ids: Vec::new(),
    }
}

fn status(state: TaskState) -> TaskStatus {
    TaskStatus { state, message: None, timestamp: Timestamp::parse("2026-11-21T20:31:44.601467Z") }
}

fn paused() -> Task {
    let (context_id, task_id) = (Some("648f".to_owned()), Some("82d7".to_owned()));
    Task {
        id: "82d7".to_owned(),
        context_id: "648f".to_owned(),
        status: status(TaskState::InputRequired),
        artifacts: Vec::new(),
        history: vec![Message { context_id, task_id, ..user("m1", vec![Part::text("hi")]) }],
        metadata: Object::new(),
    }
}

const AT: &str = r#""timestamp":"2026-11-21T20:31:44.601Z""#;

const PAUSED: &str = concat!(
    r#"{"kind":"task","id":"82d7","contextId":"648f","status":{"state":"input-required","#,
    r#""timestamp":"2026-11-21T20:31:44.601Z"},"history":[{"kind":"message","messageId":"m1","contextId":"648f","#,
    r#""taskId":"82d7","role":"user","parts":[{"kind":"text","text":"hi"}]}]}"#
);

#[test]
fn a_pause_is_written_as_the_sdks_write_it() {
    let id = json_rpc::read(br#"{"jsonrpc":"2.0","id":1,"method":"message/send"}"#).unwrap().id;
    assert_eq!(
        json_rpc::result(&id, reply(&Reply::SentTask(paused()))),
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":{PAUSED}}}"#)
    );
    assert_eq!(reply(&Reply::Task(paused())).compact(), PAUSED);
}

/// Bodies that were recorded from clients of 0.3.
#[test]
fn what_real_clients_send_is_read() {
    let send = |message, configuration| {
        Params::Send(SendRequest { message, configuration, metadata: Object::new() })
    };
    let context_id = || Some("c1".to_owned());
    let rows = [
        (
            concat!(
                r#"{"jsonrpc":"2.0","id":"u","method":"message/send","params":{"message":{"role":"user","parts":"#,
                r#"[{"text":"hello","kind":"text"}],"kind":"message","messageId":"0","contextId":"c1"}}}"#
            ),
            send(
                Message { context_id: context_id(), ..user("0", vec![Part::text("hello")]) },
                Configuration::default(),
            ),
        ),
        (
            concat!(
                r#"{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"role":"user","#,
                r#""kind":"message","messageId":"u","contextId":"c1","parts":[{"kind":"text","text":"ok"}]},"#,
                r#""configuration":{"acceptedOutputModes":["text"],"blocking":true}}}"#
            ),
            send(
                Message { context_id: context_id(), ..user("u", vec![Part::text("ok")]) },
                Configuration {
                    accepted_output_modes: vec!["text".to_owned()],
                    return_immediately: Some(false),
                    ..Configuration::default()
                },
            ),
        ),
        (
            r#"{"jsonrpc":"2.0","id":null,"method":"tasks/get","params":{"id":"82d7"}}"#,
            Params::Get(TaskQuery { id: "82d7".to_owned(), history_length: None }),
        ),
    ];
    for (body, expected) in rows {
        let incoming = json_rpc::read(body.as_bytes()).unwrap();
        let method = Method::named(&incoming.method, Version::V03).unwrap();
        assert_eq!(
            request(method, &incoming.params),
            Ok(Request { tenant: None, params: expected }),
            "{body}"
        );
    }
}

/// A message with every member, read and written in this form.
const WHOLE: &str = concat!(
    r#"{"kind":"message","messageId":"m","contextId":"c","taskId":"t","role":"agent","parts":["#,
    r#"{"kind":"text","text":""},"#,
    r#"{"kind":"text","text":"a\nb","metadata":{"z":1.00,"a":[1e400,-0]}},"#,
    r#"{"kind":"file","file":{"name":"f.bin","mimeType":"application/octet-stream","bytes":"+/+/AQ=="}},"#,
    r#"{"kind":"file","file":{"uri":"https://example.com/output.txt"},"metadata":{"k":1}},"#,
    r#"{"kind":"data","data":{"count":12345678901234567890123}},"#,
    r#"{"kind":"data","data":{"value":null},"metadata":{"data_part_compat":true}},"#,
    r#"{"kind":"data","data":{"value":[1.0]},"metadata":{"k":1,"data_part_compat":true}},"#,
    r#"{"kind":"data","data":{"value":1},"metadata":{"data_part_compat":false}}],"#,
    r#""metadata":{"b":null,"a":{"n":4096.0}},"extensions":["urn:x"],"referenceTaskIds":["t0"]}"#
);

#[test]
fn a_message_comes_out_as_it_went_in() {
    for method in [Method::Send, Method::Stream] {
        let read = read(method, &format!(r#"{{"message":{WHOLE}}}"#));
        let (Params::Send(send) | Params::Stream(send)) = read else { panic!("{method:?}") };
        let contents: Vec<&Content> = send.message.parts.iter().map(|part| &part.content).collect();
        assert_eq!(contents[2], &Content::Raw(vec![0xFB, 0xFF, 0xBF, 1]));
        assert_eq!(contents[5], &Content::Data(Value::Null));
        assert_eq!(contents[6], &Content::Data(Value::parse_str("[1.0]").unwrap()));
        assert_eq!(contents[7], &Content::Data(Value::parse_str(r#"{"value":1}"#).unwrap()));
        assert_eq!(send.message.parts[6].metadata, params(r#"{"k":1}"#));
        assert_eq!(reply(&Reply::SentMessage(send.message)).compact(), WHOLE);
    }
}

#[test]
fn a_part_that_does_not_say_its_kind_is_what_it_has() {
    let parts = r#"[{"text":"x"},{"file":{"bytes":"aGk"}},{"data":{}},{"kind":null,"text":"y"}]"#;
    let read = read(
        Method::Send,
        &format!(r#"{{"message":{{"messageId":"m","role":"user","parts":{parts}}},"unknown":1}}"#),
    );
    let Params::Send(send) = read else { panic!() };
    let contents: Vec<Content> = send.message.parts.into_iter().map(|part| part.content).collect();
    let expected = [
        Content::Text("x".to_owned()),
        Content::Raw(b"hi".to_vec()),
        Content::Data(Value::Object(Object::new())),
        Content::Text("y".to_owned()),
    ];
    assert_eq!(contents, expected);
}

#[test]
fn the_client_chooses_whether_to_wait_and_else_the_server() {
    for (configuration, expected) in [
        ("null", None),
        ("{}", None),
        (r#"{"blocking":null}"#, None),
        (r#"{"blocking":true}"#, Some(false)),
        (r#"{"blocking":false}"#, Some(true)),
    ] {
        let message = r#"{"messageId":"m","role":"user","parts":[{"kind":"text","text":"x"}]}"#;
        let text = format!(r#"{{"message":{message},"configuration":{configuration}}}"#);
        let Params::Send(send) = read(Method::Send, &text) else { panic!() };
        assert_eq!(send.configuration.return_immediately, expected, "{configuration}");
    }
}

#[test]
fn every_other_operation_is_read() {
    let (t, p) = (|| "t".to_owned(), || "p".to_owned());
    let push = |authentication, task_id| PushConfig {
        id: Some(p()),
        task_id,
        url: "u".to_owned(),
        token: Some(Secret("k".to_owned())),
        authentication,
    };
    let bearer = Authentication { scheme: "Bearer".to_owned(), credentials: Some(Secret("s".to_owned())) };
    let rows = [
        (
            Method::Get,
            r#"{"id":"t","historyLength":0,"metadata":{}}"#,
            Params::Get(TaskQuery { id: t(), history_length: Some(0) }),
        ),
        (
            Method::Cancel,
            r#"{"id":"t","metadata":{"a":1.0}}"#,
            Params::Cancel { id: t(), metadata: params(r#"{"a":1.0}"#) },
        ),
        (Method::Subscribe, r#"{"id":"t"}"#, Params::Subscribe { id: t() }),
        (
            Method::PushSet,
            concat!(
                r#"{"taskId":"t","pushNotificationConfig":{"id":"p","url":"u","token":"k","#,
                r#""authentication":{"schemes":["Bearer","Basic"],"credentials":"s"}}}"#
            ),
            Params::PushSet(push(Some(bearer), Some(t()))),
        ),
        (
            Method::PushSet,
            concat!(
                r#"{"taskId":"t","pushNotificationConfig":{"id":"p","url":"u","token":"k","#,
                r#""authentication":{"schemes":[]}}}"#
            ),
            Params::PushSet(push(None, Some(t()))),
        ),
        (Method::PushGet, r#"{"id":"t"}"#, Params::PushGet { task_id: t(), id: None }),
        (
            Method::PushGet,
            r#"{"id":"t","pushNotificationConfigId":"p"}"#,
            Params::PushGet { task_id: t(), id: Some(p()) },
        ),
        (
            Method::PushList,
            r#"{"id":"t"}"#,
            Params::PushList { task_id: t(), page_size: None, page_token: None },
        ),
        (
            Method::PushDelete,
            r#"{"id":"t","pushNotificationConfigId":"p"}"#,
            Params::PushDelete { task_id: t(), id: p() },
        ),
        (Method::ExtendedCard, "{}", Params::ExtendedCard),
    ];
    for (method, text, expected) in rows {
        assert_eq!(read(method, text), expected, "{method:?} {text}");
    }
    let tasks = request(Method::List, &Object::new()).unwrap_err();
    assert_eq!(tasks, Fault::new(Kind::MethodNotFound));
}

#[test]
fn all_fields_that_are_wrong_are_named_at_once() {
    let rows: &[(Method, &str, &[&str])] = &[
        (Method::Send, "{}", &["message"]),
        (
            Method::Send,
            r#"{"message":{"parts":"invalid"}}"#,
            &["message.messageId", "message.role", "message.parts"],
        ),
        (
            Method::Stream,
            r#"{"message":{"kind":"task","messageId":"m","role":"ROLE_USER","parts":[]}}"#,
            &["message.kind", "message.role", "message.parts"],
        ),
        (
            Method::Send,
            concat!(
                r#"{"message":{"messageId":"m","role":"user","parts":[{},{"kind":"text"},{"kind":"file"},"#,
                r#"{"kind":"data"},{"kind":"image"},{"text":"x","data":{}},{"kind":"data","data":[]},"#,
                r#"{"file":{}},{"file":{"bytes":"aGk","uri":"u"}},{"file":{"bytes":"?"}},{"kind":7,"text":"x"},"#,
                r#"{"kind":"","text":"x"},"x",{"kind":"text","text":7}]},"#,
                r#""configuration":{"blocking":"yes","pushNotificationConfig":{"authentication":"#,
                r#"{"schemes":[],"credentials":"s"}}}}"#
            ),
            &[
                "message.parts[0]",
                "message.parts[1].text",
                "message.parts[2].file",
                "message.parts[3].data",
                "message.parts[4].kind",
                "message.parts[5]",
                "message.parts[6].data",
                "message.parts[7].file",
                "message.parts[8].file",
                "message.parts[9].file.bytes",
                "message.parts[10].kind",
                "message.parts[11].kind",
                "message.parts[12]",
                "message.parts[13].text",
                "configuration.pushNotificationConfig.authentication.schemes",
                "configuration.pushNotificationConfig.url",
                "configuration.blocking",
            ],
        ),
        (Method::Get, r#"{"historyLength":"1"}"#, &["historyLength", "id"]),
        (Method::Cancel, "{}", &["id"]),
        (Method::Subscribe, "{}", &["id"]),
        (Method::PushSet, "{}", &["taskId", "pushNotificationConfig"]),
        (Method::PushSet, r#"{"taskId":"t","pushNotificationConfig":{}}"#, &["pushNotificationConfig.url"]),
        (Method::PushGet, r#"{"taskId":"t"}"#, &["id"]),
        (Method::PushList, "{}", &["id"]),
        (Method::PushDelete, "{}", &["id", "pushNotificationConfigId"]),
    ];
    for (method, text, expected) in rows {
        assert_eq!(fields(*method, text), *expected, "{method:?} {text}");
    }
}

#[test]
fn each_state_and_role_has_the_word_that_0_3_has_for_it() {
    let states = TaskState::ALL.map(TaskState::word);
    let expected = [
        "submitted",
        "working",
        "input-required",
        "auth-required",
        "completed",
        "failed",
        "canceled",
        "rejected",
    ];
    assert_eq!(states, expected);
    for role in [Role::User, Role::Agent] {
        assert_eq!(enums::role_of(enums::role(role)), Some(role));
    }
}

#[test]
fn items_of_a_stream_say_what_they_are_and_whether_they_are_the_last() {
    let update = |state, last| {
        let (task_id, context_id) = ("t".to_owned(), "c".to_owned());
        let metadata = Object::new();
        StreamItem::Status(StatusUpdate { task_id, context_id, status: status(state), metadata, last })
    };
    let artifact = Artifact {
        id: "a".to_owned(),
        name: Some("out.txt".to_owned()),
        description: Some("d".to_owned()),
        parts: vec![Part::text("chunk")],
        metadata: params(r#"{"m":1}"#),
        extensions: vec!["urn:x".to_owned()],
    };
    let chunk = |append, last_chunk| {
        StreamItem::Artifact(ArtifactUpdate {
            task_id: "t".to_owned(),
            context_id: "c".to_owned(),
            artifact: artifact.clone(),
            append,
            last_chunk,
            metadata: params(r#"{"k":1.0}"#),
        })
    };
    let of = r#""taskId":"t","contextId":"c""#;
    let made = concat!(
        r#""artifact":{"artifactId":"a","name":"out.txt","description":"d","#,
        r#""parts":[{"kind":"text","text":"chunk"}],"metadata":{"m":1},"extensions":["urn:x"]}"#
    );
    let rows = [
        (StreamItem::Task(paused()), PAUSED.to_owned()),
        (
            StreamItem::Message(user("r", vec![Part::text("x")])),
            r#"{"kind":"message","messageId":"r","role":"user","parts":[{"kind":"text","text":"x"}]}"#
                .to_owned(),
        ),
        (
            update(TaskState::Working, false),
            format!(r#"{{"kind":"status-update",{of},"status":{{"state":"working",{AT}}},"final":false}}"#),
        ),
        (
            update(TaskState::InputRequired, true),
            format!(
                r#"{{"kind":"status-update",{of},"status":{{"state":"input-required",{AT}}},"final":true}}"#
            ),
        ),
        (
            chunk(false, false),
            format!(
                r#"{{"kind":"artifact-update",{of},{made},"append":false,"lastChunk":false,"metadata":{{"k":1.0}}}}"#
            ),
        ),
        (
            chunk(true, true),
            format!(
                r#"{{"kind":"artifact-update",{of},{made},"append":true,"lastChunk":true,"metadata":{{"k":1.0}}}}"#
            ),
        ),
    ];
    for (item, expected) in rows {
        assert_eq!(stream_item(&item).compact(), expected);
    }
}

#[test]
fn the_other_replies() {
    let config = |authentication| PushConfig {
        id: Some("p".to_owned()),
        task_id: Some("t".to_owned()),
        url: "https://w/".to_owned(),
        token: Some(Secret("k".to_owned())),
        authentication,
    };
    let bearer = Authentication { scheme: "Bearer".to_owned(), credentials: Some(Secret("s".to_owned())) };
    let plain = r#"{"taskId":"t","pushNotificationConfig":{"id":"p","url":"https://w/","token":"k"}}"#;
    let page =
        TaskPage { tasks: vec![paused()], next_page_token: String::new(), page_size: 50, total_size: 1 };
    let rows = [
        (
            Reply::Push(config(Some(bearer))),
            concat!(
                r#"{"taskId":"t","pushNotificationConfig":{"id":"p","url":"https://w/","token":"k","#,
                r#""authentication":{"schemes":["Bearer"],"credentials":"s"}}}"#
            )
            .to_owned(),
        ),
        (Reply::Pushes { configs: vec![config(None)], next_page_token: String::new() }, format!("[{plain}]")),
        (Reply::Pushes { configs: Vec::new(), next_page_token: String::new() }, "[]".to_owned()),
        (Reply::Nothing, "null".to_owned()),
        (Reply::Card(Value::parse_str(r#"{"name":"x"}"#).unwrap()), r#"{"name":"x"}"#.to_owned()),
        (Reply::Tasks(page), format!("[{PAUSED}]")),
    ];
    for (said, expected) in rows {
        assert_eq!(reply(&said).compact(), expected);
    }
}
