//! The names of its own crate that a source file uses: every path that begins with `crate`, `super` or
//! `self`, and the re-exports of modules below it.
//!
//! Not a parser of Rust: it reads only the paths of `use` and of expressions, with their braces.

use super::bans::Source;

/// A path of modules, from the root of the crate, and the item at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Import {
    pub(crate) path: Vec<String>,
    pub(crate) line: usize,
    /// It follows a plain `use`, without `crate`, `super` or `self`: it leads into a module below the file,
    /// or out of the crate.
    pub(crate) is_below: bool,
}

/// All imports of a file, except in tests. `here` is the path of the file's own module.
pub(crate) fn imports(source: &Source, here: &[String]) -> Vec<Import> {
    let tokens = tokens(source);
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let before = at.checked_sub(1).and_then(|at| tokens.get(at)).map_or("", |token| token.text.as_str());
        let next = tokens.get(at.saturating_add(1)).map_or("", |token| token.text.as_str());
        let is_root =
            matches!(token.text.as_str(), "crate" | "super" | "self") && next == "::" && before != "::";
        if is_root || (before == "use" && token.is_word()) {
            let mut reader = TreeReader { tokens: &tokens, at, found: Vec::new() };
            reader.tree(&[]);
            at = reader.at.max(at.saturating_add(1));
            found.extend(reader.found.into_iter().map(|import| absolute(import, here)));
        } else {
            at = at.saturating_add(1);
        }
    }
    found
}

/// Resolves `crate`, `super` and `self`.
fn absolute(import: Import, here: &[String]) -> Import {
    let mut segments = import.path.iter().map(String::as_str).peekable();
    let mut path: Vec<String> = here.to_vec();
    let first = segments.peek().copied();
    match first {
        Some("crate") => path.clear(),
        Some("super" | "self") => {}
        _ => return Import { path: [here, &import.path].concat(), is_below: true, ..import },
    }
    for segment in segments {
        match segment {
            "crate" | "self" => {}
            "super" => drop(path.pop()),
            name => path.push(name.to_owned()),
        }
    }
    Import { path, ..import }
}

struct Token {
    text: String,
    line: usize,
}

impl Token {
    fn is_word(&self) -> bool {
        self.text.chars().next().is_some_and(is_word)
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn tokens(source: &Source) -> Vec<Token> {
    let mut tokens = Vec::new();
    for (line, text) in source.code.numbered().filter(|(line, _)| !source.is_test(*line)) {
        let mut rest = text.trim_start();
        while let Some(first) = rest.chars().next() {
            let length = match first {
                _ if rest.starts_with("::") => 2,
                c if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
                c => c.len_utf8(),
            };
            let (token, after) = rest.split_at(length);
            tokens.push(Token { text: token.to_owned(), line });
            rest = after.trim_start();
        }
    }
    tokens
}

/// Reads one tree of paths: `a::{b, c::{d, self}}`.
struct TreeReader<'t> {
    tokens: &'t [Token],
    at: usize,
    found: Vec<Import>,
}

impl TreeReader<'_> {
    fn text(&self) -> &str {
        self.tokens.get(self.at).map_or("", |token| token.text.as_str())
    }

    fn tree(&mut self, prefix: &[String]) {
        let mut path = prefix.to_vec();
        loop {
            match self.tokens.get(self.at) {
                Some(token) if token.text == "{" => return self.braces(&path),
                Some(token) if token.text == "*" => self.at = self.at.saturating_add(1),
                Some(token) if token.is_word() => {
                    path.push(token.text.clone());
                    self.at = self.at.saturating_add(1);
                }
                _ => {}
            }
            if self.text() != "::" {
                break;
            }
            self.at = self.at.saturating_add(1);
        }
        let line = self.at.checked_sub(1).and_then(|at| self.tokens.get(at)).map_or(0, |token| token.line);
        self.found.push(Import { path, line, is_below: false });
    }

    fn braces(&mut self, prefix: &[String]) {
        self.at = self.at.saturating_add(1);
        while !matches!(self.text(), "}" | "") {
            let before = self.at;
            match self.text() {
                "," => self.at = self.at.saturating_add(1),
                // An alias counts only within this file.
                "as" => self.at = self.at.saturating_add(2),
                _ => self.tree(prefix),
            }
            // This is not a tree.
            if self.at == before {
                self.at = self.at.saturating_add(1);
            }
        }
        self.at = self.at.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::{bans, tree::Tree};

    fn of(text: &str) -> Vec<String> {
        let tree = Tree::of(&[("crates/a/src/b/c.rs", text)]);
        let here = ["b", "c"].map(str::to_owned);
        let source = &bans::sources(&tree)[0];
        imports(source, &here).iter().map(|import| import.path.join("::")).collect()
    }

    #[test]
    fn paths_are_counted_from_the_root_of_the_crate() {
        for (text, paths) in [
            ("use crate::x;", &["x"][..]),
            ("use crate::{x::Y, z::{self, W as V, u::*}};", &["x::Y", "z", "z::W", "z::u"]),
            ("use super::d;\nuse super::super::e::F;", &["b::d", "e::F"]),
            ("use self::below::X;\npub(crate) use below::Y;", &["b::c::below::X", "b::c::below::Y"]),
            ("fn a() -> crate::x::Y { super::d::e::<T>(crate::f::G { h }) }", &["x::Y", "b::d::e", "f::G"]),
            ("pub(in crate::b) fn a(self) { self.x }", &["b"]),
            ("// crate::x\nconst A: &str = \"crate::x\";", &[]),
            ("#[cfg(test)]\nmod tests {\n    use crate::x;\n}", &[]),
        ] {
            assert_eq!(of(text), paths, "{text}");
        }
    }
}
