//! `starts.log` in a run's folder: the attempts that an engine has given to a supervisor.
//!
//! It tells apart two cases of a missing folder: the folder of an attempt was removed, or an engine had
//! announced the attempt and died before it started it. The file is outside the attempts' folders, so that
//! only the removal of the run's folder removes it. Nothing is synced: after a crash of the machine, the
//! result of every attempt without `exit.json` is unknown anyway.

use crate::disk::plain;
use rustix::fs::OFlags;
use std::fs::{File, Metadata};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// The first line of a list that is complete since the run began.
const COMPLETE: &str = "attempts that were given to a supervisor";

/// The first line of a list that was begun again after the first one was lost.
const PARTIAL: &str = "attempts that were given to a supervisor since this list was lost";

/// Begins the line that identifies the file. A copy from elsewhere may be older than the journal, so it may
/// lack later starts.
const OF_FILE: &str = "file ";

/// Attempts have short names, so half a million of them fit. A larger file was not written by an engine.
const LARGEST_BYTES: u64 = 16 * 1024 * 1024;

/// The list of one run.
#[derive(Debug, Clone)]
pub struct Starts {
    path: PathBuf,
}

impl Starts {
    /// The list of the run with this folder. Touches no file.
    #[must_use]
    pub fn of(run_base: &Path) -> Self {
        Self { path: run_base.join("starts.log") }
    }

