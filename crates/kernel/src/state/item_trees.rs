//! The results of a step's items in trees of their own, and which of them are in the run's tree.
//!
//! Owns the snapshots of each item. Other modules decide about the merge, which is executed outside the
//! kernel.

use crate::{
    model::{command::MergeCall, files::Snapshot, on_conflict::MergeDecision},
    state::files_at_entry::{Began, FilesAtEntry},
};
use envoi_contract::{digest::Digest, json::Value};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The results of a step's items in trees of their own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ItemTrees {
    /// For each successful item: the snapshots of its start and its result.
    pub(crate) left: BTreeMap<usize, ItemTree>,
    /// Items that are merged into the run's tree.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) merged: BTreeSet<usize>,
    /// Items that the last merge postponed. They are executed again if the step is.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) in_conflict: BTreeSet<usize>,
    /// Earlier results of postponed items.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) earlier: BTreeMap<usize, Vec<Digest>>,
    /// The decision of a person about the conflicting items. With it, they are merged accordingly and not
    /// executed again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) decided: Option<MergeDecision>,
}

/// The snapshots of one item. `None`: not taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ItemTree {
    pub(crate) base: Option<Snapshot>,
    pub(crate) theirs: Option<Snapshot>,
}

impl ItemTrees {
    /// Records a successful item.
    pub(crate) fn settle(&mut self, item: usize, files: &FilesAtEntry) {
        let base = match files.state {
            Began::With(base) => Some(base),
            Began::NotYet | Began::Unknown => None,
        };
        self.left.insert(item, ItemTree { base, theirs: files.left });
        self.merged.remove(&item);
    }

    /// Forgets the postponed items, so that they are executed again. If a person has decided how to merge
    /// them, their results are kept.
    pub(crate) fn do_again(&mut self) {
        if self.decided.is_some() {
            self.in_conflict.clear();
        }
        for item in std::mem::take(&mut self.in_conflict) {
            let left = self.left.remove(&item).and_then(|tree| tree.theirs);
            self.earlier.entry(item).or_default().extend(left.map(|left| left.digest));
        }
    }

    /// Records a finished merge with these data.
    pub(crate) fn merge(&mut self, call: &MergeCall, data: &Value) {
        (self.in_conflict, self.decided) = (in_conflict(data), None);
        let items = call.items.iter().filter_map(|item| usize::try_from(item.item).ok());
        self.merged.extend(items.filter(|item| !self.in_conflict.contains(item)));
    }

    /// Whether this item must be executed again because of a conflict.
    pub(crate) fn is_put_off(&self, item: usize) -> bool {
        self.decided.is_none() && self.in_conflict.contains(&item)
    }

    /// Items that are not in the run's tree yet, in order.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (usize, ItemTree)> {
        self.left.iter().filter(|(item, _)| !self.merged.contains(item)).map(|(item, tree)| (*item, *tree))
    }

    pub(crate) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// The items that a merge has postponed, according to its data.
pub(crate) fn in_conflict(data: &Value) -> BTreeSet<usize> {
    let named = data.get("in_conflict").and_then(Value::as_array).unwrap_or(&[]);
    named.iter().filter_map(Value::as_u53).filter_map(|item| usize::try_from(item).ok()).collect()
}
