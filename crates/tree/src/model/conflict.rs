//! A path at which two lists do not become one, and why.

use super::list::Entry;
use core::fmt;

/// A path that both sides changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// Relative to the folder.
    pub path: Vec<u8>,
    /// The reason for the conflict.
    pub why: Why,
}

/// The reason for a conflict at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// Lines, or files as a whole. A preferred side decides it.
    Changed,
    /// A side has a folder there, the other a file or a link. A preferred side decides it, with everything below the path.
    Clash {
        /// Whether the other side has a link.
        with_link: bool,
    },
    /// A folder cannot be listed: nothing decides it.
    Unlisted,
    /// The content is not kept: nothing decides it.
    NotKept,
}

impl Why {
    pub(crate) fn of_left_out(entry: &Entry) -> Self {
        if entry.is_unlisted() { Self::Unlisted } else { Self::NotKept }
    }

    /// Whether a preferred side decides it.
    #[must_use]
    pub fn is_decided_by_a_side(self) -> bool {
        matches!(self, Self::Changed | Self::Clash { .. })
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self.why {
            Why::Changed => "",
            Why::Clash { with_link: false } => " (one side has a folder there, the other a file)",
            Why::Clash { with_link: true } => " (one side has a folder there, the other a link)",
            Why::Unlisted => " (its folder cannot be listed)",
            Why::NotKept => " (its content is not kept)",
        };
        write!(f, "`{}`{why}", String::from_utf8_lossy(&self.path))
    }
}
