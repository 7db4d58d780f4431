//! JSON-RPC 2.0: a body is one request, and each request has one response, or several in a stream.
//!
//! Owns the frame around methods and results, in both versions; `v1` and `v03` own the methods.
//!
//! In JSON-RPC a request without an `id` is a notification, which has no response. A2A has no notifications, because
//! every method has a result. Such a request is therefore read as one whose `id` is null, and is answered, like in
//! the servers of the SDKs. Batches are refused, as everywhere in A2A. A body with a duplicate name is rejected as
//! invalid JSON.

use super::{
    fault::{Fault, Kind},
    object_writer::ObjectWriter,
    version::Version,
};
use envoi_contract::json::{Error as ParseError, Number, Object, Value};

/// The client's id of its request. The response repeats it unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Id {
    /// A text.
    Text(String),
    /// A number, kept as its token.
    Number(Number),
    /// Null or absent.
    Null,
}

impl Id {
    fn value(&self) -> Value {
        match self {
            Self::Text(text) => text.as_str().into(),
            Self::Number(number) => number.clone().into(),
            Self::Null => Value::Null,
        }
    }
}

/// A request whose method and parameters have not been interpreted yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Incoming {
    /// The id, which every response repeats.
    pub id: Id,
    /// The method name, as sent by the client.
    pub method: String,
    /// The parameters; empty if absent.
    pub params: Object,
}

/// A body that is not a request, and the id for the error response.
#[derive(Debug, Clone, PartialEq)]
pub struct Unreadable {
    /// The request's id, if it could be read.
    pub id: Id,
    /// The reason.
    pub fault: Fault,
}

/// Reads a body.
///
/// # Errors
/// [`Unreadable`]: the body is not JSON (−32700), not a request (−32600), or its parameters are not an object
/// (−32602).
pub fn read(body: &[u8]) -> Result<Incoming, Unreadable> {
    let value = Value::parse(body).map_err(|error| {
        let fault = Fault::new(Kind::ParseError).detail(error.to_string());
        Unreadable { id: Id::Null, fault }
    })?;
    let members = match value {
        Value::Object(members) => members,
        Value::Array(_) => return Err(no_request(Id::Null, "batches are not taken")),
        _ => return Err(no_request(Id::Null, "a request is an object")),
    };
    let id = match members.get("id") {
        None | Some(Value::Null) => Id::Null,
        Some(Value::String(text)) => Id::Text(text.clone()),
        Some(Value::Number(number)) => Id::Number(number.clone()),
        Some(_) => return Err(no_request(Id::Null, "`id` is a string, a number or null")),
    };
    request(id, members)
}

fn request(id: Id, mut members: Object) -> Result<Incoming, Unreadable> {
    if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(no_request(id, "`jsonrpc` is \"2.0\""));
    }
    let Some(Value::String(method)) = members.remove("method") else {
        return Err(no_request(id, "`method` is a string"));
    };
    match members.remove("params") {
        None | Some(Value::Null) => Ok(Incoming { id, method, params: Object::new() }),
        Some(Value::Object(params)) => Ok(Incoming { id, method, params }),
        Some(_) => Err(Unreadable { id, fault: Fault::violation("params", "Must be an object.") }),
    }
}

fn no_request(id: Id, why: &str) -> Unreadable {
    Unreadable { id, fault: Fault::new(Kind::InvalidRequest).detail(why) }
}

/// A response with a result, on one line.
pub fn result(id: &Id, result: Value) -> String {
    frame(id).put("result", result).value().compact()
}

/// A response with an error, on one line.
pub fn error(id: &Id, version: Version, fault: &Fault) -> String {
    frame(id).put("error", fault.rpc(version)).value().compact()
}

/// A request, on one line.
#[must_use]
pub fn request_text(id: &Id, method: &str, params: Object) -> String {
    frame(id).put("method", method).put("params", Value::Object(params)).value().compact()
}

/// The content of a response, read by a client.
#[derive(Debug, Clone, PartialEq)]
pub enum Response {
    /// The result of the request.
    Result(Value),
    /// The error of the request.
    Error(ResponseError),
    /// The response has neither.
    Neither,
}

/// The error of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseError {
    /// The code as it was written; empty if it is not a number.
    pub code: String,
    /// The message for people, if there is one.
    pub message: Option<String>,
}

impl ResponseError {
    /// The kind of the code; `None` if the agent defined the code itself.
    #[must_use]
    pub fn kind(&self) -> Option<Kind> {
        Kind::of_rpc_code(self.code.parse().ok()?)
    }
}

