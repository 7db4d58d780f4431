//! A picture at the bottom of a terminal, redrawn in place. Permanent lines scroll away above it.
//!
//! Each change is one write of the changed lines only, in a synchronised update if the terminal supports it.
//! The cursor is always visible and rests below the picture, so nothing needs repair after Ctrl-C or `kill
//! -9`. It does not know the content of the picture, nor when to draw.

use super::line::Line;
use std::{fmt::Write as _, io};

/// Makes a terminal show the following output at once. Other terminals ignore it.
const BEGIN: &str = "\x1b[?2026h";
const END: &str = "\x1b[?2026l";
const CLEAR_TO_END_OF_LINE: &str = "\x1b[K";
const CLEAR_TO_END_OF_SCREEN: &str = "\x1b[J";

/// A picture on a terminal.
pub(crate) struct Screen<W> {
    out: W,
    colour: bool,
    /// Whether the terminal wraps lines again when it becomes narrower.
    reflows: bool,
    /// The lines on the screen, each as written, with its width.
    drawn: Vec<(String, usize)>,
    /// The width of the terminal when they were written.
    columns: usize,
    /// How many lines typed input has moved the cursor down since then.
    lowered: usize,
}

impl<W: io::Write> Screen<W> {
    pub(crate) fn new(out: W, colour: bool, reflows: bool) -> Self {
        Self { out, colour, reflows, drawn: Vec::new(), columns: 0, lowered: 0 }
    }

    /// Replaces the picture with `lines`. Each is narrower than the terminal, which has `columns`.
    ///
    /// # Errors
    /// The terminal cannot be written to.
    pub(crate) fn draw(&mut self, lines: &[Line], columns: usize) -> io::Result<()> {
        let lines: Vec<_> = lines.iter().map(|line| (line.render(self.colour), line.width())).collect();
        let resized = columns != self.columns;
        let moved = self.lowered > 0;
        if lines == self.drawn && !resized && !moved {
            return Ok(());
        }
        let mut text = self.move_to_the_top(columns);
        for (at, (line, _)) in lines.iter().enumerate() {
            let stands = !resized && !moved && self.drawn.get(at).is_some_and(|(drawn, _)| drawn == line);
            let (line, clear) = if stands { ("", "") } else { (line.as_str(), CLEAR_TO_END_OF_LINE) };
            // Writing to a `String` cannot fail.
            let _ = write!(text, "{line}{clear}\r\n");
        }
        // This also clears typed input, which the terminal echoes at the cursor.
        text.push_str(CLEAR_TO_END_OF_SCREEN);
        self.drawn = lines;
        self.columns = columns;
        self.write(&text)
    }

    /// Writes permanent `text` above the picture. It ends with a newline, and each of its lines has passed
    /// through [`crate::text::columns::shown`]. The terminal wraps lines that are too long.
    ///
    /// # Errors
    /// The terminal cannot be written to.
    pub(crate) fn above(&mut self, text: &str, columns: usize) -> io::Result<()> {
        let top = self.move_to_the_top(columns);
        let mut text = format!("{top}{CLEAR_TO_END_OF_SCREEN}{}", text.replace('\n', "\r\n"));
        for (line, _) in &self.drawn {
            let _ = write!(text, "{line}\r\n");
        }
        self.write(&text)
    }

    /// Makes the picture permanent. The next one begins below it.
    pub(crate) fn leave(&mut self) {
        self.drawn.clear();
        self.lowered = 0;
    }

