//! An attempt that merges what the items of a step have changed: this program itself, with its order in the attempt's folder.
//!
//! Owns the order in which it works. Everything that it reads are snapshots, so that done again it comes to the same. The run's tree is
//! changed only if all items fit; then the trees of the items go.

use super::{
    conflict_edit::{self, Edited},
    item_trees,
    merge_error::{MergeError, SnapshotError},
    shared::Shared,
};
use crate::{model::runner::Job, query::snapshots};
use envoi_contract::{
    code::Code,
    digest::Digest,
    json::{Object, Value},
};
use envoi_kernel::{
    event::{Isolated, MergeCall, MergeItem},
    flow::{MergeDecision, OnConflict},
    ids::{RunId, VisitId},
};
use envoi_step::{AttemptDir, plain};
use envoi_tree::{Conflict, Entry, Late, Later, NotMerged, Side, Tree, Why};
use serde::{Deserialize, Serialize};
use std::{
    fmt::Write as _,
    io,
    path::{Path, PathBuf},
    process::ExitCode,
};

/// The hidden command.
const ARGUMENT: &str = "__merge";

/// The folder of the attempt's folder with the files in conflict, to be edited.
pub(super) const EDIT_FOLDER: &str = "edit";

/// The largest order that is read.
const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// The files of the run's tree may change while items are merged into it. Then it is done again, so often at most.
const TRIES: usize = 5;

/// A line names so many files.
const MOST_NAMED: usize = 20;

/// A report names so many contents that were written meanwhile.
const MOST_LATE: usize = 100;

/// The most bytes of what the report says of files in conflict.
const MOST_NAMED_BYTES: usize = 8 * 1024;

/// What is to be merged, and where.
#[derive(Serialize, Deserialize)]
struct Order {
    workspace: PathBuf,
    snapshots: envoi_tree::Order,
    isolated: Option<Box<Isolated>>,
    run: RunId,
    visit: VisitId,
    call: MergeCall,
    report: PathBuf,
    /// Where a person finds files in conflict, to edit them.
    edit: PathBuf,
    /// The folder of the store.
    store: PathBuf,
}

/// The command, after its order has been written.
///
/// # Errors
/// The order cannot be written.
pub(super) fn command(
    shared: &Shared,
    job: &Job,
    dir: &AttemptDir,
    call: &MergeCall,
) -> io::Result<Vec<String>> {
    let place = dir.path().join("merge.json");
    let order = Order {
        workspace: job.workspace.clone(),
        snapshots: snapshots::order(
            &shared.layout,
            shared.too_wide.clone(),
            shared.bounds,
            snapshots::scope_of(&job.snapshots),
        ),
        isolated: job.isolated.clone(),
        run: job.run.clone(),
        visit: job.started.attempt.visit.clone(),
        call: call.clone(),
        report: dir.report(),
        edit: dir.path().join(EDIT_FOLDER),
        store: shared.layout.root().to_owned(),
    };
    plain::write(&place, &serde_json::to_vec(&order)?)?;
    let words = [shared.launcher.exe.as_path(), Path::new(ARGUMENT), place.as_path()];
    Ok(words.map(|word| word.to_string_lossy().into_owned()).to_vec())
}

