//! Which push configurations may have something to send, and when each has its next turn.
//!
//! Owns the order; the bounds are kept by `notify`'s `turns`. A configuration has one turn at a time, and a receiver few, so that one
//! that hangs holds up no other. A tenant has no more turns than it leaves to the others, however many of its receivers hang. The
//! scheduler knows no content and no store: it only learns that there may be something new. It holds a few words for
//! each active configuration.

use envoi_contract::time::Timestamp;
use envoi_kernel::ids::RunId;
use envoi_notify::{
    retry::until,
    turns::{Owner, Turns},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Most turns at the same time. A tenant that is alone has at most half of them.
pub(crate) const MOST_TURNS: usize = 16;

/// Most at the same time for one receiver, by its host and port.
const MOST_A_RECEIVER: usize = 2;

/// A configuration: the task and the id.
pub(crate) type Key = (RunId, String);

/// How a turn has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnResult {
    /// Everything is sent, until there is news.
    Idle,
    /// There is more to send.
    More,
    /// It did not work; not before this moment.
    Later(Timestamp),
    /// The configuration is done or deleted.
    Gone,
}

/// See the module.
#[derive(Default)]
pub(crate) struct Scheduler {
    state: Mutex<State>,
    bell: Condvar,
}

struct State {
    entries: BTreeMap<Key, Entry>,
    /// Configurations that wait for their turn, by the time when they are due.
    due: BTreeSet<(Timestamp, Key)>,
    turns: Turns<Key>,
    closed: bool,
}

impl Default for State {
    fn default() -> Self {
        Self {
            entries: BTreeMap::new(),
            due: BTreeSet::new(),
            turns: Turns::new(MOST_TURNS, MOST_A_RECEIVER),
            closed: false,
        }
    }
}

struct Entry {
    whose: Owner,
    at: Timestamp,
    place: EntryState,
}

/// Where a configuration stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EntryState {
    /// Idle: there is no news for it.
    Idle,
    /// In the queue, due now or later.
    Due,
    /// It has its turn; whether there is news since, and whether it was replaced meanwhile.
    Turn { news: bool, renewed: bool },
}

impl Scheduler {
    /// Sends to this configuration from now on; it replaces one with the same key.
    pub(crate) fn add(&self, key: Key, whose: Owner, at: Timestamp) {
        let mut state = self.lock();
        let place = match state.entries.get(&key).map(|entry| entry.place) {
            Some(EntryState::Turn { .. }) => EntryState::Turn { news: true, renewed: true },
            _ => EntryState::Due,
        };
        state.leave_queue(&key);
        if place == EntryState::Due {
            state.due.insert((at, key.clone()));
        }
        state.entries.insert(key, Entry { whose, at, place });
        self.bell.notify_all();
    }

    /// Something of this run was committed.
    pub(crate) fn committed(&self, run: &RunId, now: Timestamp) {
        let mut state = self.lock();
        let first = (run.clone(), String::new());
        let mut idle = Vec::new();
        for (key, entry) in state.entries.range_mut(first..).take_while(|((of, _), _)| of == run) {
            match &mut entry.place {
                EntryState::Turn { news, .. } => *news = true,
                EntryState::Idle => {
                    (entry.at, entry.place) = (now, EntryState::Due);
                    idle.push((now, key.clone()));
                }
                EntryState::Due => {}
            }
        }
        if !idle.is_empty() {
            state.due.extend(idle);
            self.bell.notify_all();
        }
    }

