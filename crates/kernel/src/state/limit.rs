//! The bounds of a run, and what counts towards them.

pub(crate) mod accounts;
pub(crate) mod bounds;
pub(crate) mod budget;
pub(crate) mod limit_question;
pub(crate) mod limits;
pub(crate) mod way_back;
