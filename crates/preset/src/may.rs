//! The permission levels of an agent.

/// The permission level of an agent: what it may do without asking. The program's own permission system enforces it.
/// It is not a sandbox.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum May {
    /// Read files.
    Read,
    /// Read and change files.
    #[default]
    Edit,
    /// Read and change files, and run commands.
    Run,
}

impl May {
    /// All levels.
    pub const ALL: [Self; 3] = [Self::Read, Self::Edit, Self::Run];

    /// The word in a flow file.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Edit => "edit",
            Self::Run => "run",
        }
    }

    /// The level for this word.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|may| may.word() == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_may_is_read_as_it_is_written() {
        for may in May::ALL {
            assert_eq!(May::of(may.word()), Some(may));
        }
        assert_eq!(May::of("all"), None);
    }
}
