//! The arguments of `envoi import`.

use clap::{Args, ValueHint};
use std::path::PathBuf;

/// `envoi import`.
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// A file of `envoi export`, or files of the swarm dialect
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// For a file of `envoi export`: the expected head of the chain, noted when the run ended
    #[arg(long, value_name = "DIGEST", conflicts_with_all = ["output", "force", "strict"])]
    pub(crate) head: Option<String>,
    /// For a file of `envoi export`: require a signature by one of the signers in this file (`allowed_signers` of ssh-keygen)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["output", "force", "strict"])]
    pub(crate) signers: Option<PathBuf>,
    /// Write DIR/<flow>.yaml for each file [default: the flow of one file goes to stdout]
    #[arg(long, short, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite files that exist
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    /// What each step runs; {prompt}, {agent} and {step} are filled in, no shell is involved
    #[arg(long, value_name = "COMMAND", default_value = envoi_flow::import::DEFAULT_COMMAND)]
    pub(crate) command: String,
    /// Write nothing, and exit with 6, if anything is not carried
    #[arg(long)]
    pub(crate) strict: bool,
}
