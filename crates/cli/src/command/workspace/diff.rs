//! `envoi diff`: what differs between two states of a run's workspace.

use crate::{
    process::{environment, failure::Failure, interrupts, invocation, messages, output, pager},
    store::{
        home::Home,
        points::{self, Point},
        select,
    },
    text::diff,
};
use envoi_api::file::{FileDifference, FileKind, FileState};
use envoi_contract::{code::Code, digest::Digest};
use envoi_engine::snapshots::{self, Taken};
use envoi_journal::Store;
use envoi_kernel::{Event, Record};
use envoi_tree::{Difference, Entry, Later, LeftOut, NotKept, Shelf, Tree, What, differences};
use std::{collections::BTreeMap, path::Path};

/// What is to be printed.
pub(crate) struct View<'a> {
    /// Only below this path.
    pub(crate) path: Option<&'a str>,
    /// A line a file, in place of the lines that differ.
    pub(crate) stat: bool,
}

pub(crate) fn diff(
    home: &Home,
    run: Option<&str>,
    range: Option<&str>,
    view: &View<'_>,
) -> Result<u8, Failure> {
    interrupts::end_git_with_this_process();
    let (store, reader) = home.reader()?;
    let id = select::run_or_newest(&reader, run).map_err(|failure| match run {
        Some(states) if range.is_none() && states.contains("..") => {
            failure.hint(format!("the run comes first: `{} diff RUN {states}`", invocation::envoi()))
        }
        _ => failure,
    })?;
    let records = reader.records(&id, 0, None).map_err(Failure::store)?;
    let taken = snapshots::taken(&records);
    let (from, to) = points::range(&taken, range)?;
    let workspace = reader.run(&id).map_err(Failure::store)?.workspace;
    let shelf = snapshots::contents(store.layout()).shelf().map_err(Failure::store)?;
    let tree = |point: Point| match point {
        Point::Kept { snapshot, .. } => tree_of(&shelf, &snapshot.digest),
        Point::Now => now(&store, Path::new(&workspace)),
    };
    let before = tree(from)?;
    let later = match to {
        Point::Kept { .. } => Later::Snapshot,
        Point::Now => Later::Folder(Path::new(&workspace)),
    };
    let (after, _) = envoi_tree::with_ignored(&shelf, &before, &tree(to)?, later).map_err(Failure::store)?;
    let mut found = differences(&before, &after);
    found.retain(|difference| view.path.is_none_or(|path| is_within(difference.path(), path)));
    say_what_is_outside(&records);
    if home.json || view.stat {
        let now = [(from, &before), (to, &after)].into_iter().find(|(point, _)| *point == Point::Now);
        let by = authors(&shelf, &taken, from, to, now.map(|(_, tree)| tree))?;
        return print_rows(&found, &shelf, &by, home.json);
    }
    let mut text = String::new();
    for difference in &found {
        text.push_str(&shown(difference, &shelf)?);
    }
    print(&diff::lines(&text))
}

/// Says which files a run has changed outside of its workspace: no state has them.
pub(super) fn say_what_is_outside(records: &[Record]) {
    let Some(Event::RunStarted(started)) = records.first().map(|record| &record.event) else { return };
    let note = match envoi_engine::changed_outside(started) {
        Ok(found) => {
            found.and_then(|found| found.sentence(|path| diff::printable(&String::from_utf8_lossy(path))))
        }
        Err(unknown) => Some(diff::printable(&unknown)),
    };
    note.into_iter().for_each(|note| messages::say(&format!("note: {note}")));
}

/// The list of a snapshot.
pub(crate) fn tree_of(shelf: &Shelf, digest: &Digest) -> Result<Tree, Failure> {
    let bytes = shelf.read(digest).map_err(Failure::store)?;
    Tree::parse(&bytes).map_err(Failure::store)
}

/// The folder as it is now. What of it the store does not have yet is stored: it has to be read only once then.
fn now(store: &Store, workspace: &Path) -> Result<Tree, Failure> {
    let order = snapshots::order(store.layout(), environment::home_folder().into_iter().collect());
    envoi_tree::keep(workspace, &order).map(|kept| kept.tree).map_err(|error| not_kept(&error))
}

/// Why a folder cannot be kept.
pub(crate) fn not_kept(error: &NotKept) -> Failure {
    let code = match error {
        NotKept::TooWide { .. } => Code::WorkspaceTooWide,
        NotKept::TooManyFiles { .. }
        | NotKept::TooMuchNew { .. }
        | NotKept::PathTooLong { .. }
        | NotKept::Io { .. } => Code::FilesNotKept,
    };
    Failure::new(code, error.to_string())
}

