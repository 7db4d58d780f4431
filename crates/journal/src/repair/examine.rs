//! One run looked at, and nothing changed: so that it can be done while an engine is at work.

use super::{content, rebuild::MOST_NAMED};
use crate::{
    files::digest_below,
    folder::layout::Layout,
    log::reader::Reader,
    model::error::{BlobError, ReadError},
};
use envoi_contract::digest::Digest;
use envoi_kernel::{
    event::Record,
    ids::{RunId, Seq},
};
use std::{collections::BTreeSet, io, path::PathBuf};

/// What [`examine`] found of a run. Every list is empty, and nothing is true, where all is well.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Examination {
    /// Events that were looked at.
    pub events: u64,
    /// Contents that were looked at.
    pub contents: u64,
    /// Places that no event has, up to the end that its row says; the first hundred.
    pub gaps: Vec<u64>,
    /// The run has a row and no entry in the journal, so that its events are not known to be its own.
    pub has_no_entry: bool,
    /// Events that cannot be understood: the place of each, and what the decoder has found. The first hundred.
    pub unreadable: Vec<(Seq, String)>,
    /// Content that is missing or is not what its digest says, one line each.
    pub damaged_content: Vec<String>,
    /// Hand-off files that are missing or are not what the journal says. `envoi resume` writes them again.
    pub other_files: Vec<PathBuf>,
}

impl Examination {
    /// Whether everything is as it should be.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let Self { gaps, has_no_entry, unreadable, damaged_content, other_files, events: _, contents: _ } =
            self;
        gaps.is_empty()
            && !has_no_entry
            && unreadable.is_empty()
            && damaged_content.is_empty()
            && other_files.is_empty()
    }
}

/// Looks at the events of a run alone, one after the other, so that it takes no more memory for a long run than for a short one.
///
/// # Errors
/// As [`examine`].
pub fn examine_events(reader: &Reader, run: &RunId) -> Result<Examination, ReadError> {
    look_at_events(reader, run, drop)
}

fn look_at_events(
    reader: &Reader,
    run: &RunId,
    mut visit: impl FnMut(Record),
) -> Result<Examination, ReadError> {
    let mut found = Examination::default();
    let mut next = 0;
    // Before the events: those that come meanwhile are no gap.
    let end = reader.run(run)?.next_seq.max(1);
    if !reader.has_run(run)? {
        found.has_no_entry = true;
        return Ok(found);
    }
    reader.each_event(run, |seq, record: Result<Record, String>| {
        let room = MOST_NAMED.saturating_sub(found.gaps.len());
        found.gaps.extend((next..seq).take(room));
        next = seq.saturating_add(1);
        found.events = found.events.saturating_add(1);
        match record {
            Ok(record) => visit(record),
            Err(error) if found.unreadable.len() < MOST_NAMED => found.unreadable.push((seq, error)),
            Err(_) => {}
        }
    })?;
    let room = MOST_NAMED.saturating_sub(found.gaps.len());
    found.gaps.extend((next..end).take(room));
    Ok(found)
}

/// Looks at the events of a run, at the content that they name, and at its hand-off files.
///
/// # Errors
/// [`ReadError::Missing`] when there is no such run; otherwise the machine's. Damage is no error.
pub fn examine(layout: &Layout, reader: &Reader, run: &RunId) -> Result<Examination, ReadError> {
    let mut digests = BTreeSet::new();
    let mut found =
        look_at_events(reader, run, |record| digests.extend(content::of_record(reader, &record)))?;
    for digest in digests {
        found.contents = found.contents.saturating_add(1);
        match reader.write_blob(&digest, &mut io::sink()) {
            Ok(()) => {}
            Err(error @ BlobError::Store { .. }) => return Err(error.into()),
            Err(error) => found.damaged_content.push(error.to_string()),
        }
    }
    if found.has_no_entry {
        return Ok(found);
    }
    for row in reader.handoffs(run)? {
        // One whose event cannot be read has been reported.
        let Ok(bytes) = reader.handoff_at(run, row.seq) else { continue };
        let path = layout.handoff_visit(run, &row.flow, &row.visit);
        if digest_below(layout, &path) != Some(Digest::of(&bytes)) {
            found.other_files.push(path);
        }
    }
    Ok(found)
}
