//! The number of answered requests, by tenant, operation and status.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

/// Requests of one tenant.
type Counts = BTreeMap<(&'static str, u16), u64>;

/// The counters.
#[derive(Default)]
pub(crate) struct RequestCounts {
    by_tenant: Mutex<BTreeMap<String, Counts>>,
}

impl RequestCounts {
    /// Counts one more answered request of this tenant.
    pub(crate) fn count(&self, tenant: &str, operation: &'static str, status: u16) {
        let mut by_tenant = self.by_tenant.lock().unwrap_or_else(PoisonError::into_inner);
        let count = by_tenant.entry(tenant.to_owned()).or_default().entry((operation, status)).or_default();
        *count = count.saturating_add(1);
    }

    /// The requests of a tenant, by operation and status, in that order.
    pub(crate) fn of_tenant(&self, tenant: &str) -> Counts {
        let by_tenant = self.by_tenant.lock().unwrap_or_else(PoisonError::into_inner);
        by_tenant.get(tenant).cloned().unwrap_or_default()
    }
}
