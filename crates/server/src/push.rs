//! Push notifications: receivers named by A2A clients get the updates of tasks, at least once and in order.
//!
//! The delivery loop is in crate `notify` (`delivery_loop`), the same as for the engine's notices
//! (`engine/src/delivery/`). The deliveries differ. A notice is an independent row: any number of them may be
//! under way to one target, and each is delivered or given up on its own. A delivery here is a turn of a
//! configuration, which is a position in a run's events: the next notification is read when the turn begins,
//! none overtakes another, and a failing receiver delays all later ones.
//!
//! [`scheduler`] decides which configuration has a turn, [`dispatcher`] carries out a turn, [`event_source`]
//! provides the notifications, and [`retry`] decides when a failed receiver is tried again. `a2a` converts a
//! run to notifications. Crate `notify` posts, and decides which addresses are allowed.

pub(crate) mod dispatcher;
pub(crate) mod event_source;
pub(crate) mod retry;
pub(crate) mod scheduler;
