//! `envoi token`: manages the tokens that `envoi serve` accepts. The store holds only their digests.

use crate::process::stderr;
use crate::{
    process::{
        args::{TokenCommand, TokenScope},
        clock,
        failure::Failure,
        output,
    },
    store::{home::Home, waiting},
};
use envoi_api::token::{RevokedToken, TokenState};
use envoi_contract::{code::Code, time::Timestamp};
use envoi_journal::TokenRow;
use envoi_server::{
    scope::{Scope, Scopes},
    token::{self, NewToken, TokenError},
};

pub(crate) fn token(home: &Home, command: TokenCommand) -> Result<u8, Failure> {
    match command {
        TokenCommand::Create { name, scopes, tenant, expires } => {
            let expires_at = expires.map(|ms| envoi_engine::now().saturating_add_ms(ms));
            create(
                home,
                &NewToken { name, tenant, scopes: Scopes::new(scopes.into_iter().map(scope)), expires_at },
            )
        }
        TokenCommand::List { limit } => list(home, limit),
        TokenCommand::Revoke { token } => revoke(home, &token),
    }
}

pub(super) fn scope(scope: TokenScope) -> Scope {
    match scope {
        TokenScope::Read => Scope::Read,
        TokenScope::Answer => Scope::Answer,
        TokenScope::Run => Scope::Run,
        TokenScope::Admin => Scope::Admin,
    }
}

fn create(home: &Home, new_token: &NewToken) -> Result<u8, Failure> {
    let store = home.open()?;
    let made =
        waiting::for_the_store(|| token::create(&store, new_token, envoi_engine::now()))?.map_err(failed)?;
    if home.json {
        let NewToken { name, tenant, .. } = new_token;
        let row = envoi_api::token::NewToken { token: made, name: name.clone(), tenant: tenant.clone() };
        return output::row(&row).map(|()| 0);
    }
    stderr::line(format_args!("this is the only time that the token is shown; the store keeps its digest"));
    output::data(&(made + "\n")).map(|()| 0)
}

/// The failure to make a token.
pub(crate) fn failed(error: TokenError) -> Failure {
    let message = error.to_string();
    match error {
        TokenError::Spelling { .. } => Failure::new(Code::TokenInvalid, message),
        TokenError::Taken { .. } => Failure::new(Code::TokenNameTaken, message)
            .hint("actions of that token are recorded under its name; choose another name"),
        TokenError::Random(error) => Failure::machine("random bytes", error),
        TokenError::Store(error) => Failure::store(error),
    }
}

pub(super) fn state(row: &TokenRow, now: Timestamp) -> TokenState {
    match (row.revoked_at, row.expires_at) {
        (Some(_), _) => TokenState::Revoked,
        (None, Some(at)) if now >= at => TokenState::Expired,
        _ => TokenState::Good,
    }
}

/// Converts a token into its JSON row.
fn shown(row: &TokenRow, now: Timestamp) -> envoi_api::token::TokenRow {
    envoi_api::token::TokenRow {
        id: row.id.clone(),
        name: row.name.clone(),
        tenant: row.tenant.clone(),
        scopes: Scopes::parse(&row.scopes).each().collect(),
        state: state(row, now),
        created_at: row.created_at.into(),
        expires_at: row.expires_at.map(Into::into),
        revoked_at: row.revoked_at.map(Into::into),
    }
}

/// The most rows that are shown to people.
const SHOWN: usize = 200;

fn list(home: &Home, limit: Option<usize>) -> Result<u8, Failure> {
    let (_, reader) = home.reader()?;
    let all = reader.tokens().map_err(Failure::store)?;
    let limit = limit.unwrap_or(if home.json { usize::MAX } else { SHOWN });
    let left = all.len().saturating_sub(limit);
    let rows = all.get(..limit).unwrap_or(&all);
    let now = envoi_engine::now();
    if home.json {
        return output::row(&rows.iter().map(|row| shown(row, now)).collect::<Vec<_>>()).map(|()| 0);
    }
    let header = ["ID", "NAME", "TENANT", "SCOPES", "STATE", "EXPIRES"].map(str::to_owned).to_vec();
    let cells = |row: &TokenRow| {
        let expires = row.expires_at.map_or_else(|| "-".to_owned(), clock::local_short);
        vec![
            row.id.clone(),
            row.name.clone(),
            row.tenant.clone(),
            row.scopes.clone(),
            state(row, now).word().to_owned(),
            expires,
        ]
    };
    let text = output::list(
        &std::iter::once(header).chain(rows.iter().map(cells)).collect::<Vec<_>>(),
        &[],
        &[1, 2, 3],
    );
    output::data(&text)?;
    if left > 0 {
        stderr::line(format_args!("{left} later tokens are left out; --limit N shows more"));
    }
    Ok(0)
}

fn revoke(home: &Home, named: &str) -> Result<u8, Failure> {
    let (store, reader) = home.store()?;
    let rows = reader.tokens().map_err(Failure::store)?;
    let found: Vec<&TokenRow> = match rows.iter().find(|row| row.id == named) {
        Some(row) => vec![row],
        None => rows.iter().filter(|row| row.name == named).collect(),
    };
    let [row] = found.as_slice() else {
        let (code, message) = match found.is_empty() {
            true => (Code::TokenNotFound, format!("there is no token `{named}`")),
            false => (Code::AmbiguousId, format!("several tenants have a token named `{named}`")),
        };
        return Err(Failure::new(code, message).hint("`envoi token list` lists their ids"));
    };
    // Revoking a revoked token again is not an error.
    waiting::for_the_store(|| store.revoke_token(&row.id, envoi_engine::now()))?.map_err(Failure::store)?;
    if home.json {
        return output::row(&RevokedToken { revoked: row.id.clone() }).map(|()| 0);
    }
    let TokenRow { id, name, tenant, .. } = row;
    output::data(&format!("{id} ({name} of {tenant}) is good for nothing any more\n")).map(|()| 0)
}
