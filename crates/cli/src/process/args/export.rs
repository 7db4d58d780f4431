//! The arguments of `envoi export`.

use clap::{Args, ValueHint};
use std::path::PathBuf;

/// `envoi export`.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Id of the run, or a unique beginning or end of it [default: the newest]
    pub(crate) run: Option<String>,
    /// A new file; `-` for standard output [default: RUN.envoi.tar.zst]
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// Leave the snapshots of the workspace out
    #[arg(long)]
    pub(crate) without_files: bool,
    /// Sign it with this key of SSH
    #[arg(long, value_name = "KEY", value_hint = ValueHint::FilePath)]
    pub(crate) sign: Option<PathBuf>,
}
