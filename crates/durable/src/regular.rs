//! Opening files that a command may have made: regular files only.
//!
//! A command can put anything into the folders that it is given: a link, a pipe that blocks the process that opens it, a device, a file of
//! many gigabytes. So no link is followed in the last place, nothing waits, the file is looked at before and after it is opened, and
//! what is read has a bound. A file that its owner may keep behind a link is read with [`read_plain`](crate::read_plain).

use rustix::{
    fd::{AsFd, OwnedFd},
    fs::{AtFlags, CWD, FileType, Mode, OFlags, openat, statat},
    io::Errno,
};
use std::{
    fs::File,
    io::{self, Read as _},
    os::unix::fs::FileTypeExt as _,
    path::Path,
};

/// Flags of every open: no link, no wait, no terminal of our own, not for children.
const ALWAYS: OFlags = OFlags::CLOEXEC.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// The file is not a regular file.
#[derive(Debug, thiserror::Error)]
#[error("it is not a regular file")]
struct NotRegular;

/// The file is larger than its reader allows.
#[derive(Debug, thiserror::Error)]
#[error("it has more than {most_bytes} bytes")]
struct TooLarge {
    most_bytes: u64,
}

/// Opens the regular file at `path` for reading.
///
/// # Errors
/// There is no file, it cannot be opened, or it is something else than a regular file ([`is_not_regular`]).
pub fn open_regular(path: &Path) -> io::Result<File> {
    open_regular_at(CWD, path)
}

/// As [`open_regular`]; `path` is relative to an open folder.
///
/// # Errors
/// As [`open_regular`].
pub fn open_regular_at(folder: impl AsFd, path: impl AsRef<Path>) -> io::Result<File> {
    let path = path.as_ref();
    // Opening a device can already do something, so nothing but a regular file is even tried.
    let found = statat(&folder, path, AtFlags::SYMLINK_NOFOLLOW)?;
    if !FileType::from_raw_mode(found.st_mode).is_file() {
        return Err(not_regular());
    }
    checked(openat(&folder, path, OFlags::RDONLY | ALWAYS, Mode::empty()))
}

/// Opens the regular file at `path` as it is, with this access; with [`OFlags::CREATE`] it is made if nothing is there, and everybody whom
/// the mask of the process lets can read and write it.
///
/// # Errors
/// As [`open_regular`].
pub fn open_regular_with(path: &Path, access: OFlags) -> io::Result<File> {
    let found = statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW);
    if found.is_ok_and(|found| !FileType::from_raw_mode(found.st_mode).is_file()) {
        return Err(not_regular());
    }
    checked(openat(CWD, path, access | ALWAYS, Mode::from_raw_mode(0o666)))
}

/// The whole of the regular file at `path`.
///
/// # Errors
/// As [`open_regular`] and [`read_bounded`].
pub fn read_regular(path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
    read_bounded(open_regular(path)?, most_bytes)
}

/// Reads the rest of `file`.
///
/// # Errors
/// It cannot be read, or there is more than `most_bytes` ([`is_too_large`]).
pub fn read_bounded(file: File, most_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // Never reads beyond the limit, even if the file is sparse or grows meanwhile.
    file.take(most_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > most_bytes {
        return Err(io::Error::new(io::ErrorKind::InvalidData, TooLarge { most_bytes }));
    }
    Ok(bytes)
}

/// Whether an open failed because the file is not a regular file.
#[must_use]
pub fn is_not_regular(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<NotRegular>())
}

/// Whether a read failed because the file has more bytes than it may have.
#[must_use]
pub fn is_too_large(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<TooLarge>())
}

/// The kind of a file, in words.
#[must_use]
pub fn kind(file: std::fs::FileType) -> &'static str {
    if file.is_dir() {
        "a folder"
    } else if file.is_file() {
        "a file"
    } else if file.is_symlink() {
        "a symbolic link"
    } else if file.is_fifo() {
        "a named pipe"
    } else if file.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, NotRegular)
}

fn checked(opened: Result<OwnedFd, Errno>) -> io::Result<File> {
    let file = match opened {
        Ok(fd) => File::from(fd),
        // A link or a socket that was created after the check.
        Err(Errno::LOOP | Errno::NXIO) => return Err(not_regular()),
        Err(errno) => return Err(errno.into()),
    };
    // The file that was checked may have been replaced since.
    if file.metadata()?.is_file() { Ok(file) } else { Err(not_regular()) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "what is not as a test expects ends it")]
mod tests {
    use super::*;
    use rustix::fs::mknodat;
    use std::{
        fs,
        os::unix::{fs::symlink, net::UnixListener},
    };

    /// A folder with everything that is no regular file, and the names of that.
    fn odd_files() -> (tempfile::TempDir, [&'static str; 7]) {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("folder")).unwrap();
        mknodat(CWD, at("pipe"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        drop(UnixListener::bind(at("socket")).unwrap());
        fs::write(at("file"), "text").unwrap();
        symlink("file", at("link")).unwrap();
        symlink("loop", at("loop")).unwrap();
        symlink("nowhere", at("dangling")).unwrap();
        symlink("/dev/zero", at("device")).unwrap();
        (folder, ["folder", "pipe", "socket", "link", "loop", "dangling", "device"])
    }

    #[test]
    fn only_a_regular_file_is_opened_and_nothing_waits() {
        let (folder, odd) = odd_files();
        let way = File::open(folder.path()).unwrap();
        for name in odd {
            let path = folder.path().join(name);
            assert!(is_not_regular(&open_regular(&path).unwrap_err()), "{name}");
            assert!(is_not_regular(&open_regular_at(&way, name).unwrap_err()), "{name}");
            let access = OFlags::RDWR | OFlags::CREATE;
            assert!(is_not_regular(&open_regular_with(&path, access).unwrap_err()), "{name}");
        }
        for device in ["/dev/null", "/dev/zero", "/dev/tty"] {
            assert!(open_regular(Path::new(device)).is_err(), "{device}");
        }
        assert_eq!(read_bounded(open_regular_at(&way, "file").unwrap(), 4).unwrap(), b"text");
        let missing = open_regular(&folder.path().join("nothing")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        open_regular_with(&folder.path().join("new"), OFlags::WRONLY | OFlags::CREATE).unwrap();
        assert!(folder.path().join("new").is_file());
    }

    #[test]
    fn what_is_put_there_after_the_look_is_noticed_after_the_opening() {
        let (folder, odd) = odd_files();
        for name in odd {
            let opened = openat(CWD, folder.path().join(name), OFlags::RDONLY | ALWAYS, Mode::empty());
            assert!(is_not_regular(&checked(opened).unwrap_err()), "{name}");
        }
    }

    #[test]
    fn a_large_file_is_read_to_its_bound_and_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sparse");
        File::create(&path).unwrap().set_len(5 << 30).unwrap();
        assert!(is_too_large(&read_regular(&path, 1000).unwrap_err()));
        File::create(&path).unwrap().set_len(1000).unwrap();
        assert_eq!(read_regular(&path, 1000).unwrap().len(), 1000);
    }
}
