//! Time: the system's clock, the time of one run, and a clock that never goes back.
//!
//! The wall clock may be set, forward and back. So a run has a time of its own ([`Pace`]): it is never behind the wall clock,
//! never behind the run's last event, and never slower than the monotonic clock since it was last read. A clock that is set
//! back, before or after the engine came up, holds up nothing that is due: a retry after one second comes after one second.
//! The price: until the wall clock has caught up, the events of that run bear a later time than the clock shows.
//!
//! A limit: while the wall clock is behind the last event of a run, each engine that comes up begins again at that event,
//! because the time that the engine before it has waited is not stored. So a retry that is due in 30 minutes does not come
//! while each engine lives for 20; it comes as soon as an engine lives long enough, or the wall clock has caught up.

use envoi_contract::time::Timestamp;
use std::{
    sync::{Mutex, PoisonError},
    time::{Instant, SystemTime, UNIX_EPOCH},
};

/// The system's time, in whole milliseconds.
#[must_use]
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Both clocks, read together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Now {
    pub(crate) wall: Timestamp,
    /// Milliseconds of the monotonic clock; its zero is not specified.
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

/// The time for threads beside the loop. It is never behind the wall clock and never goes back while the process lives: a
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
        Self::over(self::now, not_before)
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
}
