//! Exports a bundle from a store. The store is only read.
//!
//! A run that is at work can be exported: the bundle then has the events that exist at that time, and the
//! output of its live attempts so far. Events are read a page at a time: once to replay the run, and again
//! for each entry that is made of them.

use crate::{
    archive::{Archive, Sign},
    event_pages::EventPages,
    manifest::{
        BLOBS, CHAIN, EVENTS, FLOW, FLOWS, FORMAT, FlowText, HANDOFFS, LOGS, LeftOut, MANIFEST, Manifest,
        README, TREES, WITHOUT_SNAPSHOTS, readme,
    },
    named,
};
use envoi_contract::digest::Digest;
use envoi_engine::{flow_versions, snapshots};
use envoi_journal::{
    BlobError, Chain, EventFilter, EventText, Layout, PinnedFlow, ReadError, Reader, digests, handoff_bytes,
};
use envoi_kernel::{
    Event, Record, Run,
    ids::{AttemptId, RunId, Seq, VisitId},
};
use envoi_tree::{ContentError, Shelf};
use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, Seek as _, Write},
    path::PathBuf,
};

/// Why an export failed.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] ReadError),
    /// The events or the flow of the run are invalid.
    #[error("the run cannot be read: {0}")]
    Run(String),
    /// The bundle cannot be written, or a file of the run cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A summary of the events of a run.
struct Lived {
    run: Run,
    chain: Chain,
    events: u64,
    /// The size of their lines, and of the lines of the chain.
    line_bytes: u64,
    sum_bytes: u64,
    handoffs: Vec<(VisitId, Seq)>,
    attempts: Vec<AttemptId>,
    contents: BTreeSet<Digest>,
    /// Lists of snapshots.
    snapshots: BTreeSet<Digest>,
    /// Contents that were written during restores of files.
    late: BTreeSet<Digest>,
}

/// Options of an export.
#[derive(Clone, Copy, Default)]
pub struct Wanted<'w> {
    /// The version of the program.
    pub made_by: &'w str,
    /// Signs the sums. `None`: the bundle is not signed.
    pub sign: Option<Sign<'w>>,
    /// Whether the snapshots of the workspace are left out.
    pub without_files: bool,
}

/// Writes the bundle of a run.
///
/// # Errors
/// [`ExportError`]; the output written so far is not a valid bundle.
pub fn export<W: Write>(
    layout: &Layout,
    reader: &Reader,
    run: &RunId,
    wanted: Wanted<'_>,
    target: W,
) -> Result<(Manifest, W), ExportError> {
    let pinned = reader.pinned(run)?;
    let lived = live_again(reader, run, &pinned, |_| {})?;
    let shelf = snapshots::contents(layout).shelf()?;
    let source = Source { reader, shelf: &shelf };
    let Collected { lists, contents, left_out } = source.collect(&lived, wanted.without_files)?;
    let manifest = Manifest {
        format: lived.format(),
        run: run.to_string(),
        flow: lived.run.flow().id.to_string(),
        status: lived.run.status().word().to_owned(),
        events: lived.events,
        head: lived.chain.head(),
        contents: u64::try_from(contents.len()).unwrap_or(u64::MAX),
        left_out,
        made_by: wanted.made_by.to_owned(),
    };
    let mut archive = Archive::new(target, run.as_str())?;
    archive.add(README, readme(run.as_str(), manifest.format).as_bytes())?;
    archive.add(MANIFEST, &json(&manifest)?)?;
    archive.add(FLOW, pinned.text.as_bytes())?;
    archive.add(FLOWS, &json(&flow_texts(&pinned))?)?;
    let lines = pages(reader, run, lived.events).read_as(|event, made| {
        made.extend_from_slice(event.json.as_bytes());
        made.push(b'\n');
    });
    archive.add_from(EVENTS, lived.line_bytes, lines)?;
    let mut chain = Chain::of(run);
    let sums = pages(reader, run, lived.events)
        .read_as(|event, made| made.extend_from_slice(sum(&mut chain, event).as_bytes()));
    archive.add_from(CHAIN, lived.sum_bytes, sums)?;
    for (visit, seq) in &lived.handoffs {
        let record = reader.records(run, *seq, Some(1))?.into_iter().next();
        let Some(Record { event: Event::HandoffWritten(written), .. }) = record else {
            return Err(ExportError::Run(format!("event {seq} is no hand-off any more")));
        };
        archive.add(&format!("{HANDOFFS}{visit}.json"), &handoff_bytes(&written))?;
    }
    for attempt in &lived.attempts {
        for stream in ["stdout", "stderr"] {
            let place = layout.attempt(run, attempt).join(stream);
            if let Some((file, size)) = plain_file(&place)? {
                archive.add_from(&format!("{LOGS}{attempt}/{stream}"), size, file)?;
            }
        }
    }
    for (folder, digests) in [(TREES, &lists), (BLOBS, &contents)] {
        for digest in digests {
            source.add(&mut archive, folder, digest)?;
        }
    }
    Ok((manifest, archive.finish(wanted.sign)?))
}

