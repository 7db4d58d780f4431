//! The log of an attempt: lines on its standard output.

use std::io::{self, Write as _};

/// Writes one line to the log. A log that cannot be written does not stop the attempt.
pub(crate) fn print(line: &str) {
    let _unread = writeln!(io::stdout().lock(), "{line}");
}
