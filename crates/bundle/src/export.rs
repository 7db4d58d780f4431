//! A bundle is made of a store, which is only read.
//!
//! A run that is at work can be exported: the bundle ends with the events that were there. What its live attempts have written so far
//! comes too.

use crate::{
    archive::{Archive, Sign},
    manifest::{
        BLOBS, CHAIN, EVENTS, FLOW, FLOWS, FORMAT, FlowText, HANDOFFS, LOGS, LeftOut, MANIFEST, Manifest,
        README, readme,
    },
    named,
};
use envoi_contract::digest::Digest;
use envoi_engine::flow_versions;
use envoi_journal::{
    BlobError, Chain, EventFilter, Layout, PinnedFlow, ReadError, Reader, digests, handoff_bytes,
};
use envoi_kernel::{
    Event, Record, Run,
    ids::{AttemptId, RunId, VisitId},
};
use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, Seek as _, Write},
    path::PathBuf,
};

/// Why there is no bundle.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] ReadError),
    /// The events or the flow of the run cannot be understood.
    #[error("the run cannot be read: {0}")]
    Run(String),
    /// The bundle cannot be written, or a file of the run cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Events of a page, and the bytes after which one ends.
const PAGE: (u32, usize) = (10_000, 16 << 20);

/// What the events of a run say.
struct Lived {
    run: Run,
    lines: Vec<u8>,
    chain: Chain,
    sums: String,
    events: u64,
    handoffs: Vec<(VisitId, Vec<u8>)>,
    attempts: Vec<AttemptId>,
    contents: BTreeSet<Digest>,
}

/// Writes the bundle of a run. `made_by` is the version of the program; `sign` makes a signature of the sums.
///
/// # Errors
/// [`ExportError`]; what was written until then is no bundle.
pub fn export<W: Write>(
    layout: &Layout,
    reader: &Reader,
    run: &RunId,
    made_by: &str,
    sign: Option<Sign<'_>>,
    target: W,
) -> Result<(Manifest, W), ExportError> {
    let pinned = reader.pinned(run)?;
    let lived = live_again(reader, run, &pinned)?;
    let (there, left_out) = look(reader, &lived.contents)?;
    let manifest = Manifest {
        format: FORMAT,
        run: run.to_string(),
        flow: lived.run.flow().id.to_string(),
        status: lived.run.status().word().to_owned(),
        events: lived.events,
        head: lived.chain.head(),
        contents: u64::try_from(there.len()).unwrap_or(u64::MAX),
        left_out,
        made_by: made_by.to_owned(),
    };
    let mut archive = Archive::new(target, run.as_str())?;
    archive.add(README, readme(run.as_str()).as_bytes())?;
    archive.add(MANIFEST, &json(&manifest)?)?;
    archive.add(FLOW, pinned.text.as_bytes())?;
    archive.add(FLOWS, &json(&flow_texts(&pinned))?)?;
    archive.add(EVENTS, &lived.lines)?;
    archive.add(CHAIN, lived.sums.as_bytes())?;
    for (visit, bytes) in &lived.handoffs {
        archive.add(&format!("{HANDOFFS}{visit}.json"), bytes)?;
    }
    for attempt in &lived.attempts {
        for stream in ["stdout", "stderr"] {
            let place = layout.attempt(run, attempt).join(stream);
            if let Some((file, size)) = plain_file(&place)? {
                archive.add_from(&format!("{LOGS}{attempt}/{stream}"), size, file)?;
            }
        }
    }
    for digest in &there {
        add_content(&mut archive, reader, digest)?;
    }
    Ok((manifest, archive.finish(sign)?))
}

/// A content that the events of a run name, that the store has, and that a bundle of the run would not have, such as a snapshot of its
/// workspace. `None`: there is none.
///
/// # Errors
/// [`ExportError`]
pub fn not_in_bundle(layout: &Layout, reader: &Reader, run: &RunId) -> Result<Option<Digest>, ExportError> {
    let lived = live_again(reader, run, &reader.pinned(run)?)?;
    let mut named = BTreeSet::new();
    digests(&lived.lines, &mut named);
    let shelf = envoi_engine::snapshots::contents(layout).whole_shelf()?;
    let is_in_store = |digest: &Digest| match reader.blob_size_bytes(digest) {
        Err(BlobError::Missing { .. }) => Ok(shelf.has(digest)),
        Err(error) => Err(ExportError::Io(io::Error::other(error.to_string()))),
        Ok(_) => Ok(true),
    };
    for digest in named.difference(&lived.contents) {
        if is_in_store(digest)? {
            return Ok(Some(*digest));
        }
    }
    Ok(None)
}

