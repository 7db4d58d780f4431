//! The files of the web page: built from `page/`, committed in `crates/server/page`, and part of the binary.
//!
//! They need no session and no token, because a person signs in there; they contain no data of a store.
//! `Host` and `Origin` are checked as for every request. No other path returns a page: other missing paths
//! are refused as usual.

use crate::{admission, http::response, state::app::App};
use axum::{
    Router,
    body::Body,
    extract::Request,
    http::{HeaderName, HeaderValue, header},
    response::{IntoResponse as _, Response},
    routing::get,
};
use envoi_contract::digest::Digest;
use std::sync::Arc;

/// A file.
struct File {
    path: &'static str,
    kind: &'static str,
    bytes: &'static [u8],
}

const FILES: [File; 4] = [
    File { path: "/", kind: "text/html; charset=utf-8", bytes: include_bytes!("../page/index.html") },
    File { path: "/app.js", kind: "text/javascript; charset=utf-8", bytes: include_bytes!("../page/app.js") },
    File { path: "/app.css", kind: "text/css; charset=utf-8", bytes: include_bytes!("../page/app.css") },
    File { path: "/icon.svg", kind: "image/svg+xml", bytes: include_bytes!("../page/icon.svg") },
];

/// Only these files and this server's operations. Scripts cannot make HTML from text (`trusted-types
/// 'none'`), and foreign pages cannot show this one in a frame.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; \
     connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types 'none'";

const HEADERS: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("permissions-policy"), "camera=(), microphone=(), geolocation=()"),
];

/// A file with its version in the URL never changes.
const FOR_EVER: &str = "public, max-age=31536000, immutable";

/// Adds the files of the page to a router.
pub(crate) fn routes(mut router: Router, app: &Arc<App>) -> Router {
    for file in &FILES {
        let app = Arc::clone(app);
        let digest = Digest::of(file.bytes).hex();
        let version = digest.get(..16).unwrap_or_default().to_owned();
        router = router.route(
            file.path,
            get(move |request: Request| async move { answer(&app, file, &version, request) }),
        );
    }
    router
}

fn answer(app: &App, file: &'static File, version: &str, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    if let Err(problem) = admission::check_host_and_origin(app, &parts) {
        return problem.into_response();
    }
    let tag = format!("\"{version}\"");
    let is_known =
        parts.headers.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let mut answer = match is_known {
        true => response::empty(304),
        false => response::of(200, file.kind, Body::from(file.bytes)),
    };
    let has_version = parts.uri.query() == Some(format!("v={version}").as_str());
    let headers = answer.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let caching = if has_version { FOR_EVER } else { "no-cache" };
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(caching));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    answer
}
