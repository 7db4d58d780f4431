//! A run is examined, and nothing changed: so that it can be done while an engine is at work.

use super::{
    compare::Expected,
    content,
    rebuild::{Clock, MOST_EVENTS, MOST_NAMED},
};
use crate::{
    files::{digest_below, in_the_way},
    folder::layout::Layout,
    log::reader::Reader,
    model::{
        damage::Gap,
        error::{BlobError, ReadError},
    },
};
use envoi_contract::digest::Digest;
use envoi_kernel::{
    event::Record,
    ids::{RunId, Seq},
};
use std::{collections::BTreeSet, io, path::PathBuf};

/// The findings of [`examine`] about a run. Every list is empty, and every flag false, if all is well.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Examination {
    /// Events that were looked at.
    pub events: u64,
    /// Contents that were looked at.
    pub contents: u64,
    /// Places that no event has, up to the end in its row; the first hundred gaps.
    pub gaps: Vec<Gap>,
    /// The run has a row and no entry in the journal, so that its events are not known to be its own.
    pub has_no_entry: bool,
    /// Events that cannot be understood: the place of each, and the decoder's finding. The first hundred.
    pub unreadable: Vec<(Seq, String)>,
    /// Content that is missing or does not match its digest, one line each.
    pub damaged_content: Vec<String>,
    /// Rows of the run that differ from its events, as `table key: how`. A repair of the store makes them again.
    pub other_rows: Vec<String>,
    /// Hand-off files that are missing or differ from the journal. `envoi resume` writes them again.
    pub other_files: Vec<PathBuf>,
    /// Such files that cannot be written, each with what is in the way: as long as it is there, they stay away.
    pub blocked_files: Vec<(PathBuf, PathBuf)>,
}

impl Examination {
    /// Whether everything is as it should be.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let Self {
            gaps,
            has_no_entry,
            unreadable,
            damaged_content,
            other_rows,
            other_files,
            blocked_files,
            events: _,
            contents: _,
        } = self;
        gaps.is_empty()
            && !has_no_entry
            && unreadable.is_empty()
            && damaged_content.is_empty()
            && other_rows.is_empty()
            && blocked_files.is_empty()
            && other_files.is_empty()
    }
}

/// Looks at the events of a run alone, and compares its rows with them; one event after the other, so that it takes no more memory for a long run than for a short one.
///
/// # Errors
/// As [`examine`].
pub fn examine_events(reader: &Reader, run: &RunId) -> Result<Examination, ReadError> {
    look_at_events(reader, run, |_| {})
}

fn look_at_events(
    reader: &Reader,
    run: &RunId,
    visit: impl FnMut(&Record),
) -> Result<Examination, ReadError> {
    // Events that come meanwhile are no gap, and their rows are not different.
    reader.consistently(|| look_now(reader, run, visit))
}

fn look_now(reader: &Reader, run: &RunId, mut visit: impl FnMut(&Record)) -> Result<Examination, ReadError> {
    let failed = |error| Reader::failed(error, "a row");
    let mut found = Examination::default();
    let mut next = 0;
    let mut clock = Clock::default();
    let end = Some(reader.run(run)?.next_seq).filter(|next| *next <= MOST_EVENTS).unwrap_or(0).max(1);
    let Some(key) = reader.known_key(run)? else {
        found.has_no_entry = true;
        return Ok(found);
    };
    let mut expected = reader.scratch().and_then(|memory| Expected::of(key, memory));
    reader.each_event(run, |seq, record| {
        note_gap(&mut found.gaps, next, seq);
        next = seq.saturating_add(1);
        found.events = found.events.saturating_add(1);
        match record {
            Ok(record) => {
                if let Err(error) = clock.see(&record)
                    && found.unreadable.len() < MOST_NAMED
                {
                    found.unreadable.push((seq, error.to_string()));
                }
                visit(&record);
                if let Ok(rows) = &mut expected
                    && let Err(error) = rows.add(record)
                {
                    expected = Err(error);
                }
            }
            Err(error) if found.unreadable.len() < MOST_NAMED => {
                found.unreadable.push((seq, error.to_string()))
            }
            Err(_) => {}
        }
    })?;
    note_gap(&mut found.gaps, next, end);
    // Missing events are the fault themselves.
    let expected = expected.map_err(failed)?;
    if found.is_whole() {
        found.other_rows = expected.differences(reader.conn()).map_err(failed)?;
    }
    Ok(found)
}

fn note_gap(gaps: &mut Vec<Gap>, next: Seq, until: Seq) {
    if gaps.len() < MOST_NAMED {
        gaps.extend(Gap::between(next, until));
    }
}

/// Looks at the events of a run, at the content that they name, and at its hand-off files.
///
/// # Errors
/// [`ReadError::Missing`] when there is no such run; otherwise the machine's. Damage is no error.
pub fn examine(layout: &Layout, reader: &Reader, run: &RunId) -> Result<Examination, ReadError> {
    let mut digests = BTreeSet::new();
    let mut found = look_at_events(reader, run, |record| digests.extend(content::of_record(reader, record)))?;
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
        // A run whose event cannot be read has been reported.
        let Ok(bytes) = reader.handoff_at(run, row.seq) else { continue };
        let path = layout.handoff_visit(run, &row.flow, &row.visit);
        if digest_below(layout, &path) == Some(Digest::of(&bytes)) {
            continue;
        }
        match in_the_way(layout, &path) {
            Some(obstacle) => found.blocked_files.push((path, obstacle)),
            None => found.other_files.push(path),
        }
    }
    Ok(found)
}
