//! The arguments of `envoi page`.

use super::token::TokenScope;
use clap::Args;

/// `envoi page`.
#[derive(Debug, Args)]
pub(crate) struct PageArgs {
    /// The name of the token that the session uses [default: your own]
    #[arg(long = "for", value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// What the session may do; may be given more than once. Every session may read [default: all that the token may; of a new token,
    /// `answer`, for yourself `admin`]
    #[arg(long = "scope", value_enum, value_name = "SCOPE")]
    pub(crate) scopes: Vec<TokenScope>,
    /// The tenant of the token
    #[arg(long, default_value = "local")]
    pub(crate) tenant: String,
    /// Where the browser finds the server [default: as the server that runs says, else the configuration]
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
}
