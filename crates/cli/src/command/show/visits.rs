//! The table of a run's visits: what is part of a visit (its items, the flow that it runs) stands indented below it.
//!
//! Owns the order: as they began, a whole before its parts. What a visit came to is its hand-off's word; of an open one, what
//! it is at now.

use crate::{
    process::{output, terminal},
    text::{
        columns::{Charset, clip},
        duration::took,
        headline::{headline, words_of},
        location,
        words::{head, item, items},
    },
};
use envoi_contract::{handoff::Status as HandoffStatus, time::Timestamp};
use envoi_kernel::{
    Event, Progress, Record, Run,
    event::{About, HandoffWritten},
    ids::{AttemptId, VisitId},
};
use std::collections::{BTreeMap, BTreeSet};

/// Columns of a visit with the value of its item that are always left.
const MIN_NAME: usize = 20;
/// Fewer columns of a summary tell nothing.
const MIN_SUMMARY: usize = 16;

/// What the records tell of a visit.
#[derive(Default)]
struct Seen<'r> {
    /// How many visits began before it.
    order: usize,
    attempts: u32,
    /// When its first event happened, and when its hand-off was written.
    began: Option<Timestamp>,
    ended: Option<Timestamp>,
    handoff: Option<&'r HandoffWritten>,
    /// The words of its data for what it came to.
    words: Option<String>,
    /// Of a whole: the values of its items.
    values: Vec<String>,
}

impl Seen<'_> {
    /// The time of its last attempt; of a whole, from its beginning to its end.
    fn took_ms(&self, of_attempt: u64) -> u64 {
        let since =
            |(began, ended): (Timestamp, Timestamp)| ended.as_millis().saturating_sub(began.as_millis());
        match self.began.zip(self.ended).filter(|_| self.attempts == 0) {
            Some(times) => u64::try_from(since(times)).unwrap_or(0),
            None => of_attempt,
        }
    }
}

/// See the module.
pub(super) fn table(run: &Run, records: &[Record], running: &[AttemptId], most: usize) -> String {
    let seen = seen(records);
    let mut rows =
        vec![["VISIT", "STATUS", "ATTEMPTS", "TIME", "LEADS TO", "SUMMARY"].map(str::to_owned).to_vec()];
    let mut order: Vec<(Vec<usize>, &VisitId)> =
        seen.keys().map(|visit| (path(&seen, visit), visit)).collect();
    let earlier = keep_newest(&mut order, &seen, most);
    order.sort();
    for (path, visit) in order {
        let item = visit.item().and_then(|item| usize::try_from(item).ok());
        let value = item.and_then(|item| seen.get(&visit.whole())?.values.get(item));
        if let Some(found) = seen.get(visit) {
            rows.push(row((run, running), (visit, path.len().saturating_sub(1)), found, value));
        }
    }
    let table = laid_out(rows, terminal::columns_of_stdout());
    match earlier {
        0 => table,
        _ => format!("{table}… and {earlier} earlier visits; --limit N shows more, --limit 0 all\n"),
    }
}

/// Leaves the visits that began last, and what they are part of. Returns how many are left out.
fn keep_newest(
    order: &mut Vec<(Vec<usize>, &VisitId)>,
    seen: &BTreeMap<VisitId, Seen<'_>>,
    most: usize,
) -> usize {
    let all = order.len();
    if all <= most {
        return 0;
    }
    let began = |visit: &VisitId| seen.get(visit).map_or(0, |seen| seen.order);
    order.sort_by_key(|(_, visit)| began(visit));
    let kept: BTreeSet<VisitId> =
        order.iter().skip(all.saturating_sub(most)).flat_map(|(_, visit)| wholes(visit)).collect();
    order.retain(|(_, visit)| kept.contains(visit));
    all.saturating_sub(order.len())
}

fn seen(records: &[Record]) -> BTreeMap<VisitId, Seen<'_>> {
    let mut seen: BTreeMap<VisitId, Seen<'_>> = BTreeMap::new();
    for record in records {
        let order = seen.len();
        let mut of = |visit: &VisitId| {
            for whole in wholes(visit).into_iter().rev() {
                seen.entry(whole).or_insert(Seen { order, began: Some(record.at), ..Seen::default() });
            }
        };
        match &record.event {
            Event::AttemptStarted(started) => of(&started.attempt.visit),
            Event::FannedOut(fanned) => of(&fanned.visit),
            Event::FlowEntered(entered) => of(&entered.visit),
            Event::InterruptRaised(raised) => of(&raised.visit),
            Event::HandoffWritten(written) => of(&written.visit),
            _ => {}
        }
        match &record.event {
            Event::AttemptStarted(started) => {
                seen.entry(started.attempt.visit.clone()).or_default().attempts = started.attempt.attempt;
            }
            Event::AttemptSettled(settled) if !settled.late => {
                seen.entry(settled.attempt.visit.clone()).or_default().words = words_of(&settled.data);
            }
            Event::FannedOut(fanned) => {
                let values = fanned.items.iter().map(item).collect();
                seen.entry(fanned.visit.clone()).or_default().values = values;
            }
            Event::HandoffWritten(written) => {
                let seen = seen.entry(written.visit.clone()).or_default();
                (seen.handoff, seen.ended) = (Some(written.as_ref()), Some(record.at));
            }
            _ => {}
        }
    }
    seen
}

