//! Finds data about this machine and its secrets in a bundle, so that the person who passes it on knows about
//! them.
//!
//! Texts, reports and output are masked in the store. Artifacts and files of the workspace are not, so this
//! module searches them. It writes nothing, and reports no value of a secret.

use crate::{
    export::{ExportError, Source},
    named,
};
use envoi_contract::digest::Digest;
use envoi_engine::snapshots;
use envoi_journal::{Layout, Reader, manifest};
use envoi_kernel::{
    event::{Event, FileChange},
    ids::RunId,
};
use envoi_tree::Tree;
use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Write},
};

/// Data in a bundle that others should perhaps not see.
#[derive(Debug, Default)]
pub struct Outgoing {
    /// Folders of the machine that the events mention.
    pub folders: BTreeSet<String>,
    /// Artifacts, by their paths.
    pub artifacts: BTreeSet<Vec<u8>>,
    /// Whether the bundle has files of the workspace that are not artifacts.
    pub has_files: bool,
    /// Files that contain a secret, each with the name of the secret.
    pub secrets: BTreeSet<(Vec<u8>, String)>,
}

/// Looks through what a bundle of this run would have. `secrets`: name and value of each that is looked for. `without_files`: the bundle has no
/// snapshots.
///
/// # Errors
/// The store cannot be read.
pub fn outgoing(
    layout: &Layout,
    reader: &Reader,
    run: &RunId,
    secrets: &[(String, String)],
    without_files: bool,
) -> Result<Outgoing, ExportError> {
    let shelf = snapshots::contents(layout).shelf()?;
    let source = Source { reader, shelf: &shelf };
    let mut out = Outgoing::default();
    let mut contents: BTreeMap<Digest, BTreeSet<Vec<u8>>> = BTreeMap::new();
    for record in reader.records(run, 0, None)? {
        if !without_files {
            for list in named::workspace(&record).snapshots {
                out.has_files = true;
                let mut bytes = Vec::new();
                // A damaged or missing list is omitted from the bundle, with everything it refers to.
                let Ok(()) = source.write(&list, &mut bytes)? else { continue };
                let Ok(tree) = Tree::parse(&bytes) else { continue };
                for entry in tree.entries() {
                    let in_name = secrets.iter().filter(|(_, value)| stands_in(&entry.path, value));
                    out.secrets.extend(in_name.map(|(name, _)| (entry.path.clone(), name.clone())));
                    let content = entry.content().map(|(digest, _)| digest);
                    content.into_iter().for_each(|digest| {
                        contents.entry(digest).or_default().insert(entry.path.clone());
                    });
                }
            }
        }
        for late in named::late(&record).filter(|_| !without_files) {
            let path = late.path.clone().into_bytes();
            late.digest.into_iter().for_each(|digest| {
                contents.entry(digest).or_default().insert(path.clone());
            });
        }
        match record.event {
            Event::RunStarted(started) => {
                out.folders.extend([started.workspace, started.run_base]);
                out.folders
                    .extend(started.isolated.into_iter().flat_map(|isolated| [isolated.of, isolated.place]));
            }
            Event::AttemptSettled(settled) => {
                let list = settled.manifest.and_then(|many| reader.blob(&many.list.digest).ok());
                let listed = list.and_then(|bytes| manifest::read(&bytes).ok()).unwrap_or_default();
                for FileChange { path, blob, before, .. } in settled.files.into_iter().chain(listed) {
                    let path = path.into_bytes();
                    let in_name = secrets.iter().filter(|(_, value)| stands_in(&path, value));
                    out.secrets.extend(in_name.map(|(name, _)| (path.clone(), name.clone())));
                    for blob in blob.iter().chain(&before) {
                        contents.entry(blob.digest).or_default().insert(path.clone());
                    }
                    out.artifacts.extend(blob.map(|_| path));
                }
            }
            _ => {}
        }
    }
    if secrets.is_empty() {
        return Ok(out);
    }
    for (digest, paths) in contents {
        let mut search = Search::of(secrets);
        // A missing content is not in the bundle.
        if source.write(&digest, &mut search)?.is_err() {
            continue;
        }
        for name in search.found {
            out.secrets.extend(paths.iter().map(|path| (path.clone(), name.clone())));
        }
    }
    Ok(out)
}

fn stands_in(text: &[u8], value: &str) -> bool {
    !value.is_empty() && text.windows(value.len()).any(|part| part == value.as_bytes())
}

/// Searches the written bytes for secrets, also across two writes.
struct Search<'s> {
    secrets: &'s [(String, String)],
    /// The end of the previous bytes: one byte less than the longest secret.
    kept: Vec<u8>,
    longest: usize,
    found: BTreeSet<String>,
}

impl<'s> Search<'s> {
    fn of(secrets: &'s [(String, String)]) -> Self {
        let longest = secrets.iter().map(|(_, value)| value.len()).max().unwrap_or(0);
        Self { secrets, kept: Vec::new(), longest, found: BTreeSet::new() }
    }
}

impl Write for Search<'_> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.kept.extend_from_slice(piece);
        let found = self
            .secrets
            .iter()
            .filter(|(_, value)| stands_in(&self.kept, value))
            .map(|(name, _)| name.clone());
        self.found.extend(found.collect::<Vec<_>>());
        let more = self.kept.len().saturating_sub(self.longest.saturating_sub(1));
        self.kept.drain(..more);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_found_wherever_a_stream_is_cut() {
        let secrets = [("A", "hunter2"), ("B", "hush"), ("C", "other")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let text = b"a hunter2, and hush";
        for size in 1..text.len() {
            let mut search = Search::of(&secrets);
            text.chunks(size).for_each(|piece| search.write_all(piece).unwrap());
            assert_eq!(search.found.into_iter().collect::<Vec<_>>(), ["A", "B"], "{size}");
        }
    }
}
