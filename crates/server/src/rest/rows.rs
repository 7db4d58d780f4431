//! Rows of `envoi_api` as answers. The rows themselves are made of the journal's by that crate.

use crate::{
    auth::token::Bearer,
    http::{problem::Problem, response},
};
use axum::response::Response;
use envoi_api::token::Token;
use serde::Serialize;

/// An answer with this row or page.
pub(crate) fn answer(status: u16, row: &impl Serialize) -> Result<Response, Problem> {
    let text = serde_json::to_string(row).map_err(Problem::internal)?;
    Ok(response::json(status, text))
}

/// The owner of the request's token.
pub(crate) fn bearer(bearer: &Bearer) -> Token {
    Token { name: bearer.name.clone(), tenant: bearer.tenant.clone(), scopes: bearer.scopes.each().collect() }
}
