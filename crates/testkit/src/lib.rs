//! Repeatable random choices, addresses of a test's own, and a disk that fails on request, for tests.
//!
//! Simulations make each random choice with [`Dice`]. A test that needs an address at which nobody listens, or
//! not yet, or not any more, takes a [`HeldAddress`].
//!
//! A `Disk` (with the feature `disk`) is below the SQLite databases of one folder. It fails syncs and writes
//! as its `Faults` say, and keeps a log of writes and syncs, from which it makes the files that would exist
//! after a power failure at any `Moment`.
//!
//! No product program contains this crate. The disk is installed as SQLite's default file system in the
//! test's process, so that the code under test opens its databases as usual; databases elsewhere are not
//! affected. It sees only the operations of SQLite: files that are written in another way never fail, and do
//! not survive.

mod dice;
#[cfg(feature = "disk")]
mod disk;
mod held;
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
pub use held::HeldAddress;
#[cfg(feature = "disk")]
pub use image::{Moment, Survives};
#[cfg(feature = "disk")]
pub use state::Faults;
