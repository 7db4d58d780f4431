//! Sessions of the web page: started with a code or a token, ended by their owner.

use super::rows;
use crate::{
    admission,
    auth::{
        session::{self, Halves, SessionError},
        token::{self, Bearer},
    },
    http::{body, problem::Problem, response, work::blocking},
    request::{ApiRequest, text},
    state::app::App,
};
use axum::{
    body::Body,
    http::{HeaderValue, header, request::Parts},
    response::Response,
};
use envoi_api::token::{NewSession, Token};
use std::sync::Arc;

/// Maximum size of the body that starts a session, in bytes.
const MAX_BODY: u64 = 4 * 1024;

/// `createSession`. There is no token yet: only `Host` and `Origin` were checked.
pub(crate) async fn create(app: &Arc<App>, parts: Parts, body: &mut Body) -> Result<Response, Problem> {
    let body = body::whole(body, MAX_BODY).await?.ok_or_else(|| Problem::too_large(MAX_BODY))?;
    let encrypted = admission::came_encrypted(app, &parts.headers);
    let shared = Arc::clone(app);
    blocking(move || {
        let mut request = ApiRequest::default();
        request.body = body;
        let members = request.members(&["code", "token"])?;
        let halves = match (text(&members, "code")?, text(&members, "token")?) {
            (Some(code), None) => of_code(&shared, code)?,
            (None, Some(token)) => of_token(&shared, token)?,
            _ => return Err(Problem::bad_request("expected `code` or `token`, one of them")),
        };
        begun(&shared, halves, encrypted)
    })
    .await
}

fn of_code(app: &App, code: &str) -> Result<Halves, Problem> {
    let is_long = code.len() > session::MAX_HALF;
    let found = if is_long { None } else { session::of_code(&app.store, code, app.now())? };
    found.ok_or_else(Problem::unauthenticated)
}

fn of_token(app: &App, token: &str) -> Result<Halves, Problem> {
    let bearer = match token.len() > admission::MAX_TOKEN {
        true => None,
        false => app.read(|reader| token::bearer(reader, token, app.now()).map_err(Problem::from))?,
    };
    let bearer = bearer.ok_or_else(Problem::unauthenticated)?;
    Ok(session::of_bearer(&app.store, &bearer, app.now())?)
}

/// The response with the key in the body and the cookie in a header.
fn begun(app: &App, halves: Halves, encrypted: bool) -> Result<Response, Problem> {
    let Halves { cookie, key } = halves;
    let found =
        app.read(|reader| session::bearer(reader, &cookie, &key, app.now()).map_err(Problem::from))?;
    // The token of the code may have been revoked meanwhile.
    let (Bearer { name, tenant, scopes, .. }, _) = found.ok_or_else(Problem::unauthenticated)?;
    let token = Token { name, tenant, scopes: scopes.each().collect() };
    let mut answer = rows::answer(201, &NewSession { key, token })?;
    set_cookie(&mut answer, app, &cookie, session::MAX_MS / 1_000, encrypted)?;
    Ok(answer)
}

/// `endSession`.
pub(crate) fn end(app: &App, request: &ApiRequest) -> Result<Response, Problem> {
    let Some(id) = &request.bearer.session else {
        return Err(Problem::bad_request("this request has a token and no session")
            .hint("`envoi token revoke` ends what a token may do"));
    };
    app.store.end_page_session(id, app.now())?;
    let mut answer = response::empty(204);
    set_cookie(&mut answer, app, "", 0, admission::came_encrypted(app, &request.headers))?;
    Ok(answer)
}

fn set_cookie(
    answer: &mut Response,
    app: &App,
    value: &str,
    age_s: u64,
    encrypted: bool,
) -> Result<(), Problem> {
    let name = admission::cookie_name(app, encrypted);
    // Without a path the browser uses the folder of this request's path, so any prefix of a proxy works.
    let place = if encrypted { "; Path=/; Secure" } else { "" };
    let text = format!("{name}={value}; Max-Age={age_s}; HttpOnly; SameSite=Strict{place}");
    let value = HeaderValue::from_str(&text).map_err(Problem::internal)?;
    answer.headers_mut().insert(header::SET_COOKIE, value);
    Ok(())
}

impl From<SessionError> for Problem {
    fn from(error: SessionError) -> Self {
        Self::internal(error)
    }
}
