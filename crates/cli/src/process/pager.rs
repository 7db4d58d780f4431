//! Shows long texts on a terminal with `$PAGER`, or `less`.
//!
//! A text that fits the terminal, or goes to a pipe or file, needs no pager. `PAGER=` (empty) and `PAGER=cat`
//! disable it.

use super::{environment, terminal};
use signal_hook::{consts::SIGINT, flag};
use std::{
    io::{self, IsTerminal as _, Write as _},
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// Shows the text in a pager. Returns `false` if the caller has to print it.
pub(crate) fn shows(text: &str) -> bool {
    let fits = text.lines().count() < terminal::size().1;
    if terminal::columns_of_stdout().is_none() || fits || !io::stdin().is_terminal() {
        return false;
    }
    let pager = environment::set_or_empty("PAGER").unwrap_or_else(|| "less".to_owned());
    if matches!(pager.trim(), "" | "cat") {
        return false;
    }
    // Ctrl-C is for the pager. This process waits until the pager ends.
    SHOWN.store(true, Ordering::SeqCst);
    let heeded = flag::register(SIGINT, Arc::new(AtomicBool::new(false)));
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("command -v {} > /dev/null || exit 127; exec {pager}", program(&pager))])
        .stdin(Stdio::piped());
    if environment::set_or_empty("LESS").is_none() {
        // `less` ends at once if the text fits, shows colours, and leaves the text on the terminal.
        command.env("LESS", "FRX");
    }
    let Ok(mut child) = command.spawn() else {
        SHOWN.store(false, Ordering::SeqCst);
        return false;
    };
    if let Some(mut stdin) = child.stdin.take() {
        // The write fails if the person closes the pager before the end.
        let _ = stdin.write_all(text.as_bytes());
    }
    let shown = child.wait().is_ok_and(|status| status.code() != Some(NO_SUCH_PROGRAM));
    if let Ok(id) = heeded {
        signal_hook::low_level::unregister(id);
    }
    SHOWN.store(false, Ordering::SeqCst);
    shown
}

static SHOWN: AtomicBool = AtomicBool::new(false);

/// Whether a pager has the terminal.
pub(super) fn is_shown() -> bool {
    SHOWN.load(Ordering::SeqCst)
}

/// The exit code of the shell if the pager does not exist.
const NO_SUCH_PROGRAM: i32 = 127;

/// The program of a command line.
fn program(pager: &str) -> &str {
    pager.split_whitespace().next().unwrap_or(pager)
}
