//! Checks of the paths of the database and of the files that SQLite keeps beside it.
//!
//! SQLite waits without end for a writer of a pipe there, and does not name a folder that it cannot open. So the paths are checked before
//! it opens them. The contents of the files are not checked.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

/// The suffixes that SQLite appends to the name of the database.
const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Something at the path of a file of the database that is not a file.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is {kind}, and no file", path.display())]
pub(crate) struct NotAFile {
    pub(crate) path: PathBuf,
    /// In words.
    pub(crate) kind: &'static str,
}

/// The first of them. A path that is missing, or may not be looked at, does not count.
pub(crate) fn not_a_file(db: &Path) -> Option<NotAFile> {
    let found = |path: PathBuf, found: std::io::Result<fs::Metadata>| {
        let kind = found.ok().filter(|found| !found.is_file())?.file_type();
        Some(NotAFile { path, kind: envoi_durable::kind(kind) })
    };
    // The database may be behind a link. SQLite then keeps the others where the database is, and follows no link to them.
    let there = fs::canonicalize(db).unwrap_or_else(|_| db.to_owned());
    found(db.to_owned(), fs::metadata(db)).or_else(|| {
        beside(&there).into_iter().find_map(|path| {
            let metadata = fs::symlink_metadata(&path);
            found(path, metadata)
        })
    })
}

/// The files that SQLite keeps beside the database.
pub(crate) fn beside(db: &Path) -> [PathBuf; 3] {
    BESIDE.map(|suffix| {
        let mut name = OsString::from(db);
        name.push(suffix);
        PathBuf::from(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use std::os::unix::fs::symlink;

    #[test]
    fn what_is_no_file_is_named_and_a_database_may_be_behind_a_link() {
        let place = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(place.path()).unwrap();
        let db = root.join("envoi.db");
        assert_eq!(not_a_file(&db), None);
        fs::write(&db, "").unwrap();
        beside(&db).iter().for_each(|path| fs::write(path, "").unwrap());
        let link = root.join("link.db");
        symlink(&db, &link).unwrap();
        assert_eq!((not_a_file(&db), not_a_file(&link)), (None, None));
        for path in beside(&db) {
            fs::remove_file(&path).unwrap();
            mknodat(CWD, &path, FileType::Fifo, Mode::RWXU, 0).unwrap();
            let expected = Some(NotAFile { path: path.clone(), kind: "a named pipe" });
            assert_eq!(not_a_file(&db), expected);
            assert_eq!(not_a_file(&link), expected);
            fs::remove_file(&path).unwrap();
            symlink(&db, &path).unwrap();
            assert_eq!(not_a_file(&db).unwrap().kind, "a symbolic link");
            fs::remove_file(&path).unwrap();
        }
        fs::remove_file(&db).unwrap();
        fs::create_dir(&db).unwrap();
        assert_eq!(
            not_a_file(&db).unwrap().to_string(),
            format!("`{}` is a folder, and no file", db.display())
        );
    }
}
