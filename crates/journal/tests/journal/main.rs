//! What only whole processes and damaged files can show: killed engines, torn writes, no room, two engines.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod child;
mod full;
mod killed;
mod looking;
mod torn;
mod two_engines;
