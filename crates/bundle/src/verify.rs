//! Verifies a bundle: its sums, its names, its hash chain, that its events are a valid run of its flow, and
//! that no content they refer to is missing.
//!
//! A bundle may come from any person, and a small file may unpack to any size. This module writes nothing to
//! the disk, keeps no more of the archive in memory than a bound ([`crate::entries`]), and reads nothing
//! outside the bundle.

use crate::{
    entries::{Entries, MAX_KEPT_BYTES, lines, read, why_no_file},
    manifest::{
        BLOBS, CHAIN, EVENTS, FLOW, FLOWS, FORMAT, FlowText, HANDOFFS, LOGS, MANIFEST, Manifest, README,
        SIGNATURE, SUMS, TREES, WITHOUT_SNAPSHOTS, readme,
    },
    named,
    wrong::{Wrong, wrong},
};
use envoi_contract::digest::Digest;
use envoi_engine::flow_versions;
use envoi_journal::{Chain, PinnedFlow, handoff_bytes};
use envoi_kernel::{Event, Record, Run, Status, ids::RunId};
use std::{collections::BTreeSet, io::Read};

/// The contents of a valid bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Whole {
    /// Its manifest, which has been verified.
    pub manifest: Manifest,
    /// Bytes of its contents.
    pub content_bytes: u64,
    /// Snapshots of the workspace.
    pub snapshots: u64,
    /// Number of entries with output of attempts. They are not confirmed by any event.
    pub logs: u64,
    /// The head of the hash chain after each event, in order. The last one is the head of the whole chain.
    pub heads: Vec<Digest>,
    /// The sums of all entries.
    pub sums: Vec<u8>,
    /// The signature of the sums, if there is one. The signer was not checked.
    pub signature: Option<Vec<u8>>,
}

/// Checks a bundle.
///
/// # Errors
/// The first fault that was found.
pub fn verify(source: impl Read) -> Result<Whole, Wrong> {
    open(source).map(|opened| opened.whole)
}

/// A valid bundle, with the run replayed.
#[derive(Debug, Clone)]
pub struct Opened {
    /// The contents.
    pub whole: Whole,
    /// The run.
    pub run: RunId,
    /// Its events, each with its line.
    pub events: Vec<(Record, String)>,
    /// Its flow, with those before its corrections.
    pub pinned: PinnedFlow,
    /// Whether the run had ended with no work left.
    pub is_over: bool,
}

/// As [`verify`], but also returns the run and its events.
///
/// # Errors
/// As [`verify`].
pub fn open(source: impl Read) -> Result<Opened, Wrong> {
    let entries = read(source, MAX_KEPT_BYTES)?;
    check_sums(&entries)?;
    let manifest: Manifest = entries.json(MANIFEST)?;
    if ![WITHOUT_SNAPSHOTS, FORMAT].contains(&manifest.format) {
        let reason = format!("it has format {}, and this program knows up to {FORMAT}", manifest.format);
        return Err(wrong(MANIFEST, reason));
    }
    let run = RunId::new(manifest.run.as_str())
        .ok()
        .filter(|run| run.as_str() == entries.folder)
        .ok_or_else(|| wrong(MANIFEST, "`run` is not the name of the folder"))?;
    if entries.text(README)? != readme(run.as_str(), manifest.format).as_bytes() {
        return Err(wrong(README, "it is not the text of this format"));
    }
    let pinned = pinned(&entries)?;
    let lived = check_events(&entries, &manifest, &run, &pinned)?;
    let (contents, content_bytes) = check_contents(&entries, &manifest, &lived)?;
    if contents != manifest.contents {
        return Err(wrong(
            MANIFEST,
            format!("it says {} contents, and there are {contents}", manifest.contents),
        ));
    }
    let logs = entries.below(LOGS).count();
    let whole = Whole {
        content_bytes,
        snapshots: u64::try_from(entries.below(TREES).count()).unwrap_or(u64::MAX),
        logs: u64::try_from(logs).unwrap_or(u64::MAX),
        heads: lived.heads,
        sums: entries.text(SUMS)?.to_vec(),
        signature: entries.texts.get(SIGNATURE).cloned(),
        manifest,
    };
    Ok(Opened { whole, run, events: lived.events, pinned, is_over: lived.is_over })
}

