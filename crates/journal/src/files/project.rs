//! The files of one committed record, written after its commit.

use super::{
    answer, attempts,
    handoffs::{Order, has_manifest},
    run_files::RunFiles,
};
use crate::{folder::layout::Layout, log::reader::Reader, model::error::FileError};
use envoi_kernel::{
    event::{AttemptSettled, Event, Record},
    ids::{FlowId, RunId},
};

/// Writes the files of a committed record; nothing for most records. Safe to repeat, in the order of the run.
///
/// # Errors
/// [`FileError`]; the record stays committed, and [`restore_run`](super::restore_run) writes the files later.
pub fn project(
    layout: &Layout,
    reader: &Reader,
    run: &RunId,
    flow: &FlowId,
    record: &Record,
) -> Result<(), FileError> {
    write(layout, reader, run, flow, record, Order::Unknown)
}

/// Like [`project`]. The caller must write the files of the records in order, and must ensure that no other process has
/// committed anything.
///
/// # Errors
/// As [`project`].
pub fn project_next(
    layout: &Layout,
    reader: &Reader,
    run: &RunId,
    flow: &FlowId,
    record: &Record,
) -> Result<(), FileError> {
    write(layout, reader, run, flow, record, Order::Last)
}

fn write(
    layout: &Layout,
    reader: &Reader,
    run: &RunId,
    flow: &FlowId,
    record: &Record,
    order: Order,
) -> Result<(), FileError> {
    let files = RunFiles { layout, reader, run };
    match &record.event {
        Event::HandoffWritten(written) => {
            let own = FlowId::new(written.handoff.flow_key.as_str());
            files.write_handoff(own.as_ref().unwrap_or(flow), written, order)
        }
        Event::AttemptSettled(settled) if !settled.late => {
            if settled.taken.is_some() {
                attempts::contents(&files, settled, &mut Vec::new())?;
            }
            files.write_artifacts(settled.flow.as_ref().unwrap_or(flow), settled)
        }
        Event::RunForked(_) => attempts::restore(&files, &mut Vec::new()),
        Event::InterruptAnswered(answered) => {
            let question = reader.question(run, &answered.interrupt)?;
            answer::restore(&files, &question, record.at, answered, &mut Vec::new())
        }
        _ => Ok(()),
    }
}

/// Files of so many bytes together are written where no other run waits.
const MANY_BYTES: u64 = 8 * 1024 * 1024;

/// Whether the files of a record are many, or large: they are to be written where no other run waits.
#[must_use]
pub fn are_many(record: &Record) -> bool {
    match &record.event {
        Event::AttemptSettled(settled) => !settled.late && (settled.manifest.is_some() || are_large(settled)),
        Event::HandoffWritten(written) => has_manifest(&written.handoff),
        _ => false,
    }
}

fn are_large(settled: &AttemptSettled) -> bool {
    let sizes = settled.files.iter().filter_map(|file| file.blob.as_ref()).map(|blob| blob.size);
    sizes.fold(0, u64::saturating_add) >= MANY_BYTES
}
