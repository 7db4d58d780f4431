//! Which content the lists of artifacts name, remembered.
//!
//! A list is content of the store: it never changes, and may be long. Each look-up of content asks this of every list of
//! a tenant whenever content is looked up, so it is read once and then known by a mark for each file. Nothing is decided from
//! marks alone: two contents may have one mark, so the caller reads the list when a mark matches.

use envoi_contract::digest::Digest;
use envoi_kernel::event::FileChange;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

/// The most marks that are remembered, of 8 bytes each. Lists beyond them are read each time.
const MOST_MARKS: usize = 4_000_000;

/// The remembered facts about the lists of one store. Cheap to clone; clones remember together.
#[derive(Debug, Clone)]
pub(crate) struct ManifestIndex {
    known: Arc<Mutex<Known>>,
    most_marks: usize,
}

#[derive(Debug, Default)]
struct Known {
    /// The marks of each list, sorted.
    lists: BTreeMap<Digest, Vec<u64>>,
    marks: usize,
}

impl Default for ManifestIndex {
    fn default() -> Self {
        Self { known: Arc::default(), most_marks: MOST_MARKS }
    }
}

impl ManifestIndex {
    /// Whether `list` may name `content`. `read` reads it if it is not remembered; a list that cannot be read names nothing, and
    /// is tried again the next time.
    pub(crate) fn may_name(
        &self,
        list: &Digest,
        content: &Digest,
        read: impl FnOnce() -> Option<Vec<FileChange>>,
    ) -> bool {
        let mark = mark_of(content);
        if let Some(marks) = self.known().lists.get(list) {
            return marks.binary_search(&mark).is_ok();
        }
        // Others look things up while it is read.
        let Some(files) = read() else { return false };
        let mut marks: Vec<_> =
            files.iter().filter_map(|file| file.blob.as_ref()).map(|blob| mark_of(&blob.digest)).collect();
        marks.sort_unstable();
        marks.dedup();
        marks.shrink_to_fit();
        let is_named = marks.binary_search(&mark).is_ok();
        self.remember(list, marks);
        is_named
    }

    fn remember(&self, list: &Digest, marks: Vec<u64>) {
        let mut known = self.known();
        let total = known.marks.saturating_add(marks.len());
        if total <= self.most_marks && !known.lists.contains_key(list) {
            known.marks = total;
            known.lists.insert(*list, marks);
        }
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The beginning of a digest.
fn mark_of(content: &Digest) -> u64 {
    content.as_bytes().first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use envoi_kernel::event::{Blob, Change};

    fn list(names: &[&str]) -> Vec<FileChange> {
        let file = |name: &&str| FileChange {
            path: (*name).to_owned(),
            change: Change::Created,
            blob: Some(Blob { digest: Digest::of(name.as_bytes()), size: 1 }),
            before: None,
        };
        names.iter().map(file).collect()
    }

    #[test]
    fn a_list_is_read_once_as_long_as_there_is_room_and_again_if_it_could_not_be() {
        let contents = ManifestIndex { most_marks: 2, ..ManifestIndex::default() };
        let [first, second, a, x] = ["first", "second", "a", "x"].map(|text| Digest::of(text.as_bytes()));
        let never = || unreachable!("it is remembered");
        assert!(!contents.may_name(&first, &a, || None), "it cannot be read");
        assert!(contents.may_name(&first, &a, || Some(list(&["a", "b"]))));
        assert!(contents.clone().may_name(&first, &a, never));
        assert!(!contents.may_name(&first, &x, never));
        // There is no room for another.
        for _ in 0..2 {
            let mut was_read = false;
            let read = || {
                was_read = true;
                Some(list(&["x"]))
            };
            assert!(contents.may_name(&second, &x, read) && was_read);
        }
        assert!(contents.may_name(&first, &a, never));
    }
}
