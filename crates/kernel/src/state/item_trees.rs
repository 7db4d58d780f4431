//! What the items of a step have come to in trees of their own, and which of that is in the run's tree.
//!
//! Owns the snapshots of each item. How they become one is decided elsewhere, and done outside the kernel.

use crate::{
    model::{command::MergeCall, files::Snapshot, on_conflict::MergeDecision},
    state::files_at_entry::{Began, FilesAtEntry},
};
use envoi_contract::{digest::Digest, json::Value};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// See the module.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ItemTrees {
    /// Of each item that has succeeded: what it began with and what it has left.
    pub(crate) left: BTreeMap<usize, ItemTree>,
    /// Those that are in the run's tree.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) merged: BTreeSet<usize>,
    /// Those that the last merge has put off: they are done again, if the step is.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) in_conflict: BTreeSet<usize>,
    /// What items had left that were put off.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) earlier: BTreeMap<usize, Vec<Digest>>,
    /// What a person has decided about those in conflict. They are not done again then, but merged in this way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) decided: Option<MergeDecision>,
}

/// The snapshots of one item. `None`: it was not taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ItemTree {
    pub(crate) base: Option<Snapshot>,
    pub(crate) theirs: Option<Snapshot>,
}

impl ItemTrees {
    /// An item has succeeded.
    pub(crate) fn settle(&mut self, item: usize, files: &FilesAtEntry) {
        let base = match files.state {
            Began::With(base) => Some(base),
            Began::NotYet | Began::Unknown => None,
        };
        self.left.insert(item, ItemTree { base, theirs: files.left });
        self.merged.remove(&item);
    }

    /// Forgets the items that were put off, so that they are done again. If a person has decided how to merge them, their results are kept.
    pub(crate) fn do_again(&mut self) {
        if self.decided.is_some() {
            self.in_conflict.clear();
        }
        for item in std::mem::take(&mut self.in_conflict) {
            let left = self.left.remove(&item).and_then(|tree| tree.theirs);
            self.earlier.entry(item).or_default().extend(left.map(|left| left.digest));
        }
    }

    /// A merge is done, and has left this.
    pub(crate) fn merge(&mut self, call: &MergeCall, data: &Value) {
        (self.in_conflict, self.decided) = (in_conflict(data), None);
        let items = call.items.iter().filter_map(|item| usize::try_from(item.item).ok());
        self.merged.extend(items.filter(|item| !self.in_conflict.contains(item)));
    }

    /// Whether this item is to be done again, because it was in conflict.
    pub(crate) fn is_put_off(&self, item: usize) -> bool {
        self.decided.is_none() && self.in_conflict.contains(&item)
    }

    /// Items whose files are not in the run's tree yet, in their order.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (usize, ItemTree)> {
        self.left.iter().filter(|(item, _)| !self.merged.contains(item)).map(|(item, tree)| (*item, *tree))
    }

    pub(crate) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// The items that a merge has put off, as its data say it.
pub(crate) fn in_conflict(data: &Value) -> BTreeSet<usize> {
    let named = data.get("in_conflict").and_then(Value::as_array).unwrap_or_default();
    named.iter().filter_map(Value::as_u53).filter_map(|item| usize::try_from(item).ok()).collect()
}
