//! The terminal that a person answers on: lines from the keyboard, as long as the question is open, and text to the screen.
//!
//! Owns what keeps an answer an answer: what was typed before a question was seen, or is left when its asking ends, is
//! discarded; nothing that is shown does anything to the terminal. No lock is held while a person thinks: a signal is obeyed
//! at once, and others may say something.

use crate::{diff, live};
use envoi_journal::{InterruptState, Reader};
use envoi_kernel::ids::{InterruptId, RunId};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    termios::{QueueSelector, tcflush},
};
use std::{
    io::{self, BufRead, BufReader, Read, Write},
    time::Duration,
};

/// How often the journal is looked at while a person thinks.
const EVERY: Duration = Duration::from_millis(250);
/// How long nothing comes after what was typed ahead, or pasted, has come to its end.
const QUIET: Duration = Duration::from_millis(10);
/// Looks for that; a keyboard that never rests is not waited for.
const MOST_LOOKS: u32 = 50;

/// What has been typed and not been read is forgotten. Not by a command in the background: that would stop it.
pub(crate) fn discard() {
    if !live::is_in_front() {
        return;
    }
    for _ in 0..MOST_LOOKS {
        // More than the terminal holds comes up behind it; a terminal that is gone has nothing.
        if tcflush(io::stdin(), QueueSelector::IFlush).is_err() || !has_input(QUIET).unwrap_or(false) {
            return;
        }
    }
}

fn has_input(within: Duration) -> rustix::io::Result<bool> {
    let stdin = io::stdin();
    let within = Timespec { tv_sec: 0, tv_nsec: i64::from(within.subsec_nanos()) };
    poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&within)).map(|ready| ready > 0)
}

/// Lines of the terminal; they end when the question is closed meanwhile. Dropped, nothing of them is left for whoever reads
/// next: another question, or a shell.
pub(crate) struct Keyboard<'a> {
    lines: BufReader<Attentive<'a>>,
}

impl<'a> Keyboard<'a> {
    /// For an answer to this question.
    pub(crate) fn new(reader: &'a Reader, run: &'a RunId, asked: &'a InterruptId) -> Self {
        Self { lines: BufReader::new(Attentive { reader, run, asked }) }
    }

    /// From here on a line is an answer: what came before was typed by somebody who had not seen the question.
    pub(crate) fn begin(&mut self) {
        let held = self.lines.buffer().len();
        self.lines.consume(held);
        discard();
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
        discard();
    }
}

/// What the terminal gives as long as the question is open.
struct Attentive<'a> {
    reader: &'a Reader,
    run: &'a RunId,
    asked: &'a InterruptId,
}

impl Read for Attentive<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match has_input(EVERY) {
                Ok(false) | Err(rustix::io::Errno::INTR) if is_open(self.reader, self.run, self.asked) => {}
                Ok(false) | Err(rustix::io::Errno::INTR) => return Ok(0),
                Ok(true) => return rustix::io::read(io::stdin(), buffer).map_err(io::Error::from),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Whether the question can still be answered.
pub(crate) fn is_open(reader: &Reader, run: &RunId, interrupt: &InterruptId) -> bool {
    reader.question(run, interrupt).is_ok_and(|row| {
        row.state == InterruptState::Open && !crate::command::inbox::has_lapsed(&row, envoi_engine::now())
    })
}

/// stderr, for text of which a part came from a step, a flow or another person.
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
