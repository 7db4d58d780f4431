//! Messages to the person at the terminal, on stderr. A live view prints them above its picture.

use crate::process::stderr;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A view that controls the terminal now.
pub(crate) trait MessageArea: Send + Sync {
    /// Prints `text` above the picture. Returns `false` if the view draws nothing now. The caller then prints
    /// it directly.
    fn print_above(&self, text: &str) -> bool;
    /// Draws the last picture. Later output appears below it.
    fn close(&self);
}

/// The active view.
static SCREEN: Mutex<Option<Weak<dyn MessageArea>>> = Mutex::new(None);

/// Sends messages through `screen` as long as it lives.
pub(crate) fn print_through(screen: Weak<dyn MessageArea>) {
    *SCREEN.lock().unwrap_or_else(PoisonError::into_inner) = Some(screen);
}

/// Prints a message on stderr, above the picture if there is one. `text` may have several lines.
pub(crate) fn say(text: &str) {
    if !screen().is_some_and(|screen| screen.print_above(text)) {
        stderr::line(format_args!("{text}"));
    }
}

/// Prints the last message of a command, below the picture.
pub(crate) fn say_last(text: &str) {
    if let Some(screen) = screen() {
        screen.close();
    }
    stderr::line(format_args!("{text}"));
}

fn screen() -> Option<Arc<dyn MessageArea>> {
    SCREEN.lock().unwrap_or_else(PoisonError::into_inner).as_ref().and_then(Weak::upgrade)
}
