//! Finds expressions inside strings of a Python script.
//!
//! Implements only as much of Python's quoting as this needs. A string that is not closed ends with its line, unless
//! it has three quotes.

use envoi_kernel::expression::{Segment, segments};
use std::ops::Range;

/// The ranges of `${{ … }}` inside strings.
pub(super) fn quoted_expressions(script: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut state = State::Open;
    let mut at = 0_usize;
    for segment in segments(script) {
        match segment {
            Segment::Text(text) => {
                state = state.after(text);
                at = at.saturating_add(text.len());
            }
            Segment::Expression(source) => {
                let end = at.saturating_add(source.len()).saturating_add("${{}}".len());
                if matches!(state, State::In(_)) {
                    found.push(at..end);
                }
                at = end;
            }
            Segment::Unclosed(_) => {}
        }
    }
    found
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Comment,
    /// In a string that ends with these quotes.
    In(&'static str),
}

/// The longer ones first, because `"""` begins with `"`.
const QUOTES: [&str; 4] = ["\"\"\"", "'''", "\"", "'"];

impl State {
    fn after(mut self, text: &str) -> Self {
        let mut rest = text;
        while let Some(letter) = rest.chars().next() {
            let mut step = letter.len_utf8();
            match self {
                Self::Open if letter == '#' => self = Self::Comment,
                Self::Open => {
                    if let Some(quote) = QUOTES.into_iter().find(|quote| rest.starts_with(quote)) {
                        (self, step) = (Self::In(quote), quote.len());
                    }
                }
                Self::Comment if letter == '\n' => self = Self::Open,
                Self::Comment => {}
                Self::In(_) if letter == '\\' => {
                    let escaped = rest.chars().nth(1).map_or(0, char::len_utf8);
                    step = step.saturating_add(escaped);
                }
                Self::In(quote) if rest.starts_with(quote) => (self, step) = (Self::Open, quote.len()),
                Self::In(quote) if letter == '\n' && quote.len() == 1 => self = Self::Open,
                Self::In(_) => {}
            }
            rest = rest.get(step..).unwrap_or_default();
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_strings_keep_an_expression_from_being_filled_in() {
        for (script, count) in [
            ("print(${{ run.id }})", 0),
            ("print('${{ run.id }}', \"${{ run.id }}\")", 2),
            ("# don't\nprint(${{ run.id }})", 0),
            ("x = '''it's ${{ run.id }}\n'''\nprint(${{ run.id }})", 1),
            ("print('it\\'s', ${{ run.id }})", 0),
            ("s = 'open\nprint(${{ run.id }})", 0),
            ("f\"{x}\" + ${{ run.id }} + ''", 0),
        ] {
            assert_eq!(quoted_expressions(script).len(), count, "{script}");
        }
    }
}
