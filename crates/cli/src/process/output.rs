//! Writing data to stdout.

use crate::process::stderr;
use crate::{process::failure::Failure, text::diff};
use serde::Serialize;
use std::io::{self, Write as _};

/// Writes text to stdout as it is. A reader that has gone away ends the command quietly.
pub(crate) fn data(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::machine("stdout", error)),
        _ => Ok(()),
    }
}

/// Writes a row as JSON, in one line.
pub(crate) fn row(row: &impl Serialize) -> Result<(), Failure> {
    data(&line(row))
}

/// A row as JSON, in one line. The members of every row have names that are texts, so that writing it cannot fail.
pub(crate) fn line(row: &impl Serialize) -> String {
    serde_json::to_string(row).unwrap_or_default() + "\n"
}

/// A closed stdout or stderr is no reason for a message: `envoi runs | head -1` is ordinary use. Rust ignores SIGPIPE, so a
/// write returns an error; [`data`] swallows it, and `println!` is not used for data.
pub(crate) fn die_quietly_on_a_closed_pipe() {
    std::panic::set_hook(Box::new(|info| {
        let broken_pipe = info.to_string().contains("Broken pipe");
        if !broken_pipe {
            stderr::line(format_args!(
                "envoi: a defect of ours: {info}\nPlease report it, with the command that you gave."
            ));
        }
    }));
}

/// Columns of text that does nothing to a terminal, padded to the widest cell, two spaces apart.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let shown = |row: &Vec<String>| row.iter().map(|cell| diff::printable(cell)).collect();
    let rows: Vec<Vec<String>> = rows.iter().map(shown).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width =
        |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(|row| line(row) + "\n").collect()
}