/// Does what the order in this file says. Exit code 1: items do not fit together, and nothing was changed.
#[must_use]
pub fn run(order: &Path) -> ExitCode {
    let done = read(order).and_then(|order| merge(&order));
    match done {
        Ok(done) => {
            println!("{}", done.text.trim_end());
            if done.fits { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

/// What came of a merge.
struct Done {
    fits: bool,
    text: String,
}

fn read(place: &Path) -> Result<Order, MergeError> {
    let failed = |source| MergeError::Order { path: place.to_owned(), source };
    let bytes = plain::read(place, MOST_BYTES).map_err(failed)?;
    serde_json::from_slice(&bytes).map_err(|error| failed(error.into()))
}

fn merge(order: &Order) -> Result<Done, MergeError> {
    let mut text = String::new();
    let mut late = Vec::new();
    let puts_off = order.call.on_conflict.puts_off();
    let look = || envoi_tree::keep(&order.workspace, &order.snapshots);
    let mut stands = look()?.tree;
    for _ in 0..TRIES {
        let tip = tip(order, stands.clone(), &mut text)?;
        if !tip.conflicts.is_empty() && !puts_off {
            report(order, &tip, &late)?;
            return Ok(Done { fits: false, text });
        }
        // With files that git ignores in the run's tree, and that an item has left.
        let stood = envoi_tree::stand(&order.workspace, &order.snapshots, &tip.tree)?;
        note_late(&stood.found, &mut text);
        late.extend(stood.found);
        if stood.kept.tree != stands {
            stands = stood.kept.tree;
            let _ = writeln!(text, "the run's tree has other files by now, and they are merged with");
            continue;
        }
        // A file that has changed since the snapshot is left as it is.
        let changed = envoi_tree::change(&order.workspace, &order.snapshots, &stands, &tip.tree)?;
        note_late(&changed.late, &mut text);
        late.extend(changed.late);
        if changed.newer.is_empty() {
            if !tip.conflicts.is_empty() || !late.is_empty() {
                report(order, &tip, &late)?;
            }
            take_all_away(order, &tip.conflicts, &mut text);
            return Ok(Done { fits: true, text });
        }
        let _ = writeln!(
            text,
            "merged again, because these files have changed meanwhile: {}",
            named(&changed.newer)
        );
        stands = look()?.tree;
    }
    Err(MergeError::KeepsChanging { text, tries: TRIES })
}

/// What the run's tree becomes, and the items that do not fit.
struct Tip<'o> {
    tree: Tree,
    conflicts: Vec<PutOff<'o>>,
}

fn tip<'o>(order: &'o Order, stands: Tree, text: &mut String) -> Result<Tip<'o>, MergeError> {
    let all: Vec<&MergeItem> = order.call.items.iter().collect();
    let edited = edited(order, &stands, &all, text)?;
    let stands = conflict_edit::with(&stands, &edited)?;
    let (tree, conflicts) = one_after_the_other(order, stands, &all, &edited, text)?;
    if !order.call.on_conflict.puts_off() || conflicts.is_empty() {
        note_conflicts(&conflicts, text);
        return Ok(Tip { tree, conflicts });
    }
    // Items in conflict are tried again on top of all others, so that the report has their conflicts with the final tree.
    let late: Vec<&MergeItem> = conflicts.iter().map(|conflict| conflict.item).collect();
    let (tree, conflicts) = one_after_the_other(order, tree, &late, &edited, text)?;
    note_conflicts(&conflicts, text);
    Ok(Tip { tree, conflicts })
}

/// Says which items do not fit. Only of the last try: each conflict is named once.
fn note_conflicts(conflicts: &[PutOff<'_>], text: &mut String) {
    for PutOff { item, conflicts, .. } in conflicts {
        let _ = writeln!(text, "item {}: conflict in {}", item.item, shown(conflicts));
    }
}

/// The files that a person has edited, as they come in.
fn edited<'o>(
    order: &'o Order,
    stands: &Tree,
    items: &[&MergeItem],
    text: &mut String,
) -> Result<Edited<'o>, MergeError> {
    let Some(MergeDecision::Edited(files)) = &order.call.decided else { return Ok(Vec::new()) };
    let theirs: Vec<Tree> =
        items.iter().map(|item| tree(order, &item.theirs)).collect::<Result<_, MergeError>>()?;
    let shelf = order.snapshots.contents.shelf()?;
    let edited = conflict_edit::edited(&shelf, stands, &theirs.iter().collect::<Vec<_>>(), files)?;
    for file in files {
        let comes = edited.iter().any(|(path, _)| *path == file.path);
        let what = if comes { "as it was edited" } else { "has changed since it was edited" };
        let _ = writeln!(text, "`{}`: {what}", file.path);
    }
    Ok(edited)
}

/// Says which contents a program wrote to a file while the merge replaced it. They are in the store.
fn note_late(late: &[Late], text: &mut String) {
    for Late { path, digest, .. } in late {
        let path = String::from_utf8_lossy(path);
        let _ = match digest {
            Some(digest) => {
                writeln!(text, "`{path}` was written to meanwhile; that content is kept: {digest}")
            }
            None => writeln!(text, "`{path}` was written to meanwhile, and is too large to be kept"),
        };
    }
}

