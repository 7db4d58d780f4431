//! The arguments of `envoi runs`.

use clap::Args;

/// `envoi runs`.
#[derive(Debug, Args)]
pub(crate) struct RunsArgs {
    /// Only unfinished runs
    #[arg(long)]
    pub(crate) unfinished: bool,
    /// Most rows
    #[arg(long, default_value_t = 50)]
    pub(crate) limit: u32,
    /// Follow the unfinished runs, until Ctrl-C: live on a terminal, one line an event elsewhere
    #[arg(short, long, conflicts_with = "limit")]
    pub(crate) follow: bool,
}
