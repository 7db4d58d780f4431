//! The report that a command has left elsewhere than where the text of the command says.
//!
//! Where `--output r.json` begins may be known to the shell alone: a script that is read in, a function that enters a folder, the links on the
//! way. So where nothing was found, the workspace is searched. Only a file counts whose path ends as the option says, which was
//! written while the attempt ran, and which is a report by the strict reading (CONTRACTS 4): what else is called so is somebody else's.

use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use envoi_contract::skill_report::SkillReport;

use crate::attempt::dir::AttemptDir;
use crate::attempt::spec::Spec;
use crate::disk::plain;
use crate::output::report::LARGEST_REPORT_BYTES;
use crate::workspace::artifacts::Watched;

/// A report that was found by searching.
#[derive(Debug)]
pub(crate) struct Misplaced {
    /// Relative to the workspace.
    pub(crate) path: String,
    /// How many older ones the attempt has written.
    pub(crate) others: usize,
}

impl Misplaced {
    /// What a person should know of it.
    pub(crate) fn notice(&self, option: &str) -> String {
        let others = match self.others {
            0 => String::new(),
            1 => ", and one that is older does not".to_owned(),
            others => format!(", and {others} that are older do not"),
        };
        format!("the report at `{}` counts (`--output {option}`){others}", self.path)
    }
}

/// The newest report in the workspace that the attempt has written at a path that ends like `option`, which is relative.
pub(crate) fn find(spec: &Spec, dir: &AttemptDir, option: &str) -> Option<Misplaced> {
    let tail = tail(Path::new(option))?;
    // Written just before the command, by the clock that the files of the workspace have too.
    let since = changed_at(&fs::symlink_metadata(dir.before()).ok()?);
    let pattern = format!("**/{}", globset::escape(tail.to_str()?));
    let found = Watched::new(&spec.workspace, &[pattern], &spec.never).ok()?.find();
    let mut reports: Vec<(SystemTime, String)> = Vec::new();
    for name in found.names {
        let path = spec.workspace.join(&name);
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        let is_new = changed_at(&metadata) >= since && metadata.len() <= LARGEST_REPORT_BYTES;
        if is_new && is_report(&path) {
            reports.push((metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH), name));
        }
    }
    let others = reports.len().checked_sub(1)?;
    let (_, path) = reports.into_iter().max()?;
    Some(Misplaced { path, others })
}

/// Changed in any way: a time of modification can be set.
fn changed_at(metadata: &fs::Metadata) -> (i64, i64) {
    (metadata.ctime(), metadata.ctime_nsec())
}

fn is_report(path: &Path) -> bool {
    let bytes = plain::open(path).and_then(|file| {
        let mut bytes = Vec::new();
        file.take(LARGEST_REPORT_BYTES).read_to_end(&mut bytes).map(|_| bytes)
    });
    bytes.is_ok_and(|bytes| SkillReport::decode(&bytes).is_ok())
}

/// The names behind the last `..`; none if the path is absolute or names no file.
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
