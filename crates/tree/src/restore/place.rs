//! Writes all new files to a staging folder, then swaps each with the current file.

use super::{
    NotRestored, Restored,
    aside::{BEING_WRITTEN, PATHS},
    back::lay_back,
    folders::{close_folders, make_folders},
    incomplete,
    plan::Plan,
    reach::{Reach, is_expected, is_unknown, name},
    staged,
};
use crate::{
    disk::contents::Shelf,
    look::walk,
    model::{
        folders::{BEING_MADE, Folders, is_being_made},
        list::{Entry, Tree, What},
    },
};
use rustix::{
    fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, linkat, mkdirat, openat, renameat, renameat_with},
    io::Errno,
};
use std::{
    ffi::OsStr,
    fs::{self, File, Permissions},
    io::{self, Write as _},
    os::{
        fd::OwnedFd,
        unix::{
            ffi::OsStrExt as _,
            fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _, symlink},
        },
    },
    path::{Path, PathBuf},
};

/// The most tries for a file that another program keeps replacing.
const TRIES: u32 = 100;

/// A folder without this bit for its owner cannot change its parent.
const MOVABLE: u32 = 0o200;

pub(crate) fn carry_out(
    folder: &Path,
    place: &Path,
    shelf: &Shelf,
    plan: &Plan<'_>,
    back: &Folders,
) -> Result<Restored, NotRestored> {
    let left = plan.left.iter().map(|path| path.to_vec()).collect();
    let changed = (plan.come.len().saturating_add(plan.empty.len()), plan.gone.len());
    let mut restored = Restored { left, changed, ..Restored::default() };
    let is_nothing =
        plan.gone.is_empty() && plan.come.is_empty() && plan.empty.is_empty() && plan.emptied.is_empty();
    // A change that was killed may have come to everything but the modes of folders.
    if is_nothing && back.is_empty() {
        return Ok(restored);
    }
    let stage = stage(place, shelf, plan, back)?;
    let reach = Reach { folder, back };
    Moved { reach, stage: &stage }.all(plan)?;
    make_folders(&reach, &mut restored);
    close_folders(&reach, &mut restored);
    envoi_durable::sync_file_system(folder).map_err(|source| incomplete(folder, source))?;
    Ok(restored)
}

/// Writes the contents that are to come, and the list of all paths. Removed again if it fails. The folder is renamed to a number when it
/// is complete: one without a number has only what this function wrote.
fn stage(place: &Path, shelf: &Shelf, plan: &Plan<'_>, back: &Folders) -> Result<PathBuf, NotRestored> {
    let number =
        (0_u32..).map(|nth| place.join(nth.to_string())).find(|path| fs::symlink_metadata(path).is_err());
    let numbered = number.unwrap_or_else(|| place.join("0"));
    let stage = numbered.with_extension(BEING_WRITTEN);
    let written = || {
        // The remains of a restore that was killed.
        if fs::symlink_metadata(&stage).is_ok() {
            fs::remove_dir_all(&stage).map_err(|source| staged(&stage, source))?;
        }
        // Names of files can hold secrets, too.
        fs::DirBuilder::new().mode(0o700).create(&stage).map_err(|source| staged(&stage, source))?;
        let mut paths = Vec::new();
        for path in plan.come.iter().map(|entry| entry.path.as_slice()).chain(displaced(plan)) {
            paths.extend_from_slice(path);
            paths.push(0);
        }
        fs::write(stage.join(PATHS), paths).map_err(|source| staged(&stage, source))?;
        for (nth, entry) in plan.come.iter().enumerate() {
            let at = stage.join(format!("new-{nth}"));
            write(&at, entry, shelf, back, |source| staged(&at, source))?;
        }
        envoi_durable::sync_file_system(&stage).map_err(|source| staged(&stage, source))?;
        fs::rename(&stage, &numbered).map_err(|source| staged(&numbered, source))
    };
    written().inspect_err(|_| {
        // Only copies of what the store has are lost with it.
        fs::remove_dir_all(&stage).ok();
    })?;
    Ok(numbered)
}

