//! Errors, and the values that the store takes and returns. No SQL, no files.

pub(crate) mod a2a;
pub(crate) mod chain;
pub(crate) mod commit;
pub(crate) mod damage;
pub(crate) mod delivery;
pub(crate) mod error;
pub(crate) mod import;
pub mod manifest;
pub(crate) mod network;
pub(crate) mod note;
pub(crate) mod retention;
pub(crate) mod rows;