/// The visit, then what it is part of, up to the outermost.
fn wholes(visit: &VisitId) -> Vec<VisitId> {
    let mut all = vec![visit.clone()];
    while let Some(whole) = all.last().and_then(location::whole) {
        all.push(whole);
    }
    all
}

/// Where a visit stands in the table: the places of what it is part of, the outermost first, then its own.
fn path(seen: &BTreeMap<VisitId, Seen<'_>>, visit: &VisitId) -> Vec<usize> {
    let order = |visit: &VisitId| seen.get(visit).map_or(0, |seen| seen.order);
    // Items stand in their order, whichever of them began first.
    let own = |visit: &VisitId| {
        visit.item().and_then(|item| usize::try_from(item).ok()).unwrap_or_else(|| order(visit))
    };
    wholes(visit).iter().rev().map(own).collect()
}

fn row(
    (run, running): (&Run, &[AttemptId]),
    (visit, depth): (&VisitId, usize),
    found: &Seen<'_>,
    value: Option<&String>,
) -> Vec<String> {
    let value = value.map_or_else(String::new, |value| format!(" {value}"));
    let name = format!("{}{visit}{value}", "  ".repeat(depth));
    let attempts = if found.attempts == 0 { "-".to_owned() } else { found.attempts.to_string() };
    match found.handoff.map(|written| &written.handoff) {
        Some(handoff) => vec![
            name,
            handoff.status.word().to_owned(),
            attempts,
            took(found.took_ms(handoff.duration_ms)),
            handoff.routing_signal.decision.orchestrator_word().to_owned(),
            match (handoff.status, &handoff.error) {
                (HandoffStatus::Skipped, _) => head(&handoff.routing_signal.reason),
                (_, Some(error)) => head(error),
                (_, None) if !found.values.is_empty() => items(&found.values),
                (_, None) => headline(&handoff.summary, found.words.clone()),
            },
        ],
        None => {
            let summary = progress(run, visit, running).unwrap_or_default();
            vec![name, now(run, visit, running).to_owned(), attempts, "-".to_owned(), "-".to_owned(), summary]
        }
    }
}

fn progress(run: &Run, visit: &VisitId, running: &[AttemptId]) -> Option<String> {
    let Progress { items, over, failed } = run.progress(visit)?;
    let failed = if failed > 0 { format!(", {failed} failed") } else { String::new() };
    let running = running.iter().filter(|attempt| attempt.visit.is_part_of(visit)).count();
    Some(format!("{over} of {items} items{failed}, {running} running"))
}

/// What an open visit is at.
fn now(run: &Run, visit: &VisitId, running: &[AttemptId]) -> &'static str {
    let wants = run.wants();
    let asked = run.interrupts().find(|raised| raised.visit == *visit).map(|raised| raised.about);
    match asked {
        Some(About::InDoubt) => "in doubt",
        Some(_) => "asks",
        None if running.iter().any(|attempt| attempt.visit == *visit) => "running",
        None if wants.attempts.iter().any(|attempt| attempt.visit == *visit) => "left",
        None if wants.ready.contains(visit) => "ready",
        None => "open",
    }
}

/// A table whose summaries take the room that is left; where there is none, a sentence a row.
fn laid_out(mut rows: Vec<Vec<String>>, columns: Option<usize>) -> String {
    let Some(columns) = columns else { return output::table(&rows) };
    let without: Vec<Vec<String>> = rows.iter().map(|row| row.iter().take(5).cloned().collect()).collect();
    let taken = |rows: &[Vec<String>]| {
        output::table(rows).lines().map(|line| line.chars().count()).max().unwrap_or(0)
    };
    let missing = taken(&without).saturating_add(2 + MIN_SUMMARY).saturating_sub(columns);
    if missing > 0 {
        // The value of an item stands at the end of its name.
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

    fn visit(text: &str) -> VisitId {
        AttemptId::parse(&format!("{text}.1")).unwrap().visit
    }

    #[test]
    fn a_visit_is_part_of_the_one_that_it_is_an_item_of_or_that_runs_its_flow() {
        for (part, of) in [
            ("a.1", &[][..]),
            ("0.a.1", &["a.1"]),
            ("b.2.a.1", &["b.2"]),
            ("0.b.2.a.1", &["0.b.2", "b.2"]),
            ("0.b.2.7.a.1", &["0.b.2.a.1", "0.b.2", "b.2"]),
        ] {
            let wholes: Vec<String> = wholes(&visit(part)).iter().skip(1).map(ToString::to_string).collect();
            assert_eq!(wholes, of, "{part}");
        }
    }

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
        let told = laid_out(rows(), Some(70));
        assert!(
            told.lines().all(|line| line.chars().count() <= 70) && told.contains("a summary of more t…"),
            "{told}"
        );
        let told = laid_out(rows(), Some(40));
        assert!(told.starts_with("  0.test.1: status succeeded, attempts 1"), "{told}");
        assert_eq!(laid_out(rows(), None), output::table(&rows()));
        let long = || {
            let mut rows = rows();
            rows[1][0] = "  0.test.1 an-item-with-a-value-of-forty-columns".to_owned();
            rows
        };
        let told = laid_out(long(), Some(80));
        assert!(
            told.lines().all(|line| line.chars().count() <= 80) && told.contains("  0.test.1 an-item-"),
            "{told}"
        );
        assert!(told.contains("…  succeeded") && told.contains("a summary of mo…"), "{told}");
    }
}