    /// Path of the list.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Begins the list of a run that has no attempt yet, and makes the run's folder. Call it before the first
    /// attempt is announced: if the list is missing later, it was removed.
    ///
    /// # Errors
    /// The folder or the file cannot be made.
    pub fn begin(&self) -> io::Result<()> {
        self.path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        match File::create_new(&self.path) {
            Ok(mut list) => {
                let mark = mark(&list.metadata()?);
                list.write_all(format!("{COMPLETE}\n{OF_FILE}{mark}").as_bytes())
            }
            // Two callers may begin the same run. Neither may replace the other's list.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Undoes [`Starts::begin`] for a run that was not begun. A folder that contains other files stays.
    pub fn withdraw(&self) {
        // Errors are ignored: a list that stays does no harm.
        drop(std::fs::remove_file(&self.path));
        drop(self.path.parent().map(std::fs::remove_dir));
    }

    /// Records that this start of `attempt` is given to a supervisor. Call it before that.
    ///
    /// # Errors
    /// The list cannot be written. The attempt must not be started.
    pub fn note(&self, attempt: &str, start: &str) -> io::Result<()> {
        // Each entry begins with a line end, so that a partly written line does not spoil the next one. The
        // line with the attempt alone is for older engines.
        let line = format!("\n{attempt}\n{attempt} {start}");
        let list = plain::open_with(&self.path, OFlags::WRONLY | OFlags::APPEND);
        match list {
            Ok(mut list) => list.write_all(line.as_bytes()),
            Err(error) if plain::is_of_machine(&error) => Err(error),
            // The list was removed, or replaced by something that is not a file.
            Err(_) => {
                self.path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
                plain::write(&self.path, format!("{PARTIAL}{line}").as_bytes())
            }
        }
    }

    /// Whether the list contains this start of `attempt`.
    #[must_use]
    pub fn named(&self, attempt: &str, start: &str) -> Named {
        let read = || {
            let list = plain::open(&self.path)?;
            let mark = mark(&list.metadata()?);
            Ok::<_, io::Error>((plain::read_all(list, LARGEST_BYTES)?, mark))
        };
        let Ok((bytes, mark)) = read() else { return Named::Unknown };
        let mut lines = bytes.split(|byte| *byte == b'\n').peekable();
        let is_complete = lines.next() == Some(COMPLETE.as_bytes());
        // An older engine wrote no line that identifies the file.
        let of_file = lines.next_if(|line| line.starts_with(OF_FILE.as_bytes()));
        let is_copy =
            of_file.is_some_and(|line| line.strip_prefix(OF_FILE.as_bytes()) != Some(mark.as_bytes()));
        let is_whole = is_complete && !is_copy;
        let mut is_named = false;
        let mut has_other = false;
        for line in lines {
            match line.strip_prefix(attempt.as_bytes()) {
                Some(b"") => is_named = true,
                Some([b' ', found @ ..]) if found == start.as_bytes() => return Named::Start,
                Some([b' ', ..]) => has_other = true,
                _ => {}
            }
        }
        match (is_named || has_other, has_other, is_whole) {
            (_, true, _) => Named::OtherStart,
            (true, false, _) => Named::Attempt,
            (false, _, true) => Named::Not,
            (false, _, false) => Named::Unknown,
        }
    }
}

/// Identifies a file: its inode and its creation time, if the file system keeps that.
fn mark(file: &Metadata) -> String {
    let born = file.created().ok().and_then(|born| born.duration_since(UNIX_EPOCH).ok());
    format!("{:x} {:x}", file.ino(), born.map_or(0, |since| since.as_nanos()))
}

/// Whether a list contains one start of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    /// This start was given to a supervisor.
    Start,
    /// Another start of the attempt was given to a supervisor, not this one. The journal that announced it no
    /// longer exists.
    OtherStart,
    /// An older engine gave the attempt to a supervisor, without naming the start.
    Attempt,
    /// The attempt was never given to a supervisor.
    Not,
    /// Not known: the list is missing, was begun again, or is a copy.
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Appends what an older engine wrote.
    fn add(path: &Path, text: &str) {
        fs::write(path, [&fs::read(path).unwrap()[..], text.as_bytes()].concat()).unwrap();
    }

    #[test]
    fn a_list_that_was_copied_back_says_what_was_started_and_not_what_was_not() {
        let folder = tempfile::tempdir().unwrap();
        let starts = Starts::of(folder.path());
        starts.begin().unwrap();
        starts.note("a.1.1", "s1").unwrap();
        let before = fs::read(starts.path()).unwrap();
        starts.note("b.1.1", "s2").unwrap();
        fs::write(folder.path().join("restored"), before).unwrap();
        fs::rename(folder.path().join("restored"), starts.path()).unwrap();
        assert_eq!(
            [starts.named("a.1.1", "s1"), starts.named("b.1.1", "s2")],
            [Named::Start, Named::Unknown]
        );
        // The list as an older engine begins it.
        fs::write(starts.path(), format!("{COMPLETE}\na.1.1\na.1.1 s1")).unwrap();
        assert_eq!(starts.named("b.1.1", "s2"), Named::Not);
    }

    #[test]
    fn only_a_whole_list_says_that_an_attempt_was_never_started() {
        use Named::{Attempt, Not, OtherStart, Start, Unknown};
        let folder = tempfile::tempdir().unwrap();
        let starts = Starts::of(&folder.path().join("runs/run_1"));
        let path = folder.path().join("runs/run_1/starts.log");
        assert_eq!(starts.named("a.1.1", "s1"), Unknown, "there is none");
        starts.begin().unwrap();
        assert_eq!(starts.named("a.1.1", "s1"), Not);
        starts.note("a.1.1", "s1").unwrap();
        starts.note("a.1.12", "s2").unwrap();
        starts.begin().unwrap();
        let named = |rows: [(&str, &str); 4]| rows.map(|(attempt, start)| starts.named(attempt, start));
        let rows = [("a.1.1", "s1"), ("a.1.12", "s1"), ("a.1.2", "s1"), ("b.1.1", "s1")];
        assert_eq!(named(rows), [Start, OtherStart, Not, Not]);
        // An entry of an older engine, and a line that a full disk has cut.
        add(&path, "\nd.1.1\nb.1");
        starts.note("c.1.1", "s3").unwrap();
        let rows = [("a.1.1", "s1"), ("c.1.1", "s3"), ("b.1.1", "s1"), ("d.1.1", "s1")];
        assert_eq!(named(rows), [Start, Start, Not, Attempt]);
        let older = fs::read_to_string(&path).unwrap();
        assert!(older.lines().any(|line| line == "c.1.1"), "an older engine finds it: {older}");
        fs::remove_file(&path).unwrap();
        starts.note("d.1.1", "s4").unwrap();
        let rows = [("a.1.1", "s1"), ("d.1.1", "s4"), ("d.1.1", "s5"), ("", "s4")];
        assert_eq!(named(rows), [Unknown, Start, OtherStart, Unknown], "what it held before is not known");
        for damaged in [&b""[..], b"attempts", b"\0\0\0"] {
            fs::write(&path, damaged).unwrap();
            assert_eq!(starts.named("e.1.1", "s5"), Unknown);
        }
        fs::remove_file(&path).unwrap();
        starts.begin().unwrap();
        assert_eq!(starts.named("e.1.1", "s5"), Not);
        fs::File::options().write(true).open(&path).unwrap().set_len(5 << 30).unwrap();
        assert_eq!(starts.named("e.1.1", "s5"), Unknown, "it is not read");
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/dev/full", &path).unwrap();
        starts.note("f.1.1", "s6").unwrap();
        assert!(fs::symlink_metadata(&path).unwrap().is_file());
        assert_eq!(starts.named("e.1.1", "s5"), Unknown);
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(starts.note("f.1.1", "s6").is_err());
        assert_eq!(starts.named("e.1.1", "s5"), Unknown);
    }
}
