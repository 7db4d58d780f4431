//! The arguments of `envoi why`.

use clap::Args;

/// `envoi why`.
#[derive(Debug, Args)]
pub(crate) struct WhyArgs {
    /// Id of the run, or a unique beginning or end of it [default: the newest]
    pub(crate) run: Option<String>,
    /// Only this step, item (`0.test`), step of an inner flow (`build.2.compile`), visit (`test.2`) or attempt
    #[arg(long)]
    pub(crate) step: Option<String>,
    /// Only the newest N decisions, 0 for all [default: 200; with `--json` all]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Also the rule of each decision, and the rules that did not apply
    #[arg(long)]
    pub(crate) all: bool,
}
