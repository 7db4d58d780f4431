//! Describes the terminal on stderr: whether it gets a live view, what it can show, and its size.
//!
//! Only this module reads the variables for that. A pipe, a file, `TERM=dumb` and a background command get
//! plain lines.

use super::failure::Failure;
use crate::text::columns::{Charset, width};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::getpgrp,
    termios::{self, QueueSelector, tcflush},
};
use std::{
    env,
    io::{self, BufRead as _, IsTerminal as _, Write as _},
    os::fd::AsFd,
    time::Duration,
};

/// The size of a terminal that does not report it.
const USUAL: (usize, usize) = (80, 24);

/// The capabilities of the terminal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terminal {
    pub(crate) charset: Charset,
    pub(crate) colour: bool,
    /// Whether it wraps lines again when it becomes narrower. Most terminals do. xterm, rxvt, screen and the
    /// Linux console cut them.
    pub(crate) reflows: bool,
}

impl Terminal {
    /// Returns the terminal on stderr, if it can show a changing picture and this command is in the
    /// foreground.
    pub(crate) fn of_stderr() -> Option<Self> {
        let able = termios::isatty(io::stderr()) && is_able(&text("TERM")) && is_in_front();
        able.then(|| Self {
            charset: charset(&[text("LC_ALL"), text("LC_CTYPE"), text("LANG")]),
            colour: text("NO_COLOR").is_empty(),
            reflows: reflows(&text("TERM"), |name| !text(name).is_empty()),
        })
    }
}

/// Columns and lines of stderr now.
pub(crate) fn size() -> (usize, usize) {
    match termios::tcgetwinsize(io::stderr()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col.into(), size.ws_row.into()),
        _ => USUAL,
    }
}

/// The width of stdout, if it is a terminal that reports it.
pub(crate) fn columns_of_stdout() -> Option<usize> {
    columns_of(io::stdout())
}

/// The width of stderr, if it is a terminal that reports it.
pub(crate) fn columns_of_stderr() -> Option<usize> {
    columns_of(io::stderr())
}

fn columns_of(stream: impl AsFd) -> Option<usize> {
    let size = termios::tcgetwinsize(stream).ok()?;
    (size.ws_col > 0).then(|| size.ws_col.into())
}

/// Asks the person at the terminal this question. Returns `false` for "no" and without a terminal.
pub(crate) fn agrees(question: &str) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Ok(false);
    }
    let mut stderr = io::stderr().lock();
    stderr.write_all(question.as_bytes()).and_then(|()| stderr.flush()).map_err(Failure::store)?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).map_err(Failure::store)?;
    Ok(matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

/// Whether the command may write to the terminal: not while it is a background job. A terminal that is not
/// the controlling one has no background jobs.
pub(crate) fn is_in_front() -> bool {
    termios::tcgetpgrp(io::stderr()).map_or(true, |front| front == getpgrp())
}

fn text(name: &str) -> String {
    env::var(name).unwrap_or_default()
}

fn is_able(term: &str) -> bool {
    !matches!(term, "" | "dumb" | "unknown")
}

/// The first variable that is set decides, as for every program (POSIX, "Internationalization Variables").
fn charset(locale: &[String]) -> Charset {
    let set = locale.iter().find(|value| !value.is_empty()).map_or("", String::as_str).to_ascii_lowercase();
    match set.contains("utf-8") || set.contains("utf8") {
        true => Charset::Unicode,
        false => Charset::Ascii,
    }
}

fn reflows(term: &str, is_set: impl Fn(&str) -> bool) -> bool {
    let cuts = is_set("XTERM_VERSION") || is_set("STY") || term.starts_with("rxvt") || term == "linux";
    // tmux inherits the variables of the terminal around it, so it is checked first.
    is_set("TMUX") || !cuts
}

/// Pasted or typed input has ended if nothing arrives for this long.
const QUIET: Duration = Duration::from_millis(10);

/// The most checks for that end, so that continuous input does not block the command.
const MOST_LOOKS: u32 = 50;

/// Discards unread keyboard input. Does nothing in a background command, because reading would stop it.
pub(crate) fn discard() {
    if !is_in_front() {
        return;
    }
    for _ in 0..MOST_LOOKS {
        // A flush discards only what the terminal holds, and more input may follow. A closed terminal has
        // none.
        if tcflush(io::stdin(), QueueSelector::IFlush).is_err() || !has_input(QUIET).unwrap_or(false) {
            return;
        }
    }
}

/// Counts how many lines the cursor moved down because of echoed input since the last call, on a terminal of
/// this width. The input is discarded. A background command must not call this, because reading would stop
/// it.
pub(crate) fn typed_lines(columns: usize) -> usize {
    let mut lines = 0_usize;
    if !termios::isatty(io::stdin()) {
        return 0;
    }
    for _ in 0..MOST_LOOKS {
        if !has_input(Duration::ZERO).unwrap_or(false) {
            break;
        }
        let mut typed = [0; 4_096];
        match rustix::io::read(io::stdin(), &mut typed) {
            Ok(count @ 1..) => {
                lines = lines.saturating_add(rows_of(typed.get(..count).unwrap_or_default(), columns))
            }
            // The terminal is closed, or the input is Ctrl-D.
            _ => break,
        }
    }
    lines
}

/// How many lines a terminal moves down when it echoes this input: one per line end, and one each time a line
/// fills the width.
fn rows_of(typed: &[u8], columns: usize) -> usize {
    let text = String::from_utf8_lossy(typed);
    let ended = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    ended.map(|line| width(line).checked_div(columns).unwrap_or(0).saturating_add(1)).sum()
}

pub(crate) fn has_input(within: Duration) -> rustix::io::Result<bool> {
    let stdin = io::stdin();
    let within = Timespec { tv_sec: 0, tv_nsec: i64::from(within.subsec_nanos()) };
    poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&within)).map(|ready| ready > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_lines_are_counted_as_the_terminal_breaks_them() {
        for (typed, rows) in
            [("", 0), ("abc", 0), ("\n", 1), ("a\n\nb\n", 3), ("0123456789abc\n", 2), ("日本語日本語\n", 2)]
        {
            assert_eq!(rows_of(typed.as_bytes(), 10), rows, "{typed:?}");
        }
    }

    #[test]
    fn the_environment_says_what_a_terminal_can_show() {
        for (locale, expected) in [
            (["", "", "C.UTF-8"], Charset::Unicode),
            (["", "en_US.utf8", "C"], Charset::Unicode),
            (["C", "", "en_US.UTF-8"], Charset::Ascii),
            (["", "", ""], Charset::Ascii),
        ] {
            assert_eq!(charset(&locale.map(str::to_owned)), expected, "{locale:?}");
        }
        for (term, set, expected) in [
            ("xterm-256color", "", true),
            ("xterm-256color", "XTERM_VERSION", false),
            ("xterm-256color", "XTERM_VERSION TMUX", true),
            ("screen", "STY", false),
            ("linux", "", false),
        ] {
            let is_set = |name: &str| set.split(' ').any(|found| found == name);
            assert_eq!(reflows(term, is_set), expected, "{term} {set}");
        }
        for (term, expected) in [("", false), ("dumb", false), ("vt100", true)] {
            assert_eq!(is_able(term), expected, "{term}");
        }
    }
}
