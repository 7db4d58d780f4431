//! Runs on many machines, as pure functions: a state and a message in, a state and messages out.
//!
//! Owns who may start what, and what follows when a machine is gone. There are three kinds of objects: a
//! [`run`] decides, a [`worker_slot`] knows one worker (its slots, its lease, the runs that it holds), and
//! the [`dispatcher`] matches free slots with waiting runs. Each is a function that a platform calls, for one
//! message of an object at a time. The platform stores the state and delivers the sent messages. This crate
//! does no IO, reads no clock, and knows no platform.
//!
//! **Workers pull.** An attempt is decided for a worker that has a free slot, and `attempt_started` names
//! that worker ([`Place`]). Nothing else is permission to start anything: every other message is a hint. A
//! hint may arrive twice, late, or out of order, and a call of a worker may be lost. A worker asks for the
//! whole state that is wanted ([`Wanted`]), not for changes, so a lost answer costs one more call.
//!
//! **A worker without a heartbeat for the time of a lease is lost.** Its attempts are in doubt from then on,
//! and the flow decides what to do about them. The worker ends them earlier by itself: the supervisors on its
//! disk have a shorter deadline. Two incarnations of a worker never count as one: what was given to the lost
//! one stays lost ([`message::Caller`] says so, in case [`message::ToRun::Lost`] has not arrived yet). A
//! worker that joins from another [instance](Place::instance) may run on a copy of its disk, and must wait
//! until its earlier incarnation is lost.

pub mod dispatcher;
pub mod message;
mod place;
pub mod run;
mod seen;
pub mod wire;
pub mod worker_slot;

pub use message::{Message, Sent, Wanted};
pub use place::{BadPlace, Place, WorkerId};
