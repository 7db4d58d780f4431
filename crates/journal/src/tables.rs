//! The database: its schema, and how each table is written from events and notes.

pub(crate) mod a2a;
pub(crate) mod deliveries;
pub(crate) mod epoch;
pub(crate) mod identity;
pub(crate) mod names;
pub(crate) mod notes;
pub(crate) mod projection;
pub(crate) mod retention;
pub(crate) mod run_paths;
pub(crate) mod schema;
pub(crate) mod sql;
