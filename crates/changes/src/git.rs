//! Runs git by its command line: without environment variables that point to another repository, without
//! programs of the repository's configuration, and without the user's index.

use crate::{error::ChangesError, lines::printable};
use envoi_tree::{
    Stop,
    git::{self, Finished, LONGEST_WORK, Limits, NotFinished},
};
use std::{path::Path, process::Command};

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
