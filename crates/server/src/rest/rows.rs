//! Rows of `envoi_api` as responses. That crate makes the rows from those of the journal.

use crate::{
    auth::token::Bearer,
    http::{problem::Problem, response},
};
use axum::response::Response;
use envoi_api::token::Token;
use serde::Serialize;

/// A response with this row or page.
pub(crate) fn answer(status: u16, row: &impl Serialize) -> Result<Response, Problem> {
    let text = serde_json::to_string(row).map_err(Problem::internal)?;
    Ok(response::json(status, text))
}

/// The owner of the request's token.
pub(crate) fn bearer(bearer: &Bearer) -> Token {
    Token { name: bearer.name.clone(), tenant: bearer.tenant.clone(), scopes: bearer.scopes.each().collect() }
}
