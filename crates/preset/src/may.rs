//! What an agent does without asking.

/// What the agent does without asking: the program's own permission system. It is no sandbox.
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
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Read, Self::Edit, Self::Run];

    /// The word for it in a flow file.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Edit => "edit",
            Self::Run => "run",
        }
    }

    /// What this word means.
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
