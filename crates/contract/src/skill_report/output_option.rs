//! Which file a command names by `--output` (CONTRACTS 4).
//!
//! A list is looked at word by word. A script is split into words as a shell does it, but nothing is expanded: a value counts
//! only where it is literal. The engine cannot know what `"$dir/report.json"` will be, and a wrong guess would take some other
//! file for the report. It does not check whether the file exists or is a report.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

/// The option that gives a skill the path of its report.
const OPTION: &str = "--output";

/// The values of `--output` in a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputOption {
    /// The path that is looked at: the last one that is named.
    pub path: Option<String>,
    /// Values that are not looked at, as they are written: those that are not literal, and those before the last one.
    pub ignored: Vec<String>,
}

impl OutputOption {
    /// Of several the last one counts, as most programs read it. If that is not literal, none does: an earlier one would be
    /// the file of some other command.
    fn of(mut values: Vec<Word>) -> OutputOption {
        let Some(last) = values.pop() else { return OutputOption::default() };
        let mut ignored: Vec<String> =
            values.into_iter().filter(|word| !word.is_the_assigned_path()).map(|word| word.written).collect();
        let path = match last.literal {
            Some(path) => Some(path).filter(|path| !path.is_empty()),
            None if last.is_the_assigned_path() => None,
            None => {
                ignored.push(last.written);
                None
            }
        };
        OutputOption { path, ignored }
    }
}

/// The values in a command that is a list. In a list that starts a shell with `-c`, the script is looked at too; the arguments
/// behind it are what the script passes on.
#[must_use]
pub fn of_list(argv: &[String]) -> OutputOption {
    let words = |argv: &[String]| {
        argv.iter().map(|argument| Piece::Word(Word::literal(argument))).collect::<Vec<_>>()
    };
    let Some((script, arguments)) = script_of(argv) else { return OutputOption::of(values(words(argv))) };
    let mut all = values(Shell::new(script).pieces());
    all.extend(values(words(arguments)));
    OutputOption::of(all)
}

/// The values in a command that is a string, which `sh -c` runs.
#[must_use]
pub fn of_script(script: &str) -> OutputOption {
    OutputOption::of(values(Shell::new(script).pieces()))
}

/// The script in `[bash, -c, SCRIPT]` and what stands behind it. The options are letters behind one `-` (`-ec`).
fn script_of(argv: &[String]) -> Option<(&str, &[String])> {
    const SHELLS: [&str; 6] = ["sh", "bash", "dash", "zsh", "ksh", "ash"];
    let (program, arguments) = argv.split_first()?;
    let name = program.rsplit('/').next().unwrap_or(program);
    if !SHELLS.contains(&name) {
        return None;
    }
    let mut rest = arguments;
    loop {
        let (option, behind) = rest.split_first().filter(|(option, _)| is_letters(option))?;
        rest = match behind.split_first() {
            Some((script, arguments)) if option.ends_with('c') => return Some((script, arguments)),
            // `-euo pipefail`: its name follows.
            Some((_, behind)) if option.ends_with('o') => behind,
            _ => behind,
        };
    }
}

/// Whether it is `-` and letters, such as `-e`.
fn is_letters(argument: &str) -> bool {
    argument
        .strip_prefix('-')
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|letter| letter.is_ascii_alphabetic()))
}

/// The values of the option, in order. The program itself is no argument.
fn values(pieces: Vec<Piece>) -> Vec<Word> {
    let mut values = Vec::new();
    let mut arguments = pieces.into_iter().skip(1).peekable();
    while let Some(piece) = arguments.next() {
        let Piece::Word(word) = piece else { continue };
        if word.literal.as_deref() == Some(OPTION) {
            if let Some(Piece::Word(value)) = arguments.next_if(|next| matches!(next, Piece::Word(_))) {
                values.push(value);
            }
        } else if let Some(value) = word.after_equals() {
            values.push(value);
        }
    }
    values
}

/// A piece of a command line.
enum Piece {
    Word(Word),
    /// `;`, `|`, a new line and the like: what follows belongs to another command.
    Operator,
}

/// A word of a command line.
#[derive(Clone, Debug, Default)]
struct Word {
    /// What the program is given; `None` if only the shell knows it.
    literal: Option<String>,
    /// As it is written, without quotes.
    written: String,
}

impl Word {
    fn literal(text: &str) -> Word {
        Word { literal: Some(text.to_owned()), written: text.to_owned() }
    }

