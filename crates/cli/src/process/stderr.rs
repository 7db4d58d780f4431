//! Messages on stderr. If the reader has closed the pipe, the message is lost and the process continues:
//! `envoi run flow.yaml 2>&1 | head -1` is ordinary use.

use crate::text::diff;
use std::{
    fmt::Arguments,
    io::{self, Write as _},
};

/// Prints one or more lines. Terminal control characters are escaped, because a message can contain file
/// names.
pub(crate) fn line(message: Arguments<'_>) {
    text(format_args!("{}\n", diff::lines(&message.to_string())));
}

/// Prints text unchanged.
pub(crate) fn text(message: Arguments<'_>) {
    let mut stderr = io::stderr().lock();
    // There is no other place to report this error.
    let _ = stderr.write_fmt(message).and_then(|()| stderr.flush());
}
