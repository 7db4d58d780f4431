//! Places for attempts, and whose turn it is when one is free.
//!
//! Owns how many attempts each tenant has, and which runs wait. A free place goes to the tenant that has the fewest, among
//! those to whoever was given one longest ago; within a tenant to the run that has waited longest. So a tenant with a
//! thousand runs takes turns with one that has a single run, and with one tenant it is a plain queue. Nothing is taken away:
//! an attempt keeps its place until it ends. Does not know what a run is.

use envoi_kernel::{Input, ids::RunId, input::Slot};
use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

/// See the module.
pub(super) struct Slots {
    /// Most attempts at once.
    jobs: usize,
    /// Attempts live or about to be: never above `jobs`, but for attempts that were found live.
    used: usize,
    /// Places that were given away since the beginning.
    turns: u64,
    /// Those that have a place or wait for one, and those that had one.
    tenants: BTreeMap<Arc<str>, Share>,
}

/// What a tenant has of the places.
#[derive(Default)]
struct Share {
    used: usize,
    /// When it was given one last, in turns; 0 for never.
    last: u64,
    /// Runs with a visit that waits for a place, the longest waiting first.
    waiting: VecDeque<RunId>,
}

impl Slots {
    /// At least one.
    pub(super) fn new(jobs: usize) -> Self {
        Self { jobs: jobs.max(1), used: 0, turns: 0, tenants: BTreeMap::new() }
    }

    pub(super) fn used(&self) -> usize {
        self.used
    }

    pub(super) fn is_free(&self) -> bool {
        self.used < self.jobs
    }

    /// Whether a run waits for a place.
    pub(super) fn is_awaited(&self) -> bool {
        self.tenants.values().any(|share| !share.waiting.is_empty())
    }

    /// One more attempt of a tenant, whether there is a place or not: it is live.
    pub(super) fn take(&mut self, tenant: &Arc<str>) {
        self.used = self.used.saturating_add(1);
        self.turns = self.turns.saturating_add(1);
        let share = self.tenants.entry(Arc::clone(tenant)).or_default();
        share.used = share.used.saturating_add(1);
        share.last = self.turns;
    }

    /// One less.
    pub(super) fn give_back(&mut self, tenant: &str) {
        self.used = self.used.saturating_sub(1);
        if let Some(share) = self.tenants.get_mut(tenant) {
            share.used = share.used.saturating_sub(1);
        }
    }

    /// The run waits, behind those of its tenant that wait already; once.
    pub(super) fn wait(&mut self, tenant: &Arc<str>, run: &RunId) {
        let share = self.tenants.entry(Arc::clone(tenant)).or_default();
        if !share.waiting.contains(run) {
            share.waiting.push_back(run.clone());
        }
    }

    /// The run waits no more.
    pub(super) fn forget(&mut self, run: &RunId) {
        self.tenants.values_mut().for_each(|share| share.waiting.retain(|waiting| waiting != run));
    }

    /// Whose turn it is; it does not wait any more.
    pub(super) fn next(&mut self) -> Option<RunId> {
        let waiting = self.tenants.values_mut().filter(|share| !share.waiting.is_empty());
        waiting.min_by_key(|share| (share.used, share.last))?.waiting.pop_front()
    }
}

/// The input, with the place that what follows from it may take.
pub(super) fn with_slot(input: Input, free: Option<Slot>) -> Input {
    match input {
        Input::Start(mut start) => {
            start.slot = free;
            Input::Start(start)
        }
        Input::Fork(mut fork) => {
            fork.slot = free;
            Input::Fork(fork)
        }
        Input::Settled { result, .. } => Input::Settled { result, slot: free },
        Input::InDoubt { attempt, evidence, .. } => Input::InDoubt { attempt, evidence, slot: free },
        Input::Answer { answer, .. } => Input::Answer { answer, slot: free },
        Input::Raise { more, by, why, request, elsewhere, .. } => {
            Input::Raise { more, by, why, request, elsewhere, slot: free }
        }
        Input::Expire { interrupt, .. } => Input::Expire { interrupt, slot: free },
        Input::Changed { interrupt, found } => Input::Changed { interrupt, found },
        Input::TimerDue { timer, .. } => Input::TimerDue { timer, slot: free },
        Input::Reopen { by, why, elsewhere, .. } => Input::Reopen { by, why, elsewhere, slot: free },
        Input::SlotFree(slot) => Input::SlotFree(slot),
        Input::ModelCall(asked) => Input::ModelCall(asked),
        Input::ModelCalled(told) => Input::ModelCalled(told),
        Input::Cancel { by } => Input::Cancel { by },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_has_fewer_comes_first_though_it_was_served_last() {
        let (north, south) = (Arc::from("north"), Arc::from("south"));
        let run = |name: &str| RunId::new(format!("run_{name}")).unwrap();
        let mut slots = Slots::new(3);
        [&north, &north, &south].into_iter().for_each(|tenant| slots.take(tenant));
        for (tenant, name) in [(&north, "n1"), (&south, "s1"), (&south, "s1"), (&south, "s2")] {
            slots.wait(tenant, &run(name));
        }
        slots.give_back(&south);
        assert_eq!([slots.next(), slots.next()], [Some(run("s1")), Some(run("s2"))]);
        assert!(slots.is_awaited());
        assert_eq!([slots.next(), slots.next()], [Some(run("n1")), None], "a place is not kept for anybody");
        assert!(slots.is_free() && !slots.is_awaited());
    }
}
