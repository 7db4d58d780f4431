//! Slots for attempts, and the run that gets the next free one.
//!
//! Owns how many attempts each tenant has, and which runs wait. A free place goes to the tenant that has the
//! fewest, among those to the one that got its last place longest ago; within a tenant to the run that has
//! waited longest. So a tenant with a thousand runs takes turns with one that has a single run, and with one
//! tenant it is a plain queue. Nothing is taken away: an attempt keeps its place until it ends. Does not know
//! what a run is.
//!
//! An attempt whose command waits for another run lends its place to that run, for one attempt at a time: the
//! command does nothing meanwhile, and without the loan the run could wait for the very place that its caller
//! holds.
//!
//! Ten thousand runs may wait. No operation for one of them visits the others.

use crate::model::runner::CallingAttempt;
use envoi_kernel::ids::{AttemptId, RunId};
use std::{collections::BTreeMap, sync::Arc};

/// The slots of an engine.
pub(super) struct Slots {
    /// Maximum number of attempts at once.
    jobs: usize,
    /// Number of attempts that are live or about to be. Exceeds `jobs` only by attempts that were found live.
    used: usize,
    /// Number of slots given out since the start.
    turns: u64,
    /// Tenants that have a slot, wait for one, or had one.
    tenants: BTreeMap<Arc<str>, Share>,
    /// The position of each waiting run.
    standing: BTreeMap<RunId, Standing>,
    /// Number of runs that have begun to wait since the start.
    arrivals: u64,
    /// Waiting runs that were called by an attempt, which may lend them its slot.
    called: BTreeMap<Standing, RunId>,
    /// Slots on loan, by lender, with the borrowing run. The attempt is known once its start is committed.
    loans: BTreeMap<CallingAttempt, (RunId, Option<AttemptId>)>,
}

/// The share of a tenant in the slots.
#[derive(Default)]
struct Share {
    used: usize,
    /// When it last got a slot, as a number of turns; 0: never.
    last: u64,
    /// Runs with a visit that waits for a slot, by arrival: the longest waiting first.
    waiting: BTreeMap<u64, RunId>,
}

/// The position of a run among the waiting ones.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Standing {
    tenant: Arc<str>,
    arrival: u64,
}

impl Slots {
    /// `jobs` is raised to at least 1.
    pub(super) fn new(jobs: usize) -> Self {
        Self {
            jobs: jobs.max(1),
            used: 0,
            turns: 0,
            tenants: BTreeMap::new(),
            standing: BTreeMap::new(),
            arrivals: 0,
            called: BTreeMap::new(),
            loans: BTreeMap::new(),
        }
    }

    pub(super) fn used(&self) -> usize {
        self.used
    }

    pub(super) fn is_free(&self) -> bool {
        self.used.saturating_sub(self.loans.len()) < self.jobs
    }

    /// Whether an attempt that waits for another run has its place to lend.
    pub(super) fn may_lend(&self, lender: &CallingAttempt) -> bool {
        !self.loans.contains_key(lender)
    }

    /// `run` is given the place of `lender`, which is live.
    pub(super) fn lend(&mut self, lender: CallingAttempt, run: RunId) {
        self.loans.insert(lender, (run, None));
    }

    /// Assigns the slot that was lent to `run` for a start that is being committed to that attempt. Without
    /// an attempt, the slot goes back.
    pub(super) fn settle_loan(&mut self, run: &RunId, attempt: Option<&AttemptId>) {
        let loan = self.loans.iter_mut().find(|(_, (to, of))| to == run && of.is_none());
        match (loan, attempt) {
            (Some((_, (_, of))), Some(attempt)) => *of = Some(attempt.clone()),
            (Some((lender, _)), None) => {
                let lender = lender.clone();
                self.loans.remove(&lender);
            }
            (None, _) => {}
        }
    }

    /// An attempt has ended. A slot that it borrowed goes back; a slot that it lent now belongs to the
    /// borrower.
    pub(super) fn end_loans(&mut self, over: &CallingAttempt) {
        self.loans.remove(over);
        self.loans.retain(|_, (run, of)| *run != over.run || of.as_ref() != Some(&over.attempt));
    }