    /// As [`Screen::leave`], and clears typed input below the picture before the next output.
    ///
    /// # Errors
    /// The terminal cannot be written to.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        let is_drawn = !self.drawn.is_empty();
        self.leave();
        if is_drawn { self.write(&format!("\r{CLEAR_TO_END_OF_SCREEN}")) } else { Ok(()) }
    }

    /// Typed input has moved the cursor down by this many lines.
    pub(crate) fn lower(&mut self, lines: usize) {
        if !self.drawn.is_empty() {
            self.lowered = self.lowered.saturating_add(lines);
        }
    }

    /// Moves the cursor from below the picture to its first line.
    fn move_to_the_top(&mut self, columns: usize) -> String {
        let rows: usize = self.drawn.iter().map(|(_, width)| self.rows(*width, columns)).sum();
        let rows = rows.saturating_add(std::mem::take(&mut self.lowered));
        if rows == 0 { "\r".to_owned() } else { format!("\r\x1b[{rows}A") }
    }

    /// How many rows a line of this width takes on a terminal of this width.
    fn rows(&self, width: usize, columns: usize) -> usize {
        if self.reflows { width.div_ceil(columns.max(1)).max(1) } else { 1 }
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(format!("{BEGIN}{text}{END}").as_bytes())?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::live::line::Role;
    use std::num::NonZeroU16;

    struct Emulator(vt100::Parser);

    impl Emulator {
        fn new(rows: u16, columns: u16) -> Self {
            let size = |n| NonZeroU16::new(n).unwrap();
            Self(vt100::Parser::new(size(rows), size(columns), 100))
        }

        fn shows(&self) -> Vec<String> {
            let screen = self.0.screen();
            let rows = screen.rows(0, screen.size().1.get()).map(|row| row.trim_end().to_owned());
            let mut rows: Vec<String> = rows.collect();
            while rows.last().is_some_and(String::is_empty) {
                rows.pop();
            }
            rows
        }
    }

    impl io::Write for &mut Emulator {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.process(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn lines(texts: &[&str]) -> Vec<Line> {
        texts.iter().map(|text| Line::default().with(Role::Good, *text)).collect()
    }

    /// Executes the given actions in order: prints a text, draws a list.
    fn shown(rows: u16, columns: u16, acts: &[Act]) -> Vec<String> {
        let mut emulator = Emulator::new(rows, columns);
        let mut screen = Screen::new(&mut emulator, true, false);
        for act in acts {
            match act {
                Act::Draw(texts) => screen.draw(&lines(texts), columns.into()).unwrap(),
                Act::Say(text) => screen.above(text, columns.into()).unwrap(),
                Act::Leave => screen.leave(),
                Act::Type(text) => {
                    io::Write::write_all(&mut screen.out, text.replace('\n', "\r\n").as_bytes()).unwrap();
                    screen.lower(text.matches('\n').count());
                }
                Act::Finish => screen.finish().unwrap(),
            }
        }
        emulator.shows()
    }

    enum Act {
        /// A person types, and the terminal echoes it.
        Type(&'static str),
        Finish,
        Draw(&'static [&'static str]),
        Say(&'static str),
        Leave,
    }
    use Act::{Draw, Finish, Leave, Say, Type};

    #[test]
    fn a_picture_is_redrawn_in_its_place_and_leaves_no_remains() {
        assert_eq!(shown(9, 20, &[Draw(&["a long line", "b", "c"]), Draw(&["short", "b"])]), ["short", "b"]);
        assert_eq!(shown(9, 20, &[Draw(&["a"]), Draw(&["a", "b", "c"]), Draw(&[])]), [""; 0]);
        assert_eq!(shown(3, 20, &[Draw(&["a", "b"]), Draw(&["c", "d"]), Draw(&["e", "f"])]), ["e", "f"]);
    }

    #[test]
    fn messages_stay_above_the_picture_however_long_they_are() {
        let acts = [
            Say("before\n"),
            Draw(&["a", "b"]),
            Say("0123456789\n"),
            Say("x 0123456789\n"),
            Draw(&["A", "b"]),
        ];
        assert_eq!(shown(9, 10, &acts), ["before", "0123456789", "x 01234567", "89", "A", "b"]);
    }

    #[test]
    fn a_picture_that_was_left_stays() {
        let acts = [Draw(&["a", "b"]), Leave, Say("between\n"), Draw(&["c"]), Draw(&["d"])];
        assert_eq!(shown(9, 10, &acts), ["a", "b", "between", "d"]);
    }

    #[test]
    fn what_is_typed_does_not_disturb_the_picture() {
        let typed = [Say("before\n"), Draw(&["a", "b"]), Type("ls\n\nxyz"), Draw(&["a", "b"])];
        assert_eq!(shown(9, 10, &typed), ["before", "a", "b"], "without a change");
        let typed =
            [Draw(&["a", "b"]), Type("ls\n"), Draw(&["A", "b", "c"]), Type("x"), Finish, Say("end\n")];
        assert_eq!(shown(9, 10, &typed), ["A", "b", "c", "end"]);
        let typed = [Draw(&["a", "b"]), Type("\n\n\n\n"), Say("said\n"), Draw(&["a", "c"])];
        assert_eq!(shown(4, 10, &typed), ["said", "a", "c"], "at the bottom of the screen");
        let typed = [Draw(&["a"]), Leave, Type("\n"), Draw(&["b"])];
        assert_eq!(shown(9, 10, &typed), ["a", "", "b"], "nothing is drawn that could be disturbed");
    }

    #[test]
    fn nothing_is_written_when_nothing_changed() {
        let mut out = Vec::new();
        let mut screen = Screen::new(&mut out, true, true);
        screen.draw(&lines(&["a", "b"]), 80).unwrap();
        screen.draw(&lines(&["a", "b"]), 80).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.matches(BEGIN).count(), 1, "{text:?}");
        let mut out = Vec::new();
        let mut screen = Screen::new(&mut out, false, true);
        screen.draw(&lines(&["same", "b"]), 80).unwrap();
        screen.draw(&lines(&["same", "c"]), 80).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.matches("same").count(), 1, "only what changed: {text:?}");
        assert!(!text.contains("\x1b[?25"), "the cursor is never hidden");
    }

    #[test]
    fn after_a_resize_no_line_of_the_old_picture_is_left() {
        // A terminal that wraps again: twenty columns become two rows of twelve, so the cursor moves three
        // rows up.
        let mut out = Vec::new();
        let mut screen = Screen::new(&mut out, false, true);
        screen.draw(&lines(&["01234567890123456789", "b"]), 80).unwrap();
        screen.draw(&lines(&["01234567890", "b"]), 12).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("\x1b[3A") && text.contains(CLEAR_TO_END_OF_SCREEN), "{text:?}");
        assert_eq!(text.matches('b').count(), 2, "also what did not change is written again: {text:?}");
        // A terminal that cuts lines.
        let mut emulator = Emulator::new(9, 20);
        let mut screen = Screen::new(&mut emulator, false, false);
        screen.draw(&lines(&["0123456789012345678", "b"]), 20).unwrap();
        screen.out.0.set_size(NonZeroU16::new(9).unwrap(), NonZeroU16::new(12).unwrap());
        screen.draw(&lines(&["01234567890", "b"]), 12).unwrap();
        assert_eq!(emulator.shows(), ["01234567890", "b"]);
    }
}
