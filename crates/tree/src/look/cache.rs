//! The digests of files that have not changed since they were read: one cache a folder, in one file.
//!
//! A cache only saves time: without one, or with a damaged one, every file is read. An entry counts while size, times, inode and
//! mode are the same, and if the file was not changed so shortly before it was read that a later change could have the same time.

use crate::{look::stat::Stat, model::list::LeftOut};
use envoi_contract::digest::Digest;
use envoi_durable::{Temporary, read_regular};
use std::{
    collections::HashMap,
    fs,
    io::{self, Write as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::SystemTime,
};

const HEADER: &[u8] = b"envoi-stat 1\n";
const MOST_BYTES: u64 = 1 << 30;

/// The times of files go in steps: this much on file systems with fine times.
const FINE_NANOS: i128 = 20_000_000;
/// And this much where a time has no part of a second.
const COARSE_NANOS: i128 = 2_000_000_000;

/// The content of a file when it was last read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    Digest(Digest),
    LeftOut(LeftOut),
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    entries: HashMap<Vec<u8>, (Stat, Seen)>,
}

/// The path of the cache of a folder.
pub(crate) fn place(caches: &Path, folder: &Path) -> io::Result<PathBuf> {
    let found = fs::metadata(folder)?;
    Ok(caches.join(format!("{:x}-{:x}", found.dev(), found.ino())))
}

/// The time by which files are dated from now on, in nanoseconds since 1970.
pub(crate) fn now() -> i128 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.ok().and_then(|since| i128::try_from(since.as_nanos()).ok()).unwrap_or(i128::MIN)
}

impl Cache {
    /// An empty one where there is none that can be used.
    pub(crate) fn load(path: &Path) -> Self {
        read_regular(path, MOST_BYTES).ok().and_then(|bytes| Self::parse(&bytes)).unwrap_or_default()
    }

    /// How many files it has.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The content of the file, if it cannot have changed since.
    pub(crate) fn get(&self, path: &[u8], stat: &Stat) -> Option<Seen> {
        self.entries.get(path).filter(|(known, _)| known == stat).map(|(_, seen)| *seen)
    }

    /// Writes the cache of a look that began at `began`. Entries that could change unseen are left out.
    pub(crate) fn save(
        path: &Path,
        temporary: &Path,
        began: i128,
        entries: &[(&[u8], Stat, Seen)],
    ) -> io::Result<()> {
        let mut bytes = HEADER.to_vec();
        for (name, stat, seen) in entries.iter().filter(|(_, stat, _)| is_settled(stat, began)) {
            write_entry(&mut bytes, name, stat, seen);
        }
        let digest = Digest::of(&bytes);
        bytes.extend_from_slice(digest.as_bytes());
        let (temporary, mut file) = Temporary::create(temporary)?;
        file.write_all(&bytes)?;
        temporary.rename(path)
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (body, digest) = bytes.split_at_checked(bytes.len().checked_sub(32)?)?;
        if Digest::of(body).as_bytes() != digest {
            return None;
        }
        let mut rest = Bytes(body.strip_prefix(HEADER)?);
        let mut entries = HashMap::new();
        while !rest.0.is_empty() {
            let (path, stat, seen) = rest.entry()?;
            entries.insert(path, (stat, seen));
        }
        Some(Self { entries })
    }
}

/// Whether a change after the look began would show in the times.
fn is_settled(stat: &Stat, began: i128) -> bool {
    let step = |nanos: u32| if nanos == 0 { COARSE_NANOS } else { FINE_NANOS };
    [stat.modified, stat.changed].into_iter().all(|(seconds, nanos)| {
        i128::from(seconds) * 1_000_000_000 + i128::from(nanos) < began.saturating_sub(step(stat.changed.1))
    })
}

