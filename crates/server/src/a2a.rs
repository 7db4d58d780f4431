//! A2A: other agents start, pause, answer and follow runs, in both versions of the protocol.
//!
//! The crate `a2a` reads requests and writes replies. This is the server: [`handler`] takes an HTTP request
//! and finds its operation ([`route`]), or [`refusal`] turns it away. [`card`] is the server's description of
//! itself. [`message`] starts a run or answers a question; [`tasks`] and [`push_configs`] read and change
//! tasks and their push configurations; [`wait`] and [`stream`] follow a run, and [`push_events`] makes the
//! notifications for receivers. [`task`] is a run as A2A clients see it.

pub(crate) mod card;
mod card_requests;
mod client;
pub(crate) mod handler;
mod message;
mod push_configs;
pub(crate) mod push_events;
pub(crate) mod refusal;
pub(crate) mod route;
mod stream;
mod task;
mod tasks;
mod wait;
