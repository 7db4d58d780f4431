//! Scopes: what a token allows.

use core::fmt;
pub use envoi_api::token::Scope;

/// The scopes of one token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scopes(Vec<Scope>);

impl Scopes {
    /// These scopes and `read`.
    #[must_use]
    pub fn new(scopes: impl IntoIterator<Item = Scope>) -> Self {
        let mut all: Vec<Scope> = scopes.into_iter().chain([Scope::Read]).collect();
        all.sort_unstable();
        all.dedup();
        Self(all)
    }

    /// Parses the stored form: words separated by spaces. An unknown word allows nothing.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        Self::new(text.split_whitespace().filter_map(Scope::of))
    }

    /// All scopes, the smallest first.
    pub fn each(&self) -> impl Iterator<Item = Scope> {
        self.0.iter().copied()
    }

    /// The scopes that `other` allows too.
    #[must_use]
    pub fn within(&self, other: &Self) -> Self {
        match (self.0.contains(&Scope::Admin), other.0.contains(&Scope::Admin)) {
            (true, _) => other.clone(),
            (_, true) => self.clone(),
            _ => Self::new(self.each().filter(|scope| other.0.contains(scope))),
        }
    }

    /// Whether these scopes include one of `wanted`.
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
        for scope in Scope::ALL.iter().copied() {
            let scopes = Scopes::new([scope]);
            assert_eq!(Scopes::parse(&scopes.to_string()), scopes);
            for wanted in Scope::ALL.iter().copied() {
                let allowed = wanted == Scope::Read || wanted == scope || scope == Scope::Admin;
                assert_eq!(scopes.allow(&[wanted]), allowed, "{scope} for {wanted}");
            }
        }
        assert!(Scopes::new([Scope::Run]).allow(&[Scope::Answer, Scope::Run]));
        assert!(!Scopes::parse("root ADMIN").allow(&[Scope::Admin]));
    }
}
