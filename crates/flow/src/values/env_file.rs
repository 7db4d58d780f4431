//! A file of variables: `NAME=value` on each line.
//!
//! Owns its syntax. Reads no file: the text is an argument. Nothing is expanded.

use crate::syntax::names::is_variable;
use core::fmt;

/// A line that is not an assignment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineError {
    /// The line number, from 1.
    pub line: usize,
    /// The reason, without the value.
    pub reason: NotAssigned,
}

/// The reason why a line is not an assignment. It does not contain the value, which may be a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAssigned {
    /// There is no `=`.
    #[error("expected `NAME=value`")]
    NoEqualsSign,
    /// The name is not valid for a variable.
    #[error("what stands before `=` cannot name a variable")]
    NoName,
    /// The variable is reserved for Envoi.
    #[error("`{name}` begins `ENVOI_`; such variables are set by Envoi")]
    Reserved {
        /// The name.
        name: String,
    },
    /// The value is not valid for a variable.
    #[error("the value of `{name}` has a NUL character")]
    Nul {
        /// The name.
        name: String,
    },
    /// Text other than a comment follows the closing quote.
    #[error("something stands behind the closing quote")]
    BehindTheQuote,
    /// The quote is not closed on the same line.
    #[error("a quote is not closed in its line")]
    OpenQuote,
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

impl core::error::Error for LineError {}

/// The variables of a file, in its order. If a name is repeated, the last value counts.
///
/// # Errors
/// The first line that is not an assignment. The message does not contain its value, which may be a secret.
pub fn parse(text: &str) -> Result<Vec<(String, String)>, LineError> {
    let mut variables: Vec<(String, String)> = Vec::new();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (place, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (name, value) =
            assignment(line).map_err(|reason| LineError { line: place.saturating_add(1), reason })?;
        variables.retain(|(known, _)| *known != name);
        variables.push((name, value));
    }
    Ok(variables)
}

fn assignment(line: &str) -> Result<(String, String), NotAssigned> {
    let line = line.strip_prefix("export ").map_or(line, str::trim_start);
    let Some((name, value)) = line.split_once('=') else {
        return Err(NotAssigned::NoEqualsSign);
    };
    let name = name.trim_end();
    if !is_variable(name) {
        return Err(NotAssigned::NoName);
    }
    if name.starts_with("ENVOI_") {
        return Err(NotAssigned::Reserved { name: name.to_owned() });
    }
    let value = value.trim_start();
    let value = match value.chars().next() {
        Some(quote @ ('"' | '\'')) => quoted(value.get(1..).unwrap_or_default(), quote)?,
        _ => value.split_once(" #").map_or(value, |(value, _)| value).trim_end().to_owned(),
    };
    if value.contains('\0') {
        return Err(NotAssigned::Nul { name: name.to_owned() });
    }
    Ok((name.to_owned(), value))
}

/// The text before the closing quote. Only a comment may follow the quote.
fn quoted(text: &str, quote: char) -> Result<String, NotAssigned> {
    let mut value = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            _ if letter == quote => {
                let rest = letters.as_str().trim_start();
                return match rest.is_empty() || rest.starts_with('#') {
                    true => Ok(value),
                    false => Err(NotAssigned::BehindTheQuote),
                };
            }
            '\\' if quote == '"' => match letters.next() {
                Some('n') => value.push('\n'),
                Some('t') => value.push('\t'),
                Some(known @ ('"' | '\\' | '$')) => value.push(known),
                Some(other) => value.extend(['\\', other]),
                None => return Err(NotAssigned::OpenQuote),
            },
            other => value.push(other),
        }
    }
    Err(NotAssigned::OpenQuote)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn each_line_is_a_variable() {
        let text = "\u{feff}# c\n\nA=1\nexport B = two words # comment\nC='x # $Y \\n'\nD=\"a\\n\\\"b\\\" \\$c \\d\" # c\nE=\nF=a#b=c\r\nA=2\n";
        let expected = [
            ("B", "two words"),
            ("C", "x # $Y \\n"),
            ("D", "a\n\"b\" $c \\d"),
            ("E", ""),
            ("F", "a#b=c"),
            ("A", "2"),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(parse(text).unwrap(), expected);
    }

    #[test]
    fn a_line_that_is_no_assignment_is_named_without_its_value() {
        for (text, line, words) in [
            ("A=1\nsecret-word", 2, "expected `NAME=value`"),
            ("1A=secret-word", 1, "cannot name a variable"),
            ("ENVOI_STEP=secret-word", 1, "are set by Envoi"),
            ("A='secret-word", 1, "not closed"),
            ("A=\"secret-word\" x", 1, "behind the closing quote"),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!(error.line, line, "{text}");
            assert!(
                error.to_string().contains(words) && !error.to_string().contains("secret-word"),
                "{error}"
            );
        }
    }
}
