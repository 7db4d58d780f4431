//! `envoi apply --patch` and `--branch`: what a run has changed, as a patch of git, or as a commit on a new branch.
//!
//! Both are made of what the run began with and of its last snapshot; the folder, its index and what is checked out are only read. The two
//! states of the files that differ are laid beside each other, and git compares them. For a branch the patch is applied to the commit that
//! the tree of the run was made from, in an index of its own; all of it fits, or there is no branch.

use super::{
    diff::{say_what_is_outside, tree_of},
    restore::say_not_there,
};
use crate::{
    process::{
        environment,
        failure::Failure,
        files,
        git::{self, At},
        interrupts, messages, output,
    },
    store::{
        home::Home,
        points::{self, Point},
        select,
    },
    text::diff::printable,
};
use envoi_api::output::{NewBranch, WrittenPatch};
use envoi_contract::code::Code;
use envoi_engine::snapshots;
use envoi_kernel::{
    Record, Run, Status,
    event::{Isolated, RunStarted},
    ids::RunId,
};
use envoi_tree::{Difference, Entry, Later, Order, Tree, What, differences};
use std::{fs, path::Path};
use tempfile::TempDir;

/// What is made of the changes.
pub(crate) enum Form<'a> {
    /// A file, or `-` for standard output.
    Patch(&'a Path),
    /// A branch of this name.
    Branch(&'a str),
}

pub(crate) fn patch(
    home: &Home,
    run: Option<&str>,
    form: &Form<'_>,
    why: Option<&str>,
) -> Result<u8, Failure> {
    interrupts::end_git_with_this_process();
    let (store, reader) = home.reader()?;
    let id = select::run_or_newest(&reader, run)?;
    let loaded = envoi_engine::load_run(&reader, &id)?;
    let order = snapshots::order(store.layout(), environment::home_folder().into_iter().collect());
    let Some(started) = loaded.started() else { return Err(Failure::store("the run has not started")) };
    let records = reader.records(&id, 0, None).map_err(Failure::store)?;
    let (before, mut after) = states(&records, started, &order)?;
    // A patch would delete them in the folder. In a commit they are no longer tracked, which is what the run wanted.
    if matches!(form, Form::Patch(_)) {
        let shelf = order.contents.shelf().map_err(Failure::store)?;
        let found = envoi_tree::with_ignored(&shelf, &before, &after, Later::Snapshot);
        (after, _) = found.map_err(Failure::store)?;
    }
    // Git knows no empty folder.
    let before = without_folders(&before)?;
    let after = without_folders(&after)?;
    let found = differences(&before, &after);
    let scratch = scratch()?;
    // In git the paths of a patch are relative to the top of the checkout, from wherever `git apply` is called.
    let below = match form {
        Form::Patch(_) => below_top(started, &scratch.path().join("index")),
        Form::Branch(_) => String::new(),
    };
    let side = |name: &str| scratch.path().join(name).join(&below);
    let mut left = lay(&side("a"), &order, found.iter().filter_map(|found| found.before))?;
    left.extend(lay(&side("b"), &order, found.iter().filter_map(|found| found.after))?);
    say_not_there(&reader, &id, &left);
    say_what_is_outside(&records);
    if !matches!(loaded.status(), Status::Ended(_)) {
        messages::say("note: the run is not over; this is what it had changed at its last snapshot");
    }
    let patch = git::difference(scratch.path(), ["a", "b"])?;
    if patch.is_empty() {
        messages::say("note: the run has changed no file, and nothing was written");
        return Ok(0);
    }
    match form {
        Form::Patch(file) if *file == Path::new("-") => output::bytes(&patch)?,
        Form::Patch(file) => {
            files::write_new(file, &patch, "name another file, or `-` for standard output")?;
            let row = WrittenPatch { patch: file.display().to_string(), files: count(&found) };
            print(home, &row, &printable(&row.patch), row.files)?;
        }
        Form::Branch(name) => {
            if reader.workspace_of_original(&id).map_err(Failure::store)?.is_some() {
                let message = "this store is a copy, and the repository is that of the original";
                return Err(Failure::new(Code::StoreCopied, message).hint("`--patch FILE` writes a patch"));
            }
            let file = scratch.path().join("patch");
            fs::write(&file, &patch).map_err(|error| Failure::machine(file.display(), error))?;
            let index = scratch.path().join("index");
            let commit = branch(&loaded, &id, name, why, &file, &index)?;
            let row = NewBranch { branch: (*name).to_owned(), commit, files: count(&found) };
            print(home, &row, &format!("{name} ({})", row.commit), row.files)?;
        }
    }
    Ok(0)
}

fn count(found: &[Difference<'_>]) -> u64 {
    u64::try_from(found.len()).unwrap_or(u64::MAX)
}

/// The row for programs, or a line for people.
fn print(home: &Home, row: &impl serde::Serialize, what: &str, files: u64) -> Result<(), Failure> {
    if home.json {
        return output::row(row);
    }
    let noun = if files == 1 { "file" } else { "files" };
    output::data(&format!("{what}: {files} {noun}\n"))
}

/// What the run began with, and its last snapshot.
fn states(records: &[Record], started: &RunStarted, order: &Order) -> Result<(Tree, Tree), Failure> {
    let (start, end) = points::range(&snapshots::taken(records), None)?;
    let shelf = order.contents.shelf().map_err(Failure::store)?;
    let digest = |point: Point| match point {
        Point::Kept { snapshot, .. } => Ok(snapshot.digest),
        Point::Now => Err(Failure::store("a run has no last snapshot")),
    };
    let base = match started.isolated.as_deref() {
        Some(isolated) => isolated.base,
        None => digest(start)?,
    };
    Ok((tree_of(&shelf, &base)?, tree_of(&shelf, &digest(end)?)?))
}

/// Where the workspace is in the checkout of a git repository: empty at its top, and where it is in none.
fn below_top(started: &RunStarted, index: &Path) -> String {
    let folder = started.isolated.as_deref().map_or(started.workspace.as_str(), |isolated| &isolated.of);
    let prefix = At { folder: Path::new(folder), index }.run(&["rev-parse", "--show-prefix"]).ok();
    // The folder is gone, or git does not answer there: the tree is like it.
    let in_tree = || {
        let place = &started.isolated.as_deref()?.place;
        Path::new(&started.workspace).strip_prefix(place).ok()?.to_str().map(str::to_owned)
    };
    prefix.or_else(in_tree).unwrap_or_default()
}

fn without_folders(tree: &Tree) -> Result<Tree, Failure> {
    let files = tree.entries().iter().filter(|entry| !matches!(entry.what, What::EmptyFolder));
    Tree::new(files.cloned().collect()).map_err(Failure::store)
}

/// A folder of this user alone, which is gone afterwards.
fn scratch() -> Result<TempDir, Failure> {
    tempfile::Builder::new()
        .prefix("envoi-patch-")
        .tempdir_in(environment::private_dir())
        .map_err(|error| Failure::machine("a temporary folder", error))
}

/// Lays these files down, and returns those whose content is not kept.
fn lay<'a>(
    folder: &Path,
    order: &Order,
    entries: impl Iterator<Item = &'a Entry>,
) -> Result<Vec<Vec<u8>>, Failure> {
    let tree = Tree::new(entries.cloned().collect()).map_err(Failure::store)?;
    envoi_tree::write_into(folder, order, &tree)
        .map(|written| written.left)
        .map_err(|error| Failure::machine("the files to compare", error))
}

fn exists(name: &str) -> Failure {
    let message = format!("there is a branch `{name}` already; nothing was changed");
    Failure::new(Code::FileExists, message).hint("name another one")
}

/// Makes the branch, and returns its commit.
fn branch(
    run: &Run,
    id: &RunId,
    name: &str,
    why: Option<&str>,
    patch: &Path,
    index: &Path,
) -> Result<String, Failure> {
    let isolated = run.started().and_then(|started| started.isolated.as_deref());
    let Some(Isolated { of, head: Some(head), .. }) = isolated else {
        let message = "a branch can only be made of a run that had a worktree of a git repository (`envoi run --isolate`)";
        return Err(Failure::new(Code::NotIsolated, message).hint("`--patch FILE` writes a patch"));
    };
    let at = At { folder: Path::new(of), index };
    let reference = format!("refs/heads/{name}");
    // Git itself makes no branch of such a name, and `HEAD` would be ambiguous from then on.
    let is_name = name != "@"
        && !name.starts_with("refs/")
        && at.run(&["check-ref-format", "--branch", name]).is_ok_and(|expanded| expanded == name);
    if name.starts_with('-') || !is_name {
        return Err(Failure::new(Code::RequestInvalid, format!("`{name}` cannot be the name of a branch")));
    }
    let top = at.run(&["rev-parse", "--show-toplevel"])?;
    let prefix = at.run(&["rev-parse", "--show-prefix"])?;
    let at = At { folder: Path::new(&top), index };
    let is_there = ["rev-parse", "--verify", "--quiet", &reference];
    if at.run(&is_there).is_ok() {
        return Err(exists(name));
    }
    at.run(&["read-tree", head])?;
    let below = format!("--directory={prefix}");
    let patch = patch.display().to_string();
    let mut apply = vec!["apply", "--cached", "--whitespace=nowarn"];
    if !prefix.is_empty() {
        apply.push(&below);
    }
    apply.push(&patch);
    at.run(&apply).map_err(|failure| {
        let message = format!(
            "no branch was made: the changes of the run do not apply to commit {head}: {}",
            failure.message
        );
        let hint = "if the run began with files that were not committed, `--patch FILE` writes a patch that fits those";
        Failure::new(Code::ApplyConflict, message).hint(hint)
    })?;
    let tree = at.run(&["write-tree"])?;
    let why = why.map_or_else(String::new, |why| format!("\n\n{why}"));
    let words = format!("{}: {id}{why}\n\nEnvoi-Run: {id}\n", run.flow().id);
    let commit = at.run(&["commit-tree", &tree, "-p", head, "-m", &words])?;
    // Only if it is not there by now.
    match at.run(&["update-ref", &reference, &commit, ""]) {
        Err(_) if at.run(&is_there).is_ok() => Err(exists(name)),
        done => done.map(|_| commit),
    }
}
