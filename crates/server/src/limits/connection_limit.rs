//! Assigns connections to clients, and limits them.
//!
//! A connection belongs to the client of its last request, until it ends. A client may hold at most 15 times
//! as many connections as are free. So a single client gets nearly all of them, many clients get about the
//! same number, and a client without a connection always gets one. No connection is closed for that: a client
//! at its limit is refused, and may try again.

use super::concurrency_limit::{ConcurrencyLimit, Permit};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Semaphore;

/// A client may hold at most this many times the free connections. A single client gets fifteen sixteenths of
/// all.
const TIMES: usize = 15;

/// The limit of connections.
pub(crate) struct ConnectionLimit {
    /// A permit for each possible connection.
    pub(crate) permits: Arc<Semaphore>,
    clients: ConcurrencyLimit,
}

/// The owner of one connection. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct ConnectionOwner(Arc<Mutex<Option<(String, Permit)>>>);

impl ConnectionLimit {
    pub(crate) fn new(connections: usize) -> Self {
        Self { permits: Arc::new(Semaphore::new(connections)), clients: ConcurrencyLimit::new(usize::MAX) }
    }

    /// Assigns the connection to this client. `false` if the client has reached its limit; the connection
    /// then belongs to no client.
    pub(crate) fn assign(&self, owner: &ConnectionOwner, client: &str) -> bool {
        let mut whose = owner.0.lock().unwrap_or_else(PoisonError::into_inner);
        if whose.as_ref().is_some_and(|(known, _)| known == client) {
            return true;
        }
        *whose = None;
        let most = self.permits.available_permits().saturating_mul(TIMES).max(1);
        *whose = self.clients.acquire_below(client, most).map(|permit| (client.to_owned(), permit));
        whose.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Opens `times` new connections of a client, and returns those that were assigned.
    fn come(
        limit: &ConnectionLimit,
        client: &str,
        times: usize,
    ) -> Vec<(ConnectionOwner, tokio::sync::OwnedSemaphorePermit)> {
        let come = |_| {
            let place = Arc::clone(&limit.permits).try_acquire_owned().ok()?;
            let owner = ConnectionOwner::default();
            limit.assign(&owner, client).then_some((owner, place))
        };
        (0..times).filter_map(come).collect()
    }

    #[test]
    fn one_client_never_has_all_places_and_another_always_finds_one() {
        for connections in [2, 8, 64, 1024] {
            let limit = ConnectionLimit::new(connections);
            let greedy = come(&limit, "north/a", connections * 2);
            assert!(greedy.len() >= connections * 7 / 10 || connections < 8, "alone it has nearly all");
            assert!(greedy.len() < connections, "{connections}");
            assert_eq!(come(&limit, "south/b", 1).len(), 1, "{connections}");
        }
    }

    #[test]
    fn a_connection_counts_for_its_last_client_until_it_ends() {
        let limit = ConnectionLimit::new(2);
        let mut all = come(&limit, "a", 1);
        let (owner, _) = &all[0];
        assert!(limit.assign(owner, "a"), "again");
        assert!(limit.assign(owner, "b"), "behind a proxy");
        assert_eq!(come(&limit, "b", 1).len(), 0, "the last place is for a client that has none");
        all.extend(come(&limit, "a", 1));
        assert_eq!(all.len(), 2);
        all.clear();
        assert_eq!(come(&limit, "b", 1).len(), 1);
    }
}
