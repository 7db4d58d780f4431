//! Traces of runs for an OpenTelemetry collector, as far as the program was built for it (feature `otel`).
//!
//! Owns when spans are sent and when they are given up. What they are is derived from the journal
//! ([`envoi_engine::trace::spans`]); a run is never held up by it, and nothing of a run depends on it.

#[cfg(feature = "otel")]
mod collector;
#[cfg(feature = "otel")]
mod sender;

use envoi_engine::Commands;
use envoi_journal::Store;
use std::{sync::Arc, time::Duration};

/// What sends spans while an engine is at work; nothing, unless the environment names a collector.
pub(crate) struct Telemetry {
    #[cfg(feature = "otel")]
    sender: Option<sender::Sender>,
}

impl Telemetry {
    /// From now on spans of what this engine commits are sent.
    #[cfg(feature = "otel")]
    pub(crate) fn begin(store: &Arc<Store>, desk: &Commands) -> Self {
        Self { sender: sender::Sender::begin(store, desk) }
    }

    /// See the module.
    #[cfg(not(feature = "otel"))]
    pub(crate) fn begin(_: &Arc<Store>, _: &Commands) -> Self {
        Self {}
    }

    /// Sends what is left, which may take so long; the rest is given up.
    pub(crate) fn end(self, patience: Duration) {
        #[cfg(feature = "otel")]
        self.sender.into_iter().for_each(|sender| sender.end(patience));
        #[cfg(not(feature = "otel"))]
        let _ = patience;
    }
}
