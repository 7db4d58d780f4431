//! Asks git which files of a folder it does not ignore. Nothing else of git is used here.

use crate::{
    git::{self, Finished, Limits, NotFinished},
    model::stop::Stop,
};
use std::{
    collections::BTreeSet,
    fs, io,
    path::Path,
    time::{Duration, Instant},
};

/// The longest that git may take for one look at a folder.
const LONGEST: Duration = Duration::from_secs(120);
/// The most names that are looked at to find what git waits for.
const MOST_NAMES: usize = 1_000_000;
/// The memory that git may use: it reads a file of rules whole. The list of a million files takes a tenth of it.
const MOST_MEMORY: u64 = 1 << 30;

/// A longer message of git has a path of about the most bytes that a path can have.
const MOST_BYTES_SAID: usize = 4000;

/// The calls of git for one look at a folder. All of them together have one bound: a step can make any number of repositories.
pub(crate) struct Asking<'s> {
    stop: &'s Stop,
    left: Duration,
}

impl<'s> Asking<'s> {
    pub(crate) fn new(stop: &'s Stop) -> Self {
        Self { stop, left: LONGEST }
    }

    /// The files in a folder that git knows and does not ignore. `None` if git does not answer: it is not installed, the folder is in no
    /// repository or is ignored as a whole, or git refuses it.
    ///
    /// # Errors
    /// Git takes too long, or its list is too large; a path that it would read is not a file, or is far too long.
    pub(crate) fn list(&mut self, folder: &Path, is_top: bool) -> io::Result<Option<Listed>> {
        if is_top {
            git::check_readable(folder)?;
        }
        let is_outside = |answer: Finished| answer.code != Some(1);
        if !is_top && self.answer_of(folder, &["check-ignore", "-q", "."])?.is_none_or(is_outside) {
            return Ok(None);
        }
        let arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
        match self.answer_of(folder, &arguments)? {
            // Git leaves such a folder out, reports it, and succeeds.
            Some(Finished { code: Some(0), stderr, .. }) if has_left_out(&stderr).is_some() => {
                Err(io::Error::new(io::ErrorKind::InvalidFilename, has_left_out(&stderr).unwrap_or_default()))
            }
            Some(Finished { code: Some(0), stdout, stderr }) => {
                let paths = stdout.split(|byte| *byte == 0).filter(|path| !path.is_empty());
                let mut unlisted = unlisted(&stderr)?;
                if !unlisted.is_empty() {
                    self.strip_prefix_of(folder, &mut unlisted)?;
                }
                Ok(Some(Listed { paths: paths.map(<[u8]>::to_vec).collect(), unlisted }))
            }
            _ => Ok(None),
        }
    }

    /// The paths of submodules, as the index of git has them, relative to the folder.
    ///
    /// # Errors
    /// Git takes too long, or does not answer.
    pub(crate) fn submodules(&mut self, folder: &Path) -> io::Result<BTreeSet<Vec<u8>>> {
        let answer = self.answer_of(folder, &["ls-files", "-z", "--stage"])?;
        let answer = answer.filter(|answer| answer.code == Some(0));
        let listed =
            answer.ok_or_else(|| io::Error::other("git does not say which submodules there are"))?.stdout;
        let path = |line: &[u8]| {
            let rest = line.strip_prefix(b"160000 ")?;
            let tab = rest.iter().position(|byte| *byte == b'\t')?;
            rest.get(tab.saturating_add(1)..).map(<[u8]>::to_vec)
        };
        Ok(listed.split(|byte| *byte == 0).filter_map(path).collect())
    }

    /// Git lists paths from the folder, and warns of them from the top of its repository.
    fn strip_prefix_of(&mut self, folder: &Path, paths: &mut [Vec<u8>]) -> io::Result<()> {
        let answer = self.answer_of(folder, &["rev-parse", "--show-prefix"])?;
        let prefix = answer.filter(|answer| answer.code == Some(0)).map(|answer| answer.stdout);
        let prefix = prefix
            .ok_or_else(|| io::Error::other("git does not say where the folder lies in its repository"))?;
        let prefix = prefix.strip_suffix(b"\n").unwrap_or(&prefix);
        for path in paths {
            let inside = path.strip_prefix(prefix).ok_or_else(|| not_open(path))?;
            *path = inside.to_vec();
        }
        Ok(())
    }

