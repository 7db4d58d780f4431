//! Commands that examine and mend the machine and the store.

pub(crate) mod doctor;
pub(crate) mod repair;
pub(crate) mod store;
