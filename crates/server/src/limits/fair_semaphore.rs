//! Turns for heavy work, with a limit in total and a limit for each client.
//!
//! A client waits for its own share first, then for a free slot. So at most `each` tasks of one client wait
//! in the common queue, and a client with a thousand tasks does not delay one with a single task. No thread
//! is blocked meanwhile.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The semaphore, with its limits.
pub(crate) struct FairSemaphore {
    all: Arc<Semaphore>,
    each: usize,
    lanes: Mutex<BTreeMap<String, Weak<Semaphore>>>,
}

/// Permission to work, until it is dropped. Work on another thread takes it along.
pub(crate) struct FairPermit {
    _places: [Option<OwnedSemaphorePermit>; 2],
}

impl FairSemaphore {
    /// At most `all` at the same time, and at most `each` of one client.
    pub(crate) fn new(all: usize, each: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(all)), each, lanes: Mutex::default() }
    }

    /// Waits for a turn of this client.
    pub(crate) async fn acquire(&self, client: &str) -> FairPermit {
        // The semaphores are never closed.
        let own = self.lane(client).acquire_owned().await.ok();
        let place = Arc::clone(&self.all).acquire_owned().await.ok();
        FairPermit { _places: [place, own] }
    }

    /// The semaphore of a client, which exists as long as it is in use.
    fn lane(&self, client: &str) -> Arc<Semaphore> {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lane) = lanes.get(client).and_then(Weak::upgrade) {
            return lane;
        }
        lanes.retain(|_, lane| lane.strong_count() > 0);
        let lane = Arc::new(Semaphore::new(self.each));
        lanes.insert(client.to_owned(), Arc::downgrade(&lane));
        lane
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        pin::{Pin, pin},
        task::{Context, Poll, Waker},
    };

    fn poll(turn: &mut Pin<&mut impl Future<Output = FairPermit>>) -> Option<FairPermit> {
        match turn.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(turn) => Some(turn),
            Poll::Pending => None,
        }
    }

    #[test]
    fn who_has_much_work_is_passed_by_who_has_little() {
        let semaphore = FairSemaphore::new(2, 1);
        let mut first = pin!(semaphore.acquire("north"));
        let mut second = pin!(semaphore.acquire("north"));
        let mut third = pin!(semaphore.acquire("north"));
        let mut south = pin!(semaphore.acquire("south"));
        let at_work = poll(&mut first).unwrap();
        assert!(poll(&mut second).is_none() && poll(&mut third).is_none(), "one of north's at a time");
        let also = poll(&mut south).unwrap();
        let mut east = pin!(semaphore.acquire("east"));
        assert!(poll(&mut east).is_none(), "two in all");
        drop(at_work);
        assert!(poll(&mut second).is_none(), "east was there before north's next");
        let next = poll(&mut east).unwrap();
        drop(also);
        assert!(poll(&mut second).is_some());
        drop(next);
    }

    #[test]
    fn nothing_is_kept_of_those_who_are_gone() {
        let semaphore = FairSemaphore::new(2, 1);
        for client in ["a", "b", "c"] {
            drop(poll(&mut pin!(semaphore.acquire(client))).unwrap());
        }
        assert_eq!(semaphore.lanes.lock().unwrap().len(), 1);
    }
}
