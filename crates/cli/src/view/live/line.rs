//! A line of a picture: pieces of text, each with a role, and the colours of the roles.

use crate::text::columns::{Charset, clip, width};

/// The role of a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Plain,
    Strong,
    /// Less important text.
    Faint,
    Good,
    Bad,
    /// Needs attention, now or soon.
    Warn,
    /// In progress.
    Busy,
}

impl Role {
    /// The parameters of the escape sequence for this role (ECMA-48 §8.3.117). Uses only the eight colours
    /// that every theme has.
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Strong => "1",
            Self::Faint => "2",
            Self::Good => "32",
            Self::Bad => "31",
            Self::Warn => "33",
            Self::Busy => "36",
        }
    }
}

/// A line of a picture. Its text has passed through [`crate::text::columns::shown`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Line {
    pieces: Vec<(Role, String)>,
}

impl Line {
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self::default().with(Role::Plain, text)
    }

    pub(crate) fn with(mut self, role: Role, text: impl Into<String>) -> Self {
        self.pieces.push((role, text.into()));
        self
    }

    /// Appends `text` if at least `least` columns of it fit into a line of `most`.
    pub(crate) fn with_room(self, role: Role, text: &str, least: usize, most: usize) -> Self {
        let needed = width(text).min(least);
        match needed > 0 && self.width().saturating_add(needed) <= most {
            true => self.with(role, text),
            false => self,
        }
    }

    /// Appends another line.
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.pieces.extend(other.pieces);
        self
    }

    /// Appends spaces up to this column.
    pub(crate) fn filled_to(self, column: usize) -> Self {
        let missing = column.saturating_sub(self.width());
        self.with(Role::Plain, " ".repeat(missing))
    }

    /// The width in columns.
    pub(crate) fn width(&self) -> usize {
        self.pieces.iter().map(|(_, text)| width(text)).sum()
    }

    /// Cuts the line to `most` columns, and removes spaces at its end.
    pub(crate) fn clipped(&self, most: usize, charset: Charset) -> Self {
        let line = trimmed(self.pieces.clone());
        let whole = line.width() <= most;
        let mut room = most;
        let mut pieces: Vec<(Role, String)> = Vec::new();
        for (at, (role, text)) in line.pieces.iter().enumerate() {
            let rest: usize = line.pieces.iter().skip(at).map(|(_, text)| width(text)).sum();
            let text = match whole || rest <= room {
                true => text.clone(),
                // The piece where the room ends gets the sign of a cut, even if the piece itself just fits.
                false if width(text) == room => clip(&format!("{text}  "), room, charset),
                false => clip(text, room, charset),
            };
            room = room.saturating_sub(width(&text));
            pieces.push((*role, text));
        }
        trimmed(pieces)
    }

    /// Formats the line for a terminal.
    pub(crate) fn render(&self, colour: bool) -> String {
        let piece = |(role, text): &(Role, String)| match role.code() {
            code if colour && !code.is_empty() && !text.is_empty() => format!("\x1b[{code}m{text}\x1b[0m"),
            _ => text.clone(),
        };
        self.pieces.iter().map(piece).collect()
    }
}

fn trimmed(mut pieces: Vec<(Role, String)>) -> Line {
    while let Some((role, text)) = pieces.pop() {
        let kept = text.trim_end();
        if !kept.is_empty() {
            pieces.push((role, kept.to_owned()));
            break;
        }
    }
    Line { pieces }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(line: &Line, most: usize) -> String {
        line.clipped(most, Charset::Unicode).render(false)
    }

    #[test]
    fn a_line_is_cut_across_its_pieces_with_one_sign() {
        let line = Line::plain("one ").with(Role::Good, "two ").with(Role::Faint, "three");
        for (most, expected) in [
            (13, "one two three"),
            (12, "one two thr…"),
            (9, "one two…"),
            (8, "one two…"),
            (7, "one tw…"),
            (4, "one…"),
            (1, "…"),
            (0, ""),
        ] {
            let got = cut(&line, most);
            assert_eq!(got.replace(" …", "…"), expected, "{most}");
        }
    }

    #[test]
    fn colours_are_there_or_not_and_change_no_width() {
        let line = Line::plain("a ").with(Role::Bad, "b").with(Role::Faint, "");
        assert_eq!(line.render(false), "a b");
        assert_eq!(line.render(true), "a \x1b[31mb\x1b[0m");
        assert_eq!(line.width(), 3);
    }
}
