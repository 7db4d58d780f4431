//! The arguments of `envoi approve`, `envoi deny` and `envoi answer`.

use super::options::{Form, Reply};
use clap::{Args, ValueEnum, ValueHint};
use std::path::PathBuf;

/// `envoi answer`.
#[derive(Debug, Args)]
pub(crate) struct AnswerArgs {
    #[command(flatten)]
    pub(crate) reply: Reply,
    /// The answer in words, every byte of it; `-` for stdin
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) text: Option<String>,
    /// The decision [default: words or the form, where the question takes them]
    #[arg(long, value_enum, value_name = "CHOICE")]
    pub(crate) choice: Option<Decision>,
    /// A user envelope (contract 5) as it came: a file, or `-` for stdin
    #[arg(long, value_name = "FILE", conflicts_with = "text", value_hint = ValueHint::FilePath)]
    pub(crate) envelope: Option<PathBuf>,
    /// How much a limit is raised by: a number, a duration such as 10m, or dollars
    #[arg(long, value_name = "MORE", conflicts_with = "choice")]
    pub(crate) raise: Option<String>,
    #[command(flatten)]
    pub(crate) form: Form,
}

/// `envoi approve`.
#[derive(Debug, Args)]
pub(crate) struct ApproveArgs {
    #[command(flatten)]
    pub(crate) reply: Reply,
    /// A note for the steps that follow
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
    #[command(flatten)]
    pub(crate) form: Form,
}

/// `envoi deny`.
#[derive(Debug, Args)]
pub(crate) struct DenyArgs {
    #[command(flatten)]
    pub(crate) reply: Reply,
    /// Why
    #[arg(long, value_name = "TEXT", visible_alias = "note")]
    pub(crate) reason: Option<String>,
}

/// See [`AnswerArgs`].
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Decision {
    /// Yes
    Approve,
    /// No
    Deny,
    /// Words or a form
    Respond,
    /// Go on
    Proceed,
    /// Another round
    Again,
    /// Items in conflict: the lines in conflict stay as they are in the tree of the run
    Ours,
    /// Items in conflict: for the lines in conflict, what the items have
    Theirs,
    /// Items in conflict: the files as you have edited them
    Edit,
    /// The run fails
    Stop,
    /// In doubt: a new attempt of the same visit
    Rerun,
    /// In doubt: the visit has failed
    Fail,
}
