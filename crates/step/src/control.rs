//! What the engine does with an attempt from outside: it starts it, cancels it, and finds out what became of it.

pub(crate) mod at_work;
pub(crate) mod cancel;
pub(crate) mod launch;
pub(crate) mod leftovers;
pub(crate) mod lost;
pub(crate) mod presence;
pub(crate) mod probe;
