//! `starts.log` in a run's folder: the attempts that an engine has given to a supervisor.
//!
//! Distinguishes an attempt whose folder was removed from one that an engine had announced and not started yet when it died. It
//! stands outside the attempts' folders, so that it goes with the run's folder at the earliest. Nothing is synced: after a
//! crash of the machine every attempt without a record of its end is in doubt anyway.

use crate::disk::plain;
use rustix::fs::OFlags;
use std::fs::{File, Metadata};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// The first line of a list that has been kept since the run began.
const COMPLETE: &str = "attempts that were given to a supervisor";

/// The first line of one that was begun later, because there was none any more.
const PARTIAL: &str = "attempts that were given to a supervisor since this list was lost";

/// Begins the line that says which file a list is. One that was copied back from elsewhere may be older than the journal, and
/// lacks what came after it.
const OF_FILE: &str = "file ";

/// Attempts have short names; half a million of them fit in. A larger file is not ours.
const LARGEST_BYTES: u64 = 16 * 1024 * 1024;

/// The list of one run.
#[derive(Debug, Clone)]
pub struct Starts {
    path: PathBuf,
}

impl Starts {
    /// Of the run with this folder; touches nothing.
    #[must_use]
    pub fn of(run_base: &Path) -> Self {
        Self { path: run_base.join("starts.log") }
    }

    /// Where it lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Begins the list of a run that has no attempt yet, with the run's folder. To be called before the first attempt is
    /// announced: from then on a list that is missing was removed.
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
            // Of two that begin one run, neither may take the other's list away.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Takes back what [`Starts::begin`] made, of a run that was not begun; a folder with something else in it stays.
    pub fn withdraw(&self) {
        // A file that cannot be removed does no harm.
        drop(std::fs::remove_file(&self.path));
        drop(self.path.parent().map(std::fs::remove_dir));
    }

    /// Notes that this start of `attempt` is given to a supervisor. To be called before that.
    ///
    /// # Errors
    /// It cannot be written down; the attempt must not be started.
    pub fn note(&self, attempt: &str, start: &str) -> io::Result<()> {
        // A line ends where the next begins, so that a line that could not be written whole spoils no other. An older
        // engine looks for a line with the attempt alone.
        let line = format!("\n{attempt}\n{attempt} {start}");
        let list = plain::open_with(&self.path, OFlags::WRONLY | OFlags::APPEND);
        match list {
            Ok(mut list) => list.write_all(line.as_bytes()),
            Err(error) if plain::is_of_machine(&error) => Err(error),
            // It was removed, or something else was put there.
            Err(_) => {
                self.path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
                plain::write(&self.path, format!("{PARTIAL}{line}").as_bytes())
            }
        }
    }

    /// What the list says of this start of `attempt`.
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
        // A list of an older engine does not say which file it is.
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

/// Which file it is: its inode and the time of its birth, as far as the file system keeps that.
fn mark(file: &Metadata) -> String {
    let born = file.created().ok().and_then(|born| born.duration_since(UNIX_EPOCH).ok());
    format!("{:x} {:x}", file.ino(), born.map_or(0, |since| since.as_nanos()))
}

/// What a list says of one start of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    /// It was given to a supervisor.
    Start,
    /// Another start of the attempt was given to one, and not this: it was announced in a journal that is not there any more.
    OtherStart,
    /// The attempt was given to one, by an older engine that does not say which start.
    Attempt,
    /// The attempt was never given to one.
    Not,
    /// The list is missing, has been begun anew, or is a copy of the one that was kept here.
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// What an older engine has written.
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
        // As an older engine begins it.
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
        // An older engine, and a disk that was full in the middle of a line.
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
