//! The arguments of `envoi fork`.

use super::options::{EngineArgs, Files, IsolationArgs};
use clap::{Args, ValueHint};
use std::path::PathBuf;

/// `envoi fork`.
#[derive(Debug, Args)]
pub(crate) struct ForkArgs {
    /// Id of the run, or a unique beginning or end of it [default: the newest, if it is over]
    pub(crate) run: Option<String>,
    /// Where the new run begins: a step of the run's own flow, as it was entered last [default: the step that stopped it]
    #[arg(long, value_name = "STEP")]
    pub(crate) from: Option<String>,
    /// Go on from there under this corrected flow file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) flow: Option<PathBuf>,
    /// Why the run is forked
    #[arg(long, alias = "why", value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Run although another run has a live attempt in the workspace
    #[arg(long, conflicts_with_all = ["copy", "isolate"])]
    pub(crate) share_workspace: bool,
    /// Run in a copy of the workspace, in the new run's own folder
    #[arg(long, conflicts_with = "isolate")]
    pub(crate) copy: bool,
    #[command(flatten)]
    pub(crate) isolation: IsolationArgs,
    /// The files of the workspace: as they are now, or first set back to what they were when the step was entered. The source run
    /// needs `--keep-files` for that
    #[arg(long, value_enum, default_value = "now")]
    pub(crate) files: Files,
    /// Approve this step's questions as soon as the run asks them; the record says so
    #[arg(long, value_name = "STEP")]
    pub(crate) yes_to: Vec<String>,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}
