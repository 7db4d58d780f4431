//! The files of an attempt: the record of the visit, its report, and the files that the agent hands over.

pub(crate) mod handed_over;
pub(crate) mod log;
pub(crate) mod record;
pub(crate) mod report;
