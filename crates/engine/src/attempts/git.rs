//! The git operations for a run's own tree: whether a folder is in a repository, a worktree with a branch, and its end.
//!
//! Git is used by its command line, without hooks and without the variables that would lead it elsewhere. The index, `HEAD` and the stash of
//! the user's own checkout are not written.

use envoi_contract::time::Timestamp;
use envoi_tree::{
    Stop,
    git::{LONGEST_WORK, Limits, NotFinished},
};
use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    fs, io,
    os::unix::{ffi::OsStrExt as _, fs::DirBuilderExt as _},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

/// The oldest version that is used.
const OLDEST: (u32, u32) = (2, 38);

/// The time limit of a query of git; it reads a few files.
const LONGEST_LOOK: Duration = Duration::from_secs(20);

/// The longest part of git's output in a message.
const MOST_STDERR: usize = 2000;

/// So often something is tried that another git is in the way of.
const TRIES: u32 = 20;

/// Between two tries.
const TRY_AGAIN: Duration = Duration::from_millis(50);

/// Time limit for the removal of a half-made tree; after it, the tree stays.
const LONGEST_REMOVAL: Duration = Duration::from_secs(20);

/// As [`LONGEST_REMOVAL`], when the engine ends.
const LAST_REMOVAL: Duration = Duration::from_secs(1);

/// A repository with the folder in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Repository {
    /// The root of its checkout.
    pub(crate) top: PathBuf,
    /// The commit that is checked out. `None`: it has none yet.
    pub(crate) head: Option<String>,
}

/// The part of a removed worktree that git still has.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Left {
    /// For a person.
    pub(crate) what: String,
    /// Another try would leave it too.
    pub(crate) is_final: bool,
}

/// Why git did not do something.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GitError {
    #[error("git {found} is installed, and a tree of its own needs git {}.{} or newer", OLDEST.0, OLDEST.1)]
    TooOld { found: String },
    #[error("`git {command}` failed: {stderr}")]
    Failed { command: String, stderr: String },
    #[error("git cannot be started: {0}")]
    NotStarted(io::Error),
    #[error("`git {command}`: {source}")]
    NotFinished { command: String, source: NotFinished },
    #[error("the repository cannot be read, so git was not started: {0}")]
    NotAsked(io::Error),
    #[error("the folder for the tree: {0}")]
    Place(io::Error),
}

impl GitError {
    /// Whether another git was at work at the same moment: it holds a lock, or has half made a worktree, perhaps this one for an engine that
    /// went away.
    fn is_passing(&self) -> bool {
        let signs = [
            "commondir",
            "already exists",
            "already used by worktree",
            ".lock': File exists",
            "could not lock",
            "cannot lock",
        ];
        matches!(self, Self::Failed { stderr, .. } if signs.iter().any(|sign| stderr.contains(sign)))
    }
}

/// Git for the tree of a run. The [`Stop`] ends what it does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Git<'s> {
    stop: &'s Stop,
    /// No command of it takes longer.
    longest: Duration,
}

impl<'s> Git<'s> {
    pub(crate) fn new(stop: &'s Stop) -> Self {
        Self { stop, longest: LONGEST_WORK }
    }

    /// The repository that a folder is in, if it is in one and not ignored there.
    ///
    /// # Errors
    /// There is a repository, and git is missing, too old, or refuses it, or would wait for what is in it.
    pub(crate) fn repository(self, folder: &Path) -> Result<Option<Repository>, GitError> {
        let is_top = |above: &Path| above.join(".git").symlink_metadata().is_ok();
        if !folder.ancestors().any(is_top) {
            return Ok(None);
        }
        check_version(&self.run(folder, ["--version"])?)?;
        for above in folder.ancestors() {
            envoi_tree::git::check_readable(above).map_err(GitError::NotAsked)?;
            if is_top(above) {
                break;
            }
        }
        let top = self.run(folder, ["rev-parse", "--show-toplevel"])?;
        if !folder.join(".git").exists() && answer(self.run(folder, ["check-ignore", "-q", "."]))?.is_some() {
            return Ok(None);
        }
        let head = answer(self.run(folder, ["rev-parse", "--quiet", "--verify", "HEAD^{commit}"]))?;
        Ok(Some(Repository { top: PathBuf::from(top), head }))
    }

