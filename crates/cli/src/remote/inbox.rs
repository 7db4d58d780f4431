//! `inbox` at a server.

use super::{Remote, call::segment, rows, stream};
use crate::{command::inbox as local, process::failure::Failure};
use envoi_journal::{InboxRow, InterruptState, Reader};
use envoi_kernel::ids::{InterruptId, RunId};
use serde::Deserialize;
use std::collections::BTreeMap;

pub(crate) fn inbox(
    remote: &Remote,
    run: Option<&str>,
    all: bool,
    limit: Option<usize>,
) -> Result<u8, Failure> {
    let run = run.map(|run| remote.run_named(run)).transpose()?;
    let (listed, _) = remote.questions(run.as_ref(), all)?;
    let rows = listed.into_iter().map(|listed| listed.row);
    let rows = rows.map(|row| remote.complete(row)).collect::<Result<Vec<_>, _>>()?;
    local::print(&remote.mirror()?.reader()?, &rows, limit, remote.json)
}

/// The run of an event about a question.
#[derive(Deserialize)]
struct News {
    run: RunId,
    record: EventBody,
}

#[derive(Deserialize)]
struct EventBody {
    event: About,
}

#[derive(Deserialize)]
struct About {
    interrupt: Option<InterruptId>,
}

/// Prints every question when it opens (open ones at once), and again when it closes, until Ctrl-C.
pub(crate) fn follow(remote: &Remote, run: Option<&str>) -> Result<u8, Failure> {
    let run = run.map(|run| remote.run_named(run)).transpose()?;
    let reader = remote.mirror()?.reader()?;
    let (listed, last) = remote.questions(run.as_ref(), false)?;
    let mut known: BTreeMap<InterruptId, InterruptState> = BTreeMap::new();
    for listed in listed {
        print_change(remote, &reader, listed.row, &mut known)?;
    }
    stream::follow(&remote.server, "/v1/questions/stream", Some(last), |event| {
        let News { run: of, record } = super::call::read(event.data.as_bytes())?;
        let Some(interrupt) = record.event.interrupt.filter(|_| run.as_ref().is_none_or(|run| *run == of))
        else {
            return Ok(());
        };
        let path = format!("/v1/questions/{}", segment(interrupt.as_str()));
        let listed = rows::question(&remote.server.get(&path)?)?;
        print_change(remote, &reader, listed.row, &mut known)
    })?;
    Ok(0)
}

fn print_change(
    remote: &Remote,
    reader: &Reader,
    row: InboxRow,
    known: &mut BTreeMap<InterruptId, InterruptState>,
) -> Result<(), Failure> {
    if known.insert(row.interrupt.clone(), row.state) == Some(row.state) {
        return Ok(());
    }
    let row = remote.complete(row)?;
    local::print_line(reader, &row, remote.json)
}

impl Remote {
    /// Completes the row: the answer and the person who gave it are in the run's events.
    fn complete(&self, row: InboxRow) -> Result<InboxRow, Failure> {
        if self.json || row.state != InterruptState::Answered {
            return Ok(row);
        }
        let reader = self.pull(&row.run)?;
        reader.question(&row.run, &row.interrupt).map_err(Failure::store)
    }
}
