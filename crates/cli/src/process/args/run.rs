//! The arguments of `envoi run`.

use super::options::{EngineArgs, IsolationArgs, PartArgs};
use clap::{Args, ValueHint};
use std::path::PathBuf;

/// `envoi run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The flow file; at a server also a flow that is registered there, by its id or digest
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) flow: PathBuf,
    /// An input: text for inputs of type string, for others JSON, or a text that is not meant as JSON
    #[arg(long = "input", short = 'i', value_name = "NAME=VALUE")]
    pub(crate) inputs: Vec<String>,
    /// Inputs as a JSON object in a file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) inputs_file: Option<PathBuf>,
    /// Run although another run has a live attempt in the workspace
    #[arg(long, conflicts_with_all = ["copy", "isolate"])]
    pub(crate) share_workspace: bool,
    /// Run in a copy of the workspace, in the run's own folder
    #[arg(long, conflicts_with = "isolate")]
    pub(crate) copy: bool,
    #[command(flatten)]
    pub(crate) isolation: IsolationArgs,
    /// Keep the files of the workspace as they are before and after each attempt: for `envoi diff`
    #[arg(long)]
    pub(crate) keep_files: bool,
    /// Start every command, also of steps with `cache`; what they leave is kept for later runs
    #[arg(long)]
    pub(crate) no_cache: bool,
    /// Show the run on a web page too, at a port of 127.0.0.1, and print a link that signs you in; the page stays until Ctrl-C
    #[arg(long, conflicts_with = "detach")]
    pub(crate) web: bool,
    /// Approve this step's questions as soon as the run asks them; the record says so
    #[arg(long, value_name = "STEP")]
    pub(crate) yes_to: Vec<String>,
    #[command(flatten)]
    pub(crate) part: PartArgs,
    /// Take the hand-offs of steps that are left out from this run: its id, or a unique beginning or end of it
    #[arg(long, value_name = "RUN", requires = "part", help_heading = "A part of the flow")]
    pub(crate) with: Option<String>,
    /// The user on whose behalf the run is started, as its envelope names them [default: your login name]
    #[arg(long, value_name = "USER")]
    pub(crate) user: Option<String>,
    /// The conversation that the run belongs to, as its envelope names it [default: the run's id]
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// A text for the metadata of the run's envelope; may be given several times
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) metadata: Vec<String>,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}
