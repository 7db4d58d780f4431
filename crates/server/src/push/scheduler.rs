//! Which push configurations may have something to send, and when each has its next turn.
//!
//! Owns the order. `notify`'s `turns` has the limits, and its loop does the waiting. A configuration has one
//! turn at a time, and a tenant has few turns for one receiver, so that a hanging receiver delays no other. A
//! tenant has at most as many turns as it leaves free for others, however many of its receivers hang. The
//! scheduler knows no content and no store, only that there may be something new. It needs little memory for
//! each active configuration.

use envoi_contract::time::Timestamp;
use envoi_kernel::ids::RunId;
use envoi_notify::{
    delivery_loop::Waker,
    turns::{Owner, Turns},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
};

/// The most turns at the same time. A single tenant gets at most half of them.
pub(crate) const MOST_TURNS: usize = 16;

/// The most turns at the same time of one tenant to one receiver, by its host and port.
pub(crate) const MOST_A_RECEIVER: usize = 2;

/// A configuration: its task and its id.
pub(crate) type Key = (RunId, String);

/// The result of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnResult {
    /// Everything was sent; wait for news.
    Idle,
    /// There is more to send.
    More,
    /// It failed; try again at this time or later.
    Later(Timestamp),
    /// The configuration is finished or was deleted.
    Gone,
}

/// The queue of configurations.
#[derive(Default)]
pub(crate) struct Scheduler {
    state: Mutex<State>,
    /// Wakes the loop that gives the turns, once there is one.
    waker: OnceLock<Waker>,
}

#[derive(Default)]
struct State {
    entries: BTreeMap<Key, Entry>,
    /// Configurations that wait for a turn, ordered by due time.
    due: BTreeSet<(Timestamp, Key)>,
    closed: bool,
}

struct Entry {
    whose: Owner,
    at: Timestamp,
    place: EntryState,
}

/// The state of a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EntryState {
    /// There is no news for it.
    Idle,
    /// In the queue, due now or later.
    Due,
    /// It has a turn. `news`: there has been news since. `renewed`: it was replaced meanwhile.
    Turn { news: bool, renewed: bool },
}

impl Scheduler {
    /// Wakes this loop whenever something becomes due, and once now for everything that is due already.
    pub(crate) fn wake_from_now_on(&self, waker: Waker) {
        self.waker.get_or_init(|| waker).wake();
    }

