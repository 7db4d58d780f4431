//! Finds out from the files in an attempt's folder how the attempt ended.
//!
//! Reads, and decides nothing: the flow decides what to do about a lost attempt.

use std::fs;
use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::attempt::dir::{self, AttemptDir, LockFile};
use crate::attempt::displaced::Displaced;
use crate::attempt::record::{Exit, FileChange, FileRef, LARGEST_RECORD_BYTES, SetBack, Snapshot, VERSION};
use crate::control::cancel::{is_wanted, read_started, supervisor_lives};
use crate::disk::pieces;
use crate::disk::plain;
use crate::mask::Secrets;
use crate::output::stream;
use crate::output::text::TextTail;
use crate::workspace::before::Before;

/// How much of the output is shown as evidence.
const OUTPUT_TAIL_BYTES: u64 = 4 * 1024;

/// Reading this much of a workspace takes a moment, so it is read even if a cancel is requested.
const READ_BEFORE_A_CANCEL_BYTES: u64 = 64 * 1024 * 1024;

/// The state of an attempt.
#[derive(Debug)]
pub enum Probe {
    /// Its lock is held. Wait ([`crate::wait_until_free`]) and probe again, more than once if necessary: a
    /// process that an engine has just forked for another purpose can hold the lock for a moment too.
    Running,
    /// It has ended, and every file that it hands over can be read.
    Settled(Box<Exit>),
    /// Nothing was ever started. Use the lock to start it now.
    NotStarted(LockFile),
    /// A command may have run, and its end is not known. [`evidence`] reads what can be shown about it, which
    /// may take long.
    Lost(Doubt),
}

/// The known facts about a lost attempt, for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// Why the end is not known.
    pub doubt: Doubt,
    /// When the supervisor announced the start, Unix time in milliseconds.
    pub started_at_ms: Option<u64>,
    /// From then to the last output, in milliseconds: a lower bound of how long it ran.
    pub ran_ms: Option<u64>,
    /// The end of stdout, or of stderr if there is no stdout: masked, at most 4 KiB.
    pub output_tail: String,
    /// The supervisor gave up because the disk was full.
    pub disk_was_full: bool,
    /// The end of `supervisor.log`: usually empty, else why the supervisor gave up.
    pub supervisor_output: String,
    /// Artifacts that differ from before the command, or why that is not known.
    pub files_changed: Result<Vec<FileChange>, Unseen>,
    /// The snapshot of the workspace before the command, if one was taken.
    pub snapshot_before: Option<Snapshot>,
    /// Set if the files were restored before that snapshot, or should have been.
    pub set_back: Option<SetBack>,
    /// The files that a cached result has displaced, if its restore did not complete.
    pub displaced: Displaced,
}

impl Evidence {
    /// For an attempt whose folder is gone.
    fn none(doubt: Doubt) -> Self {
        let [output_tail, supervisor_output] = [String::new(), String::new()];
        Self {
            doubt,
            started_at_ms: None,
            ran_ms: None,
            output_tail,
            disk_was_full: false,
            supervisor_output,
            files_changed: Err(Unseen::Unreadable),
            snapshot_before: None,
            set_back: None,
            displaced: Displaced::default(),
        }
    }
}

/// Why the files that an attempt has changed are not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unseen {
    /// The files, or the record of their earlier state, cannot be read.
    Unreadable,
    /// A cancel was requested while they were read.
    Cancelled,
}

/// Why the end of an attempt is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doubt {
    /// It was started, and its supervisor ended without writing `exit.json`.
    SupervisorGone,
    /// The machine was booted again, and may have lost written data.
    Rebooted,
    /// `exit.json` exists, and is not a valid record of this attempt.
    Damaged,
    /// Another start of the attempt was given to a supervisor. The journal that announced it no longer
    /// exists.
    OtherStart,
    /// Its folder, or the lock in it, was removed, so there are no records.
    FolderGone,
    /// Something in its folder cannot be used.
    Unusable {
        /// The file or folder, and the reason, for a person.
        reason: String,
    },
    /// A file that `exit.json` names is missing or differs from its record.
    FileDiffers {
        /// The file, relative to the attempt's folder.
        path: String,
    },
}

