//! Notices: each target of the outbox gets its notice at least once.
//!
//! Notices are independent rows, in no order. Push notifications of A2A are sent in order, from a position in
//! the events of a run: the server has a loop of its own for those (`server/src/push/`). Both use `turns` of
//! crate `notify` to decide what may begin.

pub(crate) mod callers;
pub(crate) mod dispatcher;
mod error;
mod masking;
mod notice;
mod prepared;
pub(crate) mod settings;
