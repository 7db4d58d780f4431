//! Settles an attempt when none of its processes lives any more: collects its files and output, and writes
//! `exit.json`.
//!
//! `exit.json` comes last, when every file that it names is on disk.

mod handed;
mod step_text;
mod streams;

use std::io;

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
use crate::attempt::record::{Exit, Outcome, SetBack, Snapshot, VERSION};
use crate::disk::closed_to_owner::open_to_owner;
use crate::mask::MIN_SECRET_BYTES;
use crate::output::report::Collected;
use crate::output::run_base::{self, Since};
use crate::output::strays::{self, Moment, Written};
use crate::output::{report, text};
use crate::workspace::before::Before;

/// How much of stderr is put into the record.
const STDERR_TAIL_BYTES: u64 = 4 * 1024;

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
            own_folder: self.spec.own_folder.clone(),
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
        let stdout = streams::stream(&self.dir.stdout(), &ended.stdout, stdout_bytes)?;
        let (text, text_cut) = self.text(&stdout.file, &ended.stdout, &mut notes)?;
        let (snapshot_after, after) =
            before.and_then(|before| self.snapshot_after(before, &mut notes)).unzip();
        let stderr = streams::stream(&self.dir.stderr(), &ended.stderr, stderr_bytes)?;
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

    /// Whether the exit code is one of success. What the report says is not known here.
    fn succeeded(&self, outcome: &Outcome) -> bool {
        matches!(outcome, Outcome::Exited { code } if *code == 0 || self.spec.success_codes.contains(code))
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
        all.extend(streams::warnings("stdout", &ended.stdout));
        all.extend(streams::warnings("stderr", &ended.stderr));
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

#[cfg(test)]
mod tests;