/// The folder could not be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot look at the attempt in {dir:?}: {source}")]
pub struct ProbeError {
    /// The folder.
    pub dir: std::path::PathBuf,
    /// The error of the system.
    pub source: io::Error,
}

/// An announcement of an attempt. A backup can restore a journal from before the announcement; then the
/// folder of the attempt belongs to another start.
#[derive(Debug, Clone, Copy)]
pub struct Start<'a> {
    /// Unique for every announcement.
    pub id: &'a str,
    /// The boot in which the start was decided.
    pub boot_id: &'a str,
}

/// Whether a supervisor may have been given this start before. The attempt's folder cannot show it, because
/// the folder may have been removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Given {
    /// Certainly not. A missing folder was never made, and the content of an existing one belongs to another
    /// start.
    Never,
    /// It may have. A missing folder was removed, and its command may still run.
    Maybe,
}

/// Finds out how an attempt ended.
///
/// Makes the folder if it is missing and no supervisor has the attempt yet. Moves the folder of another start
/// away ([`REPLACED`]), once nothing of that start lives. The lock is taken during the call, and returned
/// with [`Probe::NotStarted`]. `report.json` and `output` of a lost attempt are as the command wrote them:
/// masking is part of settling.
///
/// # Errors
/// The folder cannot be read, or its lock cannot be taken. A record that is missing, damaged or not a regular
/// file is not an error but [`Probe::Lost`].
pub fn probe(
    dir: &AttemptDir,
    given: Given,
    start: Start<'_>,
    current_boot: &str,
) -> Result<Probe, ProbeError> {
    look(dir, given, Expected { start, current_boot })
        .map_err(|source| ProbeError { dir: dir.path().to_owned(), source })
}

impl ProbeError {
    /// Whether the machine is the reason, so that a later probe may succeed.
    #[must_use]
    pub fn is_of_machine(&self) -> bool {
        plain::is_of_machine(&self.source)
    }
}

/// The values that the records are compared with.
#[derive(Clone, Copy)]
struct Expected<'a> {
    start: Start<'a>,
    current_boot: &'a str,
}

/// Name of the folder, in the run's folder, for folders of other starts that were moved away. No flow has
/// this name.
const REPLACED: &str = "_replaced";

/// Moves the folder of another start away, and makes an empty one. The lock of that folder is held meanwhile,
/// so that no other engine starts anything in it.
fn move_away(dir: &AttemptDir) -> io::Result<()> {
    let outside = || io::Error::from(io::ErrorKind::InvalidInput);
    let (name, base) = dir.path().file_name().zip(dir.path().ancestors().nth(2)).ok_or_else(outside)?;
    let replaced = base.join(REPLACED);
    envoi_durable::create_folders(&replaced)?;
    if !fs::symlink_metadata(&replaced)?.is_dir() {
        return Err(io::Error::from(io::ErrorKind::NotADirectory));
    }
    let mut number = 1_u32;
    let target = loop {
        let target = replaced.join(format!("{}.{number}", name.to_string_lossy()));
        if fs::symlink_metadata(&target).is_err() {
            break target;
        }
        number = number.saturating_add(1);
    };
    fs::rename(dir.path(), target)?;
    envoi_durable::sync_folder(&replaced)?;
    dir.create()
}

/// The start that the records of a folder belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Records {
    None,
    /// The expected start: another engine has carried it out first.
    Own,
    OfOther,
    /// Not known: an older supervisor or a command wrote them.
    Unknown,
}

fn records(dir: &AttemptDir, start: Start<'_>) -> io::Result<Records> {
    let exit = plain::open(&dir.exit()).and_then(|file| plain::read_all(file, LARGEST_RECORD_BYTES));
    let exit = exit.ok().and_then(|bytes| serde_json::from_slice::<Exit>(&bytes).ok());
    let named = exit.map(|exit| exit.start).or_else(|| Some(read_started(dir).ok()??.start));
    Ok(match named {
        Some(named) if named == start.id => Records::Own,
        Some(named) if !named.is_empty() => Records::OfOther,
        None if fs::symlink_metadata(dir.exit()).is_err() && !dir.was_started()? => Records::None,
        _ => Records::Unknown,
    })
}

