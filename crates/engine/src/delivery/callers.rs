//! Environments of those who started or resumed runs: notices are sent with them.

use super::{masking, settings::Notices};
use crate::model::protocol::CallerWire;
use envoi_kernel::{Flow, ids::RunId};
use envoi_step::Secrets;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Who has started or resumed a run last.
pub(super) struct RunCaller {
    pub(super) caller: CallerWire,
    /// The flow's secrets; none if one of them cannot be had.
    pub(super) secrets: Option<Secrets>,
}

/// Environments of those who started or resumed runs, in memory only. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Callers {
    /// Whether a target of the configuration gets notices of every run.
    for_all: bool,
    by_run: Arc<Mutex<BTreeMap<RunId, Arc<RunCaller>>>>,
}

impl Callers {
    pub(crate) fn new(notices: &Notices) -> Self {
        Self { for_all: !notices.targets.is_empty(), ..Self::default() }
    }

    /// From now on notices of this run are sent with this one's environment. Nothing is kept if the run has no target.
    pub(crate) fn learn(&self, run: &RunId, flow: &Flow, caller: &CallerWire) {
        if self.for_all || !flow.notify.is_empty() {
            let secrets = masking::secrets_of(flow, caller);
            self.lock().insert(run.clone(), Arc::new(RunCaller { caller: caller.clone(), secrets }));
        }
    }

    pub(super) fn of(&self, run: &RunId) -> Option<Arc<RunCaller>> {
        self.lock().get(run).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<RunId, Arc<RunCaller>>> {
        self.by_run.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
