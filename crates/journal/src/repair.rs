//! Makes everything that follows from events again, and reports the faults.
//!
//! Owns the check of a whole store: sequence gaps, events that cannot be understood, content by digest, projections, files.
//! Changes no event and no content: damage there is reported, not mended.

mod compare;
mod content;
mod examine;
mod mend_rows;
mod rebuild;

pub use content::DamagedContent;
pub use examine::{Examination, examine, examine_events};

use crate::{
    files,
    log::store::Store,
    model::{
        commit::Epoch,
        error::{CommitError, FileError, ReadError, with_causes},
    },
};
use std::path::PathBuf;

/// The findings of [`repair`]. Everything in the first half stays as reported; everything in the second has been mended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepairReport {
    /// Runs that were looked at.
    pub runs: u64,
    /// Events that were looked at.
    pub events: u64,
    /// Contents that were looked at.
    pub contents: u64,
    /// Faults of the database that SQLite itself finds.
    pub database: Vec<String>,
    /// Places that no event has, as `run#seq`, or `run#first to last (n events)`.
    pub gaps: Vec<String>,
    /// Events that cannot be understood, as `run#seq: reason`.
    pub unreadable: Vec<String>,
    /// Runs that cannot be loaded, one line each: their entry in the journal cannot be made again, or their flow is gone. The rest of
    /// them is kept.
    pub lost_runs: Vec<String>,
    /// Content that is missing or does not match its digest, one line each.
    pub damaged_content: Vec<String>,
    /// Rows beside the events that are damaged and can only be named, as `table key: reason`.
    pub damaged_rows: Vec<String>,
    /// Files that could not be written again, one line each.
    pub lost_files: Vec<String>,
    /// Artifacts that have no place among the files of their run, as `run/flow/path`: their names are no paths, or another
    /// is in the way. No damage: their content is in the store.
    pub unplaceable: Vec<String>,

    /// Rows that differed, or were damaged and are out of action now, as `table key: how`.
    pub mended_rows: Vec<String>,
    /// Files that were missing or differed.
    pub mended_files: Vec<PathBuf>,
    /// Leftovers of writes that were interrupted.
    pub swept: u64,
    /// Runs whose snapshot was dropped, because the options require it.
    pub dropped_snapshots: Vec<String>,
}

impl RepairReport {
    /// Whether everything was as it should be before.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.is_whole() && self.mended_rows.is_empty() && self.mended_files.is_empty()
    }

    /// Whether everything is as it should be now.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let Self { database, gaps, unreadable, lost_runs, damaged_content, damaged_rows, lost_files, .. } =
            self;
        [database, gaps, unreadable, lost_runs, damaged_content, damaged_rows, lost_files]
            .iter()
            .all(|findings| findings.is_empty())
    }
}

/// Why a repair did not come to its end. It may be started again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RepairError {
    /// The rows could not be rebuilt; they are as they were.
    #[error("the rows cannot be rebuilt")]
    Rows(#[source] CommitError),
    /// The rows are rebuilt, but another engine has taken over, or that is not known; files were not, or not all, restored.
    #[error("the files cannot be restored")]
    Fence(#[source] CommitError),
    /// The store could not be read.
    #[error("the store cannot be read")]
    Read(#[from] ReadError),
    /// The folder of leftovers could not be swept.
    #[error("leftovers cannot be removed: {0}")]
    Sweep(#[source] FileError),
}

impl RepairError {
    /// Whether another process keeps the database locked, so that the same again may succeed.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        match self {
            Self::Rows(error) | Self::Fence(error) => matches!(error, CommitError::Busy),
            Self::Read(error) => matches!(error, ReadError::Busy),
            Self::Sweep { .. } => false,
        }
    }

    /// Whether another engine has taken over.
    #[must_use]
    pub fn is_fenced(&self) -> bool {
        matches!(self, Self::Rows(CommitError::Fenced { .. }) | Self::Fence(CommitError::Fenced { .. }))
    }
}

/// Optional work of [`repair`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RepairOptions {
    /// Drop the snapshots of all runs whose events are whole, so that they are loaded from their events: for when a
    /// snapshot cannot be decoded, which only the kernel can find out. A run with a gap keeps its snapshot, which may be all
    /// that is left of its state.
    pub drop_snapshots: bool,
}

/// Checks the whole store, rebuilds rows and files from events, and reports. To be called by the holder of the lease,
/// with an epoch of its own: it fences an engine that was taken over, and is fenced by one that takes over.
///
/// Rows are replaced in one transaction, so that readers see the old ones or the new ones.
///
/// # Errors
/// [`RepairError`]; faults of the store are no errors but in the report. [`RepairError::is_fenced`] if another engine has
/// taken over; repairs made before stay.
pub fn repair(store: &Store, epoch: Epoch, options: RepairOptions) -> Result<RepairReport, RepairError> {
    let mut report = RepairReport::default();
    rebuild::rows(&store.layout().db(), epoch, options, &mut report).map_err(RepairError::Rows)?;
    let (contents, damaged) = content::check(store)?;
    report.contents = u64::try_from(contents).unwrap_or(u64::MAX);
    report.damaged_content = damaged.into_iter().map(|content| content.line).collect();
    // These are the new engine's files too, if there is one by now.
    store.check_epoch(epoch).map_err(RepairError::Fence)?;
    restore_files(store, &mut report)?;
    store.check_epoch(epoch).map_err(RepairError::Fence)?;
    report.swept = store.sweep().map_err(RepairError::Sweep)?;
    Ok(report)
}

/// The damaged contents of a store, as [`repair`] finds them: those that events name, those in the database, and those in files. Reads
/// each of them.
///
/// # Errors
/// The store could not be read.
pub fn damaged_contents(store: &Store) -> Result<Vec<DamagedContent>, ReadError> {
    content::check(store).map(|(_, damaged)| damaged)
}

fn restore_files(store: &Store, report: &mut RepairReport) -> Result<(), RepairError> {
    let reader = store.reader()?;
    let without_flow = reader.runs_without_flow()?.into_iter();
    report.lost_runs.extend(without_flow.map(|run| format!("{run}: there is no flow pinned to it")));
    for row in reader.runs(crate::RunFilter::default())? {
        match files::restore(store.layout(), &reader, &row.run) {
            Ok(restored) => {
                report.mended_files.extend(restored.written);
                let named = |path| format!("{}/{path}", row.run);
                report.unplaceable.extend(restored.unplaceable.into_iter().map(named));
            }
            Err(error) => report.lost_files.push(format!("{}: {}", row.run, with_causes(&error))),
        }
    }
    Ok(())
}

#[cfg(test)]
mod damage_tests;
#[cfg(test)]
mod tests;