/// Returns a content that the events of a run refer to and that the store has, but that is not in a bundle of
/// the run: the given one, or one made now. `None`: there is none.
///
/// # Errors
/// [`ExportError`]
pub fn not_in_bundle(
    layout: &Layout,
    reader: &Reader,
    run: &RunId,
    bundle: Option<&Manifest>,
) -> Result<Option<Digest>, ExportError> {
    let mut lacked = BTreeSet::new();
    let lived = live_again(reader, run, &reader.pinned(run)?, |line| digests(line, &mut lacked))?;
    lacked.retain(|digest| !lived.contents.contains(digest));
    if bundle.is_none_or(|bundle| bundle.format != WITHOUT_SNAPSHOTS) {
        lacked.retain(|digest| !lived.snapshots.contains(digest) && !lived.late.contains(digest));
    }
    let left_out = bundle.into_iter().flat_map(|bundle| &bundle.left_out);
    lacked.extend(left_out.filter(|left| left.why != LeftOut::DAMAGED).map(|left| left.digest));
    let shelf = snapshots::contents(layout).whole_shelf()?;
    let is_in_store = |digest: &Digest| match reader.blob_size_bytes(digest) {
        Err(BlobError::Missing { .. }) => Ok(shelf.has(digest)),
        Err(error) => Err(ExportError::Io(io::Error::other(error.to_string()))),
        Ok(_) => Ok(true),
    };
    for digest in lacked {
        if is_in_store(&digest)? {
            return Ok(Some(digest));
        }
    }
    Ok(None)
}

impl Lived {
    fn format(&self) -> u32 {
        match self.snapshots.is_empty() && self.late.is_empty() {
            true => WITHOUT_SNAPSHOTS,
            false => FORMAT,
        }
    }
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

/// The events before `until`.
fn pages(
    reader: &Reader,
    run: &RunId,
    until: Seq,
) -> EventPages<impl FnMut(Seq, u32, usize) -> Result<Vec<EventText>, ReadError>> {
    EventPages::new(
        move |from, limit, bytes| reader.event_texts(run, from, limit, bytes, EventFilter::All),
        until,
    )
}

/// The line of the chain for the next event.
fn sum(chain: &mut Chain, event: &EventText) -> String {
    chain.add(event.json.as_bytes());
    format!("{} {}\n", event.seq, chain.head().hex())
}

fn bytes(text: &[u8]) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}

/// Reads all present events. `each` gets their lines.
fn live_again(
    reader: &Reader,
    run: &RunId,
    pinned: &PinnedFlow,
    mut each: impl FnMut(&[u8]),
) -> Result<Lived, ExportError> {
    let versions = flow_versions(pinned).map_err(|report| ExportError::Run(report.to_string()))?;
    let mut lived = Lived {
        run: Run::new(versions),
        chain: Chain::of(run),
        events: 0,
        line_bytes: 0,
        sum_bytes: 0,
        handoffs: Vec::new(),
        attempts: Vec::new(),
        contents: BTreeSet::new(),
        snapshots: BTreeSet::new(),
        late: BTreeSet::new(),
    };
    let mut all = pages(reader, run, Seq::MAX);
    while let Some(text) = all.next()? {
        let line = text.json.as_bytes();
        let record: Record = serde_json::from_slice(line)
            .map_err(|error| ExportError::Run(format!("event {}: {error}", text.seq)))?;
        lived.run.apply(&record).map_err(|error| ExportError::Run(error.to_string()))?;
        each(line);
        lived.sum_bytes = lived.sum_bytes.saturating_add(bytes(sum(&mut lived.chain, &text).as_bytes()));
        lived.line_bytes = lived.line_bytes.saturating_add(bytes(line)).saturating_add(1);
        lived.events = text.seq.saturating_add(1);
        let workspace = named::workspace(&record);
        lived.snapshots.extend(workspace.snapshots);
        lived.late.extend(workspace.late);
        let (contents, list) = named::contents(&record.event);
        lived.contents.extend(contents);
        // An unreadable list is omitted, together with the contents it refers to.
        let listed = list.and_then(|list| reader.blob(&list).ok()).and_then(|bytes| named::in_list(&bytes));
        lived.contents.extend(listed.into_iter().flatten());
        match record.event {
            Event::HandoffWritten(written) => lived.handoffs.push((written.visit.clone(), text.seq)),
            Event::AttemptStarted(started) => lived.attempts.push(started.attempt.clone()),
            _ => {}
        }
    }
    Ok(lived)
}

