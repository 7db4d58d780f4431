//! Creating files that must be new: if several processes write one, the first succeeds.

use crate::{
    sync_folder,
    temporary::{Temporary, create, temp_beside},
};
use rustix::fs::OFlags;
use std::{
    fs::{self, File},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

/// Writes a new file, durable with its name when it returns. Returns false if the file exists already; it is
/// not changed. No partial file remains.
///
/// # Errors
/// It cannot be written.
pub fn write_new(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    let mut file = match File::options().write(true).create_new(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
        Err(error) => return Err(error),
    };
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    if let Err(error) = written {
        fs::remove_file(path).ok();
        return Err(error);
    }
    sync_folder(crate::parent(path))?;
    Ok(true)
}

/// Makes a file that only its owner may read, such as a key. If another process makes it at the same time, the first one stays; what is there
/// stays too. Durable when it returns.
///
/// # Errors
/// It cannot be written.
pub fn make_secret(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temp = temp_beside(path);
    match fs::remove_file(&temp) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(&temp)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    name_new(CLAIMS, &temp, path)?;
    sync_folder(crate::parent(path))
}

/// A way to give a finished file a name that must be new: [`io::ErrorKind::AlreadyExists`] if it is not.
type Claim = fn(&Path, &Path) -> io::Result<()>;

/// The ways, best first. Not every file system has hard links (FAT, some that are reached over a network or through a
/// user's process), and not every one can refuse to rename over another file.
const CLAIMS: &[Claim] = &[|from, to| fs::hard_link(from, to), rename_to_new, copy_to_new];

/// Puts `bytes` at `path` if nothing is there: false if something was. If two processes try at once, one succeeds. Not
/// synced. Whole for every reader, where the file system knows hard links or a rename that replaces nothing; elsewhere a
/// reader may see the beginning of it.
///
/// # Errors
/// It cannot be written, or the file system knows no way.
pub fn publish(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    publish_by(CLAIMS, path, bytes)
}

impl Temporary {
    /// Gives the file its lasting name if nothing has it: false if something has. The name is durable when it
    /// returns; the content, if the caller has synced it.
    ///
    /// # Errors
    /// It cannot have that name. The file is then removed.
    pub fn publish(self, target: &Path) -> io::Result<bool> {
        let Some(path) = self.release() else { return Ok(false) };
        let is_named = name_new(CLAIMS, &path, target)?;
        sync_folder(crate::parent(target))?;
        Ok(is_named)
    }
}

fn publish_by(claims: &[Claim], path: &Path, bytes: &[u8]) -> io::Result<bool> {
    let temp = temp_beside(path);
    create(&temp)?.write_all(bytes)?;
    name_new(claims, &temp, path)
}

/// Gives `temp` the name `path` if nothing has it: false if something has. `temp` is gone after it.
fn name_new(claims: &[Claim], temp: &Path, path: &Path) -> io::Result<bool> {
    let claimed = claim(claims, temp, path);
    // After a rename, the temporary name does not exist any more.
    match fs::remove_file(temp) {
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

/// Whether a file system does not support a call: Linux answers EPERM to a hard link on FAT, and EINVAL to a
/// rename with flags.
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

/// Claims the name by creating it, before the content is complete. A partial file counts as existing.
fn copy_to_new(from: &Path, to: &Path) -> io::Result<()> {
    let mut target = File::options().write(true).create_new(true).open(to)?;
    let mut from =
        File::options().read(true).custom_flags(OFlags::NOFOLLOW.bits().cast_signed()).open(from)?;
    io::copy(&mut from, &mut target).map(drop)
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

    #[test]
    fn a_new_file_is_written_once_and_a_secret_is_for_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("note");
        assert!(write_new(&path, b"first").unwrap());
        assert!(!write_new(&path, b"second").unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"first");
        let key = folder.path().join("key");
        make_secret(&key, b"first").unwrap();
        make_secret(&key, b"second").unwrap();
        assert_eq!(fs::read(&key).unwrap(), b"first");
        assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
