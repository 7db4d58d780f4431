//! A tree of its own for a run: the files of the workspace as they are, in another place, where only this run works.
//!
//! In git it is a worktree with a branch of its own, elsewhere a folder. Owns the order of its making, and that half of it does not
//! stay. It is made before the run begins. Nothing is written to the folder of the user.

use super::{
    handler::Commands,
    names::Names,
    restore::{not_kept, refused},
};
use crate::{
    attempts::{
        copies::{bring, bring_readable, is_of_a_store},
        git::{Git, GitError, Repository},
        secrets::at_hand,
    },
    model::{
        protocol::{Isolate, Refused},
        runner::Caller,
    },
};
use envoi_contract::code::Code;
use envoi_kernel::{Flow, event::Isolated, ids::RunId};
use envoi_step::{MIN_SECRET_BYTES, plain};
use envoi_tree::{NotKept, Order, Scope, Tree};
use std::{
    fs, io,
    os::unix::{ffi::OsStrExt as _, fs::DirBuilderExt as _},
    path::{Component, Path, PathBuf},
};

/// A brought file with more is not searched for secrets.
const MOST_SEARCHED_BYTES: u64 = 1024 * 1024;

/// The source of a tree.
struct Source<'s> {
    /// The workspace that is left alone.
    workspace: &'s Path,
    repository: Option<&'s Repository>,
}

impl Source<'_> {
    /// The folder whose files are taken: in git all of the checkout.
    fn root(&self) -> &Path {
        self.repository.map_or(self.workspace, |repository| &repository.top)
    }
}

/// A tree that was made.
pub(super) struct MadeTree {
    /// The working folder of commands in it.
    pub(super) inside: PathBuf,
    /// With what a person should know of it.
    pub(super) isolated: Isolated,
}

impl Commands {
    /// Makes a tree from `workspace`, which is absolute and without links.
    pub(super) fn tree_for(
        &self,
        workspace: &Path,
        run: &RunId,
        wanted: &Isolate,
        scope: Scope,
        names: &Names,
    ) -> Result<MadeTree, Refused> {
        let git = Git::new(&self.stop);
        let found = git.repository(workspace).map_err(|error| of_git(&error))?;
        let repository = found.as_ref().filter(|repository| repository.head.is_some());
        if wanted.from_head && repository.is_none() {
            let message = format!("`{}` is in no git repository with a commit", workspace.display());
            return Err(Refused::new(
                Code::RequestInvalid,
                message,
                Some("without `--from-head` the tree begins with the files as they are"),
            ));
        }
        let source = Source { workspace, repository };
        if let Some(trees) = nested(git, &source, &wanted.trees.join(run.as_str()))? {
            let root = source.root().display();
            let message = format!(
                "`{trees}` lies in `{root}`, whose files each tree takes: each would have all trees before it; nothing was started"
            );
            let hint = "`--trees DIR` names a folder elsewhere, or one that git ignores";
            return Err(Refused::new(Code::RequestInvalid, message, Some(hint)));
        }
        let place = match made_place(&wanted.trees, run)? {
            Made::New(place) => place,
            // By an engine that went away in the middle of this request: the run has not begun.
            Made::Left(place) => {
                remove(git, source.root(), &place, Some(&format!("envoi/{run}")));
                made_place(&wanted.trees, run)?.place()
            }
        };
        let below = workspace.strip_prefix(source.root()).unwrap_or(Path::new(""));
        let inside = place.join(below);
        let branch = repository.map(|_| format!("envoi/{run}"));
        let isolated = |base| Isolated {
            of: text(workspace),
            place: text(&place),
            branch: branch.clone(),
            head: repository.and_then(|repository| repository.head.clone()),
            base,
            remarks: Vec::new(),
        };
        let order = self.order(wanted.too_wide.clone(), scope);
        let fill = || {
            let (closed, taken) =
                self.fill(&source, &place, &order, (run, branch.as_deref(), wanted), names)?;
            // A file that is empty after a loss of power would count as changed by the run.
            envoi_durable::sync_file_system(&place).map_err(|error| failed(&place, &error))?;
            let base = envoi_tree::keep(&inside, &order).map_err(|error| not_kept(&error, names))?;
            let lost = taken.map(|taken| in_no_snapshot(&taken, &base.tree, below)).unwrap_or_default();
            Ok((base, closed, lost))
        };
        match fill() {
            Ok((base, closed, lost)) => {
                let mut isolated = isolated(base.digest);
                remark(&mut isolated, not_in_the_tree(&closed, names));
                remark(&mut isolated, does_not_come_back(&lost, names));
                Ok(MadeTree { inside, isolated })
            }
            Err(refused) => {
                remove(git, source.root(), &place, branch.as_deref());
                // The output of git may name files, too.
                Err(names.refusal(refused))
            }
        }
    }

