//! The system's data on a file, as far as it shows whether the content is still the same.

use crate::model::list::MODE_BITS;
use std::{fs::Metadata, os::unix::fs::MetadataExt as _};

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) kind: Kind,
    /// The nine permission bits.
    pub(crate) mode: u32,
    pub(crate) size: u64,
    pub(crate) inode: u64,
    /// Seconds and nanoseconds.
    pub(crate) modified: (i64, u32),
    /// The time of the last change of content or of metadata. It cannot be set back.
    pub(crate) changed: (i64, u32),
}

/// The kinds of entries in a list, beside a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Link,
    EmptyFolder,
}

impl Stat {
    /// `None` for kinds that lists do not have: sockets, pipes, devices; and for folders.
    pub(crate) fn of(found: &Metadata) -> Option<Self> {
        match found.file_type() {
            kind if kind.is_file() => Some(Self::with(found, Kind::File)),
            kind if kind.is_symlink() => Some(Self::with(found, Kind::Link)),
            _ => None,
        }
    }

    pub(crate) fn with(found: &Metadata, kind: Kind) -> Self {
        let nanos = |value: i64| u32::try_from(value).unwrap_or(0);
        Self {
            kind,
            mode: found.mode() & MODE_BITS,
            size: found.size(),
            inode: found.ino(),
            modified: (found.mtime(), nanos(found.mtime_nsec())),
            changed: (found.ctime(), nanos(found.ctime_nsec())),
        }
    }
}
