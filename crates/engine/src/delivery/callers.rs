//! Environments of the clients that started or resumed runs: notices are sent with them.

use super::{masking, settings::Notices};
use crate::model::protocol::CallerWire;
use envoi_kernel::{
    Flow,
    flow::SecretSource,
    ids::RunId,
    notify::{Address, Target},
};
use envoi_step::Secrets;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The client that started or resumed a run last.
pub(super) struct RunCaller {
    pub(super) caller: CallerWire,
    /// The flow's secrets; `None` if one of them cannot be read.
    pub(super) secrets: Option<Secrets>,
}

/// Environments of the clients that started or resumed runs, in memory only. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Callers {
    /// Whether a target of the configuration receives notices of every run.
    for_all: bool,
    /// Variables that contain the tokens of these targets, or the keys of models.
    tokens: Arc<Vec<String>>,
    by_run: Arc<Mutex<BTreeMap<RunId, Arc<RunCaller>>>>,
}

impl Callers {
    pub(crate) fn new(notices: &Notices) -> Self {
        let tokens =
            variables_of_tokens(&notices.targets).map(str::to_owned).chain(notices.keys.clone()).collect();
        Self { for_all: !notices.targets.is_empty(), tokens: Arc::new(tokens), ..Self::default() }
    }

    /// A variable that an expression of the flow reads and that contains the token of a webhook or the key of
    /// a model. Its value would be stored in the journal.
    pub(crate) fn token_read_by<'f>(&self, flow: &'f Flow) -> Option<&'f str> {
        let is_token = |name: &&String| {
            variables_of_tokens(&flow.notify).any(|token| token == **name) || self.tokens.contains(name)
        };
        flow.env_read.iter().find(is_token).map(String::as_str)
    }

    /// From now on, notices of this run are sent with this client's environment. Keeps nothing if the run has
    /// no target.
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

fn variables_of_tokens(targets: &[Target]) -> impl Iterator<Item = &str> {
    targets.iter().filter_map(|target| match &target.to {
        Address::Webhook(webhook) => match webhook.token.as_ref()? {
            SecretSource::Env(name) => Some(name.as_str()),
            SecretSource::File(_) => None,
        },
        Address::Command(_) => None,
    })
}
