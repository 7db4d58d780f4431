//! Tells people what a supervisor does with files while nothing else shows that it is at work: reading and
//! copying many bytes takes long.
//!
//! The message is a file in the attempt's folder. Nothing is decided by it, because a command can write
//! anything there.

use crate::attempt::dir::AttemptDir;
use crate::disk::plain;
use serde::{Deserialize, Serialize};
use std::fs;

/// Work on fewer bytes needs no message.
const MANY_BYTES: u64 = 32 * 1024 * 1024;

/// Work on fewer files needs no message.
const MANY_FILES: usize = 5_000;

/// Upper bound of the message's size.
const LARGEST_BYTES: u64 = 1_024;

/// The supervisor's work on the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Doing {
    /// It reads them before the command starts, so that changes can be listed.
    Reading,
    /// The command has ended, and the files that it hands over are copied.
    Keeping,
}

/// The work of a supervisor on the files of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileWork {
    /// The kind of work.
    pub doing: Doing,
    /// The number of files.
    pub files: u64,
    /// Their size in bytes.
    pub bytes: u64,
}

/// The supervisor's current work on files. `None` if it does not take long.
#[must_use]
pub fn file_work(dir: &AttemptDir) -> Option<FileWork> {
    let bytes = plain::read(&dir.file_work(), LARGEST_BYTES).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// The message exists until this is dropped.
#[must_use]
pub struct Announced<'a>(Option<&'a AttemptDir>);

/// Writes the message if the work takes long. If it cannot be written, the work goes on without one.
pub fn announce(dir: &AttemptDir, doing: Doing, files: usize, bytes: impl FnOnce() -> u64) -> Announced<'_> {
    let bytes = if files == 0 { 0 } else { bytes() };
    if bytes < MANY_BYTES && files < MANY_FILES {
        return Announced(None);
    }
    let work = FileWork { doing, files: u64::try_from(files).unwrap_or(u64::MAX), bytes };
    let written = serde_json::to_vec(&work).ok().and_then(|text| plain::write(&dir.file_work(), &text).ok());
    Announced(written.map(|()| dir))
}

impl Drop for Announced<'_> {
    fn drop(&mut self) {
        if let Some(dir) = self.0 {
            fs::remove_file(dir.file_work()).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_work_is_reported_while_it_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let dir = AttemptDir::new(folder.path().join("a.1.1"));
        dir.create().unwrap();
        let work = announce(&dir, Doing::Keeping, 2, || MANY_BYTES);
        assert_eq!(file_work(&dir), Some(FileWork { doing: Doing::Keeping, files: 2, bytes: MANY_BYTES }));
        drop(work);
        let _small = announce(&dir, Doing::Keeping, 2, || MANY_BYTES - 1);
        assert_eq!(file_work(&dir), None);
        let _many = announce(&dir, Doing::Reading, MANY_FILES, || 1);
        assert_eq!(file_work(&dir).map(|work| work.doing), Some(Doing::Reading));
        std::fs::write(dir.file_work(), "{}").unwrap();
        assert_eq!(file_work(&dir), None, "a command has written there");
    }
}
