//! Traces of runs for an OpenTelemetry collector, if the program was built with the feature `otel`.
//!
//! Owns when spans are sent and when they are dropped. The spans are derived from the journal
//! ([`envoi_engine::trace::spans`]). They never delay a run, and no part of a run depends on them.

#[cfg(feature = "otel")]
mod collector;
#[cfg(feature = "otel")]
mod sender;

use envoi_engine::Commands;
use envoi_journal::Store;
use std::{sync::Arc, time::Duration};

/// Sends spans while an engine runs. Does nothing unless the environment names a collector.
pub(crate) struct Telemetry {
    #[cfg(feature = "otel")]
    sender: Option<sender::Sender>,
}

impl Telemetry {
    /// Starts sending the spans of what this engine commits.
    #[cfg(feature = "otel")]
    pub(crate) fn begin(store: &Arc<Store>, desk: &Commands) -> Self {
        Self { sender: sender::Sender::begin(store, desk) }
    }

    /// Does nothing without the feature `otel`.
    #[cfg(not(feature = "otel"))]
    pub(crate) fn begin(_: &Arc<Store>, _: &Commands) -> Self {
        Self {}
    }

    /// Sends the remaining spans for at most `patience`, and drops the rest.
    pub(crate) fn end(self, patience: Duration) {
        #[cfg(feature = "otel")]
        self.sender.into_iter().for_each(|sender| sender.end(patience));
        #[cfg(not(feature = "otel"))]
        let _ = patience;
    }
}
