//! Where a bundle differs from what it should be, and how: a sentence that is safe on a terminal, whatever the archive has.

/// Where a bundle differs from what it should be, and how.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {reason}")]
pub struct Wrong {
    /// The entry, or what of the archive.
    pub place: String,
    /// In a sentence.
    pub reason: String,
}

pub(crate) fn wrong(place: impl Into<String>, reason: impl Into<String>) -> Wrong {
    Wrong { place: readable(&place.into()), reason: readable(&reason.into()) }
}

/// The most characters of a place or a reason.
const MAX_WORDS: usize = 500;

/// What may quote the archive, for a terminal: one line, and not a long one.
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