/// Checks that the sums list each entry once, except themselves, and are right.
fn check_sums(entries: &Entries) -> Result<(), Wrong> {
    let text = String::from_utf8_lossy(entries.text(SUMS)?);
    let mut named = BTreeSet::new();
    for line in text.lines() {
        let (hex, name) = line.split_once("  ").ok_or_else(|| wrong(SUMS, format!("`{line}` is no sum")))?;
        let found = entries
            .sums
            .get(name)
            .ok_or_else(|| wrong(name, format!("{SUMS} names it, and it is missing")))?;
        if found.hex() != hex {
            return Err(wrong(name, format!("its sum is {}, and {SUMS} says {hex}", found.hex())));
        }
        if !named.insert(name) {
            return Err(wrong(SUMS, format!("it names `{name}` twice")));
        }
    }
    match entries
        .sums
        .keys()
        .find(|name| ![SUMS, SIGNATURE].contains(&name.as_str()) && !named.contains(name.as_str()))
    {
        Some(name) => Err(wrong(name, format!("{SUMS} does not name it"))),
        None => Ok(()),
    }
}

/// The flow, with those before its corrections.
fn pinned(entries: &Entries) -> Result<PinnedFlow, Wrong> {
    let texts: Vec<FlowText> = entries.json(FLOWS)?;
    let mut flows = texts.into_iter().map(|flow| PinnedFlow {
        digest: flow.digest,
        language: flow.language,
        name: flow.name,
        text: flow.text,
        parts: flow.parts,
        earlier: Vec::new(),
    });
    let mut pinned = flows.next().ok_or_else(|| wrong(FLOWS, "it has no flow"))?;
    pinned.earlier = flows.collect();
    if entries.text(FLOW)? != pinned.text.as_bytes() {
        return Err(wrong(FLOW, format!("it is not the first flow of {FLOWS}")));
    }
    Ok(pinned)
}

/// Checks that the events are a valid run of the flow, with the final state of the manifest.
fn check_events(
    entries: &Entries,
    manifest: &Manifest,
    run: &RunId,
    pinned: &PinnedFlow,
) -> Result<Life, Wrong> {
    for flow in std::iter::once(pinned).chain(&pinned.earlier) {
        let alone = PinnedFlow { earlier: Vec::new(), ..flow.clone() };
        let parsed = flow_versions(&alone).map_err(|report| wrong(FLOWS, report.to_string()))?;
        if parsed.first().digest != flow.digest {
            let reason = format!(
                "`{}` has the digest {}, and it says {}",
                flow.name,
                parsed.first().digest,
                flow.digest
            );
            return Err(wrong(FLOWS, reason));
        }
    }
    let versions = flow_versions(pinned).map_err(|report| wrong(FLOWS, report.to_string()))?;
    let mut lived = Run::new(versions);
    let mut chain = Chain::of(run);
    let mut sums = lines(entries.text(CHAIN)?);
    let mut handoffs: BTreeSet<String> = entries.below(HANDOFFS).map(str::to_owned).collect();
    let mut contents = entries.listed.clone();
    let (mut snapshots, mut records) = (BTreeSet::new(), Vec::new());
    let mut heads = Vec::new();
    let events = entries.text(EVENTS)?;
    if !events.ends_with(b"\n") {
        return Err(wrong(EVENTS, "it does not end with a newline"));
    }
    for (at, line) in (0_u64..).zip(lines(events)) {
        let place = format!("{EVENTS}, line {}", at.saturating_add(1));
        chain.add(line);
        if sums.next() != Some(format!("{at} {}", chain.head().hex()).as_bytes()) {
            return Err(wrong(place, format!("{CHAIN} has another sum for it")));
        }
        heads.push(chain.head());
        let record: Record =
            serde_json::from_slice(line).map_err(|error| wrong(&place, error.to_string()))?;
        if record.seq != at {
            return Err(wrong(place, format!("it is event {}, and event {at} was expected", record.seq)));
        }
        if let Some(why) = named::folder(&record.event).and_then(|name| why_no_file(&name)) {
            return Err(wrong(&place, why));
        }
        if let Event::RunStarted(started) = &record.event
            && started.run != *run
        {
            return Err(wrong(place, format!("it is of run `{}`", started.run)));
        }
        lived.apply(&record).map_err(|error| wrong(&place, error.to_string()))?;
        let (named, list) = named::contents(&record.event);
        contents.extend(named);
        if manifest.format != WITHOUT_SNAPSHOTS {
            let workspace = named::workspace(&record);
            contents.extend(workspace.late);
            snapshots.extend(workspace.snapshots);
        }
        if let Some(bytes) = list.and_then(|list| entries.texts.get(&format!("{BLOBS}{}", list.hex()))) {
            let listed =
                named::in_list(bytes).ok_or_else(|| wrong(&place, "its list of artifacts cannot be read"))?;
            contents.extend(listed);
        }
        if let Event::HandoffWritten(written) = &record.event {
            let name = format!("{}.json", written.visit);
            if entries.text(&format!("{HANDOFFS}{name}"))? != handoff_bytes(written) {
                return Err(wrong(format!("{HANDOFFS}{name}"), format!("it is not what {place} has")));
            }
            handoffs.remove(&name);
        }
        let line = core::str::from_utf8(line).map_err(|error| wrong(&place, error.to_string()))?;
        records.push((record, line.to_owned()));
    }
    if sums.next().is_some() {
        return Err(wrong(CHAIN, "it has more lines than there are events"));
    }
    if let Some(name) = handoffs.first() {
        return Err(wrong(format!("{HANDOFFS}{name}"), "no event has it"));
    }
    let stated = (manifest.events, manifest.head, manifest.status.as_str(), manifest.flow.as_str());
    let status = lived.status();
    let flow = lived.flow().id.to_string();
    if stated != (lived.next_seq(), chain.head(), status.word(), flow.as_str()) {
        let reason = format!(
            "it says {} events, status {}, head {}; the events come to {}, {}, {}",
            stated.0,
            stated.2,
            stated.1,
            lived.next_seq(),
            status.word(),
            chain.head()
        );
        return Err(wrong(MANIFEST, reason));
    }
    // A run that was reopened, or whose files are being restored, is not over.
    let is_over = matches!(status, Status::Ended(_))
        && lived.restoring().is_none()
        && lived.interrupts().next().is_none();
    Ok(Life { events: records, heads, contents, snapshots, is_over })
}

