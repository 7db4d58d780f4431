//! Folders and their snapshots, through the crate's public interface.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at what it did not expect"
)]

mod elsewhere;
mod folder;
mod folder_modes;
mod kills;
mod merges;
mod restores;
mod snapshots;
mod unlisted;
