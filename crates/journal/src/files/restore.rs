//! Writing again what is missing or differs: of a whole run, of one visit, or of one answer.

use super::{
    answer, attempts,
    handoffs::{ListCheck, has_manifest},
    run_files::{Restored, RunFiles},
};
use crate::{
    folder::layout::Layout,
    log::reader::Reader,
    model::{
        error::{BlobError, FileError},
        rows::{ArtifactRow, InboxFilter, InboxRow, InterruptState},
    },
};
use envoi_contract::digest::Digest;
use envoi_kernel::{
    Event,
    ids::{AttemptId, InterruptId, RunId, VisitId},
};
use std::{collections::BTreeSet, io, path::PathBuf};

/// Writes the files of a run again that are missing or differ, and returns them. For when a run is loaded.
///
/// # Errors
/// [`FileError`] of the first file that cannot be had again.
pub fn restore_run(layout: &Layout, reader: &Reader, run: &RunId) -> Result<Vec<PathBuf>, FileError> {
    Ok(restore(layout, reader, run)?.written)
}

/// Writes what an attempt of a run that was lived elsewhere wrote to a stream: `stdout` or `stderr`.
///
/// # Errors
/// [`FileError`]
pub fn place_stream(
    layout: &Layout,
    reader: &Reader,
    run: &RunId,
    attempt: &AttemptId,
    stream: &str,
    source: &mut dyn io::Read,
) -> Result<(), FileError> {
    let place = layout.attempt(run, attempt).join(stream);
    let files = RunFiles { layout, reader, run };
    files.replace(&place, |file| Ok(io::copy(source, file).map(drop)?))
}

/// As [`restore_run`], and returns what was passed over.
pub(crate) fn restore(layout: &Layout, reader: &Reader, run: &RunId) -> Result<Restored, FileError> {
    let files = RunFiles { layout, reader, run };
    let mut restored = Restored::default();
    let mut lists = BTreeSet::new();
    for row in reader.handoffs(run)? {
        let handoff = files.restore_handoff(&row, ListCheck::Compared, &mut restored.written)?;
        lists.extend(has_manifest(&handoff.handoff).then(|| files.list_path(&row.flow, &handoff)));
    }
    files.restore_artifacts(reader.artifacts(run)?, &lists, &mut restored)?;
    if reader.is_fork(run)? || takes_over(reader, run)? {
        attempts::restore(&files, &mut restored.written)?;
    }
    let closed_questions = InboxFilter { run: Some(run.clone()), closed: true };
    for row in reader.inbox(&closed_questions)?.iter().filter(|row| row.state == InterruptState::Answered) {
        // A store that was upgraded with events missing has questions whose answers are not known.
        if row.closed.is_none() {
            continue;
        }
        files.restore_answer(row, &mut restored.written)?;
    }
    Ok(restored)
}

/// Whether hand-offs of another run are used for steps that this one leaves out.
fn takes_over(reader: &Reader, run: &RunId) -> Result<bool, FileError> {
    let first = reader.records(run, 0, Some(1))?;
    Ok(first.first().is_some_and(|record| match &record.event {
        Event::RunStarted(started) => started.part.as_ref().is_some_and(|part| part.with.is_some()),
        _ => false,
    }))
}

/// As [`restore_run`], but only what belongs to one answer, for when it is about to be given to a step.
///
/// # Errors
/// As [`restore_run`]; [`ReadError::Missing`](crate::ReadError::Missing) when the question was not answered.
pub fn restore_answer(
    layout: &Layout,
    reader: &Reader,
    run: &RunId,
    interrupt: &InterruptId,
) -> Result<(), FileError> {
    let row = reader.question(run, interrupt)?;
    RunFiles { layout, reader, run }.restore_answer(&row, &mut Vec::new())
}

/// Whether the engine has put the file at `relative` of the run's folder there, with this digest: it is content of the store, or the
/// document of an answer. A document that differs from what was answered is written again.
#[must_use]
pub fn is_placed(layout: &Layout, reader: &Reader, run: &RunId, relative: &str, digest: &Digest) -> bool {
    let document = relative.strip_prefix("answers/").and_then(|path| path.strip_suffix("/answer.json"));
    if let Some(interrupt) = document.and_then(|id| InterruptId::new(id).ok()) {
        return restore_answer(layout, reader, run, &interrupt).is_ok();
    }
    // Content that cannot be read now is there all the same.
    !matches!(reader.blob_size_bytes(digest), Err(BlobError::Missing { .. }))
}

/// Like [`restore_run`], but only for one visit, before a step gets its hand-off. For a large set only the hand-off and the
/// list: each attempt that reads the hand-off comes here, and would look at every file of the set. These files were placed
/// after the commit, or were restored when the run was loaded.
///
/// # Errors
/// As [`restore_run`].
pub fn restore_visit(
    layout: &Layout,
    reader: &Reader,
    run: &RunId,
    visit: &VisitId,
) -> Result<Vec<PathBuf>, FileError> {
    let files = RunFiles { layout, reader, run };
    let row = reader.handoff_row(run, visit)?;
    let mut restored = Restored::default();
    let handoff = files.restore_handoff(&row, ListCheck::Present, &mut restored.written)?;
    if !has_manifest(&handoff.handoff) {
        let is_of_visit = |place: &ArtifactRow| place.visit == *visit;
        // For the places of a run, the lists of all its large sets are read: only if the visit has left a file.
        if reader.listed_artifacts(run)?.iter().any(is_of_visit) {
            let places = reader.artifacts(run)?.into_iter().filter(is_of_visit).collect();
            files.restore_artifacts(places, &BTreeSet::new(), &mut restored)?;
        }
    }
    Ok(restored.written)
}

impl RunFiles<'_> {
    fn restore_answer(&self, row: &InboxRow, written: &mut Vec<PathBuf>) -> Result<(), FileError> {
        let (at, answered) = self.reader.answer(self.run, row)?;
        answer::restore(self, row, at, &answered, written)
    }
}
