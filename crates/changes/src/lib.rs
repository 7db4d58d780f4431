//! What a run has changed, as every way in shows it.
//!
//! Owns which state of a run's files a name means ([`states`]), what differs between two of them ([`Comparison`]: rows, and lines for
//! people), the patch of git that a run comes to ([`Patch`]), and the versions of its artifacts ([`versions`]). It reads the store and the
//! folder of a run, and takes a snapshot only if the folder as it is now is asked for. How the result is printed or sent is not decided
//! here, nor who may see it.

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
