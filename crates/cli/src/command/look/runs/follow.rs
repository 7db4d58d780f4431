//! `envoi runs --follow`: shows what happens to the unfinished runs of the store. It only reads, and never
//! takes the engine's lock.

use crate::{
    process::{failure::Failure, invocation, output, terminal::Terminal},
    store::home::Home,
    view::{
        live::{Live, Roster, StoreView},
        printer::Printer,
    },
};
use envoi_api::{
    event,
    output::{RunSetAside, RunUnreadable, UnreadableEvents},
    run::SetAside,
};
use envoi_contract::time::Timestamp;
use envoi_journal::{Aside, ReadError, Reader};
use envoi_kernel::{
    Event, Record,
    ids::{RunId, Seq},
};
use std::{collections::BTreeMap, fmt::Display, thread, time::Duration};

/// The polling interval of the journal without a live picture.
const PAUSE: Duration = Duration::from_millis(200);

/// Follows until the process ends.
pub(crate) fn follow(home: &Home) -> Result<u8, Failure> {
    let (store, reader) = home.reader()?;
    let Some(terminal) = Terminal::of_stderr().filter(|_| !home.json) else {
        return lines(&reader, home.json);
    };
    let _view = Live::of_store(StoreView::new(store.layout().clone(), reader), terminal);
    loop {
        thread::park();
    }
}

/// A run that is followed.
struct Followed {
    next: Seq,
    printer: Printer,
    /// Its next events cannot be read, and this was already printed.
    is_unreadable: bool,
    /// When it was set aside, according to the last printed line.
    aside: Option<Timestamp>,
}

fn lines(reader: &Reader, json: bool) -> Result<u8, Failure> {
    let mut roster = Roster::new(envoi_engine::now());
    let mut followed: BTreeMap<RunId, Followed> = BTreeMap::new();
    loop {
        let rows = roster.rows(reader).map_err(Failure::store)?;
        for row in rows.iter().rev() {
            let new = || Followed {
                next: 0,
                printer: Printer::new(row.run.clone(), false),
                is_unreadable: false,
                aside: None,
            };
            followed.entry(row.run.clone()).or_insert_with(new);
        }
        for (run, followed) in &mut followed {
            let records = match reader.records(run, followed.next, None) {
                Ok(records) => {
                    followed.is_unreadable = false;
                    records
                }
                // Only this run is affected: print the error once, and follow the other runs.
                Err(error @ (ReadError::Damaged { .. } | ReadError::Missing { .. })) => {
                    if !followed.is_unreadable {
                        output::data(&unreadable(run, &error, json))?;
                    }
                    followed.is_unreadable = true;
                    Vec::new()
                }
                Err(error) => return Err(Failure::store(error)),
            };
            for record in records {
                followed.next = record.seq.saturating_add(1);
                output::data(&record_lines(run, &mut followed.printer, &record, json))?;
            }
            // Setting a run aside writes no event, so the row is compared.
            let aside = rows.iter().find(|row| row.run == *run).and_then(|row| row.aside.as_ref());
            let since = aside.map(|why| why.since);
            if since != followed.aside {
                followed.aside = since;
                output::data(&aside_line(run, aside, json))?;
            }
        }
        followed.retain(|run, _| {
            let goes_on = rows.iter().any(|row| row.run == *run && row.ended.is_none());
            if !goes_on {
                roster.remove_ended(run);
            }
            goes_on
        });
        thread::sleep(PAUSE);
    }
}

pub(crate) fn unreadable(run: &RunId, error: &dyn Display, json: bool) -> String {
    match json {
        true => output::line(&RunUnreadable {
            run: run.clone(),
            unreadable: UnreadableEvents { reason: error.to_string() },
        }),
        false => format!("{run} cannot be read: {error}; {} show {run} says more\n", invocation::envoi()),
    }
}

pub(crate) fn aside_line(run: &RunId, aside: Option<&Aside>, json: bool) -> String {
    match aside {
        _ if json => output::line(&RunSetAside { run: run.clone(), set_aside: aside.map(SetAside::from) }),
        Some(Aside { code, reason, .. }) => {
            format!("{run} set aside: {code}: {reason}; {} resume {run} tries again\n", invocation::envoi())
        }
        None => format!("{run} taken up again\n"),
    }
}

pub(crate) fn record_lines(run: &RunId, printer: &mut Printer, record: &Record, json: bool) -> String {
    if json {
        return output::json(format!("{{\"run\":\"{run}\",\"record\":{}}}\n", event::shown(record)));
    }
    let mut lines = printer.lines(record);
    if let Event::RunEnded(ended) = &record.event {
        lines.push(format!("{}: {}", ended.status.word(), ended.reason));
    }
    lines.iter().flat_map(|text| text.lines()).map(|line| format!("{run} {}\n", line.trim_start())).collect()
}
