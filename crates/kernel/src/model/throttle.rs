//! A limit of an account: what an agent program reports of it, and how long the account is closed.
//!
//! Several steps, and several runs of a store, use one account. When its provider refuses one of them for a while, none of them is
//! started until then: a try in between costs a session its place, and some providers count it. The event that says so stands in the
//! run that was refused; what runs of the same store need to know of it comes to a decision with its slot ([`Standing`]).

use crate::model::ids::RunId;
use envoi_contract::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How long after a stated reset the next try is made. Resets come late, and clocks differ.
pub const MARGIN_MS: u64 = 60_000;

/// The wait for the next try where no reset is stated, or a stated one has passed; doubled for each refusal in a row.
pub const FIRST_PROBE_MS: u64 = 5 * 60_000;

/// The longest of these waits.
pub const LONGEST_PROBE_MS: u64 = 60 * 60_000;

/// Whatever reset is stated: after this time a try is made. The windows of most providers are a week at most.
pub const LONGEST_CLOSED_MS: u64 = 8 * 24 * 60 * 60_000;

/// A reset that is stated to be further away is none: no limit is longer than a month. A time in a wrong unit looks like that.
pub const FURTHEST_RESET_MS: u64 = 35 * 24 * 60 * 60_000;

/// How long a step waits for its account, unless it says something else.
pub const DEFAULT_WAIT_MS: u64 = 24 * 60 * 60_000;

/// The name of an account that a run has for itself.
pub(crate) fn of_run(account: &str, run: &RunId) -> String {
    format!("{account} of run {run}")
}

/// Whether an account is one of this run alone. When the run is over, nothing uses it any more.
#[must_use]
pub fn is_of_run(account: &str, run: &RunId) -> bool {
    account.strip_suffix(run.as_str()).is_some_and(|rest| rest.ends_with(" of run "))
}

/// A provider has refused an attempt for a while. It uses up no try, no hop and no round of a loop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Throttled {
    /// The account that is closed.
    pub account: String,
    /// When the provider says that it is open again, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resets_at: Option<Timestamp>,
    /// When the next try is made.
    pub until: Timestamp,
    /// Refusals of the account in a row, this one among them.
    pub refusals: u32,
    /// The program that goes on with the step, because its own would have to be waited for too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead: Option<String>,
}

impl Throttled {
    /// A refusal now. `resets_at` is what the provider says.
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

/// The wait after so many refusals in a row without a time.
fn probe_after_ms(refusals: u32) -> u64 {
    let doublings = refusals.saturating_sub(1);
    FIRST_PROBE_MS.saturating_mul(1_u64.checked_shl(doublings).unwrap_or(u64::MAX)).min(LONGEST_PROBE_MS)
}

/// What a visit waits for, with a timer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountWait {
    /// The account.
    pub account: String,
    /// When its provider says that it is open again. `None`: it does not say, and the timer is for the next try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resets_at: Option<Timestamp>,
    /// Another attempt tries whether it is open: the visit waits for what becomes of that, and makes no try of its own if it is refused.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub is_tried: bool,
}

/// How an account of the store stands that has refused an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Standing {
    /// Until when no attempt with it starts, by the time of the run; in the past: the next try may be made.
    pub until: Timestamp,
    /// When its provider says that it is open again.
    pub resets_at: Option<Timestamp>,
    /// Refusals in a row.
    pub refusals: u32,
    /// It is open again, and another attempt tries it: that is waited for, whatever a flow says about closed accounts.
    pub is_tried: bool,
}

/// The accounts that have refused an attempt, by their names.
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
            // It has passed: the provider was wrong.
            (Some(now), 1, false, FIRST_PROBE_MS),
            (Some(Timestamp::from_millis(0)), 2, false, 2 * FIRST_PROBE_MS),
            // A limit of a month is known of, and is tried earlier.
            (Some(after(30 * 24 * hour)), 1, true, LONGEST_CLOSED_MS),
            (Some(after(FURTHEST_RESET_MS)), 1, true, LONGEST_CLOSED_MS),
            // None is longer: that is no time.
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
