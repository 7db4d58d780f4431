//! The arguments of `envoi restore`.

use clap::{Args, ValueHint};
use std::path::PathBuf;

/// `envoi restore`.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("where").required(true).args(["into", "here", "undo"]))]
pub(crate) struct RestoreArgs {
    /// Id of the run, or a unique beginning or end of it [default: the newest]
    pub(crate) run: Option<String>,
    /// Only these files, or what is below these folders, relative to the workspace
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath, conflicts_with = "undo")]
    pub(crate) paths: Vec<PathBuf>,
    /// The state: `start`, `end`, a step or visit for the state after it, `before:fix.2` for the state before it
    #[arg(long, value_name = "STATE", required_unless_present = "undo", conflicts_with = "undo")]
    pub(crate) at: Option<String>,
    /// A new or empty folder; the workspace is not touched
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) into: Option<PathBuf>,
    /// Set the workspace itself back
    #[arg(long)]
    pub(crate) here: bool,
    /// Bring back what stood in the workspace before the last restore
    #[arg(long)]
    pub(crate) undo: bool,
    /// Why the files are set back
    #[arg(long, alias = "why", value_name = "TEXT", conflicts_with = "into")]
    pub(crate) reason: Option<String>,
}
