//! The files that a fork, or a part of a flow, takes over from attempts of another run: reports and texts for its steps.
//!
//! Reports and texts come from the store by their digests. The other files of an attempt (its streams, which only people and a
//! critic's feedback read) are linked from the other run's folder, if that still exists.

use super::run_files::RunFiles;
use crate::{folder::beneath::PathBeneath, model::error::FileError};
use envoi_kernel::event::{AttemptSettled, Event, Record, RunForked};
use std::path::{Path, PathBuf};

/// File names in the folder of an attempt.
const TEXT: &str = "text";
const REPORT: &str = "report.json";
const STREAMS: [&str; 2] = ["stdout", "stderr"];

/// Writes again what is missing or differs.
pub(super) fn restore(files: &RunFiles<'_>, written: &mut Vec<PathBuf>) -> Result<(), FileError> {
    let records = files.reader.records(files.run, 0, None)?;
    for record in &records {
        if let Event::AttemptSettled(settled) = &record.event
            && settled.taken.is_some()
        {
            contents(files, settled, written)?;
        }
    }
    let Some((lived, forked)) = lived(&records) else { return Ok(()) };
    let settled = lived.iter().filter_map(|record| match &record.event {
        Event::AttemptSettled(settled) if !settled.late => Some(settled.as_ref()),
        _ => None,
    });
    for settled in settled {
        take_over(files, forked, settled, written)?;
    }
    Ok(())
}

/// The records before the event that made the fork, and that event.
fn lived(records: &[Record]) -> Option<(&[Record], &RunForked)> {
    let forks = records.iter().enumerate().rev().find_map(|(place, record)| match &record.event {
        Event::RunForked(forked) => Some((place, forked.as_ref())),
        _ => None,
    });
    let (place, forked) = forks?;
    Some((records.get(..place)?, forked))
}

fn take_over(
    files: &RunFiles<'_>,
    forked: &RunForked,
    settled: &AttemptSettled,
    written: &mut Vec<PathBuf>,
) -> Result<(), FileError> {
    contents(files, settled, written)?;
    let folder = files.layout.attempt(files.run, &settled.attempt);
    let other = files.layout.attempt(&forked.from, &settled.attempt);
    for name in STREAMS {
        // Nothing is decided by them.
        let _ = link(files.layout.root(), &other.join(name), &folder.join(name));
    }
    Ok(())
}

/// Writes the text and the report of an attempt that another run has made.
pub(super) fn contents(
    files: &RunFiles<'_>,
    settled: &AttemptSettled,
    written: &mut Vec<PathBuf>,
) -> Result<(), FileError> {
    let folder = files.layout.attempt(files.run, &settled.attempt);
    for (name, blob) in [(TEXT, &settled.text), (REPORT, &settled.report)] {
        let Some(blob) = blob else { continue };
        let path = folder.join(name);
        if files.digest_of(&path) != Some(blob.digest) {
            files.replace(&path, |file| Ok(files.reader.write_blob(&blob.digest, file)?))?;
            written.push(path);
        }
    }
    Ok(())
}

/// Gives a regular file of another run a name in this one too, if nothing has that name yet.
fn link(root: &Path, from: &Path, to: &Path) -> Option<()> {
    let from = PathBeneath::find(root, from).ok()?;
    from.open().ok()?;
    PathBeneath::make(root, to).ok()?.link(&from).ok()
}

#[cfg(test)]
mod tests;
