//! Events of a timer: set, fired, and cut short by a person.

use crate::model::{
    ids::{Principal, TimerId, VisitId},
    throttle::AccountWait,
};
use envoi_contract::time::Timestamp;
use serde::{Deserialize, Serialize};

/// See [`Event::TimerSet`](super::Event::TimerSet).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimerSet {
    /// Its id.
    pub timer: TimerId,
    /// When it fires.
    pub due: Timestamp,
    /// The visit whose next attempt waits for it.
    pub visit: VisitId,
    /// The account that it waits for. `None`: it waits to retry a failed attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<AccountWait>,
}

/// See [`Event::AccountsTried`](super::Event::AccountsTried).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AccountsTried {
    /// The names of the accounts.
    pub accounts: Vec<String>,
    /// The requester.
    pub by: Principal,
    /// The reason, if one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// As in [`InterruptAnswered::request`](super::InterruptAnswered::request).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
}

/// See [`Event::TimerFired`](super::Event::TimerFired).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimerFired {
    /// The timer.
    pub timer: TimerId,
}
