//! Push notifications: receivers that A2A clients have named get what happens to tasks, at least once and in order.
//!
//! [`scheduler`] decides whose turn it is, [`dispatcher`] takes the turns, [`event_source`] is what there is to send, and
//! [`retry`] decides when a receiver that failed is tried again. How a run becomes notifications is `a2a`'s. Posting, and
//! where an address may lead, is crate `notify`'s.

pub(crate) mod dispatcher;
pub(crate) mod event_source;
pub(crate) mod retry;
pub(crate) mod scheduler;
