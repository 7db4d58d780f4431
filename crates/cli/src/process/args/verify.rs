//! The arguments of `envoi verify`.

use clap::{Args, ValueHint};
use std::path::PathBuf;

/// `envoi verify`.
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// The file
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// The expected head of the chain, noted when the run ended
    #[arg(long, value_name = "DIGEST")]
    pub(crate) head: Option<String>,
    /// Require a signature by one of the signers in this file (`allowed_signers` of ssh-keygen)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) signers: Option<PathBuf>,
}
