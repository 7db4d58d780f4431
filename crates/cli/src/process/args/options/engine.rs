//! Options of commands that may become the engine of a store.

use clap::Args;

/// Options of the engine.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct EngineArgs {
    /// The most attempts at the same time [default: 2 x cores]
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// Leave the run to an engine in the background and return
    #[arg(long, conflicts_with = "take_over")]
    pub(crate) detach: bool,
    /// Become the engine even though another holds the store; that one can then neither commit nor start anything
    #[arg(long)]
    pub(crate) take_over: bool,
}
