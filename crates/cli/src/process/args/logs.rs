//! The arguments of `envoi logs`.

use clap::Args;

/// `envoi logs`.
#[derive(Debug, Args)]
pub(crate) struct LogsArgs {
    /// Id of the run, or a unique beginning or end of it [default: the newest]
    pub(crate) run: Option<String>,
    /// Only this step, item (`0.test`), step of an inner flow (`build.2.compile`), visit (`test.2`) or attempt
    #[arg(long)]
    pub(crate) step: Option<String>,
    /// Only stderr
    #[arg(long)]
    pub(crate) stderr: bool,
    /// The events of agent programs (`agent` steps) as they wrote them, with secrets masked, in place of the readable log
    #[arg(long, conflicts_with = "stderr")]
    pub(crate) raw: bool,
    /// Print new lines as they come, until nothing of the run is at work
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Only the last N lines
    #[arg(long, value_name = "N", conflicts_with = "follow")]
    pub(crate) limit: Option<usize>,
}
