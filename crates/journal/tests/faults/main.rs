//! Disks that fail: syncs and writes that are refused, no room, and power that goes.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod check;
mod life;
mod power;
mod refused;
