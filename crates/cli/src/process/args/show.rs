//! The arguments of `envoi show`.

use clap::Args;

/// `envoi show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Id of the run or the question, or a unique beginning or end of it [default: the newest run]
    #[arg(value_name = "RUN|INT")]
    pub(crate) run: Option<String>,
    /// The pipeline envelope (contract 3) as JSON
    #[arg(long, conflicts_with = "events")]
    pub(crate) envelope: bool,
    /// Every event, one JSON a line
    #[arg(long)]
    pub(crate) events: bool,
    /// The hand-off of a step's last visit as JSON: a step, an item (`0.test`), a step of an inner flow
    /// (`build.2.compile`), a visit (`test.2`)
    #[arg(long, value_name = "STEP", conflicts_with_all = ["envelope", "events"])]
    pub(crate) handoff: Option<String>,
    /// Only the newest N visits, or events with --events; 0 is all [default: 200 visits, all events]
    #[arg(long, value_name = "N", conflicts_with_all = ["envelope", "handoff"])]
    pub(crate) limit: Option<usize>,
}
