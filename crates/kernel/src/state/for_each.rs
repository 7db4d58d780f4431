//! The items of a step that is executed once for each value of a list.
//!
//! Owns their values, their progress and their results. An item is a visit within the visit; the whole visit
//! has ended when all its items have.

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

/// Maximum number of items of one step.
pub(crate) const MAX_ITEMS: usize = 1000;

/// The items of a visit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ForEachItems {
    /// The values of the expression; never computed again.
    pub(crate) items: Arc<Vec<Value>>,
    /// Maximum number of items in progress at once.
    pub(crate) width: usize,
    /// Number of items in progress.
    pub(crate) open: usize,
    /// Index of the next item that may have to be executed.
    pub(crate) next: usize,
    /// Results by item.
    pub(crate) results: BTreeMap<usize, Arc<StepResult>>,
    /// Items that have ended, or are to be executed again, and whose last attempt is in doubt.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) doubts: BTreeMap<usize, Arc<Doubt>>,
    /// The results of items in trees of their own.
    #[serde(default, skip_serializing_if = "ItemTrees::is_nothing")]
    pub(crate) trees: ItemTrees,
}

impl ForEachItems {
    /// Starts all `items`, except those that succeeded as the same item of `before`. Doubts of `before`
    /// remain for the same item.
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
        Self { items: Arc::new(items), width: width.max(1), open: 0, next: 0, results, doubts, trees }
    }

    /// The next item to enter, if the width allows one, and its attempt in doubt.
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

    /// Records the end of an item, and the doubt if its last attempt is in doubt.
    pub(crate) fn settle(&mut self, item: usize, result: Arc<StepResult>, doubt: Option<Arc<Doubt>>) {
        self.doubts.extend(doubt.map(|doubt| (item, doubt)));
        self.open = self.open.saturating_sub(1);
        self.results.insert(item, result);
    }

    /// Whether all items have ended and results in their own trees must be merged.
    pub(crate) fn is_to_be_merged(&self) -> bool {
        self.is_over() && self.trees.waiting().next().is_some()
    }

    /// Whether all items have ended.
    pub(crate) fn is_over(&self) -> bool {
        self.open == 0 && self.results.len() >= self.items.len()
    }

    /// The data of the items, in order; `null` for items without data. Data over 64 KiB in total are replaced
    /// by a note of their size: each item's own result has them.
    pub(crate) fn data(&self) -> Value {
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

    /// All artifacts of the items, by name. On equal names, the later item wins.
    pub(crate) fn artifacts(&self) -> impl Iterator<Item = (String, String)> {
        let all = self.results.values().filter_map(|result| match &result.artifacts {
            Value::Object(members) => Some(members),
            _ => None,
        });
        all.flat_map(|members| members.iter())
            .filter_map(|(name, path)| Some((name.to_string(), path.as_str()?.to_owned())))
    }

    /// A line per item, in order.
    pub(crate) fn summary(&self) -> String {
        let line = |(item, result): (&usize, &Arc<StepResult>)| {
            let word = if result.status == Status::Succeeded { "" } else { " failed" };
            format!("item {item}{word}: {}", result.summary)
        };
        self.results.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// Whether the text of an item was truncated.
    pub(crate) fn is_text_cut(&self) -> bool {
        self.results.values().any(|result| result.text_cut)
    }

    /// Whether the summary of some item is shorter than its text.
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
