//! A fault of a bundle: a sentence that is safe on a terminal, whatever the archive contains.

/// A fault of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {reason}")]
pub struct Wrong {
    /// The entry, or the part of the archive.
    pub place: String,
    /// The fault in one sentence.
    pub reason: String,
}

pub(crate) fn wrong(place: impl Into<String>, reason: impl Into<String>) -> Wrong {
    Wrong { place: readable(&place.into()), reason: readable(&reason.into()) }
}

/// Maximum length of a place or a reason, in characters.
const MAX_WORDS: usize = 500;

/// Makes a text that may quote the archive safe for a terminal: one line of limited length.
fn readable(text: &str) -> String {
    let escaped = |letter: char| match letter.is_control() {
        true => letter.escape_default().collect(),
        false => letter.to_string(),
    };
    let mut words: String = text.chars().take(MAX_WORDS).map(escaped).collect();
    if text.chars().nth(MAX_WORDS).is_some() {
        words.push('…');
    }
    words
}
