//! Notices: each target of the outbox gets its notice at least once.

pub(crate) mod callers;
pub(crate) mod dispatcher;
mod errand;
mod masking;
mod notice;
pub(crate) mod settings;
