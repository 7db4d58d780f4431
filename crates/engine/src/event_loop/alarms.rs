//! Times at which runs must be examined again.
//!
//! An alarm goes off when the first of two clocks reaches its time: the monotonic clock, which cannot be set
//! back, or the wall clock, which goes on while the machine is suspended and can be set forward.

use crate::model::clock::Now;
use envoi_contract::time::Timestamp;
use envoi_kernel::ids::RunId;
use std::collections::{BTreeMap, BTreeSet};

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

    /// Removes and returns a run that is due. Its next turn handles everything that is due.
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

    fn now(wall: i64, steady_ms: u64) -> Now {
        Now { wall: Timestamp::from_millis(wall), steady_ms }
    }

    fn id(name: &str) -> RunId {
        RunId::new(format!("run_{name}")).unwrap()
    }

    #[test]
    fn an_alarm_goes_off_by_whichever_clock_gets_there_first() {
        let set = || {
            let mut alarms = Alarms::default();
            let start = now(10_000, 0);
            let at = Timestamp::from_millis(10_000);
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
            // Suspended: the monotonic clock did not go on.
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
