//! Tests that need whole processes or damaged files: killed engines, torn writes, full disks, two engines.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod child;
mod full;
mod killed;
mod looking;
mod torn;
mod two_engines;
