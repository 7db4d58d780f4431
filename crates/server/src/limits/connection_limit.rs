//! Whose the connections are.
//!
//! A connection is that of whoever asked last on it, until it ends. Who is alone may have nearly all of them; the fewer are
//! left, the fewer one client may have: at most so many times what is free. So many clients come to about the same share, some
//! places are always left, and whoever has none gets one. Nobody is put out: who asks for more than there is may come again.

use super::concurrency_limit::{Permit, Streams};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Semaphore;

/// How much more than what is free a client may have. One alone comes to fifteen sixteenths.
const TIMES: usize = 15;

/// See the module.
pub(crate) struct Crowd {
    /// Connections that there may be.
    pub(crate) places: Arc<Semaphore>,
    clients: Streams,
}

/// One connection, and whose it is. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Seat(Arc<Mutex<Option<(String, Permit)>>>);

impl Crowd {
    pub(crate) fn new(connections: usize) -> Self {
        Self { places: Arc::new(Semaphore::new(connections)), clients: Streams::new(usize::MAX) }
    }

    /// The connection is this client's from now on. `false` if the client has as many as it may: it is nobody's then.
    pub(crate) fn seat(&self, seat: &Seat, client: &str) -> bool {
        let mut whose = seat.0.lock().unwrap_or_else(PoisonError::into_inner);
        if whose.as_ref().is_some_and(|(known, _)| known == client) {
            return true;
        }
        *whose = None;
        let most = self.places.available_permits().saturating_mul(TIMES).max(1);
        *whose = self.clients.open_below(client, most).map(|permit| (client.to_owned(), permit));
        whose.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many new connections of a client, of which each is kept if it is seated.
    fn come(crowd: &Crowd, client: &str, times: usize) -> Vec<(Seat, tokio::sync::OwnedSemaphorePermit)> {
        let come = |_| {
            let place = Arc::clone(&crowd.places).try_acquire_owned().ok()?;
            let seat = Seat::default();
            crowd.seat(&seat, client).then_some((seat, place))
        };
        (0..times).filter_map(come).collect()
    }

    #[test]
    fn one_client_never_has_all_places_and_another_always_finds_one() {
        for connections in [2, 8, 64, 1024] {
            let crowd = Crowd::new(connections);
            let greedy = come(&crowd, "north/a", connections * 2);
            assert!(greedy.len() >= connections * 7 / 10 || connections < 8, "alone it has nearly all");
            assert!(greedy.len() < connections, "{connections}");
            assert_eq!(come(&crowd, "south/b", 1).len(), 1, "{connections}");
        }
    }

    #[test]
    fn a_connection_is_that_of_whoever_asked_last_until_it_ends() {
        let crowd = Crowd::new(2);
        let mut all = come(&crowd, "a", 1);
        let (seat, _) = &all[0];
        assert!(crowd.seat(seat, "a"), "again");
        assert!(crowd.seat(seat, "b"), "behind a proxy");
        assert_eq!(come(&crowd, "b", 1).len(), 0, "the last place is for somebody who has none");
        all.extend(come(&crowd, "a", 1));
        assert_eq!(all.len(), 2);
        all.clear();
        assert_eq!(come(&crowd, "b", 1).len(), 1);
    }
}
