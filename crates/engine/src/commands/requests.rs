//! The start times of requests in progress: a request may be about to name contents that it has seen in the store.

use crate::model::clock::now;
use envoi_contract::time::Timestamp;
use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

/// The requests that are being done.
#[derive(Debug, Default)]
pub(crate) struct Requests(Mutex<(u64, BTreeMap<u64, Timestamp>)>);

impl Requests {
    /// Begins a request; it ends when the returned value is dropped.
    pub(super) fn begin(&self) -> InProgress<'_> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.0 = known.0.saturating_add(1);
        let nth = known.0;
        known.1.insert(nth, now());
        InProgress { requests: self, nth }
    }

    /// When the first of them began.
    pub(super) fn since(&self) -> Option<Timestamp> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1.values().min().copied()
    }
}

/// See [`Requests::begin`].
pub(super) struct InProgress<'r> {
    requests: &'r Requests,
    nth: u64,
}

impl Drop for InProgress<'_> {
    fn drop(&mut self) {
        self.requests.0.lock().unwrap_or_else(PoisonError::into_inner).1.remove(&self.nth);
    }
}
