//! `before.json`: the state of the watched files just before the command. The file is missing if no files are
//! watched.
//!
//! The supervisor compares it with the state afterwards. If the supervisor did not live so long, the engine
//! does.

use std::io;
use std::path::{Path, PathBuf};

use envoi_tree::Tree;
use serde::{Deserialize, Serialize};

use crate::attempt::dir::AttemptDir;
use crate::attempt::displaced::Displaced;
use crate::attempt::record::{FileChange, LARGEST_RECORD_BYTES, SetBack, Snapshot, VERSION};
use crate::attempt::spec::Spec;
use crate::disk::pieces::{self, Measure};
use crate::disk::plain;
use crate::mask::Secrets;
use crate::output::report::{self, Candidate, Stamp};
use crate::output::strays;
use crate::workspace::artifacts::{self, Digests, PatternError, Watched};
use crate::workspace::kept::{Keeper, Kept};
use crate::workspace::slow::{self, Doing};

/// The state of the workspace before the command, and what is needed to read it again.
#[derive(Serialize, Deserialize)]
pub(crate) struct Before {
    version: u32,
    workspace: PathBuf,
    artifacts: Vec<String>,
    #[serde(default)]
    never: Vec<PathBuf>,
    /// The file that the command names by `--output`, relative to the workspace: an artifact in addition to
    /// the matching ones.
    #[serde(default)]
    named: Option<String>,
    /// Other paths where that file may be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    also_named: Vec<String>,
    pub(crate) files: Digests,
    /// The state of the file that the command names by `--output`, at the first of the candidates.
    output_option: Option<Stamp>,
    /// The paths where the report that the command names by `--output` may be.
    #[serde(skip)]
    pub(crate) candidates: Vec<Candidate>,
    /// The snapshot of the workspace, if one was wanted and could be taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) snapshot: Option<Snapshot>,
    /// Set if the files were restored before that snapshot, or should have been.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) set_back: Option<SetBack>,
    /// The files that a cached result has displaced, if its restore did not complete.
    #[serde(default, skip_serializing_if = "Displaced::is_nothing")]
    pub(crate) displaced: Displaced,
    /// The list of the snapshot.
    #[serde(skip)]
    pub(crate) tree: Option<Tree>,
    /// The parts that the snapshot lacks, in a sentence.
    #[serde(skip)]
    pub(crate) lack: Option<String>,
    /// Why the snapshot could not be taken.
    #[serde(skip)]
    pub(crate) no_snapshot: Option<String>,
    /// There was an earlier attempt, and the state of the files before it is not known.
    #[serde(skip)]
    pub(crate) earlier_is_unknown: bool,
    /// The old contents of the files. Only the supervisor has them.
    #[serde(skip)]
    pub(crate) kept: Kept,
    /// Length and digest of `before.json` as it was written.
    #[serde(skip)]
    pub(crate) written: Option<Measure>,
}

impl Before {
    /// Whether these bytes are such a record in its written form, with nothing else in it.
    pub(crate) fn has_form(bytes: &[u8]) -> bool {
        strays::is_form_of::<Self>(bytes)
    }

    /// Reads the workspace, and keeps the contents of files as far as possible.
    ///
    /// # Errors
    /// A pattern of artifacts is invalid: the command must not start.
    pub(crate) fn take(spec: &Spec, dir: &AttemptDir, secrets: &Secrets) -> Result<Self, PatternError> {
        let earlier = spec.since.as_ref().map(|folder| Self::of_earlier(spec, folder));
        let candidates = report::candidates(spec);
        // A verification hands over the files of the command that it verifies.
        let named = match &earlier {
            Some(earlier) => earlier.iter().flat_map(Self::named).map(str::to_owned).collect(),
            None => report::named_artifacts(spec, &candidates),
        };
        let mut keeper = Keeper::new(dir);
        let patterns = patterns(&spec.artifacts, named.iter().map(String::as_str));
        let watched = Watched::new(&spec.workspace, &patterns, &spec.never);
        let watched = watched?.without(secrets);
        let found = watched.find();
        let work = slow::announce(dir, Doing::Reading, found.names.len(), || watched.size_of(&found));
        let files = watched.measured(found, |path, file| keeper.measure(path, file)).digests;
        drop(work);
        let is_watched = !patterns.is_empty();
        let mut named = named.into_iter();
        Ok(Self {
            version: VERSION,
            workspace: spec.workspace.clone(),
            artifacts: spec.artifacts.clone(),
            never: spec.never.clone(),
            earlier_is_unknown: is_watched && matches!(earlier, Some(None)),
            named: named.next(),
            also_named: named.collect(),
            // A kept content is handed over only if it has the digest recorded here, that is, if it is the
            // file's content before the earlier attempt.
            files: earlier.flatten().map_or(files, |earlier| earlier.files),
            output_option: candidates.first().and_then(|first| first.stamp.clone()),
            candidates,
            snapshot: None,
            set_back: None,
            displaced: Displaced::default(),
            tree: None,
            lack: None,
            no_snapshot: None,
            kept: keeper.finish(),
            written: None,
        })
    }

