//! `envoi apply --patch` and `--branch`: write the changes of a run as a Git patch, or as a commit on a new
//! branch.
//!
//! Both compare the first state of the run with its last snapshot (`envoi_changes`). For a branch, the patch
//! is applied in a separate index to the commit that the run's tree was made from. If a part of it does not
//! fit, no branch is made.

use super::{
    diff::say_what_is_outside,
    restore::{MOST_NAMED, say_not_there},
};
use crate::{
    process::{environment, failure::Failure, files, interrupts, messages, output},
    store::{home::Home, select},
    text::diff::printable,
};
use envoi_api::output::{NewBranch, WrittenPatch};
use envoi_changes::{ChangesError, Fits, Lack, Patch, git::At};
use envoi_contract::{code::Code, digest::Digest};
use envoi_engine::{
    retention::{FILES_TRAILER, RUN_TRAILER},
    snapshots,
};
use envoi_kernel::{
    Run, Status,
    event::{Isolated, SnapshotScope},
    ids::RunId,
};
use envoi_tree::Bounds;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};
use tempfile::TempDir;

/// The note about a run that has not ended.
pub(crate) const NOT_OVER: &str =
    "note: the run is not over; this is what it had changed at its last snapshot";

/// The form that the changes are written in.
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
    let Some(started) = loaded.started() else { return Err(Failure::store("the run has not started")) };
    // No snapshot is taken here, so `too_wide` and the bounds have no effect.
    let scope = snapshots::scope(Some(started));
    let order = snapshots::order(store.layout(), Vec::new(), Bounds::default(), scope);
    let records = reader.records(&id, 0, None).map_err(Failure::store)?;
    let within = environment::private_dir();
    let fits = match form {
        Form::Patch(_) => Fits::Checkout,
        Form::Branch(_) => Fits::Workspace,
    };
    let leave = |paths: &[&[u8]]| match (form, started.isolated.as_deref()) {
        (Form::Branch(_), Some(isolated)) => not_in_a_commit(isolated, &started.snapshots, paths),
        _ => Ok(BTreeMap::new()),
    };
    let made = Patch::without(&records, started, &order, &within, fits, u64::MAX, leave)?;
    if matches!(form, Form::Branch(_)) {
        say_not_there(&reader, &id, &made.left);
        say_not_in_branch(&made.lacks);
    }
    say_what_is_outside(&records);
    if !matches!(loaded.status(), Status::Ended(_)) {
        messages::say(NOT_OVER);
    }
    let name = match form {
        Form::Patch(file) => return write(home.json, file, &made.text()),
        Form::Branch(_) if made.bytes.is_empty() => return Ok(say_no_file()),
        Form::Branch(name) => *name,
    };
    if reader.workspace_of_original(&id).map_err(Failure::store)?.is_some() {
        let message = "this store is a copy, and the repository is that of the original";
        return Err(Failure::new(Code::StoreCopied, message).hint("`--patch FILE` writes a patch"));
    }
    let scratch = scratch()?;
    let file = scratch.path().join("patch");
    fs::write(&file, &made.bytes).map_err(|error| Failure::machine(file.display(), error))?;
    let index = scratch.path().join("index");
    // If the run goes on, or other files of its repository have changed, the commit is incomplete.
    let is_over = matches!(loaded.status(), Status::Ended(_));
    let whole = made.whole.filter(|_| is_over);
    let commit = branch(&loaded, name, &words(&loaded, &id, why, whole), &file, &index)?;
    let row = NewBranch { branch: name.to_owned(), commit, files: made.files };
    print(home.json, &row, &format!("{name} ({})", row.commit), row.files).map(|()| 0)
}

/// Writes a patch into a new file, or to standard output for `-`, and prints what it lacks.
pub(crate) fn write(json: bool, file: &Path, patch: &[u8]) -> Result<u8, Failure> {
    say_lacks(&Patch::lacks_in(patch));
    let files = Patch::files_in(patch);
    if files == 0 {
        return Ok(say_no_file());
    }
    if file == Path::new("-") {
        return output::bytes(patch).map(|()| 0);
    }
    files::write_new(file, patch, "name another file, or `-` for standard output")?;
    let row = WrittenPatch { patch: file.display().to_string(), files };
    print(json, &row, &printable(&row.patch), row.files).map(|()| 0)
}

fn say_lacks(lacks: &[String]) {
    for lack in lacks.iter().take(MOST_NAMED) {
        messages::say(&format!("note: not in the patch: {}", printable(lack)));
    }
    if let Some(more @ 1..) = lacks.len().checked_sub(MOST_NAMED) {
        messages::say(&format!("note: the first lines of the patch name {more} more"));
    }
}

fn say_no_file() -> u8 {
    messages::say("note: the run has changed no file that a patch can carry, and nothing was written");
    0
}

fn say_not_in_branch(lacks: &[Lack]) {
    for Lack { path, why } in lacks.iter().take(MOST_NAMED) {
        let path = printable(&String::from_utf8_lossy(path));
        messages::say(&format!("note: not in the branch: {path}: {}", printable(why)));
    }
    if let Some(more @ 1..) = lacks.len().checked_sub(MOST_NAMED) {
        messages::say(&format!("note: not in the branch: {more} more"));
    }
}

