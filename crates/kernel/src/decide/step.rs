//! The work of a visit, by the kind of its step, and the results of its attempts.

pub(crate) mod agent;
pub(crate) mod ask;
pub(crate) mod data;
pub(crate) mod for_each;
pub(crate) mod model_call;
pub(crate) mod own_login;
pub(crate) mod program;
pub(crate) mod render;
pub(crate) mod retry;
pub(crate) mod subflow;
pub(crate) mod subject;
pub(crate) mod throttle;
pub(crate) mod verdict;
pub(crate) mod verify;