/// Contents of a store, wherever they lie.
pub(crate) struct Source<'s> {
    pub(crate) reader: &'s Reader,
    pub(crate) shelf: &'s Shelf,
}

/// The contents that a bundle takes from the store, and those that are missing.
struct Collected {
    lists: Vec<Digest>,
    contents: Vec<Digest>,
    left_out: Vec<LeftOut>,
}

impl Source<'_> {
    fn collect(&self, lived: &Lived, without_files: bool) -> Result<Collected, ExportError> {
        let mut left_out = Vec::new();
        let mut leave = |digest: Digest, why: &str| left_out.push(LeftOut { digest, why: why.to_owned() });
        let mut lists = Vec::new();
        let mut wanted = lived.contents.clone();
        if !without_files {
            wanted.extend(&lived.late);
        }
        for digest in &lived.snapshots {
            if without_files {
                leave(*digest, LeftOut::NOT_WANTED);
                continue;
            }
            match self.list(digest)? {
                Ok(named) => {
                    wanted.extend(named);
                    lists.push(*digest);
                }
                Err(why) => leave(*digest, why),
            }
        }
        let mut contents = Vec::new();
        for digest in wanted {
            // Reads the whole content, so that damage is found before the manifest claims that the bundle has
            // it.
            match self.write(&digest, &mut io::sink())? {
                Ok(()) => contents.push(digest),
                Err(why) => leave(digest, why),
            }
        }
        for digest in lived.late.iter().filter(|digest| without_files && !lived.contents.contains(digest)) {
            leave(*digest, LeftOut::NOT_WANTED);
        }
        Ok(Collected { lists, contents, left_out })
    }

    /// The contents that the list of a snapshot refers to, or why the list is not in a bundle.
    fn list(&self, digest: &Digest) -> Result<Result<BTreeSet<Digest>, &'static str>, ExportError> {
        let mut bytes = Vec::new();
        if let Err(why) = self.write(digest, &mut bytes)? {
            return Ok(Err(why));
        }
        if u64::try_from(bytes.len()).is_ok_and(|size| size > named::MAX_LIST_BYTES) {
            return Ok(Err(LeftOut::TOO_LARGE));
        }
        Ok(named::in_snapshot(&bytes).ok_or(LeftOut::DAMAGED))
    }

    /// Writes a content, or returns why it is missing.
    pub(crate) fn write(
        &self,
        digest: &Digest,
        target: &mut dyn Write,
    ) -> Result<Result<(), &'static str>, ExportError> {
        match self.reader.write_blob(digest, target) {
            Ok(()) => return Ok(Ok(())),
            Err(BlobError::Damaged { .. }) => return Ok(Err(LeftOut::DAMAGED)),
            // The content may be in a pack.
            Err(BlobError::Missing { .. }) => {}
            Err(error) => return Err(io::Error::other(error.to_string()).into()),
        }
        match self.shelf.read(digest) {
            Ok(bytes) => Ok(Ok(target.write_all(&bytes)?)),
            Err(ContentError::Missing { .. }) => Ok(Err(LeftOut::MISSING)),
            Err(ContentError::Damaged { .. }) => Ok(Err(LeftOut::DAMAGED)),
            Err(error) => Err(io::Error::other(error.to_string()).into()),
        }
    }

    /// Adds a content. It is first written to a temporary place, because its size precedes it in the archive.
    fn add<W: Write>(
        &self,
        archive: &mut Archive<W>,
        folder: &str,
        digest: &Digest,
    ) -> Result<(), ExportError> {
        let mut aside = tempfile::spooled_tempfile(1 << 20);
        if let Err(why) = self.write(digest, &mut aside)? {
            return Err(io::Error::other(format!("content `{digest}` became {why}")).into());
        }
        let size = aside.stream_position()?;
        aside.rewind()?;
        let found = archive.add_from(&format!("{folder}{}", digest.hex()), size, aside)?;
        if found != *digest {
            return Err(io::Error::other(format!("content `{digest}` changed while it was read")).into());
        }
        Ok(())
    }
}

/// A file with its present size, if it is a regular file.
fn plain_file(place: &PathBuf) -> io::Result<Option<(File, u64)>> {
    match place.symlink_metadata() {
        Ok(found) if found.is_file() => Ok(Some((File::open(place)?, found.len()))),
        Ok(_) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
