//! Shows a run that cannot be loaded: what is known about it, which events are damaged, which can be read,
//! and what to do.

use super::status_lines;
use crate::{
    process::{
        clock,
        failure::{Failure, MACHINE},
        invocation, output,
    },
    text::diff,
};
use envoi_api::{
    event,
    run::{DamagedEvent, Unreadable, UnreadableRun},
};
use envoi_journal::{Examination, ReadError, Reader, RunRow, examine_events};
use envoi_kernel::{Record, ids::Seq};
use std::collections::VecDeque;

/// How many events before the damage are listed. `--events` prints all.
const LISTED: usize = 10;

/// The most missing events whose positions are in the JSON.
const LISTED_MISSING: usize = 100;

/// The most damaged events that are named one by one.
const NAMED: usize = 10;

/// Prints the run as text or JSON. `reason` says why it cannot be loaded.
pub(super) fn show(reader: &Reader, row: &RunRow, reason: &str, json: bool) -> Result<(), Failure> {
    let found = examine_events(reader, &row.run).map_err(Failure::store)?;
    let first = first_damaged(&found);
    let (before, readable) = readable(reader, row, first, &found).map_err(Failure::store)?;
    if json {
        return output::row(&row_of(row, reason, &found, readable));
    }
    let RunRow { run, flow, workspace, actor, tenant, .. } = row;
    let mut text = format!("run        {run}\nflow       {flow}\n");
    text.push_str(&status_lines(row, row.status().word(), "", None));
    text.push_str(&format!("started by {actor} ({tenant})\nworkspace  {workspace}\n"));
    if let Some(aside) = row.aside.as_ref().filter(|aside| !aside.evidence.is_empty()) {
        text.push_str(&format!("\n{}\n", aside.evidence));
    }
    text.push_str(&format!("\nit cannot be read: {reason}\n"));
    text.push_str(&format!("{readable} of its {} events can be read\n", found.events));
    text.extend(damage(&found).into_iter().map(|line| format!("  {line}\n")));
    if !before.is_empty() {
        let which = if first.is_some() { "before the damage" } else { "its last events" };
        text.push_str(&format!("\n{which}:\n"));
        text.extend(before.iter().map(|record| {
            format!("  {:>6}  {}  {}\n", record.seq, clock::local(record.at), record.event.name())
        }));
    }
    text.push_str(&format!("\n{}\n", what_to_do(row, &found)));
    output::data(&diff::lines(&text))
}

/// A run that is already set aside is shown without an error. New damage is also an error.
pub(super) fn exit_code(row: &RunRow) -> u8 {
    if row.aside.is_some() { 0 } else { MACHINE }
}

/// Prints the events before the first damaged one, then fails with the reason of that damage.
pub(super) fn events(reader: &Reader, row: &RunRow, limit: Option<usize>) -> Result<u8, Failure> {
    let mut lines = VecDeque::new();
    let mut damaged: Option<String> = None;
    let mut next: Seq = 0;
    let each = reader.each_event(&row.run, |seq, record| {
        if damaged.is_some() {
            return;
        }
        match record {
            Ok(_) if seq != next => damaged = Some(format!("event {next} is missing")),
            Ok(record) => {
                lines.push_back(event::shown(&record) + "\n");
                if limit.is_some_and(|most| lines.len() > most) {
                    lines.pop_front();
                }
            }
            Err(reason) => damaged = Some(format!("event {seq} is damaged: {reason}")),
        }
        next = seq.saturating_add(1);
    });
    each.map_err(Failure::store)?;
    output::data(&output::json(lines.into_iter().collect()))?;
    match damaged {
        None => Ok(0),
        Some(damaged) => {
            let envoi = invocation::envoi();
            let run = &row.run;
            Err(Failure::store(damaged)
                .hint(format!("{envoi} repair {run} looks at the events behind it too")))
        }
    }
}

fn first_damaged(found: &Examination) -> Option<Seq> {
    let unreadable = found.unreadable.iter().map(|(seq, _)| *seq);
    found.gaps.iter().map(|gap| gap.first).chain(unreadable).min()
}

/// Returns the last events before the first damaged one, and how many can be read in all.
fn readable(
    reader: &Reader,
    row: &RunRow,
    first: Option<Seq>,
    found: &Examination,
) -> Result<(VecDeque<Record>, u64), ReadError> {
    let mut before = VecDeque::new();
    let mut count = 0_u64;
    if found.has_no_entry {
        return Ok((before, count));
    }
    reader.each_event(&row.run, |seq, record| {
        let Ok(record) = record else { return };
        count = count.saturating_add(1);
        if first.is_none_or(|first| seq < first) {
            before.push_back(record);
            if before.len() > LISTED {
                before.pop_front();
            }
        }
    })?;
    Ok((before, count))
}

/// Describes each damaged event on one line, by position.
fn damage(found: &Examination) -> Vec<String> {
    let gaps = found.gaps.iter().map(|gap| (gap.first, gap.sentence()));
    let unreadable =
        found.unreadable.iter().map(|(seq, why)| (*seq, format!("event {seq} is damaged: {why}")));
    let mut all: Vec<(Seq, String)> = gaps.chain(unreadable).collect();
    all.sort();
    let more = all.len().saturating_sub(NAMED);
    let mut lines: Vec<String> = all.into_iter().take(NAMED).map(|(_, line)| line).collect();
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    lines
}

fn what_to_do(row: &RunRow, found: &Examination) -> String {
    let envoi = invocation::envoi();
    let run = &row.run;
    if found.has_no_entry {
        return format!("{envoi} repair makes its entry in the journal again");
    }
    format!(
        "{envoi} show {run} --events prints what can be read before the damage; what it has handed over lies in its folder\n\
         use the version that made the run, or restore the store from a backup; then {envoi} resume {run}"
    )
}

fn row_of(row: &RunRow, reason: &str, found: &Examination, readable: u64) -> UnreadableRun {
    let damaged = found.unreadable.iter().map(|(seq, why)| DamagedEvent { seq: *seq, reason: why.clone() });
    let missing = found.gaps.iter().flat_map(|gap| gap.first..=gap.last);
    UnreadableRun {
        run: row.into(),
        unreadable: Unreadable {
            reason: reason.to_owned(),
            events: found.events,
            readable,
            missing: missing.take(LISTED_MISSING).collect(),
            damaged: damaged.collect(),
            has_no_entry: found.has_no_entry,
        },
    }
}
