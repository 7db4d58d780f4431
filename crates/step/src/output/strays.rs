//! What stands in the attempt's own folder when the command is over, and was not written by the supervisor.
//!
//! A command knows this folder by `$ENVOI_OUTPUT` and `$ENVOI_REPORT`, and may leave anything there: a folder in the place of a
//! file, a temporary file that it had no time to rename, or its own words in a file of the supervisor's. A regular file is masked,
//! unless it is what the supervisor has written, byte for byte. Anything else is removed, because only a regular file can be masked
//! without following a link. No command of the attempt may live any more.

use crate::{
    attempt::{
        dir::AttemptDir,
        record::{LARGEST_RECORD_BYTES, Started},
        spec::Spec,
    },
    disk::{
        closed_to_owner::open_to_owner,
        pieces::{self, Measure},
        plain,
    },
    mask::Secrets,
    output::{
        cleaning::{self, MOST_BYTES},
        stream,
    },
};
use serde::{Serialize, de::DeserializeOwned};
use std::{
    ffi::OsStr,
    fs, io,
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::Path,
};

/// Notes become part of an event; what comes after these is counted.
const MOST_NOTES: usize = 20;

/// The files that the supervisor writes, masked.
const OF_SUPERVISOR: [&str; 9] = [
    "lock",
    "started.json",
    "before.json",
    "stdout",
    "stderr",
    "text",
    "exit.json",
    "cancel",
    "supervisor.log",
];

/// What a supervisor also has there for a time. One that was killed leaves it; one that settles has not begun it, or is done.
const RINGS: [&str; 2] = ["stdout.ring", "stderr.ring"];
const COPIES: [&str; 2] = ["files", "before"];

/// When the folder is looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Moment<'a> {
    /// The supervisor settles the attempt. It masks `$ENVOI_OUTPUT` and `$ENVOI_REPORT` itself, if they are regular files.
    Settling(&'a Written),
    /// The supervisor was killed, and may have kept so much of a stream.
    Lost {
        /// See [`Spec::stream_cap_bytes`].
        stream_cap_bytes: u64,
    },
}

/// What the supervisor has written, so far as it knows the content.
#[derive(Debug, Default)]
pub(crate) struct Written {
    pub(crate) before: Option<Measure>,
    pub(crate) stdout: Option<Measure>,
    pub(crate) stderr: Option<Measure>,
}

impl Written {
    /// Whether the file is what was written, byte for byte. A file of another length is not read.
    fn is(&self, path: &Path, name: &OsStr) -> bool {
        let written = match name.to_str() {
            Some("before.json") => &self.before,
            Some("stdout") => &self.stdout,
            Some("stderr") => &self.stderr,
            _ => &None,
        };
        let same_length =
            |written: &&Measure| fs::symlink_metadata(path).is_ok_and(|found| found.len() == written.bytes);
        let written = written.as_ref().filter(same_length);
        written.is_some_and(|written| pieces::measure(path).is_ok_and(|found| found == *written))
    }
}

/// What one name of the folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// The supervisor has a file there.
    Supervisor,
    /// The end of a stream, by a supervisor that was killed.
    Ring,
    /// Copies of artifacts, by a supervisor that was killed.
    Copies,
    Command,
}

fn owner(name: &OsStr, moment: Moment<'_>) -> Owner {
    let is_in = |names: &[&str]| names.iter().any(|own| name == *own);
    let is_lost = matches!(moment, Moment::Lost { .. });
    if is_in(&OF_SUPERVISOR) {
        Owner::Supervisor
    } else if is_lost && is_in(&RINGS) {
        Owner::Ring
    } else if is_lost && is_in(&COPIES) {
        Owner::Copies
    } else {
        Owner::Command
    }
}

