//! Chance that can be had again, and a disk that fails on request, for tests.
//!
//! Simulations make each random choice with [`Dice`].
//!
//! A `Disk` (with the feature `disk`) stands under the SQLite databases of one folder. It fails syncs and writes as its `Faults` say, and keeps a log of
//! what was written and synced, from which it makes what would be found after the power failed at any `Moment`.
//!
//! No program is built with this crate. The disk is installed as the default file system of SQLite in the test's
//! process, so that the code under test opens its databases as ever; databases elsewhere are untouched. It sees only what
//! SQLite does: files that are written otherwise never fail and do not survive.

mod dice;
#[cfg(feature = "disk")]
mod disk;
#[cfg(feature = "disk")]
mod image;
#[cfg(feature = "disk")]
mod shim;
#[cfg(feature = "disk")]
mod state;
#[cfg(feature = "disk")]
mod watched;

pub use dice::Dice;
#[cfg(feature = "disk")]
pub use disk::Disk;
#[cfg(feature = "disk")]
pub use image::{Moment, Survives};
#[cfg(feature = "disk")]
pub use state::Faults;
