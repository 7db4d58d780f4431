//! Messages on stderr. A reader that has gone away loses the message and ends nothing: `envoi run flow.yaml 2>&1 | head -1` is
//! ordinary use, and the run continues.

use crate::text::diff;
use std::{
    fmt::Arguments,
    io::{self, Write as _},
};

/// Prints a line, or several. What would move the cursor or change a colour is escaped: a message has names of files in it.
pub(crate) fn line(message: Arguments<'_>) {
    text(format_args!("{}\n", diff::lines(&message.to_string())));
}

/// Prints text as it is.
pub(crate) fn text(message: Arguments<'_>) {
    let mut stderr = io::stderr().lock();
    // There is no other place where this could be reported.
    let _ = stderr.write_fmt(message).and_then(|()| stderr.flush());
}
