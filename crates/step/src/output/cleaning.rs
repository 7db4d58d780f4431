//! Masks, empties or removes files to which a command may have written secrets. Follows no link.
//!
//! Does not decide which files those are.

use crate::{
    disk::{pieces, plain},
    mask::{Masker, Secrets},
};
use rustix::fs::OFlags;
use std::{
    fs,
    io::{self, Read as _, Write as _},
    os::unix::{
        ffi::OsStrExt as _,
        fs::{MetadataExt as _, PermissionsExt as _},
    },
    path::Path,
};

/// The most that is kept of one file: no larger document is read (CONTRACTS §0).
pub(crate) const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// A larger copy of an artifact is not searched but removed.
const MOST_COPY_BYTES: u64 = 1024 * 1024 * 1024;

/// The result of masking a file.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Masked {
    pub(crate) has_secret: bool,
    /// It had more bytes than are kept.
    pub(crate) is_cut: bool,
}

/// Masks a regular file. A file without a secret stays as it is, unless it is cut to `most_bytes`.
pub(crate) fn mask_file(path: &Path, secrets: &Secrets, most_bytes: u64) -> io::Result<Masked> {
    let Some(file) = plain::open_if_there(path)? else { return Ok(Masked::default()) };
    let metadata = file.metadata()?;
    let is_cut = metadata.len() > most_bytes;
    let temporary = envoi_durable::temp_beside(path);
    let mut target = plain::create(&temporary)?;
    let mut masker = Masker::new(secrets);
    let mut masked = Vec::new();
    let copied = pieces::pieces(&mut file.take(most_bytes), |piece| {
        masker.push(piece, &mut masked);
        target.write_all(&masked)?;
        masked.clear();
        Ok(())
    });
    // In a cut file, the bytes held back may be the beginning of a secret whose end was not read, so they are
    // dropped.
    if !is_cut {
        masker.finish(&mut masked);
    }
    let copied = copied.and_then(|()| target.write_all(&masked));
    let copied =
        copied.and_then(|()| target.set_permissions(fs::Permissions::from_mode(metadata.mode() & 0o7777)));
    let has_secret = masker.hits() > 0;
    if copied.is_err() || !(has_secret || is_cut) {
        // The file stays as it was.
        fs::remove_file(&temporary)?;
        return copied.map(|()| Masked::default());
    }
    fs::rename(&temporary, path)?;
    Ok(Masked { has_secret, is_cut })
}

/// Whether a regular file contains a secret.
pub(crate) fn has_secret(path: &Path, secrets: &Secrets) -> io::Result<bool> {
    let Some(mut file) = plain::open_if_there(path)? else { return Ok(false) };
    let mut masker = Masker::new(secrets);
    let mut masked = Vec::new();
    pieces::pieces(&mut file, |piece| {
        masker.push(piece, &mut masked);
        masked.clear();
        Ok(())
    })?;
    masker.finish(&mut masked);
    Ok(masker.hits() > 0)
}

/// Masks a short file that a process has open for appending: the inode stays the same. True if it contained a
/// secret.
pub(crate) fn mask_in_place(path: &Path, secrets: &Secrets) -> io::Result<Masked> {
    let Some(file) = plain::open_if_there(path)? else { return Ok(Masked::default()) };
    let is_cut = file.metadata()?.len() > MOST_BYTES;
    let mut content = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut content)?;
    let mut masker = Masker::new(secrets);
    let mut masked = Vec::with_capacity(content.len());
    masker.push(&content, &mut masked);
    if !is_cut {
        masker.finish(&mut masked);
    }
    let has_secret = masker.hits() > 0;
    if !(has_secret || is_cut) {
        return Ok(Masked::default());
    }
    part(path)?;
    let mut file = plain::append(path)?;
    file.set_len(0)?;
    file.write_all(&masked)?;
    Ok(Masked { has_secret, is_cut })
}

/// Empties a file that processes have open. True if it was not empty.
///
/// If a command has given another file this name (a hard link), that file stays as it is: the name gets a
/// new, empty file. `is_ours` decides whether a file with several names is the expected one.
pub(crate) fn truncate(path: &Path, is_ours: impl FnOnce() -> bool) -> io::Result<bool> {
    let found = fs::symlink_metadata(path)?;
    if found.len() == 0 {
        return Ok(false);
    }
    if found.nlink() > 1 && !is_ours() {
        return put_nothing(path).map(|()| true);
    }
    plain::open_with(path, OFlags::WRONLY)?.set_len(0)?;
    Ok(true)
}

