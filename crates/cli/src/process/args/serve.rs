//! The arguments of `envoi serve`.

use clap::{Args, ValueEnum, ValueHint};
use std::{net::SocketAddr, path::PathBuf};

/// `envoi serve`.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Where to listen [default: the configuration's, else 127.0.0.1:7007]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    /// The most attempts at the same time [default: 2 x cores]
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// Become the engine even though another holds the store; that one can then neither commit nor start anything
    #[arg(long)]
    pub(crate) take_over: bool,
    /// Show and control the runs of a cluster, whose node of Restate this file names; workers run their steps
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["jobs", "take_over"])]
    pub(crate) cluster: Option<PathBuf>,
    /// Log what happens to stderr: error, warn, info, debug, trace or off, or TARGET=LEVEL, with commas between several
    /// [default: $ENVOI_LOG, else off]
    #[arg(long, value_name = "LEVEL")]
    pub(crate) log: Option<String>,
    /// The form of the log's lines
    #[arg(long, value_name = "FORM", value_enum, default_value_t)]
    pub(crate) log_format: LogFormat,
}

/// The form of the lines of the log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people
    #[default]
    Text,
    /// One object a line
    Json,
}
