//! The engine's operations on an attempt: start it, cancel it, and find out how it ended.

pub(crate) mod at_work;
pub(crate) mod cancel;
pub(crate) mod launch;
pub(crate) mod leftovers;
pub(crate) mod lost;
pub(crate) mod presence;
pub(crate) mod probe;
