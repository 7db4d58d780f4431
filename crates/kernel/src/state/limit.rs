//! The bounds of a run, and the usage that counts towards them.

pub(crate) mod accounts;
pub(crate) mod bounds;
pub(crate) mod budget;
pub(crate) mod limit_question;
pub(crate) mod limits;
pub(crate) mod way_back;
