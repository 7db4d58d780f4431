//! The paths where a command leaves its report and its data, and how these are collected.
//!
//! Does not look inside: the reader of contract 4 decides whether the file is a report.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use envoi_contract::json::Value;
use envoi_contract::skill_report::{self, OutputOption, SkillReport};

use serde::{Deserialize, Serialize};

use crate::attempt::dir::AttemptDir;
use crate::attempt::record::FileRef;
use crate::attempt::spec::{Command, Spec};
use crate::mask::{Masker, Secrets};
use crate::{
    disk::{pieces, plain},
    output::text,
};

/// The largest document of the contracts (CONTRACTS §0). A larger file behind `--output` is some other
/// output.
pub(crate) const LARGEST_REPORT_BYTES: u64 = envoi_contract::json::MAX_BYTES as u64;

/// The most that is read of a report.
const CUT_AT_BYTES: u64 = LARGEST_REPORT_BYTES + 1;

/// As much is read of a file that is too large to be a report.
const BEGINNING_BYTES: u64 = 64 << 10;

/// Advice that works wherever the command runs.
pub(crate) const SURE_WAY: &str = "let the command write its report to `$ENVOI_REPORT`";

/// Distinguishes a newly written file from one that an earlier visit has left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    /// Empty if the file is too large to be a report, or cannot be read: then only its time counts.
    sha256: String,
    modified_s: i64,
    modified_ns: i64,
    #[serde(default)]
    bytes: u64,
}

/// A path where the file named by `--output` may be, and its state before the command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) path: PathBuf,
    /// `None` if there was no regular file.
    pub(crate) stamp: Option<Stamp>,
}

/// The paths where the file named by `--output` may be, the most likely one first.
pub(crate) fn candidates(spec: &Spec) -> Vec<Candidate> {
    let paths = named(spec).candidates().into_iter().map(|path| spec.cwd.join(path));
    paths.map(|path| Candidate { stamp: stamp(&path), path }).collect()
}

fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
    let sha256 = if metadata.len() > LARGEST_REPORT_BYTES {
        String::new()
    } else {
        pieces::measure(path).map(|measure| measure.sha256).unwrap_or_default()
    };
    Some(Stamp {
        sha256,
        modified_s: metadata.mtime(),
        modified_ns: metadata.mtime_nsec(),
        bytes: metadata.len(),
    })
}

/// The report or data that was found.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    /// The report, masked.
    pub(crate) file: Option<FileRef>,
    /// Whether it was at `ENVOI_REPORT`.
    pub(crate) assigned: bool,
    /// The kind of thing that was there, if it is not a readable file.
    pub(crate) unreadable: Option<String>,
    /// Masking has changed more of it than the content of strings.
    pub(crate) reshaped: bool,
}

impl Collected {
    /// Whether nothing was there.
    pub(crate) fn is_nothing(&self) -> bool {
        self.file.is_none() && self.unreadable.is_none()
    }
}

/// Moves the report, if there is one, to its place in the attempt's folder, masked and synced.
///
/// A report that is too large is cut to one byte over the limit, so that its reader still finds it too large.
/// A file that is not regular is not opened. Its kind is reported, because nothing at that path may be
/// ignored.
pub(crate) fn collect(
    dir: &AttemptDir,
    candidates: &[Candidate],
    secrets: &Secrets,
) -> io::Result<Collected> {
    match found_at(&dir.report()) {
        Found::Nothing => {}
        Found::File => {
            let taken = take_report(&dir.report(), &dir.report(), secrets)?;
            return Ok(Collected { assigned: true, ..taken });
        }
        Found::Other(what) => {
            return Ok(Collected { assigned: true, unreadable: Some(what), ..Collected::default() });
        }
    }
    let written = candidates.iter().find_map(|Candidate { path, stamp: before }| {
        let now = stamp(path).filter(|now| Some(now) != before.as_ref())?;
        Some((path, now))
    });
    let Some((path, written)) = written else { return Ok(Collected::default()) };
    if written.bytes > LARGEST_REPORT_BYTES {
        // Not copied: most programs that write so much to `--output` do not write a report.
        let unreadable = Some(format!("a file of {} bytes", written.bytes));
        return Ok(Collected { unreadable, ..Collected::default() });
    }
    match found_at(path) {
        Found::Nothing => Ok(Collected::default()),
        Found::Other(what) => Ok(Collected { unreadable: Some(what), ..Collected::default() }),
        Found::File => take_report(path, &dir.report(), secrets),
    }
}

/// The same for a report at another path than the command names.
pub(crate) fn collect_from(path: &Path, dir: &AttemptDir, secrets: &Secrets) -> io::Result<Collected> {
    take_report(path, &dir.report(), secrets)
}

/// The path after `--output`, if it is used and looks like that of a file.
pub(crate) fn named_file(spec: &Spec) -> Option<String> {
    let option = named(spec);
    if option.names_a_file() { option.path } else { None }
}

