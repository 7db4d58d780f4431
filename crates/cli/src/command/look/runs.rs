//! `envoi runs`: lists the runs of the store, newest first.

use crate::process::stderr;
mod follow;

use crate::{
    process::{clock, failure::Failure, invocation, output},
    store::{
        home::Home,
        standing::{copy_of, of_a_copy, stands},
    },
};
use envoi_api::run::{Run, Stands};
use envoi_journal::{RunFilter, RunRow};
pub(crate) use follow::{aside_line, follow, record_lines, unreadable};
use std::path::Path;

pub(crate) fn runs(home: &Home, unfinished: bool, limit: u32) -> Result<u8, Failure> {
    let (store, reader) = home.reader()?;
    let mut rows = reader
        .all_runs(RunFilter { unfinished, limit: Some(limit.saturating_add(1)) })
        .map_err(Failure::store)?;
    envoi_engine::look_at(store.layout(), &reader, &mut rows).map_err(Failure::store)?;
    print(rows, limit, home.json, copy_of(&store).as_deref())
}

/// Prints the first `limit` of these runs, and reports if there are more. `copy_of` is the original store if
/// this one is a copy.
pub(crate) fn print(
    mut rows: Vec<RunRow>,
    limit: u32,
    json: bool,
    copy_of: Option<&Path>,
) -> Result<u8, Failure> {
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    if rows.len() > most {
        rows.truncate(most);
        stderr::line(format_args!("older runs are left out; --limit N shows more"));
    }
    if json {
        return output::row(&rows.iter().map(Run::from).collect::<Vec<_>>()).map(|()| 0);
    }
    match copy_of {
        Some(of) => stderr::line(format_args!("{}", of_a_copy(of))),
        None => hint(&rows),
    }
    let header = ["RUN", "FLOW", "STATUS", "STEP", "STARTED", "BY"].map(str::to_owned).to_vec();
    let table: Vec<Vec<String>> = std::iter::once(header).chain(rows.iter().map(as_cells)).collect();
    let text = output::list(&table, &[0], &[1, 3, 5]);
    output::data(&text).map(|()| 0)
}

/// Prints once how to continue the runs that do not continue by themselves.
fn hint(rows: &[RunRow]) {
    let any = |stands| rows.iter().any(|row| Stands::from(row) == stands);
    let envoi = invocation::envoi();
    if any(Stands::Stopped) {
        stderr::line(format_args!("stopped: nothing works on it; {envoi} resume RUN goes on"));
    }
    if any(Stands::RunningWithoutAnEngine) {
        stderr::line(format_args!(
            "running without an engine: its step still works; {envoi} resume RUN waits for the step and goes on"
        ));
    }
    if any(Stands::SetAside) {
        stderr::line(format_args!("set aside: {envoi} show RUN says why; {envoi} resume RUN tries again"));
    }
    if rows.iter().any(|row| row.files_half_set_back) {
        stderr::line(format_args!("files half set back: {envoi} show RUN says what completes it"));
    }
}

fn as_cells(row: &RunRow) -> Vec<String> {
    let others = match row.live_attempts {
        0 | 1 => String::new(),
        several => format!(", {several} attempts"),
    };
    let half = if row.files_half_set_back { " (files half set back)" } else { "" };
    let in_doubt = if row.in_doubt > 0 { " (in doubt)" } else { "" };
    vec![
        row.run.to_string(),
        format!("{}{}", row.flow, if row.part.is_some() { " (part)" } else { "" }),
        format!("{}{in_doubt}{half}", stands(row, envoi_engine::now())),
        format!("{}{others}", row.step.as_ref().map_or("-", |step| step.as_str())),
        clock::local_short(row.started_at),
        row.actor.clone()
            + &row.forked_from.as_ref().map_or_else(String::new, |from| format!(" (fork of {from})")),
    ]
}
