//! Commands that examine and repair the machine and the store.

pub(crate) mod doctor;
pub(crate) mod repair;
pub(crate) mod store;
