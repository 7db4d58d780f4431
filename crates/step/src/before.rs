//! `before.json`: what the watched files were just before the command.
//!
//! Evidence for the comparison afterwards, by the supervisor or, if that did not live so long, by the engine.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::artifacts::{self, Digests, Watched};
use crate::dir::AttemptDir;
use crate::kept::{Keeper, Kept};
use crate::mask::Secrets;
use crate::plain;
use crate::record::{FileChange, LARGEST_RECORD_BYTES, VERSION};
use crate::report::{self, Stamp};
use crate::spec::Spec;

/// The state of the workspace before the command, and how to look at it again.
#[derive(Serialize, Deserialize)]
pub(crate) struct Before {
    version: u32,
    workspace: PathBuf,
    artifacts: Vec<String>,
    #[serde(default)]
    never: Vec<PathBuf>,
    pub(crate) files: Digests,
    /// The file that the command names by `--output`.
    pub(crate) output_option: Option<Stamp>,
    /// There was an earlier attempt to look back beyond, and nobody knows what there was before it.
    #[serde(skip)]
    pub(crate) earlier_is_unknown: bool,
    /// What the files held; the supervisor alone knows it.
    #[serde(skip)]
    pub(crate) kept: Kept,
}

impl Before {
    /// Looks at the workspace, and keeps what it can. An error is a reason not to start, for a person.
    pub(crate) fn take(spec: &Spec, dir: &AttemptDir, secrets: &Secrets) -> Result<Self, String> {
        let watched = spec.watched().map_err(|error| error.to_string())?.without(secrets);
        let mut keeper = Keeper::new(dir);
        let files = watched.look_with(|path, file| keeper.measure(path, file)).digests;
        let earlier = spec.since.as_ref().map(|folder| Self::of_earlier(spec, folder));
        Ok(Self {
            version: VERSION,
            workspace: spec.workspace.clone(),
            artifacts: spec.artifacts.clone(),
            never: spec.never.clone(),
            earlier_is_unknown: !spec.artifacts.is_empty() && matches!(earlier, Some(None)),
            // Of what was kept only that is handed over which is what these digests say: it has not changed since.
            files: earlier.flatten().unwrap_or(files),
            output_option: report::stamp(spec)
                .map_err(|error| format!("cannot read the `--output` file: {error}"))?,
            kept: keeper.finish(),
        })
    }

    /// What there was before an earlier attempt that watched the same files.
    fn of_earlier(spec: &Spec, folder: &Path) -> Option<Digests> {
        let earlier = Self::read(&AttemptDir::new(folder)).ok()?;
        let is_same = earlier.workspace == spec.workspace && earlier.artifacts == spec.artifacts;
        is_same.then_some(earlier.files)
    }

    /// Needs no sync: after a crash of the machine there is no evidence to be had from a workspace anyway.
    pub(crate) fn write(&self, dir: &AttemptDir) -> io::Result<()> {
        plain::write(&dir.before(), &serde_json::to_vec(self)?)
    }

    pub(crate) fn read(dir: &AttemptDir) -> io::Result<Self> {
        Ok(serde_json::from_slice(&plain::read(&dir.before(), LARGEST_RECORD_BYTES)?)?)
    }

    /// How the workspace differs now.
    pub(crate) fn changes_since(&self) -> io::Result<Vec<FileChange>> {
        let watched =
            Watched::new(&self.workspace, &self.artifacts, &self.never).map_err(io::Error::other)?;
        let changes = artifacts::changes(&self.files, &watched.look().digests);
        Ok(changes
            .into_iter()
            .map(|(path, change)| FileChange { path, change, file: None, before: None })
            .collect())
    }
}
