//! What stands in the attempt's own folder when the command is over, and was not written by the supervisor.
//!
//! A command knows this folder by `$ENVOI_OUTPUT` and `$ENVOI_REPORT`, and may leave anything there: a folder in the place of a
//! file, or a temporary file that it had no time to rename. A regular file is masked. Anything else is removed, because only a
//! regular file can be masked without following a link. No command of the attempt may live any more.

use crate::{
    attempt::dir::AttemptDir,
    disk::{durable, plain},
    mask::{Masker, Secrets},
};
use std::{
    ffi::OsStr,
    fs,
    io::{self, Read as _, Write as _},
    os::unix::{ffi::OsStrExt as _, fs::PermissionsExt as _},
    path::Path,
};

/// What is kept of one file: no larger document is read (CONTRACTS §0).
const MOST_BYTES: u64 = 16 * 1024 * 1024;

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
const UNFINISHED: [&str; 4] = ["files", "before", "stdout.ring", "stderr.ring"];

/// When the folder is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// The supervisor settles the attempt. It masks `$ENVOI_OUTPUT` and `$ENVOI_REPORT` itself, if they are regular files.
    Settling,
    /// The supervisor was killed.
    Lost,
}

/// What one name of the folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// The supervisor writes it, or masks it.
    Supervisor,
    /// The supervisor has a file there; a folder is the command's.
    SupervisorsFile,
    Command,
}

fn owner(name: &OsStr, moment: Moment) -> Owner {
    let is_in = |names: &[&str]| names.iter().any(|own| name == *own);
    if is_in(&OF_SUPERVISOR) {
        Owner::SupervisorsFile
    } else if moment == Moment::Lost && is_in(&UNFINISHED) {
        Owner::Supervisor
    } else {
        Owner::Command
    }
}

/// Masks or removes what the supervisor has not written. Without a secret everything stays as it is.
///
/// Returns what a person should know, a sentence each, masked: what was removed or cut.
pub(crate) fn mask(dir: &AttemptDir, secrets: &Secrets, moment: Moment) -> Vec<String> {
    if secrets.is_empty() || !dir.is_real() {
        return Vec::new();
    }
    let entries = match fs::read_dir(dir.path()) {
        Ok(entries) => entries,
        Err(error) => return vec![format!("the attempt's folder cannot be read and is not masked: {error}")],
    };
    // All names come first: masking makes new ones.
    let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    let mut notes: Vec<String> =
        names.iter().filter_map(|name| mask_entry(dir, name, secrets, moment)).collect();
    let more = notes.len().saturating_sub(MOST_NOTES);
    if more > 0 {
        notes.truncate(MOST_NOTES);
        notes.push(format!("{more} more notes about files in the attempt's folder"));
    }
    notes
}

/// Removes everything that the supervisor has not written: the secrets that may stand in it are not known.
///
/// # Errors
/// Something cannot be removed.
pub(crate) fn remove_all(dir: &AttemptDir) -> io::Result<()> {
    if !dir.is_real() {
        return Ok(());
    }
    for entry in fs::read_dir(dir.path())? {
        let entry = entry?;
        match owner(&entry.file_name(), Moment::Lost) {
            Owner::Supervisor => {}
            Owner::SupervisorsFile if entry.file_type()?.is_dir() => empty(&entry.path()).map(drop)?,
            Owner::SupervisorsFile => {}
            Owner::Command => remove(&entry.path())?,
        }
    }
    Ok(())
}

fn mask_entry(dir: &AttemptDir, name: &OsStr, secrets: &Secrets, moment: Moment) -> Option<String> {
    let path = dir.path().join(name);
    let kind = fs::symlink_metadata(&path).ok()?.file_type();
    let shown = shown(dir, &path, name, secrets);
    match owner(name, moment) {
        Owner::Supervisor => None,
        Owner::SupervisorsFile if !kind.is_dir() => None,
        // The folder itself stays: its place says how the attempt ended, or that it was started.
        Owner::SupervisorsFile => match empty(&path) {
            Ok(0) => None,
            Ok(_) => {
                Some(format!("a folder stood at {shown}; its content was removed: it could hold a secret"))
            }
            Err(error) => {
                Some(format!("a folder stands at {shown}, and its content cannot be removed: {error}"))
            }
        },
        Owner::Command if !kind.is_file() => {
            let what = plain::kind(kind);
            Some(match remove(&path) {
                Ok(()) => format!("{what} stood at {shown}; it was removed: it could hold a secret"),
                Err(error) => format!("{what} stands at {shown} and cannot be removed: {error}"),
            })
        }
        Owner::Command if secrets.stand_in(name.as_bytes()) => Some(match remove(&path) {
            Ok(()) => format!("{shown} was removed: its name holds a secret"),
            Err(error) => format!("{shown} holds a secret in its name and cannot be removed: {error}"),
        }),
        Owner::Command => {
            let masks_itself = path == dir.output() || path == dir.report();
            match plain::open(&path) {
                Ok(_) if masks_itself && moment == Moment::Settling => None,
                _ => mask_regular(&path, &shown, secrets),
            }
        }
    }
}

