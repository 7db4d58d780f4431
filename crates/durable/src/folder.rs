//! Names in folders, and their durability.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

/// The most files that are synced one by one. More are synced with their whole file system: that costs as much as all
/// other recent writes there, and two calls a file would cost more.
const FEW: usize = 32;

/// Makes `folder` and its parents, and makes each new name durable in its parent.
///
/// # Errors
/// A folder cannot be made, or a file has its name.
pub fn create_folders(folder: &Path) -> io::Result<()> {
    let mut changed = BTreeSet::new();
    make_folders(folder, &mut changed)?;
    changed.iter().try_for_each(|folder| sync_folder(folder))
}

/// As [`create_folders`], but nothing is durable yet: the folders that got new names are added to `changed`. For several folders that
/// are made together, so that each one above them is synced once, after its last name.
///
/// # Errors
/// As [`create_folders`].
pub fn make_folders(folder: &Path, changed: &mut BTreeSet<PathBuf>) -> io::Result<()> {
    let missing: Vec<&Path> =
        folder.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.is_dir()).collect();
    for folder in missing.into_iter().rev() {
        match fs::create_dir(folder) {
            // Another process created it first.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => {}
            made => made?,
        }
        changed.insert(parent(folder).to_owned());
    }
    Ok(())
}

/// The folders that may need a sync because an earlier try to make `folder` was killed before its sync. Each
/// of them contains the folder that this try had made, and nothing else. Empty if no part of `folder` can be
/// from such a try.
#[must_use]
pub fn perhaps_changed(folder: &Path) -> BTreeSet<PathBuf> {
    let mut changed = BTreeSet::new();
    let mut there = folder.ancestors().skip_while(|folder| !folder.is_dir());
    let Some(mut last) = there.next() else { return changed };
    let holds_nothing_else = |folder: &Path, but: Option<&Path>| {
        let Ok(mut entries) = fs::read_dir(folder) else { return false };
        entries.all(|entry| entry.is_ok_and(|entry| Some(entry.path().as_path()) == but))
    };
    let mut may_be_new = last == folder || holds_nothing_else(last, None);
    for above in there {
        if !may_be_new {
            break;
        }
        changed.insert(parent(last).to_owned());
        may_be_new = holds_nothing_else(parent(last), Some(last));
        last = above;
    }
    changed
}

/// Makes what was created, renamed or removed in `folder` durable.
///
/// # Errors
/// It cannot be opened, or the disk fails.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    File::open(folder)?.sync_all()
}

/// Makes all that was written to the file system of `folder` durable: one call for many files.
///
/// # Errors
/// As [`sync_folder`].
pub fn sync_file_system(folder: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    return Ok(rustix::fs::syncfs(File::open(folder)?)?);
    #[cfg(not(target_os = "linux"))]
    return {
        File::open(folder)?.sync_all()?;
        rustix::fs::sync();
        Ok(())
    };
}

/// Makes these files of `root` durable, with their names.
///
/// # Errors
/// A file does not exist any more, or the disk fails.
pub fn sync_files<'a>(root: &Path, files: impl Iterator<Item = &'a Path> + Clone) -> io::Result<()> {
    if files.clone().nth(FEW).is_some() {
        return sync_file_system(root);
    }
    let mut folders = BTreeSet::new();
    for file in files {
        File::open(root.join(file))?.sync_all()?;
        // Also the folders that were made for it.
        folders.extend(file.ancestors().skip(1).map(|folder| root.join(folder)));
    }
    folders.iter().try_for_each(|folder| sync_folder(folder))
}

/// The folder that `path` lies in.
#[must_use]
pub fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_made_with_those_above_them_and_a_file_in_the_way_is_an_error() {
        let place = tempfile::tempdir().unwrap();
        let deep = place.path().join("a/b/c");
        create_folders(&deep).unwrap();
        create_folders(&deep).unwrap();
        assert!(deep.is_dir());
        fs::write(place.path().join("file"), "").unwrap();
        assert!(create_folders(&place.path().join("file")).is_err());
        assert!(create_folders(&place.path().join("file/below")).is_err());
    }

    #[test]
    fn each_folder_with_new_names_is_named_once_and_no_other() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let mut changed = BTreeSet::new();
        for folder in ["store/runs", "store/artifacts/sha256", "store/artifacts/tmp"] {
            make_folders(&at(folder), &mut changed).unwrap();
        }
        assert_eq!(changed, BTreeSet::from([place.path().to_owned(), at("store"), at("store/artifacts")]));
        changed.clear();
        make_folders(&at("store/artifacts/tmp"), &mut changed).unwrap();
        assert!(changed.is_empty(), "{changed:?}");
    }

    #[test]
    fn what_an_earlier_try_may_have_made_is_found_and_nothing_above_it() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::write(at("file"), "").unwrap();
        let store = at("a/b/store");
        let found = |makes: &str| {
            fs::create_dir_all(at(makes)).unwrap();
            perhaps_changed(&store)
        };
        assert_eq!(perhaps_changed(&store), BTreeSet::new(), "somebody has put a file into the folder");
        assert_eq!(found("a"), BTreeSet::from([place.path().to_owned()]));
        assert_eq!(found("a/b"), BTreeSet::from([place.path().to_owned(), at("a")]));
        assert_eq!(found("a/b/store/x"), BTreeSet::from([place.path().to_owned(), at("a"), at("a/b")]));
        fs::write(at("a/b/flow.yaml"), "").unwrap();
        assert_eq!(perhaps_changed(&store), BTreeSet::from([at("a/b")]));
    }

    #[test]
    fn few_files_and_many_are_synced_and_one_that_is_gone_is_an_error() {
        let place = tempfile::tempdir().unwrap();
        for count in [1, FEW, FEW + 1] {
            let names: Vec<_> = (0..count).map(|nth| std::path::PathBuf::from(format!("f{nth}"))).collect();
            names.iter().for_each(|name| fs::write(place.path().join(name), "x").unwrap());
            sync_files(place.path(), names.iter().map(|name| name.as_path())).unwrap();
        }
        assert!(sync_files(place.path(), [Path::new("gone")].into_iter()).is_err());
    }
}
