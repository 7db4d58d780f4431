//! What the objects, their handlers and their values are called at Restate. None of these may change while runs are under way.

/// One for each run; its key is the run's id.
pub(crate) const RUN: &str = "EnvoiRun";
/// One for each worker; its key is the worker's name.
pub(crate) const WORKER: &str = "EnvoiWorker";
/// There is one.
pub(crate) const DISPATCHER: &str = "EnvoiDispatcher";
/// Its key.
pub(crate) const ALL: &str = "all";

/// A call with an answer, by way of the ingress.
pub(crate) const ASK: &str = "ask";
/// A message of another object. The ingress refuses it.
pub(crate) const TELL: &str = "tell";
/// Adds a version of its flow to a run.
pub(crate) const FLOW: &str = "flow";
/// Takes a commit.
pub(crate) const PUT: &str = "put";

/// Of a run: what decides.
pub(crate) const CONTROL: &str = "control";
/// Of a run: which offers of workers it has used.
pub(crate) const OFFERS: &str = "offers";
/// Of a run: its flow, and the later versions of it.
pub(crate) const FLOWS: &str = "flows";
/// Of a worker and of the dispatcher: all of it.
pub(crate) const STATE: &str = "state";

/// The service of those who show runs.
pub(crate) fn replica(name: &str) -> String {
    format!("EnvoiReplica-{name}")
}