    /// Whose turn it is; waits for it. `None` once it is closed.
    pub(crate) fn take(&self, now: impl Fn() -> Timestamp) -> Option<Key> {
        let mut state = self.lock();
        loop {
            if state.closed {
                return None;
            }
            let now = now();
            if let Some(key) = state.next(now) {
                return Some(key);
            }
            let wait = state.until_next(now);
            state = self.bell.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// A turn is over.
    pub(crate) fn give_back(&self, key: &Key, after: TurnResult, now: Timestamp) {
        let mut state = self.lock();
        state.turns.end(key);
        let (news, renewed) = match state.entries.get(key).map(|entry| entry.place) {
            Some(EntryState::Turn { news, renewed }) => (news, renewed),
            _ => (false, false),
        };
        let due = match after {
            _ if renewed => Some(now),
            TurnResult::More => Some(now),
            TurnResult::Later(at) => Some(at),
            TurnResult::Idle if news => Some(now),
            TurnResult::Idle => None,
            TurnResult::Gone => {
                state.entries.remove(key);
                None
            }
        };
        if let Some(entry) = state.entries.get_mut(key) {
            entry.place = if due.is_some() { EntryState::Due } else { EntryState::Idle };
            entry.at = due.unwrap_or(now);
        }
        if let Some(at) = due {
            state.due.insert((at, key.clone()));
        }
        self.bell.notify_all();
    }

    /// No further turns.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.bell.notify_all();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Waits until no turn is under way, or until `until`. Returns whether none is.
    pub(crate) fn wait_until_still(&self, until: Instant) -> bool {
        let mut state = self.lock();
        while !state.turns.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state = self.bell.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Has the clock looked at.
    #[cfg(test)]
    pub(super) fn ring(&self) {
        let _state = self.lock();
        self.bell.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Gives a turn to the configuration that has waited longest, if its receiver is not busy and its tenant has a
    /// share left.
    fn next(&mut self, now: Timestamp) -> Option<Key> {
        let due = self.due.iter().take_while(|(at, _)| *at <= now);
        let key = due.map(|(_, key)| key).find(|key| self.has_room(key))?.clone();
        self.leave_queue(&key);
        let entry = self.entries.get_mut(&key)?;
        entry.place = EntryState::Turn { news: false, renewed: false };
        let whose = entry.whose.clone();
        self.turns.begin(key.clone(), whose);
        Some(key)
    }

    fn has_room(&self, key: &Key) -> bool {
        self.entries.get(key).is_some_and(|entry| self.turns.may_begin(key, &entry.whose))
    }

    /// The time until the next one is due. Those that are due already wait for the end of a turn, which rings the bell.
    fn until_next(&self, now: Timestamp) -> Duration {
        until(self.due.iter().find(|(at, _)| *at > now).map(|(at, _)| *at), now)
    }

    fn leave_queue(&mut self, key: &Key) {
        if let Some(entry) = self.entries.get(key) {
            let queued = (entry.at, key.clone());
            self.due.remove(&queued);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    fn key(run: &str, id: &str) -> Key {
        (RunId::new(run).unwrap(), id.to_owned())
    }

    /// Of a tenant of its own.
    fn to(receiver: &str) -> Owner {
        of(receiver, receiver)
    }

    fn of(tenant: &str, receiver: &str) -> Owner {
        Owner { tenant: tenant.to_owned(), receiver: Some(receiver.to_owned()) }
    }

    /// Whether a turn is under way to this receiver.
    fn is_busy(scheduler: &Scheduler, receiver: &str) -> bool {
        scheduler.lock().turns.under_way().any(|(_, owner)| owner.receiver.as_deref() == Some(receiver))
    }

    /// How many turns are given until none is left.
    fn take_all(scheduler: &Scheduler, now: i64) -> usize {
        std::iter::from_fn(|| take(scheduler, now)).count()
    }

    /// Whose turn it is, without waiting.
    fn take(scheduler: &Scheduler, now: i64) -> Option<Key> {
        scheduler.lock().next(at(now))
    }

    #[test]
    fn turns_are_taken_by_who_is_due_first_and_one_at_a_time() {
        let scheduler = Scheduler::default();
        scheduler.add(key("run_1", "a"), to("one:443"), at(5));
        scheduler.add(key("run_2", "a"), to("two:443"), at(3));
        assert_eq!(take(&scheduler, 2), None);
        assert_eq!(scheduler.lock().until_next(at(2)), Duration::from_millis(1));
        assert_eq!(take(&scheduler, 9), Some(key("run_2", "a")));
        assert_eq!(take(&scheduler, 9), Some(key("run_1", "a")));
        assert_eq!(take(&scheduler, 9), None);
        scheduler.give_back(&key("run_2", "a"), TurnResult::More, at(9));
        assert_eq!(take(&scheduler, 9), Some(key("run_2", "a")));
        scheduler.give_back(&key("run_2", "a"), TurnResult::Idle, at(9));
        scheduler.give_back(&key("run_1", "a"), TurnResult::Gone, at(9));
        assert_eq!(take(&scheduler, 99), None);
        assert_eq!(scheduler.lock().entries.len(), 1);
        assert!(scheduler.lock().turns.is_empty());
    }

    #[test]
    fn news_wakes_those_of_the_run_alone_and_is_not_missed_during_a_turn() {
        let scheduler = Scheduler::default();
        for (run, id) in [("run_1", "a"), ("run_1", "b"), ("run_10", "a"), ("run_2", "a")] {
            scheduler.add(key(run, id), to(&format!("{run}{id}:443")), at(0));
            let taken = take(&scheduler, 0).unwrap();
            scheduler.give_back(&taken, TurnResult::Idle, at(0));
        }
        scheduler.committed(&RunId::new("run_1").unwrap(), at(1));
        assert_eq!(take(&scheduler, 1), Some(key("run_1", "a")));
        assert_eq!(take(&scheduler, 1), Some(key("run_1", "b")));
        assert_eq!(take(&scheduler, 1), None);
        scheduler.committed(&RunId::new("run_1").unwrap(), at(2));
        scheduler.give_back(&key("run_1", "a"), TurnResult::Idle, at(2));
        scheduler.give_back(&key("run_1", "b"), TurnResult::Later(at(50)), at(2));
        assert_eq!(take(&scheduler, 2), Some(key("run_1", "a")), "what came during its turn");
        scheduler.committed(&RunId::new("run_1").unwrap(), at(3));
        assert_eq!(take(&scheduler, 49), None, "one that failed waits, whatever is new");
        assert_eq!(take(&scheduler, 50), Some(key("run_1", "b")));
    }

    #[test]
    fn a_receiver_that_is_busy_is_left_alone_and_holds_up_nobody_else() {
        let scheduler = Scheduler::default();
        for run in 1..=5 {
            scheduler.add(key(&format!("run_{run}"), "a"), to("slow:443"), at(0));
        }
        scheduler.add(key("run_9", "a"), to("fast:443"), at(1));
        assert_eq!(take(&scheduler, 1), Some(key("run_1", "a")));
        assert_eq!(take(&scheduler, 1), Some(key("run_2", "a")));
        assert_eq!(take(&scheduler, 1), Some(key("run_9", "a")));
        assert_eq!(take(&scheduler, 1), None);
        scheduler.give_back(&key("run_1", "a"), TurnResult::More, at(2));
        assert_eq!(take(&scheduler, 2), Some(key("run_3", "a")), "in turn");
        assert_eq!(take(&scheduler, 2), None);
    }

    #[test]
    fn a_tenant_whose_receivers_all_hang_leaves_room_for_every_other() {
        let scheduler = Scheduler::default();
        let add = |tenant: &str, count: usize| {
            for n in 0..count {
                let key = key(&format!("run_{tenant}{n}"), "a");
                scheduler.add(key, of(tenant, &format!("{tenant}{n}:443")), at(0));
            }
        };
        add("dead", 100);
        assert_eq!(take_all(&scheduler, 0), 8, "alone it has half");
        add("north", 1);
        assert_eq!(take(&scheduler, 0), Some(key("run_north0", "a")), "the one that has waited longer");
        add("gone", 100);
        assert_eq!(take_all(&scheduler, 0), 3, "half of what is left");
        for (tenant, turns) in [("south", 2), ("east", 1), ("west", 1)] {
            add(tenant, 3);
            assert_eq!(take_all(&scheduler, 0), turns, "{tenant}");
        }
        assert_eq!(scheduler.lock().turns.len(), MOST_TURNS);
        add("late", 1);
        assert_eq!(take(&scheduler, 0), None, "there are no more");
        // A tenant with many turns waits for those with none.
        scheduler.give_back(&key("run_north0", "a"), TurnResult::Gone, at(1));
        assert_eq!(take(&scheduler, 1), Some(key("run_late0", "a")));
        assert_eq!(take(&scheduler, 1), None);
    }

    #[test]
    fn one_that_is_made_anew_during_its_turn_does_not_wait_for_the_failure_of_the_old_one() {
        for after in [TurnResult::Later(at(1_000)), TurnResult::Gone, TurnResult::Idle] {
            let scheduler = Scheduler::default();
            scheduler.add(key("run_1", "a"), to("old:443"), at(0));
            let taken = take(&scheduler, 0).unwrap();
            scheduler.add(taken.clone(), to("new:443"), at(1));
            assert_eq!(take(&scheduler, 1), None, "not twice at once");
            scheduler.give_back(&taken, after, at(2));
            assert!(scheduler.lock().turns.is_empty(), "{after:?}");
            assert_eq!(take(&scheduler, 2), Some(taken), "{after:?}");
            assert!(is_busy(&scheduler, "new:443"), "{after:?}");
        }
    }

    #[test]
    fn one_that_is_made_anew_while_it_waits_is_due_at_once_and_once() {
        let scheduler = Scheduler::default();
        scheduler.add(key("run_1", "a"), to("old:443"), at(500));
        scheduler.add(key("run_1", "a"), to("new:443"), at(1));
        assert_eq!(take(&scheduler, 1), Some(key("run_1", "a")));
        assert!(is_busy(&scheduler, "new:443"));
        scheduler.give_back(&key("run_1", "a"), TurnResult::Idle, at(1));
        assert_eq!(take(&scheduler, 999), None);
    }

    #[test]
    fn a_closed_board_gives_no_turns_and_says_when_it_is_still() {
        let scheduler = Scheduler::default();
        scheduler.add(key("run_1", "a"), to("one:443"), at(0));
        let taken = scheduler.take(|| at(0)).unwrap();
        scheduler.close();
        assert_eq!(scheduler.take(|| at(0)), None);
        assert!(!scheduler.wait_until_still(Instant::now()));
        scheduler.give_back(&taken, TurnResult::More, at(0));
        assert!(scheduler.wait_until_still(Instant::now()));
        assert_eq!(scheduler.take(|| at(0)), None);
    }
}
