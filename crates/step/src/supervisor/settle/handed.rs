//! The files of the workspace that an attempt hands over.

use std::{collections::BTreeMap, io, path::Path};

use crate::{
    attempt::{
        record::{Change, FileChange},
        spec::NoArtifacts,
    },
    disk::pieces::{self, Measure},
    output::report::Collected,
    supervisor::Attempt,
    workspace::{
        artifact_copy::{self, Copied, NoCopy},
        artifacts::{self, Found, Seen, Watched},
        before::Before,
        cancellable::{CANCELLED, Cancellable},
        slow::{self, Doing},
    },
};

/// Files that were copied already, by path.
pub(super) type Copies = BTreeMap<String, Copied>;

/// The files of the workspace that are handed over.
#[derive(Default)]
pub(super) struct Handed {
    pub(super) files: Vec<FileChange>,
    /// The number of files, if they are too many. The other fields are empty then.
    pub(super) too_many: Option<u64>,
    /// Files that contain a secret.
    pub(super) with_secret: Vec<String>,
    /// Sentences about files that are not handed over.
    pub(super) left_out: Vec<String>,
    /// Sentences about globs without a file, if the attempt fails because of them.
    pub(super) unmatched: Vec<String>,
    /// The attempt was cancelled while a large file was read. That file is left out.
    pub(super) is_cut_short: bool,
}

impl Handed {
    /// Why a cached result with these files would not be complete.
    pub(super) fn why_incomplete(&self, report: &Collected, data: &Collected) -> Option<String> {
        if self.too_many.is_some() {
            return Some("it has left too many files".to_owned());
        }
        if self.is_cut_short {
            return Some("it was cancelled before its files were read".to_owned());
        }
        if let Some(path) = self.with_secret.first() {
            return Some(format!("artifact `{path}` holds a secret"));
        }
        let unreadable = report.unreadable.as_ref().or(data.unreadable.as_ref());
        let unreadable = unreadable.map(|what| format!("its report or data cannot be read: {what}"));
        self.left_out.first().or(self.unmatched.first()).cloned().or(unreadable)
    }

    fn deleted(&mut self, path: String) {
        self.files.push(FileChange { path, change: Change::Deleted, file: None, before: None });
    }

    fn copied(&mut self, path: String, change: Change, copied: Copied) {
        if copied.has_secret {
            self.with_secret.push(path.clone());
        }
        self.files.push(FileChange { path, change, file: Some(copied.file), before: None });
    }

    fn leave_out(&mut self, path: &str, why: &str) {
        self.is_cut_short |= why.ends_with(CANCELLED);
        self.left_out.push(format!("artifact `{path}` is left out: {why}"));
    }
}

impl Attempt {
    /// `report`: the path at which the report was found by searching.
    pub(super) fn files(
        &self,
        before: Option<&Before>,
        report: Option<&str>,
        succeeded: bool,
    ) -> io::Result<Handed> {
        let Some(before) = before else { return Ok(Handed::default()) };
        let watched = before.watched_and(report).map_err(io::Error::other)?.without(&self.secrets);
        let found = watched.find();
        let work = slow::announce(&self.dir, Doing::Keeping, found.names.len(), || watched.size_of(&found));
        let mut copies = Copies::new();
        let seen = if succeeded && self.may_list_all(&found, before) {
            self.look_and_copy(&watched, found, &mut copies)?
        } else {
            let read = |file| pieces::read_through(&mut Cancellable::large(&self.dir, file), |_| Ok(()));
            watched.measured(found, |_, file| read(file))
        };
        let changes = artifacts::changes(&before.files, &seen, succeeded);
        if self.are_too_many(&changes, before) {
            // Copies would fill the disk for nothing, because none can be handed over.
            let too_many = Some(u64::try_from(changes.len()).unwrap_or(u64::MAX));
            return Ok(Handed { too_many, ..Handed::default() });
        }
        let mut handed = self.hand_over(changes, &seen, copies)?;
        if succeeded {
            let there = seen.digests.keys().chain(seen.left_out.keys());
            let paths = there.chain(handed.files.iter().map(|file| &file.path)).map(String::as_str);
            let unmatched = watched.unmatched(&self.spec.artifacts, paths);
            let warnings: Vec<_> = unmatched
                .into_iter()
                .map(|pattern| match watched.no_file(pattern, &seen) {
                    Some(what) => format!("no file matches `artifacts: {pattern}`: {what}"),
                    None => format!("no file matches `artifacts: {pattern}`"),
                })
                .collect();
            match self.spec.if_no_artifacts {
                NoArtifacts::Ignore => {}
                NoArtifacts::Warn => handed.left_out.extend(warnings),
                NoArtifacts::Fail => handed.unmatched = warnings,
            }
        }
        let changed = |file: &&mut FileChange| file.change != Change::Unchanged;
        for file in handed.files.iter_mut().filter(changed) {
            file.before = before.kept.hand_over(&self.dir, &file.path, &before.files, &self.secrets);
        }
        let written = handed.files.iter().flat_map(|file| file.file.iter().chain(&file.before));
        envoi_durable::sync_files(self.dir.path(), written.map(|file| Path::new(&file.path)))?;
        drop(work);
        Ok(handed)
    }

