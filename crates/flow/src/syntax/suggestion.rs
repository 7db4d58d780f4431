//! "Did you mean": the nearest of the words that would have been accepted.
//!
//! Owns the distance and how near is near enough; which words are candidates is the caller's to say.

/// A help line naming the candidate nearest to `found`, if one is near.
pub(crate) fn did_you_mean<'a>(found: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(found, candidates).map(|word| format!("did you mean `{word}`?"))
}

/// The candidate at the smallest distance, if that is at most a third of the longer word (at least one edit).
pub(crate) fn nearest<'a>(found: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let found = found.to_ascii_lowercase();
    candidates
        .into_iter()
        .filter_map(|word| {
            let edits = distance(&found, &word.to_ascii_lowercase());
            let allowed = (found.chars().count().max(word.chars().count()) / 3).max(1);
            (edits <= allowed).then_some((edits, word))
        })
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, word)| word)
}

/// Insertions, deletions, replacements and swaps of neighbours that lead from one word to the other.
fn distance(from: &str, to: &str) -> usize {
    /// Longer words are never near; this also bounds the work.
    const LONGEST: usize = 64;
    let from: Vec<char> = from.chars().collect();
    let to: Vec<char> = to.chars().collect();
    if from.len() > LONGEST || to.len() > LONGEST {
        return usize::MAX;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=to.len()).collect();
    for (row, letter) in from.iter().enumerate() {
        let mut current = vec![row.saturating_add(1)];
        for (column, other) in to.iter().enumerate() {
            let at = |line: &[usize], place: usize| line.get(place).copied().unwrap_or(usize::MAX);
            let replaced = at(&above, column).saturating_add(usize::from(letter != other));
            let inserted = at(&current, column).saturating_add(1);
            let deleted = at(&above, column.saturating_add(1)).saturating_add(1);
            let swapped = match (row.checked_sub(1), column.checked_sub(1)) {
                (Some(r), Some(c)) if from.get(r) == Some(other) && to.get(c) == Some(letter) => {
                    at(&before, c).saturating_add(1)
                }
                _ => usize::MAX,
            };
            current.push(replaced.min(inserted).min(deleted).min(swapped));
        }
        before = std::mem::replace(&mut above, current);
    }
    above.last().copied().unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_mistakes_are_near_and_other_words_are_not() {
        let keys = ["steps", "inputs", "title", "env", "run"];
        for (found, near) in [
            ("stpes", Some("steps")),
            ("input", Some("inputs")),
            ("Title", Some("title")),
            ("evn", Some("env")),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(nearest(found, keys), near, "{found}");
        }
    }

    #[test]
    fn distances_count_edits() {
        for (from, to, edits) in
            [("", "", 0), ("", "abc", 3), ("kitten", "sitting", 3), ("ab", "ba", 1), ("abc", "abc", 0)]
        {
            assert_eq!(distance(from, to), edits, "{from} {to}");
        }
    }
}
