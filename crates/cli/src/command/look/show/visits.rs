//! The table of a run's visits. The parts of a visit (its items, its inner flow) are indented below it.
//!
//! Owns the order: by start time, a visit before its parts. The words are those of the rows.

use super::past::Earlier;
use crate::{
    process::{output, terminal},
    text::{
        columns::{Charset, clip},
        duration::took,
        words::MAX_ITEM,
    },
};
use envoi_api::step::StepRow;
use std::collections::BTreeMap;

/// The least columns for the name of a visit with the value of its item.
const MIN_NAME: usize = 20;
/// A summary with fewer columns is not useful.
const MIN_SUMMARY: usize = 16;

/// Formats the table of visits.
///
/// `earlier`: the visits that are left out.
pub(super) fn table(visits: &[StepRow], earlier: Earlier) -> String {
    let seen = Seen::of(visits);
    let mut table =
        vec![["VISIT", "STATUS", "ATTEMPTS", "TIME", "LEADS TO", "SUMMARY"].map(str::to_owned).to_vec()];
    let mut order: Vec<(Vec<usize>, usize)> =
        visits.iter().enumerate().map(|(at, row)| (seen.path(row), at)).collect();
    order.sort();
    for (path, at) in order {
        if let Some(visit) = visits.get(at) {
            table.push(row(visit, path.len().saturating_sub(1)));
        }
    }
    let table = laid_out(table, terminal::columns_of_stdout());
    match earlier {
        Earlier::Counted(0) => table,
        Earlier::Counted(count) => {
            format!("{table}… and {count} earlier visits; --limit N shows more, --limit 0 all\n")
        }
        Earlier::Some => format!("{table}… and earlier visits; --limit N shows more, --limit 0 all\n"),
    }
}

/// The visits in the order of their start, with the index of each.
struct Seen<'r> {
    visits: &'r [StepRow],
    places: BTreeMap<&'r str, usize>,
}

impl<'r> Seen<'r> {
    fn of(visits: &'r [StepRow]) -> Self {
        let places = visits.iter().enumerate().map(|(at, row)| (row.place.as_str(), at));
        Self { visits, places: places.collect() }
    }

    /// The visit, then the visits that contain it, up to the outermost.
    fn wholes(&self, at: usize) -> impl Iterator<Item = usize> {
        let whole = |at: &usize| {
            let whole = self.visits.get(*at)?.part_of.as_deref()?;
            self.places.get(whole).copied()
        };
        core::iter::successors(Some(at), whole)
    }

    /// The sort key of a visit: the indexes of the visits that contain it, outermost first, then its own.
    fn path(&self, row: &StepRow) -> Vec<usize> {
        // Items are in the order of their numbers, whichever started first.
        let own = |at: usize| {
            let item = self.visits.get(at).and_then(|row| row.item);
            item.and_then(|item| usize::try_from(item).ok()).unwrap_or(at)
        };
        let at = self.places.get(row.place.as_str()).copied().unwrap_or_default();
        let mut path: Vec<usize> = self.wholes(at).map(own).collect();
        path.reverse();
        path
    }
}

fn row(visit: &StepRow, depth: usize) -> Vec<String> {
    let value = visit.value.as_ref();
    let value =
        value.map_or_else(String::new, |value| format!(" {}", clip(value, MAX_ITEM, Charset::Unicode)));
    let dash = || "-".to_owned();
    vec![
        format!("{}{}{value}", "  ".repeat(depth), visit.place),
        visit.state.spoken().to_owned(),
        if visit.attempts == 0 { dash() } else { visit.attempts.to_string() },
        visit.took_ms.map_or_else(dash, took),
        visit.leads_to.as_deref().map_or_else(dash, |word| spoken(word).to_owned()),
        summary(visit),
    ]
}

/// The summary of a visit. "from the cache" is first, because the end of a line may be cut.
fn summary(visit: &StepRow) -> String {
    match (&visit.cached_from, visit.summary.as_str()) {
        (None, summary) => summary.to_owned(),
        (Some(_), "") => "from the cache".to_owned(),
        (Some(_), summary) => format!("from the cache: {summary}"),
    }
}

/// The routing of a visit in words for people. Programs get the word of the signal.
fn spoken(word: &str) -> &str {
    match word {
        "advance" => "goes on",
        "loop" => "goes back",
        "terminate" => "stops",
        "branch" => "branches",
        other => other,
    }
}

/// A table whose summaries use the remaining width. If that is too narrow, each summary gets its own line.
fn laid_out(mut rows: Vec<Vec<String>>, columns: Option<usize>) -> String {
    let Some(columns) = columns else { return output::table(&rows) };
    let without: Vec<Vec<String>> = rows.iter().map(|row| row.iter().take(5).cloned().collect()).collect();
    let taken = |rows: &[Vec<String>]| {
        output::table(rows).lines().map(|line| line.chars().count()).max().unwrap_or(0)
    };
    let missing = taken(&without).saturating_add(2 + MIN_SUMMARY).saturating_sub(columns);
    if missing > 0 {
        // The value of an item is at the end of its name.
        let widest = rows.iter().filter_map(|row| row.first()).map(|name| name.chars().count()).max();
        let most = widest.unwrap_or(0).saturating_sub(missing).max(MIN_NAME);
        for name in rows.iter_mut().filter_map(|row| row.first_mut()) {
            *name = clip(name, most, Charset::Unicode);
        }
    }
    let without: Vec<Vec<String>> = rows.iter().map(|row| row.iter().take(5).cloned().collect()).collect();
    let taken = taken(&without);
    match columns.checked_sub(taken.saturating_add(2)).filter(|room| *room >= MIN_SUMMARY) {
        Some(room) => {
            for summary in rows.iter_mut().filter_map(|row| row.get_mut(5)) {
                *summary = clip(summary, room, Charset::Unicode);
            }
            output::table(&rows)
        }
        None => output::fitted(&rows, Some(columns)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_take_what_room_there_is() {
        let row = |cells: [&str; 6]| cells.map(str::to_owned).to_vec();
        let rows = || {
            vec![
                row(["VISIT", "STATUS", "ATTEMPTS", "TIME", "LEADS TO", "SUMMARY"]),
                row([
                    "  0.test.1",
                    "succeeded",
                    "1",
                    "0.0 s",
                    "advance",
                    "a summary of more than sixteen columns",
                ]),
            ]
        };
        let text = laid_out(rows(), Some(70));
        assert!(
            text.lines().all(|line| line.chars().count() <= 70) && text.contains("a summary of more t…"),
            "{text}"
        );
        let told = laid_out(rows(), Some(40));
        assert!(told.starts_with("  0.test.1: status succeeded, attempts\n    1, time "), "{told}");
        assert_eq!(laid_out(rows(), None), output::table(&rows()));
        let long = || {
            let mut rows = rows();
            rows[1][0] = "  0.test.1 an-item-with-a-value-of-forty-columns".to_owned();
            rows
        };
        let text = laid_out(long(), Some(80));
        assert!(
            text.lines().all(|line| line.chars().count() <= 80) && text.contains("  0.test.1 an-item-"),
            "{text}"
        );
        assert!(text.contains("…  succeeded") && text.contains("a summary of mo…"), "{text}");
    }
}