    /// Whether all found files can be handed over, even if all of them have changed.
    fn may_list_all(&self, found: &Found, before: &Before) -> bool {
        let gone = before.files.keys().filter(|path| !found.names.contains(*path));
        let most = found.names.iter().chain(gone).map(|path| (path.clone(), Change::Modified));
        !self.are_too_many(&most.collect::<Vec<_>>(), before)
    }

    /// Reads the files that a successful step hands over in any case, and copies them at the same time: each
    /// file is read once.
    fn look_and_copy(&self, watched: &Watched<'_>, found: Found, copies: &mut Copies) -> io::Result<Seen> {
        let mut failed = None;
        let mut no_copy = Vec::new();
        let mut seen = watched.measured(found, |path, file| {
            if failed.is_some() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            match artifact_copy::copy_open(&self.dir, file, path, &self.secrets) {
                Ok(copied) => {
                    let measure = Measure { bytes: copied.file.bytes, sha256: copied.file.sha256.clone() };
                    copies.insert(path.to_owned(), copied);
                    Ok(measure)
                }
                Err(NoCopy::Gone) => Err(io::ErrorKind::NotFound.into()),
                Err(NoCopy::LeftOut(why)) => {
                    no_copy.push((path.to_owned(), why.clone()));
                    Err(io::Error::other(why))
                }
                Err(NoCopy::Machine(error)) => {
                    failed = Some(error);
                    Err(io::ErrorKind::Interrupted.into())
                }
            }
        });
        if let Some(error) = failed {
            return Err(error);
        }
        // The reason of the copy's error replaces the one of a read error.
        for (path, why) in no_copy {
            let path = watched.readable(path.as_ref());
            seen.left_out.entry(path).and_modify(|reason| *reason = why);
        }
        Ok(seen)
    }

    /// Whether the record could become larger than a reader accepts.
    fn are_too_many(&self, changes: &[(String, Change)], before: &Before) -> bool {
        let may_hold_secret = !self.secrets.is_empty();
        let sizes = changes.iter().map(|(path, change)| {
            let has_before = *change != Change::Unchanged && before.kept.has(path);
            listed_bytes(path, has_before, may_hold_secret)
        });
        changes.len() > self.most_files.files || sizes.fold(0, usize::saturating_add) > self.most_files.bytes
    }

    /// Copies all files except the deleted ones.
    pub(super) fn hand_over(
        &self,
        changes: Vec<(String, Change)>,
        seen: &Seen,
        mut copies: Copies,
    ) -> io::Result<Handed> {
        let mut handed = Handed::default();
        for (path, why) in &seen.left_out {
            handed.leave_out(path, why);
        }
        for (path, change) in changes {
            match change {
                Change::Deleted => handed.deleted(path),
                Change::Created | Change::Modified | Change::Unchanged => match copies.remove(&path) {
                    Some(copied) => handed.copied(path, change, copied),
                    None => self.copy(path, change, &mut handed)?,
                },
            }
        }
        Ok(handed)
    }

    fn copy(&self, path: String, change: Change, handed: &mut Handed) -> io::Result<()> {
        match artifact_copy::copy(&self.dir, &self.spec.workspace, &path, &self.secrets) {
            Ok(copied) => handed.copied(path, change, copied),
            Err(NoCopy::Gone) if change == Change::Created => {}
            Err(NoCopy::Gone) => handed.deleted(path),
            Err(NoCopy::LeftOut(why)) => handed.leave_out(&path, &why),
            Err(NoCopy::Machine(error)) => return Err(error),
        }
        Ok(())
    }
}

/// Upper bound of a file's size in the record. Its path is written for the file, for the copy, for the old
/// content if that was kept, and once more if the file contains a secret.
pub(super) fn listed_bytes(path: &str, has_before: bool, may_hold_secret: bool) -> usize {
    /// More than everything around the path, with the longest numbers.
    const FILE_BYTES: usize = 170;
    const BEFORE_BYTES: usize = 140;
    let escaped = |byte: u8| match byte {
        b'"' | b'\\' => 2,
        ..0x20 => 6,
        _ => 1,
    };
    let path: usize = path.bytes().map(escaped).fold(0, usize::saturating_add);
    let before = if has_before { path.saturating_add(BEFORE_BYTES) } else { 0 };
    // Two quotation marks and a comma.
    let secret = if may_hold_secret { path.saturating_add(3) } else { 0 };
    [path, path, FILE_BYTES, before, secret].into_iter().fold(0, usize::saturating_add)
}
