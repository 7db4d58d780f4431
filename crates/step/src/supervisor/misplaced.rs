//! Finds a report that is not at the path that the text of the command names.
//!
//! Only the shell may know the folder to which `--output r.json` is relative: in a script that is read by
//! `.`, in a function that changes the folder, behind a link. So if no report was found, the folder of the
//! command is searched. A file counts if its path ends like the option's value, if it was written while the
//! attempt ran, and if the strict reader accepts it as a report (CONTRACTS 4). If another step works in the
//! workspace, nothing is searched, because the report could be from that step.

use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use envoi_contract::skill_report::SkillReport;

use crate::attempt::dir::AttemptDir;
use crate::attempt::spec::Spec;
use crate::control::presence;
use crate::disk::plain;
use crate::output::report::{self, Candidate, LARGEST_REPORT_BYTES, SURE_WAY};
use crate::workspace::artifacts::Watched;

/// A report that was found by searching.
#[derive(Debug)]
pub(crate) struct Misplaced {
    /// Path relative to the workspace.
    pub(crate) path: String,
    /// How many more reports were written while the attempt ran.
    others: usize,
    /// The path after `--output` in the command.
    option: String,
}

impl Misplaced {
    /// A sentence about it for a person.
    pub(crate) fn notice(&self) -> String {
        let option = &self.option;
        let others = match self.others {
            0 => String::new(),
            1 => ", and one more does not".to_owned(),
            others => format!(", and {others} more do not"),
        };
        format!(
            "the report at `{}` counts (`--output {option}`){others}; the sure way: {SURE_WAY}",
            self.path
        )
    }
}

/// Searches, in the folder of the command and below it, for the report that was written while the attempt ran
/// and whose path ends like `option`, a relative path. `looked_at`: paths that were checked already. If there
/// are several, it is not known which one is meant: a report of failure counts first, then the newest.
pub(crate) fn find(spec: &Spec, dir: &AttemptDir, looked_at: &[Candidate]) -> Option<Misplaced> {
    let option = report::named_file(spec)?;
    let tail = tail(Path::new(&option))?;
    if presence::is_beside_others(&spec.workspace) {
        return None;
    }
    // `before.json` was written just before the command, with the same clock as the files of the workspace.
    let since = times(&fs::symlink_metadata(dir.before()).ok()?)?;
    let inside = spec.cwd.strip_prefix(&spec.workspace).ok()?.to_str()?;
    let folder = if inside.is_empty() { String::new() } else { format!("{}/", globset::escape(inside)) };
    let pattern = format!("{folder}**/{}", globset::escape(tail.to_str()?));
    let found = Watched::new(&spec.workspace, &[pattern], &spec.never).ok()?.find();
    let mut reports: Vec<(bool, SystemTime, String)> = Vec::new();
    for name in found.names {
        let path = spec.workspace.join(&name);
        let Some(written) = fs::symlink_metadata(&path).ok().as_ref().and_then(times) else { continue };
        let is_new =
            written.0 >= since.0 && written.1 >= since.0 && looked_at.iter().all(|other| other.path != path);
        let Some(report) = Some(path).filter(|_| is_new).and_then(|path| report_at(&path)) else { continue };
        let says_failure = !report.ok || report.stated_error().is_some();
        reports.push((says_failure, written.1, name));
    }
    let others = reports.len().checked_sub(1)?;
    let (_, _, path) = reports.into_iter().max()?;
    Some(Misplaced { path, others, option })
}

/// The time of the last change of any kind, and that of the last change of the content. Both must be late
/// enough: a file that only gets another mode, or is copied with its times, was not written.
fn times(metadata: &fs::Metadata) -> Option<(SystemTime, SystemTime)> {
    let (seconds, nanos) = (metadata.ctime(), metadata.ctime_nsec());
    let changed = Duration::new(u64::try_from(seconds).ok()?, u32::try_from(nanos).ok()?);
    Some((SystemTime::UNIX_EPOCH.checked_add(changed)?, metadata.modified().ok()?))
}

fn report_at(path: &Path) -> Option<SkillReport> {
    let mut bytes = Vec::new();
    plain::open(path).ok()?.take(LARGEST_REPORT_BYTES).read_to_end(&mut bytes).ok()?;
    SkillReport::decode(&bytes).ok()
}

/// The components after the last `..`. `None` if the path is absolute or names no file.
fn tail(path: &Path) -> Option<PathBuf> {
    let mut tail = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => tail.clear(),
            Component::Normal(name) => tail.push(name),
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    (!tail.as_os_str().is_empty()).then_some(tail)
}
