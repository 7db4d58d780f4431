//! Runs on many machines, as pure functions: a state and a message in, a state and messages out.
//!
//! Owns who may start what, and what follows when a machine is gone. There are objects of three kinds: a [`run`] decides, a
//! [`worker_slot`] knows one worker (its slots, its lease, which runs it holds), and the [`dispatcher`] brings free slots and runs that
//! wait together. Each is a function that a platform calls, for one message of an object at a time. The platform keeps the state and
//! delivers what is sent. This crate does no IO and reads no clock, and knows no platform.
//!
//! **Workers pull.** An attempt is decided for a worker that has a free slot, and `attempt_started` names that worker ([`Place`]). Nothing
//! else is permission to start anything: every other message is a hint. A hint may come twice, late, or in another order than it was
//! sent, and a call of a worker may be lost. What a worker is to run is asked by level ([`Wanted`]), so a lost answer costs a question more.
//!
//! **A worker that is not heard of for the time of a lease is lost.** Its attempts are in doubt from then on, and the flow decides what
//! becomes of them. The worker ends them before that by itself: the supervisors on its disk keep a shorter deadline. Two incarnations
//! of a worker never count as one: what was given to the lost one stays lost ([`message::Caller`] says so, in case that
//! [`message::ToRun::Lost`] is still under way). A worker that joins from another [instance](Place::instance) may run on a copy of its disk, and has to
//! wait until the life before it is lost.

pub mod dispatcher;
pub mod message;
mod place;
pub mod run;
mod seen;
pub mod wire;
pub mod worker_slot;

pub use message::{Message, Sent, Wanted};
pub use place::{BadPlace, Place, WorkerId};
