//! Caches the heads of hash chains: a head depends on all events of a run, and views of a finished run need
//! it each time.
//!
//! Events are only appended, so the head up to an event never changes. To check whether the store was
//! changed, use `envoi verify`, which reads all events.

use envoi_contract::digest::Digest;
use envoi_journal::{ReadError, Reader};
use envoi_kernel::ids::{RunId, Seq};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The most cached heads: more than people view at the same time.
const MAX_RUNS: usize = 64;

/// The cached heads.
#[derive(Default)]
pub(crate) struct HeadCache {
    /// The most recently used run is the last one.
    heads: Mutex<Vec<(RunId, Seq, Digest)>>,
}

impl HeadCache {
    /// The head of a run up to this event.
    ///
    /// # Errors
    /// Those of [`Reader::head_at`].
    pub(crate) fn of_run(&self, reader: &Reader, run: &RunId, last: Seq) -> Result<Digest, ReadError> {
        self.get(run, last, || reader.head_at(run, last))
    }

    fn get<E>(&self, run: &RunId, last: Seq, read: impl FnOnce() -> Result<Digest, E>) -> Result<Digest, E> {
        let known = self.lock().iter().find(|(of, at, _)| of == run && *at == last).map(|(_, _, head)| *head);
        let head = known.map_or_else(read, Ok)?;
        let mut heads = self.lock();
        heads.retain(|(of, _, _)| of != run);
        if heads.len() >= MAX_RUNS {
            heads.remove(0);
        }
        heads.push((run.clone(), last, head));
        Ok(head)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(RunId, Seq, Digest)>> {
        self.heads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_head_is_read_once_until_the_run_has_another_event_or_others_were_asked_for() {
        let cache = HeadCache::default();
        let read = Cell::new(0);
        let look = |run: &str, last: Seq| {
            let head = Digest::of(format!("{run} {last}").as_bytes());
            let run = RunId::new(run).unwrap();
            let found = cache.get(&run, last, || {
                read.set(read.get() + 1);
                Ok::<_, ()>(head)
            });
            assert_eq!(found, Ok(head));
            read.get()
        };
        assert_eq!([look("run_a", 7), look("run_a", 7)], [1, 1]);
        assert_eq!([look("run_a", 8), look("run_b", 8), look("run_a", 8)], [2, 3, 3]);
        for other in 1..MAX_RUNS {
            look(&format!("run_c{other}"), 1);
        }
        let before = read.get();
        assert_eq!(look("run_a", 8), before, "the one that was asked for later is kept");
        assert_eq!(look("run_b", 8), before + 1);
        let failed = cache.get(&RunId::new("run_d").unwrap(), 1, || Err("damaged"));
        assert_eq!(failed, Err("damaged"));
    }
}
