//! The contents that an event names.

use envoi_contract::digest::Digest;
use envoi_journal::manifest;
use envoi_kernel::event::{Event, FileChange};

/// Contents that stand in the event itself, and the list of artifacts, whose content names more.
pub(crate) fn contents(event: &Event) -> (Vec<Digest>, Option<Digest>) {
    let Event::AttemptSettled(settled) = event else { return (Vec::new(), None) };
    let own = [&settled.text, &settled.report, &settled.data_kept];
    let own = own.into_iter().flatten().map(|blob| blob.digest);
    let list = settled.manifest.as_ref().map(|manifest| manifest.list.digest);
    (own.chain(of_files(&settled.files)).chain(list).collect(), list)
}

/// Contents that a list of artifacts names; none if it is no list.
pub(crate) fn in_list(bytes: &[u8]) -> Option<Vec<Digest>> {
    manifest::read(bytes).ok().map(|files| of_files(&files).collect())
}

fn of_files(files: &[FileChange]) -> impl Iterator<Item = Digest> {
    files.iter().flat_map(|file| file.blob.iter().chain(&file.before)).map(|blob| blob.digest)
}
