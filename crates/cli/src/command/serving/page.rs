//! `envoi page`: prints a link that signs in to the web page once.
//!
//! Owns the identity that a session acts as, and the address of the server. The validity of codes belongs to
//! `envoi-server`.

use super::{serve, token};
use crate::{
    process::{args::PageArgs, environment, failure::Failure, output, stderr},
    session::configured_models,
    store::{config, home::Home, server_url, waiting},
    text::duration,
};
use envoi_api::token::{PageLink, Token, TokenState};
use envoi_contract::code::Code;
use envoi_journal::{Store, TokenRow};
use envoi_kernel::ids::RunId;
use envoi_server::{
    scope::{Scope, Scopes},
    session,
    token::{NewToken, TokenError},
};
use std::{
    fmt::Display,
    net::{Ipv4Addr, SocketAddr},
};

pub(crate) fn page(home: &Home, args: &PageArgs) -> Result<u8, Failure> {
    let store = home.open()?;
    is_there(&store)?;
    let place = place(&store, args.url.as_deref())?;
    let now = envoi_engine::now();
    let (row, scopes, code) = code(&store, args, now)?;
    let link = format!("{place}/#/in/{code}");
    if server_url::running(store.layout()).is_none() {
        stderr::line(format_args!(
            "no server runs on this store: the link opens once `envoi serve` is there"
        ));
    }
    let shown = Token { name: row.name.clone(), tenant: row.tenant.clone(), scopes: scopes.each().collect() };
    if home.json {
        let expires_at = now.saturating_add_ms(session::CODE_MS).into();
        return output::row(&PageLink { page: link, expires_at, token: shown }).map(|()| 0);
    }
    stderr::line(format_args!(
        "the link is valid once, for {}; it signs in as {} of {} ({scopes})",
        duration::passing(session::CODE_MS),
        row.name,
        row.tenant
    ));
    output::data(&format!("{link}\n")).map(|()| 0)
}

/// Fails if the configuration disables the page.
pub(super) fn is_there(store: &Store) -> Result<(), Failure> {
    if config::load(store.layout())?.server.has_page() {
        return Ok(());
    }
    let message = "the web page of this server is switched off, so that there is no sign-in";
    Err(Failure::new(Code::ServerOptionsInvalid, message)
        .hint("remove `page: false` below `server` in `config.yaml`, then start the server again"))
}

/// A one-time code, with the token that it signs in as and the scopes of the session.
fn code(
    store: &Store,
    args: &PageArgs,
    now: envoi_contract::time::Timestamp,
) -> Result<(TokenRow, Scopes, String), Failure> {
    let own = as_name(&environment::principal().actor);
    let name = args.name.as_ref().unwrap_or(&own);
    let wanted: Vec<Scope> = args.scopes.iter().copied().map(token::scope).collect();
    let row = match known(store, &args.tenant, name)? {
        Some(row) => row,
        None => made(store, args, name, &wanted)?,
    };
    let scopes = allowed(&row, &wanted)?;
    let code = waiting::for_the_store(|| session::create_code(store, &row, &scopes, now))?
        .map_err(|error| not_written(store, error))?;
    Ok((row, scopes, code))
}

/// A one-time link that signs in the person at the terminal and leads to this run. `address` is the address
/// of the server.
pub(super) fn link_to(store: &Store, address: &str, run: &RunId) -> Result<String, Failure> {
    let tenant = environment::principal().tenant;
    let args = PageArgs { name: None, scopes: Vec::new(), tenant, url: None };
    let (_, _, code) = code(store, &args, envoi_engine::now())?;
    Ok(format!("{address}/#/in/{code}/r/{run}"))
}

/// The failure of a write to the store.
fn not_written(store: &Store, error: impl Display) -> Failure {
    let root = store.layout().root().display();
    Failure::store(format!("the store `{root}`: {error}"))
        .hint("the folder of the store must be writable; `envoi doctor` says more")
}

/// The user's name, restricted to the characters of a token name.
fn as_name(actor: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let name: String = actor.chars().map(|c| if fits(c) { c } else { '-' }).take(64).collect();
    let name = name.trim_start_matches(['-', '.', '_']);
    if name.is_empty() { "me".to_owned() } else { name.to_owned() }
}

/// Returns the token of this name.
fn known(store: &Store, tenant: &str, name: &str) -> Result<Option<TokenRow>, Failure> {
    let reader = store.reader().map_err(Failure::store)?;
    let rows = reader.tokens().map_err(Failure::store)?;
    let Some(row) = rows.into_iter().find(|row| row.tenant == tenant && row.name == name) else {
        return Ok(None);
    };
    match token::state(&row, envoi_engine::now()) {
        TokenState::Good => Ok(Some(row)),
        state => {
            let message = format!("token `{name}` of tenant `{tenant}` is {state}: no session can use it");
            Err(Failure::new(Code::TokenNotFound, message).hint("name another one with --for"))
        }
    }
}

/// Makes a token that no program knows. Only sessions act in its name.
fn made(store: &Store, args: &PageArgs, name: &str, wanted: &[Scope]) -> Result<TokenRow, Failure> {
    let usual = if args.name.is_none() { Scope::Admin } else { Scope::Answer };
    let scopes = if wanted.is_empty() { vec![usual] } else { wanted.to_vec() };
    let new = NewToken {
        name: name.to_owned(),
        tenant: args.tenant.clone(),
        scopes: Scopes::new(scopes),
        expires_at: None,
    };
    waiting::for_the_store(|| envoi_server::token::create(store, &new, envoi_engine::now()))?.map_err(
        |error| match error {
            TokenError::Store(error) => not_written(store, error),
            error => token::failed(error),
        },
    )?;
    known(store, &args.tenant, name)?.ok_or_else(|| Failure::store("the new token is not there"))
}

/// The scopes of the session: the requested ones. The token must have all of them.
fn allowed(row: &TokenRow, wanted: &[Scope]) -> Result<Scopes, Failure> {
    let whole = Scopes::parse(&row.scopes);
    if wanted.is_empty() {
        return Ok(whole);
    }
    match wanted.iter().find(|scope| !whole.allow(&[**scope])) {
        None => Ok(Scopes::new(wanted.iter().copied())),
        Some(scope) => {
            let message = format!("token `{}` has not the scope `{scope}`; it has {whole}", row.name);
            Err(Failure::new(Code::TokenInvalid, message)
                .hint("a session cannot have more scopes than its token; choose another token with --for"))
        }
    }
}

/// The address of the server for the browser, without a slash at the end.
fn place(store: &Store, named: Option<&str>) -> Result<String, Failure> {
    if let Some(url) = named {
        let is_address = ["http://", "https://"].iter().any(|scheme| url.starts_with(scheme));
        if !is_address || url.contains(['#', '?', ' ']) {
            let message = format!("`{url}` is no address of a server");
            return Err(Failure::new(Code::ServerOptionsInvalid, message)
                .hint("expected https://HOST, or with a path"));
        }
        return Ok(url.trim_end_matches('/').to_owned());
    }
    if let Some(url) = server_url::running(store.layout()) {
        return Ok(url);
    }
    let server = config::load(store.layout())?.server;
    let usual = SocketAddr::from((Ipv4Addr::LOCALHOST, serve::PORT));
    let address = server.listen.unwrap_or(usual);
    Ok(configured_models::place(server.public_url.as_deref(), address, server.tls.is_some()))
}
