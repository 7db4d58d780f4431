//! Makes everything that follows from events again, and says what had been wrong.
//!
//! Owns the check of a whole store: sequence gaps, events that cannot be understood, content by digest, projections, files.
//! Changes no event and no content: what is damaged there is reported, not mended.

mod content;
mod rebuild;

use crate::{
    error::{CommitError, FileError, ReadError},
    files,
    store::Store,
};
use std::{io, path::PathBuf};

/// What [`repair`] found. Everything in the first half stands as reported; everything in the second has been mended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepairReport {
    /// Runs that were looked at.
    pub runs: u64,
    /// Events that were looked at.
    pub events: u64,
    /// Contents that were looked at.
    pub contents: u64,
    /// What SQLite itself finds wrong with the database.
    pub database: Vec<String>,
    /// Places that no event has, as `run#seq`.
    pub gaps: Vec<String>,
    /// Events that cannot be understood, as `run#seq: reason`.
    pub unreadable: Vec<String>,
    /// Content that is missing or is not what its digest says, one line each.
    pub damaged_content: Vec<String>,
    /// Files that could not be written again, one line each.
    pub lost_files: Vec<String>,
    /// Artifacts that have no place among the files of their run, as `run/flow/path`: their names are no paths, or another
    /// is in the way. No damage: their content is in the store.
    pub unplaceable: Vec<String>,

    /// Rows that differed, as `table key`.
    pub mended_rows: Vec<String>,
    /// Files that were missing or differed.
    pub mended_files: Vec<PathBuf>,
    /// Leftovers of writes that were interrupted.
    pub swept: u64,
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
        [&self.database, &self.gaps, &self.unreadable, &self.damaged_content, &self.lost_files]
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
    /// The store could not be read.
    #[error("the store cannot be read")]
    Read(#[from] ReadError),
    /// The folder of leftovers could not be swept.
    #[error("`{path}` cannot be swept")]
    Sweep {
        /// The folder.
        path: PathBuf,
        /// What the machine said.
        source: io::Error,
    },
}

/// Checks the whole store, rebuilds rows and files from events, and reports. To be called by who holds the lease.
///
/// Rows are replaced in one transaction, so that readers see the old ones or the new ones.
///
/// # Errors
/// [`RepairError`]; what it finds wrong in the store is no error but in the report.
pub fn repair(store: &Store) -> Result<RepairReport, RepairError> {
    let mut report = RepairReport::default();
    rebuild::rows(&store.layout().db(), &mut report).map_err(RepairError::Rows)?;
    content::check(store, &mut report)?;
    restore_files(store, &mut report)?;
    let path = store.layout().temporary();
    report.swept = store.sweep().map_err(|source| RepairError::Sweep { path, source })?;
    Ok(report)
}

fn restore_files(store: &Store, report: &mut RepairReport) -> Result<(), RepairError> {
    let reader = store.reader()?;
    for row in reader.runs(crate::RunFilter::default())? {
        match files::restore(store.layout(), &reader, &row.run) {
            Ok(restored) => {
                report.mended_files.extend(restored.written);
                let named = |path| format!("{}/{path}", row.run);
                report.unplaceable.extend(restored.unplaceable.into_iter().map(named));
            }
            Err(error) => report.lost_files.push(format!("{}: {}", row.run, chain(&error))),
        }
    }
    Ok(())
}

fn chain(error: &FileError) -> String {
    use std::error::Error as _;
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

#[cfg(test)]
mod tests;
