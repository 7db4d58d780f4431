//! The terminal where a person answers: lines from the keyboard while the question is open, and text to the
//! screen.
//!
//! Owns that only intended input is an answer: input from before the question was shown, and input left over
//! at its end, is discarded. Shown text cannot control the terminal. No lock is held while a person thinks,
//! so signals are handled at once, and other code can print.

use crate::{process::terminal, text::diff, view::questions::is_open};
use envoi_journal::Reader;
use envoi_kernel::ids::{InterruptId, RunId};
use std::{
    io::{self, BufRead, BufReader, Read, Write},
    time::Duration,
};

/// How often the journal is polled while a person thinks.
const EVERY: Duration = Duration::from_millis(250);
/// Lines of the terminal, which end when the question is closed. When dropped, it discards unread input, so
/// that the next reader (another question, or a shell) does not get it.
pub(crate) struct Keyboard<'a> {
    lines: BufReader<Attentive<'a>>,
}

impl<'a> Keyboard<'a> {
    /// Reads an answer to this question.
    pub(crate) fn new(reader: &'a Reader, run: &'a RunId, question: &'a InterruptId) -> Self {
        Self { lines: BufReader::new(Attentive { reader, run, question }) }
    }

    /// From here on, a line is an answer. Earlier input was typed before the question was shown.
    pub(crate) fn begin(&mut self) {
        let held = self.lines.buffer().len();
        self.lines.consume(held);
        terminal::discard();
    }
}

impl Read for Keyboard<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.lines.read(buffer)
    }
}

impl BufRead for Keyboard<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.lines.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.lines.consume(amount);
    }
}

impl Drop for Keyboard<'_> {
    fn drop(&mut self) {
        terminal::discard();
    }
}

/// Reads the terminal while the question is open.
struct Attentive<'a> {
    reader: &'a Reader,
    run: &'a RunId,
    question: &'a InterruptId,
}

impl Read for Attentive<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match terminal::has_input(EVERY) {
                Ok(false) | Err(rustix::io::Errno::INTR) if is_open(self.reader, self.run, self.question) => {
                }
                Ok(false) | Err(rustix::io::Errno::INTR) => return Ok(0),
                Ok(true) => return rustix::io::read(io::stdin(), buffer).map_err(io::Error::from),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// stderr, for text that is partly from a step, a flow or another person.
pub(crate) struct Screen;

impl Write for Screen {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let shown = diff::lines(&String::from_utf8_lossy(text));
        io::stderr().write_all(shown.as_bytes())?;
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
