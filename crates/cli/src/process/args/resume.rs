//! The arguments of `envoi resume`.

use super::options::{EngineArgs, Files};
use clap::{Args, ValueEnum, ValueHint};
use std::path::PathBuf;

/// `envoi resume`.
#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// Id of the run, or a unique beginning or end of it [default: the only unfinished run; of several, the one that no process
    /// works on; at a terminal or with --flow also the newest run, if it did not succeed]
    pub(crate) run: Option<String>,
    /// What to do about an attempt in doubt
    #[arg(long, value_enum, conflicts_with = "review")]
    pub(crate) in_doubt: Option<InDoubt>,
    /// The files of the workspace, with `--in-doubt rerun`: as they are now, or first set back to what they were when that attempt
    /// began. The run needs `--keep-files` for that
    #[arg(long, value_enum, default_value = "now", requires = "in_doubt")]
    pub(crate) files: Files,
    /// What to do where a review is needed
    #[arg(long, value_enum)]
    pub(crate) review: Option<Review>,
    /// Go on under this corrected flow file: what is finished stays, the rest is done as the file says
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["in_doubt", "review"])]
    pub(crate) flow: Option<PathBuf>,
    /// Run from this step on again, finished steps too (with --flow)
    #[arg(long, value_name = "STEP")]
    pub(crate) from: Option<String>,
    /// Try steps whose account is closed by a limit now, before its reset; also of a run that failed at it
    #[arg(long, conflicts_with_all = ["in_doubt", "review", "flow"])]
    pub(crate) now: bool,
    /// Do not ask before the corrected flow takes over
    #[arg(long, requires = "flow")]
    pub(crate) yes: bool,
    /// Why a run that is over is reopened, or its flow corrected
    #[arg(long, alias = "why", value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}

/// See [`ResumeArgs`].
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum InDoubt {
    /// A new attempt of the same visit
    Rerun,
    /// The visit has failed
    Fail,
}

/// See [`ResumeArgs`].
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Review {
    /// Go on
    Proceed,
    /// Another round of the loop
    Again,
    /// Items in conflict: the lines in conflict stay as they are in the tree of the run
    Ours,
    /// Items in conflict: for the lines in conflict, what the items have
    Theirs,
    /// The run fails
    Stop,
}
