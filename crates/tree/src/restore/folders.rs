//! Folders that a change takes away, so that an undo can make them again as they were.
//!
//! A folder that is made again has the mode `BEING_MADE` until everything is in it. It gets its own as the last thing. A folder that exists
//! already keeps its mode.

use super::{
    NotRestored, Restored,
    plan::Plan,
    reach::{Reach, is_expected, name},
    staged,
};
use crate::{
    disk::{contents::ContentError, intake::Intake},
    keep::Order,
    look::walk,
    model::{
        folders::{BEING_MADE, Folders, is_being_made},
        list::{MODE_BITS, ancestors},
    },
};
use envoi_contract::digest::Digest;
use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, fchmod, fstat, mkdirat, openat, statat},
    io::Errno,
};
use std::{
    collections::BTreeSet,
    fs, io,
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::Path,
};

/// Files that are made in such a folder get its group, and folders this bit too.
const SET_GROUP_ID: u32 = 0o2000;

/// A folder that was to come back as it was, and did not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherFolder {
    /// Its path.
    pub path: Vec<u8>,
    /// The remark for a person, as the part of the sentence after the name.
    pub why: String,
}

/// Stores the list of these folders, durably. `None`: there is none.
///
/// # Errors
/// [`NotRestored::NotStaged`].
pub fn keep_folders(order: &Order, folders: &Folders) -> Result<Option<Digest>, NotRestored> {
    if folders.is_empty() {
        return Ok(None);
    }
    let stored = || {
        order.contents.create()?;
        let shelf = order.contents.shelf()?;
        let mut intake = Intake::new(&shelf);
        let digest = intake.take(&folders.encode())?;
        intake.finish().map(|()| digest)
    };
    stored().map(Some).map_err(|source| staged(&order.contents.packs, source))
}

/// Reads what [`keep_folders`] has stored.
///
/// # Errors
/// The store does not have it, or it is no such list.
pub fn read_folders(order: &Order, digest: &Digest) -> Result<Folders, ContentError> {
    let place = &order.contents.files;
    let failed = |source| ContentError::Io { place: place.clone(), source };
    let bytes = order.contents.shelf().map_err(failed)?.read(digest)?;
    Folders::parse(&bytes).map_err(|error| failed(io::Error::new(io::ErrorKind::InvalidData, error)))
}

/// The folders that a plan takes away. A folder that has an ignored file in it may stay.
pub(super) fn that_go(folder: &Path, plan: &Plan<'_>) -> Folders {
    let mut folders = Folders::default();
    for path in &plan.emptied {
        if let Some(mode) = mode_of(&walk::full(folder, path)) {
            folders.add(path, mode);
        }
    }
    for path in &plan.folders {
        add_all(folder, path, &mut folders);
    }
    folders
}

fn mode_of(place: &Path) -> Option<u32> {
    fs::symlink_metadata(place).ok().filter(fs::Metadata::is_dir).map(|found| found.mode())
}

/// A folder and those in it. A folder that cannot be looked at comes back as a new folder.
fn add_all(root: &Path, path: &[u8], folders: &mut Folders) {
    let place = walk::full(root, path);
    let Some(mode) = mode_of(&place) else { return };
    folders.add(path, mode);
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let below = [path, b"/", entry.file_name().as_bytes()].concat();
        if is_folder {
            add_all(root, &below, folders);
        }
    }
}

/// Whether a change that was killed has made this folder, and has not completed it.
pub(super) fn is_half_made(folder: &Path, path: &[u8]) -> bool {
    mode_of(&walk::full(folder, path)).is_some_and(is_being_made)
}

/// Makes those that are not there: nothing came into them.
pub(super) fn make_folders(reach: &Reach<'_>, restored: &mut Restored) {
    for (path, _) in reach.back.iter() {
        let made = reach
            .parent(path, false)
            .and_then(|parent| Ok(mkdirat(&parent, name(path), Mode::from_raw_mode(BEING_MADE))?));
        // Something in its place, or a missing parent, is found when it gets its mode.
        if let Err(error) = made
            && !is_expected(&error)
        {
            restored.other(path, format!("was not made again: {error}"));
        }
    }
}

/// Gives those that were made their modes, the innermost first.
pub(super) fn close_folders(reach: &Reach<'_>, restored: &mut Restored) {
    let mut found = Vec::new();
    for (path, mode) in reach.back.iter().rev() {
        if let Err(why) = close(reach, path, mode) {
            found.push((path, why));
        }
    }
    let is_gone = |why: &Other| matches!(why, Other::Gone);
    let gone: BTreeSet<&[u8]> = found.iter().filter(|(_, why)| is_gone(why)).map(|(path, _)| *path).collect();
    for (path, why) in found.into_iter().rev() {
        let is_said = restored.folders.iter().any(|other| other.path == path)
            || ancestors(path).any(|above| gone.contains(above));
        match why {
            Other::Gone if is_said => {}
            Other::Gone => {
                restored.other(path, "was not made again: its place is taken, or gone".to_owned());
            }
            Other::Why(why) => restored.other(path, why),
        }
    }
}

fn close(reach: &Reach<'_>, path: &[u8], mode: u32) -> Result<(), Other> {
    let failed = |errno: Errno| match errno {
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP => Other::Gone,
        errno => {
            let reason = io::Error::from(errno);
            Other::Why(format!("did not get its mode {mode:03o} back: {reason}"))
        }
    };
    let parent = reach.parent(path, false);
    let parent = parent.map_err(|error| failed(Errno::from_io_error(&error).unwrap_or(Errno::IO)))?;
    let found = statat(&parent, name(path), AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?.st_mode;
    if FileType::from_raw_mode(found) != FileType::Directory {
        return Err(Other::Gone);
    }
    if !is_being_made(found) {
        return keeps(found & MODE_BITS, mode);
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = openat(&parent, name(path), flags, Mode::empty()).map_err(failed)?;
    // A person may have put another one there.
    let found = fstat(&opened).map_err(failed)?.st_mode;
    if !is_being_made(found) {
        return keeps(found & MODE_BITS, mode);
    }
    // The group bit that the parent folder passes on stays.
    fchmod(&opened, Mode::from_raw_mode(found & SET_GROUP_ID | mode)).map_err(failed)
}

fn keeps(found: u32, mode: u32) -> Result<(), Other> {
    match found == mode {
        true => Ok(()),
        false => {
            Err(Other::Why(format!("was there already and keeps its mode {found:03o}; it had {mode:03o}")))
        }
    }
}

/// Why a folder is not as it was.
enum Other {
    /// There is no folder.
    Gone,
    /// In words.
    Why(String),
}

impl Restored {
    fn other(&mut self, path: &[u8], why: String) {
        self.folders.push(OtherFolder { path: path.to_vec(), why });
    }
}