/// The final state of the events, and the contents they refer to.
struct Life {
    events: Vec<(Record, String)>,
    /// The head of the chain after each.
    heads: Vec<Digest>,
    is_over: bool,
    /// Contents, with those that the snapshots name.
    contents: BTreeSet<Digest>,
    /// The lists of snapshots.
    snapshots: BTreeSet<Digest>,
}

/// Checks the contents and the lists of snapshots: the name of each is its digest, an event names it, and
/// each one that an event refers to is present or listed in `left_out`. Returns the number and the bytes of
/// the contents.
fn check_contents(entries: &Entries, manifest: &Manifest, named: &Life) -> Result<(u64, u64), Wrong> {
    let left_out: BTreeSet<Digest> = manifest.left_out.iter().map(|left| left.digest).collect();
    check_folder(entries, TREES, &named.snapshots, &left_out, &BTreeSet::new())?;
    // A list may be left out that is there as the content of something else.
    check_folder(entries, BLOBS, &named.contents, &left_out, &named.snapshots)
}

/// Returns how many there are, and their bytes. Contents that are left out and named `elsewhere` too may be there.
fn check_folder(
    entries: &Entries,
    folder: &str,
    named: &BTreeSet<Digest>,
    left_out: &BTreeSet<Digest>,
    elsewhere: &BTreeSet<Digest>,
) -> Result<(u64, u64), Wrong> {
    let mut contents = 0_u64;
    let mut bytes = 0_u64;
    for hex in entries.below(folder) {
        let name = format!("{folder}{hex}");
        let digest = entries.sums.get(&name).copied();
        if digest.is_none_or(|digest| digest.hex() != hex) {
            return Err(wrong(name, "its name is not its sum"));
        }
        if digest.is_none_or(|digest| !named.contains(&digest)) {
            return Err(wrong(name, "no event names it"));
        }
        contents = contents.saturating_add(1);
        bytes = bytes.saturating_add(entries.sizes.get(&name).copied().unwrap_or_default());
    }
    for digest in named {
        let is_there = entries.sums.contains_key(&format!("{folder}{}", digest.hex()));
        let is_left_out = left_out.contains(digest);
        if is_there == is_left_out && !(is_there && elsewhere.contains(digest)) {
            let reason = if is_there {
                "it is there, and the manifest says that it is not"
            } else {
                "an event names it, and it is missing"
            };
            return Err(wrong(format!("{folder}{}", digest.hex()), reason));
        }
    }
    Ok((contents, bytes))
}