    /// Records durably that the files are about to be restored. No files are watched yet.
    pub(crate) fn announce(spec: &Spec, dir: &AttemptDir, set_back: &SetBack) -> io::Result<()> {
        let displaced = Self::read(dir).map(|earlier| earlier.displaced).unwrap_or_default();
        let announced = Self { set_back: Some(set_back.clone()), displaced, ..Self::nothing(spec) };
        envoi_durable::replace(&dir.before(), &serde_json::to_vec(&announced)?)
    }

    /// Records durably which files a cached result has displaced. `before`: the other data that are known.
    pub(crate) fn note_displaced(
        before: Option<&mut Self>,
        spec: &Spec,
        dir: &AttemptDir,
        displaced: &Displaced,
    ) -> io::Result<()> {
        let mut nothing = Self::read(dir).unwrap_or_else(|_| Self::nothing(spec));
        let before = before.unwrap_or(&mut nothing);
        before.displaced = displaced.clone();
        before.write(dir)
    }

    /// An empty record.
    fn nothing(spec: &Spec) -> Self {
        Self {
            version: VERSION,
            workspace: spec.workspace.clone(),
            artifacts: Vec::new(),
            never: Vec::new(),
            named: None,
            also_named: Vec::new(),
            files: Digests::default(),
            output_option: None,
            candidates: Vec::new(),
            snapshot: None,
            set_back: None,
            displaced: Displaced::default(),
            tree: None,
            lack: None,
            no_snapshot: None,
            earlier_is_unknown: false,
            kept: Kept::default(),
            written: None,
        }
    }

    /// The state before an earlier attempt that watched the same files.
    fn of_earlier(spec: &Spec, folder: &Path) -> Option<Self> {
        let earlier = Self::read(&AttemptDir::new(folder)).ok()?;
        let is_same = earlier.workspace == spec.workspace && earlier.artifacts == spec.artifacts;
        is_same.then_some(earlier)
    }

    /// The paths where the file that the command names by `--output` may be.
    pub(crate) fn named(&self) -> impl Iterator<Item = &str> {
        self.named.iter().chain(&self.also_named).map(String::as_str)
    }

    /// The files that are compared before and after.
    pub(crate) fn watched(&self) -> Result<Watched<'_>, PatternError> {
        self.watched_and(None)
    }

    /// The same files, and one more that turned out to belong to them.
    pub(crate) fn watched_and(&self, also: Option<&str>) -> Result<Watched<'_>, PatternError> {
        let patterns = patterns(&self.artifacts, self.named().chain(also));
        Watched::new(&self.workspace, &patterns, &self.never)
    }

    /// Whether it has data that [`Before::read`] needs, or its time is needed: see `supervisor/misplaced.rs`.
    pub(crate) fn is_of_use(&self) -> bool {
        !self.artifacts.is_empty()
            || self.named.is_some()
            || !self.candidates.is_empty()
            || self.snapshot.is_some()
            || self.set_back.is_some()
            || !self.displaced.is_nothing()
    }

    /// Not synced in general: after a crash of the machine the workspace is no evidence anyway.
    pub(crate) fn write(&mut self, dir: &AttemptDir) -> io::Result<()> {
        let record = serde_json::to_vec(self)?;
        self.written = Some(pieces::read_through(&mut record.as_slice(), |_| Ok(()))?);
        // The record of files that can be restored must not be lost, so it is synced.
        match self.set_back.is_some() || !self.displaced.is_nothing() {
            true => envoi_durable::replace(&dir.before(), &record),
            false => plain::write(&dir.before(), &record),
        }
    }

    pub(crate) fn read(dir: &AttemptDir) -> io::Result<Self> {
        Ok(serde_json::from_slice(&plain::read(&dir.before(), LARGEST_RECORD_BYTES)?)?)
    }

    /// The current differences of the workspace.
    pub(crate) fn changes_since(
        &self,
        each: &mut impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<Vec<FileChange>> {
        let watched = self.watched().map_err(io::Error::other)?;
        let seen = watched.look_with(|_, mut file| pieces::read_through(&mut file, &mut *each));
        let changes = artifacts::changes(&self.files, &seen, false);
        Ok(changes
            .into_iter()
            .map(|(path, change)| FileChange { path, change, file: None, before: None })
            .collect())
    }
}

/// The patterns of a step, and the file that its command names.
fn patterns<'n>(artifacts: &[String], named: impl Iterator<Item = &'n str>) -> Vec<String> {
    artifacts.iter().cloned().chain(named.map(globset::escape)).collect()
}
