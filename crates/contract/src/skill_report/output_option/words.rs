//! Splits a script into words as a shell does it. Nothing is expanded.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

/// A piece of a command line.
#[derive(Debug)]
pub(super) enum Piece {
    Word(Word),
    /// `;`, `|`, a new line and the like, one character each.
    Operator(char),
    /// The lines of a here-document, at the position where it is named.
    Document(String),
    /// `<<<`: the next word is the document.
    HereString,
}

/// A word of a command line.
#[derive(Clone, Debug, Default)]
pub(super) struct Word {
    /// The text that the program gets; `None` if only the shell knows it.
    pub(super) literal: Option<String>,
    /// The word as written, without quotes.
    pub(super) written: String,
    /// The scripts of its command substitutions.
    pub(super) inner: Vec<String>,
}

impl Word {
    pub(super) fn literal(text: &str) -> Word {
        Word { literal: Some(text.to_owned()), written: text.to_owned(), inner: Vec::new() }
    }
}

/// Splits a script into words. It knows quotes, escapes, comments, operators and here-documents, and expands nothing.
pub(super) struct Shell<'a> {
    rest: core::iter::Peekable<core::str::Chars<'a>>,
    pieces: Vec<Piece>,
    /// The word that is being read.
    word: Option<Word>,
    /// The here-documents that begin on the next line: the index of the piece, and the end marker.
    documents: Vec<(usize, String)>,
}

impl<'a> Shell<'a> {
    pub(super) fn new(script: &'a str) -> Shell<'a> {
        Shell { rest: script.chars().peekable(), pieces: Vec::new(), word: None, documents: Vec::new() }
    }

    pub(super) fn pieces(mut self) -> Vec<Piece> {
        while let Some(next) = self.rest.next() {
            match next {
                '\'' => self.single_quoted(),
                '"' => self.double_quoted(),
                '\\' => self.escaped(),
                '#' if self.word.is_none() => while self.rest.next_if(|next| *next != '\n').is_some() {},
                '\n' => {
                    self.operator('\n');
                    self.read_documents();
                }
                ' ' | '\t' | '\r' => self.end_word(),
                '<' if self.rest.peek() == Some(&'<') => self.document(),
                ';' | '&' | '|' | '(' | ')' | '<' | '>' => self.operator(next),
                // Only the shell knows the results of these. `~` means a folder only at the beginning of a word.
                '$' => self.expansion(),
                '`' => self.backquoted(),
                '*' | '?' | '[' | '{' => self.push(next, false),
                '~' if self.word.is_none() => self.push(next, false),
                _ => self.push(next, true),
            }
        }
        self.end_word();
        self.pieces
    }

    /// Adds to the word. `is_plain` is false if only the shell knows the result.
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

    fn operator(&mut self, operator: char) {
        self.end_word();
        self.pieces.push(Piece::Operator(operator));
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
                '$' if self.rest.peek() == Some(&'(') => self.expansion(),
                '`' => self.backquoted(),
                '$' => self.push(next, false),
                _ => self.push(next, true),
            }
        }
    }

    /// The older form of `$(…)`. In a nested one a backslash precedes each backquote.
    fn backquoted(&mut self) {
        self.push('`', false);
        let mut script = String::new();
        while let Some(next) = self.rest.next() {
            self.push(next, false);
            match next {
                '`' => break,
                '\\' => {
                    let Some(escaped) = self.rest.next() else { break };
                    self.push(escaped, false);
                    if !matches!(escaped, '`' | '$' | '\\') {
                        script.push('\\');
                    }
                    script.push(escaped);
                }
                _ => script.push(next),
            }
        }
        if let Some(word) = &mut self.word {
            word.inner.push(script);
        }
    }

    fn escaped(&mut self) {
        match self.rest.next() {
            // An escaped line break is removed.
            Some('\n') | None => {}
            Some(next) => self.push(next, true),
        }
    }

    /// The content of the braces in `${NAME:-a b}`, or of the parentheses in `$(a b)`, is part of the word.
    fn expansion(&mut self) {
        self.push('$', false);
        match self.rest.peek() {
            Some('{') => self.push_up_to('}'),
            Some('(') => self.substitution(),
            _ => {}
        }
    }

    fn push_up_to(&mut self, end: char) {
        while let Some(next) = self.rest.next() {
            self.push(next, false);
            if next == end {
                return;
            }
        }
    }

    /// Reads up to the matching parenthesis. Parentheses within quotes do not count.
    fn substitution(&mut self) {
        let mut depth = 0_usize;
        let mut quote = None;
        let mut script = String::new();
        while let Some(next) = self.rest.next() {
            self.push(next, false);
            script.push(next);
            match (quote, next) {
                (None | Some('"'), '\\') => {
                    if let Some(escaped) = self.rest.next() {
                        self.push(escaped, false);
                        script.push(escaped);
                    }
                }
                (None, '\'' | '"') => quote = Some(next),
                (Some(open), _) if open == next => quote = None,
                (None, '(') => depth = depth.saturating_add(1),
                (None, ')') => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
        let inner = script.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).map(str::to_owned);
        if let Some(word) = &mut self.word {
            word.inner.extend(inner);
        }
    }

    /// Reads `<<END`, `<<-END` or `<<'END'`: the lines up to `END` are not commands of this script. `<<<` has a word
    /// and no lines.
    fn document(&mut self) {
        self.rest.next();
        self.end_word();
        if self.rest.next_if_eq(&'<').is_some() {
            self.pieces.push(Piece::HereString);
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
        self.documents.push((self.pieces.len(), end));
        self.pieces.push(Piece::Document(String::new()));
    }

    fn read_documents(&mut self) {
        for (nth, end) in core::mem::take(&mut self.documents) {
            let mut text = String::new();
            loop {
                let mut line = String::new();
                while let Some(next) = self.rest.next_if(|next| *next != '\n') {
                    line.push(next);
                }
                let is_last = self.rest.next().is_none();
                if line.trim_start_matches('\t') == end {
                    break;
                }
                text.push_str(&line);
                text.push('\n');
                if is_last {
                    break;
                }
            }
            if let Some(Piece::Document(empty)) = self.pieces.get_mut(nth) {
                *empty = text;
            }
        }
    }
}
