//! The arguments of `envoi diff`.

use clap::Args;

/// `envoi diff`.
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// Id of the run, or a unique beginning or end of it [default: the newest]
    pub(crate) run: Option<String>,
    /// Two states, or one visit for what it changed: `start`, `end`, `now`, a step or visit for the state after it, `before:fix.2`
    /// for the state before it [default: start..end]
    #[arg(value_name = "A..B|STEP")]
    pub(crate) range: Option<String>,
    /// Only this file, or what is below this folder
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<String>,
    /// One line for each file, with the step that changed it, in place of the lines that differ
    #[arg(long)]
    pub(crate) stat: bool,
}
