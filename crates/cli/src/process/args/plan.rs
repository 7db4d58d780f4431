//! The arguments of `envoi plan`.

use super::options::{PartArgs, dollars, duration};
use clap::{Args, ValueHint};
use envoi_kernel::ledger::Cost;
use std::path::PathBuf;

/// `envoi plan`.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// The flow file
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) flow: PathBuf,
    #[command(flatten)]
    pub(crate) part: PartArgs,
    /// Exit 4 if a run could make more attempts than this
    #[arg(long, value_name = "N")]
    pub(crate) max_attempts: Option<u64>,
    /// Exit 4 if a run could cost more dollars than this, as far as its steps report it, or its cost is not bounded
    #[arg(long, value_name = "DOLLARS", value_parser = dollars)]
    pub(crate) max_cost: Option<Cost>,
    /// Exit 4 if attempts could be live for longer than this, or their time is not bounded
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) max_time: Option<u64>,
    /// Exit 4 if a run could make more model calls than this, as far as its steps report it, or they are not bounded
    #[arg(long, value_name = "N")]
    pub(crate) max_calls: Option<u64>,
    /// Show what differs from the worst case of another flow file
    #[arg(long, value_name = "FLOW", value_hint = ValueHint::FilePath)]
    pub(crate) compare: Option<PathBuf>,
}
