//! "Did you mean": finds the accepted word that is most similar.
//!
//! The caller provides the candidates.

/// A help line with the candidate most similar to `found`, if one is similar enough.
pub(crate) fn did_you_mean<'a>(found: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(found, candidates).map(|word| format!("did you mean `{word}`?"))
}

/// The candidate most similar to `found`, if one is similar enough ([`envoi_contract::suggestion::nearest`]).
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
