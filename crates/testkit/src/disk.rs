//! The disk below one folder: plans its faults, and reads its log.

use crate::{
    image::{Act, Moment, Survives, image},
    shim,
    state::{Counts, Faults, State},
    watched,
};
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard},
};

/// The disk below the databases of one folder. It is active as long as this value, or an open file on it,
/// lives. If there are two for the same folder, the newer one counts.
#[derive(Debug)]
pub struct Disk {
    root: PathBuf,
    state: Arc<Mutex<State>>,
}

impl Disk {
    /// Puts a disk below every database that is opened from now on in an existing folder.
    ///
    /// # Errors
    /// There is no such folder, or SQLite refuses another file system.
    pub fn below(folder: &Path) -> io::Result<Self> {
        let root = fs::canonicalize(folder)?;
        let state = Arc::default();
        watched::add(root.clone(), &state);
        shim::install()?;
        Ok(Self { root, state })
    }

    /// Plans these faults from now on, and restarts the counts at 0.
    pub fn plan(&self, faults: Faults) {
        let mut state = self.state();
        state.faults = faults;
        state.counts = Counts::default();
    }

    /// How many syncs and writes the disk has refused since [`Disk::plan`].
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.state().counts.refused
    }

    /// How many bytes its files have grown since [`Disk::plan`].
    #[must_use]
    pub fn grown_bytes(&self) -> u64 {
        self.state().counts.grown_bytes
    }

    /// The current moment.
    #[must_use]
    pub fn now(&self) -> Moment {
        Moment(self.state().log.len())
    }

    /// The moments before each sync that made something durable, and the current one. Between two of them
    /// [`Survives::Synced`] gives the same files, except for removed ones.
    #[must_use]
    pub fn before_syncs(&self) -> Vec<Moment> {
        let state = self.state();
        let syncs = state.log.iter().enumerate().filter(|(_, entry)| matches!(entry.act, Act::Synced));
        syncs.map(|(place, _)| Moment(place)).chain([Moment(state.log.len())]).collect()
    }

    /// Writes to another folder the files that would exist after a power failure at a moment.
    ///
    /// # Errors
    /// The files cannot be written.
    pub fn power_loss(&self, at: Moment, survives: Survives, target: &Path) -> io::Result<()> {
        let state = self.state();
        let log = state.log.get(..at.0).unwrap_or(&state.log);
        for (path, bytes) in image(log, survives) {
            let copy = target.join(path.strip_prefix(&self.root).unwrap_or(path));
            if let Some(folder) = copy.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::write(copy, bytes)?;
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        watched::lock(&self.state)
    }
}
