//! Commands about the server: starting it, its web page, its tokens.

pub(crate) mod cluster;
mod going_on;
pub(crate) mod page;
pub(crate) mod serve;
pub(crate) mod token;
pub(crate) mod web;
pub(crate) mod worker;
