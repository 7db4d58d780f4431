//! Tracks the quotes and comments of a shell script, character by character.
//!
//! Implements only as much of the shell's quoting as is needed to know whether a character is code. Callers handle
//! here-documents.

/// The context of a character in a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Open,
    Single,
    Double,
    Comment,
}

/// The state between two characters.
#[derive(Debug)]
pub(crate) struct Quotes {
    pub(crate) state: State,
    /// True if the next character is escaped.
    pub(crate) escaped: bool,
    /// True if the next character begins a word; there `#` begins a comment.
    pub(crate) word_begins: bool,
}

impl Default for Quotes {
    fn default() -> Self {
        Self { state: State::Open, escaped: false, word_begins: true }
    }
}

impl Quotes {
    pub(crate) fn read(&mut self, letter: char) {
        if self.escaped {
            self.escaped = false;
            self.word_begins = false;
            return;
        }
        match (self.state, letter) {
            (State::Open | State::Double, '\\') => self.escaped = true,
            (State::Open, '\'') => self.state = State::Single,
            (State::Open, '"') => self.state = State::Double,
            (State::Open, '#') if self.word_begins => self.state = State::Comment,
            (State::Single, '\'') | (State::Double, '"') | (State::Comment, '\n') => self.state = State::Open,
            _ => {}
        }
        self.word_begins = letter.is_whitespace() || matches!(letter, ';' | '&' | '|' | '(');
    }
}
