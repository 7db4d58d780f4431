//! The names that a file uses. `use` statements are taken apart: `use std::{env, fs::File}` has two names,
//! and an alias counts as the name that it stands for.

use crate::tidy::lexer::Code;

/// A path such as `std::fs::read`, and its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) line: usize,
    parts: Vec<String>,
}

impl Name {
    /// Whether this is `path` or below it. A single word with a capital letter also matches any component of
    /// a path. A path whose first component was imported (`thread::sleep`) is matched by its tail.
    pub(crate) fn is(&self, path: &str) -> bool {
        let wanted: Vec<&str> = path.split("::").collect();
        let begins = |parts: &[&str]| {
            self.parts.iter().map(String::as_str).take(parts.len()).eq(parts.iter().copied())
        };
        match wanted.as_slice() {
            [word] if word.starts_with(char::is_uppercase) => self.parts.iter().any(|part| part == word),
            ["std", tail @ ..] if tail.len() > 1 => begins(&wanted) || begins(tail),
            _ => begins(&wanted),
        }
    }
}

/// Names in the order of their lines. A single word counts only if it begins with a capital letter.
pub(crate) fn names(code: &Code) -> Vec<Name> {
    let mut names = Vec::new();
    let mut scan = Scan::default();
    for (line, text) in code.numbered() {
        for word in words(text) {
            scan.take(line, word, &mut names);
        }
    }
    scan.finish(&mut names);
    names
}

/// Identifiers, `::`, and each other character separately.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text.trim_start();
    std::iter::from_fn(move || {
        let word =
            rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').map(char::len_utf8).sum::<usize>();
        let length = match word {
            0 if rest.starts_with("::") => 2,
            0 => rest.chars().next()?.len_utf8(),
            word => word,
        };
        let (taken, after) = rest.split_at(length);
        rest = after.trim_start();
        Some(taken)
    })
}

/// The state before the current word.
#[derive(Default)]
struct Scan {
    /// Prefixes of the open braces of a `use` statement; empty outside of one.
    prefixes: Vec<Vec<String>>,
    in_use: bool,
    path: Vec<String>,
    line: usize,
    /// Whether the last word was `::`.
    joined: bool,
}

impl Scan {
    fn take(&mut self, line: usize, word: &str, names: &mut Vec<Name>) {
        let is_name = word.starts_with(|c: char| c.is_alphabetic() || c == '_');
        match word {
            "::" => self.joined = true,
            "{" if self.in_use => {
                self.prefixes.push(std::mem::take(&mut self.path));
                self.joined = false;
            }
            "as" if self.in_use => self.finish(names),
            _ if is_name && self.joined => {
                self.path.push(word.to_owned());
                self.joined = false;
            }
            _ if is_name => {
                self.finish(names);
                self.in_use |= word == "use";
                self.line = line;
                self.path = if word == "use" { Vec::new() } else { vec![word.to_owned()] };
            }
            _ => {
                self.finish(names);
                if self.in_use && word == "}" {
                    self.prefixes.pop();
                }
                if word == ";" {
                    self.in_use = false;
                    self.prefixes.clear();
                }
            }
        }
    }

    fn finish(&mut self, names: &mut Vec<Name>) {
        let path = std::mem::take(&mut self.path);
        self.joined = false;
        if path.is_empty() {
            return;
        }
        let parts: Vec<String> = self.prefixes.iter().flatten().cloned().chain(path).collect();
        let is_lone_word = parts.len() == 1 && !parts.iter().any(|part| part.starts_with(char::is_uppercase));
        if !is_lone_word {
            names.push(Name { line: self.line, parts });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        names(&Code::read(text))
            .into_iter()
            .map(|name| format!("{} {}", name.line, name.parts.join("::")))
            .collect()
    }

    #[test]
    fn use_statements_are_taken_apart() {
        let text = "use std::{\n    env,\n    fs::{self, File as Open},\n};\nuse a::b;";
        assert_eq!(
            found(text),
            ["2 std::env", "3 std::fs::self", "3 std::fs::File", "3 std::fs::Open", "5 a::b"]
        );
    }

    #[test]
    fn names_in_code_are_found() {
        assert_eq!(
            found("let x = std::env::var(y).map(Instant::now);"),
            ["1 std::env::var", "1 Instant::now"]
        );
    }

    #[test]
    fn an_imported_name_is_known_by_its_tail() {
        let name = |text: &str| names(&Code::read(text)).remove(0);
        assert!(name("thread::sleep(x)").is("std::thread::sleep"));
        assert!(name("std::thread::sleep(x)").is("std::thread"));
        assert!(!name("my::thread::sleep(x)").is("std::thread::sleep"));
    }
}
