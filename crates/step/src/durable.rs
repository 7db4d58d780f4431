//! Files that appear whole or not at all, and the digests of files.
//!
//! Knows nothing of what the files mean.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Size of one read; large enough that a system call is cheap beside the work on its bytes.
pub(crate) const CHUNK_BYTES: usize = 64 * 1024;

/// A reading buffer.
pub(crate) fn chunk() -> Vec<u8> {
    vec![0; CHUNK_BYTES]
}

/// Makes `path` and what is missing above it, and syncs each folder that got a new name.
pub(crate) fn create_dir_all(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let missing: Vec<&Path> = path.ancestors().take_while(|folder| !folder.exists()).collect();
    fs::create_dir_all(path)?;
    missing.into_iter().filter_map(Path::parent).try_for_each(sync_dir)
}

/// Syncs the names in a folder.
pub(crate) fn sync_dir(path: &Path) -> io::Result<()> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    File::open(path)?.sync_all()
}

/// Replaces `path` by `bytes`: the old file or the new one is there at any moment. Durable when it returns.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    put(path, bytes)?;
    path.parent().map_or(Ok(()), sync_dir)
}

/// As [`replace`], for a name that something later in the same folder makes durable.
pub(crate) fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temp = temp_beside(path);
    let mut file = File::create(&temp)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&temp, path)
}

/// Puts `bytes` at `path` if nothing is there: false if something was. Whole for every reader, but not synced.
pub(crate) fn publish(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    let temp = temp_beside(path);
    File::create(&temp)?.write_all(bytes)?;
    let linked = fs::hard_link(&temp, path);
    fs::remove_file(&temp)?;
    match linked {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

/// Makes a file, empty, that nobody but its owner may read: contents are handed over as they are, secrets in them too.
pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
    let file = File::options().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    // One that was there already keeps the mode that it had.
    file.set_permissions(fs::Permissions::from_mode(0o600))?;
    Ok(file)
}

/// A name in the same folder that no other process uses.
pub(crate) fn temp_beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    PathBuf::from(name)
}

/// Length and SHA-256 of some bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Measure {
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
}

/// Length and SHA-256 of what stands in `path`.
pub(crate) fn measure(path: &Path) -> io::Result<Measure> {
    let mut file = open_regular(path)?;
    read_through(&mut file, |_| Ok(()))
}

/// Reads to the end, gives each piece to `each`, and says what went by.
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

/// Opens a regular file for reading; never follows a link in its last place and never waits for a pipe.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("not a regular file")) }
}

/// Lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len().saturating_mul(2)), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
