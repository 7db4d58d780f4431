//! `envoi restore`: restores a state of a run's workspace, into a separate folder or into the workspace
//! itself.

use crate::{
    process::{
        args::{EngineArgs, Files},
        environment,
        failure::Failure,
        messages, output,
    },
    session::{
        caller::{caller_of, caller_or_none},
        engine_client,
        interactive::Conversation,
    },
    store::{home::Home, select},
    text::diff::printable,
    view::printer::Printer,
};
use envoi_changes::{
    ChangesError,
    states::{self, Point},
    tree_of,
};
use envoi_contract::{code::Code, digest::Digest};
use envoi_engine::{
    Names, load_run,
    protocol::{Request, RestorePart, RestoreRequest, SetBack},
    snapshots,
};
use envoi_journal::Reader;
use envoi_kernel::{
    Record,
    event::{Event, Reach, Snapshot},
    ids::RunId,
};
use envoi_tree::{Bounds, NotRestored, Tree};
use std::{
    collections::BTreeMap,
    ffi::OsStr,
    os::unix::ffi::OsStrExt as _,
    path::{Component, Path, PathBuf},
};

/// The most paths that are named. The others are counted.
pub(super) const MOST_NAMED: usize = 20;

/// Writes a state, or the part that these paths select, into a separate folder.
pub(crate) fn into(
    home: &Home,
    run: Option<&str>,
    at: &str,
    into: &Path,
    paths: &[PathBuf],
) -> Result<u8, Failure> {
    let (store, reader) = home.reader()?;
    let id = select::run_or_newest(&reader, run)?;
    let records = reader.records(&id, 0, None).map_err(Failure::store)?;
    let snapshot = named(&records, at)?;
    // No snapshot is taken here, so `too_wide` and the bounds have no effect.
    let order =
        snapshots::order(store.layout(), Vec::new(), Bounds::default(), snapshots::scope_in(&records));
    let shelf = order.contents.shelf().map_err(Failure::store)?;
    let tree = only(tree_of(&shelf, &snapshot.digest)?, paths, at)?;
    let restored = envoi_tree::write_into(into, &order, &tree).map_err(not_restored)?;
    say_not_there(&reader, &id, &restored.left);
    output::data(&format!("{} files in {}\n", restored.changed.0, printable(&into.display().to_string())))
        .map(|()| 0)
}

/// Selects the part of a state that these paths name. Without paths, selects all of it.
fn only(tree: Tree, paths: &[PathBuf], at: &str) -> Result<Tree, Failure> {
    if paths.is_empty() {
        return Ok(tree);
    }
    let mut entries = BTreeMap::new();
    for path in paths {
        let plain = inside(path)?;
        let is_named = |path: &[u8]| Path::new(OsStr::from_bytes(path)).starts_with(&plain);
        let found: Vec<_> = tree.entries().iter().filter(|entry| is_named(&entry.path)).cloned().collect();
        if found.is_empty() {
            let shown = printable(&path.display().to_string());
            let message = format!("nothing is at `{shown}` in the state `{at}`");
            return Err(Failure::new(Code::RequestInvalid, message)
                .hint("paths are relative to the workspace; no pattern is expanded"));
        }
        entries.extend(found.into_iter().map(|entry| (entry.path.clone(), entry)));
    }
    Tree::new(entries.into_values().collect()).map_err(Failure::store)
}

/// Returns the path without `.`. It must be relative and must stay inside.
fn inside(path: &Path) -> Result<PathBuf, Failure> {
    let is_inside = |part: &Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if !path.components().all(|part| is_inside(&part)) {
        let shown = printable(&path.display().to_string());
        let message = format!("`{shown}` is not relative to the workspace, or leads out of it");
        return Err(Failure::new(Code::RequestInvalid, message));
    }
    Ok(path.components().filter(|part| *part != Component::CurDir).collect())
}

/// Converts the paths for a request to the engine. They must be text.
fn all_inside(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let text = |path: &PathBuf| {
        let path = inside(path)?;
        if path.to_str().is_some() {
            return Ok(path);
        }
        let message = format!("`{}` is not UTF-8", printable(&path.display().to_string()));
        Err(Failure::new(Code::PathNotUnicode, message)
            .hint("name the folder that it is in, or `--into DIR` writes it into a new folder"))
    };
    paths.iter().map(text).collect()
}

/// Prints the files whose content is not kept.
pub(super) fn say_not_there(reader: &Reader, id: &RunId, left: &[Vec<u8>]) {
    if left.is_empty() {
        return;
    }
    // If the run cannot be read, its secrets are unknown.
    let names = load_run(reader, id).ok().map(|run| Names::of(run.flow(), &caller_of(&run)));
    for path in left.iter().take(MOST_NAMED) {
        let path =
            names.as_ref().map_or_else(|| "(a name)".to_owned(), |names| printable(&names.shown(path)));
        messages::say(&format!("note: the content of `{path}` is not kept, and the file is not there"));
    }
    if let Some(more @ 1..) = left.len().checked_sub(MOST_NAMED) {
        messages::say(&format!("note: {more} more files are not there"));
    }
}