    /// A new worktree at `place` with a new branch. It is locked, so that git does not take it for a leftover.
    pub(crate) fn add_worktree(
        self,
        repository: &Repository,
        place: &Path,
        branch: &str,
        reason: &str,
        with_files: bool,
    ) -> Result<(), GitError> {
        // Git is to remember what was checked out there, also where it remembers nothing of the repository: see `lost_commits`.
        let mut arguments: Vec<&OsStr> = [
            "-c",
            "core.logAllRefUpdates=true",
            "worktree",
            "add",
            "--quiet",
            "--no-track",
            "--lock",
            "--reason",
            reason,
            "-b",
            branch,
        ]
        .map(OsStr::new)
        .to_vec();
        if !with_files {
            arguments.push(OsStr::new("--no-checkout"));
        }
        arguments.extend([place.as_os_str(), OsStr::new("HEAD")]);
        let mut tries = 1;
        while let Err(error) = self.run_once(&repository.top, &arguments) {
            if !error.is_passing() || tries >= TRIES {
                return Err(error);
            }
            tries = tries.saturating_add(1);
            thread::sleep(TRY_AGAIN);
            if self.has_own_commits(&repository.top, branch) {
                // An agent has committed on this branch: its commits must not be lost.
                return Err(error);
            }
            // Git may already have made a branch without commits, and the folder.
            self.forget_half_made(&repository.top, place);
            self.run(&repository.top, ["branch", "--quiet", "-D", branch]).ok();
            fs::DirBuilder::new().recursive(true).mode(0o700).create(place).map_err(GitError::Place)?;
        }
        if !with_files {
            self.run(place, ["read-tree", "HEAD"])?;
        }
        Ok(())
    }

    /// Has git forget a worktree in which nothing was done, as far as it knows of one. A git of an engine that went away may have ended after
    /// its folder was taken away: then git finds no worktree in the folder that is there now, and keeps the branch for it.
    fn forget_half_made(self, folder: &Path, place: &Path) {
        let place_word = place.as_os_str();
        self.run(folder, [OsStr::new("worktree"), OsStr::new("unlock"), place_word]).ok();
        let remove = ["worktree", "remove", "--force"].map(OsStr::new);
        let words = || remove.into_iter().chain([place_word]);
        // A folder with something in it stays.
        if self.run(folder, words()).is_err() && fs::remove_dir(place).is_ok() {
            self.run(folder, words()).ok();
        }
    }

    /// Whether the commit of a branch is on no other branch or tag, and none that the checkout of `folder` comes from. A branch that is not
    /// there has none; if git does not answer, it may have.
    fn has_own_commits(self, folder: &Path, branch: &str) -> bool {
        let name = format!("refs/heads/{branch}");
        let commit = self.run(folder, ["rev-parse", "--quiet", "--verify", &name]);
        if let Ok(None) = answer(commit) {
            return false;
        }
        // References of a worktree alone go with it.
        let lasting = ["refs/heads", "refs/tags", "refs/remotes"];
        let words = ["for-each-ref", "--count=2", "--format=%(refname)", "--contains", &name];
        let names = self.run(folder, words.into_iter().chain(lasting));
        let is_elsewhere = names.is_ok_and(|names| names.lines().any(|other| other != name));
        !is_elsewhere && self.run(folder, ["merge-base", "--is-ancestor", &name, "HEAD"]).is_err()
    }

    /// Informs git that the files of the worktree were written, so that its next look need not read them all.
    ///
    /// No filter of the user's configuration runs for that. If a filter changes the content of a file, git takes the file for changed until
    /// its next look.
    pub(crate) fn refresh(self, place: &Path) {
        let Ok(mut words) = self.without_filters(place) else { return };
        words.extend(["update-index", "-q", "--refresh"].map(str::to_owned));
        // It fails where a file differs, which is no failure.
        self.run(place, words.iter().map(String::as_str)).ok();
    }

