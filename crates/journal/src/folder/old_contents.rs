//! Content files that nothing refers to any more: how they are moved aside, read there, restored, and deleted.
//!
//! Owns the moves. The caller finds out which contents are named. A content is first renamed into a folder beside; a writer that
//! needs it meanwhile writes it again, and a reader that has just seen it finds it there. A content is removed only if it is still
//! not named when all of these are done.

use crate::folder::layout::Layout;
use envoi_contract::{digest::Digest, time::Timestamp};
use std::{
    fs::{self, File, FileTimes},
    io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// An hour.
const FAR_MS: u64 = 3_600_000;

/// A content in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentFile {
    /// From its name; the file was not read.
    pub digest: Digest,
    /// Its bytes.
    pub bytes: u64,
    /// Its path.
    pub path: PathBuf,
    /// When it was put; of one that was laid aside, when that was.
    pub since: Timestamp,
}

impl Layout {
    /// All contents that lie in files of their own.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn content_files(&self) -> io::Result<Vec<ContentFile>> {
        let mut found = Vec::new();
        for (head, folder) in self.entries(self.artifacts())? {
            for (tail, path) in self.entries(folder)? {
                found.extend(content(&format!("{head}{tail}"), path)?);
            }
        }
        Ok(found)
    }

    /// The contents that were laid aside.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn old_content_files(&self) -> io::Result<Vec<ContentFile>> {
        let mut found = Vec::new();
        for (name, path) in self.entries(self.old_contents())? {
            found.extend(content(&name, path)?);
        }
        Ok(found)
    }

    /// Moves a content aside. It is readable all the time. Its waiting time starts at `now`, once the move is done.
    ///
    /// # Errors
    /// The machine's; it is in one of the two places.
    pub fn lay_aside(&self, file: &ContentFile, now: impl Fn() -> Timestamp) -> io::Result<()> {
        let folder = self.old_contents();
        envoi_durable::create_folders(&folder)?;
        self.check_own(&folder)?;
        // After a kill between the two calls the content waits longer than needed, never shorter.
        set_time(&file.path, now().saturating_add_ms(FAR_MS))?;
        let place = folder.join(file.digest.hex());
        fs::rename(&file.path, &place)?;
        set_time(&place, now())
    }

    /// Brings a content back that was laid aside, unless it was put again meanwhile.
    ///
    /// # Errors
    /// The machine's; it is in one of the two places.
    pub fn bring_back(&self, file: &ContentFile) -> io::Result<()> {
        let place = self.blob(&file.digest);
        let folder = envoi_durable::parent(&place);
        envoi_durable::create_folders(folder)?;
        self.check_own(folder)?;
        fs::rename(&file.path, &place)?;
        envoi_durable::sync_folder(folder)
    }

    fn check_own(&self, folder: &Path) -> io::Result<()> {
        match self.is_own_folder(folder)? {
            true => Ok(()),
            false => Err(io::Error::new(
                io::ErrorKind::NotADirectory,
                format!("`{}` is no folder of the store: a link leads elsewhere", folder.display()),
            )),
        }
    }

    /// The entries of a folder of the store: none if it is missing or is not a folder. The target of a link does not belong to the store.
    fn entries(&self, folder: PathBuf) -> io::Result<Vec<(String, PathBuf)>> {
        if !self.is_own_folder(&folder)? {
            return Ok(Vec::new());
        }
        let named = |entry: io::Result<fs::DirEntry>| {
            entry.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()))
        };
        fs::read_dir(folder)?.map(named).collect()
    }

    /// Whether this is a folder below the root of the store, and no link leads there. The root itself may be one.
    ///
    /// # Errors
    /// It cannot be looked at.
    pub fn is_own_folder(&self, folder: &Path) -> io::Result<bool> {
        let Ok(below) = folder.strip_prefix(self.root()) else { return Ok(false) };
        let mut place = self.root().to_owned();
        for name in below.components() {
            place.push(name);
            match fs::symlink_metadata(&place) {
                Ok(found) if found.is_dir() => {}
                Ok(_) => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// The place of a content that was laid aside.
    #[must_use]
    pub(crate) fn old_blob(&self, digest: &Digest) -> PathBuf {
        self.old_contents().join(digest.hex())
    }
}

fn content(hex: &str, path: PathBuf) -> io::Result<Option<ContentFile>> {
    let Some(digest) = Digest::parse(&format!("sha256:{hex}")) else { return Ok(None) };
    let found = match fs::symlink_metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        found => found?,
    };
    let since = time(found.modified()?);
    // Anything but a file is damage, and stays for a repair to report.
    Ok(found.is_file().then_some(ContentFile { digest, bytes: found.len(), path, since }))
}

fn set_time(path: &Path, at: Timestamp) -> io::Result<()> {
    let millis = u64::try_from(at.as_millis()).unwrap_or(0);
    let time = UNIX_EPOCH + Duration::from_millis(millis);
    File::open(path)?.set_times(FileTimes::new().set_modified(time))
}

fn time(time: SystemTime) -> Timestamp {
    let millis = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    Timestamp::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
}