    /// Returns what cannot be read, and is therefore not in the tree; and the files that were taken, if they are not those of the commit.
    fn fill(
        &self,
        source: &Source<'_>,
        place: &Path,
        order: &Order,
        (run, branch, wanted): (&RunId, Option<&str>, &Isolate),
        names: &Names,
    ) -> Result<(Vec<PathBuf>, Option<Tree>), Refused> {
        let root = source.root();
        let mut closed = Vec::new();
        let mut taken = None;
        let git = Git::new(&self.stop);
        if let (Some(repository), Some(branch)) = (source.repository, branch) {
            let reason = format!("envoi {run}");
            git.add_worktree(repository, place, branch, &reason, wanted.from_head)
                .map_err(|error| of_git(&error))?;
        }
        if !wanted.from_head {
            let below = source.workspace.strip_prefix(root).ok().and_then(Path::to_str).unwrap_or_default();
            let around = Order { scope: order.scope.around(below), ..order.clone() };
            let kept = envoi_tree::keep(root, &around).map_err(|error| not_read(&error, names))?;
            let laid = envoi_tree::lay(place, order, &kept.tree);
            let laid = laid.map_err(|error| refused(&error, names))?;
            for path in &laid.left {
                let path = Path::new(std::ffi::OsStr::from_bytes(path));
                // A file that git has and the tree has not counts there as deleted: a commit of the run would delete it.
                let is_needed = source.repository.is_some() && !root.join(path).is_dir();
                let left = match is_needed {
                    true => bring(root, place, path).map(|()| Vec::new()),
                    false => bring_readable(root, place, path),
                };
                closed.extend(left.map_err(|error| failed(&root.join(path), &error))?);
            }
            if source.repository.is_some() {
                git.refresh(place);
            }
            taken = Some(kept.tree);
        }
        let included = match source.repository {
            Some(repository) => git.included(repository).map_err(|error| of_git(&error))?,
            None => Vec::new(),
        };
        for path in included.iter().filter(|path| !is_of_a_store(root, Path::new(path))) {
            bring(root, place, Path::new(path)).map_err(|error| failed(&root.join(path), &error))?;
        }
        let below = source.workspace.strip_prefix(root).unwrap_or(Path::new(""));
        let is_there = |path: &&PathBuf| fs::symlink_metadata(source.workspace.join(path)).is_ok();
        for path in wanted.bring.iter().chain(wanted.bring_if_there.iter().filter(is_there)) {
            check_below(path)?;
            bring(root, place, &below.join(path))
                .map_err(|error| failed(&source.workspace.join(path), &error))?;
        }
        Ok((closed, taken))
    }

    /// A run that was refused after all leaves no tree: nothing was done in it.
    pub(super) fn remove_tree(&self, isolated: &Isolated) {
        remove(
            Git::new(&self.stop),
            Path::new(&isolated.of),
            Path::new(&isolated.place),
            isolated.branch.as_deref(),
        );
    }
}

