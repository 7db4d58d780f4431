//! One run looked at, and nothing changed: so that it can be done while an engine is at work.

use super::content;
use crate::{
    error::{BlobError, ReadError},
    files::digest_below,
    layout::Layout,
    reader::Reader,
};
use envoi_contract::digest::Digest;
use envoi_kernel::{event::Record, ids::RunId};
use std::{collections::BTreeSet, io, path::PathBuf};

/// What [`examine`] found of a run. Every list is empty where all is well.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Examination {
    /// Events that were looked at.
    pub events: u64,
    /// Contents that were looked at.
    pub contents: u64,
    /// Places that no event has.
    pub gaps: Vec<u64>,
    /// Events that cannot be understood, as `seq: reason`.
    pub unreadable: Vec<String>,
    /// Content that is missing or is not what its digest says, one line each.
    pub damaged_content: Vec<String>,
    /// Hand-off files that are missing or are not what the journal says. `envoi resume` writes them again.
    pub other_files: Vec<PathBuf>,
}

/// Looks at the events of a run, at the content that they name, and at its hand-off files.
///
/// # Errors
/// [`ReadError::Missing`] when there is no such run; otherwise the machine's. Damage is no error.
pub fn examine(layout: &Layout, reader: &Reader, run: &RunId) -> Result<Examination, ReadError> {
    let mut found = Examination::default();
    let mut digests = BTreeSet::new();
    let mut next = 0;
    reader.each_event(run, |seq, record: Result<Record, String>| {
        found.gaps.extend(next..seq);
        next = seq.saturating_add(1);
        found.events = found.events.saturating_add(1);
        match record {
            Ok(record) => digests.extend(content::of_record(reader, &record)),
            Err(error) => found.unreadable.push(format!("{seq}: {error}")),
        }
    })?;
    for digest in digests {
        found.contents = found.contents.saturating_add(1);
        match reader.write_blob(&digest, &mut io::sink()) {
            Ok(()) => {}
            Err(error @ BlobError::Store { .. }) => return Err(error.into()),
            Err(error) => found.damaged_content.push(error.to_string()),
        }
    }
    for row in reader.handoffs(run)? {
        // One whose event cannot be read has been reported.
        let Ok(bytes) = reader.handoff_at(run, row.seq) else { continue };
        let path = layout.handoff_visit(run, &row.flow, &row.visit);
        if digest_below(&layout.run(run), &path) != Some(Digest::of(&bytes)) {
            found.other_files.push(path);
        }
    }
    Ok(found)
}
