//! Tests every error in every binding.

use super::*;
use envoi_contract::code::Code;

/// Code, HTTP status, gRPC status and reason in 1.0; code in 0.3. The first nine are specification 5.4.
#[rustfmt::skip]
const TABLE: [(Kind, i64, u16, &str, &str, i64); 20] = [
    (Kind::TaskNotFound, -32001, 404, "NOT_FOUND", "TASK_NOT_FOUND", -32001),
    (Kind::TaskNotCancelable, -32002, 400, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE", -32002),
    (Kind::PushNotificationNotSupported, -32003, 400, "FAILED_PRECONDITION", "PUSH_NOTIFICATION_NOT_SUPPORTED", -32003),
    (Kind::UnsupportedOperation, -32004, 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION", -32004),
    (Kind::ContentTypeNotSupported, -32005, 400, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED", -32005),
    (Kind::InvalidAgentResponse, -32006, 500, "INTERNAL", "INVALID_AGENT_RESPONSE", -32006),
    (Kind::ExtendedAgentCardNotConfigured, -32007, 400, "FAILED_PRECONDITION", "EXTENDED_AGENT_CARD_NOT_CONFIGURED", -32007),
    (Kind::ExtensionSupportRequired, -32008, 400, "FAILED_PRECONDITION", "EXTENSION_SUPPORT_REQUIRED", -32600),
    (Kind::VersionNotSupported, -32009, 400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED", -32009),
    (Kind::ParseError, -32700, 400, "INVALID_ARGUMENT", "JSON_PARSE", -32700),
    (Kind::InvalidRequest, -32600, 400, "INVALID_ARGUMENT", "INVALID_REQUEST", -32600),
    (Kind::MethodNotFound, -32601, 404, "NOT_FOUND", "METHOD_NOT_FOUND", -32601),
    (Kind::InvalidParams, -32602, 400, "INVALID_ARGUMENT", "INVALID_PARAMS", -32602),
    (Kind::Internal, -32603, 500, "INTERNAL", "INTERNAL_ERROR", -32603),
    (Kind::Unauthenticated, -32000, 401, "UNAUTHENTICATED", "UNAUTHENTICATED", -32600),
    (Kind::PermissionDenied, -32000, 403, "PERMISSION_DENIED", "PERMISSION_DENIED", -32600),
    (Kind::MethodNotAllowed, -32000, 405, "UNIMPLEMENTED", "METHOD_NOT_ALLOWED", -32600),
    (Kind::TooLarge, -32000, 413, "INVALID_ARGUMENT", "TOO_LARGE", -32600),
    (Kind::TooMuch, -32000, 429, "RESOURCE_EXHAUSTED", "TOO_MUCH", -32603),
    (Kind::Unavailable, -32000, 503, "UNAVAILABLE", "UNAVAILABLE", -32603),
];

/// The pairs that clients of 0.3 know, some of them as literals.
const KNOWN_TO_V03: [(i64, &str); 12] = [
    (-32700, "Invalid JSON payload"),
    (-32600, "Request payload validation error"),
    (-32601, "Method not found"),
    (-32602, "Invalid parameters"),
    (-32603, "Internal error"),
    (-32001, "Task not found"),
    (-32002, "Task not cancelable"),
    (-32003, "Push notification not supported"),
    (-32004, "This operation is not supported"),
    (-32005, "Incompatible content types"),
    (-32006, "Invalid agent response"),
    (-32007, "Authenticated Extended Card is not configured"),
];

#[test]
fn every_error_is_reported_in_every_binding() {
    assert_eq!(TABLE.map(|row| row.0), Kind::ALL);
    for (kind, code, http, status, reason, code_of_v03) in TABLE {
        let title = kind.title();
        let domain = if code == -32000 { "envoi" } else { "a2a-protocol.org" };
        let info = format!(
            r#"[{{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"{reason}","domain":"{domain}","metadata":{{}}}}]"#
        );
        let fault = Fault::new(kind);
        assert_eq!(
            fault.rpc(Version::V10).compact(),
            format!(r#"{{"code":{code},"message":"{title}","data":{info}}}"#)
        );
        assert_eq!(
            fault.rest().compact(),
            format!(
                r#"{{"error":{{"code":{http},"status":"{status}","message":"{title}","details":{info}}}}}"#
            )
        );
        assert_eq!(kind.http_status(), http);
        assert_eq!(kind.http_status_of_rpc(), if code == -32000 { http } else { 200 });
        let (known, message) = kind.in_v03();
        assert!(KNOWN_TO_V03.contains(&(known, message)), "{kind:?}");
        if kind == Kind::VersionNotSupported {
            assert_eq!(fault.rpc(Version::V03), fault.rpc(Version::V10));
            continue;
        }
        let (_, message) = KNOWN_TO_V03.into_iter().find(|known| known.0 == code_of_v03).unwrap();
        assert_eq!(
            fault.rpc(Version::V03).compact(),
            format!(r#"{{"code":{code_of_v03},"message":"{message}","data":null}}"#)
        );
    }
}

#[test]
fn reasons_tell_kinds_apart() {
    let mut reasons = Kind::ALL.map(Kind::reason);
    reasons.sort_unstable();
    assert!(reasons.windows(2).all(|pair| pair[0] != pair[1]), "{reasons:?}");
}

#[test]
fn what_there_is_to_say_stands_where_each_version_has_room_for_it() {
    let fault = Fault::violation("message.parts", "Field must contain at least one element.")
        .detail("nothing was started")
        .code(Code::RoutingInvalid)
        .note("taskId", "run_1");
    let info = concat!(
        r#"{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org","#,
        r#""metadata":{"code":"ROUTING_INVALID","taskId":"run_1"}}"#
    );
    let violations =
        r#"[{"field":"message.parts","description":"Field must contain at least one element."}]"#;
    let bad_request =
        format!(r#"{{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":{violations}}}"#);
    let message = "Invalid parameters: nothing was started";
    assert_eq!(
        fault.rpc(Version::V10).compact(),
        format!(r#"{{"code":-32602,"message":"{message}","data":[{info},{bad_request}]}}"#)
    );
    assert_eq!(
        fault.rest().compact(),
        format!(
            r#"{{"error":{{"code":400,"status":"INVALID_ARGUMENT","message":"{message}","details":[{info},{bad_request}]}}}}"#
        )
    );
    assert_eq!(
        fault.rpc(Version::V03).compact(),
        format!(
            concat!(
                r#"{{"code":-32602,"message":"Invalid parameters: nothing was started","data":{{"reason":"nothing was started","#,
                r#""code":"ROUTING_INVALID","taskId":"run_1","fieldViolations":{violations}}}}}"#
            ),
            violations = violations
        )
    );
}

#[test]
fn the_reason_is_in_the_message_except_where_clients_compare_it_whole() {
    let message = |fault: &Fault, version| match fault.rpc(version) {
        Value::Object(members) => members.get("message").and_then(Value::as_str).unwrap().to_owned(),
        other => panic!("{other:?}"),
    };
    for kind in Kind::ALL {
        let fault = Fault::new(kind).detail("the reason");
        let (_, title) = kind.in_v03();
        let literal = [Kind::TaskNotFound, Kind::TaskNotCancelable, Kind::PushNotificationNotSupported];
        let expected = match kind {
            Kind::VersionNotSupported => format!("{}: the reason", kind.title()),
            kind if literal.contains(&kind) => title.to_owned(),
            _ => format!("{title}: the reason"),
        };
        assert_eq!(message(&fault, Version::V03), expected, "{kind:?}");
        assert_eq!(message(&fault, Version::V10), format!("{}: the reason", kind.title()));
    }
    let field =
        |name: &str| Violation { field: name.to_owned(), description: "Must be a string.".to_owned() };
    let fault = Fault::violations(["a", "b", "c", "d"].map(field).into());
    let told = "Invalid parameters: a: Must be a string.; b: Must be a string.; c: Must be a string.";
    assert_eq!(message(&fault, Version::V03), told);
    assert_eq!(message(&fault, Version::V10), "Invalid parameters", "1.0 has `BadRequest` for that");
}

#[test]
fn a_fault_in_a_log_shows_no_secret_of_a_request() {
    let secret = crate::model::Secret("hunter2".to_owned());
    assert!(!format!("{secret:?}").contains("hunter2"));
}
