//! A disk that fails on request, for tests.
//!
//! A [`Disk`] stands under the SQLite databases of one folder. It fails syncs and writes as its [`Faults`] say, and keeps a log of
//! what was written and synced, from which it makes what would be found after the power failed at any [`Moment`].
//!
//! A dev-dependency only: no program is built with it. It is installed as the default file system of SQLite in the test's
//! process, so that the code under test opens its databases as ever; databases elsewhere are untouched. It sees only what
//! SQLite does: files that are written otherwise never fail and do not survive.

mod disk;
mod image;
mod shim;
mod state;
mod watched;

pub use disk::Disk;
pub use image::{Moment, Survives};
pub use state::Faults;
