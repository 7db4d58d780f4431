//! The CORS protocol of the Fetch standard: which pages of other origins may read answers.
//!
//! Owns the headers for the origins that the configuration names. A page of any other origin gets no such
//! header, and [`crate::admission`] refuses its requests. A browser sends a preflight request before it sends
//! a page's token, so the preflight is answered without a token; the answer does not show which paths exist.
//! Pages send their token themselves. Cookies, and other credentials that browsers add, are never used.

use crate::{
    admission, bridge,
    http::{only_header::only, response},
    operation::{self, ParamIn},
    state::app::App,
};
use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, header, request::Parts},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use std::{collections::BTreeSet, sync::Arc};

/// The methods of REST and of A2A.
const METHODS: &str = "GET, POST, DELETE";

/// How long a browser may cache the answer, in seconds: browsers accept at most two hours.
const MAX_AGE_S: u32 = 600;

/// Response headers that a page may read, besides those that every page may read.
const SHOWN: [HeaderName; 8] = [
    header::ETAG,
    header::RETRY_AFTER,
    header::CONTENT_RANGE,
    header::ACCEPT_RANGES,
    header::WWW_AUTHENTICATE,
    HeaderName::from_static("x-request-id"),
    HeaderName::from_static("a2a-extensions"),
    bridge::SHOULD_RETRY,
];

/// Wraps admission: answers preflight requests, and adds the headers that let an allowed page read the
/// answer.
pub(crate) async fn apply(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    if app.settings.origins.is_empty() {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let page = allowed_origin(&app, &parts.headers);
    let mut response = if page.is_some() && is_preflight(&parts) {
        preflight(&app, &parts)
    } else {
        next.run(Request::from_parts(parts, body)).await
    };
    let headers = response.headers_mut();
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    if let Some(page) = page {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, page);
        put(headers, header::ACCESS_CONTROL_EXPOSE_HEADERS, &SHOWN.map(|name| name.to_string()).join(", "));
    }
    response
}

/// The origin of the page that sends the request, if the configuration allows it.
fn allowed_origin(app: &App, headers: &HeaderMap) -> Option<HeaderValue> {
    let origin = only(headers, header::ORIGIN)?;
    admission::is_allowed_origin(app, origin.to_str().ok()?).then(|| origin.clone())
}

fn is_preflight(parts: &Parts) -> bool {
    parts.method == Method::OPTIONS && parts.headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

fn preflight(app: &App, parts: &Parts) -> Response {
    if let Err(problem) = admission::check_host(app, parts) {
        return problem.into_response();
    }
    let mut response = response::empty(204);
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(METHODS));
    put(headers, header::ACCESS_CONTROL_ALLOW_HEADERS, &allowed_headers().join(", "));
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from(MAX_AGE_S));
    response
}

/// Headers that a page may send: those of the operations, and those of every request.
fn allowed_headers() -> Vec<String> {
    let params = operation::ALL.iter().flat_map(|operation| operation.params);
    let named = params.filter(|param| param.place == ParamIn::Header).map(|param| param.name);
    let all = named
        .chain(["Authorization", "Content-Type", "X-Request-Id"])
        .chain(envoi_a2a::service_parameters::HEADERS);
    let all: BTreeSet<String> = all.map(str::to_ascii_lowercase).collect();
    all.into_iter().collect()
}

fn put(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    // A list of header names is a valid header value.
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}
