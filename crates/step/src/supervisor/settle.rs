//! Settling an attempt of which nothing lives any more: what it leaves is brought together, and `exit.json` says so.
//!
//! `exit.json` comes last, when every file that it names is on disk.

use std::io;
use std::path::Path;

use super::Attempt;
use super::run::Ended;
use crate::artifacts::{self, Watched};
use crate::before::Before;
use crate::record::{Change, Exit, FileChange, FileRef, Stream, VERSION};
use crate::{durable, report, text};

/// How much of stderr goes into the record.
const STDERR_TAIL_BYTES: u64 = 4 * 1024;

impl Attempt {
    pub(super) fn settle(&self, ended: &Ended, before: Option<&Before>) -> io::Result<()> {
        let exit = self.exit(ended, before.filter(|_| ended.ran))?;
        // Syncs the folder last of all, and with it the names of what was written before. Should the machine die just
        // here, the record's digests tell whether all of it has arrived.
        durable::replace(&self.dir.exit(), &serde_json::to_vec(&exit)?)
    }

    fn exit(&self, ended: &Ended, before: Option<&Before>) -> io::Result<Exit> {
        let report = match before {
            Some(before) => {
                report::collect(&self.dir, &self.spec, before.output_option.as_ref(), &self.secrets)?
            }
            None => None,
        };
        let (files, secret_in_files) = self.files(before)?;
        Ok(Exit {
            version: VERSION,
            attempt: self.spec.attempt.clone(),
            outcome: ended.outcome.clone(),
            boot_id: self.spec.boot_id.clone(),
            started_at_ms: ended.started_at_ms,
            ended_at_ms: ended.started_at_ms.saturating_add(ended.duration_ms),
            duration_ms: ended.duration_ms,
            stdout: stream(&self.dir.stdout(), ended.stdout_bytes)?,
            stderr: stream(&self.dir.stderr(), ended.stderr_bytes)?,
            stderr_tail: text::end_of_file(&self.dir.stderr(), &self.secrets, STDERR_TAIL_BYTES)?,
            text: self.text()?,
            report,
            files,
            secret_in_files,
            ended_leftovers: ended.leftovers,
        })
    }

    /// Writes the step's text: `$ENVOI_OUTPUT` if the command wrote it, else stdout.
    fn text(&self) -> io::Result<FileRef> {
        let said = text::of_file(&self.dir.output(), &self.secrets, self.spec.text_cap_bytes)?;
        let text = match said {
            Some(text) => {
                report::take_over(&self.dir.output(), &self.dir.output(), &self.secrets)?;
                text
            }
            None => text::of_file(&self.dir.stdout(), &self.secrets, self.spec.text_cap_bytes)?
                .unwrap_or_default(),
        };
        durable::put(&self.dir.text(), text.as_bytes())?;
        report::file_ref(&self.dir.text())
    }

    /// Copies what changed; the second list has the paths in which a secret stands.
    fn files(&self, before: Option<&Before>) -> io::Result<(Vec<FileChange>, Vec<String>)> {
        let (mut files, mut with_secret) = (Vec::new(), Vec::new());
        let Some(before) = before else { return Ok((files, with_secret)) };
        let watched = Watched::new(&self.spec.workspace, &self.spec.artifacts).map_err(io::Error::other)?;
        for (path, change) in artifacts::changes(&before.files, &watched.digests()?) {
            let file = match change {
                Change::Deleted => None,
                Change::Created | Change::Modified => {
                    let copied = artifacts::copy(&self.dir, &self.spec.workspace, &path, &self.secrets)?;
                    if copied.has_secret {
                        with_secret.push(path.clone());
                    }
                    Some(copied.file)
                }
            };
            files.push(FileChange { path, change, file });
        }
        Ok((files, with_secret))
    }
}

/// Refers to the file of a stream; an empty one stands for a command that never ran.
fn stream(path: &Path, total_bytes: u64) -> io::Result<Stream> {
    if !path.try_exists()? {
        durable::put(path, &[])?;
    }
    Ok(Stream { total_bytes, file: report::file_ref(path)? })
}
