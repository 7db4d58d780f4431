//! Settles an attempt when none of its processes lives any more: collects its files and output, and writes
//! `exit.json`.
//!
//! `exit.json` comes last, when every file that it names is on disk.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use envoi_tree::Tree;

use super::cache::{Left, Looked};
use super::run::Ended;
use super::{
    Attempt,
    misplaced::{self, Misplaced},
    snapshot::{self, Taken},
    tidy,
};
use crate::attempt::cached::CacheUse;
use crate::attempt::crash_point::CrashPoint;
use crate::attempt::displaced::Displaced;
use crate::attempt::record::{
    Change, Exit, FileChange, FileRef, Outcome, SetBack, Snapshot, Stream, VERSION,
};
use crate::attempt::spec::{NoArtifacts, Spec};
use crate::mask::MIN_SECRET_BYTES;
use crate::output::report::Collected;
use crate::output::run_base::{self, Since};
use crate::output::strays::{self, Moment, Written};
use crate::output::stream::Kept;
use crate::workspace::artifact_copy::{self, Copied, NoCopy};
use crate::workspace::artifacts::{self, Found, Seen, Watched};
use crate::workspace::before::Before;
use crate::workspace::cancellable::{CANCELLED, Cancellable};
use crate::workspace::slow::{self, Doing};
use crate::{
    disk::{
        closed_to_owner::open_to_owner,
        pieces::{self, Measure},
    },
    output::{
        cleaning, report,
        text::{self, Text},
    },
};

/// How much of stderr is put into the record.
const STDERR_TAIL_BYTES: u64 = 4 * 1024;

/// A larger `$ENVOI_OUTPUT` is not kept as a whole. The bound is that of a stream.
const MOST_OUTPUT_BYTES: u64 = Spec::STREAM_CAP_BYTES;

const BYTES_OF_A_MIB: u64 = 1024 * 1024;

/// More than the line in a stream that reports the omitted bytes.
const LEFT_OUT_LINE_BYTES: u64 = 100;

/// Warnings become part of an event, so further ones are only counted.
const MOST_WARNINGS: usize = 20;

const RESHAPED: &str = "masking a secret has changed more of the report than the content of strings: a name, a number, or a literal or sign of \
                        JSON. Give the secret a long random value";

impl Attempt {
    pub(super) fn settle(
        &self,
        ended: &Ended,
        before: Option<&Before>,
        looked: Option<&Looked<'_>>,
    ) -> io::Result<()> {
        if !self.dir.is_real() {
            return Err(io::Error::other("the attempt's folder was removed"));
        }
        // A command may have closed the folder, and `exit.json` goes into it.
        open_to_owner(self.dir.path())?;
        let exit = self.exit(ended, before.filter(|_| ended.ran), looked)?;
        let is_hit = looked.is_some_and(|looked| looked.hit().is_some());
        let reached = |point| {
            if is_hit {
                (self.reached)(point)
            }
        };
        reached(CrashPoint::ArtifactsCopied);
        // The folder is synced last, and with it the names of all files written before. If the machine
        // crashes at this moment, the digests in the record show whether all files are complete.
        envoi_durable::replace(&self.dir.exit(), &serde_json::to_vec(&exit)?)?;
        reached(CrashPoint::ResultSettled);
        tidy::tidy(&self.dir, &self.spec, &exit);
        Ok(())
    }