fn look(dir: &AttemptDir, given: Given, expected: Expected<'_>) -> io::Result<Probe> {
    if given == Given::Maybe && !dir.is_real() {
        return Ok(Probe::Lost(Doubt::FolderGone));
    }
    let taken = match given {
        Given::Never => {
            dir.create()?;
            dir.try_lock()
        }
        Given::Maybe => dir.try_lock_there(),
    };
    let lock = match taken {
        Ok(Some(lock)) => lock,
        Ok(None) => return held(dir, expected),
        // Without its lock it is not known whether the attempt lives. The lock must not be made again,
        // because a new lock would be free.
        Err(error) if given == Given::Maybe && !plain::is_of_machine(&error) => {
            return without_lock(dir, expected);
        }
        Err(error) => return Err(error),
    };
    if !dir::is_lock_of(dir, &lock) {
        // The folder was moved away meanwhile: the caller probes again.
        return Ok(Probe::Running);
    }
    if given == Given::Never {
        match records(dir, expected.start)? {
            Records::None | Records::Own => {}
            Records::OfOther => {
                move_away(dir)?;
                drop(lock);
                return look(dir, given, expected);
            }
            Records::Unknown => {
                lock.free()?;
                return Ok(Probe::Lost(Doubt::OtherStart));
            }
        }
    }
    match read_records(dir, expected)? {
        Some(found) => {
            lock.free()?;
            Ok(found)
        }
        None => Ok(Probe::NotStarted(lock)),
    }
}

/// The lock is held by the supervisor, unless `exit.json` exists and the supervisor is gone. Any process can
/// lock a file that it can open; that does not keep the attempt from being settled.
fn held(dir: &AttemptDir, expected: Expected<'_>) -> io::Result<Probe> {
    if !supervisor_lives(dir)
        && let Some(Ok(exit)) = read_exit(dir, expected)?
    {
        return Ok(Probe::Settled(Box::new(exit)));
    }
    Ok(Probe::Running)
}

fn without_lock(dir: &AttemptDir, expected: Expected<'_>) -> io::Result<Probe> {
    Ok(read_records(dir, expected)?.unwrap_or(Probe::Lost(Doubt::FolderGone)))
}

/// The result from the records, while no other process may write them. `None` if nothing was started.
fn read_records(dir: &AttemptDir, expected: Expected<'_>) -> io::Result<Option<Probe>> {
    let doubt = match read_exit(dir, expected)? {
        Some(Ok(exit)) => return Ok(Some(Probe::Settled(Box::new(exit)))),
        Some(Err(doubt)) => doubt,
        None if dir.was_started()? => Doubt::SupervisorGone,
        None if expected.start.boot_id != expected.current_boot => Doubt::Rebooted,
        None => return Ok(None),
    };
    Ok(Some(Probe::Lost(doubt)))
}

/// The record of the end, or why it is not accepted. `None` if there is none. Errors are the machine's.
fn read_exit(dir: &AttemptDir, expected: Expected<'_>) -> io::Result<Option<Result<Exit, Doubt>>> {
    let read = plain::open(&dir.exit()).and_then(|file| plain::read_all(file, LARGEST_RECORD_BYTES));
    match read {
        Ok(bytes) => acceptable(dir, &bytes, expected).map(Some),
        Err(error) if plain::is_missing(&error) => Ok(None),
        Err(error) if plain::is_of_machine(&error) => Err(error),
        Err(_) => Ok(Some(Err(Doubt::Damaged))),
    }
}

/// The record, if it is acceptable. A file that this boot wrote is complete. A file of an earlier boot may
/// not have reached the disk in full, so every such file is compared.
fn acceptable(dir: &AttemptDir, bytes: &[u8], expected: Expected<'_>) -> io::Result<Result<Exit, Doubt>> {
    let Ok(exit) = serde_json::from_slice::<Exit>(bytes) else { return Ok(Err(Doubt::Damaged)) };
    let attempt = dir.path().file_name().and_then(|name| name.to_str());
    if exit.version != VERSION || Some(exit.attempt.as_str()) != attempt {
        return Ok(Err(Doubt::Damaged));
    }
    if !exit.start.is_empty() && exit.start != expected.start.id {
        return Ok(Err(Doubt::OtherStart));
    }
    if exit.boot_id == expected.current_boot {
        return Ok(Ok(exit));
    }
    for file in exit.handed_over() {
        if !stands(dir, file)? {
            return Ok(Err(Doubt::FileDiffers { path: file.path.clone() }));
        }
    }
    Ok(Ok(exit))
}

