//! Imports a bundle into a store: either all of it, or nothing visible.
//!
//! Owns the order. First the whole bundle is verified. Then its contents and the output of its attempts are
//! stored. Then one commit creates the run; until then nothing refers to the stored contents. Then the files
//! that show the run are written; if some are missing, another import of the bundle writes them.

use crate::{
    entries::entries,
    manifest::{BLOBS, LOGS, TREES},
    verify::Opened,
};
use envoi_contract::digest::Digest;
use envoi_journal::{
    BlobError, CommitError, FileError, Import, Imported, ReadError, Reader, Store, Writer, files,
};
use envoi_kernel::{
    Event,
    ids::{AttemptId, RunId},
};
use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read, Seek as _},
    path::PathBuf,
};

/// Why an import failed.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The run may continue in the store that it comes from.
    #[error("the run was not over when the bundle was made, but {status}")]
    NotOver {
        /// Its status.
        status: String,
    },
    /// The store has, or had, a run with this id and other events.
    #[error("the store has run `{run}` with other events, of head {head}")]
    Exists {
        /// The run.
        run: RunId,
        /// The head of the hash chain over those events.
        head: Digest,
    },
    /// The store refused the commit. Nothing refers to the stored contents.
    #[error(transparent)]
    Store(#[from] CommitError),
    /// The store cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A content cannot be stored, or has changed since the bundle was verified.
    #[error(transparent)]
    Content(#[from] BlobError),
    /// A file of the run cannot be written.
    #[error(transparent)]
    Files(#[from] FileError),
    /// An I/O operation failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Number of contents that are synced together.
const PORTION: usize = 500;

/// Imports a bundle that [`crate::open`] has opened; `source` is the same file again. Returns whether the run
/// is new to the store. The caller must hold the lease.
///
/// # Errors
/// [`ImportError`]
pub fn import(
    opened: &Opened,
    source: impl Read,
    store: &Store,
    reader: &Reader,
    writer: &Writer,
    origin: Imported,
) -> Result<bool, ImportError> {
    let run = &opened.run;
    let head = opened.whole.manifest.head;
    let exists = |found| ImportError::Exists { run: run.clone(), head: found };
    let is_new = !reader.has_run(run)?;
    let found = match is_new {
        true => reader.tombstone(run)?.map(|left| left.head),
        false => Some(reader.head(run)?),
    };
    match found {
        Some(found) if found != head => return Err(exists(found)),
        _ => {}
    }
    if is_new {
        if !opened.is_over {
            return Err(ImportError::NotOver { status: opened.whole.manifest.status.clone() });
        }
        put(opened, source, store, reader)?;
        writer.import(Import {
            run: run.clone(),
            events: opened.events.clone(),
            pinned: opened.pinned.clone(),
            head,
            origin,
        })?;
    }
    if reader.imported(run)?.is_some() {
        files::restore_run(store.layout(), reader, run)?;
    }
    Ok(is_new)
}

/// Stores the contents, and the output of attempts.
fn put(opened: &Opened, source: impl Read, store: &Store, reader: &Reader) -> Result<(), ImportError> {
    let attempts: BTreeMap<String, &AttemptId> = opened
        .events
        .iter()
        .filter_map(|(record, _)| match &record.event {
            Event::AttemptStarted(started) => Some((started.attempt.to_string(), &started.attempt)),
            _ => None,
        })
        .collect();
    let mut portion: Vec<(File, PathBuf, Digest, u64)> = Vec::new();
    entries(source, |name, size, entry| {
        let hex = name.strip_prefix(BLOBS).or_else(|| name.strip_prefix(TREES));
        if let Some(digest) = hex.and_then(|hex| Digest::parse(&format!("sha256:{hex}"))) {
            let mut aside = tempfile::tempfile_in(store.layout().temporary())?;
            io::copy(entry, &mut aside)?;
            aside.rewind()?;
            portion.push((aside, PathBuf::from(name), digest, size));
            if portion.len() == PORTION {
                store.blobs().put_all(std::mem::take(&mut portion))?;
            }
        } else if let Some((attempt, stream)) = name.strip_prefix(LOGS).and_then(|rest| rest.split_once('/'))
            && let Some(attempt) = attempts.get(attempt)
            && ["stdout", "stderr"].contains(&stream)
        {
            files::place_stream(store.layout(), reader, &opened.run, attempt, stream, entry)?;
        }
        Ok::<(), ImportError>(())
    })?;
    store.blobs().put_all(portion)?;
    Ok(())
}
