//! The settings of notices: recipients, egress and times. The composition root sets them.

use envoi_kernel::{event::InterruptRaised, ids::RunId, notify::Target};

/// What the composition root decides about telling others.
#[derive(Debug, Clone)]
pub struct Notices {
    /// The configuration's targets, which get notices of every run.
    pub targets: Vec<Target>,
    /// Variables that no expression may read, because their values are stored nowhere: those of the keys of models.
    pub keys: Vec<String>,
    /// What commands may see of the engine's own environment: those of runs whose caller it does not know.
    pub env: Vec<(String, String)>,
    /// A variable of the engine's own environment, for tokens.
    pub variable: fn(&str) -> Option<String>,
    /// How a person answers this question, as one command.
    pub how_to_answer: fn(&RunId, &InterruptRaised) -> String,
    /// Where the web page is found, such as `https://envoi.example`: a notice leads to its question, or to its run. `None`: it is not configured.
    pub page: Option<String>,
}
