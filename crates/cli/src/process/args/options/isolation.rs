//! Options of `run` and `fork` for a tree of its own.

use clap::{Args, ValueHint};
use std::path::PathBuf;

/// A tree of its own.
#[derive(Debug, Args)]
pub(crate) struct IsolationArgs {
    /// Work in a tree of its own, outside the workspace: in git a worktree with the branch `envoi/RUN`, elsewhere a folder. Keeps files
    #[arg(long, help_heading = "A tree of its own")]
    pub(crate) isolate: bool,
    /// Begin with the commit that is checked out, without what was changed since
    #[arg(long, help_heading = "A tree of its own")]
    pub(crate) from_head: bool,
    /// Copy this ignored file or folder of the workspace too; may be given several times. `.worktreeinclude` is honoured
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath, help_heading = "A tree of its own")]
    pub(crate) bring: Vec<PathBuf>,
    /// Where trees lie [default: envoi/trees in $XDG_STATE_HOME or ~/.local/state]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "A tree of its own")]
    pub(crate) trees: Option<PathBuf>,
}
