//! Tests requests and results of 1.0 in their wire form.

use super::{InPath, enums, reply, request, rest_request, stream_item, write::message};
use crate::{
    fault::{Fault, Kind},
    json_rpc,
    model::{
        Artifact, ArtifactUpdate, Authentication, Content, Message, Part, PushConfig, Role, Secret,
        StatusUpdate, StreamItem, Task, TaskState, TaskStatus,
    },
    request::{Configuration, ListQuery, Method, Params, Reply, Request, SendRequest, TaskPage, TaskQuery},
    version::Version,
};
use envoi_contract::{
    json::{Object, Value},
    time::Timestamp,
};

fn params(text: &str) -> Object {
    Value::parse_str(text).unwrap().as_object().unwrap().clone()
}

fn read(method: Method, text: &str) -> Request {
    request(method, &params(text)).unwrap_or_else(|fault| panic!("{}", fault.rest().compact()))
}

/// The invalid fields and their descriptions.
fn wrong(fault: &Fault) -> Vec<(String, String)> {
    assert_eq!(fault.kind, Kind::InvalidParams);
    let data = fault.rpc(Version::V10);
    let violations =
        data.get("data").and_then(|data| data.as_array()?.get(1)?.get("fieldViolations")?.as_array());
    let text = |violation: &Value, name| violation.get(name).and_then(Value::as_str).unwrap().to_owned();
    violations.unwrap().iter().map(|one| (text(one, "field"), text(one, "description"))).collect()
}

fn refused(method: Method, text: &str) -> Vec<(String, String)> {
    wrong(&request(method, &params(text)).unwrap_err())
}

/// Only the names of the invalid fields.
fn fields(method: Method, text: &str) -> Vec<String> {
    refused(method, text).into_iter().map(|(field, _)| field).collect()
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

fn status(state: TaskState, at: &str) -> TaskStatus {
    TaskStatus { state, message: None, timestamp: Timestamp::parse(at) }
}

fn paused() -> Task {
    let (context_id, task_id) = (Some("648f".to_owned()), Some("82d7".to_owned()));
    Task {
        id: "82d7".to_owned(),
        context_id: "648f".to_owned(),
        status: status(TaskState::InputRequired, "2026-11-21T20:31:44.601467Z"),
        artifacts: Vec::new(),
        history: vec![Message { context_id, task_id, ..user("m1", vec![Part::text("hi")]) }],
        metadata: Object::new(),
    }
}

const PAUSED: &str = concat!(
    r#"{"id":"82d7","contextId":"648f","status":{"state":"TASK_STATE_INPUT_REQUIRED","#,
    r#""timestamp":"2026-11-21T20:31:44.601Z"},"history":[{"messageId":"m1","contextId":"648f","taskId":"82d7","#,
    r#""role":"ROLE_USER","parts":[{"text":"hi"}]}]}"#
);

#[test]
fn a_pause_is_written_as_the_sdks_write_it() {
    let id = json_rpc::read(br#"{"jsonrpc":"2.0","id":1,"method":"SendMessage"}"#).unwrap().id;
    assert_eq!(
        json_rpc::result(&id, reply(&Reply::SentTask(paused()))),
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"task":{PAUSED}}}}}"#)
    );
    assert_eq!(reply(&Reply::Task(paused())).compact(), PAUSED);
}

