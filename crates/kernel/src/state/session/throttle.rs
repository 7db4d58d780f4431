//! The waiting of a visit for the account of its agent program.

use crate::model::{
    event::{AttemptSettled, AttemptStarted, Command, TimerSet},
    ids::VisitId,
    throttle::{AccountWait, Standing, Standings},
};
use envoi_contract::{code::Code, time::Timestamp};
use serde::{Deserialize, Serialize};

/// The waiting of a visit for an account.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Waited {
    /// Since when it has waited; reset by an attempt that was not refused.
    #[serde(default)]
    pub(crate) since: Option<Timestamp>,
    /// The reason of its timer.
    #[serde(default)]
    pub(crate) wait: Option<AccountWait>,
    /// Whether its last attempt was refused.
    #[serde(default)]
    pub(crate) refused: bool,
    /// Whether the fallback program replaces the one that the step names.
    #[serde(default)]
    pub(crate) other: bool,
    /// Whether a person decided to continue waiting.
    #[serde(default)]
    pub(crate) patient: bool,
    /// Whether its timer has fired, with no known opening time and without waiting for the try of another
    /// attempt.
    #[serde(default)]
    pub(crate) is_last_try: bool,
}

impl Waited {
    pub(crate) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) fn timer_set(&mut self, event: &TimerSet, at: Timestamp) {
        if event.account.is_some() {
            self.since.get_or_insert(at);
        }
        self.wait.clone_from(&event.account);
        self.is_last_try = false;
    }

    pub(crate) fn timer_fired(&mut self) {
        self.is_last_try = self.wait.take().is_some_and(|wait| wait.resets_at.is_none() && !wait.is_tried);
    }

    pub(crate) fn started(&mut self, event: &AttemptStarted) {
        self.wait = None;
        self.is_last_try = false;
        match &event.command {
            Command::Agent(call) => self.goes_on_with_other(call.instead),
            Command::Model(call) => self.goes_on_with_other(call.instead),
            Command::Exec(_) | Command::Shell(_) | Command::A2a(_) | Command::Merge(_) => {}
        }
    }

    pub(crate) fn settled(&mut self, event: &AttemptSettled) {
        self.refused = event.throttled.is_some();
        match &event.throttled {
            Some(throttled) => self.goes_on_with_other(self.other || throttled.instead.is_some()),
            None => (self.since, self.patient) = (None, false),
        }
    }

    fn goes_on_with_other(&mut self, other: bool) {
        if other && !self.other {
            // The fallback has its own account, for which the visit has not waited yet.
            (self.since, self.patient) = (None, false);
        }
        self.other = other;
    }
}

/// How long a run has waited for accounts: the time during which at least one visit did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WaitingTime {
    /// Since when a visit has waited.
    #[serde(default)]
    since: Option<Timestamp>,
    /// Duration of the finished waits.
    #[serde(default)]
    over_ms: u64,
    /// The visit that failed because its account is closed, if that is the newest failure since the run last
    /// continued.
    #[serde(default)]
    failed: Option<VisitId>,
}

impl WaitingTime {
    pub(crate) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) fn is_under_way(&self) -> bool {
        self.since.is_some()
    }

    /// Records whether any visit waits from now on.
    pub(crate) fn note(&mut self, waits: bool, at: Timestamp) {
        if waits {
            self.since.get_or_insert(at);
        } else {
            self.over_ms = self.up_to(at);
            self.since = None;
        }
    }

    /// Records the failure of a visit with this error, which begins with its code. If an inner flow or an
    /// item fails, its step fails with it; that does not count as another failure.
    pub(crate) fn failed(&mut self, visit: &VisitId, error: &str) {
        if self.failed.as_ref().is_some_and(|failed| failed.is_part_of(visit)) {
            return;
        }
        let code = error.split(':').next().unwrap_or("");
        self.failed = (code.parse() == Ok(Code::AgentThrottled)).then(|| visit.clone());
    }

    /// Records that the run continues.
    pub(crate) fn reopened(&mut self) {
        self.failed = None;
    }

    /// The visit that failed because its account is closed, if no other failure came after it.
    pub(crate) fn last_failed(&self) -> Option<&VisitId> {
        self.failed.as_ref()
    }

    /// The waiting time in milliseconds, including the wait in progress.
    pub(crate) fn up_to(&self, now: Timestamp) -> u64 {
        let of_this = self.since.map_or(0, |since| now.as_millis().saturating_sub(since.as_millis()));
        self.over_ms.saturating_add(u64::try_from(of_this).unwrap_or(0))
    }
}

/// Closes the account until the given time, for this decision too.
pub(crate) fn close(standings: &mut Standings, account: &str, standing: Standing) {
    standings.insert(account.to_owned(), standing);
}
