//! The folders in which the runs of this engine work, for the engines of other stores.
//!
//! Owns which run holds the lock of its workspace, and since when. Whether two runs of one store may work in one folder is decided elsewhere
//! ([`crate::model::claim`]).

use crate::model::{claim::Claim, runner::CallingAttempt};
use envoi_kernel::ids::RunId;
use envoi_step::{Entrance, Presence};
use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

/// The workspaces in which runs of this engine are at work.
pub(crate) struct Presences {
    store: PathBuf,
    print_line: fn(&str),
    held: Mutex<BTreeMap<RunId, Presence>>,
}

/// How a run enters its workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Only if no run of another store is there.
    Alone,
    /// Beside any run that is there: it was started to share its workspace, it works for a run that is there, or it is inside already.
    Beside,
}

impl Manner {
    /// How a run enters that shares its workspace, or that was called by these attempts.
    pub(crate) fn of(shared: bool, within: &[CallingAttempt]) -> Self {
        if shared || !within.is_empty() { Self::Beside } else { Self::Alone }
    }
}

/// A run of another store is at work in the workspace.
#[derive(Debug, thiserror::Error)]
#[error("a run of another store is at work in the workspace `{}`{process}", workspace.display())]
pub(crate) struct Occupied {
    workspace: PathBuf,
    /// Its process, as a message goes on, if that is known.
    process: String,
}

impl Occupied {
    fn new(workspace: &Path, pid: Option<u32>) -> Self {
        let process = pid.map_or_else(String::new, |pid| format!(" (process {pid})"));
        Self { workspace: workspace.to_owned(), process }
    }
}

impl Presences {
    /// For the engine of the store in this folder. `print_line` gets a line for each workspace that cannot be locked.
    pub(crate) fn new(store: &Path, print_line: fn(&str)) -> Self {
        Self { store: store.to_owned(), print_line, held: Mutex::default() }
    }

    /// The run is at work in its workspace from now on. Says whether it was not before.
    ///
    /// # Errors
    /// A run of another store is at work there.
    pub(crate) fn enter(&self, claim: &Claim, manner: Manner) -> Result<bool, Occupied> {
        if claim.is_copy() || self.held().contains_key(&claim.run) {
            return Ok(false);
        }
        let workspace = Path::new(&claim.workspace);
        match entrance(workspace, &self.store, manner) {
            Ok(Entrance::Entered(presence)) => {
                self.held().insert(claim.run.clone(), presence);
                Ok(true)
            }
            Ok(Entrance::Occupied { pid }) => Err(Occupied::new(workspace, pid)),
            Err(error) => {
                self.cannot_lock(workspace, &error);
                Ok(false)
            }
        }
    }

    /// Until the guard is dropped, no run of another store enters this folder. `None`: it cannot be locked; a warning is
    /// logged.
    ///
    /// # Errors
    /// A run of another store is at work there, and it is entered [`Manner::Alone`].
    pub(crate) fn hold(&self, folder: &Path, manner: Manner) -> Result<Option<Presence>, Occupied> {
        match entrance(folder, &self.store, manner) {
            Ok(Entrance::Entered(presence)) => Ok(Some(presence)),
            Ok(Entrance::Occupied { pid }) => Err(Occupied::new(folder, pid)),
            Err(error) => {
                self.cannot_lock(folder, &error);
                Ok(None)
            }
        }
    }

    /// The run works there no more; its live attempts do by themselves.
    pub(crate) fn leave(&self, run: &RunId) {
        self.held().remove(run);
    }

    /// No run of this engine is at work any more.
    pub(crate) fn leave_all(&self) {
        self.held().clear();
    }

    /// That there can be no lock is no reason not to work there.
    fn cannot_lock(&self, workspace: &Path, error: &io::Error) {
        (self.print_line)(&format!(
            "the workspace `{}` cannot be locked, so that a run of another store there is not seen: {error}",
            workspace.display()
        ));
    }

    fn held(&self) -> std::sync::MutexGuard<'_, BTreeMap<RunId, Presence>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn entrance(folder: &Path, store: &Path, manner: Manner) -> io::Result<Entrance> {
    match manner {
        Manner::Beside => Presence::join(folder).map(Entrance::Entered),
        Manner::Alone => Presence::enter(folder, store),
    }
}
