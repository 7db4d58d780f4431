//! Which run is meant.

use crate::process::failure::Failure;
use envoi_contract::code::{Class, Code};
use envoi_journal::{Found, InboxFilter, InboxRow, Match, Reader, RunFilter, RunRow};
use envoi_kernel::ids::{InterruptId, RunId};

/// The run that `text` stands for, or the newest one.
pub(crate) fn run_or_newest(reader: &Reader, text: Option<&str>) -> Result<RunId, Failure> {
    match text {
        Some(text) => run(reader, text),
        None => {
            let newest = RunFilter { limit: Some(1), ..RunFilter::default() };
            let rows = reader.runs(newest).map_err(Failure::store)?;
            rows.into_iter().next().map(|row| row.run).ok_or_else(no_runs)
        }
    }
}

/// The run that `text` stands for, or the only one that is not over.
pub(crate) fn run_or_unfinished(reader: &Reader, text: Option<&str>) -> Result<RunId, Failure> {
    let Some(text) = text else {
        let unfinished = RunFilter { unfinished: true, ..RunFilter::default() };
        return the_unfinished(&reader.runs(unfinished).map_err(Failure::store)?);
    };
    run(reader, text)
}

/// The only one of the runs that are not over.
pub(crate) fn the_unfinished(rows: &[RunRow]) -> Result<RunId, Failure> {
    match rows {
        [] => Err(Failure::new(Code::RunNotFound, "no run is unfinished")
            .hint("name a run that is over to reopen it; `envoi runs` lists them")),
        [row] => Ok(row.run.clone()),
        many => Err(ambiguous("several runs are unfinished", many)),
    }
}

/// The question that `text` stands for: its id, or that of a run that asks only one; without a text the only open one.
pub(crate) fn question(reader: &Reader, text: Option<&str>) -> Result<(InterruptId, RunId), Failure> {
    let filter = match text {
        None => InboxFilter::default(),
        Some(text) => match found(reader, text)? {
            Found::Interrupt(interrupt, run) => return Ok((interrupt, run)),
            Found::Run(run) => InboxFilter { run: Some(run), closed: false },
        },
    };
    the_open(&reader.inbox(&filter).map_err(Failure::store)?)
}

/// The only one of the questions that are open.
pub(crate) fn the_open(rows: &[InboxRow]) -> Result<(InterruptId, RunId), Failure> {
    match rows {
        [] => Err(Failure::new(Code::QuestionClosed, "nothing waits for a person there")
            .hint("`envoi inbox --all`")),
        [row] => Ok((row.interrupt.clone(), row.run.clone())),
        many => {
            let ids = many.iter().map(|row| format!("{} ({} of {})", row.interrupt, row.visit, row.run));
            let message = format!("several questions are open: {}", ids.collect::<Vec<_>>().join(", "));
            Err(Failure::of_class(Class::Refused, Code::AmbiguousId, message).hint("name one"))
        }
    }
}

/// The run whose id is `text`, or begins or ends with it.
pub(crate) fn run(reader: &Reader, text: &str) -> Result<RunId, Failure> {
    match found(reader, text)? {
        Found::Run(run) | Found::Interrupt(_, run) => Ok(run),
    }
}

/// What an id, or the beginning or end of one, stands for.
pub(crate) fn found(reader: &Reader, text: &str) -> Result<Found, Failure> {
    match reader.find(text).map_err(Failure::store)? {
        Match::One(found) => Ok(found),
        Match::None => Err(no_such(text)),
        Match::Many(found) => Err(several(text, &found)),
    }
}

/// Nothing is named so.
pub(crate) fn no_such(text: &str) -> Failure {
    Failure::new(Code::RunNotFound, format!("no run or question is named `{text}`"))
        .hint("`envoi runs` and `envoi inbox` list them")
}

/// More than one is.
pub(crate) fn several(text: &str, found: &[Found]) -> Failure {
    let ids = found.iter().map(|found| match found {
        Found::Run(run) => run.to_string(),
        Found::Interrupt(interrupt, _) => interrupt.to_string(),
    });
    let message = format!("`{text}` stands for several: {}", ids.collect::<Vec<_>>().join(", "));
    Failure::new(Code::AmbiguousId, message).hint("give more of the id")
}

fn ambiguous(what: &str, rows: &[RunRow]) -> Failure {
    let ids: Vec<_> = rows.iter().map(|row| format!("{} ({})", row.run, row.flow)).collect();
    Failure::of_class(Class::Refused, Code::AmbiguousId, format!("{what}: {}", ids.join(", ")))
        .hint("name one")
}

/// There is not even a newest one.
pub(crate) fn no_runs() -> Failure {
    Failure::new(Code::RunNotFound, "there are no runs").hint("`envoi run flow.yaml` starts one")
}