    /// Whether a run waits for a place.
    pub(super) fn is_awaited(&self) -> bool {
        !self.standing.is_empty()
    }

    /// Counts one more attempt of a tenant, even above the limit, because it is live.
    pub(super) fn take(&mut self, tenant: &Arc<str>) {
        self.used = self.used.saturating_add(1);
        self.turns = self.turns.saturating_add(1);
        let share = self.tenants.entry(Arc::clone(tenant)).or_default();
        share.used = share.used.saturating_add(1);
        share.last = self.turns;
    }

    /// Counts one attempt less.
    pub(super) fn give_back(&mut self, tenant: &str) {
        self.used = self.used.saturating_sub(1);
        if let Some(share) = self.tenants.get_mut(tenant) {
            share.used = share.used.saturating_sub(1);
        }
    }

    /// Adds the run to the end of its tenant's queue, once. `is_called`: an attempt waits for it, and may
    /// lend it a slot.
    pub(super) fn wait(&mut self, tenant: &Arc<str>, run: &RunId, is_called: bool) {
        let standing = match self.standing.get(run) {
            Some(standing) => standing.clone(),
            None => {
                self.arrivals = self.arrivals.saturating_add(1);
                let standing = Standing { tenant: Arc::clone(tenant), arrival: self.arrivals };
                let share = self.tenants.entry(Arc::clone(tenant)).or_default();
                share.waiting.insert(standing.arrival, run.clone());
                self.standing.insert(run.clone(), standing.clone());
                standing
            }
        };
        match is_called {
            true => self.called.insert(standing, run.clone()),
            false => self.called.remove(&standing),
        };
    }

    /// The runs that wait and were called by an attempt.
    pub(super) fn called(&self) -> impl Iterator<Item = &RunId> {
        self.called.values()
    }

    /// The run no longer waits, and its loans in both directions end.
    pub(super) fn forget(&mut self, run: &RunId) {
        self.loans.retain(|lender, (to, _)| lender.run != *run && *to != *run);
        self.stop_waiting(run);
    }

    /// The run no longer waits. Its loans in both directions stay.
    pub(super) fn stop_waiting(&mut self, run: &RunId) {
        let Some(standing) = self.standing.remove(run) else { return };
        self.called.remove(&standing);
        if let Some(share) = self.tenants.get_mut(&standing.tenant) {
            share.waiting.remove(&standing.arrival);
        }
    }

