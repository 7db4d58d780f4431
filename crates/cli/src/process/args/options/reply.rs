//! Options of commands that answer a question.

use super::engine::EngineArgs;
use clap::{Args, ValueHint};
use std::path::PathBuf;

/// What every answer may have.
#[derive(Debug, Args)]
pub(crate) struct Reply {
    /// Id of the question, or of a run that asks one, or a unique beginning or end of it [default: the only open one]
    #[arg(value_name = "INT|RUN")]
    pub(crate) question: Option<String>,
    /// A file to attach; may be given up to 20 times
    #[arg(long = "file", short = 'f', value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// Refuse the answer unless this digest, which `envoi show` prints, is still that of what is shown
    #[arg(long, value_name = "DIGEST")]
    pub(crate) seen: Option<String>,
    /// Only record the answer; the run goes on with the next `envoi resume`
    #[arg(long, conflicts_with_all = ["detach", "take_over"])]
    pub(crate) no_resume: bool,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}

/// A form that is filled in.
#[derive(Debug, Args)]
pub(crate) struct Form {
    /// The form as a JSON object, or @FILE
    #[arg(long, value_name = "JSON|@FILE", conflicts_with = "fields")]
    pub(crate) data: Option<String>,
    /// One field of the form; text as it is, other types as JSON or yes and no
    #[arg(long = "field", value_name = "NAME=VALUE")]
    pub(crate) fields: Vec<String>,
}