/// Masks or removes what the supervisor has not written. Without a secret everything stays as it is.
///
/// Returns what a person should know, a sentence each, masked: what was removed, cut, or masked in a file of the supervisor's.
pub(crate) fn mask(dir: &AttemptDir, secrets: &Secrets, moment: Moment<'_>) -> Vec<String> {
    if secrets.is_empty() || !dir.is_real() {
        return Vec::new();
    }
    // It is the supervisor's own: it stays open.
    let entries = open_to_owner(dir.path()).and_then(|_| fs::read_dir(dir.path()));
    let entries = match entries {
        Ok(entries) => entries,
        Err(error) => return vec![format!("the attempt's folder cannot be read and is not masked: {error}")],
    };
    // All names come first: masking makes new ones.
    let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    few(names.iter().filter_map(|name| mask_entry(dir, name, secrets, moment)), "the attempt's folder")
}

/// These notes, or the first of them and how many more there are.
pub(crate) fn few(notes: impl Iterator<Item = String>, folder: &str) -> Vec<String> {
    let mut notes: Vec<String> = notes.collect();
    let more = notes.len().saturating_sub(MOST_NOTES);
    if more > 0 {
        notes.truncate(MOST_NOTES);
        notes.push(format!("{more} more notes about files in {folder}"));
    }
    notes
}

/// Removes everything that the supervisor has not written: the secrets that may stand in it are not known. Returns the names of
/// what was removed, in order; a name may hold a secret itself.
///
/// # Errors
/// Something cannot be removed.
pub(crate) fn remove_all(dir: &AttemptDir, is_before: IsBefore) -> io::Result<Vec<String>> {
    remove_all_by(dir, is_before, cleaning::remove)
}

/// Whether `before.json` has the form in which a supervisor writes it, which is not known here.
pub(crate) type IsBefore = fn(&[u8]) -> bool;

fn remove_all_by(
    dir: &AttemptDir,
    is_before: IsBefore,
    remove: impl Fn(&Path) -> io::Result<()>,
) -> io::Result<Vec<String>> {
    let mut removed = Vec::new();
    let mut failed = Vec::new();
    if !dir.is_real() {
        return Ok(removed);
    }
    open_to_owner(dir.path())?;
    let mut names: Vec<_> =
        fs::read_dir(dir.path())?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<_>>()?;
    names.sort();
    for name in names {
        let path = dir.path().join(&name);
        match remove_unmasked(&path, &name, is_before, &remove) {
            Ok(false) => {}
            Ok(true) => removed.push(name.to_string_lossy().into_owned()),
            // The others are removed all the same: a value is to stay nowhere where that can be avoided.
            Err(error) => failed.push(format!("`{}` cannot be removed: {error}", path.display())),
        }
    }
    if failed.is_empty() { Ok(removed) } else { Err(io::Error::other(failed.join("; "))) }
}

/// Whether something was removed.
fn remove_unmasked(
    path: &Path,
    name: &OsStr,
    is_before: IsBefore,
    remove: &impl Fn(&Path) -> io::Result<()>,
) -> io::Result<bool> {
    let kind = fs::symlink_metadata(path)?.file_type();
    match owner(name, Moment::Lost { stream_cap_bytes: 0 }) {
        Owner::Supervisor if kind.is_dir() => cleaning::empty_folder(path).map(|removed| removed > 0),
        Owner::Supervisor if !kind.is_file() => cleaning::put_nothing(path).map(|()| true),
        // The supervisor writes it when the attempt is over.
        Owner::Supervisor if name == "text" => remove(path).map(|()| true),
        Owner::Supervisor if !is_as_written(path, name, is_before) => {
            cleaning::put_nothing(path).map(|()| true)
        }
        Owner::Supervisor | Owner::Ring => Ok(false),
        Owner::Copies | Owner::Command => remove(path).map(|()| true),
    }
}

/// Whether a record has the form in which a supervisor writes it. What a command has put in its place has another one.
fn is_as_written(path: &Path, name: &OsStr, is_before: IsBefore) -> bool {
    let read = || plain::read(path, LARGEST_RECORD_BYTES).ok();
    match name.to_str() {
        Some("started.json") => read().is_some_and(|bytes| is_form_of::<Started>(&bytes)),
        Some("before.json") => read().is_some_and(|bytes| is_before(&bytes)),
        _ => true,
    }
}

