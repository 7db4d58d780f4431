//! Files and folders that are always complete, and survive a power failure.
//!
//! Owns temporary names, renames, and the order of fsyncs; and the safe opening of files that others may have
//! created. Does not interpret contents.
//!
//! ```
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("exit.json");
//! envoi_durable::replace(&path, b"{}")?;
//! envoi_durable::replace(&path, b"{\"code\":0}")?;
//! assert_eq!(std::fs::read(&path)?, b"{\"code\":0}");
//! assert!(!envoi_durable::write_new(&path, b"no")?, "what is there stays");
//! # Ok::<(), std::io::Error>(())
//! ```

mod copied;
mod folder;
mod mounts;
mod plain;
mod publish;
mod regular;
mod temporary;

pub use copied::{Sparse, copy_content, without_holes};
pub use folder::{
    create_folders, make_folders, parent, perhaps_changed, sync_file_system, sync_files, sync_folder,
};
pub use mounts::mount_below;
pub use plain::read_plain;
pub use publish::{make_secret, publish, write_new};
pub use regular::{
    is_not_regular, is_too_large, kind, open_regular, open_regular_at, open_regular_with, read_bounded,
    read_regular,
};
pub use temporary::{Temporary, create, is_being_written, is_temporary, put, renew, replace, temp_beside};
