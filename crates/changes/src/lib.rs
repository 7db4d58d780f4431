//! The changes that a run has made, for every interface that shows them.
//!
//! Owns which state of a run's files a name means ([`states`]), the differences between two of them
//! ([`Comparison`]: rows, and lines for people), the git patch of a run ([`Patch`]), and the versions of its
//! artifacts ([`versions`]). It reads the store and the folder of a run, and takes a snapshot only if the
//! current folder is compared. It does not decide how the result is printed or sent, nor who may see it.

mod comparison;
mod error;
pub mod git;
pub mod lines;
pub mod location;
mod patch;
pub mod states;
pub mod versions;

pub use comparison::{Comparison, Folder, tree_of};
pub use error::ChangesError;
pub use patch::{Fits, Lack, Patch};
