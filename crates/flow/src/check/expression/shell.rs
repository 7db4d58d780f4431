//! Finds expressions inside single quotes of a shell script.
//!
//! Implements only as much of the shell's quoting as this needs. In scripts with here-documents it is not reliable,
//! so it finds none there.

use crate::check::quotes::{Quotes, State};
use envoi_kernel::expression::{Segment, segments};
use std::ops::Range;

/// The ranges of `${{ … }}` inside single quotes.
pub(super) fn quoted_expressions(script: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    if script.contains("<<") {
        return found;
    }
    let mut quotes = Quotes::default();
    let mut at = 0_usize;
    for segment in segments(script) {
        match segment {
            Segment::Text(text) => {
                text.chars().for_each(|letter| quotes.read(letter));
                at = at.saturating_add(text.len());
            }
            Segment::Expression(source) => {
                let end = at.saturating_add(source.len()).saturating_add("${{}}".len());
                if quotes.state == State::Single {
                    found.push(at..end);
                }
                // The expression becomes `${NAME}`, which is part of a word, whatever its value is.
                quotes.word_begins = false;
                at = end;
            }
            Segment::Unclosed(_) => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_single_quotes_keep_an_expression_from_being_filled_in() {
        for (script, count) in [
            ("echo '${{ run.id }}'", 1),
            ("echo \"${{ run.id }}\" ${{ run.id }}", 0),
            ("echo \"it's ${{ run.id }}\"", 0),
            ("echo it\\'s ${{ run.id }}", 0),
            ("# don't\necho ${{ run.id }}", 0),
            ("echo a#b 'c ${{ run.id }}' '${{ run.id }}'", 2),
            ("cat <<E\ndon't ${{ run.id }}\nE", 0),
        ] {
            assert_eq!(quoted_expressions(script).len(), count, "{script}");
        }
    }
}
