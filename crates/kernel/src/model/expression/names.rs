//! Names in the source of an expression, with their places.
//!
//! Owns a simple scanner that finds `a.b['c']`, `x | filter` and `x is test`. The expression language itself
//! decides whether a source parses and which names are free; this module only finds their positions.

use std::ops::Range;

/// A name, with its position in the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The kind of name.
    pub kind: Kind,
    /// The name, or the first of a path.
    pub name: String,
    /// The byte range of the whole path.
    pub range: Range<usize>,
}

/// The meaning of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A variable, and the members that are read of it.
    Path {
        /// The members, as far as they are literal names.
        members: Vec<String>,
        /// Whether the path is called.
        call: Call,
    },
    /// `| name`
    Filter,
    /// `is name`
    Test,
}

/// Whether a path is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// It is not called.
    No,
    /// Called without arguments.
    Bare,
    /// Called with arguments.
    WithArguments,
}

/// All names in one expression.
#[must_use]
pub fn names(source: &str) -> Vec<Found> {
    let mut scanner = Scanner { source, at: 0, found: Vec::new() };
    scanner.code();
    scanner.found
}

struct Scanner<'s> {
    source: &'s str,
    at: usize,
    found: Vec<Found>,
}

/// The last word or symbol before the current one.
#[derive(Clone, Copy, PartialEq)]
enum Before {
    Nothing,
    Point,
    Bar,
    Is,
    Other,
}

impl<'s> Scanner<'s> {
    fn rest(&self) -> &'s str {
        self.source.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn skip(&mut self, text: &str) {
        self.at = self.at.saturating_add(text.len());
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.at = self.at.saturating_add(rest.len().saturating_sub(rest.trim_start().len()));
    }

    fn code(&mut self) {
        let mut before = Before::Nothing;
        loop {
            self.skip_space();
            let Some(letter) = self.peek() else { return };
            before = match letter {
                '\'' | '"' => {
                    self.string();
                    Before::Other
                }
                _ if letter.is_ascii_digit() => {
                    self.number();
                    Before::Other
                }
                _ if is_first(letter) => self.word(before),
                _ => self.sign(letter),
            };
        }
    }

    fn sign(&mut self, letter: char) -> Before {
        self.at = self.at.saturating_add(letter.len_utf8());
        match letter {
            '.' => Before::Point,
            '|' => Before::Bar,
            _ => Before::Other,
        }
    }

    /// A quoted text, without its quotes.
    fn string(&mut self) -> Option<&'s str> {
        let quote = self.peek()?;
        let inside = self.rest().get(1..)?;
        let mut escaped = false;
        for (place, letter) in inside.char_indices() {
            if escaped {
                escaped = false;
            } else if letter == '\\' {
                escaped = true;
            } else if letter == quote {
                self.at = self.at.saturating_add(place).saturating_add(2);
                return inside.get(..place);
            }
        }
        self.at = self.source.len();
        None
    }

    fn number(&mut self) {
        let rest = self.rest();
        let end =
            rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(rest.len());
        self.at = self.at.saturating_add(end);
    }

    fn identifier(&mut self) -> &'s str {
        let rest = self.rest();
        let end = rest.find(|letter: char| !is_next(letter)).unwrap_or(rest.len());
        let word = rest.get(..end).unwrap_or_default();
        self.skip(word);
        word
    }

    fn word(&mut self, before: Before) -> Before {
        let start = self.at;
        let name = self.identifier();
        let simple = |kind, end| Found { kind, name: name.to_owned(), range: start..end };
        match before {
            Before::Point => return Before::Other,
            Before::Bar => self.found.push(simple(Kind::Filter, self.at)),
            Before::Is if name == "not" => return Before::Is,
            Before::Is => self.found.push(simple(Kind::Test, self.at)),
            _ if name == "is" => return Before::Is,
            _ => self.path(start, name),
        }
        Before::Other
    }

    fn path(&mut self, start: usize, name: &str) {
        let mut members = Vec::new();
        let mut end = self.at;
        loop {
            self.skip_space();
            match self.peek() {
                Some('.') => {
                    self.at = self.at.saturating_add(1);
                    self.skip_space();
                    if !self.peek().is_some_and(is_first) {
                        break;
                    }
                    members.push(self.identifier().to_owned());
                }
                Some('[') => {
                    let Some(member) = self.subscript() else { break };
                    members.push(member.to_owned());
                }
                _ => break,
            }
            end = self.at;
        }
        let arguments = self.rest().strip_prefix('(').map(str::trim_start);
        let call = match arguments {
            None => Call::No,
            Some(rest) if rest.starts_with(')') => Call::Bare,
            Some(_) => Call::WithArguments,
        };
        let kind = Kind::Path { members, call };
        self.found.push(Found { kind, name: name.to_owned(), range: start..end });
    }

    /// `['name']`; anything else between brackets is scanned as code.
    fn subscript(&mut self) -> Option<&'s str> {
        let back = self.at;
        self.at = self.at.saturating_add(1);
        self.skip_space();
        let member = self.peek().filter(|letter| matches!(letter, '\'' | '"')).and_then(|_| self.string());
        self.skip_space();
        if member.is_some() && self.peek() == Some(']') {
            self.at = self.at.saturating_add(1);
            return member;
        }
        self.at = back;
        None
    }
}

fn is_first(letter: char) -> bool {
    letter.is_ascii_alphabetic() || letter == '_'
}

fn is_next(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// Functions with which an `if` defines how it treats an earlier failure.
pub const STATUS: &[&str] = &["success", "failure", "always"];

/// Whether the expression of an `if` itself defines how it treats an earlier failure.
#[must_use]
pub fn regards_failure(source: &str) -> bool {
    let status =
        |found: &Found| matches!(found.kind, Kind::Path { .. }) && STATUS.contains(&found.name.as_str());
    names(source).iter().any(status)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(source: &str) -> Vec<String> {
        names(source)
            .into_iter()
            .map(|found| {
                let text = &source[found.range.clone()];
                match found.kind {
                    Kind::Path { members, call } => {
                        let called = match call {
                            Call::No => "",
                            Call::Bare => " ()",
                            Call::WithArguments => " (…)",
                        };
                        format!("{text} = {} {members:?}{called}", found.name)
                    }
                    Kind::Filter => format!("|{text}"),
                    Kind::Test => format!("is {text}"),
                }
            })
            .collect()
    }

    #[test]
    fn names_are_found_where_they_stand() {
        for (source, expected) in [
            ("inputs.a", vec!["inputs.a = inputs [\"a\"]"]),
            ("1 + steps['a-b'].data.n", vec!["steps['a-b'].data.n = steps [\"a-b\", \"data\", \"n\"]"]),
            ("'inputs.b' ~ \"x\\\"inputs.c\"", vec![]),
            ("{'a': {}}.b ~ run . id", vec!["run . id = run [\"id\"]"]),
            (
                "success() and a is not defined",
                vec!["success = success [] ()", "and = and []", "a = a []", "is defined"],
            ),
            ("f( ) or g (1)", vec!["f = f [] ()", "or = or []", "g = g [] (…)"]),
            ("inputs.a|upper is none", vec!["inputs.a = inputs [\"a\"]", "|upper", "is none"]),
            ("inputs[run.id] == 1.5e3", vec!["inputs = inputs []", "run.id = run [\"id\"]"]),
            ("'unclosed", vec![]),
            ("é ~ inputs['é", vec!["inputs = inputs []"]),
        ] {
            assert_eq!(shown(source), expected, "{source}");
        }
    }
}