/// Whether these bytes are a record as it is written, with nothing else in it.
pub(crate) fn is_form_of<T: Serialize + DeserializeOwned>(bytes: &[u8]) -> bool {
    let read = serde_json::from_slice::<T>(bytes).ok();
    read.and_then(|record| serde_json::to_vec(&record).ok()).is_some_and(|written| written == bytes)
}

fn mask_entry(dir: &AttemptDir, name: &OsStr, secrets: &Secrets, moment: Moment<'_>) -> Option<String> {
    let path = dir.path().join(name);
    let found = fs::symlink_metadata(&path).ok()?;
    let kind = found.file_type();
    let shown = shown(dir, &path, name, secrets);
    match owner(name, moment) {
        Owner::Supervisor => mask_own(dir, name, &found, &shown, secrets, moment),
        Owner::Ring if kind.is_file() => match stream::mask_ring(&path, secrets, bound(name, &found, moment))
        {
            Ok(false) => None,
            Ok(true) => Some(format!("the command wrote to {shown} itself: a secret in it was masked")),
            Err(error) => Some(cleaning::removed_instead(&path, &shown, &error)),
        },
        Owner::Copies if kind.is_dir() => cleaning::drop_files_with(&path, &shown, secrets),
        Owner::Ring | Owner::Copies | Owner::Command if !kind.is_file() => {
            let what = plain::kind(kind);
            Some(match cleaning::remove(&path) {
                Ok(()) => format!("{what} stood at {shown}; it was removed: it could hold a secret"),
                Err(error) => format!("{what} stands at {shown} and cannot be removed: {error}"),
            })
        }
        Owner::Ring | Owner::Copies | Owner::Command if secrets.stand_in(name.as_bytes()) => {
            Some(match cleaning::remove(&path) {
                Ok(()) => format!("{shown} was removed: its name holds a secret"),
                Err(error) => format!("{shown} holds a secret in its name and cannot be removed: {error}"),
            })
        }
        Owner::Ring | Owner::Copies | Owner::Command => {
            let masks_itself = path == dir.output() || path == dir.report() || path == dir.data();
            match plain::open(&path) {
                Ok(_) if masks_itself && matches!(moment, Moment::Settling(_)) => None,
                _ => match cleaning::mask_file(&path, secrets, MOST_BYTES) {
                    Ok(masked) if masked.is_cut => {
                        Some(format!("{shown} was cut to {} MiB", MOST_BYTES >> 20))
                    }
                    Ok(_) => None,
                    Err(error) => Some(cleaning::removed_instead(&path, &shown, &error)),
                },
            }
        }
    }
}

/// Masks what stands where the supervisor has a file.
fn mask_own(
    dir: &AttemptDir,
    name: &OsStr,
    found: &fs::Metadata,
    shown: &str,
    secrets: &Secrets,
    moment: Moment<'_>,
) -> Option<String> {
    let path = &dir.path().join(name);
    let kind = found.file_type();
    if kind.is_dir() {
        // The folder itself stays: its place says how the attempt ended, or that it was started.
        return match cleaning::empty_folder(path) {
            Ok(0) => None,
            Ok(_) => {
                Some(format!("a folder stood at {shown}; its content was removed: it could hold a secret"))
            }
            Err(error) => {
                Some(format!("a folder stands at {shown}, and its content cannot be removed: {error}"))
            }
        };
    }
    if let Moment::Settling(written) = moment
        && (["text", "exit.json"].iter().any(|own| name == *own) || written.is(path, name))
    {
        // The supervisor has not written these two yet, and replaces what stands there.
        return None;
    }
    if !kind.is_file() {
        let what = plain::kind(kind);
        // A file has to be there: its place says how the attempt ended, or that it was started.
        return Some(match cleaning::put_nothing(path) {
            Ok(()) => {
                format!("{what} stood at {shown}; an empty file is in its place: it could hold a secret")
            }
            Err(error) => format!("{what} stands at {shown} and cannot be replaced: {error}"),
        });
    }
    let masked = match name.to_str() {
        // Always empty; and processes have these files open.
        Some("lock") => cleaning::truncate(path, || dir.is_locked()),
        Some("cancel") => cleaning::truncate(path, || false),
        Some("supervisor.log") => cleaning::mask_in_place(path, secrets),
        _ => cleaning::mask_file(path, secrets, bound(name, found, moment))
            .map(|masked| masked.has_secret || masked.is_cut),
    };
    match masked {
        Ok(false) => None,
        Ok(true) => Some(format!("the command wrote to {shown} itself: a secret in it was masked")),
        Err(error) => {
            let emptied = cleaning::put_nothing(path).map_or("could not be emptied", |()| "was emptied");
            Some(format!("{shown} cannot be masked and {emptied}: {error}"))
        }
    }
}

