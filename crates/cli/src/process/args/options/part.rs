//! Options of `run` and `plan` that choose a part of a flow.

use clap::Args;

/// Which steps of a flow are run.
#[derive(Debug, Default, Args)]
#[group(id = "part", multiple = true)]
pub(crate) struct PartArgs {
    /// Run only this step; may be given several times
    #[arg(
        long,
        value_name = "STEP",
        conflicts_with_all = ["from", "until", "skip"],
        help_heading = "A part of the flow"
    )]
    pub(crate) only: Vec<String>,
    /// Run this step and what follows it: all later ones, or in a graph those that need it
    #[arg(long, value_name = "STEP", help_heading = "A part of the flow")]
    pub(crate) from: Option<String>,
    /// Run this step and what comes before it: all earlier ones, or in a graph those that it needs
    #[arg(long, value_name = "STEP", help_heading = "A part of the flow")]
    pub(crate) until: Option<String>,
    /// Leave this step out; may be given several times
    #[arg(long, value_name = "STEP", help_heading = "A part of the flow")]
    pub(crate) skip: Vec<String>,
}
