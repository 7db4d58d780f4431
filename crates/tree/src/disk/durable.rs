//! Files that appear whole, and what makes them last.

use rustix::fs::{Mode, OFlags};
use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

/// Opens a regular file: no link, no wait, nothing but a file.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    // Opening a device can already do something.
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a regular file"));
    }
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a regular file")),
    }
}

/// The whole of a regular file of no more than `most_bytes`.
pub(crate) fn read(path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(most_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    match u64::try_from(bytes.len()).is_ok_and(|length| length <= most_bytes) {
        true => Ok(bytes),
        false => {
            Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {most_bytes} bytes")))
        }
    }
}

/// A file that is being written; removed when dropped, unless it got its name.
#[derive(Debug)]
pub(crate) struct Temporary {
    path: PathBuf,
    is_named: bool,
}

impl Temporary {
    /// A new file in `folder` that only its owner can read.
    pub(crate) fn create(folder: &Path) -> io::Result<(Self, File)> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        loop {
            let nth = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!("tree-{}-{nth}", std::process::id()));
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
            match rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR) {
                // Of a process that was killed and had the same id.
                Err(rustix::io::Errno::EXIST) => {}
                opened => return Ok((Self { path, is_named: false }, File::from(opened?))),
            }
        }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives it its name, in place of what has it.
    pub(crate) fn name(mut self, to: &Path) -> io::Result<()> {
        fs::rename(&self.path, to)?;
        self.is_named = true;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.is_named {
            fs::remove_file(&self.path).ok();
        }
    }
}

/// Makes the names in a folder last.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Makes all that was written to the file system of `path` last.
pub(crate) fn sync_file_system(path: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    return Ok(rustix::fs::syncfs(File::open(path)?)?);
    #[cfg(not(target_os = "linux"))]
    return {
        File::open(path)?.sync_all()?;
        rustix::fs::sync();
        Ok(())
    };
}
