//! From an attempt's folder to what is committed: the record of its supervisor in the kernel's words, or the evidence of its doubt.
//!
//! [`carried`] puts the contents into the store.

mod carried;

use super::{
    cached, failed_command, model,
    not_passed::{self, AlreadyNamed},
    program,
    secrets::{self, Known},
    shared::Shared,
};
use crate::model::runner::{Job, Settlement};
pub(super) use carried::Unsettled;
use carried::{Carried, read};
use envoi_contract::{
    digest::Digest,
    json::{Object, Value},
    time::Timestamp,
};
use envoi_journal::{ReadError, files, with_causes};
use envoi_kernel::{
    CACHE, CALLS, COPIED, Event, NOTHING_SENT, SET_BACK, USED, WORKSPACE_BEFORE, WORKSPACE_MOVING,
    event::{CacheUse, Change, Command, FileChange, FilesSetBack, Outcome, Snapshot},
    ids::Seq,
    input::{AttemptResult, ReportPlace},
};
use envoi_step::{AttemptDir, Displaced, Doing, Doubt, Exit, Secrets, Spec, Unseen, Values, plain};
use std::{collections::BTreeSet, fs, io};

/// Why an attempt in doubt cannot be committed as one: the machine failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotEnded {
    /// The store cannot be read.
    #[error("{}", with_causes(.0))]
    Read(#[from] ReadError),
    /// A process of it still lives.
    #[error("what is left of attempt `{attempt}` cannot be ended: {source}")]
    Leftovers { attempt: String, source: io::Error },
    /// Its output may hold a secret, and stays as it is.
    #[error("attempt `{attempt}` cannot be masked: {source}")]
    Unmasked { attempt: String, source: io::Error },
}

/// An attempt that is over. Large contents are in the store when this returns, small ones travel with the commit.
///
/// # Errors
/// See [`Unsettled`].
pub(super) fn finished(
    shared: &Shared,
    dir: &AttemptDir,
    job: &Job,
    exit: Exit,
) -> Result<Settlement, Unsettled> {
    let mut carried = Carried::of(&shared.blobs, dir);
    let text_blob = carried.keep(&exit.text)?;
    let report_blob = exit.report.as_ref().map(|file| carried.keep(file)).transpose()?;
    let data_blob = exit.data.as_ref().map(|file| carried.keep(file)).transpose()?;
    let writer = shared.large.as_ref().map(|large| large.writer.as_ref());
    let bytes = exit.files.iter().filter_map(|file| file.file.as_ref()).map(|file| file.bytes);
    let bytes = bytes.fold(0, u64::saturating_add);
    let _work = envoi_step::announce(dir, Doing::Keeping, exit.files.len(), || bytes);
    let handed = carried.files(&exit.files, exit.too_many_files, writer)?;
    let mut warnings = holding_secrets(&exit.secret_in_files);
    warnings.extend(secrets::common_secrets(job));
    warnings.extend(exit.warnings.iter().cloned());
    warnings.extend(closed(shared, dir, job, &exit.closed_with_secret)?);
    warnings.extend(without_place(shared, job, &handed.files)?);
    let mut result = AttemptResult {
        attempt: job.started.attempt.clone(),
        text: String::from_utf8_lossy(&read(dir, &exit.text)?).into_owned(),
        text_cut: exit.text_cut,
        text_unreadable: no_text(dir, job),
        report: exit.report.as_ref().map(|file| read(dir, file)).transpose()?,
        outcome: outcome(exit.outcome),
        started_at: timestamp(exit.started_at_ms),
        duration_ms: exit.duration_ms,
        text_blob: Some(text_blob),
        stderr_tail: exit.stderr_tail,
        report_blob,
        data: exit.data.as_ref().map(|file| read(dir, file)).transpose()?,
        data_blob,
        data_unreadable: exit.data_unreadable,
        session: session(dir, job),
        report_place: ReportPlace { assigned: exit.report_assigned, unreadable: exit.report_unreadable },
        files: handed.files,
        manifest: handed.many,
        warnings,
        misfit: None,
        excess: handed.excess,
        lacking: (!exit.no_artifacts.is_empty()).then(|| exit.no_artifacts.join("; ")),
        workspace_before: exit.snapshot_before.as_ref().and_then(snapshot),
        workspace_after: exit.snapshot_after.as_ref().and_then(snapshot),
        set_back: exit.set_back.as_ref().and_then(set_back).map(Box::new),
        cache: exit.cache.map(cached::used).map(Box::new),
    };
    let has_failed = has_failed(job, &result.outcome);
    let sentence = has_failed.then(|| failed_command::sentence(dir, &job.started.command, &result)).flatten();
    let unseen = not_passed(shared, job, &result, sentence.as_deref().unwrap_or(""));
    result.warnings.extend(sentence.into_iter().chain(unseen));
    Ok(Settlement::Finished { result: Box::new(result), blobs: carried.into_inline() })
}

