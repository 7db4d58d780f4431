//! State that all attempts of an engine use.

use super::{
    accounts::AgentAccounts, callable_models::CallableModels, not_passed::AlreadyNamed, presence::Presences,
    secret_marks::SecretMarks, variables::PerAttempt,
};
use crate::{
    model::{crash_point::Point, message::Message},
    observe::placing::Placing,
};
use envoi_journal::{Blobs, Layout, Store, Writer};
use envoi_kernel::ids::{AttemptId, RunId};
use envoi_step::{AttemptDir, Launcher, SecretMark};
use envoi_tree::Bounds;
use std::{
    io,
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::Sender,
    },
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
    /// How much a snapshot may hold.
    pub(super) bounds: Bounds,
    pub(super) large: Option<LargeSets>,
    pub(super) secret_marks: Mutex<Option<SecretMarks>>,
    pub(super) presences: Arc<Presences>,
    /// Until when attempts may run that are started now, by [`envoi_step::boot_ms`], unless that is renewed. `None`: without an end.
    pub(super) lease_until_ms: Option<Arc<AtomicU64>>,
    pub(super) named: AlreadyNamed,
    /// As `named`, of variables that nothing shows to be missed.
    pub(super) named_besides: AlreadyNamed,
    /// As `named`, of variables that a failure does not let one think of.
    pub(super) named_aside: AlreadyNamed,
}

/// Services for an attempt with many files.
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
        self.with_marks(|marks| marks.of(secrets.iter().map(|(name, value)| (name.as_str(), value.as_str()))))
    }

    /// Digests of these values with the key of the store.
    ///
    /// # Errors
    /// The key cannot be had.
    pub(super) fn keyed(&self, values: &[(String, String)]) -> io::Result<Vec<String>> {
        self.with_marks(|marks| values.iter().map(|(name, value)| marks.keyed(name, value)).collect())
    }

    fn with_marks<T>(&self, of: impl FnOnce(&SecretMarks) -> T) -> io::Result<T> {
        let mut known = self.secret_marks.lock().unwrap_or_else(PoisonError::into_inner);
        let marks = match &mut *known {
            Some(marks) => marks,
            none => none.insert(SecretMarks::of_store(self.layout.root())?),
        };
        Ok(of(marks))
    }

    /// The end of the lease of an attempt that is ordered now.
    pub(super) fn lease_until_ms(&self) -> Option<u64> {
        self.lease_until_ms.as_ref().map(|until| until.load(Ordering::Relaxed))
    }

    pub(super) fn dir(&self, run: &RunId, attempt: &AttemptId) -> AttemptDir {
        AttemptDir::new(self.layout.attempt(run, attempt))
    }
}