    /// Removes and returns the run whose turn it is.
    pub(super) fn next(&mut self) -> Option<RunId> {
        let waiting = self.tenants.values().filter(|share| !share.waiting.is_empty());
        let (_, run) = waiting.min_by_key(|share| (share.used, share.last))?.waiting.first_key_value()?;
        let run = run.clone();
        self.stop_waiting(&run);
        Some(run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_with_fewer_comes_first_although_it_was_served_last() {
        let north = Arc::from("north");
        let south = Arc::from("south");
        let run = |name: &str| RunId::new(format!("run_{name}")).unwrap();
        let mut slots = Slots::new(3);
        [&north, &north, &south].into_iter().for_each(|tenant| slots.take(tenant));
        for (tenant, name) in [(&north, "n1"), (&south, "s1"), (&south, "s1"), (&south, "s2")] {
            slots.wait(tenant, &run(name), false);
        }
        slots.give_back(&south);
        assert_eq!([slots.next(), slots.next()], [Some(run("s1")), Some(run("s2"))]);
        assert!(slots.is_awaited());
        assert_eq!([slots.next(), slots.next()], [Some(run("n1")), None], "no place is reserved");
        assert!(slots.is_free() && !slots.is_awaited());
    }

    #[test]
    fn runs_wait_in_the_order_of_their_arrival_and_only_those_called_may_borrow() {
        let north = Arc::from("north");
        let south = Arc::from("south");
        let run = |name: &str| RunId::new(format!("run_{name}")).unwrap();
        let mut slots = Slots::new(1);
        for (tenant, name, is_called) in [
            (&south, "a", false),
            (&south, "b", true),
            (&north, "z", true),
            (&south, "c", false),
            (&south, "a", true),
            (&south, "b", false),
        ] {
            slots.wait(tenant, &run(name), is_called);
        }
        let called = |slots: &Slots| slots.called().cloned().collect::<Vec<_>>();
        assert_eq!(called(&slots), [run("z"), run("a")]);
        slots.stop_waiting(&run("a"));
        assert_eq!(called(&slots), [run("z")]);
        slots.wait(&south, &run("a"), false);
        // Both tenants have none, and had none before: the first by name.
        let order: Vec<_> = std::iter::from_fn(|| slots.next()).collect();
        assert_eq!(order, ["z", "b", "c", "a"].map(run));
        assert!(!slots.is_awaited() && called(&slots).is_empty());
    }

    #[test]
    fn a_run_that_stops_waiting_keeps_the_places_that_are_lent_to_it_and_by_it() {
        let tenant = Arc::from("local");
        let middle = RunId::new("run_middle").unwrap();
        let outer = CallingAttempt::parse("run_outer:call.1.1").unwrap();
        let inner = CallingAttempt::parse("run_middle:call.1.1").unwrap();
        let mut slots = Slots::new(1);
        slots.take(&tenant);
        for (lender, to) in [(&outer, &middle), (&inner, &RunId::new("run_inner").unwrap())] {
            slots.lend(lender.clone(), to.clone());
            slots.take(&tenant);
            slots.settle_loan(to, Some(&AttemptId::parse("call.1.1").unwrap()));
        }
        slots.wait(&tenant, &middle, true);
        slots.stop_waiting(&middle);
        assert!(!slots.is_awaited());
        assert!(!slots.may_lend(&outer) && !slots.may_lend(&inner));
        // Three attempts, of which two have the place of another one: the only place is taken, and free with the next end.
        slots.give_back(&tenant);
        slots.end_loans(&CallingAttempt::parse("run_inner:call.1.1").unwrap());
        slots.give_back(&tenant);
        slots.end_loans(&inner);
        assert!(!slots.is_free());
        slots.give_back(&tenant);
        slots.end_loans(&outer);
        assert!(slots.is_free() && slots.used() == 0);
    }

    #[test]
    fn a_place_is_lent_to_one_attempt_at_a_time_and_comes_back() {
        let tenant = Arc::from("local");
        let inner = RunId::new("run_inner").unwrap();
        let called = AttemptId::parse("work.1.1").unwrap();
        let lender = CallingAttempt::parse("run_outer:call.1.1").unwrap();
        let borrower = CallingAttempt { run: inner.clone(), attempt: called.clone() };
        let mut slots = Slots::new(1);
        slots.take(&tenant);
        assert!(!slots.is_free() && slots.may_lend(&lender));
        slots.lend(lender.clone(), inner.clone());
        slots.take(&tenant);
        slots.settle_loan(&inner, Some(&called));
        assert!(!slots.is_free() && !slots.may_lend(&lender), "the loan is no second place for others");
        slots.give_back(&tenant);
        slots.end_loans(&borrower);
        assert!(!slots.is_free() && slots.may_lend(&lender));
        // A start that came to nothing.
        slots.lend(lender.clone(), inner.clone());
        slots.settle_loan(&inner, None);
        assert!(slots.may_lend(&lender));
        // The borrower is set aside, then the lender: the place goes back.
        slots.lend(lender.clone(), inner.clone());
        slots.forget(&inner);
        assert!(slots.may_lend(&lender));
        slots.lend(lender.clone(), inner.clone());
        slots.forget(&lender.run);
        assert!(slots.may_lend(&lender));
        // The lender ends first: its place is the borrower's.
        slots.lend(lender.clone(), inner.clone());
        slots.take(&tenant);
        slots.settle_loan(&inner, Some(&called));
        slots.give_back(&tenant);
        slots.end_loans(&lender);
        assert!(!slots.is_free());
        slots.give_back(&tenant);
        slots.end_loans(&borrower);
        assert!(slots.is_free());
    }
}
