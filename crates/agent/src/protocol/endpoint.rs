//! The address of an agent, and how it is to be called.

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

/// A version of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Version {
    #[serde(rename = "1.0")]
    V1,
    #[serde(rename = "0.3")]
    V03,
}

impl Version {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::V1 => "1.0",
            Self::V03 => "0.3",
        }
    }
}
