//! The commands of `envoi store`.

use clap::Subcommand;

/// See [`Command::Store`].
#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Make an independent store of a copy, so that it can be used beside the original
    Adopt {
        /// Runs that the original began may work in its workspaces outside of the project's folder
        #[arg(long)]
        share_workspaces: bool,
    },
}
