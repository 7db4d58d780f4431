//! The arguments of `envoi gc`.

use clap::Args;

/// `envoi gc`.
#[derive(Debug, Args)]
pub(crate) struct GcArgs {
    /// List what would be removed, and remove nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Remove the tree of this run whatever is in it; may be given more than once
    #[arg(long, value_name = "RUN")]
    pub(crate) drop: Vec<String>,
}
