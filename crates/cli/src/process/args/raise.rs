//! The arguments of `envoi raise`.

use super::options::EngineArgs;
use clap::Args;

/// `envoi raise`.
#[derive(Debug, Args)]
pub(crate) struct RaiseArgs {
    /// Id of the run, or a unique beginning or end of it [default: the only unfinished one, or the newest if a limit ended it]
    pub(crate) run: Option<String>,
    /// More attempts
    #[arg(long, value_name = "N")]
    pub(crate) agent_hops: Option<u64>,
    /// More loop-backs
    #[arg(long, value_name = "N")]
    pub(crate) iterations: Option<u64>,
    /// More rounds, of a run with goals
    #[arg(long, value_name = "N")]
    pub(crate) rounds: Option<u64>,
    /// More model calls
    #[arg(long, value_name = "N")]
    pub(crate) llm_calls: Option<u64>,
    /// More working time, such as 10m
    #[arg(long, value_name = "DURATION")]
    pub(crate) wall_time: Option<String>,
    /// More waiting for closed accounts, such as 2h
    #[arg(long, value_name = "DURATION")]
    pub(crate) waiting: Option<String>,
    /// More dollars, such as 2.50
    #[arg(long, value_name = "DOLLARS")]
    pub(crate) cost_usd: Option<String>,
    /// Why the limits are raised
    #[arg(long, alias = "why", value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}