/// Gives a name a file of its own, if the file has another name too (a hard link), so that later writes
/// change no other file.
pub(crate) fn part(path: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(path)?;
    if found.nlink() < 2 {
        return Ok(());
    }
    let mut file = plain::open(path)?;
    let temporary = envoi_durable::temp_beside(path);
    let mut own = plain::create(&temporary)?;
    let copied = io::copy(&mut file, &mut own)
        .and_then(|_| own.set_permissions(fs::Permissions::from_mode(found.mode() & 0o7777)))
        .and_then(|()| fs::rename(&temporary, path));
    if copied.is_err() {
        fs::remove_file(&temporary)?;
    }
    copied
}

/// Replaces anything that is not a folder by an empty file.
pub(crate) fn put_nothing(path: &Path) -> io::Result<()> {
    plain::create(path).map(drop)
}

/// Removes a file that cannot be masked. Returns a sentence about it.
pub(crate) fn removed_instead(path: &Path, shown: &str, error: &io::Error) -> String {
    let removed = remove(path).map_or("could not be removed", |()| "was removed");
    format!("{shown} cannot be masked and {removed}: {error}")
}

/// Removes, in a folder and below it, each file that contains a secret or is too large to search, and
/// everything that is neither a file nor a folder. Returns a sentence if anything was removed.
pub(crate) fn drop_files_with(folder: &Path, shown: &str, secrets: &Secrets) -> Option<String> {
    let mut removed = 0_usize;
    match drop_below(folder, secrets, &mut removed) {
        Ok(()) if removed == 0 => None,
        Ok(()) => Some(format!("in {shown} {removed} names were removed: a secret could stand there")),
        Err(error) => Some(removed_instead(folder, shown, &error)),
    }
}

fn drop_below(folder: &Path, secrets: &Secrets, removed: &mut usize) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let found = entry.metadata()?;
        let is_clean = if secrets.stand_in(entry.file_name().as_bytes()) {
            false
        } else if found.is_dir() {
            drop_below(&path, secrets, removed)?;
            true
        } else {
            found.is_file() && found.len() <= MOST_COPY_BYTES && !has_secret(&path, secrets)?
        };
        if !is_clean {
            remove(&path)?;
            *removed = removed.saturating_add(1);
        }
    }
    Ok(())
}

/// Empties a folder, and returns how many names were removed.
pub(crate) fn empty_folder(folder: &Path) -> io::Result<usize> {
    open_up(folder)?;
    let mut removed = 0_usize;
    for entry in fs::read_dir(folder)? {
        remove(&entry?.path())?;
        removed = removed.saturating_add(1);
    }
    Ok(removed)
}

/// Removes a file, a link or a whole folder. Follows no link.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    if !fs::symlink_metadata(path)?.is_dir() {
        return fs::remove_file(path);
    }
    match fs::remove_dir_all(path) {
        // Some programs leave folders without write permission.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_up(path)?;
            fs::remove_dir_all(path)
        }
        removed => removed,
    }
}

/// Lets the owner remove the content of a folder and of the folders below it.
fn open_up(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_up(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_that_is_cut_at_the_limit_leaves_no_part_of_itself() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("other.bin");
        let secrets = Secrets::new(&["hunter2-of-the-flow".to_owned()]);
        fs::write(&path, "said hunter2-of-the-flow and hunter2-of-the-flow").unwrap();
        let masked = mask_file(&path, &secrets, 40).unwrap();
        assert_eq!(masked, Masked { has_secret: true, is_cut: true });
        assert_eq!(fs::read_to_string(&path).unwrap(), "said *** and ");
        // `mask_in_place` has a limit of its own.
        let most = usize::try_from(MOST_BYTES).unwrap();
        let mut content = vec![b'a'; most - 18];
        content.extend_from_slice(b"hunter2-of-the-flow, and more");
        fs::write(&path, &content).unwrap();
        assert!(mask_in_place(&path, &secrets).unwrap().is_cut);
        assert!(fs::read(&path).unwrap() == content[..most - 18], "a part of the secret is left");
    }
}
