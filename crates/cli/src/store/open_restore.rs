//! A change of files, by `envoi restore` or `envoi apply`, that a run began and that is not done: the files may be half old and half new.

use crate::process::invocation;
use envoi_journal::{Reader, RunRow};
use envoi_kernel::{
    Event, Record,
    event::FilesRestoring,
    ids::{RunId, Seq},
};

/// Events at the end of a run that a list of runs looks at. Only a few can follow while a restore is open, such as answers.
const TAIL: Seq = 32;

/// The one that is open, among the records of a run.
pub(crate) fn find(records: &[Record]) -> Option<&FilesRestoring> {
    let last = records.iter().rev().find_map(|record| match &record.event {
        Event::FilesRestoring(wanted) => Some(Some(wanted.as_ref())),
        Event::FilesRestored(_) | Event::FilesKeptAsTheyWere(_) => Some(None),
        _ => None,
    });
    last.flatten()
}

/// Whether one is open, for a list of runs. A run that cannot be read has none.
pub(crate) fn is_open(reader: &Reader, row: &RunRow) -> bool {
    let tail = reader.records(&row.run, row.next_seq.saturating_sub(TAIL), None);
    tail.is_ok_and(|records| find(&records).is_some())
}

/// What it is, and what completes it.
pub(crate) fn describe(run: &RunId, wanted: &FilesRestoring) -> String {
    let envoi = invocation::envoi();
    match &wanted.folder {
        None => format!(
            "the files may be half set back, unless somebody is at it now; {envoi} resume {run} completes it, \
             {envoi} restore {run} --undo takes it back"
        ),
        Some(folder) => format!(
            "the files of {folder} may be half changed, unless somebody is at it now; {envoi} apply {run} completes it, \
             {envoi} apply {run} --undo then takes it back"
        ),
    }
}
