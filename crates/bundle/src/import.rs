//! A bundle comes into a store: all of it, or nothing that can be seen.
//!
//! Owns the order. The bundle is verified first, from its beginning to its end. Then its contents and the output of its attempts are put
//! into their places, and then one commit makes the run: until then nothing names what was put. After it the files that are made of
//! the run are written; a further import of the bundle writes those that are missing.

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

/// Why a bundle is not in the store now.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The run may go on where it was lived.
    #[error("the run was not over when the bundle was made, but {status}")]
    NotOver {
        /// How it stood.
        status: String,
    },
    /// The store has a run of this id with other events, or had one.
    #[error("the store has run `{run}` with other events, of head {head}")]
    Exists {
        /// Which.
        run: RunId,
        /// The head of the chain over those events.
        head: Digest,
    },
    /// The store did not take it; nothing names what was put.
    #[error(transparent)]
    Store(#[from] CommitError),
    /// The store cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A content cannot be stored, or is another one than when the bundle was verified.
    #[error(transparent)]
    Content(#[from] BlobError),
    /// A file of the run cannot be written.
    #[error(transparent)]
    Files(#[from] FileError),
    /// The machine failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// So many contents are made durable together.
const PORTION: usize = 500;

/// Brings a bundle in that [`crate::open`] has opened; `source` is the same file again. Says whether it is new: the store may have the run.
/// To be called by the holder of the lease.
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

/// Puts contents, and what attempts wrote.
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
