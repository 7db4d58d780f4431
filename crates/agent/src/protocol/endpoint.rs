//! The address of an agent, and how to call it.

use envoi_a2a::version::Version;
use serde::{Deserialize, Serialize};

/// The interface of an agent that an attempt uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Endpoint {
    pub(crate) url: String,
    pub(crate) version: Version,
    pub(crate) tenant: Option<String>,
    /// True if the agent accepts a user envelope (contract 5).
    pub(crate) envelope: bool,
    /// True if the agent handles a message once, even if it arrives several times.
    #[serde(default)]
    pub(crate) once: bool,
}
