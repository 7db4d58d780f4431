//! Where the store is, and how it is opened to read or to change it.

use crate::{process::failure::Failure, store::waiting};
use envoi_contract::code::Code;
use envoi_journal::{Layout, OpenError, Reader, Store};
use envoi_step::plain;
use std::{
    env, fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// See the module.
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

    /// The store's folder if one was named.
    pub(crate) fn given(&self) -> Option<PathBuf> {
        self.given.clone()
    }

    /// The store's folder: as given, else the nearest `.envoi` upward from the current folder, else one to be made in it.
    pub(crate) fn dir(&self) -> Result<PathBuf, Failure> {
        let here = env::current_dir().map_err(|error| Failure::machine("the current folder", error))?;
        if let Some(given) = &self.given {
            return Ok(resolved(&here.join(given)));
        }
        // Also one that is no folder: the store of a folder above is not the one that is meant.
        let is_there = |candidate: &PathBuf| fs::symlink_metadata(candidate).is_ok();
        let nearest = here.ancestors().map(|folder| folder.join(".envoi")).find(is_there);
        Ok(resolved(&nearest.unwrap_or_else(|| here.join(".envoi"))))
    }

    /// The store, made where it is missing. One that another process keeps locked is waited for.
    pub(crate) fn open(&self) -> Result<Arc<Store>, Failure> {
        let dir = self.dir()?;
        if let Found::Other(what) = find(&dir) {
            return Err(occupied(&dir, &what));
        }
        let opened = waiting::for_the_store(|| Store::open(Layout::new(&dir)))?;
        Ok(Arc::new(opened.map_err(|error| cannot_open(&dir, &error))?))
    }

    /// The store to look at: nothing is made, migrated or locked for that. One that is not there has no runs.
    pub(crate) fn reader(&self) -> Result<(Store, Reader), Failure> {
        let dir = self.existing()?;
        let store = Store::open_read_only(Layout::new(&dir)).map_err(|error| match error {
            // The process that was to make it was ended before.
            OpenError::Older { found: 0, .. } => no_store(&dir),
            error => cannot_open(&dir, &error),
        })?;
        let reader = store.reader().map_err(Failure::store)?;
        Ok((store, reader))
    }

    /// The store to change, which must be there.
    pub(crate) fn store(&self) -> Result<(Arc<Store>, Reader), Failure> {
        self.existing()?;
        let store = self.open()?;
        let reader = store.reader().map_err(Failure::store)?;
        Ok((store, reader))
    }

    /// The folder of the store, which must be there.
    pub(crate) fn existing(&self) -> Result<PathBuf, Failure> {
        let dir = self.dir()?;
        match find(&dir) {
            Found::Store => Ok(dir),
            Found::Nothing => Err(no_store(&dir)),
            Found::Other(what) => Err(occupied(&dir, &what)),
        }
    }
}

/// What stands in the place of a store.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Store,
    Nothing,
    /// What is in its way, in words.
    Other(String),
}

/// What is found at the folder of a store. What may not be looked at is not nothing.
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

/// Why a store cannot be opened, with what the machine says about it.
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

/// What may help.
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

/// One spelling for one folder: processes of an attempt are known by it. Without links where it exists, else where its
/// parent does.
fn resolved(dir: &Path) -> PathBuf {
    if let Ok(found) = fs::canonicalize(dir) {
        return found;
    }
    match (dir.parent().and_then(|parent| fs::canonicalize(parent).ok()), dir.file_name()) {
        (Some(parent), Some(name)) => parent.join(name),
        _ => dir.to_owned(),
    }
}
