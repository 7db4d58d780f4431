//! The arguments of `envoi init`.

use clap::{Args, ValueEnum, ValueHint};
use std::path::PathBuf;

/// `envoi init`.
#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// The folder
    #[arg(default_value = ".", value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
    /// What to start from
    #[arg(long, value_enum, value_name = "NAME", default_value = "hello")]
    pub(crate) template: Template,
    /// List the templates, and write nothing
    #[arg(long, conflicts_with = "template")]
    pub(crate) list: bool,
}

/// What a flow file is to begin with. Each runs as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Template {
    /// Three commands and a small loop
    Hello,
    /// A coding agent works until a check passes
    AgentLoop,
    /// A person reviews a draft before it is published
    Review,
    /// Parts are worked on at the same time, then gathered
    FanOut,
    /// A job that runs each night; prints the line for the crontab
    Nightly,
    /// A version is tested, built, approved and published
    Release,
}