/// Reads the body of a response. An error takes precedence over a result. An error that is null counts as absent.
///
/// # Errors
/// The body is not JSON.
pub fn read_response(body: &[u8]) -> Result<Response, ParseError> {
    let answer = Value::parse(body)?;
    if let Some(error) = answer.get("error").filter(|error| !error.is_null()) {
        let code = error.get("code").and_then(Value::as_number).map_or("", |code| code.as_str());
        let message = error.get("message").and_then(Value::as_str).map(str::to_owned);
        return Ok(Response::Error(ResponseError { code: code.to_owned(), message }));
    }
    Ok(answer.get("result").cloned().map_or(Response::Neither, Response::Result))
}

fn frame(id: &Id) -> ObjectWriter {
    ObjectWriter::new().put("jsonrpc", "2.0").put("id", id.value())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(body: &str) -> (Value, i64) {
        let Unreadable { id, fault } = read(body.as_bytes()).unwrap_err();
        (id.value(), fault.kind.rpc_code())
    }

    #[test]
    fn an_id_comes_back_as_it_came() {
        for token in [
            "1",
            "0",
            "-7",
            "1.50",
            "1e3",
            "12345678901234567890123",
            "null",
            "\"r4\"",
            "\"\"",
            "\"\\u00e9\\n\"",
        ] {
            let body =
                format!(r#"{{"jsonrpc":"2.0","id":{token},"method":"tasks/get","params":{{"id":"t"}}}}"#);
            let Incoming { id, method, params } = read(body.as_bytes()).unwrap();
            assert_eq!(method, "tasks/get");
            assert_eq!(params.get("id").and_then(Value::as_str), Some("t"));
            let shown = Value::parse_str(token).unwrap().compact();
            assert_eq!(
                result(&id, Value::Null),
                format!(r#"{{"jsonrpc":"2.0","id":{shown},"result":null}}"#)
            );
        }
    }

    #[test]
    fn a_request_without_an_id_is_answered_under_null() {
        let read = read(br#"{"jsonrpc":"2.0","method":"m"}"#).unwrap();
        assert_eq!(read, Incoming { id: Id::Null, method: "m".to_owned(), params: Object::new() });
        assert_eq!(result(&read.id, true.into()), r#"{"jsonrpc":"2.0","id":null,"result":true}"#);
    }

    #[test]
    fn what_is_unknown_around_a_request_is_ignored_and_null_parameters_are_none() {
        let read = read(br#"{"x":[],"params":null,"method":"m","id":1,"jsonrpc":"2.0"}"#).unwrap();
        assert_eq!((read.method.as_str(), read.params.len()), ("m", 0));
    }

    #[test]
    fn what_is_no_request_is_refused_under_the_id_that_could_be_read() {
        let (null, one) = (Value::Null, Value::from(1_u64));
        let rows = [
            ("", &null, -32700),
            ("{", &null, -32700),
            ("{} {}", &null, -32700),
            (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}"#, &null, -32700),
            (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1,"a":2}}"#, &null, -32700),
            (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"\ud800"}}"#, &null, -32700),
            ("[]", &null, -32600),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"m"}]"#, &null, -32600),
            ("7", &null, -32600),
            ("{}", &null, -32600),
            (r#"{"id":1,"method":"m"}"#, &one, -32600),
            (r#"{"jsonrpc":"1.0","id":1,"method":"m"}"#, &one, -32600),
            (r#"{"jsonrpc":2.0,"id":1,"method":"m"}"#, &one, -32600),
            (r#"{"jsonrpc":"2.0","id":1}"#, &one, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"method":null}"#, &one, -32600),
            (r#"{"jsonrpc":"2.0","id":true,"method":"m"}"#, &null, -32600),
            (r#"{"jsonrpc":"2.0","id":{"a":1},"method":"m"}"#, &null, -32600),
            (r#"{"jsonrpc":"2.0","id":[1],"method":"m"}"#, &null, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}"#, &one, -32602),
            (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":"x"}"#, &one, -32602),
        ];
        for (body, id, code) in rows {
            assert_eq!(refused(body), (id.clone(), code), "{body}");
        }
        assert_eq!(read(b"\"\xff\"").unwrap_err().fault.kind, Kind::ParseError);
    }

    #[test]
    fn a_response_with_an_error_has_the_shape_of_its_version() {
        let (id, fault) = (Id::Text("r4".to_owned()), Fault::task_not_found());
        assert_eq!(
            error(&id, Version::V03, &fault),
            r#"{"jsonrpc":"2.0","id":"r4","error":{"code":-32001,"message":"Task not found","data":null}}"#
        );
        assert_eq!(
            error(&id, Version::V10, &fault),
            concat!(
                r#"{"jsonrpc":"2.0","id":"r4","error":{"code":-32001,"message":"Task not found","data":["#,
                r#"{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","#,
                r#""domain":"a2a-protocol.org","metadata":{}}]}}"#
            )
        );
    }
}
