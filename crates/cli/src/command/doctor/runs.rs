//! The runs of the store, as far as something is wrong with one of them: those that are set aside, and those that an engine would
//! set aside as soon as it goes on with them.
//!
//! Every event of every unfinished run is read, one after the other; then each of these runs is loaded, one at a time. Runs that
//! are over are not read again.

use super::{Finding, finding};
use crate::process::invocation;
use envoi_engine::load_run;
use envoi_journal::{Aside, Examination, ReadError, Reader, RunFilter, RunRow, examine_events};

/// What was looked at, and what is wrong.
pub(super) struct Seen {
    pub(super) unfinished: u64,
    pub(super) events: u64,
    pub(super) findings: Vec<Finding>,
}

pub(super) fn look(reader: &Reader) -> Result<Seen, ReadError> {
    let mut seen = Seen { unfinished: 0, events: 0, findings: Vec::new() };
    for row in reader.all_runs(RunFilter::default())? {
        if row.ended.is_none() {
            seen.unfinished = seen.unfinished.saturating_add(1);
            look_at(reader, &row, &mut seen)?;
        }
        if let Some(Aside { since, code, reason, .. }) = &row.aside {
            let what = format!("since {since} ({code}): {reason}");
            seen.findings.push(bad("run that is set aside", &row, &what));
        }
    }
    for run in reader.runs_of_events_alone()? {
        let text = format!(
            "{run}: its events are there, its entry in the journal and its row are not; {} repair makes them again",
            invocation::envoi()
        );
        seen.findings.push(finding("run that is lost", Err(text)));
    }
    Ok(seen)
}

fn look_at(reader: &Reader, row: &RunRow, seen: &mut Seen) -> Result<(), ReadError> {
    let found = examine_events(reader, &row.run)?;
    seen.events = seen.events.saturating_add(found.events);
    let wrong = match first_of(&found) {
        Some(wrong) => Some(wrong),
        // The line that says that it is set aside also says what is wrong with its row.
        None if found.has_no_entry => None,
        None => load_run(reader, &row.run).err().map(|refused| refused.message),
    };
    if let Some(wrong) = wrong {
        seen.findings.push(bad("run that cannot be read", row, &wrong));
    }
    Ok(())
}

/// The first event that is not as it should be, and how many there are.
fn first_of(found: &Examination) -> Option<String> {
    let missing = found.gaps.first().map(|seq| (*seq, format!("event {seq} is missing")));
    let unreadable =
        found.unreadable.first().map(|(seq, why)| (*seq, format!("event {seq} cannot be read: {why}")));
    let (_, first) = missing.into_iter().chain(unreadable).min()?;
    Some(match found.gaps.len().saturating_add(found.unreadable.len()) {
        1 => first,
        several => format!("{first} (the first of {several})"),
    })
}

fn bad(what: &'static str, row: &RunRow, wrong: &str) -> Finding {
    let (run, envoi) = (&row.run, invocation::envoi());
    finding(
        what,
        Err(format!("{run} {wrong}; {envoi} repair {run} looks closer, {envoi} resume {run} tries again")),
    )
}
