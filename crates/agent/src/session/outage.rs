//! How long an attempt tolerates an agent that cannot be reached or refuses calls, and when the log mentions it.

use crate::{files::log, input::order::Timeouts, protocol::client::CallError};
use std::time::{Duration, Instant};

/// The interval at which the log repeats that the outage continues.
const LOG_EVERY: Duration = Duration::from_secs(600);

/// An outage of an agent, from the first failed call to the next answer.
#[derive(Default)]
pub(super) struct Outage {
    since: Option<Instant>,
    refused_since: Option<Instant>,
    logged: Option<Instant>,
}

impl Outage {
    /// Ends the outage, because the agent has answered.
    pub(super) fn end(&mut self) {
        if self.logged.is_some() {
            log::print("the agent answers again");
        }
        *self = Self::default();
    }

    /// True if the attempt calls the agent again after this error.
    pub(super) fn is_tolerated(&mut self, error: &CallError, timeouts: &Timeouts) -> bool {
        let now = Instant::now();
        let since = *self.since.get_or_insert(now);
        let is_within = |since: Instant, ms: u64| since.elapsed() < Duration::from_millis(ms);
        let is_refusal_tolerated = match error {
            CallError::TaskNotFound => false,
            CallError::NotSent(_) | CallError::Unknown(_) => {
                // Only consecutive refusals count: an agent that cannot be reached has refused nothing.
                self.refused_since = None;
                true
            }
            CallError::Refused(_) | CallError::InvalidParams(_) | CallError::Unsupported(_) => {
                is_within(*self.refused_since.get_or_insert(now), timeouts.refusal_ms)
            }
        };
        let is_tolerated = is_refusal_tolerated && is_within(since, timeouts.outage_ms);
        if is_tolerated && self.logged.is_none_or(|logged| logged.elapsed() >= LOG_EVERY) {
            self.logged = Some(now);
            let lasts = match since.elapsed().as_secs().checked_div(60) {
                None | Some(0) => String::new(),
                Some(minutes) => format!(" (for {minutes} min)"),
            };
            log::print(&format!("{error}{lasts}; trying again until it answers"));
        }
        is_tolerated
    }
}
