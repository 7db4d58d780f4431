//! `envoi token`: the tokens that `envoi serve` takes. The store holds only their digests.

use crate::process::stderr;
use crate::{
    process::{
        args::{TokenCommand, TokenScope},
        failure::Failure,
        output,
    },
    store::{home::Home, waiting},
};
use envoi_contract::{code::Code, time::Timestamp};
use envoi_journal::TokenRow;
use envoi_server::{
    scope::{Scope, Scopes},
    token::{self, NewToken, TokenError},
};
use serde_json::json;

pub(crate) fn token(home: &Home, command: TokenCommand) -> Result<u8, Failure> {
    match command {
        TokenCommand::Create { name, scopes, tenant, expires } => {
            let expires_at = expires.map(|ms| envoi_engine::now().saturating_add_ms(ms));
            create(
                home,
                &NewToken { name, tenant, scopes: Scopes::new(scopes.into_iter().map(scope)), expires_at },
            )
        }
        TokenCommand::List => list(home),
        TokenCommand::Revoke { token } => revoke(home, &token),
    }
}

fn scope(scope: TokenScope) -> Scope {
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
    let text = match home.json {
        true => json!({"token": made, "name": new_token.name, "tenant": new_token.tenant}).to_string(),
        false => {
            stderr::line(format_args!(
                "this is the only time that the token is shown; the store keeps its digest"
            ));
            made
        }
    };
    output::data(&(text + "\n")).map(|()| 0)
}

/// A token could not be made.
pub(crate) fn failed(error: TokenError) -> Failure {
    let message = error.to_string();
    match error {
        TokenError::Spelling { .. } => Failure::new(Code::TokenInvalid, message),
        TokenError::Taken { .. } => Failure::new(Code::TokenNameTaken, message)
            .hint("what was done with that token stands under its name; take another one"),
        TokenError::Random(error) => Failure::machine("random bytes", error),
        TokenError::Store(error) => Failure::store(error),
    }
}

fn stands(row: &TokenRow, now: Timestamp) -> &'static str {
    match (row.revoked_at, row.expires_at) {
        (Some(_), _) => "revoked",
        (None, Some(at)) if now >= at => "expired",
        _ => "good",
    }
}

fn list(home: &Home) -> Result<u8, Failure> {
    let (_, reader) = home.reader()?;
    let (rows, now) = (reader.tokens().map_err(Failure::store)?, envoi_engine::now());
    let time = |at: Option<Timestamp>| at.map(|at| at.to_string());
    let text = if home.json {
        let row = |row: &TokenRow| {
            json!({
                "id": row.id, "name": row.name, "tenant": row.tenant,
                "scopes": row.scopes.split(' ').collect::<Vec<_>>(), "state": stands(row, now),
                "created_at": row.created_at.to_string(), "expires_at": time(row.expires_at),
                "revoked_at": time(row.revoked_at),
            })
        };
        format!("{}\n", serde_json::Value::from(rows.iter().map(row).collect::<Vec<_>>()))
    } else {
        let header = ["ID", "NAME", "TENANT", "SCOPES", "STATE", "EXPIRES"].map(str::to_owned).to_vec();
        let cells = |row: &TokenRow| {
            let expires = time(row.expires_at).unwrap_or_else(|| "-".to_owned());
            vec![
                row.id.clone(),
                row.name.clone(),
                row.tenant.clone(),
                row.scopes.clone(),
                stands(row, now).to_owned(),
                expires,
            ]
        };
        output::table(&std::iter::once(header).chain(rows.iter().map(cells)).collect::<Vec<_>>())
    };
    output::data(&text).map(|()| 0)
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
    // One that was revoked before is what was wanted.
    waiting::for_the_store(|| store.revoke_token(&row.id, envoi_engine::now()))?.map_err(Failure::store)?;
    let text = match home.json {
        true => json!({"revoked": row.id}).to_string(),
        false => format!("{} ({} of {}) is good for nothing any more", row.id, row.name, row.tenant),
    };
    output::data(&(text + "\n")).map(|()| 0)
}