    /// Arguments by which git runs none of the filters that the configuration of this user and of this repository name.
    fn without_filters(self, place: &Path) -> Result<Vec<String>, GitError> {
        let keys = ["config", "--name-only", "-z", "--get-regexp", "^filter[.]"];
        let named = answer(self.run(place, keys))?.unwrap_or_default();
        let driver = |key: &str| Some(key.strip_prefix("filter.")?.rsplit_once('.')?.0.to_owned());
        let drivers: BTreeSet<String> = named.split('\0').filter_map(driver).collect();
        if drivers.iter().any(|name| name.contains(['=', '\n'])) {
            // Such a name is not possible in an argument.
            return Err(GitError::NotAsked(io::Error::from(io::ErrorKind::InvalidInput)));
        }
        let off = |name: &String| {
            let keys = [
                format!("filter.{name}.clean="),
                format!("filter.{name}.process="),
                format!("filter.{name}.required=false"),
            ];
            keys.into_iter().flat_map(|key| ["-c".to_owned(), key])
        };
        Ok(drivers.iter().flat_map(off).collect())
    }

    /// Takes away a worktree with its branch in which nothing was done yet. Also when the engine ends, which does not wait long for it.
    pub(crate) fn remove_worktree(self, folder: &Path, place: &Path, branch: &str) -> Result<(), GitError> {
        let never = Stop::default();
        let longest = if self.stop.is_wanted() { LAST_REMOVAL } else { LONGEST_REMOVAL };
        let git = Git { stop: &never, longest };
        answer(git.run(folder, [OsStr::new("worktree"), OsStr::new("unlock"), place.as_os_str()]))?;
        let remove = ["worktree", "remove", "--force"].map(OsStr::new);
        git.run(folder, remove.into_iter().chain([place.as_os_str()]))?;
        git.run(folder, ["branch", "--quiet", "-D", branch]).map(drop)
    }

    /// Which commits would go with this worktree, in a sentence; none if all that were checked out in it are on a branch, a tag or another
    /// name. Its reflog knows them. Submodules that were taken down have their commits in the worktree's own part of the repository.
    pub(crate) fn lost_commits(self, folder: &Path) -> Result<Option<String>, GitError> {
        let own = PathBuf::from(self.run(folder, ["rev-parse", "--absolute-git-dir"])?);
        let modules = own.join("modules");
        match fs::read_dir(&modules).map(|mut entries| entries.next().is_none()) {
            Ok(true) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Ok(false) | Err(_) => {
                return Ok(Some(format!(
                    "no snapshot keeps the history of its submodules, in `{}`",
                    modules.display()
                )));
            }
        }
        let log =
            answer(self.run(folder, ["reflog", "show", "--format=%H", "HEAD", "--"]))?.unwrap_or_default();
        let mut commits: BTreeSet<&str> = log.split_whitespace().collect();
        if commits.is_empty() {
            return Ok(Some(
                "git has no log of what was checked out there, so its commits are not known".to_owned(),
            ));
        }
        commits.insert("HEAD");
        // References of the worktree alone go with it.
        let others =
            ["refs/worktree/*", "refs/bisect/*", "refs/rewritten/*"].map(|own| format!("--exclude={own}"));
        let others = ["--not"].into_iter().chain(others.iter().map(String::as_str)).chain(["--glob=*", "--"]);
        let words = ["rev-list", "--max-count=1"].into_iter().chain(commits).chain(others);
        let is_none_lost = answer(self.run(folder, words))?.is_some_and(|lost| lost.is_empty());
        Ok((!is_none_lost).then(|| "commits that were made there are on no branch".to_owned()))
    }

    /// Has git forget a worktree that is gone, and the branch if nothing was committed there. Says what is left.
    pub(crate) fn forget_worktree(
        self,
        folder: &Path,
        place: &Path,
        branch: &str,
        head: Option<&str>,
    ) -> Option<Left> {
        let stays = |error: &GitError| {
            Some(Left { what: format!("branch `{branch}` stays: {error}"), is_final: false })
        };
        let unlocked = self.run(folder, [OsStr::new("worktree"), OsStr::new("unlock"), place.as_os_str()]);
        if let Err(error) = answer(unlocked) {
            return stays(&error);
        }
        let remove = ["worktree", "remove", "--force"].map(OsStr::new);
        let removed = self.run(folder, remove.into_iter().chain([place.as_os_str()]));
        let name = format!("refs/heads/{branch}^{{commit}}");
        let commit = match answer(self.run(folder, ["rev-parse", "--quiet", "--verify", &name])) {
            Ok(commit) => commit?,
            Err(error) => return stays(&error),
        };
        if head != Some(commit.as_str()) {
            return Some(Left { what: format!("branch `{branch}` has commits, and stays"), is_final: true });
        }
        // A removal that was killed may have done that already; the branch can be deleted if so.
        if let Err(error) = answer(removed) {
            return stays(&error);
        }
        match self.run(folder, ["branch", "--quiet", "-D", branch]) {
            Ok(_) => None,
            Err(error) => stays(&error),
        }
    }

