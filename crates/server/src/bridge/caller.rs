//! The caller of a model: an attempt with its own token, or a client with the scope `run`.

use crate::{
    admission,
    auth::{
        attempt_token,
        scope::Scope,
        token::{self, Bearer},
    },
    http::{only_header::only, problem::Problem},
    state::{app::App, contexts},
};
use axum::http::{HeaderMap, header};
use envoi_kernel::ids::{AttemptId, RunId};

/// A header for clients that cannot set `Authorization`; if it is present, `Authorization` is ignored.
const HEADER: &str = "x-envoi-bridge-token";

/// The header with the key of Anthropic clients.
const KEY: &str = "x-api-key";

/// A longer text is not a token. An attempt in nested flows has a long name.
const MAX_TOKEN: usize = 4096;

/// An admitted caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Caller {
    pub(crate) tenant: String,
    /// The name of the token. For an attempt: the run and the attempt.
    pub(crate) name: String,
    /// The id of the token; an attempt's token has none.
    pub(crate) token: Option<String>,
    /// The live attempt to which the token belongs.
    pub(crate) attempt: Option<(RunId, AttemptId)>,
}

/// The run that pays for a call, and whether the request names another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) run: Option<RunId>,
    pub(crate) attempt: Option<AttemptId>,
    /// Whether the header names another run than the token, or one that does not belong to the tenant.
    pub(crate) contradicted: bool,
    /// Whether there is a header that leads to no run.
    pub(crate) astray: bool,
}

/// The token of a request.
pub(super) fn token(headers: &HeaderMap) -> Option<String> {
    let token = if headers.contains_key(HEADER) {
        only(headers, HEADER)?.to_str().ok()?.trim()
    } else if headers.contains_key(header::AUTHORIZATION) {
        admission::bearer_token(headers, MAX_TOKEN)?
    } else {
        only(headers, KEY)?.to_str().ok()?.trim()
    };
    (token.len() <= MAX_TOKEN).then(|| token.to_owned())
}

/// The caller with this token, if it is valid now. Blocks.
pub(super) fn of(app: &App, token: &str) -> Result<Option<Caller>, Problem> {
    if token.starts_with(attempt_token::PREFIX) {
        return of_attempt(app, token);
    }
    let bearer = app.read(|reader| token::bearer(reader, token, app.now()).map_err(Problem::from))?;
    let bearer = bearer.filter(|bearer| bearer.scopes.allow(&[Scope::Run]));
    Ok(bearer.map(|Bearer { id, name, tenant, .. }| Caller { tenant, name, token: Some(id), attempt: None }))
}

fn of_attempt(app: &App, token: &str) -> Result<Option<Caller>, Problem> {
    let Some((run, attempt)) =
        app.settings.attempt_tokens.as_ref().and_then(|tokens| tokens.attempt_of(token))
    else {
        return Ok(None);
    };
    let Some(tenant) = app.read(|reader| reader.tenant_of(&run).map_err(Problem::from))? else {
        return Ok(None);
    };
    let live = app.desk.is_live(&run, &attempt)?;
    let name = format!("{run}.{attempt}");
    Ok(live.then_some(Caller { tenant, name, token: None, attempt: Some((run, attempt)) }))
}

impl Caller {
    /// The run that pays. For an attempt it is its own run. Otherwise it is the run of the context in the
    /// header, if it belongs to the tenant. The body cannot select a run.
    pub(super) fn account(&self, app: &App, headers: &HeaderMap) -> Result<Account, Problem> {
        let named = named(headers);
        let behind = match (named, &self.attempt) {
            // The attempt's own run, even if the conversation has continued in another run since.
            (Named::One(context), Some((run, _))) if contexts::is_of(app, run, context)? => Some(run.clone()),
            (Named::One(context), _) => contexts::run_of(app, &self.tenant, self.token.as_deref(), context)?,
            (Named::None | Named::Several, _) => None,
        };
        let astray = named != Named::None && behind.is_none();
        Ok(match &self.attempt {
            Some((run, attempt)) => Account {
                contradicted: named != Named::None && behind.as_ref() != Some(run),
                astray,
                run: Some(run.clone()),
                attempt: Some(attempt.clone()),
            },
            None => Account { contradicted: astray, astray, run: behind, attempt: None },
        })
    }
}

/// The context in the headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Named<'a> {
    None,
    One(&'a str),
    /// Several headers, so it is unclear which one is meant.
    Several,
}

fn named(headers: &HeaderMap) -> Named<'_> {
    let mut values = headers.get_all(contexts::HEADER).iter();
    match (values.next(), values.next()) {
        (None, _) => Named::None,
        (Some(value), None) => Named::One(value.to_str().unwrap_or("")),
        (Some(_), Some(_)) => Named::Several,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn a_context_is_named_once_or_not_at_all() {
        for (values, expected) in [
            (&[][..], Named::None),
            (&["a"][..], Named::One("a")),
            (&[""], Named::One("")),
            (&["a", "b"], Named::Several),
            (&["a", "a"], Named::Several),
        ] {
            let mut map = HeaderMap::new();
            for value in values {
                map.append(contexts::HEADER, HeaderValue::from_static(value));
            }
            assert_eq!(named(&map), expected, "{values:?}");
        }
    }

    #[test]
    fn a_token_stands_in_one_place() {
        let long = "x".repeat(MAX_TOKEN + 1);
        for (headers, expected) in [
            (&[][..], None),
            (&[("authorization", "Bearer a")][..], Some("a")),
            (&[("authorization", "bearer  a ")], Some("a")),
            (&[("authorization", "Basic a")], None),
            (&[("x-envoi-bridge-token", "b")], Some("b")),
            (&[("x-envoi-bridge-token", "b"), ("authorization", "Bearer a")], Some("b")),
            (&[("x-envoi-bridge-token", "b"), ("x-envoi-bridge-token", "c")], None),
            (&[("authorization", "Bearer a"), ("authorization", "Bearer a")], None),
            (&[("x-envoi-bridge-token", long.as_str())], None),
            (&[("x-api-key", "k")], Some("k")),
            (&[("x-api-key", "k"), ("authorization", "Bearer a")], Some("a")),
            (&[("x-api-key", "k"), ("authorization", "Basic a")], None),
            (&[("x-api-key", "k"), ("x-api-key", "k")], None),
        ] {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.append(*name, HeaderValue::from_str(value).unwrap());
            }
            assert_eq!(token(&map).as_deref(), expected, "{headers:?}");
        }
    }
}
