//! How long a visit has waited for the account of its agent program.

use crate::model::{
    event::{AttemptSettled, AttemptStarted, Command, TimerSet},
    ids::VisitId,
    throttle::{AccountWait, Standing, Standings},
};
use envoi_contract::{code::Code, time::Timestamp};
use serde::{Deserialize, Serialize};

/// See the module.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Waited {
    /// Since when it waits without an attempt that was not refused.
    #[serde(default)]
    pub(crate) since: Option<Timestamp>,
    /// What its timer waits for.
    #[serde(default)]
    pub(crate) wait: Option<AccountWait>,
    /// Its last attempt was refused.
    #[serde(default)]
    pub(crate) refused: bool,
    /// Another program goes on in place of the one that the step names.
    #[serde(default)]
    pub(crate) other: bool,
    /// A person decided that it waits on.
    #[serde(default)]
    pub(crate) patient: bool,
    /// Its timer has fired, the time at which its account opens was not known, and it has not waited for the try of another attempt.
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
            // It has an account of its own, for which nothing has waited yet.
            (self.since, self.patient) = (None, false);
        }
        self.other = other;
    }
}

/// How long a run has waited for accounts: the time in which at least one visit did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WaitingTime {
    /// Since when a visit waits.
    #[serde(default)]
    since: Option<Timestamp>,
    /// The waits that are over.
    #[serde(default)]
    over_ms: u64,
    /// The visit whose failure is the newest one since the run last began to go on, if it failed because its account is closed.
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

    /// From now on a visit waits, or none does.
    pub(crate) fn note(&mut self, waits: bool, at: Timestamp) {
        if waits {
            self.since.get_or_insert(at);
        } else {
            self.over_ms = self.up_to(at);
            self.since = None;
        }
    }

    /// A visit has failed with this error, which begins with its code. A step whose inner flow or item has failed fails with it: that is no
    /// other failure.
    pub(crate) fn failed(&mut self, visit: &VisitId, error: &str) {
        if self.failed.as_ref().is_some_and(|failed| failed.is_part_of(visit)) {
            return;
        }
        let code = error.split(':').next().unwrap_or_default();
        self.failed = (code.parse() == Ok(Code::AgentThrottled)).then(|| visit.clone());
    }

    /// The run goes on.
    pub(crate) fn reopened(&mut self) {
        self.failed = None;
    }

    /// The visit that failed because its account is closed, if nothing else has failed after it.
    pub(crate) fn last_failed(&self) -> Option<&VisitId> {
        self.failed.as_ref()
    }

    /// In milliseconds, the wait that is under way included.
    pub(crate) fn up_to(&self, now: Timestamp) -> u64 {
        let of_this = self.since.map_or(0, |since| now.as_millis().saturating_sub(since.as_millis()));
        self.over_ms.saturating_add(u64::try_from(of_this).unwrap_or(0))
    }
}

/// The account is closed until then, for this decision too.
pub(crate) fn close(standings: &mut Standings, account: &str, standing: Standing) {
    standings.insert(account.to_owned(), standing);
}
