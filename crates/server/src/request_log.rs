//! The operator's view of a request: an id, a span, and a log line when it is answered.
//!
//! The id is the client's, if that is one printable word; otherwise it is made here. Every answer has it in a
//! header, and every problem in its body. The log has the method of a request, the template of its path and
//! the name of its token: no path, no query, no header, no body.

use crate::{auth::random, http::problem::Problem};
use axum::{
    extract::{MatchedPath, Request},
    http::{HeaderMap, HeaderName, HeaderValue},
    middleware::Next,
    response::Response,
};
use envoi_kernel::ids::uuid_v7_text;
use std::time::Instant;
use tracing::{Instrument as _, Span, field::Empty, info, info_span};

/// The header of a request and of its answer.
const HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// Maximum length of an id from a client, in bytes.
const MAX_BYTES: usize = 128;

/// Wraps everything else that handles a request.
pub(crate) async fn log_request(request: Request, next: Next) -> Response {
    let id = id(request.headers());
    let route = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str);
    let method = request.method().as_str();
    let span = info_span!("request", id, method, route, tenant = Empty, token = Empty, status = Empty);
    let began = Instant::now();
    let mut response = next.run(request).instrument(span.clone()).await;
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        *response.body_mut() = problem.body(&id).into();
    }
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(HEADER, value);
    }
    span.record("status", response.status().as_u16());
    let ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    info!(parent: &span, duration_ms = ms, "answered");
    response
}

/// Records the sender of the current request, once it is known.
pub(crate) fn record_client(tenant: &str, token: &str) {
    let span = Span::current();
    span.record("tenant", tenant);
    span.record("token", token);
}

fn id(headers: &HeaderMap) -> String {
    let brought = headers.get(HEADER).and_then(|value| value.to_str().ok());
    if let Some(id) = brought.filter(|id| is_fit(id)) {
        return id.to_owned();
    }
    let now = envoi_engine::now();
    // Without random bytes the time alone is enough: the id only helps to find a log line.
    random::id("req_", now).unwrap_or_else(|_| format!("req_{}", uuid_v7_text(now, &[0; 32])))
}

/// Printable and without spaces: one word of a line.
fn is_fit(id: &str) -> bool {
    (1..=MAX_BYTES).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_cannot_be_written_down_is_replaced() {
        let trace_of =
            |bytes: &[u8]| id(&HeaderMap::from_iter([(HEADER, HeaderValue::from_bytes(bytes).unwrap())]));
        for good in ["a", "7f3c-11/x:{}~!", &"x".repeat(128)] {
            assert_eq!(trace_of(good.as_bytes()), good);
        }
        for bad in [b"".as_slice(), b"two words", b"tab\there", "é".as_bytes(), &[b'x'; 129]] {
            let made = trace_of(bad);
            assert!(made.starts_with("req_") && made.len() == 30, "{made}");
            assert_ne!(made, trace_of(bad), "each one is new");
        }
        assert!(id(&HeaderMap::new()).starts_with("req_"));
    }
}
