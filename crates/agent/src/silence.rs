//! An agent that is away, or refuses to say how a task stands: how long that is borne, and when it is told.

use crate::{call::CallError, leave, order::Waits};
use std::time::{Duration, Instant};

/// How often it is told that it lasts.
const TOLD_EVERY: Duration = Duration::from_secs(600);

/// See the module. Begins anew when the agent has answered.
#[derive(Default)]
pub(crate) struct Silence {
    since: Option<Instant>,
    refused: Option<Instant>,
    told: Option<Instant>,
}

impl Silence {
    /// The agent has answered.
    pub(crate) fn is_over(&mut self) {
        if self.told.is_some() {
            leave::say("the agent answers again");
        }
        *self = Self::default();
    }

    /// Whether it is worth asking again.
    pub(crate) fn is_borne(&mut self, error: &CallError, waits: &Waits) -> bool {
        let now = Instant::now();
        let since = *self.since.get_or_insert(now);
        let within = |since: Instant, ms: u64| since.elapsed() < Duration::from_millis(ms);
        let borne = within(since, waits.silence_ms)
            && match error {
                CallError::NoTask => false,
                CallError::NotSent(_) | CallError::Unknown(_) => {
                    // Whoever is away has refused nothing.
                    self.refused = None;
                    true
                }
                CallError::Refused(_) | CallError::Wrong(_) | CallError::Unsupported(_) => {
                    within(*self.refused.get_or_insert(now), waits.refusal_ms)
                }
            };
        if borne && self.told.is_none_or(|told| told.elapsed() >= TOLD_EVERY) {
            self.told = Some(now);
            let lasts = match since.elapsed().as_secs().checked_div(60) {
                None | Some(0) => String::new(),
                Some(minutes) => format!(" (so for {minutes} min)"),
            };
            leave::say(&format!("{error}{lasts}; asking again until it answers"));
        }
        borne
    }
}
