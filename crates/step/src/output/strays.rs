//! Cleans the attempt's own folder after the command has ended: files that the supervisor did not write.
//!
//! A command knows this folder by `$ENVOI_OUTPUT` and `$ENVOI_REPORT`, and may leave anything there: a folder
//! in the place of a file, a temporary file that it had no time to rename, or its own text in a file of the
//! supervisor's. A regular file is masked, unless it is byte for byte what the supervisor wrote. Anything
//! else is removed, because only a regular file can be masked without following a link. No command of the
//! attempt may live any more.

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
        cleaning::{self, MOST_BYTES, Masked},
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

/// Notes become part of an event, so further ones are only counted.
const MOST_NOTES: usize = 20;

/// The files that the supervisor writes, masked.
const OF_SUPERVISOR: [&str; 10] = [
    "lock",
    "started.json",
    "before.json",
    "cached.json",
    "stdout",
    "stderr",
    "text",
    "exit.json",
    "cancel",
    "supervisor.log",
];

/// Temporary files of the supervisor. A killed supervisor leaves them. A supervisor that settles has not made
/// them yet, or has removed them.
const RINGS: [&str; 2] = ["stdout.ring", "stderr.ring"];
const COPIES: [&str; 2] = ["files", "before"];

/// When the folder is cleaned.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Moment<'a> {
    /// The supervisor settles the attempt. It masks `$ENVOI_OUTPUT` and `$ENVOI_REPORT` itself, if they are
    /// regular files.
    Settling(&'a Written),
    /// The supervisor was killed, and may have kept this much of a stream.
    Lost {
        /// See [`Spec::stream_cap_bytes`].
        stream_cap_bytes: u64,
    },
}

/// Length and digest of the supervisor's files, as far as it knows their content.
#[derive(Debug, Default)]
pub(crate) struct Written {
    pub(crate) before: Option<Measure>,
    pub(crate) stdout: Option<Measure>,
    pub(crate) stderr: Option<Measure>,
    /// See [`Spec::own_folder`].
    pub(crate) own_folder: Option<String>,
}

impl Written {
    /// Whether the file is byte for byte what was written. A file of another length is not read.
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

/// The owner of a name in the folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// The supervisor has a file there.
    Supervisor,
    /// The end of a stream, left by a killed supervisor.
    Ring,
    /// Copies of artifacts, left by a killed supervisor.
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

/// Masks or removes everything that the supervisor has not written. Does nothing if there are no secrets.
///
/// Returns what a person should know, a sentence each, masked: what was removed, cut, or masked in a file of
/// the supervisor's.
pub(crate) fn mask(dir: &AttemptDir, secrets: &Secrets, moment: Moment<'_>) -> Vec<String> {
    if secrets.is_empty() || !dir.is_real() {
        return Vec::new();
    }
    // The folder stays open: it is the supervisor's own.
    let entries = open_to_owner(dir.path()).and_then(|_| fs::read_dir(dir.path()));
    let entries = match entries {
        Ok(entries) => entries,
        Err(error) => return vec![format!("the attempt's folder cannot be read and is not masked: {error}")],
    };
    // All names are read first, because masking makes new ones.
    let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    few(names.iter().filter_map(|name| mask_entry(dir, name, secrets, moment)), "the attempt's folder")
}

/// These notes. If there are too many, the first ones and the number of the others.
pub(crate) fn few(notes: impl Iterator<Item = String>, folder: &str) -> Vec<String> {
    let mut notes: Vec<String> = notes.collect();
    let more = notes.len().saturating_sub(MOST_NOTES);
    if more > 0 {
        notes.truncate(MOST_NOTES);
        notes.push(format!("{more} more notes about files in {folder}"));
    }
    notes
}

/// Removes everything that the supervisor has not written, because the secrets that it may contain are not
/// known. Returns the names of the removed files, in order. A name may itself contain a secret.
///
/// # Errors
/// Something cannot be removed.
pub(crate) fn remove_all(dir: &AttemptDir, is_before: IsBefore) -> io::Result<Vec<String>> {
    remove_all_by(dir, is_before, cleaning::remove)
}

/// Checks whether `before.json` has the form in which a supervisor writes it. This module does not know that
/// form.
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
            // Continue with the others: as few copies of a value as possible should stay.
            Err(error) => failed.push(format!("`{}` cannot be removed: {error}", path.display())),
        }
    }
    if failed.is_empty() { Ok(removed) } else { Err(io::Error::other(failed.join("; "))) }
}

