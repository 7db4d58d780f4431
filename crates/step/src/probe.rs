//! What became of an attempt, as its folder tells it.
//!
//! Reads, and decides nothing: what to do about a lost attempt is a policy of the flow.

use std::fs;
use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::before::Before;
use crate::cancel::read_started;
use crate::dir::{AttemptDir, LockFile};
use crate::durable;
use crate::mask::Secrets;
use crate::record::{Exit, FileChange, VERSION};
use crate::stream;
use crate::text::TextTail;

/// How much of the output is evidence.
const OUTPUT_TAIL_BYTES: u64 = 4 * 1024;

/// The state of an attempt.
#[derive(Debug)]
pub enum Probe {
    /// Its lock is held. Wait ([`crate::wait_until_free`]) and look again, more than once if need be: a process that an
    /// engine has just forked for something else can hold the lock for a moment too.
    Running,
    /// It is over, and every file that it hands over can be taken.
    Settled(Box<Exit>),
    /// Nothing was ever started. The lock is for spawning it now.
    NotStarted(LockFile),
    /// Something may have run, and nobody knows how it ended.
    Lost(Evidence),
}

/// What a person can be shown about a lost attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// Why nobody knows.
    pub doubt: Doubt,
    /// When the supervisor said it would start, Unix time in milliseconds.
    pub started_at_ms: Option<u64>,
    /// From then to the last output, in milliseconds: it ran at least so long.
    pub ran_ms: Option<u64>,
    /// The end of stdout, or of stderr if there is no stdout: masked, at most 4 KiB.
    pub output_tail: String,
    /// The end of `supervisor.log`: usually empty, else why the supervisor gave up.
    pub supervisor_said: String,
    /// Artifacts that differ from before the command; none if that is not known.
    pub files_changed: Vec<FileChange>,
}

/// Why nobody knows how an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doubt {
    /// It was started, and its supervisor went without a last word.
    SupervisorGone,
    /// The machine was started again, and may have lost what was written.
    Rebooted,
    /// `exit.json` is there and cannot be read as one of this attempt.
    Damaged,
    /// `exit.json` of an earlier boot names a file that is not there as it says.
    FileDiffers {
        /// The file, relative to the attempt's folder.
        path: String,
    },
}

/// The folder could not be looked at.
#[derive(Debug, thiserror::Error)]
#[error("cannot look at the attempt in {dir:?}: {source}")]
pub struct ProbeError {
    /// The folder.
    pub dir: std::path::PathBuf,
    /// What the system says.
    pub source: io::Error,
}

/// Says what became of an attempt that was decided to start in the boot `started_in_boot`.
///
/// Makes the folder if it is missing. The lock is taken for the length of the call, and returned with
/// [`Probe::NotStarted`]. What a lost attempt's command itself wrote to `report.json` and `output` is as the command
/// wrote it: masking is part of settling.
///
/// # Errors
/// The folder cannot be read or its lock not be taken; a damaged record is not an error but [`Probe::Lost`].
pub fn probe(dir: &AttemptDir, started_in_boot: &str, current_boot: &str) -> Result<Probe, ProbeError> {
    look(dir, started_in_boot, current_boot)
        .map_err(|source| ProbeError { dir: dir.path().to_owned(), source })
}

fn look(dir: &AttemptDir, started_in_boot: &str, current_boot: &str) -> io::Result<Probe> {
    dir.create()?;
    let Some(lock) = dir.try_lock()? else { return Ok(Probe::Running) };
    match read_records(dir, started_in_boot, current_boot)? {
        Some(found) => {
            lock.free()?;
            Ok(found)
        }
        None => Ok(Probe::NotStarted(lock)),
    }
}

/// What the folder says while the lock is ours; none if nothing was started.
fn read_records(dir: &AttemptDir, started_in_boot: &str, current_boot: &str) -> io::Result<Option<Probe>> {
    if let Some(bytes) = read_if_there(dir)? {
        return Ok(Some(match acceptable(dir, &bytes, current_boot)? {
            Ok(exit) => Probe::Settled(Box::new(exit)),
            Err(doubt) => Probe::Lost(evidence(dir, doubt)),
        }));
    }
    let doubt = match dir.started().try_exists()? {
        true => Doubt::SupervisorGone,
        false if started_in_boot != current_boot => Doubt::Rebooted,
        false => return Ok(None),
    };
    Ok(Some(Probe::Lost(evidence(dir, doubt))))
}

fn read_if_there(dir: &AttemptDir) -> io::Result<Option<Vec<u8>>> {
    match fs::read(dir.exit()) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The record, if it can be believed. What this boot wrote is whole; what an earlier one wrote may not have reached the
/// disk in full, so every file is compared.
fn acceptable(dir: &AttemptDir, bytes: &[u8], current_boot: &str) -> io::Result<Result<Exit, Doubt>> {
    let Ok(exit) = serde_json::from_slice::<Exit>(bytes) else { return Ok(Err(Doubt::Damaged)) };
    let attempt = dir.path().file_name().and_then(|name| name.to_str());
    if exit.version != VERSION || Some(exit.attempt.as_str()) != attempt {
        return Ok(Err(Doubt::Damaged));
    }
    if exit.boot_id == current_boot {
        return Ok(Ok(exit));
    }
    for file in exit.handed_over() {
        let stands = durable::measure(&dir.path().join(&file.path));
        if !stands.is_ok_and(|found| found.bytes == file.bytes && found.sha256 == file.sha256) {
            return Ok(Err(Doubt::FileDiffers { path: file.path.clone() }));
        }
    }
    Ok(Ok(exit))
}

/// Gathers what can be shown about a lost attempt, as it is now: whatever cannot be read is left out.
///
/// Look again after [`crate::end_leftovers`], which may have ended something that still changed files.
pub fn evidence(dir: &AttemptDir, doubt: Doubt) -> Evidence {
    let started_at_ms = read_started(dir).ok().flatten().map(|started| started.started_at_ms);
    let ran_ms = started_at_ms.zip(last_output_ms(dir)).map(|(from, to)| to.saturating_sub(from));
    let files_changed = Before::read(dir).and_then(|before| before.changes_since()).unwrap_or_default();
    let supervisor_said = readable_end(&dir.supervisor_log()).unwrap_or_default();
    Evidence { doubt, started_at_ms, ran_ms, output_tail: output_tail(dir), supervisor_said, files_changed }
}

fn output_tail(dir: &AttemptDir) -> String {
    let mut ends = [dir.stdout(), dir.stderr()].into_iter().filter_map(|path| readable_end(&path).ok());
    ends.find(|text| !text.is_empty()).unwrap_or_default()
}

fn readable_end(path: &std::path::Path) -> io::Result<String> {
    // The file is masked already.
    let nothing = Secrets::new(&[]);
    let mut text = TextTail::new(&nothing, OUTPUT_TAIL_BYTES);
    text.push(&stream::end_of(path, OUTPUT_TAIL_BYTES)?);
    Ok(text.finish())
}

fn last_output_ms(dir: &AttemptDir) -> Option<u64> {
    let changed = |path| unix_ms(fs::metadata(path).ok()?.modified().ok()?);
    [dir.stdout(), dir.stderr()].into_iter().filter_map(changed).max()
}

/// Milliseconds since 1970.
pub(crate) fn unix_ms(time: SystemTime) -> Option<u64> {
    u64::try_from(time.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()
}
