//! The settings of notices: recipients, egress and times. The composition root sets them.

use envoi_kernel::{event::InterruptRaised, ids::RunId, notify::Target};

/// The settings of notices.
#[derive(Debug, Clone)]
pub struct Notices {
    /// The configuration's targets, which get notices of every run.
    pub targets: Vec<Target>,
    /// Variables that no expression may read, because their values must not be stored: the keys of models.
    pub keys: Vec<String>,
    /// Variables of the engine's own environment that commands may see. Used for runs whose client is unknown
    /// to the engine.
    pub env: Vec<(String, String)>,
    /// A variable of the engine's own environment, for tokens.
    pub variable: fn(&str) -> Option<String>,
    /// Returns the command with which a person answers this question.
    pub how_to_answer: fn(&RunId, &InterruptRaised) -> String,
    /// The address of the web page, such as `https://envoi.example`: a notice links to its question, or to
    /// its run. `None`: not configured.
    pub page: Option<String>,
}
