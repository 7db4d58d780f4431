//! The feedback of a critic, or of a person who sent a run back, as it is added to a prompt.

/// Largest feedback in a prompt. Only the end of a longer one is used.
pub const MAX_FEEDBACK_BYTES: usize = 64 * 1024;

/// The end of the feedback, without white space around it; empty if there is no text.
///
/// ```
/// assert_eq!(envoi_preset::end_of_feedback(" too short\n"), "too short");
/// ```
#[must_use]
pub fn end_of_feedback(feedback: &str) -> &str {
    let feedback = feedback.trim();
    let from = feedback.len().saturating_sub(MAX_FEEDBACK_BYTES);
    let from = (from..=feedback.len()).find(|at| feedback.is_char_boundary(*at)).unwrap_or(0);
    feedback.get(from..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_long_text_begins_with_a_whole_letter() {
        let long = format!("x{}", "ü".repeat(MAX_FEEDBACK_BYTES));
        let end = end_of_feedback(&long);
        assert_eq!((end.len(), end.starts_with('ü')), (MAX_FEEDBACK_BYTES, true));
        let odd = format!("{}x", "ü".repeat(MAX_FEEDBACK_BYTES));
        assert_eq!(end_of_feedback(&odd).len(), MAX_FEEDBACK_BYTES - 1, "half a letter is left out");
    }
}