/// A warning for a command that succeeded and left no report although it seems to name one: a report
/// somewhere else may say that the work failed.
pub(crate) fn notice(spec: &Spec, candidates: &[Candidate]) -> Option<String> {
    let option = named(spec);
    let Some(path) = option.path.as_ref().filter(|_| option.names_a_file()) else {
        if let Some(value) = option.ignored.last().filter(|_| option.path.is_none()) {
            return Some(format!(
                "no report was looked for at `--output {value}`, which only the shell knows: {SURE_WAY}"
            ));
        }
        return option.is_hidden.then(|| {
            format!("`--output` stands in a text that is not followed (another program reads it, or a variable stands for it), and no report was looked for there: {SURE_WAY}")
        });
    };
    let found: Vec<(&Path, Found)> =
        candidates.iter().map(|candidate| (candidate.path.as_path(), found_at(&candidate.path))).collect();
    let shown = |path: &Path| path.strip_prefix(&spec.cwd).unwrap_or(path).display().to_string();
    if let Some((place, what)) = found.iter().find_map(|(place, found)| match found {
        Found::Other(what) => Some((place, what)),
        Found::Nothing | Found::File => None,
    }) {
        return Some(format!(
            "`{}` (`--output {path}`) is {what}, which is not read as a report: {SURE_WAY}",
            shown(place)
        ));
    }
    let is_report = |path: &Path| {
        let bytes = plain::open(path).and_then(|file| {
            let mut bytes = Vec::new();
            file.take(CUT_AT_BYTES).read_to_end(&mut bytes).map(|_| bytes)
        });
        bytes.is_ok_and(|bytes| SkillReport::decode(&bytes).is_ok())
    };
    if let Some((place, _)) = found.iter().find(|(_, found)| matches!(found, Found::File)) {
        // Many programs do not rewrite a file that has not changed, so only an old file that is a report gets
        // a warning.
        return is_report(place).then(|| {
            format!(
                "the report at `{}` (`--output {path}`) was there before the command, and does not count",
                shown(place)
            )
        });
    }
    let places: Vec<String> = found.iter().map(|(place, _)| format!("`{}`", shown(place))).collect();
    let elsewhere = match option.change.filter(|_| option.is_unknown) {
        Some(change) => format!(" (it is not known where `{change}` leads)"),
        None => String::new(),
    };
    Some(format!("no report was found at {} (`--output {path}`){elsewhere}: {SURE_WAY}", places.join(" or ")))
}

/// A warning for a file at the path after `--output` that is not a report although it looks like one. It may say that
/// the work failed, and only a report counts there (CONTRACTS §4).
///
/// A file looks like a report if it has a member `ok`, or if its name ends in `.json` and it is not JSON.
pub(crate) fn notice_of_no_report(
    spec: &Spec,
    dir: &AttemptDir,
    found: &Collected,
    candidates: &[Candidate],
) -> Option<String> {
    let path = named_file(spec)?;
    let reason = if found.file.is_some() {
        let bytes = beginning(&dir.report(), CUT_AT_BYTES)?;
        let refusal = SkillReport::decode(&bytes).err()?;
        let is_broken_json = path.ends_with(".json") && Value::parse(&bytes).is_err();
        (is_broken_json || has_ok(&bytes)).then(|| refusal.to_string())?
    } else {
        let too_large =
            |path: &&Path| fs::symlink_metadata(path).is_ok_and(|file| file.len() > LARGEST_REPORT_BYTES);
        let file = candidates.iter().map(|candidate| candidate.path.as_path()).find(too_large)?;
        has_ok(&beginning(file, BEGINNING_BYTES)?).then(|| "it has more than 16 MiB".to_owned())?
    };
    Some(format!("the file at `--output {path}` is not a report, and does not count ({reason}): {SURE_WAY}"))
}

/// The beginning of a regular file. `None` if it cannot be read.
fn beginning(path: &Path, most_bytes: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    plain::open(path).ok()?.take(most_bytes).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Whether a text has `"ok"` as the name of a member.
fn has_ok(bytes: &[u8]) -> bool {
    const NAME: &[u8] = b"\"ok\"";
    let after_name = bytes.windows(NAME.len()).enumerate().filter(|(_, window)| *window == NAME);
    let rests = after_name.filter_map(|(at, _)| bytes.get(at.saturating_add(NAME.len())..));
    rests.map(<[u8]>::trim_ascii_start).any(|rest| rest.starts_with(b":"))
}

/// Collects what the command wrote at `ENVOI_DATA` in the same way, masked and synced.
pub(crate) fn collect_data(dir: &AttemptDir, secrets: &Secrets) -> io::Result<Collected> {
    match found_at(&dir.data()) {
        Found::Nothing => Ok(Collected::default()),
        Found::File => take_report(&dir.data(), &dir.data(), secrets),
        Found::Other(what) => Ok(Collected { unreadable: Some(what), ..Collected::default() }),
    }
}

/// The kind of thing at a path.
enum Found {
    Nothing,
    /// A regular file that can be opened.
    File,
    /// Anything else, in words.
    Other(String),
}

fn found_at(path: &Path) -> Found {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Found::Nothing,
        Err(error) => Found::Other(format!("something that cannot be looked at: {error}")),
        Ok(metadata) if metadata.is_file() => match plain::open(path) {
            Ok(_) => Found::File,
            Err(error) => Found::Other(format!("a file that cannot be read: {error}")),
        },
        Ok(metadata) => Found::Other(plain::kind(metadata.file_type()).to_owned()),
    }
}

