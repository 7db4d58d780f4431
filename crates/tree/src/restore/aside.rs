//! The place of displaced files until the next restore of the same folder, so that late writes to them are found.

use super::{NotRestored, staged};
use crate::{disk::intake::Intake, keep::Order, model::list::ASIDE};
use envoi_contract::digest::Digest;
use envoi_durable::read_regular;
use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{self, Write as _},
    os::unix::{
        ffi::OsStrExt as _,
        fs::{DirBuilderExt as _, MetadataExt as _},
    },
    path::{Path, PathBuf},
};

/// The list of paths in a folder of displaced files: the nth path belongs to the files with this number.
pub(crate) const PATHS: &str = "paths";

/// The end of the name of a folder whose contents are being written.
pub(crate) const BEING_WRITTEN: &str = "new";

/// The file by which git ignores a folder of displaced files that lies among the user's files.
const IGNORED_BY_GIT: &str = ".gitignore";

/// A content that a displaced file had and that the store did not have: it was written while the restore went on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Late {
    /// The path that it had in the folder.
    pub path: Vec<u8>,
    /// The content, in the store now. `None`: it is too large; it stays where it lies.
    pub digest: Option<Digest>,
    /// In bytes.
    pub size: u64,
}

/// The place for displaced files of `folder`, on the same file system. It is made.
pub(crate) fn place(folder: &Path, order: &Order) -> Result<PathBuf, NotRestored> {
    let failed = |source| staged(folder, source);
    fs::create_dir_all(order.aside()).map_err(failed)?;
    let place = path(folder, order).map_err(failed)?;
    if place != folder.join(ASIDE) {
        fs::create_dir_all(&place).map_err(failed)?;
        return Ok(place);
    }
    match fs::DirBuilder::new().mode(0o700).create(&place) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => check(folder, &place)?,
        made => made.map_err(failed)?,
    }
    // It is none of the user's files, so git does not show it. Nothing else is written beside the folders of displaced files.
    let rules = place.join(IGNORED_BY_GIT);
    match File::create_new(&rules) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => made.and_then(|mut file| file.write_all(b"*\n")).map_err(failed)?,
    }
    Ok(place)
}

/// The place, if a restore has made one.
pub(crate) fn place_if_there(folder: &Path, order: &Order) -> Result<Option<PathBuf>, NotRestored> {
    let found = path(folder, order).and_then(|place| fs::symlink_metadata(&place).map(|_| place));
    match found {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(staged(folder, error)),
        Ok(place) => {
            if place == folder.join(ASIDE) {
                check(folder, &place)?;
            }
            Ok(Some(place))
        }
    }
}

/// Among the user's files anything may have this name: a link would lead a restore to files that are none of its business.
fn check(folder: &Path, place: &Path) -> Result<(), NotRestored> {
    let looked = |path: &Path| fs::symlink_metadata(path).map_err(|source| staged(path, source));
    let in_the_way = |path: &Path, what: &str| {
        let what = format!("`{}` {what}; move it away, and try again", path.display());
        Err(NotRestored::InTheWay { paths: vec![what] })
    };
    let found = looked(place)?;
    if !found.is_dir() {
        return in_the_way(place, "is no folder, and Envoi lays the files aside there that it replaces");
    }
    // The owner of the folder may do everything in it anyway.
    let owners = [rustix::process::geteuid().as_raw(), looked(folder)?.uid()];
    if !owners.contains(&found.uid()) {
        return in_the_way(
            place,
            "is of another user, and Envoi lays the files aside there that it replaces",
        );
    }
    let rules = place.join(IGNORED_BY_GIT);
    match fs::symlink_metadata(&rules) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(staged(&rules, error)),
        Ok(found) if found.is_file() => Ok(()),
        Ok(_) => in_the_way(&rules, "is no file, and Envoi has one there by which git ignores the folder"),
    }
}

fn path(folder: &Path, order: &Order) -> io::Result<PathBuf> {
    let found = fs::metadata(folder)?;
    let in_store = order.aside();
    Ok(match fs::metadata(&in_store)?.dev() == found.dev() {
        true => in_store.join(format!("{:x}-{:x}", found.dev(), found.ino())),
        false => folder.join(ASIDE),
    })
}

