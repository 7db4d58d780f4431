//! Finds the runs of the store that have a problem: those that are set aside, and those that an engine would
//! set aside when it resumes them.
//!
//! It reads every event of every run, one after the other, and compares the run's rows with the events. Then
//! it loads each unfinished run, one at a time. A problem of one run does not stop the examination of the
//! others.

use super::{Finding, finding, may_use, unusable};
use crate::{
    process::{invocation, stderr},
    store::open_restore,
};
use envoi_contract::digest::Digest;
use envoi_engine::load_run;
use envoi_journal::{
    Aside, Examination, Layout, PinnedFlow, ReadError, Reader, RunFilter, RunRow, examine_events, with_causes,
};
use std::{
    collections::BTreeMap,
    io,
    path::PathBuf,
    time::{Duration, Instant},
};

/// The examined runs and events, and the problems found.
pub(super) struct Seen {
    pub(super) unfinished: u64,
    pub(super) events: u64,
    pub(super) findings: Vec<Finding>,
}

pub(super) fn look(reader: &Reader, layout: &Layout) -> Result<Seen, ReadError> {
    let mut seen = Seen { unfinished: 0, events: 0, findings: Vec::new() };
    let rows = reader.all_runs(RunFilter::default())?;
    let total = rows.len();
    let without_flow = reader.runs_without_flow()?;
    let mut progress = Progress { last_line_at: Instant::now() };
    for (done, row) in rows.into_iter().enumerate() {
        if let Some(line) = progress.line(Instant::now(), done, total) {
            stderr::line(format_args!("{line}"));
        }
        if row.ended.is_none() {
            seen.unfinished = seen.unfinished.saturating_add(1);
        }
        let has_flow = !without_flow.iter().any(|run| run == row.run.as_str());
        match look_at(reader, &row, has_flow, &mut seen) {
            Err(error @ (ReadError::Busy | ReadError::Io { .. })) => return Err(error),
            Err(error) => seen.findings.push(bad("run that cannot be read", &row, &with_causes(&error))),
            Ok(()) => {}
        }
        if let Ok(records) = reader.records(&row.run, 0, None)
            && let Some(wanted) = open_restore::find(&records)
        {
            let text = format!("{}: {}", row.run, open_restore::describe(&row.run, wanted));
            seen.findings.push(finding("restore that is not done", Err(text)));
        }
        if row.ended.is_none() {
            seen.findings.extend(closed_folders(reader, layout, &row));
        }
        if let Some(Aside { since, code, reason, .. }) = &row.aside {
            let what = format!("since {since} ({code}): {reason}");
            seen.findings.push(bad("run that is set aside", &row, &what));
        }
    }
    for run in without_flow {
        let envoi = invocation::envoi();
        let text = format!(
            "{run}: there is no flow pinned to it; {envoi} repair looks for it in the store; without a backup, \
             {envoi} show {run} has what it left, and {envoi} run starts the flow anew"
        );
        seen.findings.push(finding("run that is lost", Err(text)));
    }
    for run in reader.runs_of_another_flow()? {
        let envoi = invocation::envoi();
        let text = format!(
            "{run}: the flow that is pinned to it is none that its events name; {envoi} repair looks for the right one"
        );
        seen.findings.push(finding("run of another flow", Err(text)));
    }
    for (pinned, runs, run) in reader.pinned_flows()? {
        if let Some(wrong) = flow_damage(&pinned) {
            let text = format!("flow `{}` of {run} ({runs} runs): {wrong}; a backup has it", pinned.name);
            seen.findings.push(finding("flow that is damaged", Err(text)));
        }
    }
    for (tenant, flow) in reader.all_registered_flows()? {
        if let Some(wrong) =
            text_damage(flow.language, flow.id.as_str(), &flow.text, &flow.parts, flow.digest)
        {
            let text = format!("flow `{}`, registered for `{tenant}`: {wrong}; register it again", flow.id);
            seen.findings.push(finding("flow that is damaged", Err(text)));
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

/// Reports folders that stop the steps of the run: folders that another file replaces, and folders without
/// permission. A missing folder is no problem, because it is made again.
fn closed_folders(reader: &Reader, layout: &Layout, row: &RunRow) -> Vec<Finding> {
    let run = &row.run;
    let envoi = invocation::envoi();
    let of =
        |why: String| finding("folder of a run", Err(format!("{why}; then {envoi} resume {run} goes on")));
    let obstacles = envoi_step::obstacles(&layout.run(run));
    if !obstacles.is_empty() {
        let remedy = "remove it, or give it to the user of the store, with `chown` or `chmod`";
        return obstacles.iter().map(|obstacle| of(format!("{obstacle}; {remedy}"))).collect();
    }
    let mut folders = vec![
        layout.run(run).join("answers"),
        layout.flow(run, &row.flow),
        layout.handoff_dir(run, &row.flow),
    ];
    match reader.open_attempts(run) {
        Ok(open) => folders.extend(open.iter().map(|attempt| layout.attempt(run, attempt))),
        Err(error) => {
            let why =
                format!("its open attempts cannot be read, so their folders were not looked at: {error}");
            return vec![finding("folder of a run", Err(why))];
        }
    }
    let is_there = |path: &PathBuf| !matches!(path.symlink_metadata(), Err(error) if is_missing(&error));
    let there = folders.into_iter().filter(is_there);
    there.filter_map(|path| unusable(&path, may_use(&path))).map(of).collect()
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Prints a progress line from time to time, because a large store takes long.
struct Progress {
    last_line_at: Instant,
}

impl Progress {
    const EVERY: Duration = Duration::from_secs(5);

    fn line(&mut self, now: Instant, done: usize, total: usize) -> Option<String> {
        if now.duration_since(self.last_line_at) < Self::EVERY {
            return None;
        }
        self.last_line_at = now;
        Some(format!("{done} of {total} runs have been looked at"))
    }
}

/// Returns why runs that are pinned to this flow cannot be loaded.
fn flow_damage(pinned: &PinnedFlow) -> Option<String> {
    text_damage(pinned.language, &pinned.name, &pinned.text, &pinned.parts, pinned.digest)
}

fn text_damage(
    language: u32,
    name: &str,
    text: &str,
    parts: &BTreeMap<String, String>,
    expected: Digest,
) -> Option<String> {
    match envoi_flow::load_as(language, name, text, parts) {
        Err(report) => Some(report.to_string().lines().next().unwrap_or("").to_owned()),
        Ok(loaded) if loaded.flow.digest != expected => {
            Some(format!("its digest is {}, and not {expected}", loaded.flow.digest))
        }
        Ok(_) => None,
    }
}

fn look_at(reader: &Reader, row: &RunRow, has_flow: bool, seen: &mut Seen) -> Result<(), ReadError> {
    let found = examine_events(reader, &row.run)?;
    seen.events = seen.events.saturating_add(found.events);
    let wrong = match first_of(&found) {
        Some(wrong) => Some(wrong),
        // The finding of a run that is set aside also has the fault of its row.
        None if found.has_no_entry || row.ended.is_some() || !has_flow => None,
        None => load_run(reader, &row.run).err().map(|refused| refused.message),
    };
    if let Some(wrong) = wrong {
        seen.findings.push(bad("run that cannot be read", row, &wrong));
    }
    if let Some(first) = found.other_rows.first() {
        let more = match found.other_rows.len() {
            1 => String::new(),
            several => format!(" (the first of {several})"),
        };
        let run = &row.run;
        let envoi = invocation::envoi();
        seen.findings.push(finding(
            "row that is not as the events say",
            Err(format!("{run} {first}{more}; {envoi} repair makes it again")),
        ));
    }
    Ok(())
}

/// The first missing or damaged event, and how many there are.
fn first_of(found: &Examination) -> Option<String> {
    let missing = found.gaps.first().map(|gap| (gap.first, gap.sentence()));
    let unreadable =
        found.unreadable.first().map(|(seq, why)| (*seq, format!("event {seq} cannot be read: {why}")));
    let (_, first) = missing.into_iter().chain(unreadable).min()?;
    Some(match found.gaps.len().saturating_add(found.unreadable.len()) {
        1 => first,
        several => format!("{first} (the first of {several})"),
    })
}

fn bad(what: &'static str, row: &RunRow, wrong: &str) -> Finding {
    let run = &row.run;
    let envoi = invocation::envoi();
    finding(
        what,
        Err(format!("{run} {wrong}; {envoi} repair {run} looks closer, {envoi} resume {run} tries again")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_look_says_how_far_it_is_and_a_short_one_says_nothing() {
        let start = Instant::now();
        let mut progress = Progress { last_line_at: start };
        let mut line = |seconds, done| progress.line(start + Duration::from_secs(seconds), done, 9);
        let lines = [line(4, 1), line(5, 2), line(9, 3), line(11, 4)];
        let line = |done: u32| Some(format!("{done} of 9 runs have been looked at"));
        assert_eq!(lines, [None, line(2), None, line(4)]);
    }
}