fn json(value: &impl serde::Serialize) -> Result<Vec<u8>, ExportError> {
    let mut bytes = serde_json::to_vec_pretty(value).map_err(io::Error::from)?;
    bytes.push(b'\n');
    Ok(bytes)
}

fn flow_texts(pinned: &PinnedFlow) -> Vec<FlowText> {
    let text = |flow: &PinnedFlow| FlowText {
        digest: flow.digest,
        language: flow.language,
        name: flow.name.clone(),
        text: flow.text.clone(),
        parts: flow.parts.clone(),
    };
    std::iter::once(pinned).chain(&pinned.earlier).map(text).collect()
}

fn live_again(reader: &Reader, run: &RunId, pinned: &PinnedFlow) -> Result<Lived, ExportError> {
    let versions = flow_versions(pinned).map_err(|report| ExportError::Run(report.to_string()))?;
    let mut lived = Lived {
        run: Run::new(versions),
        lines: Vec::new(),
        chain: Chain::of(run),
        sums: String::new(),
        events: 0,
        handoffs: Vec::new(),
        attempts: Vec::new(),
        contents: BTreeSet::new(),
    };
    loop {
        let page = reader.event_texts(run, lived.events, PAGE.0, PAGE.1, EventFilter::All)?;
        if page.is_empty() {
            return Ok(lived);
        }
        for text in page {
            let line = text.json.as_bytes();
            let record: Record = serde_json::from_slice(line)
                .map_err(|error| ExportError::Run(format!("event {}: {error}", text.seq)))?;
            lived.run.apply(&record).map_err(|error| ExportError::Run(error.to_string()))?;
            lived.chain.add(line);
            lived.sums.push_str(&format!("{} {}\n", text.seq, lived.chain.head().hex()));
            lived.lines.extend_from_slice(line);
            lived.lines.push(b'\n');
            lived.events = text.seq.saturating_add(1);
            let (contents, list) = named::contents(&record.event);
            lived.contents.extend(contents);
            // One that cannot be read is left out, and with it what it names.
            let listed =
                list.and_then(|list| reader.blob(&list).ok()).and_then(|bytes| named::in_list(&bytes));
            lived.contents.extend(listed.into_iter().flatten());
            match record.event {
                Event::HandoffWritten(written) => {
                    lived.handoffs.push((written.visit.clone(), handoff_bytes(&written)));
                }
                Event::AttemptStarted(started) => lived.attempts.push(started.attempt.clone()),
                _ => {}
            }
        }
    }
}

/// Which contents are there, and which are not.
fn look(reader: &Reader, contents: &BTreeSet<Digest>) -> Result<(Vec<Digest>, Vec<LeftOut>), ExportError> {
    let mut there = Vec::new();
    let mut left_out = Vec::new();
    for digest in contents {
        // All of it is read: a damaged one is found before the bundle says that it has it.
        match reader.write_blob(digest, &mut io::sink()) {
            Ok(()) => there.push(*digest),
            Err(BlobError::Missing { .. }) => {
                left_out.push(LeftOut { digest: *digest, why: "missing".to_owned() })
            }
            Err(BlobError::Damaged { .. }) => {
                left_out.push(LeftOut { digest: *digest, why: "damaged".to_owned() })
            }
            Err(error) => return Err(io::Error::other(error.to_string()).into()),
        }
    }
    Ok((there, left_out))
}

/// Adds a content; it is laid aside first, because its size comes before it.
fn add_content<W: Write>(
    archive: &mut Archive<W>,
    reader: &Reader,
    digest: &Digest,
) -> Result<(), ExportError> {
    let mut aside = tempfile::spooled_tempfile(1 << 20);
    reader.write_blob(digest, &mut aside).map_err(|error| io::Error::other(error.to_string()))?;
    let size = aside.stream_position()?;
    aside.rewind()?;
    let found = archive.add_from(&format!("{BLOBS}{}", digest.hex()), size, aside)?;
    if found != *digest {
        return Err(io::Error::other(format!("content `{digest}` changed while it was read")).into());
    }
    Ok(())
}

/// A file and its size now, if it is a plain one.
fn plain_file(place: &PathBuf) -> io::Result<Option<(File, u64)>> {
    match place.symlink_metadata() {
        Ok(found) if found.is_file() => Ok(Some((File::open(place)?, found.len()))),
        Ok(_) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
