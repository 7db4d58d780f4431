//! Requests of the HTTP+JSON binding. The parameters in the path, the query and the body are combined and read like
//! the parameters of JSON-RPC.
//!
//! The server maps paths to operations.

use super::read;
use crate::{
    fault::{Fault, Kind},
    request::{Method, Request},
};
use envoi_contract::json::{Number, Object, Value};

/// The ids in the path, decoded.
#[derive(Debug, Clone, Copy, Default)]
pub struct InPath<'a> {
    /// The id of a flow.
    pub tenant: Option<&'a str>,
    /// The id of a task.
    pub task: Option<&'a str>,
    /// The id of a push configuration.
    pub config: Option<&'a str>,
}

/// Reads a request. `query` is decoded; `body` is empty when the operation has none.
///
/// # Errors
/// A `ParseError` for a body that is not JSON, else an `InvalidParams` that names the invalid fields.
pub(crate) fn rest_request(
    method: Method,
    path: InPath<'_>,
    query: &[(String, String)],
    body: &[u8],
) -> Result<Request, Fault> {
    let mut params = if has_body(method) { from_body(body)? } else { from_query(query)? };
    let task = if is_of_push(method) { "taskId" } else { "id" };
    let named = [("tenant", path.tenant), (task, path.task), ("id", path.config)];
    for (name, value) in named.into_iter().filter_map(|(name, value)| Some((name, value?))) {
        let before = params.insert(name, value.into()).filter(|before| !matches!(before.as_str(), Some("")));
        if before.is_some_and(|before| !before.is_null() && before.as_str() != Some(value)) {
            return Err(Fault::violation(name, "Must be the one of the path."));
        }
    }
    read::request(method, &params)
}

/// True if the operation has a body. A subscription may use GET or POST; its body is ignored in both.
const fn has_body(method: Method) -> bool {
    matches!(method, Method::Send | Method::Stream | Method::Cancel | Method::PushSet)
}

const fn is_of_push(method: Method) -> bool {
    matches!(method, Method::PushSet | Method::PushGet | Method::PushList | Method::PushDelete)
}

fn from_body(body: &[u8]) -> Result<Object, Fault> {
    if body.is_empty() {
        return Ok(Object::new());
    }
    match Value::parse(body) {
        Ok(Value::Object(params)) => Ok(params),
        Ok(_) => Err(Fault::new(Kind::InvalidRequest).detail("the body is an object")),
        Err(error) => Err(Fault::new(Kind::ParseError).detail(error.to_string())),
    }
}

/// Builds the parameters from the query. A text that is a JSON number or boolean is converted; any other text is
/// refused when the field is read.
fn from_query(query: &[(String, String)]) -> Result<Object, Fault> {
    let mut params = Object::new();
    for (name, text) in query {
        let value = match name.as_str() {
            "historyLength" | "pageSize" => Number::parse(text).map(Value::Number),
            "includeArtifacts" => text.parse::<bool>().ok().map(Value::Bool),
            "contextId" | "status" | "pageToken" | "statusTimestampAfter" | "tenant" => None,
            // Other names are not parameters of the operation: `A2A-Version`, or unknown.
            _ => continue,
        };
        if params.insert(name.as_str(), value.unwrap_or_else(|| text.as_str().into())).is_some() {
            return Err(Fault::violation(name, "Field stands twice."));
        }
    }
    Ok(params)
}