/// The most that is kept of a file of the supervisor's.
fn bound(name: &OsStr, found: &fs::Metadata, moment: Moment<'_>) -> u64 {
    /// More bytes than the line in a stream that reports what was left out.
    const MORE_BYTES: u64 = 100;
    const BLOCK_BYTES: u64 = 512;
    // The supervisor leaves no holes.
    if found.blocks().saturating_mul(BLOCK_BYTES) < found.len() / 2 {
        return MOST_BYTES;
    }
    let stream_cap_bytes = match moment {
        Moment::Settling(_) => u64::MAX,
        Moment::Lost { stream_cap_bytes } => stream_cap_bytes.max(Spec::STREAM_CAP_BYTES),
    };
    match name.to_str() {
        Some("stdout" | "stderr" | "stdout.ring" | "stderr.ring") => {
            stream_cap_bytes.saturating_add(MORE_BYTES)
        }
        Some("before.json" | "exit.json") => LARGEST_RECORD_BYTES,
        _ => MOST_BYTES,
    }
}

/// How a note names what the folder holds.
fn shown(dir: &AttemptDir, path: &Path, name: &OsStr, secrets: &Secrets) -> String {
    if path == dir.output() {
        "`$ENVOI_OUTPUT`".to_owned()
    } else if path == dir.report() {
        "`$ENVOI_REPORT`".to_owned()
    } else if path == dir.data() {
        "`$ENVOI_DATA`".to_owned()
    } else {
        format!("`{}`", secrets.mask_str(&name.to_string_lossy()).escape_debug())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    const LOST: Moment<'_> = Moment::Lost { stream_cap_bytes: 0 };

    fn attempt(folder: &Path) -> AttemptDir {
        let dir = AttemptDir::new(folder.join("run_1/attempts/a.1.1"));
        dir.create().unwrap();
        dir
    }

    fn secrets() -> Secrets {
        Secrets::new(&["hunter22".to_owned()])
    }

    /// All names below the folder, sorted.
    fn names(folder: &Path) -> Vec<String> {
        let walk = walkdir::WalkDir::new(folder).min_depth(1).sort_by_file_name();
        let path = |entry: walkdir::DirEntry| {
            entry.path().strip_prefix(folder).unwrap().to_str().unwrap().to_owned()
        };
        walk.into_iter().map(|entry| path(entry.unwrap())).collect()
    }

    #[test]
    fn of_the_supervisors_files_those_stay_that_have_its_form_where_the_secrets_are_not_known() {
        let folder = tempfile::tempdir().unwrap();
        let dir = attempt(folder.path());
        let started = Started {
            version: 1,
            attempt: "a.1.1".to_owned(),
            supervisor_pid: 1,
            supervisor_started_ticks: 0,
            boot_id: String::new(),
            started_at_ms: 1,
            argv0: "sh".to_owned(),
            start: String::new(),
            secret_marks: Vec::new(),
        };
        let written = serde_json::to_vec(&started).unwrap();
        fs::write(dir.started(), &written).unwrap();
        fs::write(dir.stdout(), "said").unwrap();
        assert_eq!(remove_all(&dir, |_| false).unwrap(), [""; 0]);
        for content in ["the earlier value", "{\"version\": 1}"] {
            for name in ["started.json", "before.json", "text"] {
                fs::write(dir.path().join(name), content).unwrap();
            }
            assert_eq!(remove_all(&dir, |_| false).unwrap(), ["before.json", "started.json", "text"]);
            assert!(
                fs::read(dir.started()).unwrap().is_empty(),
                "it still says that the attempt was started"
            );
            assert_eq!(fs::read(dir.stdout()).unwrap(), b"said");
            fs::remove_file(dir.path().join("before.json")).unwrap();
        }
        let more = [&written[..written.len() - 1], b",\"more\":\"the earlier value\"}"].concat();
        fs::write(dir.started(), more).unwrap();
        assert_eq!(remove_all(&dir, |_| false).unwrap(), ["started.json"]);
    }

    #[test]
    fn what_cannot_be_removed_is_named_and_the_others_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let dir = attempt(folder.path());
        for name in ["a", "immutable", "z"] {
            fs::write(dir.path().join(name), "the earlier value").unwrap();
        }
        let remove = |path: &Path| match path.ends_with("immutable") {
            true => Err(io::Error::from(io::ErrorKind::PermissionDenied)),
            false => cleaning::remove(path),
        };
        let error = remove_all_by(&dir, |_| false, remove).unwrap_err().to_string();
        assert!(error.contains("attempts/a.1.1/immutable` cannot be removed: permission denied"), "{error}");
        assert_eq!(names(dir.path()), ["immutable"]);
    }

    #[test]
    fn a_lock_with_another_name_stays_the_lock_and_another_file_at_its_name_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let dir = attempt(folder.path());
        let elsewhere = folder.path().join("elsewhere");
        let lock = dir.try_lock().unwrap().unwrap();
        fs::write(dir.lock(), "hunter22").unwrap();
        fs::hard_link(dir.lock(), &elsewhere).unwrap();
        let settling = Moment::Settling(&Written::default());
        mask(&dir, &secrets(), settling);
        assert!(dir.is_locked() && fs::read(&elsewhere).unwrap().is_empty(), "it is one file");
        fs::remove_file(&elsewhere).unwrap();
        fs::write(&elsewhere, "theirs hunter22").unwrap();
        fs::remove_file(dir.lock()).unwrap();
        fs::hard_link(&elsewhere, dir.lock()).unwrap();
        mask(&dir, &secrets(), settling);
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "theirs hunter22");
        assert!(fs::read(dir.lock()).unwrap().is_empty());
        drop(lock);
    }

    #[test]
    fn what_a_command_leaves_beside_its_files_holds_no_secret() {
        for moment in [Moment::Settling(&Written::default()), LOST] {
            let folder = tempfile::tempdir().unwrap();
            let dir = attempt(folder.path());
            let outside = folder.path().join("outside");
            fs::create_dir(&outside).unwrap();
            fs::write(outside.join("theirs"), "hunter22").unwrap();
            fs::create_dir_all(dir.output().join("closed")).unwrap();
            fs::write(dir.output().join("closed/result"), "hunter22").unwrap();
            symlink(&outside, dir.output().join("way")).unwrap();
            fs::set_permissions(dir.output().join("closed"), fs::Permissions::from_mode(0o500)).unwrap();
            symlink(outside.join("theirs"), dir.report()).unwrap();
            fs::write(dir.path().join("report.json.tmp"), "token hunter22 end").unwrap();
            fs::write(dir.path().join("of-hunter22"), "x").unwrap();
            fs::write(dir.path().join("plain"), "x").unwrap();
            fs::create_dir(dir.exit()).unwrap();
            fs::write(dir.exit().join("x"), "hunter22").unwrap();
            fs::write(dir.stdout(), "***").unwrap();
            assert_eq!(
                mask(&dir, &secrets(), moment),
                [
                    "a folder stood at `exit.json`; its content was removed: it could hold a secret",
                    "`of-***` was removed: its name holds a secret",
                    "a folder stood at `$ENVOI_OUTPUT`; it was removed: it could hold a secret",
                    "a symbolic link stood at `$ENVOI_REPORT`; it was removed: it could hold a secret",
                ],
                "{moment:?}"
            );
            assert_eq!(names(dir.path()), ["exit.json", "plain", "report.json.tmp", "stdout"], "{moment:?}");
            assert_eq!(fs::read_to_string(dir.path().join("report.json.tmp")).unwrap(), "token *** end");
            assert_eq!(fs::read_to_string(outside.join("theirs")).unwrap(), "hunter22");
        }
    }

    #[test]
    fn what_the_supervisor_masks_itself_is_left_to_it() {
        for (moment, is_lost) in [(Moment::Settling(&Written::default()), false), (LOST, true)] {
            let folder = tempfile::tempdir().unwrap();
            let dir = attempt(folder.path());
            fs::write(dir.output(), "hunter22").unwrap();
            assert_eq!(mask(&dir, &secrets(), moment), [""; 0], "{moment:?}");
            let output = fs::read_to_string(dir.output()).unwrap();
            assert_eq!(output, if is_lost { "***" } else { "hunter22" }, "{moment:?}");
        }
    }

    #[test]
    fn copies_of_artifacts_stay_where_their_supervisor_was_killed_unless_a_secret_is_in_them() {
        for (moment, is_lost) in [(Moment::Settling(&Written::default()), false), (LOST, true)] {
            let folder = tempfile::tempdir().unwrap();
            let dir = attempt(folder.path());
            for path in [dir.files(), dir.before_files()] {
                fs::create_dir_all(path.join("of-hunter22")).unwrap();
                fs::write(path.join("of-hunter22/x"), "x").unwrap();
                fs::write(path.join("fine.txt"), "fine").unwrap();
                fs::write(path.join("made.txt"), "hunter22").unwrap();
                symlink("hunter22", path.join("link")).unwrap();
            }
            let notes = mask(&dir, &secrets(), moment);
            assert_eq!(notes.len(), 2, "{moment:?}: {notes:?}");
            let left =
                if is_lost { &["before", "before/fine.txt", "files", "files/fine.txt"][..] } else { &[] };
            assert_eq!(names(dir.path()), left, "{moment:?}");
        }
    }

    #[test]
    fn a_secret_under_a_name_of_the_supervisors_is_masked() {
        for (moment, is_lost) in [(Moment::Settling(&Written::default()), false), (LOST, true)] {
            for (name, masked) in [
                ("lock", ""),
                ("cancel", ""),
                ("started.json", "a *** b"),
                ("before.json", "a *** b"),
                ("stdout", "a *** b"),
                ("stderr", "a *** b"),
                ("supervisor.log", "a *** b"),
                ("text", if is_lost { "a *** b" } else { "a hunter22 b" }),
                ("exit.json", if is_lost { "a *** b" } else { "a hunter22 b" }),
            ] {
                let folder = tempfile::tempdir().unwrap();
                let dir = attempt(folder.path());
                let path = dir.path().join(name);
                fs::write(&path, "a hunter22 b").unwrap();
                let notes = mask(&dir, &secrets(), moment);
                assert_eq!(fs::read_to_string(&path).unwrap(), masked, "{name} {moment:?}");
                let note = format!("the command wrote to `{name}` itself: a secret in it was masked");
                assert_eq!(
                    notes,
                    if masked.contains("hunter22") { vec![] } else { vec![note] },
                    "{moment:?}"
                );

                fs::remove_file(&path).unwrap();
                symlink("hunter22", &path).unwrap();
                let notes = mask(&dir, &secrets(), moment);
                let is_replaced = fs::read(&path).is_ok_and(|content| content.is_empty());
                assert_eq!(is_replaced, masked != "a hunter22 b", "{name} {moment:?}: {notes:?}");
            }
        }
    }

    #[test]
    fn what_the_supervisor_wrote_is_not_looked_through_again() {
        let folder = tempfile::tempdir().unwrap();
        let dir = attempt(folder.path());
        // As if the masker of the stream had passed it: then nothing else finds it either.
        fs::write(dir.stdout(), "hunter22").unwrap();
        fs::write(dir.stderr(), "hunter22").unwrap();
        let written = Some(pieces::measure(&dir.stdout()).unwrap());
        let written = Written { stdout: written, ..Written::default() };
        assert_eq!(mask(&dir, &secrets(), Moment::Settling(&written)).len(), 1);
        assert_eq!(fs::read_to_string(dir.stdout()).unwrap(), "hunter22");
        assert_eq!(fs::read_to_string(dir.stderr()).unwrap(), "***");
    }

    #[test]
    fn the_end_of_a_stream_that_its_command_has_written_to_is_masked() {
        let ring = |count: u64, content: &str| [&count.to_le_bytes()[..], content.as_bytes()].concat();
        for (bytes, end) in [
            (ring(4, "fine"), "fine"),
            (ring(12, "a hunter22 b"), "a *** b"),
            // It has gone round in the middle of the value.
            (ring(12 + 4, "er22 b hunt a"), " b hunt a"),
            (ring(13 + 6, "er22 bb a hunt"), "bb a hunter22"),
            // The count is the command's, too.
            (ring(0, "a hunter22 b"), ""),
            (b"hunter22".to_vec(), ""),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let dir = attempt(folder.path());
            let path = dir.path().join("stdout.ring");
            fs::write(&path, &bytes).unwrap();
            mask(&dir, &secrets(), LOST);
            let found = fs::read(&path).unwrap_or_default();
            assert!(!String::from_utf8_lossy(&found).contains("hunter22"), "{bytes:?}: {found:?}");
            let read = String::from_utf8(stream::end_of(&dir.stdout(), 100).unwrap_or_default()).unwrap();
            assert!(!read.contains("hunter22"), "{bytes:?}: {read}");
            if !end.contains("hunter22") && !end.contains("hunt a") {
                assert_eq!(read, end, "{bytes:?}");
            }
        }
    }

    #[test]
    fn without_a_secret_everything_stays() {
        let folder = tempfile::tempdir().unwrap();
        let dir = attempt(folder.path());
        fs::create_dir(dir.output()).unwrap();
        fs::write(dir.output().join("result"), "x").unwrap();
        fs::write(dir.path().join("report.json.tmp"), "x").unwrap();
        assert_eq!(mask(&dir, &Secrets::new(&[]), Moment::Settling(&Written::default())), [""; 0]);
        assert_eq!(names(dir.path()), ["output", "output/result", "report.json.tmp"]);
    }

    #[test]
    fn many_notes_are_few() {
        let folder = tempfile::tempdir().unwrap();
        let dir = attempt(folder.path());
        for number in 0..30 {
            fs::create_dir(dir.path().join(format!("{number:02}"))).unwrap();
        }
        let notes = mask(&dir, &secrets(), LOST);
        assert_eq!(notes.len(), MOST_NOTES + 1);
        assert_eq!(notes.last().unwrap(), "10 more notes about files in the attempt's folder");
        assert_eq!(names(dir.path()), [""; 0]);
    }

    #[test]
    fn where_the_secrets_are_not_known_nothing_of_the_command_stays() {
        let folder = tempfile::tempdir().unwrap();
        let dir = attempt(folder.path());
        fs::create_dir_all(dir.output().join("deep")).unwrap();
        fs::write(dir.report(), "x").unwrap();
        fs::write(dir.path().join("report.json.tmp"), "x").unwrap();
        fs::write(dir.stdout(), "x").unwrap();
        fs::create_dir_all(dir.text().join("deep")).unwrap();
        fs::create_dir(dir.files()).unwrap();
        let removed = remove_all(&dir, |_| false).unwrap();
        assert_eq!(removed, ["files", "output", "report.json", "report.json.tmp", "text"]);
        assert_eq!(names(dir.path()), ["stdout", "text"]);
    }
}
