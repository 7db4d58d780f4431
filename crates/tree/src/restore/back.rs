//! If a file system cannot exchange two names, a change that was killed may have laid a file aside and put nothing in its place. That file
//! goes back before any look at the folder: a missing file would be taken for one that a person has deleted.

use super::{
    aside::{PATHS, stages},
    reach::{Reach, is_expected, is_unknown, name},
};
use crate::model::{folders::Folders, list::is_plain};
use rustix::{
    fs::{AtFlags, CWD, RenameFlags, linkat, renameat, renameat_with, statat},
    io::Errno,
};
use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs, io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

/// Puts files back that lie aside while the new file still waits beside its free name.
pub(super) fn put_back(folder: &Path, place: &Path) -> io::Result<()> {
    for stage in stages(place)? {
        let laid = laid_aside(&stage)?;
        if laid.is_empty() {
            continue;
        }
        let list = match fs::read(stage.join(PATHS)) {
            // Whose they are is not known.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            read => read?,
        };
        let paths: Vec<&[u8]> = list.split(|byte| *byte == 0).collect();
        for (number, (_, old)) in laid {
            let is_open = fs::symlink_metadata(stage.join(format!("new-{number}"))).is_ok();
            let path = paths.get(number).copied().filter(|path| is_open && is_plain(path));
            let Some(path) = path else { continue };
            match (Reach { folder, back: &Folders::NONE }).parent(path, false) {
                // A person has taken away the folder around it.
                Err(error) if is_expected(&error) => {}
                parent => lay_back(&old, &parent?, name(path))?,
            }
        }
    }
    Ok(())
}

/// By number: the file that was laid aside last, with the number of its try.
fn laid_aside(stage: &Path) -> io::Result<BTreeMap<usize, (u32, PathBuf)>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(stage)? {
        let entry = entry?;
        let file = entry.file_name();
        let numbers = || {
            let (nth_try, number) = file.to_str()?.strip_prefix("old")?.split_once('-')?;
            Some((nth_try.parse::<u32>().ok()?, number.parse::<usize>().ok()?))
        };
        if let Some((nth_try, number)) = numbers() {
            let last = found.entry(number).or_insert((nth_try, entry.path()));
            if last.0 < nth_try {
                *last = (nth_try, entry.path());
            }
        }
    }
    Ok(found)
}

/// A name that is not free any more keeps its file.
pub(super) fn lay_back(old: &Path, parent: &OwnedFd, name: &OsStr) -> io::Result<()> {
    match renameat_with(CWD, old, parent, name, RenameFlags::NOREPLACE) {
        Ok(()) | Err(Errno::EXIST) => return Ok(()),
        Err(errno) if is_unknown(errno) => {}
        Err(errno) => return Err(errno.into()),
    }
    if !fs::symlink_metadata(old)?.is_dir() {
        match linkat(CWD, old, parent, name, AtFlags::empty()) {
            Ok(()) => return fs::remove_file(old),
            Err(Errno::EXIST) => return Ok(()),
            Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS | Errno::MLINK) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    match statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => Ok(renameat(CWD, old, parent, name)?),
        found => Ok(found.map(drop)?),
    }
}
