//! Decides which requests are admitted: checks the `Host` of a request, its `Origin`, then its token or its
//! session.
//!
//! A page in a browser can let a name of its own resolve to this machine and send requests here. Such a
//! request has that name as `Host`, and the page's own `Origin`. Both are checked before the token is read.

use crate::{
    auth::{
        session,
        token::{self, Bearer},
    },
    http::{only_header::only, problem::Problem, work::blocking},
    state::app::App,
};
use axum::http::{HeaderMap, HeaderName, header, request::Parts};
use envoi_contract::code::Code;
use std::sync::Arc;

/// A longer text is not a token.
pub(crate) const MAX_TOKEN: usize = 256;

/// The header with the half of a session that the page keeps.
const PAGE_KEY: HeaderName = HeaderName::from_static("x-envoi-page");

/// The header in which a browser states the origin of a request.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The path prefix for which sessions of the web page are valid. The bridge and A2A accept only tokens.
const SESSIONS: &str = "/v1/";

/// The name of the cookie if the browser uses TLS: then the browser accepts the cookie only from this host,
/// and for all paths.
const ENCRYPTED_COOKIE: &str = "__Host-envoi";

/// The most cookies of that name that are tried: another server of this machine can set some.
const MAX_COOKIES: usize = 4;

/// The owner of the request's token or session. An error if the request is not admitted.
pub(crate) async fn admit(app: &Arc<App>, parts: &Parts) -> Result<Bearer, Problem> {
    check_host_and_origin(app, parts)?;
    if let Some((cookies, key)) = session_halves(app, parts) {
        return admit_session(app, cookies, key).await;
    }
    let token = bearer_token(&parts.headers, MAX_TOKEN).ok_or_else(Problem::unauthenticated)?.to_owned();
    let shared = Arc::clone(app);
    let found =
        blocking(move || shared.read(|reader| Ok(token::bearer(reader, &token, shared.now())?))).await?;
    found.ok_or_else(Problem::unauthenticated)
}

/// The halves of the session in the request, with one or several cookies of that name. `None` if the request
/// has a token, is not below `/v1/`, if there is no web page, or if the request comes from a page of another
/// origin, even one that the configuration allows.
fn session_halves(app: &App, parts: &Parts) -> Option<(Vec<String>, String)> {
    let headers = &parts.headers;
    let has_token = headers.contains_key(header::AUTHORIZATION);
    if has_token || !app.settings.page || !parts.uri.path().starts_with(SESSIONS) {
        return None;
    }
    let key = only(headers, PAGE_KEY)?.to_str().ok()?;
    let is_own_page = headers.get(FETCH_SITE).is_none_or(|site| site == "same-origin")
        && headers.get(header::ORIGIN).is_none_or(|origin| is_own_origin(app, origin.to_str().unwrap_or("")));
    let names = [ENCRYPTED_COOKIE.to_owned(), cookie_name(app, false)];
    let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = all.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let fits =
        |name: &str, value: &str| names.iter().any(|known| known == name) && value.len() <= session::MAX_HALF;
    let cookies = pairs.filter(|(name, value)| fits(name, value)).map(|(_, value)| value.to_owned());
    let cookies: Vec<String> = cookies.take(MAX_COOKIES).collect();
    let is_whole = is_own_page && !cookies.is_empty() && key.len() <= session::MAX_HALF;
    is_whole.then(|| (cookies, key.to_owned()))
}

async fn admit_session(app: &Arc<App>, cookies: Vec<String>, key: String) -> Result<Bearer, Problem> {
    let app = Arc::clone(app);
    blocking(move || {
        let now = app.now();
        for cookie in cookies {
            let found =
                app.read(|reader| session::bearer(reader, &cookie, &key, now).map_err(Problem::from))?;
            let Some((bearer, is_due)) = found else { continue };
            if let Some(id) = bearer.session.as_ref().filter(|_| is_due) {
                app.store.touch_page_session(id, now)?;
            }
            return Ok(bearer);
        }
        Err(Problem::unauthenticated())
    })
    .await
}

/// The name of the cookie. Cookies do not distinguish ports, so the name contains the port.
pub(crate) fn cookie_name(app: &App, is_encrypted: bool) -> String {
    if is_encrypted { ENCRYPTED_COOKIE.to_owned() } else { format!("envoi_{}", app.port) }
}

/// Whether the browser uses TLS, with this server or with a proxy in front of it.
pub(crate) fn came_encrypted(app: &App, headers: &HeaderMap) -> bool {
    let origin = headers.get(header::ORIGIN).and_then(|origin| origin.to_str().ok()).unwrap_or_default();
    app.settings.tls.is_some() || origin.starts_with("https://")
}

/// Checks that the request names this server as its host, and does not come from a foreign page.
pub(crate) fn check_host_and_origin(app: &App, parts: &Parts) -> Result<(), Problem> {
    check_host(app, parts)?;
    check_origin(app, &parts.headers)
}

/// The token of the `Authorization` header, of at most `most` bytes. `None` if there are several such
/// headers.
pub(crate) fn bearer_token(headers: &HeaderMap, most: usize) -> Option<&str> {
    let value = only(headers, header::AUTHORIZATION)?;
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && token.len() <= most).then_some(token)
}

pub(crate) fn check_host(app: &App, parts: &Parts) -> Result<(), Problem> {
    let host = only(&parts.headers, header::HOST).and_then(|host| host.to_str().ok());
    if host.is_some_and(|host| app.hosts.iter().any(|known| known.eq_ignore_ascii_case(host))) {
        return Ok(());
    }
    let detail = "this server does not answer to that name";
    Err(Problem::new(Code::HostNotAllowed, detail).hint("name it in `server.hosts` of the configuration"))
}

/// Whether the configuration allows this origin.
pub(crate) fn is_allowed_origin(app: &App, origin: &str) -> bool {
    app.settings.origins.iter().any(|known| known.eq_ignore_ascii_case(origin))
}

/// Whether this origin is the server's own. A proxy in front may use TLS although the server does not. A page
/// without TLS is not the page of a server with TLS.
fn is_own_origin(app: &App, origin: &str) -> bool {
    let schemes = if app.settings.tls.is_some() { &["https"][..] } else { &["http", "https"] };
    let is_own = |host: &String| {
        schemes.iter().any(|scheme| origin.eq_ignore_ascii_case(&format!("{scheme}://{host}")))
    };
    app.hosts.iter().any(is_own)
}

fn check_origin(app: &App, headers: &HeaderMap) -> Result<(), Problem> {
    if !headers.contains_key(header::ORIGIN) {
        return Ok(());
    }
    let origin = only(headers, header::ORIGIN).and_then(|origin| origin.to_str().ok());
    if origin.is_some_and(|origin| is_own_origin(app, origin) || is_allowed_origin(app, origin)) {
        return Ok(());
    }
    let detail = "pages of that origin may not ask this server";
    Err(Problem::new(Code::OriginNotAllowed, detail).hint("name it in `server.origins` of the configuration"))
}
