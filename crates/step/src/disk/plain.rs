//! Files in folders that a command may have touched. They are opened as `durable` opens regular files, and
//! below a folder without following links. They replace whatever is at their path. Does not know what the
//! files mean.

use rustix::fs::{Mode, OFlags, mkdirat, open as open_raw, openat};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path};

/// Flags of a new file: follow no link, do not block, do not make it the controlling terminal, close it on
/// exec.
const NEW: OFlags = OFlags::WRONLY
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY);

/// Flags for opening a folder on the way to a file.
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW).union(OFlags::DIRECTORY);

/// Opens a regular file for reading. Folders on the way may be links: see [`open_below`].
///
/// # Errors
/// There is no file, it cannot be read, or it is not a regular file ([`io::ErrorKind::InvalidData`]).
pub fn open(path: &Path) -> io::Result<File> {
    envoi_durable::open_regular(path)
}

/// Like [`open`]; `None` if nothing exists at the path.
///
/// # Errors
/// Like [`open`].
pub fn open_if_there(path: &Path) -> io::Result<Option<File>> {
    match open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Opens `relative` below `root` like [`open`], and follows no link below `root`.
///
/// # Errors
/// Like [`open`]; a path that leads out of `root` is an error too.
pub fn open_below(root: &Path, relative: &Path) -> io::Result<File> {
    let (folders, name) = split(relative)?;
    let mut at =
        File::from(open_raw(root, OFlags::RDONLY | OFlags::CLOEXEC | OFlags::DIRECTORY, Mode::empty())?);
    for folder in folders {
        at = File::from(openat(&at, folder, FOLDER, Mode::empty()).map_err(of_link)?);
    }
    envoi_durable::open_regular_at(&at, name)
}

/// Reads a whole regular file.
///
/// # Errors
/// Like [`open`]; or it has more than `most_bytes` ([`io::ErrorKind::InvalidData`]), of which no more is
/// read.
pub fn read(path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
    read_all(open(path)?, most_bytes)
}

/// Reads the text of a file that a person names: a key, variables, a configuration. Links are followed. A
/// pipe could block for ever, and a device may have no end, so both are refused.
///
/// # Errors
/// Like [`read`]; or it is not UTF-8 ([`io::ErrorKind::InvalidData`]).
pub fn read_named(path: &Path, most_bytes: u64) -> io::Result<String> {
    let bytes = read(&fs::canonicalize(path)?, most_bytes)?;
    String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is no UTF-8 text"))
}

/// The largest file of secrets or variables, in bytes.
pub const MOST_BYTES_OF_SECRETS: u64 = 1 << 20;

/// Reads the rest of `file`.
///
/// # Errors
/// It cannot be read, or there is more than `most_bytes` ([`io::ErrorKind::InvalidData`]).
pub fn read_all(file: File, most_bytes: u64) -> io::Result<Vec<u8>> {
    envoi_durable::read_bounded(file, most_bytes)
}

/// Makes a new, empty file at `path` and replaces whatever was there. Links are replaced, not followed.
///
/// # Errors
/// It cannot be made, or there is a folder at `path`.
pub fn create(path: &Path) -> io::Result<File> {
    envoi_durable::create(path)
}

/// Like [`create`], for content that only the owner may read because it may contain secrets.
pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    let file = create(path)?;
    file.set_permissions(fs::Permissions::from_mode(0o600))?;
    Ok(file)
}

/// Writes `bytes` to `path` and replaces whatever was there. Not synced.
///
/// # Errors
/// Like [`create`], or the disk is full.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    create(path)?.write_all(bytes)
}

/// Opens a regular file for appending; makes it if there is none.
///
/// # Errors
/// It cannot be opened, or is not a regular file ([`io::ErrorKind::InvalidData`]).
pub fn append(path: &Path) -> io::Result<File> {
    open_with(path, OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE)
}

/// Opens a regular file and keeps its content. A new file gets the permissions that the process's umask
/// allows.
///
/// # Errors
/// Like [`append`].
pub(crate) fn open_with(path: &Path, access: OFlags) -> io::Result<File> {
    envoi_durable::open_regular_with(path, access)
}

