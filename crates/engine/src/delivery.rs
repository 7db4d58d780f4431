//! Notices: each target of the outbox gets its notice at least once.

pub(crate) mod callers;
pub(crate) mod dispatcher;
mod masking;
mod notice;
mod prepared;
pub(crate) mod settings;
