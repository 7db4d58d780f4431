//! Which run is meant.

use crate::failure::{BAD_INPUT, Failure};
use envoi_journal::{Found, Match, Reader, RunFilter, RunRow};
use envoi_kernel::ids::RunId;

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
        let rows = reader.runs(unfinished).map_err(Failure::store)?;
        return match rows.as_slice() {
            [] => Err(Failure::new(BAD_INPUT, "RUN_NOT_FOUND", "no run is unfinished")
                .hint("name a run that is over to reopen it; `envoi runs` lists them")),
            [row] => Ok(row.run.clone()),
            many => Err(ambiguous("several runs are unfinished", many)),
        };
    };
    run(reader, text)
}

/// The run whose id is `text`, or begins or ends with it.
pub(crate) fn run(reader: &Reader, text: &str) -> Result<RunId, Failure> {
    match reader.find(text).map_err(Failure::store)? {
        Match::One(Found::Run(run) | Found::Interrupt(_, run)) => Ok(run),
        Match::None => Err(Failure::new(BAD_INPUT, "RUN_NOT_FOUND", format!("no run is named `{text}`"))
            .hint("`envoi runs` lists them")),
        Match::Many(found) => {
            let ids = found.iter().map(|found| match found {
                Found::Run(run) => run.to_string(),
                Found::Interrupt(interrupt, _) => interrupt.to_string(),
            });
            let message = format!("`{text}` stands for several: {}", ids.collect::<Vec<_>>().join(", "));
            Err(Failure::new(BAD_INPUT, "AMBIGUOUS_ID", message).hint("give more of the id"))
        }
    }
}

fn ambiguous(what: &str, rows: &[RunRow]) -> Failure {
    let ids: Vec<_> = rows.iter().map(|row| format!("{} ({})", row.run, row.flow)).collect();
    Failure::new(6, "AMBIGUOUS_ID", format!("{what}: {}", ids.join(", "))).hint("name one")
}

fn no_runs() -> Failure {
    Failure::new(BAD_INPUT, "RUN_NOT_FOUND", "there are no runs").hint("`envoi run flow.yaml` starts one")
}
