//! The supported versions of A2A.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A version of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Version {
    /// 0.3, only over JSON-RPC.
    #[serde(rename = "0.3")]
    V03,
    /// 1.0.
    #[serde(rename = "1.0")]
    V10,
}

impl Version {
    /// The version number, as clients and cards write it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::V03 => "0.3",
            Self::V10 => "1.0",
        }
    }

    /// The other version.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::V03 => Self::V10,
            Self::V10 => Self::V03,
        }
    }

    /// The version of a card's interface, by its major number. Versions with the same major number are compatible.
    #[must_use]
    pub fn by_major_number(text: &str) -> Option<Self> {
        match text.split('.').next()? {
            "1" => Some(Self::V10),
            "0" => Some(Self::V03),
            _ => None,
        }
    }

    /// True if the text names this version. A patch number is ignored.
    pub fn is(self, version: &str) -> bool {
        match version.strip_prefix(self.word()) {
            Some("") => true,
            Some(rest) => rest
                .strip_prefix('.')
                .is_some_and(|patch| !patch.is_empty() && patch.bytes().all(|byte| byte.is_ascii_digit())),
            None => false,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "A2A {}", self.word())
    }
}