/// Paths in the workspace that must not be in the commit: files of submodules, which belong to other
/// repositories, and files that Git ignores and snapshots keep.
fn not_in_a_commit(
    isolated: &Isolated,
    snapshots: &SnapshotScope,
    paths: &[&[u8]],
) -> Result<BTreeMap<Vec<u8>, String>, ChangesError> {
    let Some(head) = &isolated.head else { return Ok(BTreeMap::new()) };
    let scratch = tempfile::Builder::new().prefix("envoi-patch-").tempdir_in(environment::private_dir())?;
    let index = scratch.path().join("index");
    let at = At { folder: Path::new(&isolated.of), index: &index };
    let top = at.run(&["rev-parse", "--show-toplevel"])?;
    let prefix = at.run(&["rev-parse", "--show-prefix"])?;
    let at = At { folder: Path::new(&top), index: &index };
    at.run(&["read-tree", head])?;
    let listed = at.run(&["ls-files", "-z", "--stage"])?;
    let submodule = |line: &str| Some(line.strip_prefix("160000 ")?.split_once('\t')?.1.to_owned());
    let submodules: BTreeSet<String> = listed.split('\0').filter_map(submodule).collect();
    let full = |path: &[u8]| format!("{prefix}{}", String::from_utf8_lossy(path));
    let is_in_one = |path: &str| {
        submodules.iter().any(|place| {
            path == place || path.strip_prefix(place.as_str()).is_some_and(|rest| rest.starts_with('/'))
        })
    };
    let mut left = BTreeMap::new();
    let mut others = Vec::new();
    for path in paths {
        let place = full(path);
        match is_in_one(&place) {
            true => drop(left.insert(path.to_vec(), "it is a file of a submodule".to_owned())),
            false => others.push((place, *path)),
        }
    }
    if snapshots.also.is_empty() {
        return Ok(left);
    }
    let ignored = at.ignored(&others.iter().map(|(place, _)| place.as_str()).collect::<Vec<_>>())?;
    let ignored = others.iter().filter(|(place, _)| ignored.contains(place));
    left.extend(ignored.map(|(_, path)| (path.to_vec(), "git ignores it".to_owned())));
    Ok(left)
}

/// Prints the JSON row, or a line for people.
fn print(json: bool, row: &impl serde::Serialize, what: &str, files: u64) -> Result<(), Failure> {
    if json {
        return output::row(row);
    }
    let noun = if files == 1 { "file" } else { "files" };
    output::data(&format!("{what}: {files} {noun}\n"))
}

/// A private temporary folder, which is removed afterwards.
fn scratch() -> Result<TempDir, Failure> {
    tempfile::Builder::new()
        .prefix("envoi-patch-")
        .tempdir_in(environment::private_dir())
        .map_err(|error| Failure::machine("a temporary folder", error))
}

fn exists(name: &str) -> Failure {
    let message = format!("there is a branch `{name}` already; nothing was changed");
    Failure::new(Code::FileExists, message).hint("name another one")
}

/// The message of the commit. From its trailers `envoi gc` knows that Git has the whole result.
fn words(run: &Run, id: &RunId, why: Option<&str>, whole: Option<Digest>) -> String {
    let why = why.map_or_else(String::new, |why| format!("\n\n{why}"));
    let files = whole.map_or_else(String::new, |last| format!("{FILES_TRAILER}: {last}\n"));
    format!("{}: {id}{why}\n\n{RUN_TRAILER}: {id}\n{files}", run.flow().id)
}

/// Creates the branch, and returns its commit.
fn branch(run: &Run, name: &str, words: &str, patch: &Path, index: &Path) -> Result<String, Failure> {
    let isolated = run.started().and_then(|started| started.isolated.as_deref());
    let Some(Isolated { of, head: Some(head), .. }) = isolated else {
        let message = "a branch can only be made of a run that had a worktree of a git repository (`envoi run --isolate`)";
        return Err(Failure::new(Code::NotIsolated, message).hint("`--patch FILE` writes a patch"));
    };
    let at = At { folder: Path::new(of), index };
    let reference = format!("refs/heads/{name}");
    // Git itself creates no branch with such a name, because `HEAD` would then be ambiguous.
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
            failure
        );
        let hint = "if the run began with files that were not committed, `--patch FILE` writes a patch that fits those";
        Failure::new(Code::ApplyConflict, message).hint(hint)
    })?;
    let tree = at.run(&["write-tree"])?;
    let identity = at.identity_where_git_has_none();
    let commit = at.run_with(&identity, &["commit-tree", &tree, "-p", head, "-m", words])?;
    if !identity.is_empty() {
        let said = "note: git does not know your name or address, so the commit says `Envoi`; `git config user.name` and `user.email` set it";
        messages::say(said);
    }
    // Creates the branch only if it does not exist yet.
    match at.run(&["update-ref", &reference, &commit, ""]) {
        Err(_) if at.run(&is_there).is_ok() => Err(exists(name)),
        done => Ok(done.map(|_| commit)?),
    }
}
