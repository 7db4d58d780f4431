//! An attempt as data: its order, folder, records and processes.

pub(crate) mod bringing;
pub(crate) mod cached;
pub(crate) mod crash_point;
pub(crate) mod dir;
pub(crate) mod displaced;
pub(crate) mod instance;
pub(crate) mod lease;
pub(crate) mod obstacles;
pub(crate) mod processes;
pub(crate) mod record;
pub(crate) mod spec;
pub(crate) mod starts;
