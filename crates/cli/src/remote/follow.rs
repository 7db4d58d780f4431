//! `runs --follow` at a server: shows what happens to its unfinished runs, from the stream of hints about all
//! runs.
//!
//! Owns which runs are followed, and up to which event each was printed. A hint says only that a run has
//! changed. Its row and events are then requested, so that each event is printed once, even if the connection
//! breaks.

use super::{
    Remote,
    call::{read, segment},
    pull::{Events, PAGE, StoredEvent},
    stream,
};
use crate::{
    command::runs::{aside_line, record_lines, unreadable},
    process::{failure::Failure, output},
    view::printer::Printer,
};
use envoi_contract::{code::Code, time::Timestamp};
use envoi_journal::RunRow;
use envoi_kernel::{
    Record,
    ids::{RunId, Seq},
};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The data of a `change`.
#[derive(Deserialize)]
struct Hint {
    run: RunId,
}

/// The printed part of a run.
struct Printed {
    next: Seq,
    printer: Printer,
    aside: Option<Timestamp>,
    is_unreadable: bool,
}

struct Following<'r> {
    remote: &'r Remote,
    runs: BTreeMap<RunId, Printed>,
    /// The start time of the newest run at the beginning. An older run that had already ended is not
    /// followed.
    newest: Option<Timestamp>,
}

/// Follows until the process ends, or the server is unreachable for too long.
pub(crate) fn follow(remote: &Remote) -> Result<u8, Failure> {
    // The stream has the changes after this event. The earlier ones are read now.
    let (_, last) = remote.questions(None, false)?;
    let mut newest = None;
    remote.each_run("", |row| {
        newest = Some(row.started_at);
        false
    })?;
    let mut following = Following { remote, runs: BTreeMap::new(), newest };
    for row in remote.unfinished(usize::MAX)?.iter().rev() {
        following.take(row)?;
    }
    stream::follow(&remote.server, "/v1/stream", Some(last), |event| {
        let Hint { run } = read(event.data.as_bytes())?;
        match remote.row(&run) {
            Ok(row) => following.take(&row),
            // The run was deleted in the meantime.
            Err(failure) if failure.code.known() == Some(Code::RunNotFound) => Ok(()),
            Err(failure) => Err(failure),
        }
    })?;
    Ok(0)
}

impl Following<'_> {
    /// Prints the new events of a run.
    fn take(&mut self, row: &RunRow) -> Result<(), Failure> {
        let json = self.remote.json;
        let is_known = self.runs.contains_key(&row.run);
        if !is_known && row.ended.is_some() && self.newest.is_some_and(|newest| row.started_at <= newest) {
            return Ok(());
        }
        let new = || Printed {
            next: 0,
            printer: Printer::new(row.run.clone(), false),
            aside: None,
            is_unreadable: false,
        };
        let printed = self.runs.entry(row.run.clone()).or_insert_with(new);
        match records(self.remote, &row.run, printed.next, row.next_seq) {
            Ok(records) => {
                printed.is_unreadable = false;
                for record in records {
                    printed.next = record.seq.saturating_add(1);
                    output::data(&record_lines(&row.run, &mut printed.printer, &record, json))?;
                }
            }
            // Only this run is affected: print the error once, and follow the other runs.
            Err(failure) if is_of_the_run(&failure) => {
                if !printed.is_unreadable {
                    output::data(&unreadable(&row.run, &failure.message, json))?;
                }
                printed.is_unreadable = true;
            }
            Err(failure) => return Err(failure),
        }
        let since = row.aside.as_ref().map(|why| why.since);
        if since != printed.aside {
            printed.aside = since;
            output::data(&aside_line(&row.run, row.aside.as_ref(), json))?;
        }
        Ok(())
    }
}

fn is_of_the_run(failure: &Failure) -> bool {
    matches!(failure.code.known(), Some(Code::RunUnreadable | Code::RunInconsistent | Code::RunNotFound))
}

/// The events of a run from this one on and before `until`.
fn records(remote: &Remote, run: &RunId, mut from: Seq, until: Seq) -> Result<Vec<Record>, Failure> {
    let mut all = Vec::new();
    while from < until {
        let after = from.checked_sub(1).map_or_else(String::new, |last| format!("&after={last}"));
        let path = format!("/v1/runs/{}/events?form=stored&limit={PAGE}{after}", segment(run.as_str()));
        let Events { events } = read(&remote.server.get(&path)?)?;
        let records = events.iter().map(StoredEvent::record).collect::<Result<Vec<_>, _>>()?;
        let Some(last) = records.last() else { break };
        from = last.seq.saturating_add(1);
        all.extend(records);
    }
    Ok(all)
}
