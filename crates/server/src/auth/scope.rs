//! Scopes: what a token allows.

use core::fmt;

/// One scope. Every token may read; `admin` includes all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// See runs, questions, artifacts, figures.
    Read,
    /// Answer questions.
    Answer,
    /// Start, resume and cancel runs.
    Run,
    /// Register flows, and so decide which commands run.
    Admin,
}

impl Scope {
    /// All of them, the smallest first.
    pub const ALL: [Self; 4] = [Self::Read, Self::Answer, Self::Run, Self::Admin];

    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Answer => "answer",
            Self::Run => "run",
            Self::Admin => "admin",
        }
    }

    /// The scope that a word stands for.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.word() == word)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// The scopes of one token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scopes(Vec<Scope>);

impl Scopes {
    /// These, and `read`.
    #[must_use]
    pub fn new(scopes: impl IntoIterator<Item = Scope>) -> Self {
        let mut all: Vec<Scope> = scopes.into_iter().chain([Scope::Read]).collect();
        all.sort_unstable();
        all.dedup();
        Self(all)
    }

    /// As they are stored: words with a space between them. An unknown word allows nothing.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        Self::new(text.split_whitespace().filter_map(Scope::parse))
    }

    /// Each of them, the smallest first.
    pub fn each(&self) -> impl Iterator<Item = Scope> {
        self.0.iter().copied()
    }

    /// Whether one of `wanted` is among them.
    #[must_use]
    pub fn allow(&self, wanted: &[Scope]) -> bool {
        self.0.contains(&Scope::Admin) || self.0.iter().any(|scope| wanted.contains(scope))
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<&str> = self.0.iter().map(|scope| scope.word()).collect();
        f.write_str(&words.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_may_read_and_only_admin_may_do_everything() {
        for scope in Scope::ALL {
            let scopes = Scopes::new([scope]);
            assert_eq!(Scopes::parse(&scopes.to_string()), scopes);
            for wanted in Scope::ALL {
                let allowed = wanted == Scope::Read || wanted == scope || scope == Scope::Admin;
                assert_eq!(scopes.allow(&[wanted]), allowed, "{scope} for {wanted}");
            }
        }
        assert!(Scopes::new([Scope::Run]).allow(&[Scope::Answer, Scope::Run]));
        assert!(!Scopes::parse("root ADMIN").allow(&[Scope::Admin]));
    }
}
