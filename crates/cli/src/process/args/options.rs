//! Options that several commands have.

mod engine;
mod isolation;
mod part;
mod reply;
mod values;

pub(crate) use engine::EngineArgs;
pub(crate) use isolation::IsolationArgs;
pub(crate) use part::PartArgs;
pub(crate) use reply::{Form, Reply};
pub(crate) use values::{Files, dollars, duration, size};
