//! Push notifications: receivers that A2A clients have named get what happens to tasks, at least once and in order.
//!
//! The loop that delivers is crate `notify`'s (`delivery_loop`), the same as for the engine's notices (`engine/src/delivery/`). What a
//! delivery is differs. A notice is a row that stands for itself: any number of them may be under way to one target, and each is delivered
//! or given up alone. A delivery here is a turn of a configuration, which is a position in the events of a run: what is sent next is read
//! when its turn comes, nothing overtakes it, and a receiver that fails holds back all that follows.
//!
//! [`scheduler`] decides whose turn it is, [`dispatcher`] does what a turn does, [`event_source`] is what there is to send, and
//! [`retry`] decides when a receiver that failed is tried again. How a run becomes notifications is `a2a`'s. Posting, and
//! where an address may lead, is crate `notify`'s.

pub(crate) mod dispatcher;
pub(crate) mod event_source;
pub(crate) mod retry;
pub(crate) mod scheduler;
