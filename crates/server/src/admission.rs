//! Who is admitted: checks the `Host` of a request, its `Origin`, then its token.
//!
//! A page in a browser can point a name of its own at this machine and send requests here. Such a request carries that
//! name as `Host`, and the page's own `Origin`. Both are checked before the token is read.

use crate::{
    auth::token::{self, Bearer},
    http::{problem::Problem, work::blocking},
    state::app::App,
};
use axum::http::{HeaderMap, header, request::Parts};
use envoi_contract::code::Code;
use std::sync::Arc;

/// Longer ones are no tokens.
const MAX_TOKEN: usize = 256;

/// The owner of the request's token, if the request is admitted.
pub(crate) async fn admit(app: &Arc<App>, parts: &Parts) -> Result<Bearer, Problem> {
    check_host_and_origin(app, parts)?;
    let token = bearer_token(&parts.headers, MAX_TOKEN).ok_or_else(Problem::unauthenticated)?.to_owned();
    let shared = Arc::clone(app);
    let found =
        blocking(move || shared.read(|reader| Ok(token::bearer(reader, &token, shared.now())?))).await?;
    found.ok_or_else(Problem::unauthenticated)
}

/// Checks that the request names this server as its host, and comes from no foreign page.
pub(crate) fn check_host_and_origin(app: &App, parts: &Parts) -> Result<(), Problem> {
    check_host(app, parts)?;
    check_origin(app, &parts.headers)
}

/// The token of the `Authorization` header, of at most `most` bytes; `None` if there are several such headers.
pub(crate) fn bearer_token(headers: &HeaderMap, most: usize) -> Option<&str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (value, None) = (values.next()?, values.next()) else { return None };
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && token.len() <= most).then_some(token)
}

pub(crate) fn check_host(app: &App, parts: &Parts) -> Result<(), Problem> {
    let mut values = parts.headers.get_all(header::HOST).iter();
    let host = match (values.next(), values.next()) {
        (Some(host), None) => host.to_str().unwrap_or_default(),
        _ => "",
    };
    if app.hosts.iter().any(|known| known.eq_ignore_ascii_case(host)) {
        return Ok(());
    }
    let detail = "this server does not answer to that name";
    Err(Problem::new(Code::HostNotAllowed, detail).hint("name it in `server.hosts` of the configuration"))
}

/// Whether the configuration names this origin of pages.
pub(crate) fn is_allowed_origin(app: &App, origin: &str) -> bool {
    app.settings.origins.iter().any(|known| known.eq_ignore_ascii_case(origin))
}

fn check_origin(app: &App, headers: &HeaderMap) -> Result<(), Problem> {
    let mut values = headers.get_all(header::ORIGIN).iter();
    let Some(origin) = values.next() else { return Ok(()) };
    let origin = origin.to_str().unwrap_or_default();
    // A proxy in front may speak TLS where the server does not. A page without TLS is not the page of a server with
    // TLS.
    let schemes = if app.settings.tls.is_some() { &["https"][..] } else { &["http", "https"] };
    let is_own = |host: &String| {
        schemes.iter().any(|scheme| origin.eq_ignore_ascii_case(&format!("{scheme}://{host}")))
    };
    if (app.hosts.iter().any(is_own) || is_allowed_origin(app, origin)) && values.next().is_none() {
        return Ok(());
    }
    let detail = "pages of that origin may not ask this server";
    Err(Problem::new(Code::OriginNotAllowed, detail).hint("name it in `server.origins` of the configuration"))
}
