//! Where displaced files lie until the next restore of the same folder, so that what was typed into them late is found.

use crate::{disk::intake::Intake, keep::Order, model::list::ASIDE};
use envoi_contract::digest::Digest;
use envoi_durable::read_regular;
use std::{
    fs::{self, Permissions},
    io,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{MetadataExt as _, PermissionsExt as _},
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
pub(crate) fn place(folder: &Path, order: &Order) -> io::Result<PathBuf> {
    fs::create_dir_all(order.aside())?;
    let place = path(folder, order)?;
    fs::create_dir_all(&place)?;
    if place == folder.join(ASIDE) {
        // It is none of the user's files, so git does not show it. Nothing else is written beside the folders of displaced files.
        fs::set_permissions(&place, Permissions::from_mode(0o700))?;
        fs::write(place.join(IGNORED_BY_GIT), "*\n")?;
    }
    Ok(place)
}

/// The place, if a restore has made one.
pub(crate) fn place_if_there(folder: &Path, order: &Order) -> io::Result<Option<PathBuf>> {
    let found = path(folder, order).and_then(|place| fs::symlink_metadata(&place).map(|_| place));
    match found {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
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

/// Empties the place: what the store does not have is put into it and named. A file that cannot be stored stays.
pub(crate) fn sweep(place: &Path, order: &Order) -> io::Result<Vec<Late>> {
    let late = look_through(place, order)?;
    if late.iter().all(|late| late.digest.is_some()) {
        for entry in fs::read_dir(place)? {
            let entry = entry?;
            let path = entry.path();
            match fs::symlink_metadata(&path)?.is_dir() {
                false if entry.file_name() == IGNORED_BY_GIT => {}
                true => fs::remove_dir_all(&path)?,
                false => fs::remove_file(&path)?,
            }
        }
    }
    Ok(late)
}

/// The folders in which the files of a change lie, complete ones only.
pub(crate) fn stages(place: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(place)? {
        let path = entry?.path();
        let is_being_written = path.extension().is_some_and(|end| end == BEING_WRITTEN);
        if !is_being_written && fs::symlink_metadata(&path)?.is_dir() {
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
        // Without the list they are named by their numbers; one that cannot be read now can be later.
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
        if !intake.has(&digest) {
            intake.take(content)?;
            let size = u64::try_from(content.len()).unwrap_or(u64::MAX);
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
