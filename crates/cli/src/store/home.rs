//! Finds the store, and opens it to read or to change it.

use crate::{process::failure::Failure, store::waiting};
use envoi_contract::code::Code;
use envoi_journal::{Layout, OpenError, Reader, Store};
use envoi_step::plain;
use std::{
    env, fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The location of the store.
pub(crate) struct Home {
    given: Option<PathBuf>,
    pub(crate) json: bool,
}

impl Home {
    pub(crate) fn new(given: Option<PathBuf>, json: bool) -> Self {
        Self {
            given: given
                .or_else(|| env::var_os("ENVOI_HOME").filter(|home| !home.is_empty()).map(PathBuf::from)),
            json,
        }
    }

    /// The store's folder if the person named one.
    pub(crate) fn given(&self) -> Option<PathBuf> {
        self.given.clone()
    }

    /// The store's folder: the named one, or the nearest `.envoi` upward from the current folder, or a new
    /// one in the current folder.
    pub(crate) fn dir(&self) -> Result<PathBuf, Failure> {
        let here = env::current_dir().map_err(|error| Failure::machine("the current folder", error))?;
        if let Some(given) = &self.given {
            return Ok(resolved(&here.join(given)));
        }
        // Also matches a `.envoi` that is not a folder: the store of a parent folder would be the wrong one.
        let is_there = |candidate: &PathBuf| fs::symlink_metadata(candidate).is_ok();
        let nearest = here.ancestors().map(|folder| folder.join(".envoi")).find(is_there);
        Ok(resolved(&nearest.unwrap_or_else(|| here.join(".envoi"))))
    }

    /// Opens the store, and creates it if it is missing. Waits for another process that keeps it locked.
    pub(crate) fn open(&self) -> Result<Arc<Store>, Failure> {
        let dir = self.dir()?;
        if let Found::Other(what) = find(&dir) {
            return Err(occupied(&dir, &what));
        }
        let opened = waiting::for_the_store(|| Store::open(Layout::new(&dir)))?;
        Ok(Arc::new(opened.map_err(|error| cannot_open(&dir, &error))?))
    }

    /// Opens the store to read. Nothing is created, migrated or locked. A missing store has no runs.
    pub(crate) fn reader(&self) -> Result<(Store, Reader), Failure> {
        let dir = self.existing()?;
        let store = Store::open_read_only(Layout::new(&dir)).map_err(|error| match error {
            // The process that was creating it ended too early.
            OpenError::Older { found: 0, .. } => no_store(&dir),
            error => cannot_open(&dir, &error),
        })?;
        let reader = store.reader().map_err(Failure::store)?;
        Ok((store, reader))
    }

    /// Opens an existing store to change it.
    pub(crate) fn store(&self) -> Result<(Arc<Store>, Reader), Failure> {
        self.existing()?;
        let store = self.open()?;
        let reader = store.reader().map_err(Failure::store)?;
        Ok((store, reader))
    }

    /// The folder of an existing store.
    pub(crate) fn existing(&self) -> Result<PathBuf, Failure> {
        let dir = self.dir()?;
        match find(&dir) {
            Found::Store => Ok(dir),
            Found::Nothing => Err(no_store(&dir)),
            Found::Other(what) => Err(occupied(&dir, &what)),
        }
    }
}

/// The file that is at the location of a store.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Store,
    Nothing,
    /// A description of what is there instead.
    Other(String),
}

/// Examines the folder of a store. Missing permission is not reported as a missing store.
pub(crate) fn find(dir: &Path) -> Found {
    let database = dir.join("envoi.db");
    match (fs::metadata(dir), fs::metadata(&database)) {
        (Ok(folder), _) if !folder.is_dir() => {
            Found::Other(format!("there is {}, and no folder", plain::kind(folder.file_type())))
        }
        (Ok(_), Ok(file)) if file.is_file() => Found::Store,
        (Ok(_), Ok(file)) => {
            let kind = plain::kind(file.file_type());
            Found::Other(format!("`{}` is {kind}, and no file", database.display()))
        }
        (Ok(_), Err(error)) if error.kind() == io::ErrorKind::NotFound => Found::Nothing,
        (Ok(_), Err(error)) => Found::Other(format!("`{}`: {error}", database.display())),
        (Err(error), _) if error.kind() == io::ErrorKind::NotFound && fs::symlink_metadata(dir).is_err() => {
            Found::Nothing
        }
        (Err(error), _) => Found::Other(error.to_string()),
    }
}

fn occupied(dir: &Path, what: &str) -> Failure {
    let message = format!("the store `{}` cannot be used: {what}", dir.display());
    Failure::store(message).hint("`envoi doctor` looks closer")
}

fn no_store(dir: &Path) -> Failure {
    let message = format!("there is no store at `{}`", dir.display());
    Failure::new(Code::NoStore, message)
        .hint("`envoi run flow.yaml` makes one; or name one with --home or ENVOI_HOME")
}

/// Why a store cannot be opened, with the message of the system.
pub(crate) fn cannot_open(dir: &Path, error: &OpenError) -> Failure {
    if let OpenError::Copied { original, .. } = error {
        let message = format!(
            "the store `{}` is a copy of `{}`, which is still there: it can be read and not be used",
            dir.display(),
            original.display()
        );
        return Failure::new(Code::StoreCopied, message).hint(
            "go on in the original; or `envoi store adopt` makes the copy a store of its own (`envoi explain STORE_COPIED`)",
        );
    }
    Failure::store(format!("the store `{}`: {error}", dir.display())).hint(cure(error))
}

/// A possible remedy.
fn cure(error: &OpenError) -> &'static str {
    match error {
        OpenError::Io { .. } => "the folder of the store must be writable; `envoi doctor` says more",
        OpenError::Corrupt { .. } => {
            "restore it from a backup: what SQLite cannot read, `envoi repair` cannot either"
        }
        OpenError::Newer { .. } => "install the version of Envoi that has used it last; nothing was changed",
        OpenError::OfAnother { .. } => {
            "call it as that user (`sudo -u`), or give the whole folder to one user with `chown -R`; it can be read as it is"
        }
        OpenError::NotAFile { .. } => {
            "move it away, and try again: SQLite makes the files beside the database itself"
        }
        OpenError::Busy { .. } => "end that transaction (a backup, a database shell), and try again",
        _ => "`envoi doctor` looks closer",
    }
}

/// The canonical path of a folder, because processes of an attempt are recognized by it. Resolves links in
/// the path if it exists, or in its parent.
fn resolved(dir: &Path) -> PathBuf {
    if let Ok(found) = fs::canonicalize(dir) {
        return found;
    }
    match (dir.parent().and_then(|parent| fs::canonicalize(parent).ok()), dir.file_name()) {
        (Some(parent), Some(name)) => parent.join(name),
        _ => dir.to_owned(),
    }
}
