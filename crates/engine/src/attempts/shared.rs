//! What all attempts of an engine use.

use super::{
    accounts::AgentAccounts, callable_models::CallableModels, not_passed::AlreadyNamed, presence::Presences,
    secret_marks::SecretMarks, variables::PerAttempt,
};
use crate::{
    model::{crash_point::Point, message::Message},
    observe::placing::Placing,
};
use envoi_journal::{Blobs, Layout, ReadError, Reader, Store, Writer};
use envoi_kernel::ids::{AttemptId, RunId};
use envoi_step::{AttemptDir, Launcher, SecretMark};
use std::{
    io,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc::Sender},
};

pub(super) struct Shared {
    pub(super) store: Arc<Store>,
    pub(super) layout: Layout,
    pub(super) blobs: Blobs,
    pub(super) launcher: Launcher,
    pub(super) boot_id: String,
    pub(super) mailbox: Sender<Message>,
    pub(super) reached: fn(Point),
    pub(super) per_attempt: PerAttempt,
    pub(super) models: CallableModels,
    pub(super) accounts: AgentAccounts,
    pub(super) stream_cap_bytes: u64,
    /// No snapshots are taken of these folders, nor of one above them.
    pub(super) too_wide: Vec<PathBuf>,
    pub(super) large: Option<LargeSets>,
    pub(super) secret_marks: Mutex<Option<SecretMarks>>,
    pub(super) presences: Arc<Presences>,
    pub(super) readers: KeptReaders,
    pub(super) named: AlreadyNamed,
    /// As `named`, of variables that nothing shows to be missed.
    pub(super) named_besides: AlreadyNamed,
    /// As `named`, of variables that a failure does not let one think of.
    pub(super) named_aside: AlreadyNamed,
}

/// Connections to the store that attempts have used: to open one costs more than what an attempt asks of it.
#[derive(Default)]
pub(super) struct KeptReaders(Mutex<Vec<Reader>>);

/// More are not kept: so many attempts hardly ever ask at once.
const MOST_KEPT: usize = 4;

impl KeptReaders {
    /// What `ask` says of the store.
    ///
    /// # Errors
    /// The store cannot be opened, or what `ask` returns. A connection that has failed is not used again.
    pub(super) fn with<T, E: From<ReadError>>(
        &self,
        store: &Store,
        ask: impl FnOnce(&Reader) -> Result<T, E>,
    ) -> Result<T, E> {
        let kept = self.lock().pop();
        let reader = kept.map_or_else(|| store.reader(), Ok)?;
        let answer = ask(&reader)?;
        let mut kept = self.lock();
        if kept.len() < MOST_KEPT {
            kept.push(reader);
        }
        Ok(answer)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Reader>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What many files of one attempt need.
pub(super) struct LargeSets {
    /// Small contents are stored before the commit that names them.
    pub(super) writer: Arc<Writer>,
    /// Files of an earlier step may still be on their way to their places.
    pub(super) placing: Placing,
}

impl Shared {
    /// The marks of these secrets. The key of the store is made or read with the first of them.
    ///
    /// # Errors
    /// The key cannot be had.
    pub(super) fn marks(&self, secrets: &[(String, String)]) -> io::Result<Vec<SecretMark>> {
        if secrets.is_empty() {
            return Ok(Vec::new());
        }
        let mut known = self.secret_marks.lock().unwrap_or_else(PoisonError::into_inner);
        let marks = match &mut *known {
            Some(marks) => marks,
            none => none.insert(SecretMarks::of_store(self.layout.root())?),
        };
        Ok(marks.of(secrets.iter().map(|(name, value)| (name.as_str(), value.as_str()))))
    }

    pub(super) fn dir(&self, run: &RunId, attempt: &AttemptId) -> AttemptDir {
        AttemptDir::new(self.layout.attempt(run, attempt))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_used_again_unless_it_has_failed_and_few_are_kept() {
        let place = tempfile::tempdir().unwrap();
        let store = Store::open(Layout::new(place.path().join(".envoi"))).unwrap();
        let readers = KeptReaders::default();
        let epoch = |reader: &Reader| reader.epoch();
        assert_eq!(readers.with(&store, epoch).unwrap(), readers.with(&store, epoch).unwrap());
        assert_eq!(readers.lock().len(), 1);
        let fails = |_: &Reader| Err::<(), _>(ReadError::Missing { what: "run", id: "no".to_owned() });
        assert!(readers.with(&store, fails).is_err());
        assert_eq!(readers.lock().len(), 0);
        // So many ask at once: each within the one before it.
        fn nested(readers: &KeptReaders, store: &Store, depth: usize) {
            let within = |_: &Reader| {
                if depth > 0 {
                    nested(readers, store, depth - 1);
                }
                Ok::<(), ReadError>(())
            };
            readers.with(store, within).unwrap();
        }
        nested(&readers, &store, MOST_KEPT + 2);
        assert_eq!(readers.lock().len(), MOST_KEPT);
    }
}