fn named(paths: &[Vec<u8>]) -> String {
    let names = paths.iter().take(MOST_NAMED).map(|path| format!("`{}`", String::from_utf8_lossy(path)));
    let names: Vec<String> = names.collect();
    match paths.len().saturating_sub(MOST_NAMED) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

/// Takes away the trees of the items that are in the run's tree.
fn take_all_away(order: &Order, conflicts: &[PutOff<'_>], text: &mut String) {
    let stays = |item: &MergeItem| conflicts.iter().any(|conflict| conflict.item.item == item.item);
    for item in order.call.items.iter().filter(|item| !stays(item)) {
        // One that stays does no harm: its files are in the store, and in the run's tree.
        for why in take_away(order, item) {
            let _ = writeln!(text, "{why}");
        }
    }
    if let Some(isolated) = &order.isolated {
        // It goes with the last tree in it.
        std::fs::remove_dir(item_trees::folder(Path::new(&isolated.place))).ok();
    }
}

/// An item that does not fit.
struct PutOff<'o> {
    item: &'o MergeItem,
    base: Tree,
    theirs: Tree,
    conflicts: Vec<Conflict>,
}

/// Each with the reason, for people.
fn shown(conflicts: &[Conflict]) -> String {
    conflicts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// What `tip` becomes with these items, and those that do not fit. Only those that fit are named in `text`.
fn one_after_the_other<'o>(
    order: &Order,
    mut tip: Tree,
    items: &[&'o MergeItem],
    edited: &Edited<'_>,
    text: &mut String,
) -> Result<(Tree, Vec<PutOff<'o>>), MergeError> {
    let mut put_off = Vec::new();
    let prefer = match (&order.call.decided, order.call.on_conflict) {
        (Some(MergeDecision::Ours), _) | (None, OnConflict::Ours) => Some(Side::Ours),
        (Some(MergeDecision::Theirs), _) | (None, OnConflict::Theirs) => Some(Side::Theirs),
        (Some(MergeDecision::Edited(_)), _) | (None, _) => None,
    };
    for item in items {
        let base = tree(order, &item.base)?;
        let theirs = with_ignored(order, &base, &tree(order, &item.theirs)?)?;
        let theirs = conflict_edit::with(&theirs, edited)?;
        match envoi_tree::merge(&order.snapshots, &base, &tip, &theirs, prefer) {
            Ok(merged) => {
                let count = envoi_tree::differences(&tip, &merged.tree).len();
                let files = if count == 1 { "file" } else { "files" };
                let _ = writeln!(text, "item {}: {count} {files}", item.item);
                tip = merged.tree;
            }
            Err(NotMerged::Conflict { conflicts }) => {
                put_off.push(PutOff { item, base, theirs, conflicts });
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok((tip, put_off))
}

/// Also the trees of earlier times that it was done. Says which stay.
fn take_away(order: &Order, item: &MergeItem) -> Vec<String> {
    let Some(isolated) = order.isolated.as_deref() else { return Vec::new() };
    let left: Vec<Digest> = item.earlier.iter().chain([&item.theirs]).copied().collect();
    let below = order.workspace.strip_prefix(&isolated.place).unwrap_or(Path::new(""));
    let of_visit = |visit: u32| {
        let visit = VisitId { visit, ..order.visit.clone() };
        let place = item_trees::place(isolated, &order.run, &visit.nth(item.item));
        item_trees::take_away(isolated, &place, &order.snapshots, &left, below, &order.store)
    };
    (1..=order.visit.visit).filter_map(of_visit).collect()
}

fn tree(order: &Order, digest: &Digest) -> Result<Tree, MergeError> {
    let read = || -> Result<Tree, SnapshotError> {
        let bytes = order.snapshots.contents.shelf()?.read(digest)?;
        Ok(Tree::parse(&bytes)?)
    };
    read().map_err(|source| MergeError::Snapshot { digest: *digest, source })
}

/// An item that adds an ignore rule does not delete the files that the rule matches.
fn with_ignored(order: &Order, base: &Tree, theirs: &Tree) -> Result<Tree, MergeError> {
    let read = || -> Result<Tree, SnapshotError> {
        let shelf = order.snapshots.contents.shelf()?;
        let (tree, _) = envoi_tree::with_ignored(&shelf, base, theirs, Later::Snapshot)?;
        Ok(tree)
    };
    read().map_err(MergeError::Ignored)
}

/// Leaves the conflicts as the report of the attempt, and names what is in the store. If the other items are merged, the attempt still succeeds.
fn report(order: &Order, tip: &Tip<'_>, late: &[Late]) -> Result<(), MergeError> {
    let Tip { tree, conflicts } = tip;
    let fits = conflicts.is_empty() || order.call.on_conflict.puts_off();
    let mut data = Object::default();
    if !conflicts.is_empty() {
        let numbers = conflicts.iter().map(|conflict| Value::from(conflict.item.item)).collect();
        data.insert("in_conflict", Value::Array(numbers));
        let (named, all) = named_files(conflicts, tree);
        data.insert("conflicts", Value::Array(named));
        if all
            && fits
            && let Some(place) = to_edit(order, tree, conflicts)?
        {
            data.insert("edit", Value::from(place));
        }
    }
    let digests = late.iter().filter_map(|late| late.digest).map(|digest| Value::from(digest.to_string()));
    let digests: Vec<Value> = digests.take(MOST_LATE).collect();
    if !digests.is_empty() {
        data.insert("late", Value::Array(digests));
    }
    let mut report = Object::from([("ok", Value::from(fits)), ("data", Value::Object(data))]);
    if !fits {
        let of =
            |PutOff { item, conflicts, .. }: &PutOff<'_>| format!("item {}: {}", item.item, shown(conflicts));
        let named = conflicts.iter().map(of).collect::<Vec<_>>().join("; ");
        let is_unkept = |conflict: &Conflict| conflict.why == Why::NotKept;
        let message = match conflicts.iter().all(|put_off| put_off.conflicts.iter().all(is_unkept)) {
            true => format!(
                "files cannot be merged whose content no snapshot has, because they are larger than `trees: max_file` or cannot be read; {named}"
            ),
            false => format!("items have changed the same lines as the run or an item before them; {named}"),
        };
        let error = Object::from([
            ("code", Value::from(Code::MergeConflict.as_str())),
            ("message", Value::from(message)),
        ]);
        report.insert("error", Value::Object(error));
    }
    Ok(plain::write(&order.report, Value::Object(report).compact().as_bytes())?)
}

/// Lays the files in conflict where a person can edit them, and says where that is in the folder of the run. `None`: not all of them can be edited.
fn to_edit(order: &Order, tip: &Tree, conflicts: &[PutOff<'_>]) -> Result<Option<String>, MergeError> {
    let changes: Vec<conflict_edit::Changes<'_>> = conflicts
        .iter()
        .map(|conflict| conflict_edit::Changes {
            item: conflict.item.item,
            base: &conflict.base,
            theirs: &conflict.theirs,
            conflicts: &conflict.conflicts,
        })
        .collect();
    let is_there = conflict_edit::lay(&order.edit, &order.snapshots, tip, &changes)?;
    let run_base = order.store.join("runs").join(order.run.as_str());
    let place = order.edit.strip_prefix(run_base).unwrap_or(&order.edit);
    Ok(is_there.then(|| place.to_string_lossy().into_owned()))
}

/// The files of each item that both sides have changed, with what each has there, as far as there is room in an event; and whether these
/// are all of them.
fn named_files(conflicts: &[PutOff<'_>], tip: &Tree) -> (Vec<Value>, bool) {
    let mut room = MOST_NAMED_BYTES;
    let mut all = Vec::new();
    let mut is_complete = true;
    for PutOff { item, base, theirs, conflicts } in conflicts {
        let mut files = Vec::new();
        for conflict in conflicts {
            let file = Value::Object(file(conflict, [base, tip, theirs]));
            let Some(left) = room.checked_sub(file.compact().len()) else {
                is_complete = false;
                break;
            };
            room = left;
            files.push(file);
        }
        if !files.is_empty() {
            let members = [("item", Value::from(item.item)), ("files", Value::Array(files))];
            all.push(Value::Object(Object::from(members)));
        }
    }
    (all, is_complete)
}

/// A path that both sides have changed, and the three versions by digest.
fn file(conflict: &Conflict, [base, ours, theirs]: [&Tree; 3]) -> Object {
    let path = conflict.path.as_slice();
    let [before, stands, comes] = [base, ours, theirs].map(|tree| tree.get(path));
    let kind = match (conflict.why, before, stands, comes) {
        (Why::Clash { with_link: false }, _, None, _) => "folder/file",
        (Why::Clash { with_link: false }, ..) => "file/folder",
        (Why::Clash { with_link: true }, _, None, _) => "folder/link",
        (Why::Clash { with_link: true }, ..) => "link/folder",
        (_, None, ..) => "add/add",
        (_, _, None, _) => "delete/modify",
        (.., None) => "modify/delete",
        (_, Some(_), Some(_), Some(_)) => "content",
    };
    let mut members = Object::from([
        ("path", Value::from(String::from_utf8_lossy(path).into_owned())),
        ("kind", Value::from(kind)),
    ]);
    for (name, entry) in [("base", before), ("ours", stands), ("theirs", comes)] {
        if let Some((digest, _)) = entry.and_then(Entry::content) {
            members.insert(name, Value::from(digest.to_string()));
        }
    }
    members
}
