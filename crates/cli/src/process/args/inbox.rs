//! The arguments of `envoi inbox`.

use clap::Args;

/// `envoi inbox`.
#[derive(Debug, Args)]
pub(crate) struct InboxArgs {
    /// Only those of this run
    pub(crate) run: Option<String>,
    /// Go on listing as questions open and close, until Ctrl-C
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Also those that are closed
    #[arg(long, conflicts_with = "follow")]
    pub(crate) all: bool,
    /// Only the N oldest [default: 200; with --json all]
    #[arg(long, value_name = "N", conflicts_with = "follow")]
    pub(crate) limit: Option<usize>,
}
