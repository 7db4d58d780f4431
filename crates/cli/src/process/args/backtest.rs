//! The arguments of `envoi backtest`.

use clap::{Args, ValueHint};
use std::path::PathBuf;

/// `envoi backtest`.
#[derive(Debug, Args)]
pub(crate) struct BacktestArgs {
    /// The changed flow file
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) flow: PathBuf,
    /// Look at these runs: ids, or a unique beginning or end of each [default: the newest runs of the flow of this id]
    #[arg(long, num_args = 1.., value_name = "RUN")]
    pub(crate) runs: Vec<String>,
    /// Only so many of the newest runs [default: 20]
    #[arg(long, value_name = "N", conflicts_with = "runs")]
    pub(crate) limit: Option<usize>,
}
