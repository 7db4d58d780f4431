//! The commands of `envoi artifacts`.

use clap::{Subcommand, ValueHint};
use std::path::PathBuf;

/// `envoi artifacts`.
#[derive(Debug, Subcommand)]
pub(crate) enum ArtifactsCommand {
    /// List the artifacts of a run
    List {
        /// Id of the run, or a unique beginning or end of it [default: the newest]
        run: Option<String>,
        /// Every version [default: the newest of each]
        #[arg(long)]
        all: bool,
        /// Only the first N, in the order of their paths [default: 200; with --json all]
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
    },
    /// Write an artifact into a new file
    Get {
        /// Id of the run, or a unique beginning or end of it
        run: String,
        /// The artifact: its path for the newest version, `PATH@STEP.N` for that of a visit
        #[arg(value_name = "PATH[@STEP.N]")]
        path: String,
        /// The new file, or a folder for it [default: its name, here]
        #[arg(long, short, value_name = "FILE", value_hint = ValueHint::AnyPath)]
        output: Option<PathBuf>,
    },
    /// Print an artifact
    Cat {
        /// Id of the run, or a unique beginning or end of it
        run: String,
        /// The artifact: its path for the newest version, `PATH@STEP.N` for that of a visit
        #[arg(value_name = "PATH[@STEP.N]")]
        path: String,
    },
    /// Show what differs between two versions of an artifact
    Diff {
        /// Id of the run, or a unique beginning or end of it
        run: String,
        /// The artifact
        path: String,
        /// Two visits that changed it [default: from before the run to the newest]
        #[arg(value_name = "A..B")]
        range: Option<String>,
    },
}
