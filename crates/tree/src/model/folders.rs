//! The list of folders that a change of files takes away, with their permission bits: an undo of the change makes them again from it.
//!
//! It is no snapshot, and no snapshot has it. It is in the store as a content of its own:
//!
//! ```text
//! envoi-folders 1
//! 750<TAB>src<NUL>
//! 500<TAB>src/closed<NUL>
//! ```
//!
//! Sorted by the bytes of the path, so that a folder comes before its contents.

use crate::model::list::{MODE_BITS, is_plain};
use std::collections::BTreeMap;

const HEADER: &[u8] = b"envoi-folders 1\n";

/// The mode of a folder that an undo has made, until all of its files are in it. Other users cannot look into it. An undo after a kill knows by it
/// that Envoi made the folder, and not a person: a sticky bit without write permission for others has no use, so people do not set it.
pub(crate) const BEING_MADE: u32 = 0o1700;

/// Whether this is the mode of such a folder. It may have got the set-group-ID bit of the folder around it.
pub(crate) fn is_being_made(mode: u32) -> bool {
    mode & 0o5777 == BEING_MADE
}

/// Bytes are no list of folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is no list of folders")]
pub struct NoFolders;

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Folders(BTreeMap<Vec<u8>, u32>);

impl Folders {
    /// None.
    pub const NONE: Self = Self(BTreeMap::new());

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The nine permission bits of a folder, if it is one of these.
    #[must_use]
    pub fn mode(&self, path: &[u8]) -> Option<u32> {
        self.0.get(path).copied()
    }

    /// Each with its permission bits; a folder comes before those in it.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&[u8], u32)> {
        self.0.iter().map(|(path, mode)| (path.as_slice(), *mode))
    }

    /// These, and those of a later change: a folder that is in both had the mode that it has here.
    #[must_use]
    pub fn and_later(&self, later: &Self) -> Self {
        let mut all = later.0.clone();
        all.extend(self.0.clone());
        Self(all)
    }

    pub(crate) fn add(&mut self, path: &[u8], mode: u32) {
        self.0.insert(path.to_vec(), mode & MODE_BITS);
    }

    /// The bytes of the list.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = HEADER.to_vec();
        for (path, mode) in &self.0 {
            bytes.extend_from_slice(format!("{mode:03o}\t").as_bytes());
            bytes.extend_from_slice(path);
            bytes.push(0);
        }
        bytes
    }

    /// Reads what [`Folders::encode`] has written, and nothing else.
    ///
    /// # Errors
    /// They are no such list.
    pub fn parse(bytes: &[u8]) -> Result<Self, NoFolders> {
        let body = bytes.strip_prefix(HEADER).ok_or(NoFolders)?;
        let mut folders = BTreeMap::new();
        let mut lines = body.split(|byte| *byte == 0);
        let ends = lines.next_back().is_some_and(<[u8]>::is_empty);
        for line in lines {
            let (path, mode) = read(line).filter(|(path, _)| is_plain(path)).ok_or(NoFolders)?;
            folders.insert(path.to_vec(), mode);
        }
        let read = Self(folders);
        // No path out of its order or twice.
        match ends && read.encode() == bytes {
            true => Ok(read),
            false => Err(NoFolders),
        }
    }
}

fn read(line: &[u8]) -> Option<(&[u8], u32)> {
    let (mode, path) = line.split_at_checked(4)?;
    let mode = core::str::from_utf8(mode).ok()?.strip_suffix('\t')?;
    Some((path, u32::from_str_radix(mode, 8).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders(all: &[(&[u8], u32)]) -> Folders {
        let mut folders = Folders::default();
        all.iter().for_each(|(path, mode)| folders.add(path, *mode));
        folders
    }

    #[test]
    fn a_list_of_folders_is_read_back() {
        let some = folders(&[(b"d/e", 0o500), (b"d", 0o2750), (b"odd\xff\n\t", 0o7)]);
        assert_eq!(some.encode(), b"envoi-folders 1\n750\td\x00500\td/e\x00007\todd\xff\n\t\0");
        assert_eq!(Folders::parse(&some.encode()).unwrap(), some);
        assert_eq!(Folders::parse(&Folders::NONE.encode()).unwrap(), Folders::NONE);
        let later = folders(&[(b"d", 0o700), (b"z", 0o711)]);
        let both = some.and_later(&later);
        assert_eq!(
            [&b"d"[..], b"d/e", b"z"].map(|path| both.mode(path)),
            [Some(0o750), Some(0o500), Some(0o711)]
        );
    }

    #[test]
    fn what_was_not_written_so_is_no_list_of_folders() {
        for wrong in [
            &b""[..],
            b"envoi-tree 1\n",
            b"envoi-folders 1\n750\td",
            b"envoi-folders 1\n0750\td\0",
            b"envoi-folders 1\n+50\td\0",
            b"envoi-folders 1\n780\td\0",
            b"envoi-folders 1\n750 d\0",
            b"envoi-folders 1\n750\t../d\0",
            b"envoi-folders 1\n750\t/d\0",
            b"envoi-folders 1\n750\td/.git\0",
            b"envoi-folders 1\n750\td\x00750\td\0",
            b"envoi-folders 1\n750\te\x00750\td\0",
        ] {
            assert!(Folders::parse(wrong).is_err(), "{}", wrong.escape_ascii());
        }
    }
}