/// Restores the workspace itself: to a state (all of it, or these paths), or without a state to what was
/// there before the last restore.
pub(crate) fn here(
    home: &Home,
    run: Option<&str>,
    at: Option<&str>,
    paths: &[PathBuf],
    why: Option<String>,
) -> Result<u8, Failure> {
    let (store, reader) = home.store()?;
    let id = select::run_or_newest(&reader, run)?;
    let records = reader.records(&id, 0, None).map_err(Failure::store)?;
    let Undone { to, part, folders_back } = match at {
        Some(at) => {
            let part = (!paths.is_empty()).then(|| all_inside(paths)).transpose()?.map(RestorePart::Paths);
            Undone { to: named(&records, at)?.digest, part, folders_back: None }
        }
        None => undone(&records)?,
    };
    let request = Request::Restore(Box::new(RestoreRequest {
        run: id.clone(),
        to,
        part,
        folders_back,
        too_wide: environment::home_folder().into_iter().collect(),
        why,
        by: environment::principal(),
        caller: caller_or_none(&reader, &id),
    }));
    drop(reader);
    let mut conversation = Conversation::new(id.clone(), home.json);
    let mut printer = Printer::new(id, home.json);
    engine_client::ask(&store, request, &EngineArgs::default(), &mut printer, &mut conversation)
}

/// Returns how to set the files back before a run goes on, if the arguments ask for it.
pub(crate) fn set_back(files: Files) -> Option<SetBack> {
    (files == Files::Then).then(|| SetBack { too_wide: environment::home_folder().into_iter().collect() })
}

/// The state to restore.
struct Undone {
    to: Digest,
    /// `None` for the whole workspace.
    part: Option<RestorePart>,
    /// The list of folders that are restored with it.
    folders_back: Option<Digest>,
}

/// Returns the state before the last completed restore, by a person or before an attempt. If that restore was
/// partial, returns only that part, because the other files may have changed since.
fn undone(records: &[Record]) -> Result<Undone, Failure> {
    let mut last = None;
    let mut begun = None;
    for record in records {
        match &record.event {
            Event::FilesRestoring(wanted) => {
                let part = match &wanted.reach {
                    Reach::Workspace => Some(None),
                    Reach::Paths { .. } => Some(Some(RestorePart::ChangedFrom(wanted.to))),
                    Reach::Folder(_) => None,
                };
                let folders_back = wanted.folders_gone;
                begun = part.map(|part| Undone { to: wanted.from, part, folders_back });
            }
            Event::FilesRestored(_) => last = begun.take().or(last),
            Event::FilesKeptAsTheyWere(_) => begun = None,
            Event::AttemptSettled(settled) => {
                let whole = |to, folders_back| Undone { to, part: None, folders_back };
                let stood = settled.cache.as_deref().and_then(|cache| Some(whole(cache.stood?, None)));
                let set_back = settled.set_back.as_deref().map(|done| whole(done.from, done.folders_gone));
                last = stood.or(set_back).or(last);
            }
            _ => {}
        }
    }
    begun.or(last).ok_or_else(|| {
        Failure::new(
            Code::FilesNotKept,
            "the files of this run were never set back, so nothing can be undone".to_owned(),
        )
        .hint("`envoi restore RUN --at STATE --here` sets them back")
    })
}

/// Returns the snapshot of this state.
fn named(records: &[Record], at: &str) -> Result<Snapshot, Failure> {
    let snapshot = match states::point(&snapshots::taken(records), at)? {
        Point::Kept { snapshot, .. } => snapshot,
        Point::Now => {
            let message = "`now` is the folder as it is; there is nothing to restore".to_owned();
            return Err(Failure::new(Code::RequestInvalid, message)
                .hint("`start`, `end`, a step, a visit such as `fix.2`, or `before:fix.2`"));
        }
    };
    if snapshot.moving {
        let message =
            format!("while the snapshot of `{at}` was taken, another attempt worked in the same folder");
        return Err(Failure::new(Code::FilesMoving, message)
            .hint("choose a snapshot from before or after both attempts"));
    }
    Ok(snapshot)
}

fn not_restored(error: NotRestored) -> Failure {
    match error {
        NotRestored::InTheWay { .. } => {
            Failure::new(Code::FileExists, format!("{error}; nothing was written"))
                .hint("`--into` takes a new or empty folder")
        }
        NotRestored::NotKept(kept) => ChangesError::from(kept).into(),
        NotRestored::Content(_)
        | NotRestored::Changed { .. }
        | NotRestored::NotStaged { .. }
        | NotRestored::Incomplete { .. } => Failure::store(error),
    }
}
