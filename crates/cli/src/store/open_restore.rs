//! An unfinished change of files by `envoi restore` or `envoi apply`: some files may be old and others new.

use crate::process::invocation;
use envoi_kernel::{Event, Record, event::FilesRestoring, ids::RunId};

/// Finds the unfinished change among the records of a run.
pub(crate) fn find(records: &[Record]) -> Option<&FilesRestoring> {
    let last = records.iter().rev().find_map(|record| match &record.event {
        Event::FilesRestoring(wanted) => Some(Some(wanted.as_ref())),
        Event::FilesRestored(_) | Event::FilesKeptAsTheyWere(_) => Some(None),
        _ => None,
    });
    last.flatten()
}

/// Describes the change, and how to complete it.
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
