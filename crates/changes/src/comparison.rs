//! The differences between two states of a run's workspace: as rows, and as lines for people.
//!
//! The lists of both states are in memory; contents are read one file at a time.

use crate::{
    error::ChangesError,
    lines,
    states::{self, Point},
};
use envoi_api::file::{FileDifference, FileKind, FileState};
use envoi_contract::digest::Digest;
use envoi_engine::snapshots::Taken;
use envoi_tree::{Difference, Entry, Later, LeftOut, Order, Shelf, Tree, What, differences};
use std::{collections::BTreeMap, path::Path};

/// The current folder of a run, and how to take a snapshot of it.
#[derive(Clone, Copy)]
pub struct Folder<'f> {
    /// Path of the folder.
    pub workspace: &'f Path,
    /// How to take the snapshot. New contents are stored, so that they are read only once.
    pub order: &'f Order,
}

/// Two states of the workspace of a run.
pub struct Comparison<'r> {
    shelf: Shelf,
    taken: &'r [Taken],
    from: Point,
    to: Point,
    before: Tree,
    after: Tree,
}

impl<'r> Comparison<'r> {
    /// Compares the states that `range` names; without a range, the start and the end. `now` is the folder
    /// for the state `now`; without a folder there is no such state.
    ///
    /// # Errors
    /// There is no such state, or it cannot be read.
    pub fn of(
        shelf: Shelf,
        taken: &'r [Taken],
        range: Option<&str>,
        now: Option<Folder<'_>>,
    ) -> Result<Self, ChangesError> {
        let (from, to) = states::range(taken, range)?;
        let folder = || now.ok_or(ChangesError::NowIsElsewhere);
        let tree = |point: Point| match point {
            Point::Kept { snapshot, .. } => tree_of(&shelf, &snapshot.digest),
            Point::Now => {
                let Folder { workspace, order } = folder()?;
                Ok(envoi_tree::keep(workspace, order)?.tree)
            }
        };
        let before = tree(from)?;
        let later = match to {
            Point::Kept { .. } => Later::Snapshot,
            Point::Now => Later::Folder(folder()?.workspace),
        };
        let (after, _) = envoi_tree::with_ignored(&shelf, &before, &tree(to)?, later)?;
        Ok(Self { shelf, taken, from, to, before, after })
    }

    /// Identifies these two states: the same for every comparison of them.
    #[must_use]
    pub fn id(&self) -> Digest {
        let name = |point: Point| match point {
            Point::Kept { snapshot, .. } => snapshot.digest.to_string(),
            Point::Now => "now".to_owned(),
        };
        Digest::of(format!("{}..{}", name(self.from), name(self.to)).as_bytes())
    }

