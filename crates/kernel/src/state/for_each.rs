//! The items of a step that is done once for each value of a list.
//!
//! Owns their values, which of them are under way, and what they have come to. An item is a visit within the visit; the whole is
//! over when all its items are. A step that works in a tree of its own without being a list is one item.

use crate::{
    model::size::MAX_DATA_BYTES,
    state::{doubt::Doubt, item_trees::ItemTrees, step_result::StepResult},
};
use envoi_contract::{
    handoff::Status,
    json::{Object, Value},
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::Arc};

/// The most items of one step.
pub(crate) const MAX_ITEMS: usize = 1000;

/// See the module.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ForEachItems {
    /// As the expression gave them; never computed again.
    pub(crate) items: Arc<Vec<Value>>,
    /// The most under way at once.
    pub(crate) width: usize,
    /// Items under way.
    pub(crate) open: usize,
    /// The next one that may have to be done.
    pub(crate) next: usize,
    /// By item.
    pub(crate) results: BTreeMap<usize, Arc<StepResult>>,
    /// Items that are over, or to be done again, and whose last attempt is in doubt.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) doubts: BTreeMap<usize, Arc<Doubt>>,
    /// What they have left in trees of their own.
    #[serde(default, skip_serializing_if = "ItemTrees::is_nothing")]
    pub(crate) trees: ItemTrees,
    /// The step is no list: the only item is what it does itself, in a tree of its own.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub(crate) alone: bool,
    /// Why that item failed, as its hand-off says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

impl ForEachItems {
    /// All of `items` are to be done, but those that succeeded as the same item of `before`. What is in doubt of the same item is
    /// still in doubt.
    pub(crate) fn of(items: Vec<Value>, width: usize, before: Option<&ForEachItems>) -> Self {
        let is_same = |item: &usize| {
            items.len() > *item && before.and_then(|before| before.items.get(*item)) == items.get(*item)
        };
        let done = |(item, result): (&usize, &Arc<StepResult>)| {
            let is_put_off = before.is_some_and(|before| before.trees.is_put_off(*item));
            let done = result.status == Status::Succeeded && !is_put_off && is_same(item);
            done.then(|| (*item, Arc::clone(result)))
        };
        let in_doubt =
            |(item, doubt): (&usize, &Arc<Doubt>)| is_same(item).then(|| (*item, Arc::clone(doubt)));
        let results: BTreeMap<_, _> =
            before.into_iter().flat_map(|before| &before.results).filter_map(done).collect();
        let doubts = before.into_iter().flat_map(|before| &before.doubts).filter_map(in_doubt).collect();
        let mut trees = before.map(|before| before.trees.clone()).unwrap_or_default();
        trees.do_again();
        trees.left.retain(|item, _| results.contains_key(item));
        trees.merged.retain(|item| results.contains_key(item));
        Self {
            items: Arc::new(items),
            width: width.max(1),
            open: 0,
            next: 0,
            results,
            doubts,
            trees,
            alone: false,
            error: None,
        }
    }

    /// What the step itself has come to, if it is no list.
    pub(crate) fn own(&self) -> Option<&Arc<StepResult>> {
        self.results.get(&0).filter(|_| self.alone)
    }

    /// The next item to be entered, if there is room for one, and what is in doubt of it.
    pub(crate) fn admit(&mut self) -> Option<(usize, Option<Arc<Doubt>>)> {
        if self.open >= self.width {
            return None;
        }
        while self.next < self.items.len() {
            let item = self.next;
            self.next = item.saturating_add(1);
            if !self.results.contains_key(&item) {
                self.open = self.open.saturating_add(1);
                return Some((item, self.doubts.remove(&item)));
            }
        }
        None
    }

    /// One item is over; maybe its last attempt is in doubt.
    pub(crate) fn settle(&mut self, item: usize, result: Arc<StepResult>, doubt: Option<Arc<Doubt>>) {
        self.doubts.extend(doubt.map(|doubt| (item, doubt)));
        self.open = self.open.saturating_sub(1);
        self.results.insert(item, result);
    }

    /// Whether all items are over, and what some have left in trees of their own is to be merged.
    pub(crate) fn is_to_be_merged(&self) -> bool {
        self.is_over() && self.trees.waiting().next().is_some()
    }

    /// Whether all items are over.
    pub(crate) fn is_over(&self) -> bool {
        self.open == 0 && self.results.len() >= self.items.len()
    }

    /// The data of the items, in their order; `null` for those that left none. Over 64 KiB it is left out, and how much it
    /// is stands in its place: each item's own has it. A step that is no list has its own data.
    pub(crate) fn data(&self) -> Value {
        if let Some(own) = self.own() {
            return own.data.clone();
        }
        let data = |item| self.results.get(&item).map(|result| result.data.clone()).unwrap_or_default();
        let all = Value::Array((0..self.items.len()).map(data).collect());
        let size = all.compact().len();
        if size <= MAX_DATA_BYTES {
            return all;
        }
        let size = u64::try_from(size).unwrap_or(u64::MAX);
        let reason = "together the data of the items is over 64 KiB; each item's report has its own";
        Value::Object(Object::from([("$omitted", Value::from(reason)), ("size", Value::from(size))]))
    }

    /// Every artifact of the items, by name; a later item's stands for an earlier one's of the same name.
    pub(crate) fn artifacts(&self) -> impl Iterator<Item = (String, String)> {
        let all = self.results.values().filter_map(|result| match &result.artifacts {
            Value::Object(members) => Some(members),
            _ => None,
        });
        all.flat_map(|members| members.iter())
            .filter_map(|(name, path)| Some((name.to_string(), path.as_str()?.to_owned())))
    }

    /// A line for each item, in their order.
    pub(crate) fn summary(&self) -> String {
        let line = |(item, result): (&usize, &Arc<StepResult>)| {
            let word = if result.status == Status::Succeeded { "" } else { " failed" };
            format!("item {item}{word}: {}", result.summary)
        };
        self.results.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// Whether the text of an item is cut.
    pub(crate) fn is_text_cut(&self) -> bool {
        self.results.values().any(|result| result.text_cut)
    }

    /// Whether a longer text stands behind the summary of an item.
    pub(crate) fn has_summary(&self) -> bool {
        let is_all = |result: &StepResult| result.is_text_whole() && result.known_text() == result.summary;
        self.results.values().any(|result| !is_all(result))
    }

    /// Items that have failed.
    pub(crate) fn failed(&self) -> impl Iterator<Item = usize> {
        self.results.iter().filter(|(_, result)| result.status == Status::Failed).map(|(item, _)| *item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_is_done_again_unless_it_succeeded_with_the_same_value() {
        let result = |status| {
            Arc::new(StepResult {
                left_out: false,
                status,
                summary: String::new(),
                text: None,
                text_cut: false,
                data: Value::Null,
                artifacts: Value::Null,
                report: None,
                report_blob: None,
                attempt: None,
            })
        };
        let list = |values: &[u64]| values.iter().copied().map(Value::from).collect::<Vec<_>>();
        let mut before = ForEachItems::of(list(&[1, 2, 3, 4]), 9, None);
        while before.admit().is_some() {}
        for (item, status) in
            [(0, Status::Succeeded), (1, Status::Failed), (2, Status::Succeeded), (3, Status::Succeeded)]
        {
            before.settle(item, result(status), None);
        }
        let mut again = ForEachItems::of(list(&[1, 2, 7]), 9, Some(&before));
        let mut admit = || again.admit().map(|(item, _)| item);
        assert_eq!([admit(), admit(), admit()], [Some(1), Some(2), None]);
    }
}
