//! The files of a folder as they were at one moment, and the way back to them.
//!
//! Owns the list of a folder ([`Tree`]: mode, digest, size, path), the look at a folder with the cache that makes it cheap, the
//! contents of snapshots ([`Contents`]: single files, and packs of many), and the order in which files are put back. It knows neither
//! runs nor events: its callers decide when a snapshot is taken, its owner, and when a restore is allowed. It reads no environment.
//!
//! Its layers, the lowest first: `model` (the list, its comparison, the bounds), `disk` (contents), `look` (which files there are),
//! `keep` (a snapshot), `restore` (the way back).

mod disk;
pub mod git;
mod keep;
mod look;
mod model;
mod restore;

pub use disk::{
    contents::{ContentError, Contents, Shelf},
    examine::damage,
    sweep::SweptPacks,
};
pub use keep::{Gathered, Kept, NotKept, Order, gather, keep};
pub use model::{
    bounds::Bounds,
    compare::{Difference, differences},
    conflict::{Conflict, Why},
    folders::{Folders, NoFolders},
    list::{Entry, LeftOut, ListError, Tree, What},
    merge::Side,
    scope::Scope,
    stop::Stop,
};
pub use restore::{
    Comes, InConflict, Late, Later, Marked, Merged, NotMerged, NotRestored, OtherFolder, Restored, Stood,
    change, change_back, has_markers, keep_folders, lay, lay_conflicts, lay_over, merge, merge_marked,
    read_folders, restore, restore_back, stand, stand_to_change, with_ignored, without, write_into,
    written_since,
};
