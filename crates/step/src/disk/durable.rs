//! Files that appear whole or not at all, and the digests of files.
//!
//! Knows nothing of what the files mean.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use envoi_contract::digest::hex;
use sha2::{Digest, Sha256};

use crate::disk::{folders::sync_dir, plain};

/// Size of one read; large enough that a system call is cheap beside the work on its bytes.
pub(crate) const CHUNK_BYTES: usize = 64 * 1024;

/// A reading buffer.
pub(crate) fn chunk() -> Vec<u8> {
    vec![0; CHUNK_BYTES]
}

/// The most files that are synced one by one. More are synced with their whole file system: that costs as much as whatever
/// else was written there lately, and two calls a file would cost more.
const FEW: usize = 32;

/// Makes these files of `root` durable, with their names.
pub(crate) fn sync_all<'a>(root: &Path, files: impl Iterator<Item = &'a Path> + Clone) -> io::Result<()> {
    if files.clone().nth(FEW).is_some() {
        return Ok(rustix::fs::syncfs(File::open(root)?)?);
    }
    let mut folders = std::collections::BTreeSet::new();
    for file in files {
        File::open(root.join(file))?.sync_all()?;
        // Also the folders that were made for it.
        folders.extend(file.ancestors().skip(1).map(|folder| root.join(folder)));
    }
    folders.iter().try_for_each(|folder| sync_dir(folder))
}

/// Replaces `path` by `bytes`: the old file or the new one is there at any moment. Durable when it returns.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    put(path, bytes)?;
    path.parent().map_or(Ok(()), sync_dir)
}

/// As [`replace`], for a name that something later in the same folder makes durable.
pub(crate) fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temp = temp_beside(path);
    let mut file = plain::create(&temp)?;
    // An empty file has nothing but its name that could be lost.
    if !bytes.is_empty() {
        file.write_all(bytes)?;
        file.sync_all()?;
    }
    fs::rename(&temp, path)
}

/// A way to give a finished file a name that must be new: [`io::ErrorKind::AlreadyExists`] if it is not.
type Claim = fn(&Path, &Path) -> io::Result<()>;

/// The ways, best first. Not every file system has hard links (FAT, some that are reached over a network or through a
/// user's process), and not every one can refuse to rename over another file.
const CLAIMS: &[Claim] = &[|from, to| fs::hard_link(from, to), rename_to_new, copy_to_new];

/// Puts `bytes` at `path` if nothing is there: false if something was. Of two that try at once, one succeeds. Not synced.
/// Whole for every reader, where the file system knows hard links or a rename that replaces nothing; elsewhere a reader
/// may see the beginning of it.
pub(crate) fn publish(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    publish_by(CLAIMS, path, bytes)
}

fn publish_by(claims: &[Claim], path: &Path, bytes: &[u8]) -> io::Result<bool> {
    let temp = temp_beside(path);
    plain::create(&temp)?.write_all(bytes)?;
    let claimed = claim(claims, &temp, path);
    // A rename has taken it away.
    match fs::remove_file(&temp) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => claimed,
    }
}

fn claim(claims: &[Claim], from: &Path, to: &Path) -> io::Result<bool> {
    let mut refused = io::Error::from(io::ErrorKind::Unsupported);
    for claim in claims {
        match claim(from, to) {
            Ok(()) => return Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
            Err(error) if is_unsupported(&error) => refused = error,
            Err(error) => return Err(error),
        }
    }
    Err(refused)
}

/// What file systems answer to a call that they do not have: Linux says EPERM to a hard link on FAT, and EINVAL to a rename
/// with flags.
fn is_unsupported(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let unsupported = [Errno::PERM, Errno::INVAL, Errno::OPNOTSUPP, Errno::NOSYS, Errno::MLINK];
    error.kind() == io::ErrorKind::Unsupported
        || Errno::from_io_error(error).is_some_and(|errno| unsupported.contains(&errno))
}

#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn rename_to_new(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)?)
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn rename_to_new(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

/// The name is claimed by its creation, before the content stands. A file that is there in part counts as there.
fn copy_to_new(from: &Path, to: &Path) -> io::Result<()> {
    let mut target = File::options().write(true).create_new(true).open(to)?;
    io::copy(&mut plain::open(from)?, &mut target).map(drop)
}

/// A name in the same folder that no other process uses.
pub(crate) fn temp_beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    PathBuf::from(name)
}