/// Makes a new, empty file at `relative` below `root`, with the folders on the way. No link below `root` is
/// followed. Each folder that got a new name is synced, except the file's own folder. Only the owner may read
/// the file: contents are handed over unchanged, with the secrets in them.
pub(crate) fn create_below(root: &Path, relative: &Path) -> io::Result<File> {
    let (folders, name) = split(relative)?;
    envoi_durable::create_folders(root)?;
    let mut at =
        File::from(open_raw(root, OFlags::RDONLY | OFlags::CLOEXEC | OFlags::DIRECTORY, Mode::empty())?);
    for folder in folders {
        match mkdirat(&at, folder, Mode::RWXU | Mode::RWXG | Mode::RWXO) {
            Ok(()) => at.sync_all()?,
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        at = File::from(openat(&at, folder, FOLDER, Mode::empty()).map_err(of_link)?);
    }
    match rustix::fs::unlinkat(&at, name, rustix::fs::AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(errno) => return Err(errno.into()),
    }
    Ok(File::from(openat(&at, name, NEW, Mode::RUSR | Mode::WUSR)?))
}

pub use envoi_durable::kind;

/// Whether nothing exists at the path.
pub(crate) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Whether the machine is the reason, and not the content of the folder: another try may succeed.
#[must_use]
pub fn is_of_machine(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    let machines = [
        Errno::NOSPC,
        Errno::DQUOT,
        Errno::MFILE,
        Errno::NFILE,
        Errno::NOMEM,
        Errno::IO,
        Errno::ROFS,
        Errno::STALE,
        Errno::AGAIN,
        Errno::NOLCK,
    ];
    errno.is_some_and(|errno| machines.contains(&errno))
}

/// A link or a file in the place of a folder counts as missing: nothing is handed over through it.
fn of_link(errno: Errno) -> io::Error {
    match errno {
        Errno::LOOP | Errno::NOTDIR => io::Error::from(io::ErrorKind::NotADirectory),
        other => other.into(),
    }
}

/// The folders of the path, and the file's own name.
fn split(relative: &Path) -> io::Result<(Vec<&std::ffi::OsStr>, &std::ffi::OsStr)> {
    let mut names = Vec::new();
    for part in relative.components() {
        match part {
            Component::Normal(name) => names.push(name),
            Component::CurDir => {}
            _ => return Err(io::Error::from(io::ErrorKind::InvalidInput)),
        }
    }
    let name = names.pop().ok_or(io::ErrorKind::InvalidInput)?;
    Ok((names, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    /// Makes one of each kind that is not a regular file. Returns their names.
    fn odd_files(folder: &Path) -> Vec<&'static str> {
        fs::create_dir(folder.join("folder")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, folder.join("pipe"), rustix::fs::FileType::Fifo, Mode::RWXU, 0)
            .unwrap();
        drop(UnixListener::bind(folder.join("socket")).unwrap());
        fs::write(folder.join("file"), "text").unwrap();
        symlink("file", folder.join("link")).unwrap();
        symlink("loop", folder.join("loop")).unwrap();
        symlink("nowhere", folder.join("dangling")).unwrap();
        symlink("/dev/zero", folder.join("device")).unwrap();
        vec!["folder", "pipe", "socket", "link", "loop", "dangling", "device"]
    }

    #[test]
    fn only_a_regular_file_is_opened_and_nothing_waits() {
        let folder = tempfile::tempdir().unwrap();
        let odd = odd_files(folder.path());
        for name in odd {
            let path = folder.path().join(name);
            assert_eq!(open(&path).unwrap_err().kind(), io::ErrorKind::InvalidData, "{name}");
            assert!(open_below(folder.path(), name.as_ref()).is_err(), "{name}");
            assert!(open_if_there(&path).is_err() && append(&path).is_err(), "{name}");
            assert!(read(&path, 10).is_err(), "{name}");
            // Everything but a folder is replaced, and the target of a link stays unchanged.
            assert_eq!(write(&path, b"new").is_ok(), name != "folder", "{name}");
        }
        assert_eq!(fs::read(folder.path().join("file")).unwrap(), b"text");
        for device in ["/dev/null", "/dev/zero", "/dev/tty"] {
            assert!(open(Path::new(device)).is_err(), "{device}");
        }
        assert!(open_if_there(&folder.path().join("nothing")).unwrap().is_none());
        assert!(open_if_there(&folder.path().join("file/below")).unwrap().is_none());
    }

    #[test]
    fn a_file_that_a_person_names_may_be_a_link_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        for name in odd_files(folder.path()) {
            let text = read_named(&folder.path().join(name), 10).ok();
            assert_eq!(text, (name == "link").then(|| "text".to_owned()), "{name}");
        }
        let file = folder.path().join("file");
        assert_eq!(read_named(&file, 3).unwrap_err().kind(), io::ErrorKind::InvalidData);
        fs::write(&file, b"\xff").unwrap();
        assert_eq!(read_named(&file, 3).unwrap_err().to_string(), "it is no UTF-8 text");
    }

    #[test]
    fn no_link_below_a_folder_leads_out_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("file"), "theirs").unwrap();
        fs::create_dir_all(folder.path().join("real/deep")).unwrap();
        fs::write(folder.path().join("real/deep/file"), "ours").unwrap();
        symlink(outside.path(), folder.path().join("way")).unwrap();
        symlink(outside.path(), folder.path().join("real/way")).unwrap();
        let text = |path: &str| {
            read_all(open_below(folder.path(), path.as_ref())?, 100)
                .map(|bytes| String::from_utf8(bytes).unwrap())
        };
        assert_eq!(text("real/deep/file").unwrap(), "ours");
        for path in
            ["way/file", "real/way/file", "../file", "/etc/hostname", "", "real/deep", "real/deep/file/below"]
        {
            assert!(text(path).is_err(), "{path}");
        }
        for path in ["way/new", "real/way/new", "../new"] {
            assert!(create_below(folder.path(), path.as_ref()).is_err(), "{path}");
        }
        create_below(folder.path(), "real/new/deep/file".as_ref()).unwrap().write_all(b"new").unwrap();
        assert_eq!(text("real/new/deep/file").unwrap(), "new");
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
        assert_eq!(fs::read(outside.path().join("file")).unwrap(), b"theirs");
    }
}
