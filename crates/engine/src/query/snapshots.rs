//! The scope of the snapshots of a store, and the place of their contents.

use envoi_contract::digest::Digest;
use envoi_journal::Layout;
use envoi_kernel::{
    Event, Record,
    event::{AttemptSettled, RunStarted, Snapshot, SnapshotScope},
    ids::{AttemptId, Seq},
};
use envoi_tree::{Bounds, Contents, Order, Scope, Stop};
use std::{collections::BTreeSet, path::PathBuf};

/// The folder with the contents of the snapshots of a store.
#[must_use]
pub fn contents(layout: &Layout) -> Contents {
    Contents { files: layout.artifacts(), temporary: layout.temporary(), packs: layout.packs() }
}

/// The scope of the snapshots of a run. None is taken of a run that has not started.
#[must_use]
pub fn scope(started: Option<&RunStarted>) -> Scope {
    started.map(|started| scope_of(&started.snapshots)).unwrap_or_default()
}

/// The scope in the event, for the look at a folder.
#[must_use]
pub fn scope_of(snapshots: &SnapshotScope) -> Scope {
    let SnapshotScope { submodules, also } = snapshots;
    Scope { submodules: *submodules, also: also.clone() }
}

/// The scope of the snapshots of the run of these records.
#[must_use]
pub fn scope_in<'r>(records: impl IntoIterator<Item = &'r Record>) -> Scope {
    let started = records.into_iter().find_map(|record| match &record.event {
        Event::RunStarted(started) => Some(started.as_ref()),
        _ => None,
    });
    scope(started)
}

/// How a snapshot of a workspace is taken for this store. `too_wide`: folders of which there is none; `scope`: that of the run.
#[must_use]
pub fn order(layout: &Layout, too_wide: Vec<PathBuf>, bounds: Bounds, scope: Scope) -> Order {
    Order {
        contents: contents(layout),
        caches: layout.file_caches(),
        never: vec![layout.root().to_owned()],
        too_wide,
        scope,
        bounds,
        stop: Stop::default(),
    }
}

/// The snapshots of one attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// The attempt.
    pub attempt: AttemptId,
    /// The state of the files before Envoi set them back for it, if it did.
    pub set_back_from: Option<Digest>,
    /// Before its command.
    pub before: Option<Snapshot>,
    /// After it.
    pub after: Option<Snapshot>,
    /// Whether they are of the tree of an item, and not of the workspace of the run.
    pub apart: bool,
    /// The restores that a person requested in the workspace of the run between this attempt and the next one: from, to.
    pub restored: Vec<(Digest, Digest)>,
}

/// Every snapshot that the records of a run name.
#[must_use]
pub fn named<'r>(records: impl IntoIterator<Item = &'r Record>) -> BTreeSet<Digest> {
    let of = |record: &Record| match &record.event {
        Event::RunStarted(started) => vec![started.isolated.as_ref().map(|isolated| isolated.base)],
        Event::AttemptSettled(settled) => {
            let set_back = settled.set_back.as_deref();
            vec![
                settled.workspace_before.map(|before| before.digest),
                settled.workspace_digest,
                set_back.map(|set_back| set_back.from),
                settled.cache.as_ref().and_then(|cache| cache.kept),
                settled.cache.as_ref().and_then(|cache| cache.stood),
            ]
        }
        Event::FilesRestoring(wanted) => vec![Some(wanted.from), Some(wanted.to)],
        _ => Vec::new(),
    };
    records.into_iter().flat_map(of).flatten().collect()
}

/// The state in which the first attempt after the event `at` began; if none began, the last one until then. `None`: it is not kept.
#[must_use]
pub fn entered(records: &[Record], at: Seq) -> Option<Snapshot> {
    let (until, since): (Vec<_>, Vec<_>) = records.iter().partition(|record| record.seq <= at);
    let began = since.iter().find_map(|record| match &record.event {
        Event::AttemptStarted(started) => Some(&started.attempt),
        _ => None,
    });
    match began {
        Some(attempt) => before(since.iter().copied(), attempt),
        None => last(until),
    }
}

/// The state in which this attempt began. `None`: it is not kept.
#[must_use]
pub fn before<'r>(records: impl IntoIterator<Item = &'r Record>, attempt: &AttemptId) -> Option<Snapshot> {
    taken(records).into_iter().find(|taken| taken.attempt == *attempt)?.before
}

/// The snapshots of a run that its records name, in the order in which the attempts ended.
#[must_use]
pub fn taken<'r>(records: impl IntoIterator<Item = &'r Record>) -> Vec<Taken> {
    let mut apart = BTreeSet::new();
    let mut all: Vec<Taken> = Vec::new();
    let mut restoring = None;
    for record in records {
        match &record.event {
            Event::AttemptStarted(started) if started.tree.is_some() => {
                apart.insert(started.attempt.clone());
            }
            Event::FilesRestoring(wanted) => {
                restoring = Some((wanted.from, wanted.to)).filter(|_| wanted.reach.folder().is_none());
            }
            Event::FilesRestored(_) => {
                let of_workspace = all.iter_mut().rev().find(|taken| !taken.apart);
                of_workspace.into_iter().for_each(|taken| taken.restored.extend(restoring.take()));
            }
            Event::AttemptSettled(settled) => all.extend(of(settled, apart.contains(&settled.attempt))),
            _ => {}
        }
    }
    all
}

fn of(settled: &AttemptSettled, apart: bool) -> Option<Taken> {
    let after = settled.workspace_digest.map(|digest| Snapshot { digest, moving: settled.workspace_moving });
    let before = settled.workspace_before;
    let attempt = settled.attempt.clone();
    let set_back_from = settled.set_back.as_ref().map(|set_back| set_back.from);
    let restored = Vec::new();
    (before.is_some() || after.is_some()).then_some(Taken {
        attempt,
        set_back_from,
        before,
        after,
        apart,
        restored,
    })
}

/// The last snapshot of the workspace of a run.
#[must_use]
pub fn last<'r>(records: impl IntoIterator<Item = &'r Record>) -> Option<Snapshot> {
    taken(records).into_iter().rev().filter(|taken| !taken.apart).find_map(|taken| taken.after)
}