/// They are part of an event; further ones are only counted.
const MOST_REMARKS: usize = 20;

/// Adds what a person should know of the tree, for as long as the run is there.
pub(super) fn remark(isolated: &mut Isolated, remarks: impl IntoIterator<Item = String>) {
    isolated.remarks.extend(remarks);
    let more = isolated.remarks.len().saturating_sub(MOST_REMARKS);
    if more > 0 {
        isolated.remarks.truncate(MOST_REMARKS);
        isolated.remarks.push(format!("{more} more remarks about files of the tree"));
    }
}

/// Says what could not be read. The tree does without it, as a snapshot does.
fn not_in_the_tree(closed: &[PathBuf], names: &Names) -> Option<String> {
    let first = names.shown(closed.first()?.as_os_str().as_bytes());
    Some(match closed.len() {
        1 => format!("warning: `{first}` cannot be read, and is not in the tree"),
        count => format!(
            "warning: {count} files and folders (`{first}` is one) cannot be read, and are not in the tree"
        ),
    })
}

/// Files that were taken into the tree and that its snapshot does not have: git ignores them there, because it does not know there that they
/// are tracked, as those of a submodule or of a repository within the folder.
fn in_no_snapshot(taken: &Tree, base: &Tree, below: &Path) -> Vec<PathBuf> {
    let is_lost = |entry: &&envoi_tree::Entry| entry.content().is_some();
    let path = |entry: &envoi_tree::Entry| {
        let path = Path::new(std::ffi::OsStr::from_bytes(&entry.path)).strip_prefix(below).ok()?;
        base.get(path.as_os_str().as_bytes()).is_none().then(|| path.to_owned())
    };
    taken.entries().iter().filter(is_lost).filter_map(path).collect()
}

/// Says so.
fn does_not_come_back(lost: &[PathBuf], names: &Names) -> Option<String> {
    let first = names.shown(lost.first()?.as_os_str().as_bytes());
    let what = match lost.len() {
        1 => format!("`{first}` is in the tree, and git ignores it there"),
        count => format!("{count} files (`{first}` is one) are in the tree, and git ignores them there"),
    };
    Some(format!(
        "warning: {what}: what the run changes there is in no snapshot and does not come back; `keep: {{ also: [{first}] }}` in `workspace` keeps it"
    ))
}

/// Remarks for a person on the files that were to be brought into a tree: which are not in it, and which hold a secret.
pub(super) fn brought(
    flow: &Flow,
    caller: &Caller,
    wanted: &Isolate,
    from: &Path,
    inside: &Path,
) -> Vec<String> {
    let missing = wanted.bring_if_there.iter().filter(|path| fs::symlink_metadata(from.join(path)).is_err());
    let missing = missing.map(|path| format!("`{}` is not there, and not in the tree", path.display()));
    let named = || wanted.bring.iter().chain(&wanted.bring_if_there);
    // A pipe cannot be copied, and a device is no file of the project.
    let is_other = |path: &&PathBuf| {
        let found = fs::symlink_metadata(from.join(path));
        found.is_ok_and(|found| !(found.is_dir() || found.is_file() || found.is_symlink()))
    };
    let others = named().filter(is_other);
    let others =
        others.map(|path| format!("`{}` is no file, folder or link, and not in the tree", path.display()));
    let secrets: Vec<(String, String)> = at_hand(&flow.secrets, caller).collect();
    let holds = |path: &PathBuf| {
        let content = plain::read(&inside.join(path), MOST_SEARCHED_BYTES).ok()?;
        let has = |value: &str| {
            value.len() >= MIN_SECRET_BYTES
                && content.windows(value.len()).any(|part| part == value.as_bytes())
        };
        let (name, _) = secrets.iter().find(|(_, value)| has(value))?;
        Some(format!(
            "warning: `{}` holds the secret `{name}`, and every step of the run can read it",
            path.display()
        ))
    };
    missing.chain(others).chain(named().filter_map(holds)).collect()
}

