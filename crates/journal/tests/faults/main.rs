//! Disks that fail: refused syncs and writes, full disks, power failures.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod adopted;
mod check;
mod life;
mod power;
mod refused;
