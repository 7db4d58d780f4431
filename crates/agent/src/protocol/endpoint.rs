//! The address of an agent, and how it is to be called.

use envoi_a2a::version::Version;
use serde::{Deserialize, Serialize};

/// The interface of an agent that an attempt uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Endpoint {
    pub(crate) url: String,
    pub(crate) version: Version,
    pub(crate) tenant: Option<String>,
    /// Whether the agent takes a user envelope (contract 5).
    pub(crate) envelope: bool,
    /// Whether the agent handles a message once, even if the message arrives several times.
    #[serde(default)]
    pub(crate) once: bool,
}