    fn exit(&self, ended: &Ended, before: Option<&Before>, looked: Option<&Looked<'_>>) -> io::Result<Exit> {
        let collected = match before {
            Some(before) => report::collect(&self.dir, &before.candidates, &self.secrets)?,
            None => Collected::default(),
        };
        let is_missed = collected.is_nothing() && self.succeeded(&ended.outcome);
        let (collected, misplaced) = match before.filter(|_| is_missed) {
            Some(before) => self.search(before)?,
            None => (collected, None),
        };
        let data = match before {
            Some(_) => report::collect_data(&self.dir, &self.secrets)?,
            None => Collected::default(),
        };
        let [stdout_bytes, stderr_bytes] = self.stream_lengths()?;
        let written = Written {
            before: before.and_then(|before| before.written.clone()),
            stdout: ended.stdout.written.clone(),
            stderr: ended.stderr.written.clone(),
        };
        // Before the artifacts are copied: anything at the path of the copies is not a copy.
        let mut notes = strays::mask(&self.dir, &self.secrets, Moment::Settling(&written));
        notes.extend(misplaced.as_ref().map(Misplaced::notice));
        let mut closed = Vec::new();
        if ended.ran {
            let since = Since::began(ended.started_at_ms, ended.duration_ms);
            let looked = run_base::mask(&self.dir, &self.secrets, since);
            notes.extend(looked.notes);
            closed = looked.closed;
        }
        let found = misplaced.as_ref().map(|misplaced| misplaced.path.as_str());
        let handed = self.files(before, found, self.succeeded(&ended.outcome))?;
        let stdout = stream(&self.dir.stdout(), &ended.stdout, stdout_bytes)?;
        let (text, text_cut) = self.text(&stdout.file, &ended.stdout, &mut notes)?;
        let (snapshot_after, after) =
            before.and_then(|before| self.snapshot_after(before, &mut notes)).unzip();
        let stderr = stream(&self.dir.stderr(), &ended.stderr, stderr_bytes)?;
        let still = snapshot_after.as_ref().filter(|snapshot| !snapshot.moving);
        let cache = looked.zip(before).map(|(looked, before)| {
            let left = Left {
                ended,
                before,
                after: after.as_ref().filter(|_| still.is_some()),
                files: &handed.files,
                incomplete: handed.why_incomplete(&collected, &data),
                stdout: &stdout.file,
                stderr: &stderr.file,
                report: collected.file.as_ref(),
                report_assigned: collected.assigned,
                data: data.file.as_ref(),
            };
            looked.record(self, &left)
        });
        let cache = cache.or_else(|| self.displaced(before).map(CacheUse::from));
        Ok(Exit {
            version: VERSION,
            attempt: self.spec.attempt.clone(),
            // A command that succeeded without one of its artifacts has not done all of its work.
            outcome: match handed.is_cut_short && self.succeeded(&ended.outcome) {
                true => Outcome::Cancelled,
                false => ended.outcome.clone(),
            },
            boot_id: self.spec.boot_id.clone(),
            started_at_ms: ended.started_at_ms,
            ended_at_ms: ended.started_at_ms.saturating_add(ended.duration_ms),
            duration_ms: ended.duration_ms,
            stdout,
            stderr,
            stderr_tail: text::end_of_file(&self.dir.stderr(), &self.secrets, STDERR_TAIL_BYTES)?,
            text,
            text_cut,
            warnings: self.warnings(ended, handed.left_out, notes, &collected, before),
            data: data.file,
            data_unreadable: data.unreadable.map(|what| self.secrets.mask_str(&what)),
            report: collected.file,
            report_assigned: collected.assigned,
            report_unreadable: collected.unreadable.map(|what| self.secrets.mask_str(&what)),
            files: handed.files,
            too_many_files: handed.too_many,
            no_artifacts: self.no_artifacts(&handed.unmatched),
            secret_in_files: handed.with_secret,
            ended_leftovers: ended.leftovers,
            start: self.spec.start.clone(),
            closed_with_secret: closed,
            snapshot_before: before.and_then(|before| before.snapshot.clone()),
            snapshot_after,
            set_back: self.set_back(before),
            cache,
        })
    }

    /// Searches for the report that the command names and that is not at its path.
    fn search(&self, before: &Before) -> io::Result<(Collected, Option<Misplaced>)> {
        let Some(found) = misplaced::find(&self.spec, &self.dir, &before.candidates) else {
            return Ok((Collected::default(), None));
        };
        let path = self.spec.workspace.join(&found.path);
        Ok((report::collect_from(&path, &self.dir, &self.secrets)?, Some(found)))
    }

    /// How the files were restored, also if that failed and the command was not started.
    fn set_back(&self, before: Option<&Before>) -> Option<SetBack> {
        match before {
            Some(before) => before.set_back.clone(),
            None => Before::read(&self.dir).ok()?.set_back,
        }
    }

    /// The files displaced by a restore that did not complete, also if no command was started.
    fn displaced(&self, before: Option<&Before>) -> Option<Displaced> {
        let displaced = match before {
            Some(before) => before.displaced.clone(),
            None => Before::read(&self.dir).ok()?.displaced,
        };
        (!displaced.is_nothing()).then_some(displaced)
    }

