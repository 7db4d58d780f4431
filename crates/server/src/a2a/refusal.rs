//! Refusals of requests whose operation is not known yet: no token, unknown path, a body that is too large.
//!
//! The server has them as problems (RFC 9457). An A2A client gets them in the form of its binding: an error
//! of a JSON-RPC response without an id, or `google.rpc.Status`. The HTTP status is the same in both.

use crate::a2a::route;
use crate::http::{problem::Problem, response};
use axum::{
    extract::Query,
    http::{header, request::Parts},
    response::{IntoResponse as _, Response},
};
use envoi_a2a::{
    fault::{Fault, Kind},
    json_rpc,
    service_parameters::{VERSION, negotiate_version},
    version::Version,
};

/// A problem as a response for this path: in the form of A2A below `/a2a`.
pub(crate) fn of(parts: &Parts, problem: Problem) -> Response {
    let Some(below) = route::below(parts.uri.path()) else { return problem.into_response() };
    let fault = fault(&problem);
    let body = match route::is_rpc(below) {
        true => json_rpc::error(&json_rpc::Id::Null, version(parts), &fault),
        false => fault.rest().compact(),
    };
    let mut response = response::json(problem.status.as_u16(), body);
    let mut full = problem.into_response();
    for name in [header::WWW_AUTHENTICATE, header::RETRY_AFTER] {
        if let Some(value) = full.headers_mut().remove(&name) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// The A2A error that is closest to a problem.
fn fault(problem: &Problem) -> Fault {
    let status = problem.status.as_u16();
    let kind = match status {
        401 => Kind::Unauthenticated,
        403 => Kind::PermissionDenied,
        404 => Kind::MethodNotFound,
        405 => Kind::MethodNotAllowed,
        413 => Kind::TooLarge,
        415 => Kind::ContentTypeNotSupported,
        429 => Kind::TooMuch,
        503 => Kind::Unavailable,
        500.. => Kind::Internal,
        _ => Kind::InvalidRequest,
    };
    let fault = Fault::new(kind).over_http(status).detail(problem.detail()).code(problem.code);
    match problem.hint_of().filter(|_| problem.status.is_client_error()) {
        Some(hint) => fault.note("hint", hint),
        None => fault,
    }
}

/// The version whose form the refusal has. It is 1.0 if the requested version is not supported.
fn version(parts: &Parts) -> Version {
    let header = parts.headers.get(VERSION).map(|value| value.to_str().unwrap_or("?"));
    let query =
        Query::<Vec<(String, String)>>::try_from_uri(&parts.uri).map(|query| query.0).unwrap_or_default();
    let query = query.iter().find(|(name, _)| name == VERSION).map(|(_, value)| value.as_str());
    negotiate_version(header, query).unwrap_or(Version::V10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{Request, StatusCode};
    use envoi_contract::code::Code;

    /// Status, type and headers of a response.
    fn head_of(response: &Response) -> (u16, String, Vec<String>) {
        let header =
            |name| response.headers().get(name).map_or("", |value| value.to_str().unwrap()).to_owned();
        let kind = header(header::CONTENT_TYPE);
        (
            response.status().as_u16(),
            kind,
            vec![header(header::WWW_AUTHENTICATE), header(header::RETRY_AFTER)],
        )
    }

    fn parts(path: &str, version: &str) -> Parts {
        Request::get(path).header(VERSION, version).body(()).unwrap().into_parts().0
    }

    #[test]
    fn every_status_is_that_of_the_error_and_headers_stay() {
        for status in [400, 401, 403, 404, 405, 413, 415, 421, 429, 500, 503] {
            let problem = Problem::new(Code::RunOver, "so it is")
                .with_status(StatusCode::from_u16(status).unwrap())
                .hint("do that");
            let fault = fault(&problem);
            assert_eq!((fault.http_status(), fault.http_status_of_rpc()), (status, status));
            let body = fault.rest().compact();
            let hinted = body.contains(r#""metadata":{"code":"RUN_OVER","hint":"do that"}"#);
            assert_eq!(hinted, status < 500, "{body}");
            assert!(body.contains(&format!(r#"{{"error":{{"code":{status},"#)), "{body}");
        }
        let unknown = || Problem::unauthenticated().retry_after(7);
        for path in ["/a2a", "/a2a/tasks", "/a2a/nothing/here"] {
            let response = of(&parts(path, "1.0"), unknown());
            let headers = vec!["Bearer".to_owned(), "7".to_owned()];
            assert_eq!(head_of(&response), (401, "application/json".to_owned(), headers), "{path}");
            assert!(response.extensions().get::<Problem>().is_none(), "or it would be written over");
        }
        for path in ["/v1/runs", "/a2ab", "/"] {
            let response = of(&parts(path, "1.0"), unknown());
            assert_eq!(head_of(&response).1, "application/problem+json", "{path}");
        }
    }

    #[test]
    fn the_words_are_those_of_the_version_however_it_is_spelled() {
        for (path, header, expected) in [
            ("/a2a", "1.0", Version::V10),
            ("/a2a", "", Version::V03),
            ("/a2a?A2A-Version=1.0", "", Version::V10),
            ("/a2a", "9.9", Version::V10),
        ] {
            assert_eq!(version(&parts(path, header)), expected, "{path} {header}");
        }
    }
}
