//! Finds files of the run's own folder that prevent attempts from being started.
//!
//! Reads only. A command of the run, or a person, has put these files there.

use crate::attempt::starts::Starts;
use crate::disk::plain;
use rustix::fs::{Access, AtFlags, CWD, OFlags, accessat};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A file that prevents attempts from being started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obstacle {
    /// Path of the file.
    pub path: PathBuf,
    /// The problem, for a person.
    pub problem: String,
}

impl std::fmt::Display for Obstacle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}` {}", self.path.display(), self.problem)
    }
}

/// Lists the obstacles in the folder of a run. A missing folder is not one: it is made when it is needed.
#[must_use]
pub fn obstacles(run_base: &Path) -> Vec<Obstacle> {
    let attempts = run_base.join("attempts");
    let unusable = |path| no_folder(path).or_else(|| closed_folder(path));
    if let Some(found) = unusable(run_base).or_else(|| unusable(&attempts)) {
        // Paths behind this one do not belong to the run.
        return vec![found];
    }
    let within = fs::read_dir(&attempts).into_iter().flatten().flatten();
    let mut found: Vec<Obstacle> = within.filter_map(|entry| no_folder(&entry.path())).collect();
    found.extend(no_list(Starts::of(run_base).path()));
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}

/// An obstacle if `path` exists and is not a folder.
pub(crate) fn no_folder(path: &Path) -> Option<Obstacle> {
    let problem = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => return None,
        Ok(found) => format!("is {}: a folder belongs there", plain::kind(found.file_type())),
        Err(error) if plain::is_missing(&error) => return None,
        Err(error) => format!("cannot be looked at: {error}"),
    };
    Some(Obstacle { path: path.to_owned(), problem })
}

/// An obstacle if this process may not make files in the folder.
fn closed_folder(path: &Path) -> Option<Obstacle> {
    let all = Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK;
    let error = io::Error::from(accessat(CWD, path, all, AtFlags::EACCESS).err()?);
    let problem = format!("may not be used: {error}");
    (!plain::is_missing(&error)).then(|| Obstacle { path: path.to_owned(), problem })
}

fn no_list(path: &Path) -> Option<Obstacle> {
    let problem = match fs::symlink_metadata(path) {
        // A link or a pipe is no obstacle: it is replaced when the next line is written.
        Ok(found) if found.is_dir() => "is a folder: a file belongs there".to_owned(),
        Ok(_) => match plain::open_with(path, OFlags::WRONLY | OFlags::APPEND) {
            Err(error) if error.kind() != io::ErrorKind::InvalidData => {
                format!("cannot be written: {error}")
            }
            _ => return None,
        },
        Err(_) => return None,
    };
    Some(Obstacle { path: path.to_owned(), problem })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn what_is_in_the_way_is_named_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let run = place.path().join("run_1");
        let found = || -> Vec<String> { obstacles(&run).iter().map(ToString::to_string).collect() };
        assert_eq!(found(), Vec::<String>::new(), "a run that has not begun");
        Starts::of(&run).begin().unwrap();
        fs::create_dir_all(run.join("attempts/a.1.1")).unwrap();
        assert_eq!(found(), Vec::<String>::new());
        let at = |name: &str| run.join(name).display().to_string();
        fs::write(run.join("attempts/b.1.1"), "").unwrap();
        symlink("a.1.1", run.join("attempts/c.1.1")).unwrap();
        fs::remove_file(run.join("starts.log")).unwrap();
        fs::create_dir(run.join("starts.log")).unwrap();
        let expected = [
            format!("`{}` is a file: a folder belongs there", at("attempts/b.1.1")),
            format!("`{}` is a symbolic link: a folder belongs there", at("attempts/c.1.1")),
            format!("`{}` is a folder: a file belongs there", at("starts.log")),
        ];
        assert_eq!(found(), expected);
        fs::rename(run.join("attempts"), run.join("away")).unwrap();
        symlink("away", run.join("attempts")).unwrap();
        assert_eq!(found(), [format!("`{}` is a symbolic link: a folder belongs there", at("attempts"))]);
        fs::rename(&run, place.path().join("moved")).unwrap();
        symlink("moved", &run).unwrap();
        assert_eq!(found(), [format!("`{}` is a symbolic link: a folder belongs there", run.display())]);
    }
}
