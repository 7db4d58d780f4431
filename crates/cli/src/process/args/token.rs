//! The commands of `envoi token`.

use super::options::duration;
use clap::{Subcommand, ValueEnum};

/// `envoi token`.
#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token and print it: it cannot be seen again
    Create {
        /// Its name, which is recorded with everything that is done with it; a tenant can use a name only once
        name: String,
        /// What it may do; may be given more than once. Every token may read
        #[arg(long = "scope", value_enum, value_name = "SCOPE", default_value = "read")]
        scopes: Vec<TokenScope>,
        /// The tenant whose runs it may use
        #[arg(long, default_value = "local")]
        tenant: String,
        /// How long it is valid, such as 30d [default: until it is revoked]
        #[arg(long, value_name = "DURATION", value_parser = duration)]
        expires: Option<u64>,
    },
    /// List the tokens, without their secrets
    List {
        /// Only the first N, by tenant and name [default: 200; with --json all]
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
    },
    /// Revoke a token, at once
    Revoke {
        /// Its id, or its name if only one tenant has one of that name
        token: String,
    },
}

/// See [`TokenCommand`].
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum TokenScope {
    /// See runs, questions, artifacts
    Read,
    /// Answer questions
    Answer,
    /// Start, resume and cancel runs
    Run,
    /// Everything, and register flows: a client with it may run commands here
    Admin,
}
