//! How this command is called again: a command that a message suggests has to reach the same runs.
//!
//! Only an address that was given on the command line is repeated; one of the environment is there the next time, too.

use std::sync::OnceLock;

static CALLED: OnceLock<String> = OnceLock::new();

/// From now on commands are to be given with these words before their own.
pub(crate) fn with(options: &str) {
    // Set once, where the command line is read.
    drop(CALLED.set(format!("envoi {options}")));
}

/// `envoi`, with what has to stand behind it.
pub(crate) fn envoi() -> &'static str {
    CALLED.get().map_or("envoi", String::as_str)
}
