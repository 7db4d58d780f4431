//! The refusal that every decoder and writer of the contracts returns: a code, a location, and advice.
//!
//! It does not decide what is refused; each contract has its own rules.

use crate::code::Code;
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use core::fmt;

use crate::json::{self, Value};
use crate::quoted::shorten;

/// Longest part of a found value in a diagnostic, in Unicode scalars.
const FOUND_LIMIT: usize = 60;

/// A value that a contract refuses: its location, the expected and the found value, and advice. Each code has a page
/// in `spec/errors/`. Source: CONTRACTS 0.
///
/// ```
/// use envoi_contract::routing::decode_input;
///
/// let refused = decode_input(b"{\"handoff_text\": \"\",\n \"iteration\": -1}").unwrap_err();
/// assert_eq!((refused.code.as_str(), refused.pointer.as_str()), ("ROUTING_INVALID", "/iteration"));
/// assert_eq!((refused.line, refused.column), (Some(2), Some(15)));
/// assert_eq!(refused.found, "`-1`");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The contract's code, such as `ROUTING_INVALID`; stable, for programs.
    pub code: Code,
    /// JSON Pointer of the value; if a member is missing, of the object. Empty for the whole document.
    pub pointer: String,
    /// Line of the value, from 1, if the text is known.
    pub line: Option<u32>,
    /// Column of the value, from 1, in Unicode scalars, if the text is known.
    pub column: Option<u32>,
    /// The allowed values.
    pub expected: String,
    /// The found value, shortened.
    pub found: String,
    /// Advice; may be empty. Boxed, so that a refusal stays small enough to be returned by value.
    pub hint: Box<str>,
}

impl Diagnostic {
    /// A refusal of the value at `pointer`.
    #[must_use]
    pub fn new(code: Code, pointer: &str, expected: &str, found: &str) -> Diagnostic {
        Diagnostic {
            code,
            pointer: pointer.to_owned(),
            line: None,
            column: None,
            expected: expected.to_owned(),
            found: found.to_owned(),
            hint: Box::from(advice(code)),
        }
    }

    /// A refusal of `value` at `pointer`.
    #[must_use]
    pub fn of_value(code: Code, pointer: &str, expected: &str, value: &Value) -> Diagnostic {
        Diagnostic::new(code, pointer, expected, &describe(value))
    }

    /// A refusal of a document that is not JSON.
    #[must_use]
    pub fn of_json(code: Code, error: json::Error) -> Diagnostic {
        let json::Error { pointer, line, column, expected, found } = error;
        let hint = "the input is one JSON document in UTF-8 with each member name once";
        Diagnostic {
            code,
            pointer,
            line: Some(line),
            column: Some(column),
            expected,
            found,
            hint: Box::from(hint),
        }
    }

    /// Adds advice.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<Box<str>>) -> Diagnostic {
        self.hint = hint.into();
        self
    }

    /// Converts a refusal of a part into a refusal of the containing document. The part is at `prefix`, and `code` is
    /// that of the document.
    #[must_use]
    pub fn under(mut self, code: Code, prefix: &str) -> Diagnostic {
        if *self.hint == *advice(self.code) {
            self.hint = Box::from(advice(code));
        }
        self.code = code;
        self.pointer.insert_str(0, prefix);
        self
    }

    /// Converts a refusal of a part at `prefix` into a refusal of the containing value, with the same code.
    #[must_use]
    pub(crate) fn inside(self, prefix: &str) -> Diagnostic {
        let code = self.code;
        self.under(code, prefix)
    }

    /// Adds line and column, which are found by reading the document `bytes` again.
    #[must_use]
    pub fn located(mut self, bytes: &[u8]) -> Diagnostic {
        if self.line.is_none()
            && let Some(place) = json::locate(bytes, &self.pointer)
        {
            self.line = Some(place.line);
            self.column = Some(place.column);
        }
        self
    }
}

impl Diagnostic {
    /// The text of the refusal without its code, for output that shows the code separately.
    #[must_use]
    pub fn without_code(&self) -> String {
        let Diagnostic { code: _, pointer, line, column, expected, found, hint } = self;
        let mut text = format!("expected {expected}, found {found}");
        if !pointer.is_empty() {
            text.push_str(&format!(" at `{pointer}`"));
        }
        if let (Some(line), Some(column)) = (line, column) {
            text.push_str(&format!(" (line {line}, column {column})"));
        }
        if !hint.is_empty() {
            text.push_str("; ");
            text.push_str(hint);
        }
        text
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Diagnostic { code, pointer, line, column, expected, found, hint } = self;
        f.write_str(code.as_str())?;
        if !pointer.is_empty() {
            write!(f, " at `{pointer}`")?;
        }
        if let (Some(line), Some(column)) = (line, column) {
            write!(f, " (line {line}, column {column})")?;
        }
        write!(f, ": expected {expected}, found {found}")?;
        if hint.is_empty() { Ok(()) } else { write!(f, "; {hint}") }
    }
}

impl core::error::Error for Diagnostic {}

/// The general advice for each code, for refusals without more specific advice. The libraries for other languages are
/// generated from it too.
pub const ADVICE: [(Code, &str); 7] = [
    (Code::RoutingInvalid, "correct the resolver's input (CONTRACTS 1.2)"),
    (Code::RoutingSignalInvalid, "correct the signal (CONTRACTS 1.1)"),
    (Code::HandoffInvalid, "correct the hand-off (CONTRACTS 2)"),
    (Code::EnvelopeInvalid, "correct the envelope (CONTRACTS 3)"),
    (Code::SkillReportInvalid, "correct what the skill writes as its report (CONTRACTS 4)"),
    (Code::InvalidUserEnvelope, "correct the answer, or send it without opting in (CONTRACTS 5)"),
    (Code::VectorsInvalid, "a vector file is an array of cases (spec/vectors/README.md)"),
];

fn advice(code: Code) -> &'static str {
    ADVICE.iter().find(|(known, _)| *known == code).map_or("", |(_, advice)| advice)
}

/// A value as text, short enough for a message.
pub(crate) fn describe(value: &Value) -> String {
    match value {
        Value::Array(_) | Value::Object(_) => value.kind().to_owned(),
        scalar => shorten(&scalar.compact(), FOUND_LIMIT),
    }
}
