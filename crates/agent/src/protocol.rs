//! The client side of A2A: finding the agent, calling it, and interpreting its answers.
//!
//! Does not depend on attempts, files or questions to people.

pub(crate) mod card;
pub(crate) mod client;
pub(crate) mod endpoint;
pub(crate) mod http;
pub(crate) mod message;
pub(crate) mod part;
pub(crate) mod question;
pub(crate) mod task;
