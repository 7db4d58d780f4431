//! Time as the loop sees it, and when runs are to be looked at again.
//!
//! The wall clock may be set, forward and back. So a run has a time of its own ([`Pace`]): it is never behind the wall clock,
//! never behind the run's last event, and never slower than the monotonic clock since it was last read. A clock that is set
//! back, before or after the engine came up, holds up nothing that is due: a retry after one second comes after one second.
//! The price: until the wall clock has caught up, the events of that run bear a later time than the clock shows.
//!
//! A limit: while the wall clock is behind the last event of a run, each engine that comes up begins again at that event,
//! because nothing durable says how long the engine before it has waited. So a retry that is due in 30 minutes does not come
//! while each engine lives for 20; it comes as soon as an engine lives long enough, or the wall clock has caught up.
//!
//! An alarm therefore goes off by whichever clock gets there first: the monotonic one, which nobody can set back, or the wall
//! clock, which alone goes on while the machine is suspended and alone knows that it was set forward.

use envoi_contract::time::Timestamp;
use envoi_kernel::ids::RunId;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, PoisonError},
    time::Instant,
};

/// Both clocks, read together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Now {
    pub(crate) wall: Timestamp,
    /// Milliseconds of the monotonic clock, from whatever it counts.
    pub(crate) steady_ms: u64,
}

/// How far the time of one run has come, and when that was.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pace {
    reached: Timestamp,
    steady_ms: u64,
}

impl Pace {
    /// The run's time now. `last_at` is that of its last event.
    pub(crate) fn read(&mut self, last_at: Timestamp, now: Now) -> Timestamp {
        let steadily = self.reached.saturating_add_ms(now.steady_ms.saturating_sub(self.steady_ms));
        let time = steadily.max(now.wall).max(last_at);
        *self = Self { reached: time, steady_ms: now.steady_ms };
        time
    }
}

/// The time for whoever waits beside the loop. It is never behind the wall clock and never goes back while the process lives: a
/// wall clock that is set back holds up nothing that is due.
pub struct SteadyClock {
    wall: Box<dyn Fn() -> Timestamp + Send + Sync>,
    since: Instant,
    not_before: Timestamp,
    pace: Mutex<Pace>,
}

impl SteadyClock {
    /// A clock over the system's, which starts no earlier than `not_before`.
    #[must_use]
    pub fn new(not_before: Timestamp) -> Self {
        Self::over(crate::now, not_before)
    }

    /// A clock over another wall clock.
    #[must_use]
    pub fn over(wall: impl Fn() -> Timestamp + Send + Sync + 'static, not_before: Timestamp) -> Self {
        Self { wall: Box::new(wall), since: Instant::now(), not_before, pace: Mutex::default() }
    }

    /// The time now.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        let mut pace = self.pace.lock().unwrap_or_else(PoisonError::into_inner);
        let steady_ms = u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        pace.read(self.not_before, Now { wall: (self.wall)(), steady_ms })
    }
}

/// When each run is due, at most once a run.
#[derive(Debug, Default)]
pub(crate) struct Alarms {
    of: BTreeMap<RunId, (Timestamp, u64)>,
    by_wall: BTreeSet<(Timestamp, RunId)>,
    by_steady: BTreeSet<(u64, RunId)>,
}

impl Alarms {
    /// From now on `run` is due at `due` by its own time, which is `time` now; or never.
    pub(crate) fn set(&mut self, run: &RunId, due: Option<Timestamp>, (time, now): (Timestamp, Now)) {
        self.clear(run);
        let Some(due) = due else { return };
        let wait_ms = due.as_millis().saturating_sub(time.as_millis());
        let steady_ms = now.steady_ms.saturating_add(u64::try_from(wait_ms).unwrap_or(0));
        self.of.insert(run.clone(), (due, steady_ms));
        self.by_wall.insert((due, run.clone()));
        self.by_steady.insert((steady_ms, run.clone()));
    }

    /// `run` is not due any more.
    pub(crate) fn clear(&mut self, run: &RunId) {
        if let Some((due, steady_ms)) = self.of.remove(run) {
            self.by_wall.remove(&(due, run.clone()));
            self.by_steady.remove(&(steady_ms, run.clone()));
        }
    }

    /// A run whose time has come. It is taken out: what it is due for is seen whenever the run has its turn.
    pub(crate) fn pop(&mut self, now: Now) -> Option<RunId> {
        let by_steady = self.by_steady.first().filter(|(due, _)| *due <= now.steady_ms).map(|(_, run)| run);
        let by_wall = self.by_wall.first().filter(|(due, _)| *due <= now.wall).map(|(_, run)| run);
        let run = by_steady.or(by_wall)?.clone();
        self.clear(&run);
        Some(run)
    }

