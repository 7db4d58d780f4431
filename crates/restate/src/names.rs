//! The names of the objects, their handlers and their state keys in Restate. None of these may change while
//! runs are under way.

/// An object for each run. Its key is the run's id.
pub(crate) const RUN: &str = "EnvoiRun";
/// An object for each worker. Its key is the worker's name.
pub(crate) const WORKER: &str = "EnvoiWorker";
/// There is one such object.
pub(crate) const DISPATCHER: &str = "EnvoiDispatcher";
/// The key of the dispatcher.
pub(crate) const ALL: &str = "all";

/// Handler: a call with an answer, through the ingress.
pub(crate) const ASK: &str = "ask";
/// Handler: a message of another object. The ingress refuses it.
pub(crate) const TELL: &str = "tell";
/// Handler: adds a version of its flow to a run.
pub(crate) const FLOW: &str = "flow";
/// Handler: stores a commit.
pub(crate) const PUT: &str = "put";

/// State of a run: its control state.
pub(crate) const CONTROL: &str = "control";
/// State of a run: the workers' offers that it has used.
pub(crate) const OFFERS: &str = "offers";
/// State of a run: its flow, and later versions of it.
pub(crate) const FLOWS: &str = "flows";
/// The whole state of a worker or of the dispatcher.
pub(crate) const STATE: &str = "state";

/// The name of a replica's service.
pub(crate) fn replica(name: &str) -> String {
    format!("EnvoiReplica-{name}")
}