    /// Has git forget the worktree of an item, and its branch if its commit is on another branch or a tag too.
    pub(crate) fn forget_item(self, folder: &Path, place: &Path, branch: &str) {
        self.run(folder, [OsStr::new("worktree"), OsStr::new("unlock"), place.as_os_str()]).ok();
        let remove = ["worktree", "remove", "--force"].map(OsStr::new);
        self.run(folder, remove.into_iter().chain([place.as_os_str()])).ok();
        if !self.has_own_commits(folder, branch) {
            self.run(folder, ["branch", "--quiet", "-D", branch]).ok();
        }
    }

    /// Whether a commit since this time has all of these lines in its message, and is on a branch, a tag or a branch of a remote. Git's
    /// collection removes any other commit.
    ///
    /// # Errors
    /// Git does not answer.
    pub(crate) fn has_commit_that_says(
        self,
        folder: &Path,
        lines: &[String],
        since: Timestamp,
    ) -> Result<bool, GitError> {
        // Clocks of those who commit may differ.
        const A_DAY_S: i64 = 24 * 60 * 60;
        let since = format!("--since={}", (since.as_millis() / 1000).saturating_sub(A_DAY_S));
        let words = [
            "log",
            "--max-count=1",
            "--format=%H",
            "--branches",
            "--tags",
            "--remotes",
            "--all-match",
            &since,
        ];
        let said = lines.iter().map(|line| format!("--grep=^{line}$"));
        let words = words.map(str::to_owned).into_iter().chain(said);
        Ok(!self.run(folder, words)?.is_empty())
    }

    /// Whether git ignores what will lie at this path of the repository.
    pub(crate) fn ignores(self, repository: &Repository, path: &Path) -> Result<bool, GitError> {
        let arguments = [OsStr::new("check-ignore"), OsStr::new("-q"), OsStr::new("--"), path.as_os_str()];
        Ok(answer(self.run(&repository.top, arguments))?.is_some())
    }

    /// Files that git does not track and that `.worktreeinclude` names, relative to the root of the checkout.
    pub(crate) fn included(self, repository: &Repository) -> Result<Vec<String>, GitError> {
        const LIST: &str = ".worktreeinclude";
        if !repository.top.join(LIST).is_file() {
            return Ok(Vec::new());
        }
        let from = format!("--exclude-from={LIST}");
        let listed = self.run(&repository.top, ["ls-files", "-z", "--others", "--ignored", from.as_str()])?;
        Ok(listed.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect())
    }

    /// Files of the worktree at `place` that are not as the commit has them, but for those below `below`: changed, gone, or new and not
    /// ignored. Relative to `place`.
    pub(crate) fn changed_beside(
        self,
        place: &Path,
        commit: &str,
        below: &Path,
    ) -> Result<Vec<PathBuf>, GitError> {
        envoi_tree::git::check_readable(place).map_err(GitError::NotAsked)?;
        let beside = format!(":(top,exclude,literal){}", below.display());
        let changed = ["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv"];
        let changed = self.printed(place, changed.into_iter().chain([commit, "--", ":/", &beside]))?;
        let new = ["ls-files", "-z", "--others", "--exclude-standard", "--", ":/", &beside];
        let new = self.printed(place, new)?;
        let paths = changed.split(|byte| *byte == 0).chain(new.split(|byte| *byte == 0));
        let paths = paths.filter(|path| !path.is_empty());
        Ok(paths.map(|path| PathBuf::from(OsStr::from_bytes(path))).collect())
    }

