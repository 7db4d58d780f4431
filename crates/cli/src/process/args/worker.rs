//! The arguments of `envoi worker`.

use clap::{Args, ValueHint};
use std::path::PathBuf;

/// `envoi worker`.
#[derive(Debug, Args)]
pub(crate) struct WorkerArgs {
    /// The file of the cluster, the same as that of `envoi serve --cluster`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) cluster: PathBuf,
    /// Its name: letters, digits, `-` and `.` [default: that of its folder, else a new one]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The most attempts at the same time [default: 2 x cores]
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<u32>,
}
