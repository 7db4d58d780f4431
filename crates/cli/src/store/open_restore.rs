//! A change of files, by `envoi restore` or `envoi apply`, that a run began and that is not done: the files may be half old and half new.

use crate::process::invocation;
use envoi_kernel::{Event, Record, event::FilesRestoring, ids::RunId};

/// The one that is open, among the records of a run.
pub(crate) fn find(records: &[Record]) -> Option<&FilesRestoring> {
    let last = records.iter().rev().find_map(|record| match &record.event {
        Event::FilesRestoring(wanted) => Some(Some(wanted.as_ref())),
        Event::FilesRestored(_) | Event::FilesKeptAsTheyWere(_) => Some(None),
        _ => None,
    });
    last.flatten()
}

/// What it is, and what completes it.
pub(crate) fn describe(run: &RunId, wanted: &FilesRestoring) -> String {
    let envoi = invocation::envoi();
    match wanted.reach.folder() {
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