    /// The output of git, without the end of the line.
    fn run<A: AsRef<OsStr>>(
        self,
        folder: &Path,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<String, GitError> {
        let printed = self.printed(folder, arguments)?;
        Ok(String::from_utf8_lossy(&printed).trim_end_matches('\n').to_owned())
    }

    /// The output of git. It is tried again if another git was in the way.
    fn printed<A: AsRef<OsStr>>(
        self,
        folder: &Path,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<Vec<u8>, GitError> {
        let arguments: Vec<OsString> =
            arguments.into_iter().map(|argument| argument.as_ref().to_owned()).collect();
        let mut tries = 1;
        loop {
            match self.run_once(folder, &arguments) {
                Err(error) if error.is_passing() && tries < TRIES => {
                    tries = tries.saturating_add(1);
                    thread::sleep(TRY_AGAIN);
                }
                done => return done,
            }
        }
    }

    fn run_once<A: AsRef<OsStr>>(self, folder: &Path, arguments: &[A]) -> Result<Vec<u8>, GitError> {
        let mut command = envoi_tree::git::command(folder);
        let mut words = Vec::new();
        for argument in arguments {
            words.push(argument.as_ref().to_string_lossy().into_owned());
            command.arg(argument);
        }
        let works = ["worktree", "read-tree", "update-index", "ls-files", "branch", "diff"];
        let settings =
            words.chunks(2).take_while(|pair| pair.first().is_some_and(|word| word == "-c")).count();
        let verb = words.get(settings.saturating_mul(2));
        let is_work = verb.is_some_and(|word| works.contains(&word.as_str()));
        let longest = if is_work { LONGEST_WORK } else { LONGEST_LOOK };
        let limits = Limits { longest: longest.min(self.longest), stop: self.stop, memory: None };
        let done =
            envoi_tree::git::finish(&mut command, &limits, || Ok(())).map_err(|error| match error {
                NotFinished::NotStarted(source) => GitError::NotStarted(source),
                source => GitError::NotFinished { command: words.join(" "), source },
            })?;
        match done.code {
            Some(0) => Ok(done.stdout),
            _ => {
                let stderr: String =
                    String::from_utf8_lossy(&done.stderr).trim().chars().take(MOST_STDERR).collect();
                Err(GitError::Failed { command: words.join(" "), stderr })
            }
        }
    }
}

/// The output of a git command that may answer "no" (`None`). If git did not answer at all, the result is unknown: an error.
fn answer(said: Result<String, GitError>) -> Result<Option<String>, GitError> {
    match said {
        Ok(said) => Ok(Some(said)),
        Err(GitError::Failed { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Git is missing, or too old for the tree of a run.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct GitUnusable(#[from] GitError);

/// The version of git on this machine, as git prints it, if trees of runs can be made with it.
///
/// # Errors
/// Git cannot be started, or is too old.
pub fn git_version() -> Result<String, GitUnusable> {
    let printed = Git::new(&Stop::default()).run(Path::new("/"), ["--version"])?;
    check_version(&printed)?;
    Ok(printed)
}

fn check_version(printed: &str) -> Result<(), GitError> {
    let version = printed.strip_prefix("git version ").unwrap_or(printed);
    let found = version.split_whitespace().next().unwrap_or("");
    let mut numbers = found.split('.').map(|number| number.parse::<u32>().unwrap_or(0));
    let number = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if number < OLDEST { Err(GitError::TooOld { found: found.to_owned() }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_answer_is_not_taken_for_a_no() {
        let failed = GitError::Failed { command: "rev-parse".to_owned(), stderr: String::new() };
        assert!(matches!(answer(Err(failed)), Ok(None)));
        let late = NotFinished::TooLong { longest: LONGEST_LOOK };
        let late = GitError::NotFinished { command: "rev-parse".to_owned(), source: late };
        assert!(matches!(answer(Err(late)), Err(GitError::NotFinished { .. })));
        assert!(matches!(answer(Ok("yes".to_owned())), Ok(Some(_))));
    }

    /// Runs git as a person would.
    fn by_hand(folder: &Path, words: &[&str]) {
        let who = ["-c", "user.name=a", "-c", "user.email=a@b.example", "-c", "protocol.file.allow=always"];
        let done = std::process::Command::new("git")
            .current_dir(folder)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .args(who)
            .args(words)
            .output()
            .unwrap();
        assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
    }

    #[test]
    fn a_commit_that_only_a_worktree_has_is_found_with_any_log_setting_of_git() {
        let stop = Stop::default();
        let git = Git::new(&stop);
        let root = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(root.path()).unwrap();
        for name in ["sub", "top"] {
            fs::create_dir(root.join(name)).unwrap();
            by_hand(&root.join(name), &["init", "-q"]);
            by_hand(&root.join(name), &["config", "core.logAllRefUpdates", "false"]);
            by_hand(&root.join(name), &["commit", "-q", "--allow-empty", "-m", "one"]);
        }
        let top = root.join("top");
        by_hand(&top, &["submodule", "--quiet", "add", "../sub", "sub"]);
        by_hand(&top, &["commit", "-q", "-m", "sub"]);
        let repository = git.repository(&top).unwrap().unwrap();
        let lost = |name: &str, then: &[&[&str]]| {
            let place = root.join(name);
            git.add_worktree(&repository, &place, name, "a test", true).unwrap();
            assert_eq!(git.lost_commits(&place).unwrap(), None, "{name}");
            then.iter().for_each(|words| by_hand(&place, words));
            git.lost_commits(&place).unwrap().unwrap_or_default()
        };
        // Two commits of one second with the same words would be one.
        let first: &[&str] = &["commit", "-q", "--allow-empty", "-m", "first"];
        let second: &[&str] = &["commit", "-q", "--allow-empty", "-m", "second"];
        let third: &[&str] = &["commit", "-q", "--allow-empty", "-m", "third"];
        assert_eq!(lost("kept", &[first, &["branch", "-f", "other"]]), "");
        assert!(lost("reset", &[second, &["reset", "-q", "HEAD~"]]).contains("on no branch"));
        assert!(
            lost("detached", &[&["checkout", "-q", "--detach"], third, &["checkout", "-q", "detached"]])
                .contains("on no branch")
        );
        let update: &[&str] = &["submodule", "--quiet", "update", "--init"];
        assert!(
            lost("sub-down", &[update, &["submodule", "--quiet", "deinit", "-f", "sub"]])
                .contains("submodules")
        );
        // As an older version made it.
        by_hand(&top, &["worktree", "add", "-q", "-b", "older", "../older"]);
        assert!(git.lost_commits(&root.join("older")).unwrap().is_some_and(|why| why.contains("no log")));
    }

    #[test]
    fn what_git_made_for_an_engine_that_went_away_is_in_nobodys_way_and_commits_are_kept() {
        let stop = Stop::default();
        let git = Git::new(&stop);
        let root = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(root.path()).unwrap();
        let top = root.join("top");
        fs::create_dir(&top).unwrap();
        by_hand(&top, &["init", "-q"]);
        by_hand(&top, &["commit", "-q", "--allow-empty", "-m", "one"]);
        let repository = git.repository(&top).unwrap().unwrap();
        let place = root.join("item");
        let add = || {
            fs::create_dir_all(&place).unwrap();
            git.add_worktree(&repository, &place, "envoi/item", "a test", false)
        };
        add().unwrap();
        // Its folder was taken away by the next engine, just before that git wrote down its worktree.
        fs::rename(&place, root.join("item.removed")).unwrap();
        add().unwrap();
        // The whole of it is there: that git was faster.
        add().unwrap();
        // Only its branch is there.
        by_hand(&top, &["worktree", "remove", "-f", "-f", "../item"]);
        add().unwrap();
        by_hand(&place, &["commit", "-q", "--allow-empty", "-m", "of an agent"]);
        let commit = git.run(&place, ["rev-parse", "HEAD"]).unwrap();
        for gone in [false, true] {
            if gone {
                fs::remove_dir_all(&place).unwrap();
            }
            let refused = add().unwrap_err();
            assert!(refused.to_string().contains("already exists"), "{refused}");
            let kept = git.run(&top, ["rev-parse", "envoi/item"]).unwrap();
            assert_eq!((kept, place.join(".git").exists()), (commit.clone(), !gone), "nothing is lost");
        }
    }

    #[test]
    fn versions_are_compared_by_their_numbers() {
        for old in ["git version 2.37.4", "git version 2.9.0", "git version 1.99", "anything", ""] {
            assert!(check_version(old).is_err(), "{old}");
        }
        for new in ["git version 2.38.0", "git version 2.47.3 (Apple Git-1)", "git version 3.0.rc1"] {
            assert!(check_version(new).is_ok(), "{new}");
        }
    }
}