/// Paths that are taken away: folders first, because files may lie in them.
fn displaced<'p>(plan: &'p Plan<'_>) -> impl Iterator<Item = &'p [u8]> {
    plan.folders.iter().chain(&plan.gone).copied()
}

fn write(
    at: &Path,
    entry: &Entry,
    shelf: &Shelf,
    back: &Folders,
    failed: impl Fn(io::Error) -> NotRestored,
) -> Result<(), NotRestored> {
    let Some((digest, _)) = entry.content() else {
        let made = || {
            fs::create_dir(at)?;
            let mode = back.mode(&entry.path).map_or(entry.mode | MOVABLE, |_| BEING_MADE);
            fs::set_permissions(at, Permissions::from_mode(mode))
        };
        return made().map_err(failed);
    };
    let content = shelf.read(&digest)?;
    if let What::Link { .. } = entry.what {
        return symlink(OsStr::from_bytes(&content), at).map_err(failed);
    }
    let written = || {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let mut file = File::from(openat(CWD, at, flags, Mode::RUSR | Mode::WUSR)?);
        file.write_all(&content)?;
        file.set_permissions(Permissions::from_mode(entry.mode))
    };
    written().map_err(failed)
}

/// The part in which the folder changes.
struct Moved<'m> {
    reach: Reach<'m>,
    stage: &'m Path,
}

impl Moved<'_> {
    fn all(&self, plan: &Plan<'_>) -> Result<(), NotRestored> {
        let failed = |path: &[u8], source| incomplete(&walk::full(self.reach.folder, path), source);
        for (nth, path) in displaced(plan).enumerate() {
            let number = plan.come.len().saturating_add(nth);
            self.take_away(path, number).map_err(|source| failed(path, source))?;
        }
        for (nth, entry) in plan.come.iter().enumerate() {
            self.put(entry, nth).map_err(|source| failed(&entry.path, source))?;
        }
        // The folders to remove if nothing is left in them: ignored files keep their folder.
        for path in &plan.emptied {
            let gone = self
                .reach
                .parent(path, false)
                .and_then(|parent| Ok(rustix::fs::unlinkat(&parent, name(path), AtFlags::REMOVEDIR)?));
            match gone {
                Err(error) if is_expected(&error) => {}
                gone => gone.map_err(|source| failed(path, source))?,
            }
        }
        for entry in &plan.empty {
            self.make_empty(entry).map_err(|source| failed(&entry.path, source))?;
        }
        Ok(())
    }

    /// A file that is gone already is as it should be.
    fn take_away(&self, path: &[u8], number: usize) -> io::Result<()> {
        let aside = self.stage.join(format!("gone-{number}"));
        let parent = match self.reach.parent(path, false) {
            Err(error) if is_expected(&error) => return Ok(()),
            parent => parent?,
        };
        match renameat(&parent, name(path), CWD, &aside) {
            Err(Errno::NOENT) => Ok(()),
            moved => Ok(moved?),
        }
    }

    /// At each moment either the old file is there or the new one.
    fn put(&self, entry: &Entry, nth: usize) -> io::Result<()> {
        self.change_places(entry, nth)?;
        match entry.what == What::EmptyFolder && entry.mode & MOVABLE == 0 {
            true => self.make_empty(entry),
            false => Ok(()),
        }
    }

    fn change_places(&self, entry: &Entry, nth: usize) -> io::Result<()> {
        let path = entry.path.as_slice();
        let parent = self.reach.parent(path, true)?;
        let new = self.stage.join(format!("new-{nth}"));
        for _ in 0..TRIES {
            match renameat_with(CWD, &new, &parent, name(path), RenameFlags::NOREPLACE) {
                Ok(()) => return Ok(()),
                Err(Errno::EXIST) => {}
                Err(errno) if is_unknown(errno) => return self.put_by_link(&parent, entry, &new, nth),
                Err(errno) => return Err(errno.into()),
            }
            match renameat_with(CWD, &new, &parent, name(path), RenameFlags::EXCHANGE) {
                Ok(()) => return Ok(()),
                // Taken away since.
                Err(Errno::NOENT) => {}
                Err(errno) if is_unknown(errno) => return self.put_by_link(&parent, entry, &new, nth),
                Err(errno) => return Err(errno.into()),
            }
        }
        Err(occupied())
    }

    /// For a file system that cannot exchange two names: the old file goes aside, and the new file gets the free name. For a moment the
    /// name is missing; after a kill at that moment, the next change puts the old file back ([`super::back`]). A rename over the old file
    /// would have no such moment, but would lose a file that another program has renamed to this name meanwhile.
    fn put_by_link(&self, parent: &OwnedFd, entry: &Entry, new: &Path, nth: usize) -> io::Result<()> {
        let name = name(&entry.path);
        for nth_try in 0..TRIES {
            // A number of its own for each try: a file that went aside stays there.
            let old = self.stage.join(format!("old{nth_try}-{nth}"));
            let is_aside = match renameat(parent, name, CWD, &old) {
                Ok(()) => true,
                Err(Errno::NOENT) => false,
                Err(errno) => return Err(errno.into()),
            };
            match come_to_free_name(parent, entry, new) {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(error) if is_aside => {
                    return Err(match lay_back(&old, parent, name) {
                        Ok(()) => error,
                        Err(other) => io::Error::other(format!(
                            "{error}; what stood there lies in `{}` until the same is done again: {other}",
                            old.display()
                        )),
                    });
                }
                Err(error) => return Err(error),
            }
        }
        Err(occupied())
    }

    fn make_empty(&self, entry: &Entry) -> io::Result<()> {
        let parent = self.reach.parent(&entry.path, true)?;
        let mode = self.reach.mode_of_new(&entry.path, 0o700);
        match mkdirat(&parent, name(&entry.path), Mode::from_raw_mode(mode)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let made = File::from(openat(&parent, name(&entry.path), flags, Mode::empty())?);
        match mode == BEING_MADE && is_being_made(made.metadata()?.mode()) {
            // It gets its mode later.
            true => Ok(()),
            false => made.set_permissions(Permissions::from_mode(entry.mode)),
        }
    }
}