/// Removes one name. Returns whether something was removed.
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
        // The supervisor writes `text` only when the attempt has ended.
        Owner::Supervisor if name == "text" => remove(path).map(|()| true),
        Owner::Supervisor if !is_as_written(path, name, is_before) => {
            cleaning::put_nothing(path).map(|()| true)
        }
        Owner::Supervisor | Owner::Ring => Ok(false),
        Owner::Copies | Owner::Command => remove(path).map(|()| true),
    }
}

/// Whether a record has the form in which a supervisor writes it. The text of a command has another form.
fn is_as_written(path: &Path, name: &OsStr, is_before: IsBefore) -> bool {
    let read = || plain::read(path, LARGEST_RECORD_BYTES).ok();
    match name.to_str() {
        Some("started.json") => read().is_some_and(|bytes| is_form_of::<Started>(&bytes)),
        Some("before.json") => read().is_some_and(|bytes| is_before(&bytes)),
        _ => true,
    }
}

/// Whether these bytes are a record in its written form, with nothing else in it.
pub(crate) fn is_form_of<T: Serialize + DeserializeOwned>(bytes: &[u8]) -> bool {
    let read = serde_json::from_slice::<T>(bytes).ok();
    read.and_then(|record| serde_json::to_vec(&record).ok()).is_some_and(|written| written == bytes)
}

fn mask_entry(dir: &AttemptDir, name: &OsStr, secrets: &Secrets, moment: Moment<'_>) -> Option<String> {
    let path = dir.path().join(name);
    let found = fs::symlink_metadata(&path).ok()?;
    let kind = found.file_type();
    let shown = shown(dir, &path, name, secrets);
    if let Moment::Settling(Written { own_folder: Some(own), .. }) = moment
        && name == own.as_str()
        && kind.is_dir()
    {
        return None;
    }
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

/// The words of a note about a file that was changed. `None` if it was not.
fn done(masked: Masked) -> Option<&'static str> {
    match masked {
        Masked { has_secret: false, is_cut: false } => None,
        Masked { has_secret: true, is_cut: false } => Some("a secret in it was masked"),
        Masked { has_secret: false, is_cut: true } => Some("it was too large and was cut"),
        Masked { has_secret: true, is_cut: true } => Some("a secret in it was masked, and it was cut"),
    }
}

/// Masks one of the supervisor's files.
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
        // Only its content is removed: that something exists at this path tells how the attempt ended, or
        // that it was started.
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
        // The supervisor has not written these two yet, and will replace whatever is there.
        return None;
    }
    if !kind.is_file() {
        let what = plain::kind(kind);
        // A file must exist at this path: it tells how the attempt ended, or that it was started.
        return Some(match cleaning::put_nothing(path) {
            Ok(()) => {
                format!("{what} stood at {shown}; an empty file is in its place: it could hold a secret")
            }
            Err(error) => format!("{what} stands at {shown} and cannot be replaced: {error}"),
        });
    }
    let emptied = |had_content: bool| if had_content { Some("it was emptied") } else { None };
    let cleaned = match name.to_str() {
        // These two are always empty, and processes have them open.
        Some("lock") => cleaning::truncate(path, || dir.is_locked()).map(emptied),
        Some("cancel") => cleaning::truncate(path, || false).map(emptied),
        Some("supervisor.log") => cleaning::mask_in_place(path, secrets).map(done),
        _ => cleaning::mask_file(path, secrets, bound(name, found, moment)).map(done),
    };
    match cleaned {
        Ok(done) => done.map(|done| format!("the command wrote to {shown} itself: {done}")),
        Err(error) => {
            let emptied = cleaning::put_nothing(path).map_or("could not be emptied", |()| "was emptied");
            Some(format!("{shown} cannot be masked and {emptied}: {error}"))
        }
    }
}

/// The most that is kept of a file of the supervisor's.
fn bound(name: &OsStr, found: &fs::Metadata, moment: Moment<'_>) -> u64 {
    /// More than the line in a stream that reports the omitted bytes.
    const MORE_BYTES: u64 = 100;
    const BLOCK_BYTES: u64 = 512;
    // The supervisor writes no sparse files.
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

/// The name of a file of the attempt's folder in a note.
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
mod tests;
