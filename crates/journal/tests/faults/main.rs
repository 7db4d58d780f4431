//! Disks that fail: syncs and writes that are refused, no room, and power that goes.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod adopted;
mod check;
mod life;
mod power;
mod refused;
