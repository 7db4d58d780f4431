//! Commands about the server: its start, its page, its tokens.

mod going_on;
pub(crate) mod page;
pub(crate) mod serve;
pub(crate) mod token;
pub(crate) mod web;
