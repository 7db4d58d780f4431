//! The content of a disk after a power failure, from the log of its operations.
//!
//! Owns the model of loss: synced content survives; later writes may be missing or torn. A file exists from
//! its creation to its removal: the sync of a folder is not part of the model.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// The unit in which a write is torn: no disk writes less at once.
const SECTOR_BYTES: usize = 512;

/// A position in a disk's log. Later ones are larger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub usize);

/// How much unsynced content survives a power failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Survives {
    /// Nothing. Content written before a failed sync is lost for good, because later syncs do not write it
    /// again.
    Synced,
    /// Everything, as if only the process had died.
    Everything,
    /// Some of the writes, some of them torn. The same seed has the same result.
    Some {
        /// Picks the writes.
        seed: u64,
    },
}

/// An operation on a file.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) path: PathBuf,
    pub(crate) act: Act,
}

/// The operation.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    /// The file was opened for the first time, with this content, all of it durable.
    Found(Vec<u8>),
    /// A change that is durable once it is synced.
    Changed(Change),
    /// Every change so far is durable.
    Synced,
    /// A sync failed: each change so far is durable or lost, and no later sync makes it durable.
    SyncFailed,
    /// The file was removed.
    Removed,
}

/// A change of a file's content.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    Truncate { len: usize },
}

#[derive(Default)]
struct File {
    durable: Vec<u8>,
    pending: Vec<Change>,
}

/// The files that exist after a power failure at the end of these entries.
pub(crate) fn image(log: &[Entry], survives: Survives) -> BTreeMap<&Path, Vec<u8>> {
    let mut luck = Luck::of(survives);
    let mut files: BTreeMap<&Path, File> = BTreeMap::new();
    for Entry { path, act } in log {
        let file = files.entry(path).or_default();
        match act {
            Act::Found(bytes) => *file = File { durable: bytes.clone(), pending: Vec::new() },
            Act::Changed(change) => file.pending.push(change.clone()),
            Act::Synced => file.keep(|_| Fate::Kept),
            Act::SyncFailed => file.keep(|_| luck.fate()),
            Act::Removed => {
                files.remove(path.as_path());
            }
        }
    }
    files.values_mut().for_each(|file| file.keep(|_| luck.fate()));
    files.into_iter().map(|(path, file)| (path, file.durable)).collect()
}

impl File {
    /// Decides about pending changes.
    fn keep(&mut self, mut fate: impl FnMut(&Change) -> Fate) {
        for change in std::mem::take(&mut self.pending) {
            match (fate(&change), change) {
                (Fate::Lost, _) => {}
                (Fate::Torn(mut luck), Change::Write { offset, bytes }) => {
                    for (sector, part) in bytes.chunks(SECTOR_BYTES).enumerate() {
                        if luck.next().is_multiple_of(2) {
                            self.write(offset + sector * SECTOR_BYTES, part);
                        }
                    }
                }
                (_, Change::Write { offset, bytes }) => self.write(offset, &bytes),
                (_, Change::Truncate { len }) => self.durable.truncate(len),
            }
        }
    }

    fn write(&mut self, offset: usize, bytes: &[u8]) {
        if self.durable.len() < offset {
            self.durable.resize(offset, 0);
        }
        let over = bytes.len().min(self.durable.len() - offset);
        let (over, more) = bytes.split_at(over);
        if let Some(place) = self.durable.get_mut(offset..offset + over.len()) {
            place.copy_from_slice(over);
        }
        self.durable.extend_from_slice(more);
    }
}

/// The fate of an unsynced change.
enum Fate {
    Kept,
    Lost,
    Torn(Random),
}

enum Luck {
    Always(bool),
    Random(Random),
}

impl Luck {
    fn of(survives: Survives) -> Self {
        match survives {
            Survives::Synced => Self::Always(false),
            Survives::Everything => Self::Always(true),
            Survives::Some { seed } => Self::Random(Random(seed)),
        }
    }

    fn fate(&mut self) -> Fate {
        match self {
            Self::Always(true) => Fate::Kept,
            Self::Always(false) => Fate::Lost,
            Self::Random(random) => match random.next() % 3 {
                0 => Fate::Kept,
                1 => Fate::Lost,
                _ => Fate::Torn(Random(random.next())),
            },
        }
    }
}

/// `SplitMix64`: good enough for choices, and the same on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(offset: usize, bytes: &[u8]) -> Act {
        Act::Changed(Change::Write { offset, bytes: bytes.to_vec() })
    }

    fn after(acts: &[Act], survives: Survives) -> Option<Vec<u8>> {
        let entry = |act: &Act| Entry { path: "f".into(), act: act.clone() };
        let log: Vec<Entry> = acts.iter().map(entry).collect();
        image(&log, survives).remove(Path::new("f"))
    }

    #[test]
    fn what_was_synced_is_there_and_nothing_else() {
        let acts =
            [Act::Found(b"abc".to_vec()), write(2, b"xy"), Act::Synced, write(0, b"q"), write(6, b"z")];
        assert_eq!(after(&acts, Survives::Synced).unwrap(), b"abxy");
        assert_eq!(after(&acts, Survives::Everything).unwrap(), b"qbxy\0\0z");
    }

    #[test]
    fn what_a_failed_sync_lost_is_not_saved_by_the_next() {
        let acts = [write(0, b"ab"), Act::SyncFailed, write(1, b"c"), Act::Synced];
        assert_eq!(after(&acts, Survives::Synced).unwrap(), b"\0c");
        assert_eq!(after(&acts, Survives::Everything).unwrap(), b"ac");
    }

    #[test]
    fn a_truncation_lasts_once_it_is_synced_and_a_removed_file_is_gone() {
        let cut = Act::Changed(Change::Truncate { len: 1 });
        let acts = [Act::Found(b"abc".to_vec()), cut, Act::Synced, Act::Removed];
        assert_eq!(after(&acts[..2], Survives::Synced).unwrap(), b"abc");
        assert_eq!(after(&acts[..3], Survives::Synced).unwrap(), b"a");
        assert_eq!(after(&acts, Survives::Everything), None);
    }

    #[test]
    fn seeds_keep_lose_and_tear_and_the_same_seed_does_the_same() {
        let acts = [Act::Found(vec![0; 2048]), write(0, &[1; 2048])];
        let found: Vec<usize> = (0..64)
            .map(|seed| {
                let bytes = after(&acts, Survives::Some { seed }).unwrap();
                assert_eq!(after(&acts, Survives::Some { seed }).unwrap(), bytes);
                bytes.into_iter().filter(|byte| *byte == 1).count()
            })
            .collect();
        for bytes in [0, 512, 1024, 1536, 2048] {
            assert!(found.contains(&bytes), "{bytes} of {found:?}");
        }
    }
}