    /// `None` where git cannot be started.
    fn answer_of(&mut self, folder: &Path, arguments: &[&str]) -> io::Result<Option<Finished>> {
        let began = Instant::now();
        let limits = Limits { longest: self.left, stop: self.stop, memory: Some(MOST_MEMORY) };
        let done =
            git::finish(git::command(folder).args(arguments), &limits, || refuse_pipes_of_rules(folder));
        self.left = self.left.saturating_sub(began.elapsed());
        match done {
            // It did not come to its end, so its answer is not known.
            Ok(Finished { code: None, .. }) => Err(io::Error::other("git was ended by a signal")),
            Ok(answer) => Ok(Some(answer)),
            Err(NotFinished::NotStarted(_)) => Ok(None),
            // All of the bound, also where earlier questions have used most of it.
            Err(NotFinished::TooLong { .. }) => {
                let error = NotFinished::TooLong { longest: LONGEST };
                Err(io::Error::new(io::ErrorKind::TimedOut, error.to_string()))
            }
            Err(error @ NotFinished::Stopped) => Err(io::Error::other(error.to_string())),
            Err(NotFinished::Io(error)) => Err(error),
        }
    }
}

/// The paths that git has listed in a folder, relative to it.
pub(crate) struct Listed {
    /// Files, and folders that are repositories of their own, some with a slash behind them.
    pub(crate) paths: Vec<Vec<u8>>,
    /// Folders that git may not list.
    pub(crate) unlisted: Vec<Vec<u8>>,
}

/// The folders that git has passed over because it may not list them, as git prints them: from the top of the repository.
///
/// # Errors
/// It has passed over a folder for another reason, or one whose name has more than one line: its files would count as deleted.
fn unlisted(stderr: &[u8]) -> io::Result<Vec<Vec<u8>>> {
    const WARNS: &[u8] = b"warning: could not open directory '";
    let warnings = stderr.split(|byte| *byte == b'\n').filter(|line| line.starts_with(WARNS));
    let path = |line: &[u8]| {
        let path = line.strip_prefix(WARNS)?.strip_suffix(b"/': Permission denied")?;
        Some(path.to_vec())
    };
    warnings.map(|line| path(line).ok_or_else(|| not_open(line))).collect()
}

fn not_open(said: &[u8]) -> io::Error {
    io::Error::other(format!("git could not open a folder: {}", String::from_utf8_lossy(said)))
}

/// The folder that git could not open because its path is too long, as git reports it.
fn has_left_out(stderr: &[u8]) -> Option<String> {
    let said = String::from_utf8_lossy(stderr);
    // Git cuts its message, so that of a long path the reason is missing.
    let is_too_long = |line: &&str| line.ends_with(": File name too long") || line.len() > MOST_BYTES_SAID;
    let line = said.lines().filter(|line| line.contains("could not open directory")).find(is_too_long)?;
    Some(line.split('\'').nth(1).unwrap_or(line).to_owned())
}

/// Git reads `.gitignore` of every folder that it enters, and waits for one that is a pipe.
fn refuse_pipes_of_rules(top: &Path) -> io::Result<()> {
    let mut folders = vec![top.to_owned()];
    let mut names: usize = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            names = names.saturating_add(1);
            if names > MOST_NAMES {
                return Ok(());
            }
            let Ok(found) = entry.file_type() else { continue };
            if entry.file_name() == ".gitignore" && !found.is_file() && !found.is_dir() && !found.is_symlink()
            {
                let place = entry.path();
                let place = place.strip_prefix(top).unwrap_or(&place).display().to_string();
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("`{place}` is not a regular file"),
                ));
            }
            if found.is_dir() && entry.file_name() != ".git" {
                folders.push(entry.path());
            }
        }
    }
    Ok(())
}