    /// Takes the snapshot after the command, if the order wants one. Adds a note if this snapshot or the one
    /// before the command is missing.
    fn snapshot_after(&self, before: &Before, notes: &mut Vec<String>) -> Option<(Snapshot, Tree)> {
        let after = snapshot::take(&self.spec, snapshot::stop_after(&self.dir))?;
        let note = |when: &str, why: &dyn core::fmt::Display| {
            format!("the files {when} the attempt are not kept: {why}")
        };
        notes.extend(before.no_snapshot.as_ref().map(|why| note("before", why)));
        notes.extend(after.as_ref().err().map(|why| note("after", why)));
        let (after, lack) = match after.ok() {
            Some(Taken { snapshot, lack, tree }) => (Some((snapshot, tree)), lack),
            None => (None, None),
        };
        // A folder that both lack is named once.
        let lack_before = before.lack.as_ref().filter(|before| lack.as_ref() != Some(*before));
        notes.extend(lack_before.map(|lack| format!("before the attempt, {lack}")));
        notes.extend(lack);
        after
    }

    /// Finds the step's text: `$ENVOI_OUTPUT` if the command wrote a file there, else stdout. Writes it to a
    /// file of its own only if it differs from that file. Also returns whether it is only a part of the
    /// command's output.
    fn text(&self, stdout: &FileRef, kept: &Kept, warnings: &mut Vec<String>) -> io::Result<(FileRef, bool)> {
        let output = self.dir.output();
        let mut of_stdout = false;
        let (Text { content: text, is_cut }, source) = match self.text_of(&output)? {
            Some(text) if is_larger(&output, MOST_OUTPUT_BYTES) => {
                // A masked copy of all of it could fill the disk, and take long.
                envoi_durable::put(&output, text.content.as_bytes())?;
                let most = MOST_OUTPUT_BYTES >> 20;
                warnings.push(format!("`$ENVOI_OUTPUT` has more than {most} MiB: only its text is kept"));
                (text, Some(report::file_ref(&output)?))
            }
            Some(text) => {
                let most_bytes = MOST_OUTPUT_BYTES.saturating_add(1);
                (text, report::take_over(&output, &output, &self.secrets, most_bytes)?)
            }
            None => {
                if fs::symlink_metadata(&output).is_ok() {
                    warnings
                        .push("`$ENVOI_OUTPUT` is not a regular file: stdout is used as the text".to_owned());
                }
                of_stdout = true;
                (self.text_of(&self.dir.stdout())?.unwrap_or_default(), Some(stdout.clone()))
            }
        };
        let lacks_some = of_stdout && (kept.left_out_bytes > 0 || kept.failed.is_some());
        if is_cut || lacks_some {
            let name = if of_stdout { "stdout" } else { "`$ENVOI_OUTPUT`" };
            warnings.push(self.cut_text(name, is_cut));
        }
        let own = self.dir.text();
        let file = match source.filter(|source| source.holds(text.as_bytes())) {
            Some(source) => {
                // The command has put this file there. It would be taken for the text, and is not masked.
                if fs::symlink_metadata(&own).is_ok() {
                    cleaning::remove(&own)?;
                }
                source
            }
            None => {
                envoi_durable::put(&own, text.as_bytes())?;
                report::file_ref(&own)?
            }
        };
        Ok((file, is_cut || lacks_some))
    }

    /// A warning about a text that is only part of its source.
    fn cut_text(&self, source: &str, is_too_large: bool) -> String {
        let most_bytes = self.spec.text_cap_bytes;
        let why = match (is_too_large, most_bytes % BYTES_OF_A_MIB) {
            (true, 0) => {
                format!("has more than {} MiB, and only its end is kept", most_bytes / BYTES_OF_A_MIB)
            }
            (true, _) => format!("has more than {most_bytes} bytes, and only its end is kept"),
            (false, _) => "is not kept in full".to_owned(),
        };
        format!("the step's text is cut: {source} {why}; a status, a route or data in it does not count")
    }

    fn text_of(&self, path: &Path) -> io::Result<Option<Text>> {
        // If the file is not kept as a whole, only its end is read: more than the text, because masking and
        // escape sequences shorten it.
        let most_bytes = match is_larger(path, MOST_OUTPUT_BYTES) {
            true => self.spec.text_cap_bytes.saturating_mul(4),
            false => MOST_OUTPUT_BYTES,
        };
        text::of_file(path, &self.secrets, self.spec.text_cap_bytes, most_bytes)
    }