    /// How long it is until the next one is due; `None` if none is set.
    pub(crate) fn next_in_ms(&self, now: Now) -> Option<u64> {
        let (due, _) = self.by_wall.first()?;
        let (steady_ms, _) = self.by_steady.first()?;
        let by_wall = due.as_millis().saturating_sub(now.wall.as_millis());
        Some(steady_ms.saturating_sub(now.steady_ms).min(u64::try_from(by_wall).unwrap_or(0)))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.of.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    };

    fn now(wall: i64, steady_ms: u64) -> Now {
        Now { wall: Timestamp::from_millis(wall), steady_ms }
    }

    fn id(name: &str) -> RunId {
        RunId::new(format!("run_{name}")).unwrap()
    }

    #[test]
    fn a_runs_time_is_never_behind_any_of_its_clocks() {
        let mut pace = Pace::default();
        let rows = [
            // wall, steady, last event, the run's time
            (1_000, 50, 0, 1_000),
            (1_300, 350, 1_000, 1_300),
            // The wall clock is set back: the run's time goes on.
            (300, 450, 1_300, 1_400),
            // It is set forward.
            (9_000, 460, 1_400, 9_000),
            // An event of another engine, whose clock was ahead.
            (9_010, 470, 20_000, 20_000),
            (9_020, 480, 20_000, 20_010),
        ];
        for (wall, steady_ms, last_at, expected) in rows {
            let time = pace.read(Timestamp::from_millis(last_at), now(wall, steady_ms));
            assert_eq!(time.as_millis(), expected, "{wall} {steady_ms} {last_at}");
        }
    }

    #[test]
    fn a_steady_clock_follows_the_wall_clock_forward_and_never_back() {
        let wall = Arc::new(AtomicI64::new(10_000));
        let shown = Arc::clone(&wall);
        let clock = SteadyClock::over(
            move || Timestamp::from_millis(shown.load(Ordering::Relaxed)),
            Timestamp::from_millis(12_000),
        );
        let before = clock.now();
        assert!(before.as_millis() >= 12_000, "{before}");
        wall.store(90_000_000, Ordering::Relaxed);
        let ahead = clock.now();
        assert!(ahead.as_millis() >= 90_000_000, "{ahead}");
        wall.store(90_000_000 - 3_600_000, Ordering::Relaxed);
        let later = (0..1_000).map(|_| clock.now()).fold(ahead, |last, now| {
            assert!(now >= last, "{now} after {last}");
            now
        });
        assert!(later.as_millis() < 90_060_000, "by its own pace: {later}");
    }

    #[test]
    fn an_alarm_goes_off_by_whichever_clock_gets_there_first() {
        let set = || {
            let mut alarms = Alarms::default();
            let (start, at) = (now(10_000, 0), Timestamp::from_millis(10_000));
            alarms.set(&id("a"), Some(Timestamp::from_millis(11_000)), (at, start));
            // This run's time is an hour ahead of the wall clock.
            let ahead = Timestamp::from_millis(3_610_000);
            alarms.set(&id("b"), Some(Timestamp::from_millis(3_612_000)), (ahead, start));
            alarms
        };
        for (moment, next_in_ms, due) in [
            (now(10_000, 0), 1_000, vec![]),
            (now(10_400, 400), 600, vec![]),
            (now(11_000, 1_000), 0, vec!["a"]),
            // Set back by an hour, and a second later.
            (now(-3_589_000, 1_000), 0, vec!["a"]),
            (now(-3_588_000, 2_000), 0, vec!["a", "b"]),
            // Suspended: the monotonic clock stood still.
            (now(15_000, 10), 0, vec!["a"]),
        ] {
            let mut alarms = set();
            assert_eq!(alarms.next_in_ms(moment), Some(next_in_ms), "{moment:?}");
            let popped: Vec<RunId> = core::iter::from_fn(|| alarms.pop(moment)).collect();
            assert_eq!(popped, due.into_iter().map(id).collect::<Vec<_>>(), "{moment:?}");
        }
        let mut alarms = set();
        alarms.set(&id("a"), None, (Timestamp::default(), now(10_000, 0)));
        assert_eq!(alarms.next_in_ms(now(10_000, 0)), Some(2_000));
        alarms.set(&id("b"), None, (Timestamp::default(), now(10_000, 0)));
        assert!(alarms.is_empty() && alarms.pop(now(i64::MAX, u64::MAX)).is_none());
    }
}