fn snapshot(taken: &envoi_step::Snapshot) -> Option<Snapshot> {
    Some(Snapshot { digest: Digest::parse(&taken.digest)?, moving: taken.moving })
}

/// The files that a result of the cache displaced, when no result came and no command has ended.
fn displaced(displaced: Displaced) -> Option<Box<CacheUse>> {
    (!displaced.is_nothing()).then(|| Box::new(cached::used(displaced.into())))
}

fn set_back(found: &envoi_step::SetBack) -> Option<FilesSetBack> {
    Some(FilesSetBack {
        from: Digest::parse(&found.from)?,
        to: Digest::parse(&found.to)?,
        folders_gone: found.folders_gone.as_deref().and_then(Digest::parse),
        late: cached::late(&found.late),
        left: found.left.clone(),
    })
}

/// How the warning about variables begins that the command probably misses.
const NOT_PASSED: &str = "set outside and not passed to commands: ";

/// And the one about the other well-known ones.
const NOT_SEEN: &str = "set outside and not seen by commands: ";

/// Whether the command has failed. An exit code that states something is no failure.
fn has_failed(job: &Job, outcome: &Outcome) -> bool {
    let step = job.flow.step(&job.started.attempt.visit.step);
    let states_a_status =
        |code: &i32| step.is_some_and(|step| step.routing.status_from_exit.contains_key(code));
    match outcome {
        Outcome::Exited { code } => *code != 0 && !states_a_status(code),
        _ => true,
    }
}

/// A command that has failed may miss what its user's own shell has: first what it probably misses, then the other well-known variables. If
/// what it printed names such things, or is empty, they go into the message itself; else into a warning, because they would hide the real cause.
/// `cause` is the cause that its script shows. Each comes once a run.
fn not_passed(shared: &Shared, job: &Job, result: &AttemptResult, cause: &str) -> Vec<String> {
    if !has_failed(job, &result.outcome) {
        return Vec::new();
    }
    let printed = [result.text.as_str(), &result.stderr_tail, cause];
    let missed = not_passed::missed(&job.caller.not_passed, &job.started.command, &printed);
    // Without the journal a warning may come twice.
    let anew = |named: &AlreadyNamed, names: &[String], before: &[&str]| {
        named.anew(&job.run, names.to_vec(), || earlier(shared, job, before).unwrap_or_default())
    };
    let probable = anew(&shared.named, &missed, &[NOT_PASSED]);
    let mut others = match not_passed::may_be_the_environment(&printed) {
        true => anew(&shared.named_besides, &job.caller.not_passed, &[NOT_PASSED, NOT_SEEN]),
        false => Vec::new(),
    };
    others.retain(|name| !missed.contains(name));
    let known = [NOT_PASSED, NOT_SEEN, not_passed::ASIDE];
    let mut aside = anew(&shared.named_aside, &job.caller.not_passed, &known);
    aside.retain(|name| !missed.contains(name) && !others.contains(name));
    let say = |names: Vec<String>, before: &str, after: &str| {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        (!names.is_empty()).then(|| format!("{before}{}; {after}", names.join(", ")))
    };
    let probable = say(probable, NOT_PASSED, "`pass_env` of the flow passes them");
    let needed = "if the step needs one, `pass_env` of the flow passes it";
    let (others, aside) = (say(others, NOT_SEEN, needed), say(aside, not_passed::ASIDE, needed));
    probable.into_iter().chain(others).chain(aside).collect()
}