/// Puts a masked copy of a report at `to`. If it contains a secret, the parsed values are masked, so that it
/// stays a valid document: masking the bytes could break it at a number or the name of a member.
fn take_report(from: &Path, to: &Path, secrets: &Secrets) -> io::Result<Collected> {
    if !secrets.is_empty()
        && let Some(source) = text::open_if_there(from)?
    {
        let mut document = Vec::new();
        source.take(CUT_AT_BYTES).read_to_end(&mut document)?;
        if (document.len() as u64) < CUT_AT_BYTES {
            let masked = secrets.mask_document(document);
            envoi_durable::put(to, &masked.bytes)?;
            let file = file_ref(to)?;
            return Ok(Collected { file: Some(file), reshaped: masked.reshaped, ..Collected::default() });
        }
    }
    let file = take_over(from, to, secrets, CUT_AT_BYTES)?;
    Ok(Collected { file, ..Collected::default() })
}

/// Puts a masked copy of the beginning of `from` at `to`, which may be the same path. `None` if `from` is not
/// a regular file. If the file has `cut_at_bytes` or more, the copy has exactly that length: if masking makes
/// it shorter, NULs fill it up.
pub(crate) fn take_over(
    from: &Path,
    to: &Path,
    secrets: &Secrets,
    cut_at_bytes: u64,
) -> io::Result<Option<FileRef>> {
    let Some(source) = text::open_if_there(from)? else { return Ok(None) };
    let mut source = source.take(cut_at_bytes);
    let temp = envoi_durable::temp_beside(to);
    let mut target = plain::create(&temp)?;
    let mut masker = Masker::new(secrets);
    let mut masked = Vec::new();
    pieces::pieces(&mut source, |piece| {
        masker.push(piece, &mut masked);
        target.write_all(&masked)?;
        masked.clear();
        Ok(())
    })?;
    if source.limit() == 0 {
        // The bytes held back may be the beginning of a secret whose end was not read, so they are dropped.
        target.set_len(cut_at_bytes)?;
    } else {
        masker.finish(&mut masked);
        target.write_all(&masked)?;
    }
    target.sync_all()?;
    fs::rename(&temp, to)?;
    file_ref(to).map(Some)
}

/// Refers to a file directly in the attempt's folder.
pub(crate) fn file_ref(path: &Path) -> io::Result<FileRef> {
    let measure = pieces::measure(path)?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(FileRef { path: name, bytes: measure.bytes, sha256: measure.sha256 })
}

/// The command's option `--output`.
fn named(spec: &Spec) -> OutputOption {
    match &spec.command {
        Command::Exec { argv } => skill_report::of_list(argv),
        Command::Shell { script } => skill_report::of_script(script),
    }
}

/// The candidates inside the workspace, relative to it: they are artifacts. A report outside is kept only as
/// the attempt's report, because an artifact is named by its path in the workspace.
pub(crate) fn named_artifacts(spec: &Spec, candidates: &[Candidate]) -> Vec<String> {
    let inside = |candidate: &Candidate| {
        let path = tidied(&candidate.path)?;
        let inside = path.strip_prefix(&spec.workspace).map(Path::to_owned).ok().or_else(|| {
            // The command may use another path for the workspace than the engine.
            path.strip_prefix(spec.workspace.canonicalize().ok()?).map(Path::to_owned).ok()
        })?;
        inside.to_str().filter(|path| !path.is_empty()).map(str::to_owned)
    };
    candidates.iter().filter_map(inside).collect()
}

/// The path without `.` and `..`. `None` if it leads above the root.
fn tidied(path: &Path) -> Option<PathBuf> {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                if !tidy.pop() {
                    return None;
                }
            }
            part => tidy.push(part),
        }
    }
    Some(tidy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_that_is_cut_at_the_limit_leaves_no_part_of_itself() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.json");
        let secrets = Secrets::new(&["hunter2-of-the-flow".to_owned()]);
        fs::write(&path, "said hunter2-of-the-flow and hunter2-of-the-flow").unwrap();
        take_over(&path, &path, &secrets, 40).unwrap();
        assert_eq!(fs::read(&path).unwrap(), [&b"said *** and "[..], &[0; 27][..]].concat());
    }
}
