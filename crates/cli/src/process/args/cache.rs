//! The commands of `envoi cache`.

use clap::{Args, Subcommand};

/// `envoi cache`.
#[derive(Debug, Subcommand)]
pub(crate) enum CacheCommand {
    /// List the results that later runs may get, the newest first
    #[command(alias = "list")]
    Ls {
        #[command(flatten)]
        of: CachedOf,
        /// Only the newest N [default: 200; with --json all]
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
    },
    /// Remove results: the commands of these steps run again
    Rm {
        /// Their keys, or unique beginnings, as `envoi cache ls` shows them
        #[arg(value_name = "KEY", required_unless_present_any = ["step", "flow", "all"])]
        keys: Vec<String>,
        #[command(flatten)]
        of: CachedOf,
        /// All results of the store
        #[arg(long, conflicts_with_all = ["keys", "step", "flow"])]
        all: bool,
    },
}

/// Which results are meant.
#[derive(Debug, Args)]
pub(crate) struct CachedOf {
    /// Only those of this step
    #[arg(long, value_name = "STEP")]
    pub(crate) step: Option<String>,
    /// Only those of this flow
    #[arg(long, value_name = "FLOW")]
    pub(crate) flow: Option<String>,
}