/// How a note names what the folder holds.
fn shown(dir: &AttemptDir, path: &Path, name: &OsStr, secrets: &Secrets) -> String {
    if path == dir.output() {
        "`$ENVOI_OUTPUT`".to_owned()
    } else if path == dir.report() {
        "`$ENVOI_REPORT`".to_owned()
    } else {
        format!("`{}`", secrets.mask_str(&name.to_string_lossy()).escape_debug())
    }
}

fn mask_regular(path: &Path, shown: &str, secrets: &Secrets) -> Option<String> {
    match mask_file(path, secrets) {
        Ok(false) => None,
        Ok(true) => Some(format!("{shown} was cut to {} MiB", MOST_BYTES >> 20)),
        Err(error) => {
            let removed = remove(path).map_or("could not be removed", |()| "was removed");
            Some(format!("{shown} cannot be masked and {removed}: {error}"))
        }
    }
}

/// True if the file was cut.
fn mask_file(path: &Path, secrets: &Secrets) -> io::Result<bool> {
    let Some(file) = plain::open_if_there(path)? else { return Ok(false) };
    let is_cut = file.metadata()?.len() > MOST_BYTES;
    let temporary = durable::temp_beside(path);
    let mut target = plain::create(&temporary)?;
    let (mut masker, mut masked) = (Masker::new(secrets), Vec::new());
    let copied = durable::pieces(&mut file.take(MOST_BYTES), |piece| {
        masker.push(piece, &mut masked);
        target.write_all(&masked)?;
        masked.clear();
        Ok(())
    });
    masker.finish(&mut masked);
    let copied = copied.and_then(|()| target.write_all(&masked));
    if copied.is_err() || (masker.hits() == 0 && !is_cut) {
        // It is as it was.
        fs::remove_file(&temporary)?;
        return copied.map(|()| false);
    }
    fs::rename(&temporary, path).map(|()| is_cut)
}

/// Removes what a folder holds, and returns how many names that were.
fn empty(folder: &Path) -> io::Result<usize> {
    open_up(folder)?;
    let mut removed = 0_usize;
    for entry in fs::read_dir(folder)? {
        remove(&entry?.path())?;
        removed = removed.saturating_add(1);
    }
    Ok(removed)
}

/// Removes a file, a link or a whole folder. Follows no link.
fn remove(path: &Path) -> io::Result<()> {
    if !fs::symlink_metadata(path)?.is_dir() {
        return fs::remove_file(path);
    }
    match fs::remove_dir_all(path) {
        // Some programs leave folders that they have closed to writing.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_up(path)?;
            fs::remove_dir_all(path)
        }
        removed => removed,
    }
}

/// Lets the owner remove what stands in a folder and in those below it.
fn open_up(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_up(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

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
    fn what_a_command_leaves_beside_its_files_holds_no_secret() {
        for moment in [Moment::Settling, Moment::Lost] {
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
    fn what_a_supervisor_writes_or_masks_is_left_to_it() {
        for (moment, is_left) in [(Moment::Settling, false), (Moment::Lost, true)] {
            let folder = tempfile::tempdir().unwrap();
            let dir = attempt(folder.path());
            for path in [dir.files(), dir.before_files()] {
                fs::create_dir(&path).unwrap();
                fs::write(path.join("made.txt"), "hunter22").unwrap();
            }
            fs::write(dir.output(), "hunter22").unwrap();
            assert_eq!(mask(&dir, &secrets(), moment).is_empty(), is_left, "{moment:?}");
            assert_eq!(dir.files().exists() && dir.before_files().exists(), is_left, "{moment:?}");
            let output = fs::read_to_string(dir.output()).unwrap();
            assert_eq!(output, if is_left { "***" } else { "hunter22" }, "{moment:?}");
        }
    }

    #[test]
    fn without_a_secret_everything_stays() {
        let folder = tempfile::tempdir().unwrap();
        let dir = attempt(folder.path());
        fs::create_dir(dir.output()).unwrap();
        fs::write(dir.output().join("result"), "x").unwrap();
        fs::write(dir.path().join("report.json.tmp"), "x").unwrap();
        assert_eq!(mask(&dir, &Secrets::new(&[]), Moment::Settling), [""; 0]);
        assert_eq!(names(dir.path()), ["output", "output/result", "report.json.tmp"]);
    }

    #[test]
    fn many_notes_are_few() {
        let folder = tempfile::tempdir().unwrap();
        let dir = attempt(folder.path());
        for number in 0..30 {
            fs::create_dir(dir.path().join(format!("{number:02}"))).unwrap();
        }
        let notes = mask(&dir, &secrets(), Moment::Lost);
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
        remove_all(&dir).unwrap();
        assert_eq!(names(dir.path()), ["stdout", "text"]);
    }
}
