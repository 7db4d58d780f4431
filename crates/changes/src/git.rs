//! Runs git by its command line: without environment variables that point to another repository, without
//! programs of the repository's configuration, and without the user's index.

use crate::{error::ChangesError, lines::printable};
use envoi_tree::{
    Stop,
    git::{self, Finished, LONGEST_WORK, Limits, NotFinished},
};
use std::{collections::BTreeSet, path::Path, process::Command};

/// How many paths git is given at once: a path has at most 4 KiB, and the words of a command at most 2 MiB.
const MOST_PATHS: usize = 200;

/// The most characters of git's error output in a message.
const MOST_STDERR: usize = 2000;

/// The author of a commit if git does not know one. Addresses that end in `.invalid` receive no mail.
const ENVOI: [&str; 2] = ["Envoi", "envoi@envoi.invalid"];

/// A folder of a repository, and a file that replaces the user's index.
#[derive(Debug, Clone, Copy)]
pub struct At<'a> {
    /// A folder in the repository.
    pub folder: &'a Path,
    /// The file used as index.
    pub index: &'a Path,
}

impl At<'_> {
    /// Runs git. Returns its output, without the last line end.
    ///
    /// # Errors
    /// Git fails.
    pub fn run(self, arguments: &[&str]) -> Result<String, ChangesError> {
        self.run_until(&Stop::default(), arguments)
    }

    /// Like [`Self::run`], with these environment variables for this call.
    ///
    /// # Errors
    /// Git fails.
    pub fn run_with(self, variables: &[(&str, &str)], arguments: &[&str]) -> Result<String, ChangesError> {
        self.finish(variables, &Stop::default(), arguments)
    }

    /// Returns the paths that git ignores and does not track, by its rules and this index. A path for which it does not answer is not
    /// among them.
    ///
    /// # Errors
    /// Git cannot be asked.
    pub fn ignored(self, paths: &[&str]) -> Result<BTreeSet<String>, ChangesError> {
        // Git prints these as they are, a line each; others it quotes.
        let is_plain =
            |path: &&&str| path.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"\\".contains(&byte));
        let (plain, odd): (Vec<&str>, Vec<&str>) = paths.iter().partition(is_plain);
        let mut ignored = BTreeSet::new();
        let mut alone = odd;
        for some in plain.chunks(MOST_PATHS) {
            let done = self.check_ignore(&["--"], some)?;
            match done.code {
                // 1: none of them.
                Some(0 | 1) => {
                    ignored.extend(String::from_utf8_lossy(&done.stdout).lines().map(str::to_owned));
                }
                // It answers for none if it cannot answer for one, such as a path behind what is a link now.
                _ => alone.extend(some),
            }
        }
        for path in alone {
            if self.check_ignore(&["-q", "--"], &[path])?.code == Some(0) {
                ignored.insert(path.to_owned());
            }
        }
        Ok(ignored)
    }

    fn check_ignore(self, options: &[&str], paths: &[&str]) -> Result<Finished, ChangesError> {
        let mut command = git::command(self.folder);
        command.env("GIT_INDEX_FILE", self.index).arg("check-ignore").args(options).args(paths);
        finish(&mut command, &Stop::default())
    }

    /// Environment variables that name Envoi as the author, the committer or both, if git does not know a
    /// name and address for them.
    #[must_use]
    pub fn identity_where_git_has_none(self) -> Vec<(&'static str, &'static str)> {
        let roles = [
            ("GIT_AUTHOR_IDENT", ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL"]),
            ("GIT_COMMITTER_IDENT", ["GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"]),
        ];
        // Git is as strict here as for a commit.
        let is_unknown = |what: &str| self.run(&["var", what]).is_err();
        let unknown = roles.into_iter().filter(|(what, _)| is_unknown(what));
        unknown.flat_map(|(_, names)| names.into_iter().zip(ENVOI)).collect()
    }

    /// Like [`Self::run`], but ends when `stop` is requested.
    ///
    /// # Errors
    /// Git fails, or is ended.
    pub(crate) fn run_until(self, stop: &Stop, arguments: &[&str]) -> Result<String, ChangesError> {
        self.finish(&[], stop, arguments)
    }

    fn finish(
        self,
        variables: &[(&str, &str)],
        stop: &Stop,
        arguments: &[&str],
    ) -> Result<String, ChangesError> {
        let mut command = git::command(self.folder);
        command.env("GIT_INDEX_FILE", self.index).envs(variables.iter().copied());
        let done = finish(command.args(arguments), stop)?;
        match done.code == Some(0) {
            true => Ok(String::from_utf8_lossy(&done.stdout).trim_end_matches('\n').to_owned()),
            false => Err(failed(arguments.first().unwrap_or(&""), &done)),
        }
    }
}

/// The patch between two folders below `folder`. The user's configuration does not change its form.
///
/// # Errors
/// Git fails, or `stop` is requested.
pub fn difference(folder: &Path, [before, after]: [&str; 2], stop: &Stop) -> Result<Vec<u8>, ChangesError> {
    let mut command = git::command(folder);
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    command.env("GIT_CEILING_DIRECTORIES", folder.parent().unwrap_or(folder));
    command.args(["diff", "--no-index", "--no-prefix", "--binary", "--full-index", "--no-renames"]);
    command.args(["--no-color", "--no-ext-diff", "--no-textconv", before, after]);
    let done = finish(&mut command, stop)?;
    match done.code {
        Some(0 | 1) => Ok(done.stdout),
        _ => Err(failed("diff", &done)),
    }
}

/// Git may read the contents of many files, so it has a long time limit.
fn finish(command: &mut Command, stop: &Stop) -> Result<Finished, ChangesError> {
    let limits = Limits { longest: LONGEST_WORK, stop, memory: None };
    git::finish(command, &limits, || Ok(())).map_err(|error| match error {
        NotFinished::NotStarted(_) => ChangesError::NoGit(error.to_string()),
        _ => ChangesError::Git(error.to_string()),
    })
}

fn failed(command: &str, done: &Finished) -> ChangesError {
    let stderr = String::from_utf8_lossy(&done.stderr).trim().replace('\n', "; ");
    let stderr: String = printable(&stderr).chars().take(MOST_STDERR).collect();
    ChangesError::Git(format!("`git {command}` failed: {stderr}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::symlink};

    #[test]
    fn what_git_ignores_is_known_also_of_names_that_it_quotes_and_beside_one_that_it_refuses() {
        let place = tempfile::tempdir().unwrap();
        let index = place.path().join(".git/index");
        let at = At { folder: place.path(), index: &index };
        at.run(&["init", "-q"]).unwrap();
        fs::write(place.path().join(".gitignore"), "*.log\n").unwrap();
        fs::write(place.path().join("kept.log"), "1").unwrap();
        at.run(&["add", "--force", "kept.log"]).unwrap();
        symlink("elsewhere", place.path().join("link")).unwrap();
        let paths = ["a.log", "b.txt", "kept.log", "ö \"q\".log", "ö.txt", "link/x.log", "deep/c.log"];
        let ignored: Vec<String> = at.ignored(&paths).unwrap().into_iter().collect();
        assert_eq!(ignored, ["a.log", "deep/c.log", "ö \"q\".log"]);
        assert!(at.ignored(&[]).unwrap().is_empty() && at.ignored(&["b.txt"]).unwrap().is_empty());
    }
}
