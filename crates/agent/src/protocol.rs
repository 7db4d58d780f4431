//! A2A as a client speaks it: finding the agent, its calls, and what its answers mean.
//!
//! Knows nothing of attempts, files or questions to people.

pub(crate) mod card;
pub(crate) mod client;
pub(crate) mod endpoint;
pub(crate) mod http;
pub(crate) mod message;
pub(crate) mod part;
pub(crate) mod question;
pub(crate) mod task;