/// False: the name is not free.
fn come_to_free_name(parent: &OwnedFd, entry: &Entry, new: &Path) -> io::Result<bool> {
    let name = name(&entry.path);
    if entry.what == What::EmptyFolder {
        // A folder takes the place of nothing but an empty folder.
        return match renameat(CWD, new, parent, name) {
            Err(Errno::NOTDIR | Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
            moved => Ok(moved.map(|()| true)?),
        };
    }
    match linkat(CWD, new, parent, name, AtFlags::empty()) {
        // Its other name would be a way into the folder, and no displaced file.
        Ok(()) => fs::remove_file(new).map(|()| true),
        Err(Errno::EXIST) => Ok(false),
        // Without links, the last resort is a rename to a name that was free a moment ago.
        Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS | Errno::MLINK) => {
            Ok(renameat(CWD, new, parent, name).map(|()| true)?)
        }
        Err(errno) => Err(errno.into()),
    }
}

/// The files of a snapshot in a folder that has nothing in it.
pub(crate) fn write_new(folder: &Path, shelf: &Shelf, target: &Tree) -> Result<Restored, NotRestored> {
    let mut restored = Restored::default();
    let own = Moved { reach: Reach { folder, back: &Folders::NONE }, stage: folder };
    for entry in target.entries() {
        let at = walk::full(folder, &entry.path);
        let failed = |source| incomplete(&at, source);
        match entry.what {
            What::LeftOut { .. } => restored.left.push(entry.path.clone()),
            What::EmptyFolder => own.make_empty(entry).map_err(failed)?,
            What::File { .. } | What::Link { .. } => {
                own.reach.parent(&entry.path, true).map_err(failed)?;
                write(&at, entry, shelf, &Folders::NONE, failed)?;
                restored.changed.0 = restored.changed.0.saturating_add(1);
            }
        }
    }
    Ok(restored)
}

fn occupied() -> io::Error {
    io::Error::other("another program takes the file away and puts it back all the time")
}
