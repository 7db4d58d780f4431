//! The newest version of each artifact, in the folder of its flow.
//!
//! An artifact that has no place, because of its name or because another one is in the way, is passed over: its run must go
//! on, and its content stays by digest.

use super::run_files::{Restored, RunFiles};
use crate::{
    folder::beneath::PathBeneath,
    model::{error::FileError, rows::ArtifactRow},
};
use envoi_contract::digest::Digest;
use envoi_durable::Sparse;
use envoi_kernel::{event::AttemptSettled, ids::FlowId};
use std::{
    collections::BTreeSet,
    fs::Permissions,
    io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

/// The folder of an attempt with the copies of its artifacts.
const COPIES: &str = "files";

impl RunFiles<'_> {
    pub(super) fn write_artifacts(&self, flow: &FlowId, settled: &AttemptSettled) -> Result<(), FileError> {
        let files = self.reader.files_of(settled)?;
        let mut changes: Vec<_> = files.iter().map(|file| (&file.path, file.blob.as_ref())).collect();
        // A file may have become a folder: deleted files make room first.
        changes.sort_by_key(|(_, blob)| blob.is_some());
        // The copies of a large set are not needed any more, now that it is committed: they are moved, not copied again.
        let copies =
            settled.manifest.as_ref().map(|_| self.layout.attempt(self.run, &settled.attempt).join(COPIES));
        for (path, blob) in changes {
            let moved = match (&copies, blob) {
                (Some(copies), Some(blob)) => self.move_into_place(flow, path, &blob.digest, copies),
                _ => false,
            };
            if !moved {
                self.write_artifact(flow, path, blob.map(|blob| &blob.digest))?;
            }
        }
        Ok(())
    }

    /// Whether the copy that the attempt made is the content, and lies in its place now.
    pub(super) fn move_into_place(&self, flow: &FlowId, path: &str, digest: &Digest, copies: &Path) -> bool {
        let Some(target) = self.target(flow, path) else { return false };
        let copy = copies.join(path);
        if self.digest_of(&copy) != Some(*digest) {
            // It was moved before this engine came; or it was changed, and the store has the content.
            return self.digest_of(&target) == Some(*digest);
        }
        let root = self.layout.root();
        let (Ok(from), Ok(to)) = (PathBeneath::find(root, &copy), PathBeneath::make(root, &target)) else {
            return false;
        };
        let moved = || {
            from.open()?.set_permissions(Permissions::from_mode(0o400))?;
            to.take(&from)
        };
        moved().is_ok()
    }

    /// False if it has no place.
    fn write_artifact(&self, flow: &FlowId, path: &str, digest: Option<&Digest>) -> Result<bool, FileError> {
        let Some(target) = self.target(flow, path) else { return Ok(false) };
        let placed = match digest {
            Some(digest) => self.replace(&target, |file| {
                let mut to = Sparse::new(file);
                self.reader.write_blob(digest, &mut to)?;
                Ok(to.finish()?)
            }),
            None => remove(self.layout.root(), &target, &self.layout.flow(self.run, flow)),
        };
        match placed {
            // Above the flow's folder something else is wrong than the artifact's name.
            Err(FileError::Io { path, source })
                if is_in_the_way(&source) && path.starts_with(self.layout.flow(self.run, flow)) =>
            {
                Ok(false)
            }
            placed => placed.map(|()| true),
        }
    }

    fn target(&self, flow: &FlowId, path: &str) -> Option<PathBuf> {
        is_plain(path).then(|| self.layout.artifact_place(self.run, flow, path))
    }

    /// `lists` are the places of the lists of large sets. Older builds took an artifact of that name, which then lay in the place of
    /// the list, or the list in that of the artifact: the hand-off names the list.
    pub(super) fn restore_artifacts(
        &self,
        mut places: Vec<ArtifactRow>,
        lists: &BTreeSet<PathBuf>,
        restored: &mut Restored,
    ) -> Result<(), FileError> {
        places.sort_by_key(|place| place.digest.is_some());
        for ArtifactRow { flow, path, digest, .. } in places {
            let target = self.target(&flow, &path);
            if target.as_ref().is_some_and(|target| lists.contains(target)) {
                restored.unplaceable.extend(digest.map(|_| format!("{flow}/{path}")));
                continue;
            }
            match target {
                Some(target) if self.digest_of(&target) == digest => {}
                Some(target) if self.write_artifact(&flow, &path, digest.as_ref())? => {
                    restored.written.push(target)
                }
                _ => restored.unplaceable.push(format!("{flow}/{path}")),
            }
        }
        Ok(())
    }
}

/// Whether a file cannot be where it should, because of its name or of another that is there; not for want of room or
/// rights.
fn is_in_the_way(error: &io::Error) -> bool {
    use io::ErrorKind::{AlreadyExists, DirectoryNotEmpty, InvalidFilename, IsADirectory, NotADirectory};
    matches!(error.kind(), AlreadyExists | DirectoryNotEmpty | InvalidFilename | IsADirectory | NotADirectory)
}

/// Removes a file, and the folders above it that are empty then, up to the flow's own.
fn remove(root: &Path, target: &Path, flow_folder: &Path) -> Result<(), FileError> {
    let is_missing = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    let spot = match PathBeneath::find(root, target) {
        Err(blocked) if is_missing(&blocked.source) => return Ok(()),
        found => found?,
    };
    match spot.remove() {
        Err(source) if !is_missing(&source) => {
            return Err(FileError::Io { path: target.to_owned(), source });
        }
        _ => {}
    }
    let above = target.ancestors().skip(1).take_while(|folder| *folder != flow_folder);
    for folder in above {
        if !PathBeneath::find(root, folder).is_ok_and(|spot| spot.remove_folder().is_ok()) {
            break;
        }
    }
    Ok(())
}

/// Whether an artifact's path stays in its flow's folder and out of the hand-offs.
#[must_use]
pub fn is_plain(path: &str) -> bool {
    let segment = |segment: &str| !matches!(segment, "" | "." | "..");
    path.split('/').all(segment) && !path.contains(['\\', '\0']) && path.split('/').next() != Some("handoff")
}
