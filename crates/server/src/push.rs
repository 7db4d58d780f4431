//! Push notifications: receivers that A2A clients have named get what happens to tasks, at least once and in order.
//!
//! The engine's notices have a loop of their own (`engine/src/delivery/`), because what is sent is another thing. A notice is a row
//! that stands for itself: any number of them may be under way to one target, and each is delivered or given up alone. A configuration here
//! is a position in the events of a run: what is sent next is read when its turn comes, nothing overtakes it, and a receiver that fails
//! holds back all that follows. What both have in common is in crate `notify`: how many are under
//! way and whose share is used up (`turns`), when to try again (`retry`), how to post.
//!
//! [`scheduler`] decides whose turn it is, [`dispatcher`] takes the turns, [`event_source`] is what there is to send, and
//! [`retry`] decides when a receiver that failed is tried again. How a run becomes notifications is `a2a`'s. Posting, and
//! where an address may lead, is crate `notify`'s.

pub(crate) mod dispatcher;
pub(crate) mod event_source;
pub(crate) mod retry;
pub(crate) mod scheduler;