    /// The paths that differ, sorted by their bytes; with `below`, only that path and paths below it.
    #[must_use]
    pub fn differences(&self, below: Option<&str>) -> Vec<Difference<'_>> {
        let mut found = differences(&self.before, &self.after);
        found.retain(|difference| below.is_none_or(|path| is_within(difference.path(), path)));
        found
    }

    /// The row of a difference. `by` has the attempts that changed each path: see [`Comparison::authors`].
    ///
    /// # Errors
    /// A content cannot be read.
    pub fn row(
        &self,
        difference: &Difference<'_>,
        by: &BTreeMap<Vec<u8>, Vec<String>>,
    ) -> Result<FileDifference, ChangesError> {
        let before = self.text_of(difference.before)?;
        let after = self.text_of(difference.after)?;
        let (added, removed) = lines::stat(before.as_deref(), after.as_deref());
        let count = |lines: usize| u64::try_from(lines).unwrap_or(u64::MAX);
        Ok(FileDifference {
            path: String::from_utf8_lossy(difference.path()).into_owned(),
            before: difference.before.map(state),
            after: difference.after.map(state),
            added: count(added),
            removed: count(removed),
            by: by.get(difference.path()).cloned().unwrap_or_default(),
        })
    }

    /// A difference as text for a person: the kind of the entry, if the lines do not show it, and the lines.
    ///
    /// # Errors
    /// A content cannot be read.
    pub fn text(&self, difference: &Difference<'_>) -> Result<String, ChangesError> {
        let path = lines::printable(&String::from_utf8_lossy(difference.path()));
        let mut text = format!("diff a/{path} b/{path}\n");
        let words = [difference.before, difference.after].map(|entry| entry.map(word));
        let [is_hidden_before, is_hidden_after] =
            [difference.before, difference.after].map(|entry| entry.is_some_and(Entry::is_unlisted));
        match &words {
            // The path may have existed before, with files in it.
            _ if is_hidden_before => text.push_str("before: this folder could not be listed\n"),
            _ if is_hidden_after => {
                text.push_str("after: this folder could not be listed; its files are not known\n")
            }
            [None, Some(after)] => text.push_str(&format!("new: {after}\n")),
            [Some(before), None] => text.push_str(&format!("gone: {before}\n")),
            [Some(before), Some(after)] if before != after => {
                text.push_str(&format!("was: {before}\nis: {after}\n"))
            }
            _ => {}
        }
        let before = self.text_of(difference.before)?;
        let after = self.text_of(difference.after)?;
        text.push_str(&lines::unified(&path, before.as_deref(), after.as_deref(), usize::MAX));
        if !text.ends_with('\n') {
            text.push('\n');
        }
        Ok(text)
    }

    /// The attempts that changed each path in this range.
    ///
    /// # Errors
    /// The list of a snapshot cannot be read.
    pub fn authors(&self) -> Result<BTreeMap<Vec<u8>, Vec<String>>, ChangesError> {
        let place = |point: Point| match point {
            Point::Kept { place, .. } => place,
            Point::Now => usize::MAX,
        };
        let first = place(self.from);
        let last = place(self.to);
        let mut states: Vec<(String, When, Digest)> = Vec::new();
        // The trees of a step's items have no order relative to the run's own tree.
        let apart = self.taken.get(first / 2).is_some_and(|it| it.apart);
        for (nth, it) in self.taken.iter().enumerate().filter(|(_, it)| it.apart == apart) {
            let place = nth.saturating_mul(2);
            // A range that begins with the attempt begins after the restore of its files.
            let set_back_from = it.set_back_from.filter(|_| place != first);
            let all = [
                (place, set_back_from, When::BeforeSetBack),
                (place, it.before.map(|snapshot| snapshot.digest), When::Before),
                (place.saturating_add(1), it.after.map(|snapshot| snapshot.digest), When::After),
            ];
            for (place, digest, when) in all {
                if let Some(digest) = digest.filter(|_| (first..=last).contains(&place)) {
                    states.push((it.attempt.to_string(), when, digest));
                }
            }
            let is_within = (first..last).contains(&place.saturating_add(1));
            for (from, to) in it.restored.iter().filter(|_| is_within) {
                states.push((it.attempt.to_string(), When::BeforeRestore, *from));
                states.push((it.attempt.to_string(), When::Restored, *to));
            }
        }
        let mut by: BTreeMap<Vec<u8>, Vec<String>> = BTreeMap::new();
        let mut add = |before: &Tree, after: &Tree, who: &str| {
            for difference in differences(before, after) {
                by.entry(difference.path().to_vec()).or_default().push(who.to_owned());
            }
        };
        let mut last: Option<(String, When, Digest, Tree)> = None;
        for (attempt, when, digest) in states {
            let tree = match &last {
                Some((_, _, known, tree)) if *known == digest => tree.clone(),
                _ => tree_of(&self.shelf, &digest)?,
            };
            if let Some((other, earlier, _, before)) = &last {
                let who = match (earlier, when) {
                    (_, When::After) if *other == attempt => attempt.clone(),
                    (_, When::BeforeRestore) => format!("edited after {attempt}"),
                    (_, When::Restored) => format!("restored after {attempt}"),
                    (When::BeforeSetBack, When::Before) if *other == attempt => {
                        format!("set back for {attempt}")
                    }
                    _ => format!("edited between {other} and {attempt}"),
                };
                add(before, &tree, &who);
            }
            last = Some((attempt, when, digest, tree));
        }
        if let (Some((attempt, _, _, before)), Point::Now) = (&last, self.to) {
            add(before, &self.after, &format!("edited after {attempt}"));
        }
        Ok(by)
    }

    /// The content of an entry, if it has one that is kept.
    fn text_of(&self, entry: Option<&Entry>) -> Result<Option<Vec<u8>>, ChangesError> {
        let content = entry.and_then(Entry::content);
        content.map(|(digest, _)| Ok(self.shelf.read(&digest)?)).transpose()
    }
}

/// The moment of an attempt to which a state belongs.
#[derive(Clone, Copy)]
enum When {
    /// Before Envoi restored the files for the attempt.
    BeforeSetBack,
    /// Before its command.
    Before,
    /// After its command.
    After,
    /// Before a restore between this attempt and the next one.
    BeforeRestore,
    /// After that restore.
    Restored,
}

/// The list of a snapshot.
///
/// # Errors
/// It is not in the store, or is damaged.
pub fn tree_of(shelf: &Shelf, digest: &Digest) -> Result<Tree, ChangesError> {
    Ok(Tree::parse(&shelf.read(digest)?)?)
}

fn is_within(path: &[u8], wanted: &str) -> bool {
    let wanted = wanted.trim_start_matches("./").trim_end_matches('/').as_bytes();
    wanted.is_empty()
        || path.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

fn state(entry: &Entry) -> FileState {
    let (kind, size) = match entry.what {
        What::File { size, .. } => (FileKind::File, size),
        What::Link { size, .. } => (FileKind::Link, size),
        What::EmptyFolder => (FileKind::EmptyFolder, 0),
        What::LeftOut { size, .. } => (FileKind::LeftOut, size),
    };
    let digest = entry.content().map(|(digest, _)| digest.to_string());
    FileState { kind, mode: format!("{:03o}", entry.mode), digest, size_bytes: size }
}

fn word(entry: &Entry) -> String {
    match entry.what {
        What::File { .. } => format!("file with mode {:03o}", entry.mode),
        What::Link { .. } => "link".to_owned(),
        What::EmptyFolder => format!("empty folder with mode {:03o}", entry.mode),
        What::LeftOut { why: LeftOut::Large, size, .. } => {
            format!("file of {size} bytes, too large to be kept")
        }
        What::LeftOut { why: LeftOut::Unlisted, .. } => "folder that could not be listed".to_owned(),
        What::LeftOut { why: LeftOut::Unreadable, size, .. } => {
            format!("file of {size} bytes, which could not be read and is not kept")
        }
    }
}
