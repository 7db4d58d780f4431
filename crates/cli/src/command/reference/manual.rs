//! `envoi manual`: the manual pages of all commands, for `man`.

use crate::process::{args::Cli, failure::Failure};
use clap::CommandFactory as _;
use std::path::Path;

/// Writes `envoi.1` and a page for each command into `folder`.
pub(crate) fn manual(folder: &Path) -> Result<u8, Failure> {
    let failed = |error| Failure::folder(folder, error);
    std::fs::create_dir_all(folder).map_err(failed)?;
    clap_mangen::generate_to(Cli::command(), folder).map_err(failed)?;
    Ok(0)
}
