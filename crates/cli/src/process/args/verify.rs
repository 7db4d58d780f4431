//! The arguments of `envoi verify`.

use clap::{Args, ValueHint};
use std::path::PathBuf;

/// `envoi verify`.
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// The file
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// The head that it must have, as it was known when the run ended
    #[arg(long, value_name = "DIGEST")]
    pub(crate) head: Option<String>,
    /// It must be signed by one of those whom this file names (`allowed_signers` of ssh-keygen)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) signers: Option<PathBuf>,
}
