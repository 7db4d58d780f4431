//! The open visits of a run, and an index of the ready ones in their order.
//!
//! Ensures that the index matches the states: a visit changes only through [`Changing`], which updates the
//! index. Without the index, each decision would examine all open visits, and there may be thousands of
//! items.

use super::visit::{OpenVisit, VisitState};
use crate::model::ids::VisitId;
use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
    ops::{Bound, Deref, DerefMut},
};

/// The open visits of a run. Reads as a map.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct OpenVisits {
    all: BTreeMap<VisitId, OpenVisit>,
    ready: BTreeSet<InTurn>,
}

/// A visit as a sort key: items are ordered by their numbers, which are part of their scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InTurn(VisitId);

/// A visit being changed. The index is updated on drop.
pub(crate) struct Changing<'o> {
    id: &'o VisitId,
    visit: &'o mut OpenVisit,
    ready: &'o mut BTreeSet<InTurn>,
    was_ready: bool,
}

impl OpenVisits {
    pub(crate) fn insert(&mut self, id: VisitId, visit: OpenVisit) {
        let turn = InTurn(id.clone());
        if is_ready(&visit) {
            self.ready.insert(turn);
        } else {
            self.ready.remove(&turn);
        }
        self.all.insert(id, visit);
    }

    pub(crate) fn remove(&mut self, id: &VisitId) -> Option<OpenVisit> {
        let visit = self.all.remove(id)?;
        if is_ready(&visit) {
            self.ready.remove(&InTurn(id.clone()));
        }
        Some(visit)
    }

    pub(crate) fn get_mut<'o>(&'o mut self, id: &'o VisitId) -> Option<Changing<'o>> {
        let visit = self.all.get_mut(id)?;
        let was_ready = is_ready(visit);
        Some(Changing { id, visit, ready: &mut self.ready, was_ready })
    }

    pub(crate) fn change_all(&mut self, mut change: impl FnMut(&VisitId, &mut OpenVisit)) {
        for (id, visit) in &mut self.all {
            let was_ready = is_ready(visit);
            let mut changing = Changing { id, visit, ready: &mut self.ready, was_ready };
            change(id, &mut changing);
        }
    }

    /// Takes all open visits; none is open afterwards.
    pub(crate) fn take(&mut self) -> BTreeMap<VisitId, OpenVisit> {
        core::mem::take(self).all
    }

    /// The first ready visit after `last`, or the first one.
    pub(crate) fn ready_after(&self, last: Option<&InTurn>) -> Option<&InTurn> {
        match last {
            None => self.ready.first(),
            Some(last) => self.ready.range((Bound::Excluded(last), Bound::Unbounded)).next(),
        }
    }

    /// The ready visits in their order.
    pub(crate) fn ready(&self) -> impl Iterator<Item = &VisitId> {
        self.ready.iter().map(InTurn::visit)
    }
}

fn is_ready(visit: &OpenVisit) -> bool {
    matches!(visit.state, VisitState::Ready)
}

impl Deref for OpenVisits {
    type Target = BTreeMap<VisitId, OpenVisit>;

    fn deref(&self) -> &Self::Target {
        &self.all
    }
}

impl<'o> IntoIterator for &'o OpenVisits {
    type Item = (&'o VisitId, &'o OpenVisit);
    type IntoIter = std::collections::btree_map::Iter<'o, VisitId, OpenVisit>;

    fn into_iter(self) -> Self::IntoIter {
        self.all.iter()
    }
}

impl FromIterator<(VisitId, OpenVisit)> for OpenVisits {
    fn from_iter<I: IntoIterator<Item = (VisitId, OpenVisit)>>(visits: I) -> Self {
        let all: BTreeMap<VisitId, OpenVisit> = visits.into_iter().collect();
        let ready = all.iter().filter(|(_, visit)| is_ready(visit)).map(|(id, _)| InTurn(id.clone()));
        Self { ready: ready.collect(), all }
    }
}

impl Deref for Changing<'_> {
    type Target = OpenVisit;

    fn deref(&self) -> &OpenVisit {
        self.visit
    }
}

impl DerefMut for Changing<'_> {
    fn deref_mut(&mut self) -> &mut OpenVisit {
        self.visit
    }
}

impl Drop for Changing<'_> {
    fn drop(&mut self) {
        match (self.was_ready, is_ready(self.visit)) {
            (false, true) => {
                self.ready.insert(InTurn(self.id.clone()));
            }
            (true, false) => {
                self.ready.remove(&InTurn(self.id.clone()));
            }
            (false, false) | (true, true) => {}
        }
    }
}

