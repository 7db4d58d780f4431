//! Push notifications: receivers that clients have named are told what happens to tasks, at least once and in order.
//!
//! The configurations themselves are set and shown by [`super::pushes`]; here they are carried out. [`board`] says whose turn it
//! is, [`courier`] takes the turns, [`tale`] is what there is to tell, [`patience`] how long a receiver is waited for. Posting, and
//! where an address may lead, is crate `notify`'s.

mod board;
mod courier;
mod patience;
mod tale;

pub(crate) use board::Board;
pub(crate) use courier::{Courier, Means};
