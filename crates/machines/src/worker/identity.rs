//! The identity of a worker, in its own folder: its name, and how often it has joined.
//!
//! Ensures that a join call is made only after its number is durable, and that an incarnation is used only
//! after the folder has it. So a worker that is killed at any moment joins again as itself, and a copy of its
//! folder is detected.

use envoi_cluster::WorkerId;
use serde::{Deserialize, Serialize};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// The name of the file.
const FILE: &str = "worker.json";
/// Much more than the file ever has.
const LARGEST_BYTES: u64 = 4096;

/// The identity, and the file that stores it.
#[derive(Debug)]
pub(super) struct Identity {
    path: PathBuf,
    known: Known,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    worker: WorkerId,
    /// Its last incarnation; 0 before the first one.
    incarnation: u64,
    /// The number of the join call, until it is answered.
    joining: Option<u64>,
}

/// Why the folder does not tell the worker's identity.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// The file cannot be read, written or parsed.
    #[error("`{}` cannot be used: {source}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The folder belongs to another worker.
    #[error("the folder is that of worker `{known}`, not of `{given}`")]
    Other {
        /// The worker of the folder.
        known: WorkerId,
        /// The given name.
        given: WorkerId,
    },
}

impl Identity {
    /// The identity in this folder. A folder without one gets `name`, or `fresh` if no name is given.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub(super) fn of(
        home: &Path,
        name: Option<&WorkerId>,
        fresh: impl FnOnce() -> WorkerId,
    ) -> Result<Self, IdentityError> {
        let path = home.join(FILE);
        let failed = |source: io::Error| IdentityError::File { path: path.clone(), source };
        let found = envoi_durable::read_plain(&path, LARGEST_BYTES).map_err(failed)?;
        let known: Known = match found {
            Some(bytes) => serde_json::from_slice(&bytes).map_err(|error| failed(io::Error::from(error)))?,
            None => {
                let worker = name.cloned().unwrap_or_else(fresh);
                let known = Known { worker, incarnation: 0, joining: None };
                fs::create_dir_all(home).map_err(failed)?;
                let identity = Self { path, known };
                identity.write()?;
                return Ok(identity);
            }
        };
        match name {
            Some(name) if *name != known.worker => {
                Err(IdentityError::Other { known: known.worker, given: name.clone() })
            }
            _ => Ok(Self { path, known }),
        }
    }

    pub(super) fn worker(&self) -> &WorkerId {
        &self.known.worker
    }

    /// The last incarnation, and the number for the join call; durable when it returns.
    ///
    /// # Errors
    /// [`IdentityError`]: the call must not be made.
    pub(super) fn joining(&mut self, fresh: u64) -> Result<(u64, u64), IdentityError> {
        let number = match self.known.joining {
            Some(number) => number,
            None => {
                self.known.joining = Some(fresh);
                self.write()?;
                fresh
            }
        };
        Ok((self.known.incarnation, number))
    }

    /// Records that the worker has joined; durable when it returns.
    ///
    /// # Errors
    /// [`IdentityError`]: the incarnation must not be used.
    pub(super) fn joined(&mut self, incarnation: u64) -> Result<(), IdentityError> {
        (self.known.incarnation, self.known.joining) = (incarnation, None);
        self.write()
    }

    fn write(&self) -> Result<(), IdentityError> {
        let written = serde_json::to_vec(&self.known)
            .map_err(io::Error::from)
            .and_then(|bytes| envoi_durable::replace(&self.path, &bytes));
        written.map_err(|source| IdentityError::File { path: self.path.clone(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> WorkerId {
        WorkerId::new(name).unwrap()
    }

    #[test]
    fn a_call_to_join_keeps_its_number_until_the_folder_has_the_life() {
        let home = tempfile::tempdir().unwrap();
        let again = || Identity::of(home.path(), None, || panic!("it has a name")).unwrap();
        let mut identity = Identity::of(home.path(), None, || named("w-1")).unwrap();
        assert_eq!(identity.joining(7).unwrap(), (0, 7));
        // Killed before the answer arrived, or before the answer was written to the folder.
        assert_eq!(again().joining(8).unwrap(), (0, 7));
        again().joined(1).unwrap();
        assert_eq!(again().joining(9).unwrap(), (1, 9), "the next life has another number");
        assert_eq!(again().worker().as_str(), "w-1");
    }

    #[test]
    fn a_folder_stays_that_of_its_worker() {
        let home = tempfile::tempdir().unwrap();
        let of = |name: &WorkerId| Identity::of(home.path(), Some(name), || panic!("it was named"));
        of(&named("gpu-1")).unwrap();
        of(&named("gpu-1")).unwrap();
        assert!(matches!(of(&named("gpu-2")), Err(IdentityError::Other { .. })));
        fs::write(home.path().join(FILE), "{").unwrap();
        assert!(matches!(of(&named("gpu-1")), Err(IdentityError::File { .. })), "it is not made anew");
    }
}
