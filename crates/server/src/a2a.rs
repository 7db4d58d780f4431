//! A2A: other agents start, pause, answer and follow runs, in both versions of the protocol.
//!
//! [`protocol`] reads requests and writes replies. It is pure, and knows no run, task or tenant. The rest is the server:
//! [`handler`] takes an HTTP request and finds its operation, or [`refusal`] turns it away. [`message`] starts a run or answers
//! a question; [`tasks`] and [`push_configs`] look things up and change them; [`wait`] and [`stream`] follow a run, and
//! [`push_events`] is what receivers of notifications get. [`task`] is a run as A2A clients see it.

mod agent_card;
mod client;
pub(crate) mod handler;
mod message;
pub(crate) mod protocol;
mod push_configs;
pub(crate) mod push_events;
pub(crate) mod refusal;
mod stream;
mod task;
mod tasks;
mod wait;
