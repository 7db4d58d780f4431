//! The differences between two lists.

use super::list::{Entry, Tree};

/// A path at which two lists differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Difference<'t> {
    /// The entry in the first list.
    pub before: Option<&'t Entry>,
    /// The entry in the second list.
    pub after: Option<&'t Entry>,
}

impl<'t> Difference<'t> {
    /// The path.
    #[must_use]
    pub fn path(&self) -> &'t [u8] {
        self.after.or(self.before).map_or(&[], |entry| entry.path.as_slice())
    }
}

/// Every path at which `after` differs from `before`, sorted. A path below a folder that one of them could not list is none of them: its
/// contents are not known.
#[must_use]
pub fn differences<'t>(before: &'t Tree, after: &'t Tree) -> Vec<Difference<'t>> {
    let mut old = before.entries().iter().peekable();
    let mut new = after.entries().iter().peekable();
    let mut found = Vec::new();
    loop {
        let difference = match (old.peek(), new.peek()) {
            (None, None) => return found,
            (Some(one), Some(other)) if one.path == other.path => {
                Difference { before: old.next(), after: new.next() }
            }
            (Some(one), Some(other)) if one.path > other.path => {
                Difference { before: None, after: new.next() }
            }
            (None, Some(_)) => Difference { before: None, after: new.next() },
            (Some(_), _) => Difference { before: old.next(), after: None },
        };
        let is_hidden = || before.hides(difference.path()) || after.hides(difference.path());
        if difference.before != difference.after && !is_hidden() {
            found.push(difference);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::list::What;
    use envoi_contract::digest::Digest;

    fn tree(files: &[(&str, &str)]) -> Tree {
        let entry = |(path, content): &(&str, &str)| Entry {
            path: (*path).into(),
            mode: 0o644,
            what: What::File { digest: Digest::of(content.as_bytes()), size: content.len() as u64 },
        };
        Tree::new(files.iter().map(entry).collect()).unwrap()
    }

    #[test]
    fn each_path_that_differs_is_found_once() {
        let before = tree(&[("a", "1"), ("b", "2"), ("c/d", "3"), ("x", "4")]);
        let after = tree(&[("a", "1"), ("b", "other"), ("c", "3"), ("y", "5")]);
        let all = differences(&before, &after);
        let shown: Vec<_> = all
            .iter()
            .map(|it| (core::str::from_utf8(it.path()).unwrap(), it.before.is_some(), it.after.is_some()))
            .collect();
        let expected = [
            ("b", true, true),
            ("c", false, true),
            ("c/d", true, false),
            ("x", true, false),
            ("y", false, true),
        ];
        assert_eq!(shown, expected);
        assert!(differences(&before, &before).is_empty());
        assert_eq!(differences(&Tree::default(), &before).len(), 4);
    }
}