impl InTurn {
    pub(crate) fn visit(&self) -> &VisitId {
        &self.0
    }
}

impl PartialOrd for InTurn {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for InTurn {
    fn cmp(&self, other: &Self) -> Ordering {
        #[cfg(test)]
        tests::COMPARISONS.set(tests::COMPARISONS.get() + 1);
        by_number(&self.0.scope, &other.0.scope).then_with(|| self.0.cmp(&other.0))
    }
}

/// Compares two scopes so that `2` comes before `10`.
fn by_number(a: &str, b: &str) -> Ordering {
    let segment = |(a, b): (&str, &str)| {
        let numbers = [a, b].iter().all(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        // Numbers have no leading zeros, so the shorter one is smaller.
        let length = if numbers { a.len().cmp(&b.len()) } else { Ordering::Equal };
        length.then_with(|| a.cmp(b))
    };
    let differing = a.split('.').zip(b.split('.')).map(segment).find(|order| order.is_ne());
    differing.unwrap_or_else(|| a.len().cmp(&b.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ids::StepId;
    use std::cell::Cell;

    thread_local! {
        /// Number of comparisons in this thread, for tests.
        pub(super) static COMPARISONS: Cell<u64> = const { Cell::new(0) };
    }

    fn visit(scope: &str, step: &str) -> VisitId {
        VisitId { scope: scope.to_owned(), step: StepId::new(step).unwrap(), visit: 1 }
    }

    fn ready() -> OpenVisit {
        OpenVisit::after(None)
    }

    fn turns(open: &OpenVisits) -> Vec<String> {
        open.ready().map(ToString::to_string).collect()
    }

    #[test]
    fn items_have_their_turns_by_their_numbers() {
        let ids = ["10", "9", "", "1.build.2", "1", "10.build.1.0", "9.build.1.11", "9.build.1.2"];
        let open: OpenVisits = ids.iter().map(|scope| (visit(scope, "work"), ready())).collect();
        let expected = [
            "work.1",
            "1.work.1",
            "1.build.2.work.1",
            "9.work.1",
            "9.build.1.2.work.1",
            "9.build.1.11.work.1",
            "10.work.1",
            "10.build.1.0.work.1",
        ];
        assert_eq!(turns(&open), expected);
        let mut one_by_one = Vec::new();
        let mut last = None;
        while let Some(next) = open.ready_after(last) {
            one_by_one.push(next.visit().to_string());
            last = Some(next);
        }
        assert_eq!(one_by_one, expected);
    }

    #[test]
    fn the_index_follows_every_change() {
        let mut open = OpenVisits::default();
        let [a, b, c] = ["a", "b", "c"].map(|step| visit("", step));
        for id in [&a, &b, &c] {
            open.insert(id.clone(), ready());
        }
        open.get_mut(&b).unwrap().state = VisitState::Running;
        assert_eq!(turns(&open), ["a.1", "c.1"]);
        open.insert(c.clone(), OpenVisit { state: VisitState::Backoff, ..ready() });
        assert_eq!(turns(&open), ["a.1"]);
        open.change_all(|id, visit| {
            visit.state = if *id == a { VisitState::Inside } else { VisitState::Ready };
        });
        assert_eq!(turns(&open), ["b.1", "c.1"]);
        assert_eq!(open.clone().into_iter().count(), 3);
        let again: OpenVisits = open.iter().map(|(id, visit)| (id.clone(), visit.clone())).collect();
        assert_eq!(again, open, "a restored index is the one that was lived");
        open.remove(&b);
        assert_eq!(turns(&open), ["c.1"]);
        assert_eq!(open.take().len(), 2);
        assert_eq!(turns(&open), [""; 0]);
    }

    /// Number of comparisons while this many items begin, one after the other.
    fn comparisons(items: u64) -> u64 {
        let whole = visit("", "work");
        let mut open: OpenVisits = (0..items).map(|item| (whole.nth(item), ready())).collect();
        COMPARISONS.set(0);
        for item in 0..items {
            let next = open.ready_after(None).unwrap().visit().clone();
            assert_eq!(next.item(), Some(item));
            open.get_mut(&next).unwrap().state = VisitState::Running;
        }
        assert_eq!(open.ready_after(None), None);
        COMPARISONS.get()
    }

    #[test]
    fn the_next_turn_is_found_without_looking_at_all_that_are_ready() {
        let (some, many) = (comparisons(100), comparisons(10_000));
        assert!(many <= some * 100 * 5, "{some} for 100 items, {many} for 10,000");
    }
}
