//! Copies of artifacts in the attempt's folder. The engine takes them into the store.

use super::{
    artifacts::{is_there, unreadable},
    cancellable::Cancellable,
};
use crate::{
    attempt::{dir::AttemptDir, record::FileRef},
    disk::{pieces, plain},
    mask::{Masker, Secrets},
};
use envoi_durable::Sparse;
use std::{
    fs::File,
    io::{self, Write as _},
    path::Path,
};

/// A copy of an artifact in the attempt's folder. On disk after [`envoi_durable::sync_files`].
pub(crate) struct Copied {
    pub(crate) file: FileRef,
    /// Whether it contains a secret.
    pub(crate) has_secret: bool,
}

/// Why there is no copy of an artifact.
#[derive(Debug)]
pub(crate) enum NoCopy {
    /// The artifact no longer exists: another run shares the workspace.
    Gone,
    /// It cannot be handed over; the text says why.
    LeftOut(String),
    /// It cannot be written to the attempt's folder.
    Machine(io::Error),
}

/// Copies `path` of the workspace below `files/`, unchanged.
pub(crate) fn copy(
    dir: &AttemptDir,
    workspace: &Path,
    path: &str,
    secrets: &Secrets,
) -> Result<Copied, NoCopy> {
    let from = plain::open_below(workspace, Path::new(path)).map_err(|error| {
        if is_there(&workspace.join(path)) { NoCopy::LeftOut(unreadable(&error)) } else { NoCopy::Gone }
    })?;
    copy_open(dir, from, path, secrets)
}

/// Like [`copy`], for a file that is open.
pub(crate) fn copy_open(
    dir: &AttemptDir,
    from: File,
    path: &str,
    secrets: &Secrets,
) -> Result<Copied, NoCopy> {
    let copy = create(dir, path)?;
    let mut to = Sparse::new(&copy);
    let mut masker = Masker::new(secrets);
    let mut ignored = Vec::new();
    let mut from = Source { file: Cancellable::large(dir, from), failed: false };
    let measure = pieces::read_through(&mut from, |piece| {
        masker.push(piece, &mut ignored);
        ignored.clear();
        to.write_all(piece)
    });
    let measure = measure.map_err(|error| match from.failed {
        true => NoCopy::LeftOut(unreadable(&error)),
        false => NoCopy::Machine(error),
    })?;
    masker.finish(&mut ignored);
    to.finish().map_err(NoCopy::Machine)?;
    let file = FileRef { path: format!("files/{path}"), bytes: measure.bytes, sha256: measure.sha256 };
    Ok(Copied { file, has_secret: masker.hits() > 0 })
}

fn create(dir: &AttemptDir, path: &str) -> Result<File, NoCopy> {
    plain::create_below(dir.path(), &Path::new("files").join(path)).map_err(|error| match error.kind() {
        // The attempt's folder may have a longer path than the workspace.
        io::ErrorKind::InvalidFilename => NoCopy::LeftOut(format!("its path is too long: {error}")),
        _ => NoCopy::Machine(error),
    })
}

/// A reader that records whether reading failed.
struct Source<'a> {
    file: Cancellable<'a, File>,
    failed: bool,
}

impl io::Read for Source<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer);
        self.failed = read.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::Interrupted);
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Even root cannot read the first page of a process.
    const UNREADABLE: (&str, &str) = ("/proc/self", "mem");

    #[test]
    fn an_unreadable_file_has_no_copy_and_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let dir = AttemptDir::new(folder.path());
        let copied = copy(&dir, Path::new(UNREADABLE.0), UNREADABLE.1, &Secrets::new(&[]));
        assert!(matches!(copied, Err(NoCopy::LeftOut(why)) if why.starts_with("it cannot be read: ")));
    }

    #[test]
    fn a_large_file_is_left_out_once_the_attempt_is_cancelled_and_a_usual_one_is_copied() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("usual"), "x").unwrap();
        File::create(folder.path().join("large")).unwrap().set_len(1 << 40).unwrap();
        let dir = AttemptDir::new(folder.path());
        fs::write(dir.cancel(), "").unwrap();
        let copied = |name| copy(&dir, folder.path(), name, &Secrets::new(&[]));
        assert_eq!(copied("usual").unwrap().file.bytes, 1);
        assert!(
            matches!(copied("large"), Err(NoCopy::LeftOut(why)) if why.ends_with("the attempt is cancelled"))
        );
    }

    #[test]
    fn an_attempt_whose_folder_cannot_take_them_is_not_settled_without_its_artifacts() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "x").unwrap();
        fs::create_dir_all(folder.path().join("files/a")).unwrap();
        let copied = copy(&AttemptDir::new(folder.path()), folder.path(), "a", &Secrets::new(&[]));
        assert!(matches!(copied, Err(NoCopy::Machine(_))));
    }
}