/// A folder that cannot be removed does no harm: its name has the id of the run.
fn remove(git: Git<'_>, repository: &Path, place: &Path, branch: Option<&str>) {
    if let Some(branch) = branch {
        git.remove_worktree(repository, place, branch).ok();
    }
    fs::remove_dir_all(place).ok();
}

/// The folder of `place`, if a tree there would be among the files that trees are made from. It need not be there yet.
fn nested(git: Git<'_>, source: &Source<'_>, place: &Path) -> Result<Option<String>, Refused> {
    let there = place.ancestors().find_map(|folder| Some((folder, fs::canonicalize(folder).ok()?)));
    let Some((folder, there)) = there else { return Ok(None) };
    let place = there.join(place.strip_prefix(folder).unwrap_or(Path::new("")));
    if !place.starts_with(source.root()) {
        return Ok(None);
    }
    let is_ignored = match source.repository {
        Some(repository) => git.ignores(repository, &place).map_err(|error| of_git(&error))?,
        None => false,
    };
    Ok((!is_ignored).then(|| text(place.parent().unwrap_or(&place))))
}

/// The folder for the tree of a run.
enum Made {
    /// It is empty.
    New(PathBuf),
    /// It was there. No run but this one has its name.
    Left(PathBuf),
}

impl Made {
    fn place(self) -> PathBuf {
        match self {
            Self::New(place) | Self::Left(place) => place,
        }
    }
}

fn made_place(trees: &Path, run: &RunId) -> Result<Made, Refused> {
    let made = || {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(trees)?;
        let place = fs::canonicalize(trees)?.join(run.as_str());
        match fs::DirBuilder::new().mode(0o700).create(&place) {
            Ok(()) => Ok(Made::New(place)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Made::Left(place)),
            Err(error) => Err(error),
        }
    };
    let made = made().map_err(|error| failed(&trees.join(run.as_str()), &error))?;
    let (Made::New(place) | Made::Left(place)) = &made;
    match place.to_str() {
        Some(_) => Ok(made),
        None => Err(Refused::new(
            Code::PathNotUnicode,
            format!("`{}` is not UTF-8", place.display()),
            Some("`--trees DIR` names another place"),
        )),
    }
}

fn check_below(path: &Path) -> Result<(), Refused> {
    let is_plain =
        |part: Component<'_>| matches!(part, Component::Normal(name) if name != ".git" && name != ".envoi");
    match path.components().all(is_plain) {
        true => Ok(()),
        false => Err(Refused::new(
            Code::RequestInvalid,
            format!("`--bring {}`: it is no path below the workspace", path.display()),
            Some("such as `--bring .env` or `--bring node_modules`"),
        )),
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn failed(path: &Path, error: &io::Error) -> Refused {
    let message = format!("the tree of the run cannot be made: `{}`: {error}", path.display());
    Refused::new(Code::TreeNotMade, message, Some("nothing was started, and the workspace is as it was"))
}

/// A file that the tree needs cannot be read.
fn not_read(error: &NotKept, names: &Names) -> Refused {
    match error {
        NotKept::Io { path, source } => names.refusal(failed(path, source)),
        _ => not_kept(error, names),
    }
}

fn of_git(error: &GitError) -> Refused {
    let message = error.to_string();
    match error {
        GitError::TooOld { .. } => {
            Refused::new(Code::GitTooOld, message, Some("update git; or `--copy` without it"))
        }
        GitError::Place(_) => Refused::new(Code::TreeNotMade, message, Some("nothing was started")),
        GitError::Failed { .. }
        | GitError::NotStarted(_)
        | GitError::NotFinished { .. }
        | GitError::NotAsked(_) => {
            Refused::new(Code::GitFailed, message, Some("nothing was started; or `--copy` without git"))
        }
    }
}