#[test]
fn a_resume_is_read_and_its_text_is_what_was_sent() {
    let body = concat!(
        r#"{"jsonrpc":"2.0","id":2,"method":"SendMessage","params":{"message":{"messageId":"m2","taskId":"82d7","#,
        r#""contextId":"648f","role":"ROLE_USER","parts":[{"text":"{\"text\":\"approved\",\"attachments\":[]}"}]}}}"#
    );
    let incoming = json_rpc::read(body.as_bytes()).unwrap();
    let method = Method::named(&incoming.method, Version::V10).unwrap();
    let message = Message {
        task_id: Some("82d7".to_owned()),
        context_id: Some("648f".to_owned()),
        ..user("m2", vec![Part::text(r#"{"text":"approved","attachments":[]}"#)])
    };
    let configuration = Configuration { return_immediately: Some(false), ..Configuration::default() };
    let params = Params::Send(SendRequest { message, configuration, metadata: Object::new() });
    assert_eq!(request(method, &incoming.params), Ok(Request { tenant: None, params }));
}

/// A message with every member, read and written in this form.
const WHOLE: &str = concat!(
    r#"{"messageId":"m","contextId":"c","taskId":"t","role":"ROLE_AGENT","parts":["#,
    r#"{"text":""},"#,
    r#"{"text":"a\nb","metadata":{"z":1.00,"a":[1e400,-0]},"mediaType":"text/markdown"},"#,
    r#"{"raw":"+/+/AQ==","filename":"f.bin","mediaType":"application/octet-stream"},"#,
    r#"{"url":"https://example.com/output.txt"},"#,
    r#"{"data":{"count":12345678901234567890123}},"#,
    r#"{"data":null},{"data":[]},{"data":"x"}],"#,
    r#""metadata":{"b":null,"a":{"n":4096.0}},"extensions":["urn:x"],"referenceTaskIds":["t0"]}"#
);

#[test]
fn a_message_comes_out_as_it_went_in() {
    for method in [Method::Send, Method::Stream] {
        let read = read(method, &format!(r#"{{"message":{WHOLE}}}"#));
        let (Params::Send(send) | Params::Stream(send)) = read.params else { panic!("{method:?}") };
        assert_eq!(send.message.parts[2].content, Content::Raw(vec![0xFB, 0xFF, 0xBF, 1]));
        assert_eq!(message(&send.message).compact(), WHOLE);
        assert_eq!(reply(&Reply::SentMessage(send.message)).compact(), format!(r#"{{"message":{WHOLE}}}"#));
    }
}

#[test]
fn a_send_is_read_whole() {
    let read = read(
        Method::Stream,
        concat!(
            r#"{"tenant":"fix","message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}],"x":1},"#,
            r#""configuration":{"acceptedOutputModes":["text/plain"],"historyLength":0,"returnImmediately":true,"#,
            r#""taskPushNotificationConfig":{"url":"https://w/","token":"k","authentication":"#,
            r#"{"scheme":"Bearer","credentials":"s"}},"y":{}},"metadata":{"k":1.0},"z":null}"#
        ),
    );
    let push = PushConfig {
        id: None,
        task_id: None,
        url: "https://w/".to_owned(),
        token: Some(Secret("k".to_owned())),
        authentication: Some(Authentication {
            scheme: "Bearer".to_owned(),
            credentials: Some(Secret("s".to_owned())),
        }),
    };
    let configuration = Configuration {
        accepted_output_modes: vec!["text/plain".to_owned()],
        push_config: Some(push),
        history_length: Some(0),
        return_immediately: Some(true),
    };
    let send = SendRequest {
        message: user("m", vec![Part::text("hi")]),
        configuration,
        metadata: params(r#"{"k":1.0}"#),
    };
    assert_eq!(read, Request { tenant: Some("fix".to_owned()), params: Params::Stream(send) });
    assert!(!format!("{read:?}").contains("\"s\""), "{read:?}");
}

#[test]
fn names_of_the_protocol_buffers_and_absent_members_are_read_as_protojson_has_it() {
    let snake = concat!(
        r#"{"message":{"message_id":"m","context_id":"c","task_id":"","role":"ROLE_USER","parts":"#,
        r#"[{"text":"hi","media_type":"text/plain","filename":null}],"extensions":null,"metadata":null},"#,
        r#""configuration":{"return_immediately":null,"history_length":null},"tenant":""}"#
    );
    let part = Part { media_type: Some("text/plain".to_owned()), ..Part::text("hi") };
    let message = Message { context_id: Some("c".to_owned()), ..user("m", vec![part]) };
    let configuration = Configuration { return_immediately: Some(false), ..Configuration::default() };
    let params = Params::Send(SendRequest { message, configuration, metadata: Object::new() });
    assert_eq!(read(Method::Send, snake), Request { tenant: None, params });
    let twice =
        r#"{"message":{"message_id":"m","messageId":"n","role":"ROLE_USER","parts":[{"text":"hi"}]}}"#;
    assert!(fields(Method::Send, twice).contains(&"message.messageId".to_owned()));
}

fn asked(params: Params) -> Request {
    Request { tenant: None, params }
}

#[test]
fn every_other_operation_is_read() {
    let (t, p) = (|| "t".to_owned(), || "p".to_owned());
    let tasks = ListQuery {
        context_id: Some("c".to_owned()),
        state: Some(TaskState::Working),
        page_size: 7,
        page_token: Some("k".to_owned()),
        history_length: Some(2),
        status_after: Timestamp::parse("2026-01-02T03:04:05.006Z"),
        include_artifacts: true,
    };
    let all_tasks = ListQuery {
        context_id: None,
        state: None,
        page_size: 50,
        page_token: None,
        history_length: None,
        status_after: None,
        include_artifacts: false,
    };
    let push = PushConfig {
        id: Some(p()),
        task_id: Some(t()),
        url: "u".to_owned(),
        token: None,
        authentication: None,
    };
    let rows = [
        (Method::Get, r#"{"id":"t"}"#, Params::Get(TaskQuery { id: t(), history_length: None })),
        (
            Method::Get,
            r#"{"id":"t","historyLength":3.0}"#,
            Params::Get(TaskQuery { id: t(), history_length: Some(3) }),
        ),
        (Method::List, "{}", Params::List(all_tasks.clone())),
        (Method::List, r#"{"status":"TASK_STATE_UNSPECIFIED","contextId":""}"#, Params::List(all_tasks)),
        (
            Method::List,
            concat!(
                r#"{"contextId":"c","status":"TASK_STATE_WORKING","pageSize":7,"pageToken":"k","historyLength":2,"#,
                r#""statusTimestampAfter":"2026-01-02T04:04:05.006789+01:00","includeArtifacts":true}"#
            ),
            Params::List(tasks),
        ),
        (
            Method::Cancel,
            r#"{"id":"t","metadata":{"a":1.0}}"#,
            Params::Cancel { id: t(), metadata: params(r#"{"a":1.0}"#) },
        ),
        (Method::Subscribe, r#"{"id":"t"}"#, Params::Subscribe { id: t() }),
        (Method::PushSet, r#"{"taskId":"t","id":"p","url":"u"}"#, Params::PushSet(push)),
        (Method::PushGet, r#"{"taskId":"t","id":"p"}"#, Params::PushGet { task_id: t(), id: Some(p()) }),
        (
            Method::PushList,
            r#"{"taskId":"t","pageSize":0}"#,
            Params::PushList { task_id: t(), page_size: None, page_token: None },
        ),
        (
            Method::PushList,
            r#"{"taskId":"t","pageSize":5,"pageToken":"k"}"#,
            Params::PushList { task_id: t(), page_size: Some(5), page_token: Some("k".to_owned()) },
        ),
        (Method::PushDelete, r#"{"taskId":"t","id":"p"}"#, Params::PushDelete { task_id: t(), id: p() }),
        (Method::ExtendedCard, "{}", Params::ExtendedCard),
    ];
    for (method, text, params) in rows {
        assert_eq!(read(method, text), asked(params), "{method:?} {text}");
    }
    assert_eq!(read(Method::ExtendedCard, r#"{"tenant":"f"}"#).tenant.as_deref(), Some("f"));
}

#[test]
fn a_message_without_parts_is_refused_in_the_sdks_words() {
    let empty = r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[]}}"#;
    let fault = request(Method::Send, &params(empty)).unwrap_err();
    assert_eq!(
        fault.rpc(Version::V10).compact(),
        concat!(
            r#"{"code":-32602,"message":"Invalid parameters","data":["#,
            r#"{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","#,
            r#""domain":"a2a-protocol.org","metadata":{}},{"@type":"type.googleapis.com/google.rpc.BadRequest","#,
            r#""fieldViolations":[{"field":"message.parts","description":"Field must contain at least one element."}]}]}"#
        )
    );
    assert_eq!(fault.kind.http_status(), 400);
}

#[test]
fn all_fields_that_are_wrong_are_named_at_once() {
    let send = |message: &str| format!(r#"{{"message":{message}}}"#);
    let rows: &[(Method, String, &[&str])] = &[
        (Method::Send, "{}".to_owned(), &["message"]),
        (Method::Send, send("null"), &["message"]),
        (Method::Send, send("[]"), &["message"]),
        (Method::Send, send("{}"), &["message.messageId", "message.role", "message.parts"]),
        (
            Method::Send,
            send(r#"{"messageId":"","role":"","parts":null}"#),
            &["message.messageId", "message.role", "message.parts"],
        ),
        (
            Method::Send,
            send(r#"{"messageId":7,"role":1,"parts":{}}"#),
            &["message.messageId", "message.role", "message.parts"],
        ),
        (
            Method::Send,
            send(r#"{"messageId":"m","role":"user","parts":[{"text":"x"}]}"#),
            &["message.role"],
        ),
        (
            Method::Send,
            send(r#"{"messageId":"m","role":"ROLE_UNSPECIFIED","parts":[{"text":"x"}]}"#),
            &["message.role"],
        ),
        (
            Method::Send,
            send(concat!(
                r#"{"messageId":"m","role":"ROLE_USER","parts":[{},{"text":"x","data":1},{"text":null},"x",null,"#,
                r#"{"text":1},{"raw":"?"},{"raw":[]},{"url":""},{"kind":"text","text":"ok"},"#,
                r#"{"text":"x","metadata":[],"filename":1,"mediaType":false}]}"#
            )),
            &[
                "message.parts[0]",
                "message.parts[1]",
                "message.parts[2]",
                "message.parts[3]",
                "message.parts[4]",
                "message.parts[5].text",
                "message.parts[6].raw",
                "message.parts[7].raw",
                "message.parts[8].url",
                "message.parts[10].metadata",
                "message.parts[10].filename",
                "message.parts[10].mediaType",
            ],
        ),
        (
            Method::Stream,
            concat!(
                r#"{"tenant":1,"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}],"contextId":1,"#,
                r#""taskId":{},"metadata":1,"extensions":"urn:x","referenceTaskIds":["t",1]},"metadata":"x","#,
                r#""configuration":{"acceptedOutputModes":[1],"historyLength":-1,"returnImmediately":"true","#,
                r#""taskPushNotificationConfig":{"authentication":{}}}}"#
            )
            .to_owned(),
            &[
                "message.contextId",
                "message.taskId",
                "message.metadata",
                "message.extensions",
                "message.referenceTaskIds[1]",
                "configuration.acceptedOutputModes[0]",
                "configuration.taskPushNotificationConfig.authentication.scheme",
                "configuration.taskPushNotificationConfig.url",
                "configuration.historyLength",
                "configuration.returnImmediately",
                "metadata",
                "tenant",
            ],
        ),
        (Method::Get, "{}".to_owned(), &["id"]),
        (Method::Get, r#"{"id":"","historyLength":1.5}"#.to_owned(), &["historyLength", "id"]),
        (Method::Get, r#"{"id":"t","historyLength":2147483648}"#.to_owned(), &["historyLength"]),
        (Method::Get, r#"{"id":"t","historyLength":"3"}"#.to_owned(), &["historyLength"]),
        (
            Method::List,
            concat!(
                r#"{"status":"TASK_STATE_RUNNING","pageSize":101,"historyLength":-5,"includeArtifacts":1,"#,
                r#""statusTimestampAfter":"2026-01-02T03:04:05","contextId":[],"pageToken":1}"#
            )
            .to_owned(),
            &[
                "pageSize",
                "contextId",
                "status",
                "pageToken",
                "historyLength",
                "statusTimestampAfter",
                "includeArtifacts",
            ],
        ),
        (Method::List, r#"{"pageSize":0}"#.to_owned(), &["pageSize"]),
        (Method::List, r#"{"status":"working"}"#.to_owned(), &["status"]),
        (Method::Cancel, r#"{"metadata":[]}"#.to_owned(), &["metadata", "id"]),
        (Method::Subscribe, r#"{"taskId":"t"}"#.to_owned(), &["id"]),
        (Method::PushSet, "{}".to_owned(), &["taskId", "url"]),
        (Method::PushGet, "{}".to_owned(), &["taskId", "id"]),
        (Method::PushList, r#"{"pageSize":-1}"#.to_owned(), &["pageSize", "taskId"]),
        (Method::PushDelete, r#"{"taskId":"t"}"#.to_owned(), &["id"]),
        (Method::ExtendedCard, r#"{"tenant":{}}"#.to_owned(), &["tenant"]),
    ];
    for (method, text, expected) in rows {
        assert_eq!(fields(*method, text), *expected, "{method:?} {text}");
    }
}

#[test]
fn a_refusal_stays_small_however_much_is_wrong() {
    let parts = vec!["{}"; 10_000].join(",");
    let text = format!(r#"{{"message":{{"messageId":"m","role":"ROLE_USER","parts":[{parts}]}}}}"#);
    assert_eq!(refused(Method::Send, &text).len(), 32);
}

#[test]
fn a_word_that_is_not_known_is_refused_with_those_that_are() {
    let said = refused(Method::List, r#"{"status":"TASK_STATE_RUNNING"}"#);
    assert_eq!(said, [("status".to_owned(), format!("Must be one of {}.", enums::states()))]);
    assert_eq!(enums::states().split(", ").count(), 8);
}

#[test]
fn each_state_and_role_has_one_word() {
    for state in TaskState::ALL {
        assert_eq!(enums::state_of(enums::state(state)), Some(Some(state)));
    }
    for role in [Role::User, Role::Agent] {
        assert_eq!(enums::role_of(enums::role(role)), Some(role));
    }
}

#[test]
fn items_of_a_stream_say_what_they_are_by_the_name_of_their_member() {
    let update = |state, last| {
        let (task_id, context_id) = ("t".to_owned(), "c".to_owned());
        let status = status(state, "2026-01-02T03:04:05Z");
        StreamItem::Status(StatusUpdate { task_id, context_id, status, metadata: Object::new(), last })
    };
    let artifact = |parts| Artifact {
        id: "a".to_owned(),
        name: Some("out.txt".to_owned()),
        description: None,
        parts,
        metadata: Object::new(),
        extensions: Vec::new(),
    };
    let chunk = |append, last_chunk| {
        StreamItem::Artifact(ArtifactUpdate {
            task_id: "t".to_owned(),
            context_id: "c".to_owned(),
            artifact: artifact(vec![Part::text("chunk")]),
            append,
            last_chunk,
            metadata: params(r#"{"k":1.0}"#),
        })
    };
    let at = r#""timestamp":"2026-01-02T03:04:05.000Z""#;
    let of = r#""taskId":"t","contextId":"c""#;
    let made = r#""artifact":{"artifactId":"a","name":"out.txt","parts":[{"text":"chunk"}]}"#;
    let rows = [
        (StreamItem::Task(paused()), format!(r#"{{"task":{PAUSED}}}"#)),
        (
            StreamItem::Message(Message { role: Role::Agent, ..user("r", vec![Part::text("Direct")]) }),
            r#"{"message":{"messageId":"r","role":"ROLE_AGENT","parts":[{"text":"Direct"}]}}"#.to_owned(),
        ),
        (
            update(TaskState::Working, false),
            format!(r#"{{"statusUpdate":{{{of},"status":{{"state":"TASK_STATE_WORKING",{at}}}}}}}"#),
        ),
        (
            update(TaskState::Completed, true),
            format!(r#"{{"statusUpdate":{{{of},"status":{{"state":"TASK_STATE_COMPLETED",{at}}}}}}}"#),
        ),
        (chunk(false, false), format!(r#"{{"artifactUpdate":{{{of},{made},"metadata":{{"k":1.0}}}}}}"#)),
        (
            chunk(true, true),
            format!(
                r#"{{"artifactUpdate":{{{of},{made},"append":true,"lastChunk":true,"metadata":{{"k":1.0}}}}}}"#
            ),
        ),
    ];
    for (item, expected) in rows {
        assert_eq!(stream_item(&item).compact(), expected);
    }
}

#[test]
fn a_task_is_written_whole_and_what_is_empty_is_left_out() {
    let said = Message { role: Role::Agent, ..user("q", vec![Part::text("Keep it?")]) };
    let raw = Part {
        filename: Some("output.txt".to_owned()),
        media_type: Some("text/plain".to_owned()),
        ..Part::of(Content::Raw(b"hi".to_vec()))
    };
    let artifact = Artifact {
        id: "a".to_owned(),
        name: None,
        description: Some("d".to_owned()),
        parts: vec![raw],
        metadata: params(r#"{"size":2}"#),
        extensions: vec!["urn:x".to_owned()],
    };
    let whole = Task {
        status: TaskStatus { message: Some(said), ..paused().status },
        artifacts: vec![artifact],
        metadata: params(r#"{"run":"r"}"#),
        ..paused()
    };
    let value = reply(&Reply::Task(whole));
    assert_eq!(
        value.get("artifacts").unwrap().compact(),
        concat!(
            r#"[{"artifactId":"a","description":"d","parts":[{"raw":"aGk=","filename":"output.txt","#,
            r#""mediaType":"text/plain"}],"metadata":{"size":2},"extensions":["urn:x"]}]"#
        )
    );
    assert_eq!(
        value.get("status").and_then(|status| status.get("message")).unwrap().compact(),
        r#"{"messageId":"q","role":"ROLE_AGENT","parts":[{"text":"Keep it?"}]}"#
    );
    assert_eq!(value.get("metadata").unwrap().compact(), r#"{"run":"r"}"#);
    let bare = Task { history: Vec::new(), ..paused() };
    let names: Vec<String> =
        reply(&Reply::Task(bare)).as_object().unwrap().keys().map(str::to_owned).collect();
    assert_eq!(names, ["id", "contextId", "status"]);
}

#[test]
fn the_other_replies() {
    let config = |id: &str, authentication| PushConfig {
        id: Some(id.to_owned()),
        task_id: Some("t".to_owned()),
        url: "https://w/".to_owned(),
        token: Some(Secret("k".to_owned())),
        authentication,
    };
    let bearer = Authentication { scheme: "Bearer".to_owned(), credentials: Some(Secret("s".to_owned())) };
    let page = |tasks, next: &str| TaskPage {
        tasks,
        next_page_token: next.to_owned(),
        page_size: 50,
        total_size: 1,
    };
    let one = r#"{"id":"p","taskId":"t","url":"https://w/","token":"k"}"#;
    let rows = [
        (
            Reply::Tasks(page(vec![paused()], "next")),
            format!(r#"{{"tasks":[{PAUSED}],"nextPageToken":"next","pageSize":50,"totalSize":1}}"#),
        ),
        (
            Reply::Tasks(page(Vec::new(), "")),
            r#"{"tasks":[],"nextPageToken":"","pageSize":50,"totalSize":1}"#.to_owned(),
        ),
        (
            Reply::Push(config("p", Some(bearer))),
            concat!(
                r#"{"id":"p","taskId":"t","url":"https://w/","token":"k","#,
                r#""authentication":{"scheme":"Bearer","credentials":"s"}}"#
            )
            .to_owned(),
        ),
        (
            Reply::Pushes { configs: vec![config("p", None)], next_page_token: String::new() },
            format!(r#"{{"configs":[{one}]}}"#),
        ),
        (
            Reply::Pushes { configs: vec![config("p", None)], next_page_token: "n".to_owned() },
            format!(r#"{{"configs":[{one}],"nextPageToken":"n"}}"#),
        ),
        (Reply::Pushes { configs: Vec::new(), next_page_token: String::new() }, "{}".to_owned()),
        (Reply::Nothing, "{}".to_owned()),
        (Reply::Card(Value::parse_str(r#"{"name":"x"}"#).unwrap()), r#"{"name":"x"}"#.to_owned()),
    ];
    for (said, expected) in rows {
        assert_eq!(reply(&said).compact(), expected);
    }
}

#[test]
fn the_history_has_the_requested_length() {
    let rows: [(Option<u32>, &[&str]); 5] = [
        (None, &["1", "2", "3"]),
        (Some(9), &["1", "2", "3"]),
        (Some(2), &["2", "3"]),
        (Some(1), &["3"]),
        (Some(0), &[]),
    ];
    for (length, expected) in rows {
        let history = ["1", "2", "3"].map(|id| user(id, vec![Part::text("x")])).to_vec();
        let mut task = Task { history, ..paused() };
        task.limit_history(length);
        let kept: Vec<&str> = task.history.iter().map(|message| message.id.as_str()).collect();
        assert_eq!(kept, expected, "{length:?}");
        let written = reply(&Reply::Task(task));
        assert_eq!(written.get("history").is_none(), expected.is_empty());
    }
}

#[test]
fn terminal_and_interrupted_states_are_those_of_the_specification() {
    let words =
        |is: fn(TaskState) -> bool| TaskState::ALL.into_iter().filter(|state| is(*state)).collect::<Vec<_>>();
    use TaskState::{AuthRequired, Canceled, Completed, Failed, InputRequired, Rejected};
    assert_eq!(words(TaskState::is_terminal), [Completed, Failed, Canceled, Rejected]);
    assert_eq!(words(TaskState::is_interrupted), [InputRequired, AuthRequired]);
}

fn query(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// An operation, its path, its query, its body, and the expected result.
type Row<'a, T> = (Method, InPath<'a>, &'a [(&'a str, &'a str)], &'a str, T);

#[test]
fn over_http_path_query_and_body_say_what_json_rpc_says_in_one_object() {
    let flow = InPath { tenant: Some("f"), ..InPath::default() };
    let task = InPath { task: Some("t"), ..InPath::default() };
    let config = InPath { config: Some("p"), ..task };
    let send = r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}"#;
    let with_tenant = send.replacen('{', r#"{"tenant":"f","#, 1);
    let push = r#"{"url":"u","token":"k"}"#;
    let list = [
        ("contextId", "c"),
        ("status", "TASK_STATE_WORKING"),
        ("pageSize", "7"),
        ("pageToken", "8"),
        ("historyLength", "0"),
        ("statusTimestampAfter", "2026-01-02T03:04:05Z"),
        ("includeArtifacts", "true"),
        ("A2A-Version", "1.0"),
        ("unknown", "1"),
    ];
    let listed = concat!(
        r#"{"contextId":"c","status":"TASK_STATE_WORKING","pageSize":7,"pageToken":"8","historyLength":0,"#,
        r#""statusTimestampAfter":"2026-01-02T03:04:05Z","includeArtifacts":true}"#
    );
    let none = InPath::default();
    let rows: &[Row<'_, &str>] = &[
        (Method::Send, none, &[], send, send),
        (Method::Send, flow, &[], send, &with_tenant),
        (Method::Send, flow, &[], &with_tenant, &with_tenant),
        (Method::Stream, none, &[("historyLength", "3")], send, send),
        (Method::Get, task, &[], "", r#"{"id":"t"}"#),
        (Method::Get, task, &[("historyLength", "10")], "", r#"{"id":"t","historyLength":10}"#),
        (
            Method::Get,
            task,
            &[("id", "other"), ("A2A-Version", "1.0"), ("A2A-Version", "1.0")],
            "",
            r#"{"id":"t"}"#,
        ),
        (Method::List, none, &list, "", listed),
        (Method::List, flow, &[("includeArtifacts", "false")], "", r#"{"tenant":"f"}"#),
        (Method::List, none, &[("tenant", "f")], "", r#"{"tenant":"f"}"#),
        (Method::Cancel, task, &[], "", r#"{"id":"t"}"#),
        (Method::Cancel, task, &[], r#"{"metadata":{"a":1}}"#, r#"{"id":"t","metadata":{"a":1}}"#),
        (Method::Cancel, task, &[], r#"{"id":"t"}"#, r#"{"id":"t"}"#),
        (Method::Subscribe, task, &[], "", r#"{"id":"t"}"#),
        (Method::Subscribe, task, &[], "not looked at", r#"{"id":"t"}"#),
        (Method::PushSet, task, &[], push, r#"{"taskId":"t","url":"u","token":"k"}"#),
        (Method::PushGet, config, &[], "", r#"{"taskId":"t","id":"p"}"#),
        (Method::PushList, task, &[("pageSize", "3")], "", r#"{"taskId":"t","pageSize":3}"#),
        (Method::PushDelete, config, &[], "", r#"{"taskId":"t","id":"p"}"#),
        (Method::ExtendedCard, flow, &[], "", r#"{"tenant":"f"}"#),
    ];
    for (method, path, pairs, body, same) in rows {
        let read = rest_request(*method, *path, &query(pairs), body.as_bytes());
        assert_eq!(read, request(*method, &params(same)), "{method:?} {path:?} {pairs:?} {body}");
        assert!(read.is_ok(), "{method:?} {path:?} {pairs:?} {body}");
    }
}

#[test]
fn over_http_what_is_wrong_is_refused_by_name() {
    let task = InPath { task: Some("t"), ..InPath::default() };
    let none = InPath::default();
    let rows: &[Row<'_, &[&str]>] = &[
        (Method::Send, none, &[], "", &["message"]),
        (Method::Send, none, &[], "{}", &["message"]),
        (
            Method::List,
            none,
            &[("pageSize", "150"), ("historyLength", "-5"), ("status", "TASK_STATE_RUNNING")],
            "",
            &["pageSize", "status", "historyLength"],
        ),
        (
            Method::List,
            none,
            &[("pageSize", "x"), ("includeArtifacts", "1")],
            "",
            &["pageSize", "includeArtifacts"],
        ),
        (Method::List, none, &[("pageSize", "")], "", &["pageSize"]),
        (Method::List, none, &[("pageSize", "1"), ("pageSize", "2")], "", &["pageSize"]),
        (Method::Get, task, &[("historyLength", "0x1")], "", &["historyLength"]),
        (Method::Cancel, task, &[], r#"{"id":"other"}"#, &["id"]),
        (Method::PushSet, task, &[], r#"{"taskId":"other","url":"u"}"#, &["taskId"]),
        (Method::PushSet, task, &[], r#"{"taskId":7,"url":"u"}"#, &["taskId"]),
    ];
    for (method, path, pairs, body, expected) in rows {
        let fault = rest_request(*method, *path, &query(pairs), body.as_bytes()).unwrap_err();
        let named: Vec<String> = wrong(&fault).into_iter().map(|(field, _)| field).collect();
        assert_eq!(named, *expected, "{method:?} {pairs:?} {body}");
    }
    for (body, kind) in
        [("{", Kind::ParseError), (r#"{"a":1,"a":1}"#, Kind::ParseError), ("[]", Kind::InvalidRequest)]
    {
        let fault = rest_request(Method::Send, none, &[], body.as_bytes()).unwrap_err();
        assert_eq!((fault.kind, fault.kind.http_status()), (kind, 400), "{body}");
    }
}
