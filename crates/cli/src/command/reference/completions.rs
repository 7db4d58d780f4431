//! `envoi completions`: prints a completion script for a shell.

use crate::process::{args::Cli, failure::Failure, output};
use clap::CommandFactory as _;

pub(crate) fn completions(shell: clap_complete::Shell) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "envoi", &mut script);
    output::data(&String::from_utf8_lossy(&script)).map(|()| 0)
}
