//! Limits of an account: the report of an agent program about one, and how long the account is closed.
//!
//! Several steps, and several runs of a store, use one account. When its provider refuses one of them
//! temporarily, none of them is started until then: a try in between interrupts a session, and some providers
//! count it. The refusal is an event of the refused run. Other runs of the store learn of it through the slot
//! of a decision ([`Standing`]).

use crate::model::ids::RunId;
use envoi_contract::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Delay of the next try after a stated reset. Resets come late, and clocks differ.
pub const MARGIN_MS: u64 = 60_000;

/// Wait before the next try if no reset is stated, or if the stated one has passed. Doubled for each further
/// refusal in a row.
pub const FIRST_PROBE_MS: u64 = 5 * 60_000;

/// Maximum of these waits.
pub const LONGEST_PROBE_MS: u64 = 60 * 60_000;

/// A try is made after this time at the latest, even if a later reset was stated. The windows of most
/// providers are at most a week.
pub const LONGEST_CLOSED_MS: u64 = 8 * 24 * 60 * 60_000;

/// A stated reset that is further away is ignored: no limit is longer than a month. A time in a wrong unit
/// looks like this.
pub const FURTHEST_RESET_MS: u64 = 35 * 24 * 60 * 60_000;

/// How long a step waits for its account by default.
pub const DEFAULT_WAIT_MS: u64 = 24 * 60 * 60_000;

/// The name of an account that only one run uses.
pub(crate) fn of_run(account: &str, run: &RunId) -> String {
    format!("{account} of run {run}")
}

/// Whether only this run uses the account. When the run has ended, nothing uses the account any more.
#[must_use]
pub fn is_of_run(account: &str, run: &RunId) -> bool {
    account.strip_suffix(run.as_str()).is_some_and(|rest| rest.ends_with(" of run "))
}

/// A temporary refusal of an attempt by a provider. It does not count as a try, a hop or a round of a loop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Throttled {
    /// The account that is closed.
    pub account: String,
    /// When the account opens again, if the provider states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resets_at: Option<Timestamp>,
    /// When the next try is made.
    pub until: Timestamp,
    /// Number of refusals of the account in a row, including this one.
    pub refusals: u32,
    /// The program that continues the step, because the wait for its own would be too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead: Option<String>,
}

impl Throttled {
    /// A refusal at `now`. `resets_at` is the provider's statement.
    #[must_use]
    pub fn new(account: String, resets_at: Option<Timestamp>, refusals: u32, now: Timestamp) -> Self {
        let furthest = now.saturating_add_ms(FURTHEST_RESET_MS);
        let resets_at = resets_at.filter(|at| *at > now && *at <= furthest);
        let until = match resets_at {
            Some(at) => at.saturating_add_ms(MARGIN_MS).min(now.saturating_add_ms(LONGEST_CLOSED_MS)),
            None => now.saturating_add_ms(probe_after_ms(refusals)),
        };
        Self { account, resets_at, until, refusals, instead: None }
    }
}

/// The wait after this many refusals in a row without a stated reset.
fn probe_after_ms(refusals: u32) -> u64 {
    let doublings = refusals.saturating_sub(1);
    FIRST_PROBE_MS.saturating_mul(1_u64.checked_shl(doublings).unwrap_or(u64::MAX)).min(LONGEST_PROBE_MS)
}

/// The account that a visit waits for, with a timer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountWait {
    /// The account.
    pub account: String,
    /// When the account opens again, according to its provider. `None`: not stated, and the timer is for the
    /// next try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resets_at: Option<Timestamp>,
    /// Whether another attempt is already trying the account. The visit waits for the result, and makes no
    /// try of its own if that attempt is refused.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub is_tried: bool,
}

/// The state of an account of the store that has refused an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Standing {
    /// No attempt with the account starts before this time, by the time of the run. In the past: the next try
    /// may be made.
    pub until: Timestamp,
    /// When the account opens again, according to its provider.
    pub resets_at: Option<Timestamp>,
    /// Number of refusals in a row.
    pub refusals: u32,
    /// Whether the account may be tried and another attempt is trying it. Others wait for that attempt,
    /// no matter what their flow's rules for closed accounts are.
    pub is_tried: bool,
}

/// The accounts that have refused an attempt, by name.
pub type Standings = BTreeMap<String, Standing>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stated_reset_gets_a_margin_and_one_that_cannot_be_is_probed() {
        let now = Timestamp::from_millis(1_000_000_000);
        let after = |ms: u64| now.saturating_add_ms(ms);
        let hour = 3_600_000;
        for (resets_at, refusals, stated, wait_ms) in [
            (Some(after(2 * hour)), 1, true, 2 * hour + MARGIN_MS),
            (Some(after(2 * hour)), 7, true, 2 * hour + MARGIN_MS),
            // The stated time has passed, so the provider was wrong.
            (Some(now), 1, false, FIRST_PROBE_MS),
            (Some(Timestamp::from_millis(0)), 2, false, 2 * FIRST_PROBE_MS),
            // Limits of a month exist. A try is made earlier.
            (Some(after(30 * 24 * hour)), 1, true, LONGEST_CLOSED_MS),
            (Some(after(FURTHEST_RESET_MS)), 1, true, LONGEST_CLOSED_MS),
            // No limit is longer, so the time is ignored.
            (Some(after(FURTHEST_RESET_MS + 1)), 1, false, FIRST_PROBE_MS),
            (Some(after(9_000 * hour)), 3, false, 4 * FIRST_PROBE_MS),
            (Some(Timestamp::from_millis(i64::MAX)), 1, false, FIRST_PROBE_MS),
            (None, 1, false, FIRST_PROBE_MS),
            (None, 4, false, 8 * FIRST_PROBE_MS),
            (None, 5, false, LONGEST_PROBE_MS),
            (None, u32::MAX, false, LONGEST_PROBE_MS),
        ] {
            let throttled = Throttled::new("claude".to_owned(), resets_at, refusals, now);
            assert_eq!(throttled.until, after(wait_ms), "{resets_at:?} {refusals}");
            assert_eq!(throttled.resets_at.is_some(), stated, "{resets_at:?} {refusals}");
        }
    }
}