/// Empties the place: contents that the store does not have are put into it and named. A file that cannot be stored stays.
pub(crate) fn sweep(place: &Path, order: &Order) -> io::Result<Vec<Late>> {
    let late = look_through(place, order)?;
    if late.iter().all(|late| late.digest.is_some()) {
        for entry in fs::read_dir(place)? {
            let path = entry?.path();
            match fs::symlink_metadata(&path)?.is_dir() {
                _ if !is_of_envoi(&path) => {}
                true => fs::remove_dir_all(&path)?,
                false => fs::remove_file(&path)?,
            }
        }
    }
    Ok(late)
}

/// Whether it has a name that a restore gives: a number, also with [`BEING_WRITTEN`].
fn is_of_envoi(path: &Path) -> bool {
    let is_number = |name: &OsStr| !name.is_empty() && name.as_bytes().iter().all(u8::is_ascii_digit);
    path.file_stem().is_some_and(is_number) && path.extension().is_none_or(|end| end == BEING_WRITTEN)
}

/// The folders in which the files of a change lie, complete ones only.
pub(crate) fn stages(place: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(place)? {
        let path = entry?.path();
        let is_being_written = path.extension().is_some_and(|end| end == BEING_WRITTEN);
        if is_of_envoi(&path) && !is_being_written && fs::symlink_metadata(&path)?.is_dir() {
            found.push(path);
        }
    }
    Ok(found)
}

/// Stores what lies aside and is in no store, durably, and names it.
pub(crate) fn look_through(place: &Path, order: &Order) -> io::Result<Vec<Late>> {
    let shelf = order.contents.shelf()?;
    let mut intake = Intake::new(&shelf);
    let mut late = Vec::new();
    for restore in stages(place)? {
        // Without the list they are named by their numbers; a list that cannot be read now can be read later.
        let paths = match fs::read(restore.join(PATHS)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            read => read?,
        };
        let paths: Vec<&[u8]> = paths.split(|byte| *byte == 0).collect();
        for entry in fs::read_dir(&restore)? {
            let entry = entry?;
            let name = entry.file_name();
            let number = name.to_str().and_then(|name| name.split_once('-')?.1.parse::<usize>().ok());
            // Whatever else lies there is not named by a number.
            let path = number.and_then(|number| paths.get(number).copied()).unwrap_or(name.as_bytes());
            if name != PATHS {
                look_at(&entry.path(), path, &mut intake, order.bounds.max_file_bytes, &mut late)?;
            }
        }
    }
    intake.finish()?;
    Ok(late)
}

fn look_at(
    at: &Path,
    path: &[u8],
    intake: &mut Intake<'_>,
    most: u64,
    late: &mut Vec<Late>,
) -> io::Result<()> {
    let found = fs::symlink_metadata(at)?;
    let mut keep = |content: &[u8]| {
        let digest = Digest::of(content);
        let size = u64::try_from(content.len()).unwrap_or(u64::MAX);
        if !intake.has(&digest, size) {
            intake.take(content)?;
            late.push(Late { path: path.to_vec(), digest: Some(digest), size });
        }
        io::Result::Ok(())
    };
    if found.is_dir() {
        for entry in fs::read_dir(at)? {
            let entry = entry?;
            let below = [path, b"/", entry.file_name().as_bytes()].concat();
            look_at(&entry.path(), &below, intake, most, late)?;
        }
        Ok(())
    } else if found.is_symlink() {
        keep(fs::read_link(at)?.as_os_str().as_bytes())
    } else if found.is_file() && found.len() <= most {
        match read_regular(at, most) {
            Ok(content) => keep(&content),
            // It grows while it is read: a process writes to it now.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                late.push(Late { path: path.to_vec(), digest: None, size: found.len() });
                Ok(())
            }
            Err(error) => Err(error),
        }
    } else if found.is_file() {
        late.push(Late { path: path.to_vec(), digest: None, size: found.len() });
        Ok(())
    } else {
        Ok(())
    }
}