fn write_entry(to: &mut Vec<u8>, path: &[u8], stat: &Stat, seen: &Seen) {
    use crate::look::stat::Kind;
    to.extend_from_slice(&u32::try_from(path.len()).unwrap_or(u32::MAX).to_le_bytes());
    to.extend_from_slice(path);
    to.push(match stat.kind {
        Kind::File => 0,
        Kind::Link => 1,
        Kind::EmptyFolder => 2,
    });
    to.extend_from_slice(&stat.mode.to_le_bytes());
    to.extend_from_slice(&stat.size.to_le_bytes());
    to.extend_from_slice(&stat.inode.to_le_bytes());
    for (seconds, nanos) in [stat.modified, stat.changed] {
        to.extend_from_slice(&seconds.to_le_bytes());
        to.extend_from_slice(&nanos.to_le_bytes());
    }
    match seen {
        Seen::Digest(digest) => {
            to.push(0);
            to.extend_from_slice(digest.as_bytes());
        }
        Seen::LeftOut(LeftOut::Large) => to.push(1),
        // It is a folder, and none is in a cache.
        Seen::LeftOut(LeftOut::Unreadable | LeftOut::Unlisted) => to.push(2),
    }
}

/// Bytes that are read from the front.
struct Bytes<'b>(&'b [u8]);

impl<'b> Bytes<'b> {
    fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn entry(&mut self) -> Option<(Vec<u8>, Stat, Seen)> {
        use crate::look::stat::Kind;
        let length = usize::try_from(u32::from_le_bytes(self.array()?)).ok()?;
        let path = self.take(length)?.to_vec();
        let kind = match self.array::<1>()? {
            [0] => Kind::File,
            [1] => Kind::Link,
            [2] => Kind::EmptyFolder,
            _ => return None,
        };
        let mode = u32::from_le_bytes(self.array()?);
        let size = u64::from_le_bytes(self.array()?);
        let inode = u64::from_le_bytes(self.array()?);
        let modified = (i64::from_le_bytes(self.array()?), u32::from_le_bytes(self.array()?));
        let changed = (i64::from_le_bytes(self.array()?), u32::from_le_bytes(self.array()?));
        let seen = match self.array::<1>()? {
            [0] => Seen::Digest(Digest::from_bytes(self.array()?)),
            [1] => Seen::LeftOut(LeftOut::Large),
            [2] => Seen::LeftOut(LeftOut::Unreadable),
            _ => return None,
        };
        Some((path, Stat { kind, mode, size, inode, modified, changed }, seen))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::stat::Kind;

    const SECOND: i128 = 1_000_000_000;

    fn stat(changed: (i64, u32)) -> Stat {
        Stat { kind: Kind::File, mode: 0o644, size: 7, inode: 9, modified: (90, 1), changed }
    }

    #[test]
    fn an_entry_counts_if_a_later_change_would_show() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cache");
        let digest = Seen::Digest(Digest::of(b"x"));
        let save = |stat: Stat, seen: Seen| {
            Cache::save(&path, folder.path(), 100 * SECOND, &[(b"a\xff", stat, seen)]).unwrap();
            Cache::load(&path).get(b"a\xff", &stat)
        };
        assert_eq!(save(stat((99, 5)), digest), Some(digest));
        assert_eq!(save(stat((99, 5)), Seen::LeftOut(LeftOut::Large)), Some(Seen::LeftOut(LeftOut::Large)));
        // At the same moment as the look, after it, and with times in whole seconds.
        assert_eq!(save(stat((99, 999_000_000)), digest), None);
        assert_eq!(save(stat((100, 5)), digest), None);
        assert_eq!(save(stat((98, 0)), digest), None);
        assert_eq!(save(stat((97, 0)), digest), Some(digest));
        assert_eq!(save(Stat { modified: (100, 0), ..stat((97, 1)) }, digest), None);
    }

    #[test]
    fn another_file_and_a_damaged_cache_are_not_known() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cache");
        let known = stat((50, 5));
        let seen = Seen::Digest(Digest::of(b"x"));
        Cache::save(&path, folder.path(), 100 * SECOND, &[(b"a", known, seen)]).unwrap();
        let cache = Cache::load(&path);
        assert_eq!(cache.get(b"a", &known), Some(seen));
        let others = [
            Stat { size: 8, ..known },
            Stat { inode: 8, ..known },
            Stat { mode: 0o600, ..known },
            Stat { modified: (91, 1), ..known },
            Stat { changed: (50, 6), ..known },
            Stat { kind: Kind::Link, ..known },
        ];
        assert!(others.iter().all(|other| cache.get(b"a", other).is_none()));
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            fs::write(&path, bytes).unwrap();
            assert!(Cache::load(&path).entries.is_empty(), "{at}");
        }
        assert!(Cache::load(&folder.path().join("none")).entries.is_empty());
    }
}