/// Whether a file matches its record. A file of another length is not read. The file of an empty stream may
/// be missing.
fn stands(dir: &AttemptDir, expected: &FileRef) -> io::Result<bool> {
    let measured = plain::open_below(dir.path(), expected.path.as_ref()).and_then(|mut file| {
        let same_length = file.metadata()?.len() == expected.bytes;
        same_length.then(|| pieces::read_through(&mut file, |_| Ok(()))).transpose()
    });
    match measured {
        Ok(found) => Ok(found.is_some_and(|found| found.sha256 == expected.sha256)),
        Err(error) if plain::is_missing(&error) => Ok(is_of_empty_stream(expected)),
        Err(error) if plain::is_of_machine(&error) => Err(error),
        Err(_) => Ok(false),
    }
}

fn is_of_empty_stream(file: &FileRef) -> bool {
    file.bytes == 0 && ["stdout", "stderr"].contains(&file.path.as_str())
}

/// Collects what can be shown about a lost attempt at this moment. Leaves out what cannot be read.
///
/// Call it again after [`crate::end_leftovers`], which may have ended a process that still changed files.
pub fn evidence(dir: &AttemptDir, doubt: Doubt) -> Evidence {
    if !dir.is_real() {
        return Evidence::none(doubt);
    }
    let started_at_ms = read_started(dir).ok().flatten().map(|started| started.started_at_ms);
    let ran_ms = started_at_ms.zip(last_output_ms(dir)).map(|(from, to)| to.saturating_sub(from));
    let (files_changed, snapshot_before, set_back) = match Before::read(dir) {
        Ok(before) => (files_changed(dir, &before), before.snapshot, before.set_back),
        // This file is written before the command starts, so without it no file was changed.
        Err(error) if plain::is_missing(&error) => (Ok(Vec::new()), None, None),
        Err(_) => (Err(Unseen::Unreadable), None, None),
    };
    let supervisor_output = readable_end(&dir.supervisor_log()).unwrap_or_default();
    Evidence {
        doubt,
        started_at_ms,
        ran_ms,
        output_tail: output_tail(dir),
        disk_was_full: fs::symlink_metadata(dir.disk_full()).is_ok(),
        supervisor_output,
        files_changed,
        snapshot_before,
        set_back,
        displaced: displaced(dir),
    }
}

/// Reads the files of the workspace, which may be large. Stops when a cancel is requested.
fn files_changed(dir: &AttemptDir, before: &Before) -> Result<Vec<FileChange>, Unseen> {
    let mut is_stopped = false;
    let mut read_bytes = 0_u64;
    let mut look = |piece: &[u8]| {
        read_bytes = read_bytes.saturating_add(piece.len() as u64);
        is_stopped |= read_bytes > READ_BEFORE_A_CANCEL_BYTES && is_wanted(dir);
        if is_stopped { Err(io::Error::from(io::ErrorKind::ConnectionAborted)) } else { Ok(()) }
    };
    let changes = before.changes_since(&mut look);
    if is_stopped { Err(Unseen::Cancelled) } else { changes.map_err(|_| Unseen::Unreadable) }
}

/// How the files were restored before an attempt, according to its folder.
pub fn set_back(dir: &AttemptDir) -> Option<SetBack> {
    if dir.is_real() { Before::read(dir).ok()?.set_back } else { None }
}

/// The files that a cached result has displaced, according to the attempt's folder.
pub fn displaced(dir: &AttemptDir) -> Displaced {
    if !dir.is_real() {
        return Displaced::default();
    }
    let coming = dir.bringing().map(|bringing| bringing.displaced).filter(|found| !found.is_nothing());
    coming.or_else(|| Some(Before::read(dir).ok()?.displaced)).unwrap_or_default()
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
    Ok(text.finish().content)
}

fn last_output_ms(dir: &AttemptDir) -> Option<u64> {
    let changed = |path| unix_ms(fs::symlink_metadata(path).ok()?.modified().ok()?);
    [dir.stdout(), dir.stderr()].into_iter().filter_map(changed).max()
}

/// Milliseconds since 1970. `None` if the time is earlier.
pub(crate) fn unix_ms(time: SystemTime) -> Option<u64> {
    u64::try_from(time.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()
}
