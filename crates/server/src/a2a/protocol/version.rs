//! The versions of A2A that are served.

use std::fmt;

/// A version that is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    /// 0.3: JSON-RPC alone.
    V03,
    /// 1.0.
    V10,
}

impl Version {
    /// Its number, as clients and cards write it.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::V03 => "0.3",
            Self::V10 => "1.0",
        }
    }

    pub(crate) const fn other(self) -> Self {
        match self {
            Self::V03 => Self::V10,
            Self::V10 => Self::V03,
        }
    }

    /// Whether `asked` names this version. A third number is ignored.
    pub(crate) fn is(self, asked: &str) -> bool {
        match asked.strip_prefix(self.word()) {
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
