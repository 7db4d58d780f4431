//! Tokens.

use crate::{Time, scalar::words};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

words! {
    /// The permissions of a token.
    Scope {
        /// Read.
        Read = "read",
        /// Answer questions.
        Answer = "answer",
        /// Start, fork, resume, raise and cancel runs.
        Run = "run",
        /// All of these, and register flows.
        Admin = "admin",
    }
}

words! {
    /// The state of a token.
    TokenState {
        /// Valid.
        Good = "good",
        /// Expired.
        Expired = "expired",
        /// Revoked.
        Revoked = "revoked",
    }
}

/// The token of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Token {
    /// Its name, which stands with everything that is done with it.
    pub name: String,
    /// Whose it is.
    pub tenant: String,
    /// What it allows.
    pub scopes: Vec<Scope>,
}

/// A session of the web page that has begun. Its other half is a cookie.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NewSession {
    /// The half that the page sends as `X-Envoi-Page`. It is shown once.
    pub key: String,
    /// In whose name it acts, and what it allows.
    #[serde(flatten)]
    pub token: Token,
}

/// A link that signs in to the web page, one time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PageLink {
    /// The link.
    pub page: String,
    /// Until when it is good.
    pub expires_at: Time,
    /// In whose name the session acts, and what it allows.
    #[serde(flatten)]
    pub token: Token,
}

/// A token of a store. The token itself is not known: the store holds its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenRow {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Whose it is.
    pub tenant: String,
    /// What it allows.
    pub scopes: Vec<Scope>,
    /// Whether it is valid.
    pub state: TokenState,
    /// When it was created.
    pub created_at: Time,
    /// When it expires; null: never.
    pub expires_at: Option<Time>,
    /// When it was revoked; null if it was not.
    pub revoked_at: Option<Time>,
}

/// A token that was created. This is the only time that it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NewToken {
    /// The token.
    pub token: String,
    /// Its name.
    pub name: String,
    /// Whose it is.
    pub tenant: String,
}

/// A token that was revoked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RevokedToken {
    /// The id of the token.
    pub revoked: String,
}
