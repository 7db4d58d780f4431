//! Whether anything works on a run now: the one place that decides it, for commands and the server alike.
//!
//! A run's status follows from its steps; this is what is true beside it. Reads the journal, the engine's lock and the locks
//! of attempts, and changes nothing.

use envoi_contract::time::Timestamp;
use envoi_journal::{Activity, Doing, Epoch, HeldBy, Layout, Lease, ReadError, Reader, RunRow, Seen};
use envoi_kernel::ids::{AttemptId, RunId};
use envoi_step::AttemptDir;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

/// The state of the store's engine at one moment; read once for many runs.
#[derive(Debug, Clone, Copy)]
struct Present {
    /// Whether an engine is there, and since when the lock is in this state.
    seen: Seen,
    /// The epoch of the newest engine.
    epoch: Epoch,
}

impl Present {
    /// A lock that cannot be read counts as free.
    fn look(layout: &Layout, reader: &Reader) -> Result<Self, ReadError> {
        let seen = Lease::look(layout).unwrap_or(Seen { held: false, changed: None });
        Ok(Self { seen, epoch: reader.epoch()? })
    }

    /// See [`look_at`]. A run whose events cannot be read has no change of files that is open.
    fn set(&self, layout: &Layout, reader: &Reader, row: &mut RunRow) {
        row.doing = self.doing(layout, reader, row);
        row.files_half_set_back = reader.has_files_half_set_back(row).unwrap_or(false);
    }

    /// The current activity for a run; `None` if it is over and not set aside.
    fn doing(&self, layout: &Layout, reader: &Reader, row: &RunRow) -> Option<Doing> {
        if let Some(aside) = &row.aside {
            return Some(Doing { activity: Activity::SetAside, since: aside.since, step_works: false });
        }
        if row.ended.is_some() {
            return None;
        }
        let held_by = self.newest(row);
        if let Some(held) = held_by.filter(|_| self.seen.held) {
            return Some(Doing { activity: Activity::Working, since: held.since, step_works: false });
        }
        if row.live_attempts > 0 && has_live(layout, reader, row) {
            // Something has worked on it all the time since its engine came.
            let since = row.held_by.map_or(row.updated_at, |held| held.since);
            return Some(Doing { activity: Activity::Working, since, step_works: true });
        }
        // The last engine that went on with it may have ended long after the last event.
        let ended = held_by.and(self.seen.changed).and_then(timestamp);
        let since = ended.map_or(row.updated_at, |ended| ended.max(row.updated_at));
        Some(Doing { activity: Activity::Stopped, since, step_works: false })
    }

    /// The engine that goes on with it, if no other one has come since.
    fn newest(&self, row: &RunRow) -> Option<HeldBy> {
        row.held_by.filter(|held| held.epoch == self.epoch)
    }
}

/// A run at a glance, with what is done for it now.
///
/// # Errors
/// As [`Reader::run`].
pub fn run_row(layout: &Layout, reader: &Reader, run: &RunId) -> Result<RunRow, ReadError> {
    let mut row = reader.run(run)?;
    Present::look(layout, reader)?.set(layout, reader, &mut row);
    Ok(row)
}

/// Sets for each of these runs what is done for it now, and whether its files are half set back.
///
/// # Errors
/// The machine's.
pub fn look_at(layout: &Layout, reader: &Reader, rows: &mut [RunRow]) -> Result<(), ReadError> {
    let present = Present::look(layout, reader)?;
    rows.iter_mut().for_each(|row| present.set(layout, reader, row));
    Ok(())
}

/// Whether an engine goes on with a run now.
///
/// # Errors
/// The machine's.
pub fn is_held(layout: &Layout, reader: &Reader, row: &RunRow) -> Result<bool, ReadError> {
    let present = Present::look(layout, reader)?;
    Ok(row.aside.is_none() && present.seen.held && present.newest(row).is_some())
}

/// Whether the supervisor of an attempt lives: it keeps the attempt's lock.
#[must_use]
pub fn is_alive(layout: &Layout, run: &RunId, attempt: &AttemptId) -> bool {
    AttemptDir::new(layout.attempt(run, attempt)).is_locked()
}

/// Whether anything of an attempt can still change files.
pub(crate) fn is_at_work(layout: &Layout, run: &RunId, attempt: &AttemptId) -> bool {
    envoi_step::is_at_work(&AttemptDir::new(layout.attempt(run, attempt)), &layout.run(run))
}

/// Whether anything of an open attempt of a run can still change files.
///
/// # Errors
/// That of an attempt which cannot be looked at, with its folder. It may be at work; no other one is.
pub(crate) fn has_attempt_at_work(
    layout: &Layout,
    reader: &Reader,
    run: &RunId,
) -> Result<bool, (PathBuf, io::Error)> {
    let run_base = layout.run(run);
    let mut unknown = None;
    for dir in may_be_open(layout, reader, run) {
        match envoi_step::at_work(&dir, &run_base) {
            Ok(true) => return Ok(true),
            Ok(false) => {}
            Err(error) => unknown = Some((dir.path().to_owned(), error)),
        }
    }
    unknown.map_or(Ok(false), Err)
}

/// Whether the supervisor of an open attempt of a run lives. Looks for as many as its row counts: all events of a long run are not read.
fn has_live(layout: &Layout, reader: &Reader, row: &RunRow) -> bool {
    let most = usize::try_from(row.live_attempts).unwrap_or(usize::MAX);
    let open = reader.newest_open_attempts(&row.run, most);
    // The row may count fewer than there are, such as one that was read before another attempt began.
    folders_of(layout, &row.run, open).iter().any(AttemptDir::is_locked)
        || may_be_open(layout, reader, &row.run).iter().any(AttemptDir::is_locked)
}

/// The folders of the open attempts of a run, however many its row counts.
fn may_be_open(layout: &Layout, reader: &Reader, run: &RunId) -> Vec<AttemptDir> {
    folders_of(layout, run, reader.open_attempts(run))
}

/// The folders of these attempts. Without the events of the run, every attempt that it has a folder of may be open.
fn folders_of(layout: &Layout, run: &RunId, open: Result<Vec<AttemptId>, ReadError>) -> Vec<AttemptDir> {
    match open {
        Ok(open) => open.iter().map(|attempt| AttemptDir::new(layout.attempt(run, attempt))).collect(),
        Err(_) => {
            let folders = fs::read_dir(layout.run(run).join("attempts")).into_iter().flatten().flatten();
            folders.map(|entry| AttemptDir::new(entry.path())).collect()
        }
    }
}

fn timestamp(at: SystemTime) -> Option<Timestamp> {
    let since = at.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok().map(Timestamp::from_millis)
}
