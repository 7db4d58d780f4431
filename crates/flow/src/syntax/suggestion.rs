//! "Did you mean": the nearest of the words that would have been accepted.
//!
//! Which words are candidates is the caller's to say.

/// A help line naming the candidate nearest to `found`, if one is near.
pub(crate) fn did_you_mean<'a>(found: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(found, candidates).map(|word| format!("did you mean `{word}`?"))
}

/// The candidate nearest to `found`, if one is near ([`envoi_contract::suggestion::nearest`]).
pub(crate) fn nearest<'a>(found: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let candidates: Vec<&str> = candidates.into_iter().collect();
    envoi_contract::suggestion::nearest(found, &candidates, false)
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
}
