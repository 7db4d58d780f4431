//! Finds the accepted word that is most similar to a refused one.
//!
//! `strsim` counts the same edits, but it needs `std`, which this crate does not use.

use alloc::string::String;
use alloc::vec::Vec;

/// Longest word that is compared, in letters. The limit also bounds the work.
const LONGEST: usize = 64;

/// The candidate that `found` was probably meant to be.
///
/// A candidate is similar if at most a third of the letters of the longer word differ (one may always differ), or,
/// with `within`, if `found` contains it, as `step_routing` contains `routing`. The case of ASCII letters is ignored.
/// If several are equally similar, the first one is returned. `None` for a word of more than 64 letters.
#[must_use]
pub fn nearest<'a>(found: &str, candidates: &[&'a str], within: bool) -> Option<&'a str> {
    let word: Vec<char> = found.to_ascii_lowercase().chars().collect();
    if word.len() > LONGEST {
        return None;
    }
    let text: String = word.iter().collect();
    let near = candidates.iter().filter_map(|candidate| {
        let lower = candidate.to_ascii_lowercase();
        let other: Vec<char> = lower.chars().collect();
        let edits = if within && text.contains(&lower) { 0 } else { distance(&word, &other) };
        let allowed = (word.len().max(other.len()) / 3).max(1);
        (edits <= allowed).then_some((edits, *candidate))
    });
    near.min_by_key(|(edits, _)| *edits).map(|(_, candidate)| candidate)
}

/// The smallest number of insertions, deletions, replacements and swaps of neighbours between two words.
fn distance(from: &[char], to: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=to.len()).collect();
    for (row, letter) in from.iter().enumerate() {
        let mut current = alloc::vec![row + 1];
        for (column, other) in to.iter().enumerate() {
            let at = |line: &[usize], place: usize| line.get(place).copied().unwrap_or(LONGEST);
            let replaced = at(&above, column) + usize::from(letter != other);
            let changed = (at(&current, column) + 1).min(at(&above, column + 1) + 1).min(replaced);
            let is_swap = row.checked_sub(1).and_then(|row| from.get(row)) == Some(other)
                && column.checked_sub(1).and_then(|column| to.get(column)) == Some(letter);
            let swapped = if is_swap { at(&before, column - 1) + 1 } else { changed };
            current.push(changed.min(swapped));
        }
        before = core::mem::replace(&mut above, current);
    }
    above.last().copied().unwrap_or(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_misspelt_member_is_near_the_one_that_was_meant() {
        let members = ["handoff_text", "routing", "loop_target", "success_values"];
        for (found, within, meant) in [
            ("loop_targt", true, Some("loop_target")),
            ("loop_tragte", true, Some("loop_target")),
            ("LoopTarget", true, Some("loop_target")),
            ("step_routing", true, Some("routing")),
            ("step_routing", false, None),
            ("why", true, None),
            ("", true, None),
            ("hanodff_text", false, Some("handoff_text")),
            ("colour", false, None),
        ] {
            assert_eq!(nearest(found, &members, within), meant, "{found}");
        }
    }

    #[test]
    fn distances_count_edits() {
        for (from, to, edits) in
            [("", "", 0), ("", "abc", 3), ("kitten", "sitting", 3), ("ab", "ba", 1), ("abc", "abc", 0)]
        {
            let [from, to] = [from, to].map(|word: &str| word.chars().collect::<alloc::vec::Vec<_>>());
            assert_eq!(super::distance(&from, &to), edits, "{from:?} {to:?}");
        }
    }
}