fn is_within(path: &[u8], wanted: &str) -> bool {
    let wanted = wanted.trim_start_matches("./").trim_end_matches('/').as_bytes();
    wanted.is_empty()
        || path.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

/// Who changed each path in this range.
fn authors(
    shelf: &Shelf,
    taken: &[Taken],
    from: Point,
    to: Point,
    now: Option<&Tree>,
) -> Result<BTreeMap<Vec<u8>, Vec<String>>, Failure> {
    let place = |point: Point, otherwise: usize| match point {
        Point::Kept { place, .. } => place,
        Point::Now => otherwise,
    };
    let first = place(from, usize::MAX);
    let last = place(to, usize::MAX);
    let mut states: Vec<(String, bool, Digest)> = Vec::new();
    // What the items of a step have left in trees of their own is in no order with what the run's tree was.
    let apart = taken.get(first / 2).is_some_and(|it| it.apart);
    for (nth, it) in taken.iter().enumerate().filter(|(_, it)| it.apart == apart) {
        let place = nth.saturating_mul(2);
        let both = [(place, it.before, false), (place.saturating_add(1), it.after, true)];
        for (place, snapshot, is_after) in both {
            if let Some(snapshot) = snapshot.filter(|_| (first..=last).contains(&place)) {
                states.push((it.attempt.to_string(), is_after, snapshot.digest));
            }
        }
    }
    let mut by: BTreeMap<Vec<u8>, Vec<String>> = BTreeMap::new();
    let mut add = |before: &Tree, after: &Tree, who: &str| {
        for difference in differences(before, after) {
            by.entry(difference.path().to_vec()).or_default().push(who.to_owned());
        }
    };
    let mut last: Option<(String, Digest, Tree)> = None;
    for (attempt, is_after, digest) in states {
        let tree = match &last {
            Some((_, known, tree)) if *known == digest => tree.clone(),
            _ => tree_of(shelf, &digest)?,
        };
        if let Some((other, _, before)) = &last {
            let who = match is_after && *other == attempt {
                true => attempt.clone(),
                false => format!("edited between {other} and {attempt}"),
            };
            add(before, &tree, &who);
        }
        last = Some((attempt, digest, tree));
    }
    if let (Some((attempt, _, before)), Some(now), Point::Now) = (&last, now, to) {
        add(before, now, &format!("edited after {attempt}"));
    }
    Ok(by)
}

fn print_rows(
    found: &[Difference<'_>],
    shelf: &Shelf,
    by: &BTreeMap<Vec<u8>, Vec<String>>,
    json: bool,
) -> Result<u8, Failure> {
    let mut rows = Vec::new();
    for difference in found {
        let before = text_of(difference.before, shelf)?;
        let after = text_of(difference.after, shelf)?;
        let (added, removed) = diff::stat(before.as_deref(), after.as_deref());
        let count = |lines: usize| u64::try_from(lines).unwrap_or(u64::MAX);
        rows.push(FileDifference {
            path: String::from_utf8_lossy(difference.path()).into_owned(),
            before: difference.before.map(state),
            after: difference.after.map(state),
            added: count(added),
            removed: count(removed),
            by: by.get(difference.path()).cloned().unwrap_or_default(),
        });
    }
    if json {
        return output::row(&rows).map(|()| 0);
    }
    let cells = |row: &FileDifference| {
        let what = match (&row.before, &row.after) {
            (None, _) => "new",
            (_, None) => "gone",
            _ => "changed",
        };
        vec![
            diff::printable(&row.path),
            what.to_owned(),
            format!("+{} -{}", row.added, row.removed),
            row.by.join(", "),
        ]
    };
    print(&output::list(&rows.iter().map(cells).collect::<Vec<_>>(), &[], &[0, 3]))
}

fn print(text: &str) -> Result<u8, Failure> {
    if pager::shows(text) {
        return Ok(0);
    }
    output::data(text).map(|()| 0)
}

fn state(entry: &Entry) -> FileState {
    let (kind, size) = match entry.what {
        What::File { size, .. } => (FileKind::File, size),
        What::Link { size, .. } => (FileKind::Link, size),
        What::EmptyFolder => (FileKind::EmptyFolder, 0),
        What::LeftOut { size, .. } => (FileKind::LeftOut, size),
    };
    let digest = entry.content().map(|(digest, _)| digest.to_string());
    FileState { kind, mode: format!("{:03o}", entry.mode), digest, size }
}

/// The content of an entry, if it has one that is kept.
fn text_of(entry: Option<&Entry>, shelf: &Shelf) -> Result<Option<Vec<u8>>, Failure> {
    let content = entry.and_then(Entry::content);
    content.map(|(digest, _)| shelf.read(&digest).map_err(Failure::store)).transpose()
}

/// A difference for a person: what kind of thing it is, where that is not plain from the lines, and the lines.
fn shown(difference: &Difference<'_>, shelf: &Shelf) -> Result<String, Failure> {
    let path = diff::printable(&String::from_utf8_lossy(difference.path()));
    let mut text = format!("diff a/{path} b/{path}\n");
    let words = [difference.before, difference.after].map(|entry| entry.map(word));
    match &words {
        [None, Some(after)] => text.push_str(&format!("new: {after}\n")),
        [Some(before), None] => text.push_str(&format!("gone: {before}\n")),
        [Some(before), Some(after)] if before != after => {
            text.push_str(&format!("was: {before}\nis: {after}\n"))
        }
        _ => {}
    }
    let before = text_of(difference.before, shelf)?;
    let after = text_of(difference.after, shelf)?;
    text.push_str(&diff::unified(&path, before.as_deref(), after.as_deref(), usize::MAX));
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

fn word(entry: &Entry) -> String {
    match entry.what {
        What::File { .. } => format!("file with mode {:03o}", entry.mode),
        What::Link { .. } => "link".to_owned(),
        What::EmptyFolder => format!("empty folder with mode {:03o}", entry.mode),
        What::LeftOut { why: LeftOut::Large, size, .. } => {
            format!("file of {size} bytes, too large to be kept")
        }
        What::LeftOut { why: LeftOut::Unreadable, size, .. } => {
            format!("file of {size} bytes, which could not be read and is not kept")
        }
    }
}
