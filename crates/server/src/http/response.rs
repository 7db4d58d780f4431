//! Responses in their usual forms. Problems set their own headers (`problem.rs`).

use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};

pub(crate) fn json(status: u16, text: impl Into<Body>) -> Response {
    of(status, "application/json", text.into())
}

pub(crate) fn text(kind: &'static str, text: String) -> Response {
    of(200, kind, text.into())
}

/// A response with only a status.
pub(crate) fn empty(status: u16) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
}

/// A body of this type. It must not be cached, because it belongs to the tenant; a caller may override that.
pub(crate) fn of(status: u16, kind: &'static str, body: Body) -> Response {
    let mut response = empty(status);
    *response.body_mut() = body;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