/// The variables that warnings of this run have named that begin so, also under an earlier engine.
fn earlier(shared: &Shared, job: &Job, before: &[&str]) -> Result<BTreeSet<String>, ReadError> {
    let reader = shared.store.reader()?;
    let settled = reader.records_before(&job.run, &["attempt_settled"], Seq::MAX, None)?;
    let mut named = BTreeSet::new();
    for record in &settled {
        let Event::AttemptSettled(settled) = &record.event else { continue };
        let begins = |warning: &&String| before.iter().any(|before| warning.starts_with(before));
        for warning in settled.warnings.iter().filter(begins) {
            named.extend(warning.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    Ok(named)
}

/// A sentence for each file whose place an artifact of an earlier step keeps from it. Its content is in the store all the same.
fn without_place(shared: &Shared, job: &Job, files: &[FileChange]) -> Result<Vec<String>, Unsettled> {
    let failed = |error: &dyn std::fmt::Display| Unsettled::Machine(error.to_string());
    let is_gone = |path: &str| {
        let place = shared.layout.artifact_place(&job.run, &job.flow.id, path);
        let is_deleted = files.iter().any(|file| file.change == Change::Deleted && file.path == path);
        // An artifact that was not put in its place, because another one was there, blocks nothing.
        is_deleted || !fs::symlink_metadata(place).is_ok_and(|found| found.is_file())
    };
    let kept = files.iter().filter(|file| file.change != Change::Deleted);
    let mut warnings = Vec::new();
    let mut reader = None;
    for file in kept {
        let reader = match &mut reader {
            Some(reader) => reader,
            none => none.insert(shared.store.reader().map_err(|error| failed(&error))?),
        };
        let other = reader.artifact_in_the_way(&job.run, &job.flow.id, &file.path, is_gone);
        if let Some(other) = other.map_err(|error| failed(&error))? {
            warnings.push(format!(
                "artifact `{}` is not in the run's folder: artifact `{other}` of an earlier step is in its place; `artifacts` of this \
                 step does not name that",
                file.path
            ));
        }
    }
    let more = warnings.len().saturating_sub(MOST_NAMED);
    if more > 0 {
        warnings.truncate(MOST_NAMED);
        warnings.push(format!("{more} more artifacts are not in the run's folder"));
    }
    Ok(warnings)
}

/// Masks those of these files of the run's folder that no engine has put there. Returns a sentence for each.
///
/// # Errors
/// The store cannot be read.
fn closed(shared: &Shared, dir: &AttemptDir, job: &Job, files: &[String]) -> Result<Vec<String>, ReadError> {
    match files {
        [] => Ok(Vec::new()),
        files => mask_closed(shared, job, files, &Known::since_start(shared, job, dir)),
    }
}

fn mask_closed(
    shared: &Shared,
    job: &Job,
    files: &[String],
    known: &Known,
) -> Result<Vec<String>, ReadError> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let reader = shared.store.reader()?;
    let is_placed = |path: &str, sha256: &str| {
        let digest = Digest::parse(&format!("sha256:{sha256}"));
        digest.is_some_and(|digest| files::is_placed(&shared.layout, &reader, &job.run, path, &digest))
    };
    let values = Values { at_hand: &known.values, are_all: known.missing.is_empty() };
    Ok(envoi_step::mask_closed(&shared.layout.run(&job.run), files, values, is_placed))
}

/// An attempt that could not even be ordered; nothing of it ever ran.
pub(super) fn cannot_start(job: &Job, reason: String) -> Settlement {
    not_started(job, reason, None, None)
}

/// An attempt whose supervisors ended before they had started anything. They may have set files back, and brought some of the cache.
pub(super) fn never_started(job: &Job, dir: &AttemptDir, reason: String) -> Settlement {
    let set_back = envoi_step::set_back(dir).as_ref().and_then(set_back);
    not_started(job, reason, set_back, displaced(envoi_step::displaced(dir)))
}

fn not_started(
    job: &Job,
    reason: String,
    set_back: Option<FilesSetBack>,
    cache: Option<Box<CacheUse>>,
) -> Settlement {
    let outcome = Outcome::CannotStart { reason };
    let empty = AttemptResult::empty(job.started.attempt.clone(), outcome, crate::model::clock::now());
    let result = AttemptResult { set_back: set_back.map(Box::new), cache, ..empty };
    Settlement::Finished { result: Box::new(result), blobs: Vec::new() }
}

/// An attempt whose end is unknown. Its processes that still lived have been ended when this returns; unless it
/// `is_of_original`, announced before the files of the store were copied: then they are the original's.
///
/// # Errors
/// See [`NotEnded`].
pub(super) fn in_doubt(
    shared: &Shared,
    dir: &AttemptDir,
    job: &Job,
    secrets: &Known,
    doubt: Doubt,
    is_of_original: bool,
) -> Result<Settlement, NotEnded> {
    let attempt = job.started.attempt.to_string();
    let ended = if is_of_original {
        0
    } else {
        envoi_step::end_leftovers(&attempt, &job.run_base)
            .map_err(|source| NotEnded::Leftovers { attempt: attempt.clone(), source })?
    };
    let masked = envoi_step::mask_lost(dir, &secrets.values, shared.stream_cap_bytes);
    let mut notes = masked.notes;
    notes.extend(mask_closed(shared, job, &masked.closed_with_secret, secrets)?);
    if !secrets.missing.is_empty() {
        let removed = envoi_step::drop_unmasked(dir)
            .map_err(|source| NotEnded::Unmasked { attempt: attempt.clone(), source })?;
        notes.extend(unmasked(&removed, &secrets.missing));
    }
    let evidence = envoi_step::evidence(dir, doubt);
    let mut members = Object::default();
    let why = match (is_of_original, &evidence.doubt) {
        (true, _) => BEGUN_ELSEWHERE.to_owned(),
        (false, Doubt::SupervisorGone) if evidence.disk_was_full => DISK_WAS_FULL.to_owned(),
        (false, doubt) => why(doubt),
    };
    members.insert("why".to_owned(), Value::from(why));
    if is_of_original {
        members.insert(COPIED.to_owned(), Value::from(true));
    }
    if !notes.is_empty() {
        members.insert("notes".to_owned(), Value::Array(notes.into_iter().map(Value::from).collect()));
    }
    members.insert("output_tail".to_owned(), Value::from(evidence.output_tail.as_str()));
    // From the start to the last output: it ran at least so long.
    members.insert("ran_ms".to_owned(), evidence.ran_ms.map_or(Value::Null, Value::from));
    members.insert("supervisor_said".to_owned(), Value::from(evidence.supervisor_output.trim()));
    members.insert("processes_ended".to_owned(), Value::from(u64::from(ended)));
    if let Some(before) = evidence.snapshot_before.as_ref().and_then(snapshot) {
        members.insert(WORKSPACE_BEFORE.to_owned(), Value::from(before.digest.to_string()));
        members.insert(WORKSPACE_MOVING.to_owned(), Value::from(before.moving));
    }
    if let Some(set_back) = evidence.set_back.as_ref().and_then(set_back) {
        let text = serde_json::to_string(&set_back).unwrap_or_default();
        members.insert(SET_BACK.to_owned(), Value::parse(text.as_bytes()).unwrap_or_default());
    }
    if let Some(cache) = displaced(evidence.displaced) {
        let text = serde_json::to_string(&cache).unwrap_or_default();
        members.insert(CACHE.to_owned(), Value::parse(text.as_bytes()).unwrap_or_default());
    }
    let is_gone = matches!(evidence.doubt, Doubt::SupervisorGone);
    if is_gone && !is_of_original && model::has_sent_nothing(job, dir, &shared.boot_id) {
        members.insert(NOTHING_SENT.to_owned(), Value::from(true));
    }
    if let Some(calls) = model::calls(job, dir) {
        members.insert(CALLS.to_owned(), Value::from(calls));
    }
    if let Some(used) = program::used(job, dir) {
        members.insert(USED.to_owned(), used);
    }
    if let Some(id) = session(dir, job).filter(|_| secrets.missing.is_empty()) {
        members.insert("session".to_owned(), Value::Object(Object::from([("id", Value::from(id))])));
    }
    let changed = evidence.files_changed.as_deref();
    match changed {
        Ok(changed) if secrets.missing.is_empty() => {
            let files = changed.iter().take(MOST_NAMED).map(|change| Value::from(change.path.as_str()));
            members.insert("files_changed".to_owned(), Value::Array(files.collect()));
        }
        Ok(_) => {
            let why = "the value that a secret of the flow had is not known here: names of files, and what the command \
                       itself wrote as its output and report, could hold it and are not kept";
            members.insert("not_shown".to_owned(), Value::from(why));
        }
        Err(unseen) => {
            let why = match unseen {
                Unseen::Unreadable => {
                    "which files changed: they, or the record of what they were, cannot be read"
                }
                Unseen::Cancelled => "which files changed: the run was cancelled while they were read",
            };
            members.insert("not_shown".to_owned(), Value::from(why));
        }
    }
    if let Some(changed) = changed.ok().filter(|changed| changed.len() > MOST_NAMED) {
        let total = u64::try_from(changed.len()).unwrap_or(u64::MAX);
        members.insert("files_changed_total".to_owned(), Value::from(total));
    }
    // The supervisor has masked the streams; names of files, and what escape sequences had split, are found only here.
    let evidence = Secrets::new(&secrets.values).mask_value(&Value::Object(members));
    Ok(Settlement::InDoubt { evidence })
}

/// The reason why the command's output is not a text, if its data is read from it. Output that is larger than a text has been cut, and is
/// not data anyway.
fn no_text(dir: &AttemptDir, job: &Job) -> Option<String> {
    let step = job.flow.step(&job.started.attempt.visit.step);
    step.filter(|step| step.data_is_text)?;
    // As the supervisor chooses.
    let written = plain::read(&dir.output(), Spec::TEXT_CAP_BYTES);
    let bytes = match written {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            plain::read(&dir.stdout(), Spec::TEXT_CAP_BYTES)
        }
        written => written,
    };
    let error = std::str::from_utf8(&bytes.ok()?).err()?;
    Some(format!("it is no UTF-8 (byte {})", error.valid_up_to().saturating_add(1)))
}

/// The session that an agent program has reported, if the attempt runs one.
fn session(dir: &AttemptDir, job: &Job) -> Option<String> {
    matches!(job.started.command, Command::Agent(_)).then_some(())?;
    let id = plain::read(&dir.path().join(envoi_program::SESSION_FILE), MAX_SESSION_BYTES).ok()?;
    String::from_utf8(id).ok()
}

/// The longest id of a session.
const MAX_SESSION_BYTES: u64 = 1_024;

/// The files that were removed because a secret with another value could be in them. Names that the engine does not assign
/// could hold the secret, too.
fn unmasked(removed: &[String], missing: &[String]) -> Option<String> {
    let (assigned, others): (Vec<_>, Vec<_>) =
        removed.iter().map(String::as_str).partition(|name| ASSIGNED.contains(name));
    let mut what: Vec<String> = assigned.iter().map(|name| format!("`{name}`")).collect();
    if !others.is_empty() {
        what.push(format!("{} other names in the attempt's folder", others.len()));
    }
    let why = missing.join("; ");
    (!what.is_empty()).then(|| format!("removed, because it cannot be masked: {} ({why})", what.join(", ")))
}

/// Names in the folder of an attempt that the engine assigns.
const ASSIGNED: [&str; 7] =
    ["output", "report.json", "data.json", "feedback.txt", "envelope.json", "files", "before"];

/// Why the outcome of an attempt of the original is unknown.
const BEGUN_ELSEWHERE: &str =
    "it was begun before the store was copied, and may go on where it was copied from";

const DISK_WAS_FULL: &str =
    "the disk was full, so that its supervisor could not write down how the command ended";

fn why(doubt: &Doubt) -> String {
    match doubt {
        Doubt::SupervisorGone => {
            "its supervisor was ended before it could say how the command ended".to_owned()
        }
        Doubt::Rebooted => "the machine was started again since".to_owned(),
        Doubt::Damaged => "the record of its end cannot be read".to_owned(),
        Doubt::OtherStart => "its folder and `starts.log` are of another start of it, which this journal does not know, as after a \
                              backup was restored"
            .to_owned(),
        Doubt::FolderGone => {
            "its folder was removed, and with it what shows whether it runs and how it ended".to_owned()
        }
        Doubt::Unusable { reason } => reason.clone(),
        Doubt::FileDiffers { path } => format!("`{path}` is not what the record of its end says"),
    }
}

/// The most files that evidence of doubt names, and warnings about files: a person reads them.
const MOST_NAMED: usize = 100;

/// A sentence for each artifact in which a secret was seen, and how many more there are.
fn holding_secrets(paths: &[String]) -> Vec<String> {
    let mut all: Vec<_> =
        paths.iter().take(MOST_NAMED).map(|path| format!("artifact `{path}` holds a secret")).collect();
    if paths.len() > MOST_NAMED {
        all.push(format!("{} more artifacts hold a secret", paths.len().saturating_sub(MOST_NAMED)));
    }
    all
}

fn outcome(outcome: envoi_step::Outcome) -> Outcome {
    match outcome {
        envoi_step::Outcome::Exited { code } => Outcome::Exited { code },
        envoi_step::Outcome::Signalled { signal } => Outcome::Signalled { signal },
        envoi_step::Outcome::TimedOut => Outcome::TimedOut,
        // The lease is that of a worker of a cluster, which knows whether the end was requested.
        envoi_step::Outcome::Cancelled | envoi_step::Outcome::LeaseOver => Outcome::Cancelled,
        envoi_step::Outcome::CannotStart { reason, .. } => Outcome::CannotStart { reason },
    }
}

fn timestamp(unix_ms: u64) -> Timestamp {
    Timestamp::from_millis(i64::try_from(unix_ms).unwrap_or(i64::MAX))
}
