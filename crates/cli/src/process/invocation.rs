//! The command line that reaches the same runs again, for the commands that messages suggest.
//!
//! It repeats an address only if the command line gave it. An address from the environment is still there the
//! next time.

use std::sync::OnceLock;

static CALLED: OnceLock<String> = OnceLock::new();

/// Sets the options that suggested commands start with.
pub(crate) fn with(options: &str) {
    // Set once, where the command line is read.
    drop(CALLED.set(format!("envoi {options}")));
}

/// `envoi` with the options that it needs.
pub(crate) fn envoi() -> &'static str {
    CALLED.get().map_or("envoi", String::as_str)
}