    /// The value in `--output=VALUE`.
    fn after_equals(&self) -> Option<Word> {
        let value = |text: &str| Some(text.strip_prefix(OPTION)?.strip_prefix('=')?.to_owned());
        let written = value(&self.written)?;
        Some(Word { literal: self.literal.as_deref().and_then(value), written })
    }

    /// Whether it is the path that the engine assigns, which is looked at in any case.
    fn is_the_assigned_path(&self) -> bool {
        self.literal.is_none() && matches!(self.written.as_str(), "$ENVOI_REPORT" | "${ENVOI_REPORT}")
    }
}

/// Splits a script into words. It knows quotes, escapes, comments, operators and here-documents, and expands nothing.
struct Shell<'a> {
    rest: core::iter::Peekable<core::str::Chars<'a>>,
    pieces: Vec<Piece>,
    /// The word that is being read.
    word: Option<Word>,
    /// The end marks of here-documents that begin on the next line.
    documents: Vec<String>,
}

impl<'a> Shell<'a> {
    fn new(script: &'a str) -> Shell<'a> {
        Shell { rest: script.chars().peekable(), pieces: Vec::new(), word: None, documents: Vec::new() }
    }

    fn pieces(mut self) -> Vec<Piece> {
        while let Some(next) = self.rest.next() {
            match next {
                '\'' => self.single_quoted(),
                '"' => self.double_quoted(),
                '\\' => self.escaped(),
                '#' if self.word.is_none() => while self.rest.next_if(|next| *next != '\n').is_some() {},
                '\n' => {
                    self.operator();
                    self.skip_documents();
                }
                ' ' | '\t' | '\r' => self.end_word(),
                '<' if self.rest.peek() == Some(&'<') => self.document(),
                ';' | '&' | '|' | '(' | ')' | '<' | '>' => self.operator(),
                // Only the shell knows what becomes of these. `~` means a folder at the beginning alone.
                '$' | '`' | '*' | '?' | '[' | '{' => {
                    self.push(next, false);
                    if next == '$' {
                        self.braced();
                    }
                }
                '~' if self.word.is_none() => self.push(next, false),
                _ => self.push(next, true),
            }
        }
        self.end_word();
        self.pieces
    }

    /// Adds to the word; `is_plain` false: only the shell knows what becomes of it.
    fn push(&mut self, next: char, is_plain: bool) {
        let word = self.word.get_or_insert_with(|| Word::literal(""));
        word.written.push(next);
        match &mut word.literal {
            Some(literal) if is_plain => literal.push(next),
            literal => *literal = None,
        }
    }

    fn end_word(&mut self) {
        self.pieces.extend(self.word.take().map(Piece::Word));
    }

    fn operator(&mut self) {
        self.end_word();
        self.pieces.push(Piece::Operator);
    }

    fn single_quoted(&mut self) {
        self.word.get_or_insert_with(|| Word::literal(""));
        while let Some(next) = self.rest.next().filter(|next| *next != '\'') {
            self.push(next, true);
        }
    }

    fn double_quoted(&mut self) {
        self.word.get_or_insert_with(|| Word::literal(""));
        while let Some(next) = self.rest.next().filter(|next| *next != '"') {
            match next {
                '\\' => match self.rest.next_if(|next| matches!(next, '$' | '`' | '"' | '\\' | '\n')) {
                    Some('\n') => {}
                    Some(escaped) => self.push(escaped, true),
                    None => self.push(next, true),
                },
                '$' | '`' => self.push(next, false),
                _ => self.push(next, true),
            }
        }
    }

    fn escaped(&mut self) {
        match self.rest.next() {
            // The line goes on.
            Some('\n') | None => {}
            Some(next) => self.push(next, true),
        }
    }

    /// What stands in the braces of `${NAME:-a b}` is a part of the word.
    fn braced(&mut self) {
        if self.rest.peek() != Some(&'{') {
            return;
        }
        while let Some(next) = self.rest.next() {
            self.push(next, false);
            if next == '}' {
                return;
            }
        }
    }

    /// `<<END`, `<<-END` and `<<'END'`: the lines up to `END` are no commands. `<<<` has a word and no lines.
    fn document(&mut self) {
        self.rest.next();
        self.operator();
        if self.rest.next_if_eq(&'<').is_some() {
            return;
        }
        self.rest.next_if_eq(&'-');
        while self.rest.next_if(|next| matches!(next, ' ' | '\t')).is_some() {}
        let mut end = String::new();
        while let Some(next) = self.rest.next_if(|next| !next.is_whitespace() && !";&|()<>".contains(*next)) {
            if !matches!(next, '\'' | '"' | '\\') {
                end.push(next);
            }
        }
        self.documents.push(end);
    }

    fn skip_documents(&mut self) {
        for end in core::mem::take(&mut self.documents) {
            loop {
                let mut line = String::new();
                while let Some(next) = self.rest.next_if(|next| *next != '\n') {
                    line.push(next);
                }
                if self.rest.next().is_none() || line.trim_start_matches('\t') == end {
                    break;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;

    fn list(argv: &[&str]) -> OutputOption {
        of_list(&argv.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn the_output_option_of_a_list_is_the_last_one() {
        let rows: &[(&[&str], Option<&str>, &[&str])] = &[
            (&["skill", "--output", "r.json"], Some("r.json"), &[]),
            (&["skill", "--output=r.json", "x"], Some("r.json"), &[]),
            (&["skill", "--output", "a", "--output", "b"], Some("b"), &["a"]),
            (&["skill", "--output", "$X"], Some("$X"), &[]),
            (&["skill", "--output"], None, &[]),
            (&["skill", "--output="], None, &[]),
            (&["--output", "x"], None, &[]),
            (&["skill", "--outputs", "x"], None, &[]),
            (&["bash", "-c", "skill --output r.json"], Some("r.json"), &[]),
            (&["/bin/sh", "-e", "-uc", "skill --output r.json", "x"], Some("r.json"), &[]),
            (&["bash", "-euo", "pipefail", "-c", "skill --output r.json"], Some("r.json"), &[]),
            (&["sh", "-c", "skill \"$@\"", "sh", "--output", "r.json"], Some("r.json"), &[]),
            (&["bash", "script.sh", "--output", "r.json"], Some("r.json"), &[]),
            (&["bash", "-c", "skill --output \"$1\"", "x"], None, &["$1"]),
        ];
        for (argv, path, ignored) in rows {
            let found = list(argv);
            assert_eq!(found.path.as_deref(), *path, "{argv:?}");
            assert_eq!(found.ignored, ignored.to_vec(), "{argv:?}");
        }
    }

    #[test]
    fn the_output_option_of_a_script_counts_where_it_is_literal() {
        let rows: &[(&str, Option<&str>, &[&str])] = &[
            ("node w.mjs --output out/report.json", Some("out/report.json"), &[]),
            ("node w.mjs --output=out/report.json; echo done", Some("out/report.json"), &[]),
            ("node w.mjs --output 'a b'/c.json", Some("a b/c.json"), &[]),
            ("node w.mjs \"--output=a \\\"b\"", Some("a \"b"), &[]),
            ("node w.mjs --output \\\n  a\\ b.json", Some("a b.json"), &[]),
            ("cd x && (w --output r.json) > log", Some("r.json"), &[]),
            ("w --output a#b", Some("a#b"), &[]),
            ("w --output /tmp/r.json|cat", Some("/tmp/r.json"), &[]),
            ("w --output \"$OUT\"", None, &["$OUT"]),
            ("w --output \"${OUT:-a b}\" x", None, &["${OUT:-a b}"]),
            ("w --output=~/r.json", Some("~/r.json"), &[]),
            ("w --output ~/r.json", None, &["~/r.json"]),
            ("w --output r*.json", None, &["r*.json"]),
            ("w --output \"$ENVOI_REPORT\"", None, &[]),
            ("w --output ${ENVOI_REPORT}", None, &[]),
            ("a --output x.json; b --output \"$Y\"", None, &["x.json", "$Y"]),
            ("a --output x.json; b --output y.json", Some("y.json"), &["x.json"]),
            ("# w --output r.json", None, &[]),
            ("cat <<'E' >x\nw --output r.json\nE\nw --output s.json", Some("s.json"), &[]),
            ("cat <<< w; w --output s.json", Some("s.json"), &[]),
            ("cat <<E\nw --output r.json", None, &[]),
            ("w --output; x", None, &[]),
            ("w --output", None, &[]),
            ("", None, &[]),
        ];
        for (script, path, ignored) in rows {
            let found = of_script(script);
            assert_eq!(found.path.as_deref(), *path, "{script}");
            assert_eq!(found.ignored, ignored.to_vec(), "{script}");
        }
        assert_eq!(of_script("w --output a").ignored, vec![""; 0]);
    }
}
