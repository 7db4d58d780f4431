//! Reports what was not carried over unchanged, and why.
//!
//! Owns the list and its order. It does not depend on the meaning of any key.

use crate::{LineColumn, Span};

/// A part of the source that the flow file does not contain unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The location in the source.
    pub place: LineColumn,
    /// The part: a key, an id, a value.
    pub what: String,
    /// The result of the conversion of this part.
    pub carried: Carried,
    /// The reason.
    pub why: String,
}

/// The result of the conversion of a part of the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Carried {
    /// It is in the flow file in this form.
    As(String),
    /// It is not in the flow file, or has no effect there.
    No,
}

impl Finding {
    /// True if it is lost.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.carried == Carried::No
    }

    /// The finding on one line, without the file's name.
    #[must_use]
    pub fn line(&self) -> String {
        let carried = match &self.carried {
            Carried::As(what) => format!("carried as {what}"),
            Carried::No => "not carried".to_owned(),
        };
        format!("{}:{}: {}: {carried}: {}", self.place.line, self.place.column, self.what, self.why)
    }
}

/// The findings so far, with their spans.
#[derive(Debug, Default)]
pub(super) struct Notes {
    found: Vec<(Span, String, Carried, String)>,
}

impl Notes {
    pub(super) fn lost(&mut self, span: Span, what: impl Into<String>, why: impl Into<String>) {
        self.found.push((span, shown(&what.into()), Carried::No, shown(&why.into())));
    }

    pub(super) fn carried(
        &mut self,
        span: Span,
        what: impl Into<String>,
        carried: impl Into<String>,
        why: impl Into<String>,
    ) {
        let carried = Carried::As(shown(&carried.into()));
        self.found.push((span, shown(&what.into()), carried, shown(&why.into())));
    }

    /// The findings in the order of the source.
    pub(super) fn into_findings(mut self, text: &str) -> Vec<Finding> {
        self.found.sort_by_key(|(span, ..)| span.start);
        let found = self.found.into_iter();
        found
            .map(|(span, what, carried, why)| Finding {
                place: LineColumn::of(text, span.start),
                what,
                carried,
                why,
            })
            .collect()
    }
}

/// The text on one line, with control characters escaped.
fn shown(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_control() {
            line.extend(letter.escape_unicode());
        } else {
            line.push(letter);
        }
    }
    line
}
