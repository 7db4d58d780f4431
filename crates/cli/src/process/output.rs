//! Writing data to stdout.

use crate::process::stderr;
use crate::{
    process::{failure::Failure, terminal},
    text::{
        columns::{Charset, clip, wrapped},
        diff,
    },
};
use serde::Serialize;
use std::io::{self, IsTerminal as _, Write as _};

/// Writes text to stdout unchanged. If the reader has closed the pipe, the command ends quietly.
pub(crate) fn data(text: &str) -> Result<(), Failure> {
    bytes(text.as_bytes())
}

/// As [`data`], for bytes.
pub(crate) fn bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::machine("stdout", error)),
        _ => Ok(()),
    }
}

/// Writes a row as one line of JSON.
pub(crate) fn row(row: &impl Serialize) -> Result<(), Failure> {
    data(&line(row))
}

/// Formats a row as one line of JSON for stdout. All member names of rows are strings, so this cannot fail.
pub(crate) fn line(row: &impl Serialize) -> String {
    json(serde_json::to_string(row).unwrap_or_default() + "\n")
}

/// Prepares JSON for stdout. Programs get it unchanged. For a terminal, control characters are escaped.
pub(crate) fn json(text: String) -> String {
    match io::stdout().is_terminal() {
        true => diff::json(&text),
        false => text,
    }
}

/// Ends quietly when stdout or stderr is closed, because `envoi runs | head -1` is ordinary use. Rust ignores
/// SIGPIPE, so a write returns an error. [`data`] handles it, and `println!` is not used for data.
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

/// Formats printable columns, padded to the widest cell, two spaces apart.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let shown = |row: &Vec<String>| row.iter().map(|cell| diff::printable(cell)).collect();
    let rows: Vec<Vec<String>> = rows.iter().map(shown).collect();
    let widths = widths(&rows);
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(|row| line(row) + "\n").collect()
}

/// The width of the widest cell of each column.
fn widths(rows: &[Vec<String>]) -> Vec<usize> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width =
        |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    (0..columns).map(|column| width(column).unwrap_or(0)).collect()
}

/// The end of an id, used as its short form.
fn end_of(id: &str) -> String {
    id.get(id.len().saturating_sub(SHORT_ID)..).unwrap_or(id).to_owned()
}

/// The narrowest width at which lines break only between words.
const MIN_COLUMNS: usize = 20;

/// Returns the table if it fits. Otherwise formats each row as a sentence that breaks between words.
pub(crate) fn fitted(rows: &[Vec<String>], columns: Option<usize>) -> String {
    let table = table(rows);
    let widest = table.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    let Some((header, rows)) = rows.split_first().filter(|_| columns.is_some_and(|most| widest > most))
    else {
        return table;
    };
    let row = |row: &Vec<String>| -> String {
        let cells = header.iter().zip(row).skip(1).filter(|(_, cell)| !matches!(cell.as_str(), "-" | ""));
        let cells: Vec<String> =
            cells.map(|(name, cell)| format!("{} {cell}", name.to_lowercase())).collect();
        let sentence = format!("{}: {}", row.first().map_or("", String::as_str), cells.join(", "));
        // The row of a part is indented.
        let indent = sentence.len().saturating_sub(sentence.trim_start().len());
        let first = " ".repeat(indent);
        let most = columns.unwrap_or(usize::MAX).max(MIN_COLUMNS);
        wrapped(&sentence, &first, &format!("{first}  "), most).join("\n") + "\n"
    };
    rows.iter().map(row).collect()
}

/// The length of a short id: in practice enough to identify a run or a question of a store.
const SHORT_ID: usize = 8;
/// The narrowest width of a cell that is cut.
const MIN_CELL: usize = 6;

/// Formats a table that fits stdout. On a narrow terminal, the ids in the columns `ids` are cut to their
/// ends, which every command accepts. Then the cells of the columns `soft` are cut. If that is not enough,
/// each row becomes a sentence.
pub(crate) fn list(rows: &[Vec<String>], ids: &[usize], soft: &[usize]) -> String {
    listed(rows, (ids, soft), terminal::columns_of_stdout())
}

fn listed(rows: &[Vec<String>], (ids, soft): (&[usize], &[usize]), columns: Option<usize>) -> String {
    let widest = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    let whole = table(rows);
    let Some(most) = columns.filter(|most| widest(&whole) > *most) else { return whole };
    let mut rows = rows.to_vec();
    for row in rows.iter_mut().skip(1) {
        for (_, cell) in row.iter_mut().enumerate().filter(|(column, _)| ids.contains(column)) {
            *cell = end_of(cell);
        }
    }
    let mut widths = widths(&rows);
    let mut excess = widest(&table(&rows)).saturating_sub(most);
    while excess > 0 {
        let width = |column: &usize| widths.get(*column).copied().unwrap_or(0);
        let Some(column) = soft.iter().copied().filter(|column| width(column) > MIN_CELL).max_by_key(width)
        else {
            break;
        };
        if let Some(width) = widths.get_mut(column) {
            *width -= 1;
        }
        excess -= 1;
    }
    let mut cut = rows.clone();
    for row in &mut cut {
        for column in soft {
            if let (Some(cell), Some(width)) = (row.get_mut(*column), widths.get(*column)) {
                *cell = clip(cell, *width, Charset::Unicode);
            }
        }
    }
    let text = table(&cut);
    if widest(&text) > most { fitted(&rows, columns) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_without_room_is_printed_as_sentences() {
        let row = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
        let rows =
            [row(&["BOUND", "USED", "RESERVED", "LIMIT"]), row(&["attempts", "3", "-", "10, raised by 5"])];
        let wide = "BOUND     USED  RESERVED  LIMIT\nattempts  3     -         10, raised by 5\n";
        let narrow = "attempts: used 3, limit 10, raised by 5\n";
        let two_lines = "attempts: used 3, limit 10,\n  raised by 5\n";
        for (columns, told) in [(None, wide), (Some(41), wide), (Some(40), narrow), (Some(30), two_lines)] {
            assert_eq!(fitted(&rows, columns), told, "{columns:?}");
        }
    }

    #[test]
    fn a_list_takes_the_columns_that_there_are() {
        let row = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
        let rows = [
            row(&["RUN", "FLOW", "STATUS", "BY"]),
            row(&["run_01m80hg8hfe1c9sx2f7q3gbxhg", "release-the-shop", "succeeded", "ada"]),
            row(&["run_01m80hg8hfe1c9sx2f7q3gaaaa", "shop", "failed", "somebody-else"]),
        ];
        let list = |columns| listed(&rows, (&[0], &[1, 3]), columns);
        assert_eq!(list(None), table(&rows));
        assert_eq!(list(Some(74)), table(&rows), "it has exactly 74 columns");
        let ends = "RUN       FLOW              STATUS     BY\n\
                    7q3gbxhg  release-the-shop  succeeded  ada\n\
                    7q3gaaaa  shop              failed     somebody-else\n";
        assert_eq!(list(Some(73)), ends);
        let cut = "RUN       FLOW        STATUS     BY\n\
                   7q3gbxhg  release-t…  succeeded  ada\n\
                   7q3gaaaa  shop        failed     somebody…\n";
        assert_eq!(list(Some(42)), cut);
        let cut = list(Some(36));
        assert!(cut.lines().all(|line| line.chars().count() <= 36) && cut.contains("releas…"), "{cut}");
        let words = "7q3gbxhg: flow\n  release-the-shop, status\n  succeeded, by ada\n";
        assert!(list(Some(30)).starts_with(words), "{}", list(Some(30)));
    }
}