    /// The current lengths of the files of stdout and stderr. A file may exceed the cap by the line that
    /// reports the omitted bytes; a larger file is an error.
    fn stream_lengths(&self) -> io::Result<[u64; 2]> {
        let most_bytes = self.spec.stream_cap_bytes.saturating_add(LEFT_OUT_LINE_BYTES);
        let length = |path: std::path::PathBuf| {
            let bytes = fs::symlink_metadata(&path).map_or(0, |found| found.len());
            if bytes > most_bytes {
                let why = format!("`{}` holds more than was written to it", path.display());
                return Err(io::Error::new(io::ErrorKind::InvalidData, why));
            }
            Ok(bytes)
        };
        Ok([length(self.dir.stdout())?, length(self.dir.stderr())?])
    }

    /// Whether the exit code is one of success. What the report says is not known here.
    fn succeeded(&self, outcome: &Outcome) -> bool {
        matches!(outcome, Outcome::Exited { code } if *code == 0 || self.spec.success_codes.contains(code))
    }

    /// `report`: the path at which the report was found by searching.
    fn files(&self, before: Option<&Before>, report: Option<&str>, succeeded: bool) -> io::Result<Handed> {
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
    fn hand_over(
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

    /// The first of the sentences, masked.
    fn no_artifacts(&self, unmatched: &[String]) -> Vec<String> {
        let mut all: Vec<_> = unmatched.iter().take(MOST_WARNINGS).cloned().collect();
        if let Some(more @ 1..) = unmatched.len().checked_sub(MOST_WARNINGS) {
            all.push(format!("{more} more"));
        }
        all.iter().map(|sentence| self.secrets.mask_str(sentence)).collect()
    }

    /// Warnings for a person, masked and bounded: a command may leave any number of strange files.
    fn warnings(
        &self,
        ended: &Ended,
        left_out: Vec<String>,
        notes: Vec<String>,
        report: &Collected,
        before: Option<&Before>,
    ) -> Vec<String> {
        let more = left_out.len().saturating_sub(MOST_WARNINGS);
        let mut all: Vec<_> = left_out.into_iter().take(MOST_WARNINGS).collect();
        if more > 0 {
            all.push(format!("{more} more warnings about artifacts"));
        }
        all.extend(notes);
        all.extend(stream_warnings("stdout", &ended.stdout));
        all.extend(stream_warnings("stderr", &ended.stderr));
        if report.file.as_ref().is_some_and(|report| report.bytes > report::LARGEST_REPORT_BYTES) {
            all.push("the report has more than 16 MiB and is cut".to_owned());
        }
        if report.reshaped {
            all.push(RESHAPED.to_owned());
        }
        if let Some(before) = before.filter(|_| !report.assigned && self.succeeded(&ended.outcome)) {
            all.extend(if report.is_nothing() {
                report::notice(&self.spec, &before.candidates)
            } else {
                report::notice_of_no_report(&self.spec, &self.dir, report, &before.candidates)
            });
        }
        if before.is_some_and(|before| before.earlier_is_unknown) {
            all.push("what the attempt that it verifies has changed is not known".to_owned());
        }
        if self.secrets.any_too_short() {
            all.push(format!("a secret of fewer than {MIN_SECRET_BYTES} bytes is not masked"));
        }
        all.iter().map(|warning| self.secrets.mask_str(warning)).collect()
    }
}

/// Files that were copied already, by path.
type Copies = BTreeMap<String, Copied>;

/// The files of the workspace that are handed over.
#[derive(Default)]
struct Handed {
    files: Vec<FileChange>,
    /// The number of files, if they are too many. The other fields are empty then.
    too_many: Option<u64>,
    /// Files that contain a secret.
    with_secret: Vec<String>,
    /// Sentences about files that are not handed over.
    left_out: Vec<String>,
    /// Sentences about globs without a file, if the attempt fails because of them.
    unmatched: Vec<String>,
    /// The attempt was cancelled while a large file was read. That file is left out.
    is_cut_short: bool,
}

impl Handed {
    /// Why a cached result with these files would not be complete.
    fn why_incomplete(&self, report: &Collected, data: &Collected) -> Option<String> {
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

/// Upper bound of a file's size in the record. Its path is written for the file, for the copy, for the old
/// content if that was kept, and once more if the file contains a secret.
fn listed_bytes(path: &str, has_before: bool, may_hold_secret: bool) -> usize {
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

/// Refers to the file of a stream. It is missing if the command never ran.
fn stream(path: &Path, kept: &Kept, bytes_before_masking: u64) -> io::Result<Stream> {
    let is_gone = fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    let name = || path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let file = if is_gone { FileRef::of_nothing(name()) } else { report::file_ref(path)? };
    // Bytes that the command wrote to the file directly count too.
    let in_file = if kept.left_out_bytes == 0 { bytes_before_masking } else { 0 };
    Ok(Stream { total_bytes: kept.total_bytes.max(in_file), file })
}

fn is_larger(path: &Path, bytes: u64) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.len() > bytes)
}

/// A sentence for each thing that is missing from a stream.
fn stream_warnings(name: &str, kept: &Kept) -> impl Iterator<Item = String> {
    let cut = (kept.left_out_bytes > 0).then(|| {
        format!(
            "{name} is cut: of {} bytes the first and the last half of the limit are kept, {} bytes between them are left out \
             (`output.stream` in the configuration)",
            kept.total_bytes, kept.left_out_bytes
        )
    });
    let failed = kept.failed.as_ref().map(|error| format!("{name} could not be kept in full: {error}"));
    cut.into_iter().chain(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::record::{LARGEST_RECORD_BYTES, MOST_FILES, MostFiles};
    use crate::workspace::artifacts::Digests;
    use crate::{
        attempt::{
            dir::AttemptDir,
            spec::{Command, Spec},
        },
        mask::Secrets,
    };

    fn attempt(root: &Path) -> Attempt {
        let spec = Spec {
            run_id: "run_1".to_owned(),
            attempt: "work.1.1".to_owned(),
            command: Command::Shell { script: String::new() },
            cwd: root.to_owned(),
            env: Vec::new(),
            workspace: root.to_owned(),
            artifacts: Vec::new(),
            never: Vec::new(),
            keep: None,
            set_back: None,
            cache: None,
            since: None,
            if_no_artifacts: NoArtifacts::Warn,
            timeout_ms: None,
            lease_until_ms: None,
            grace_ms: 0,
            stream_cap_bytes: 0,
            text_cap_bytes: 0,
            success_codes: Vec::new(),
            secrets: Vec::new(),
            boot_id: String::new(),
            start: String::new(),
            secret_marks: Vec::new(),
        };
        Attempt {
            dir: AttemptDir::new(root.join("work.1.1")),
            spec,
            secrets: Secrets::new(&[]),
            most_files: MOST_FILES,
            reached: |_| {},
        }
    }

    #[test]
    fn more_files_than_the_record_can_list_are_counted_and_not_copied() {
        let root = tempfile::tempdir().unwrap();
        for name in ["a", "b", "c"] {
            std::fs::write(root.path().join(name), name).unwrap();
        }
        let mut attempt = attempt(root.path());
        attempt.spec.artifacts = vec!["?".to_owned()];
        attempt.spec.stream_cap_bytes = 1024;
        attempt.spec.text_cap_bytes = 1024;
        let before = Before::take(&attempt.spec, &attempt.dir, &attempt.secrets).unwrap();
        let ended = Ended { ran: true, ..Ended::without_start(Outcome::Exited { code: 0 }) };
        let bytes = 3 * listed_bytes("a", false, false);
        let rows = [
            (MostFiles { files: 3, bytes }, None),
            (MostFiles { files: 2, bytes }, Some(3)),
            (MostFiles { files: 3, bytes: bytes - 1 }, Some(3)),
        ];
        for (most_files, too_many) in rows {
            attempt.most_files = most_files;
            drop(std::fs::remove_dir_all(attempt.dir.path()));
            std::fs::create_dir_all(attempt.dir.path()).unwrap();
            attempt.settle(&ended, Some(&before), None).unwrap();
            let record = std::fs::read(attempt.dir.exit()).unwrap();
            let exit: Exit = serde_json::from_slice(&record).unwrap();
            assert_eq!((exit.too_many_files, exit.warnings), (too_many, Vec::new()), "{most_files:?}");
            let files = if too_many.is_some() { 0 } else { 3 };
            assert_eq!(exit.files.len(), files, "{most_files:?}");
            assert_eq!(attempt.dir.path().join("files").exists(), too_many.is_none(), "{most_files:?}");
        }
    }

    #[test]
    fn a_glob_without_a_file_is_a_warning_or_nothing_or_why_the_attempt_fails() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("there"), "1").unwrap();
        std::fs::create_dir(root.path().join("folder")).unwrap();
        let mut attempt = attempt(root.path());
        attempt.spec.artifacts = ["there", "missing", "folder"].map(str::to_owned).to_vec();
        attempt.spec.stream_cap_bytes = 1024;
        attempt.spec.text_cap_bytes = 1024;
        let before = Before::take(&attempt.spec, &attempt.dir, &attempt.secrets).unwrap();
        let sentences = [
            "no file matches `artifacts: missing`",
            "no file matches `artifacts: folder`: `folder` is a folder, and only regular files are handed over",
        ];
        let exited = |code| Ended { ran: true, ..Ended::without_start(Outcome::Exited { code }) };
        let rows: [(NoArtifacts, i32, &[&str], &[&str]); 4] = [
            (NoArtifacts::Warn, 0, &sentences, &[]),
            (NoArtifacts::Ignore, 0, &[], &[]),
            (NoArtifacts::Fail, 0, &[], &sentences),
            // The command has failed by itself.
            (NoArtifacts::Fail, 1, &[], &[]),
        ];
        for (policy, code, warnings, fails) in rows {
            attempt.spec.if_no_artifacts = policy;
            drop(std::fs::remove_dir_all(attempt.dir.path()));
            std::fs::create_dir_all(attempt.dir.path()).unwrap();
            attempt.settle(&exited(code), Some(&before), None).unwrap();
            let exit: Exit = serde_json::from_slice(&std::fs::read(attempt.dir.exit()).unwrap()).unwrap();
            assert_eq!(
                (exit.warnings, exit.no_artifacts),
                (owned(warnings), owned(fails)),
                "{policy:?}, {code}"
            );
        }
    }

    fn owned(sentences: &[&str]) -> Vec<String> {
        sentences.iter().map(|sentence| (*sentence).to_owned()).collect()
    }

    #[test]
    fn no_file_takes_more_of_the_record_than_is_counted_for_it() {
        for path in ["a", "folder/\"quoted\"\u{1} \u{e9}\u{1f600}", &"long/".repeat(800)] {
            let of = |folder: &str| {
                Some(FileRef { path: format!("{folder}/{path}"), bytes: u64::MAX, sha256: "f".repeat(64) })
            };
            let mut file = FileChange {
                path: path.to_owned(),
                change: Change::Unchanged,
                file: of("files"),
                before: None,
            };
            let bytes = |file: &FileChange| serde_json::to_string(file).unwrap().len() + 1;
            assert!(bytes(&file) <= listed_bytes(path, false, false), "{path}");
            file.before = of("before");
            let secret = serde_json::to_string(path).unwrap().len() + 1;
            assert!(bytes(&file) + secret <= listed_bytes(path, true, true), "{path}");
        }
        assert!(u64::try_from(MOST_FILES.bytes).unwrap() <= LARGEST_RECORD_BYTES - 32 * 1024 * 1024);
    }

    #[test]
    fn a_file_that_is_gone_when_it_would_be_copied_is_a_deleted_one() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("folder")).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", root.path().join("link")).unwrap();
        let digest = |name: &str, digest: &str| (name.to_owned(), Some(digest.to_owned()));
        let names = ["file", "folder", "link", "link/below"];
        let before: Digests = names.map(|name| digest(name, "before")).into();
        let mut seen = Seen::default();
        seen.digests.extend(names.into_iter().chain(["new"]).map(|name| digest(name, "after")));
        let changes = artifacts::changes(&before, &seen, false);
        let handed = attempt(root.path()).hand_over(changes, &seen, Copies::new()).unwrap();
        let found: Vec<_> = handed.files.iter().map(|file| (file.path.as_str(), file.change)).collect();
        assert_eq!(found, names.map(|name| (name, Change::Deleted)));
        assert_eq!(handed.left_out, Vec::<String>::new());
    }
}