/// A file that is written from its beginning. Whole pieces of zeros become holes, so that a sparse file of many gigabytes
/// does not fill the disk when it is copied.
pub(crate) struct Sparse {
    file: File,
    bytes: u64,
}

impl Sparse {
    /// `file` is empty.
    pub(crate) fn new(file: File) -> Self {
        Self { file, bytes: 0 }
    }

    /// Adds a piece.
    pub(crate) fn push(&mut self, piece: &[u8]) -> io::Result<()> {
        let is_hole = piece.len() == CHUNK_BYTES && piece.iter().all(|byte| *byte == 0);
        if !is_hole {
            self.file.write_all_at(piece, self.bytes)?;
        }
        self.bytes = self.bytes.saturating_add(piece.len() as u64);
        Ok(())
    }

    /// Gives the file its length. It is not synced.
    pub(crate) fn finish(self) -> io::Result<()> {
        self.file.set_len(self.bytes)
    }
}

/// Length and SHA-256 of some bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Measure {
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
}

/// Length and SHA-256 of what stands in `path`.
pub(crate) fn measure(path: &Path) -> io::Result<Measure> {
    let mut file = plain::open(path)?;
    read_through(&mut file, |_| Ok(()))
}

/// Reads to the end, and gives each piece to `each`. Returns the length and the digest.
pub(crate) fn read_through(
    from: &mut impl Read,
    mut each: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<Measure> {
    let mut hash = Sha256::new();
    let mut bytes: u64 = 0;
    pieces(from, |piece| {
        hash.update(piece);
        bytes = bytes.saturating_add(piece.len() as u64);
        each(piece)
    })?;
    Ok(Measure { bytes, sha256: hex(&hash.finalize()) })
}

/// Reads to the end and gives each piece to `each`.
pub(crate) fn pieces(from: &mut impl Read, mut each: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut buffer = chunk();
    loop {
        let read = match from.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        match buffer.get(..read) {
            Some(piece) if !piece.is_empty() => each(piece)?,
            _ => return Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    /// As a file system answers that does not know the call.
    const NOT_KNOWN: Claim = |_, _| Err(rustix::io::Errno::PERM.into());
    const FLAGS_NOT_KNOWN: Claim = |_, _| Err(rustix::io::Errno::INVAL.into());

    #[test]
    fn of_many_that_publish_one_succeeds_whatever_the_file_system_knows() {
        let ways: [(&str, &[Claim]); 3] = [
            ("links", CLAIMS),
            ("no links", &[NOT_KNOWN, rename_to_new, copy_to_new]),
            ("neither", &[NOT_KNOWN, FLAGS_NOT_KNOWN, copy_to_new]),
        ];
        for (name, claims) in ways {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("started.json");
            const MANY: usize = 8;
            let start = Barrier::new(MANY);
            let published = std::thread::scope(|scope| {
                let one = |nth: usize| {
                    let path = &path;
                    let start = &start;
                    // Each in a folder of its own: a process has one temporary name for a file.
                    let temp = folder.path().join(format!("temp-{nth}"));
                    fs::write(&temp, format!("from {nth}")).unwrap();
                    scope.spawn(move || {
                        start.wait();
                        claim(claims, &temp, path).unwrap()
                    })
                };
                let threads: Vec<_> = (0..MANY).map(one).collect();
                threads
                    .into_iter()
                    .map(|thread| thread.join().unwrap())
                    .filter(|published| *published)
                    .count()
            });
            assert_eq!(published, 1, "{name}");
            assert!(fs::read_to_string(&path).unwrap().starts_with("from "), "{name}");
            assert!(!publish_by(claims, &path, b"again").unwrap(), "{name}");
            fs::remove_file(&path).unwrap();
            assert!(publish_by(claims, &path, b"whole").unwrap(), "{name}");
            assert_eq!(fs::read(&path).unwrap(), b"whole", "{name}");
            let left = fs::read_dir(folder.path()).unwrap().filter(|entry| {
                let name = entry.as_ref().unwrap().file_name();
                name.to_string_lossy().ends_with(".tmp")
            });
            assert_eq!(left.count(), 0, "{name}");
        }
        let folder = tempfile::tempdir().unwrap();
        assert!(publish_by(&[NOT_KNOWN], &folder.path().join("x"), b"").is_err());
        let full: Claim = |_, _| Err(rustix::io::Errno::NOSPC.into());
        assert!(
            publish_by(&[full, copy_to_new], &folder.path().join("x"), b"").is_err(),
            "a full disk is no reason"
        );
    }
}
