//! The contents that an event refers to.

use envoi_contract::digest::Digest;
use envoi_engine::snapshots;
use envoi_journal::manifest;
use envoi_kernel::{
    Record,
    event::{Event, FileChange, LateFile},
};
use envoi_tree::Tree;
use std::collections::BTreeSet;

/// Contents that the event itself refers to, and the list of artifacts, which refers to more.
pub(crate) fn contents(event: &Event) -> (Vec<Digest>, Option<Digest>) {
    let Event::AttemptSettled(settled) = event else { return (Vec::new(), None) };
    let own = [&settled.text, &settled.report, &settled.data_kept];
    let own = own.into_iter().flatten().map(|blob| blob.digest);
    let list = settled.manifest.as_ref().map(|manifest| manifest.list.digest);
    (own.chain(of_files(&settled.files)).chain(list).collect(), list)
}

/// The folder named after the attempt, question or flow of the event. An import creates it.
pub(crate) fn folder(event: &Event) -> Option<String> {
    match event {
        Event::AttemptStarted(started) => Some(started.attempt.to_string()),
        Event::InterruptRaised(raised) => Some(raised.interrupt.to_string()),
        Event::RunStarted(started) => Some(started.flow.to_string()),
        Event::HandoffWritten(written) => Some(written.handoff.flow_key.clone()),
        _ => None,
    }
}

/// Contents that a list of artifacts refers to; `None` if it is not such a list.
pub(crate) fn in_list(bytes: &[u8]) -> Option<Vec<Digest>> {
    manifest::read(bytes).ok().map(|files| of_files(&files).collect())
}

/// The contents of the workspace that an event refers to.
pub(crate) struct Workspace {
    /// The lists of snapshots.
    pub(crate) snapshots: BTreeSet<Digest>,
    /// Content that was written during restores of files.
    pub(crate) late: Vec<Digest>,
}

/// See [`Workspace`].
pub(crate) fn workspace(record: &Record) -> Workspace {
    Workspace {
        snapshots: snapshots::named([record]),
        late: late(record).filter_map(|file| file.digest).collect(),
    }
}

/// The files that were written while files were set back, with their paths.
pub(crate) fn late(record: &Record) -> impl Iterator<Item = &LateFile> {
    let (late, others): (&[LateFile], &[LateFile]) = match &record.event {
        Event::AttemptSettled(settled) => (
            settled.set_back.as_deref().map_or(&[], |back| &back.late),
            settled.cache.as_deref().map_or(&[], |cache| &cache.late),
        ),
        Event::FilesRestoring(wanted) => (&wanted.found, &[]),
        Event::FilesRestored(done) => (&done.late, &[]),
        _ => (&[], &[]),
    };
    late.iter().chain(others)
}

/// Maximum size of the list of a snapshot: about 500,000 files. In memory it is several times as large.
pub(crate) const MAX_LIST_BYTES: u64 = 64 << 20;

/// Contents that the list of a snapshot refers to; `None` if it is not such a list.
pub(crate) fn in_snapshot(bytes: &[u8]) -> Option<BTreeSet<Digest>> {
    let tree = Tree::parse(bytes).ok()?;
    Some(tree.entries().iter().filter_map(|entry| entry.content().map(|(digest, _)| digest)).collect())
}

fn of_files(files: &[FileChange]) -> impl Iterator<Item = Digest> {
    files.iter().flat_map(|file| file.blob.iter().chain(&file.before)).map(|blob| blob.digest)
}