    /// Adds a configuration, and replaces one with the same key.
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
        drop(state);
        self.wake();
    }

    /// Reports a commit of this run.
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
            drop(state);
            self.wake();
        }
    }

    /// Gives a turn to each due configuration, the longest waiting first, if the limits of its receiver and
    /// its tenant allow it. Returns none once it is closed.
    pub(crate) fn take_due(&self, now: Timestamp, turns: &mut Turns<Key>) -> Vec<Key> {
        let mut state = self.lock();
        if state.closed {
            return Vec::new();
        }
        let due = state.due.iter().take_while(|(at, _)| *at <= now).map(|(_, key)| key);
        let begins = |key: &&Key| {
            state.entries.get(*key).is_some_and(|entry| turns.try_begin((*key).clone(), &entry.whose))
        };
        let begun: Vec<Key> = due.filter(begins).cloned().collect();
        for key in &begun {
            state.leave_queue(key);
            if let Some(entry) = state.entries.get_mut(key) {
                entry.place = EntryState::Turn { news: false, renewed: false };
            }
        }
        begun
    }

    /// The next due time after `now`. Configurations that are due already wait for the end of a turn.
    pub(crate) fn next_after(&self, now: Timestamp) -> Option<Timestamp> {
        self.lock().due.iter().find(|(at, _)| *at > now).map(|(at, _)| *at)
    }

    /// Ends a turn. The loop looks for further ones by itself.
    pub(crate) fn give_back(&self, key: &Key, after: TurnResult, now: Timestamp) {
        let mut state = self.lock();
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
    }

    /// Gives no further turns.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    fn wake(&self) {
        if let Some(waker) = self.waker.get() {
            waker.wake();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
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

    /// An owner with a tenant of its own.
    fn to(receiver: &str) -> Owner {
        of(receiver, receiver)
    }

    fn of(tenant: &str, receiver: &str) -> Owner {
        Owner { tenant: tenant.to_owned(), receiver: Some(receiver.to_owned()) }
    }

    /// The scheduler, and the turns that were taken from it.
    struct Stage {
        scheduler: Scheduler,
        turns: Turns<Key>,
    }

    impl Stage {
        fn new() -> Self {
            Self { scheduler: Scheduler::default(), turns: Turns::new(MOST_TURNS, MOST_A_RECEIVER) }
        }

        fn add(&self, key: Key, whose: Owner, at_ms: i64) {
            self.scheduler.add(key, whose, at(at_ms));
        }

        /// The configurations that get a turn now.
        fn take(&mut self, now_ms: i64) -> Vec<Key> {
            self.scheduler.take_due(at(now_ms), &mut self.turns)
        }

        fn give_back(&mut self, key: &Key, after: TurnResult, now_ms: i64) {
            self.scheduler.give_back(key, after, at(now_ms));
            self.turns.end(key);
        }

        /// How many further turns this receiver can get.
        fn room_for(&self, receiver: &str) -> usize {
            let mut turns = Turns::new(MOST_TURNS, MOST_A_RECEIVER);
            for (key, owner) in self.turns.under_way() {
                assert!(turns.try_begin(key.clone(), owner));
            }
            (0..MOST_TURNS)
                .filter(|n| turns.try_begin(key(&format!("run_{n}"), "room"), &to(receiver)))
                .count()
        }
    }

    #[test]
    fn turns_are_taken_by_who_is_due_first_and_one_at_a_time() {
        let mut stage = Stage::new();
        stage.add(key("run_1", "a"), to("one:443"), 5);
        stage.add(key("run_2", "a"), to("two:443"), 3);
        assert_eq!(stage.take(2), []);
        assert_eq!(stage.scheduler.next_after(at(2)), Some(at(3)));
        assert_eq!(stage.scheduler.next_after(at(3)), Some(at(5)), "the next one that is not due");
        assert_eq!(stage.take(9), [key("run_2", "a"), key("run_1", "a")]);
        assert_eq!(stage.take(9), []);
        stage.give_back(&key("run_2", "a"), TurnResult::More, 9);
        assert_eq!(stage.take(9), [key("run_2", "a")]);
        stage.give_back(&key("run_2", "a"), TurnResult::Idle, 9);
        stage.give_back(&key("run_1", "a"), TurnResult::Gone, 9);
        assert_eq!(stage.take(99), []);
        assert_eq!(stage.scheduler.lock().entries.len(), 1);
    }

    #[test]
    fn one_that_is_given_back_keeps_its_turn_until_the_loop_has_noted_its_end() {
        let mut stage = Stage::new();
        stage.add(key("run_1", "a"), to("one:443"), 0);
        assert_eq!(stage.take(0), [key("run_1", "a")]);
        stage.scheduler.give_back(&key("run_1", "a"), TurnResult::More, at(1));
        assert_eq!(stage.take(1), []);
        stage.turns.end(&key("run_1", "a"));
        assert_eq!(stage.take(1), [key("run_1", "a")]);
    }

    #[test]
    fn news_wakes_those_of_the_run_alone_and_is_not_missed_during_a_turn() {
        let mut stage = Stage::new();
        for (run, id) in [("run_1", "a"), ("run_1", "b"), ("run_10", "a"), ("run_2", "a")] {
            stage.add(key(run, id), to(&format!("{run}{id}:443")), 0);
            assert_eq!(stage.take(0), [key(run, id)]);
            stage.give_back(&key(run, id), TurnResult::Idle, 0);
        }
        stage.scheduler.committed(&RunId::new("run_1").unwrap(), at(1));
        assert_eq!(stage.take(1), [key("run_1", "a"), key("run_1", "b")]);
        stage.scheduler.committed(&RunId::new("run_1").unwrap(), at(2));
        stage.give_back(&key("run_1", "a"), TurnResult::Idle, 2);
        stage.give_back(&key("run_1", "b"), TurnResult::Later(at(50)), 2);
        assert_eq!(stage.take(2), [key("run_1", "a")], "what came during its turn");
        stage.scheduler.committed(&RunId::new("run_1").unwrap(), at(3));
        assert_eq!(stage.take(49), [], "one that failed waits, whatever is new");
        assert_eq!(stage.take(50), [key("run_1", "b")]);
    }

    #[test]
    fn a_busy_receiver_is_left_alone_and_delays_no_other() {
        let mut stage = Stage::new();
        for run in 1..=5 {
            stage.add(key(&format!("run_{run}"), "a"), to("slow:443"), 0);
        }
        stage.add(key("run_9", "a"), to("fast:443"), 1);
        assert_eq!(stage.take(1), [key("run_1", "a"), key("run_2", "a"), key("run_9", "a")]);
        assert_eq!(stage.take(1), []);
        stage.give_back(&key("run_1", "a"), TurnResult::More, 2);
        assert_eq!(stage.take(2), [key("run_3", "a")], "in turn");
        assert_eq!(stage.take(2), []);
    }

    #[test]
    fn a_tenant_whose_receivers_all_hang_leaves_room_for_every_other() {
        let mut stage = Stage::new();
        let add = |stage: &Stage, tenant: &str, count: usize| {
            for n in 0..count {
                let key = key(&format!("run_{tenant}{n}"), "a");
                stage.add(key, of(tenant, &format!("{tenant}{n}:443")), 0);
            }
        };
        add(&stage, "dead", 100);
        assert_eq!(stage.take(0).len(), 8, "alone it has half");
        add(&stage, "north", 1);
        assert_eq!(stage.take(0), [key("run_north0", "a")], "although others have waited longer");
        add(&stage, "gone", 100);
        assert_eq!(stage.take(0).len(), 3, "half of what is left");
        for (tenant, turns) in [("south", 2), ("east", 1), ("west", 1)] {
            add(&stage, tenant, 3);
            assert_eq!(stage.take(0).len(), turns, "{tenant}");
        }
        assert_eq!(stage.turns.len(), MOST_TURNS);
        add(&stage, "late", 1);
        assert_eq!(stage.take(0), [], "there are no more");
        // A tenant with many turns waits for a tenant with none.
        stage.give_back(&key("run_north0", "a"), TurnResult::Gone, 1);
        assert_eq!(stage.take(1), [key("run_late0", "a")]);
        assert_eq!(stage.take(1), []);
    }

    #[test]
    fn one_that_is_made_anew_during_its_turn_does_not_wait_for_the_failure_of_the_old_one() {
        for after in [TurnResult::Later(at(1_000)), TurnResult::Gone, TurnResult::Idle] {
            let mut stage = Stage::new();
            stage.add(key("run_1", "a"), to("old:443"), 0);
            let taken = stage.take(0);
            stage.add(key("run_1", "a"), to("new:443"), 1);
            assert_eq!(stage.take(1), [], "not twice at once");
            stage.give_back(&key("run_1", "a"), after, 2);
            assert!(stage.turns.is_empty(), "{after:?}");
            assert_eq!(stage.take(2), taken, "{after:?}");
            let room = (stage.room_for("new:443"), stage.room_for("old:443"));
            assert_eq!(room, (MOST_A_RECEIVER - 1, MOST_A_RECEIVER), "{after:?}");
        }
    }

    #[test]
    fn one_that_is_made_anew_while_it_waits_is_due_at_once_and_once() {
        let mut stage = Stage::new();
        stage.add(key("run_1", "a"), to("old:443"), 500);
        stage.add(key("run_1", "a"), to("new:443"), 1);
        assert_eq!(stage.take(1), [key("run_1", "a")]);
        assert_eq!(stage.room_for("new:443"), MOST_A_RECEIVER - 1);
        stage.give_back(&key("run_1", "a"), TurnResult::Idle, 1);
        assert_eq!(stage.take(999), []);
    }

    #[test]
    fn one_that_is_closed_gives_no_turns() {
        let mut stage = Stage::new();
        stage.add(key("run_1", "a"), to("one:443"), 0);
        assert_eq!(stage.take(0), [key("run_1", "a")]);
        stage.scheduler.close();
        stage.give_back(&key("run_1", "a"), TurnResult::More, 0);
        stage.add(key("run_2", "a"), to("two:443"), 0);
        assert_eq!(stage.take(0), []);
    }
}
