//! Which failures are tried again, and how waits grow; the default range is `Retry` in `model/flow.rs`.
//!
//! Not tried again: a command that cannot be started, a report that is not one, an attempt in doubt (its policy decides),
//! a cancelled one, one that used more than its budget (it would again), an agent program with a failure that does not pass. Waits double from the shortest to the longest. Jitter of at
//! most a tenth keeps runs that failed together from trying again together. It comes from the attempt's id, so that a decision
//! made twice is the same.

use crate::model::{
    event::{AttemptSettled, Outcome},
    flow::Retry,
    ids::AttemptId,
};
use envoi_contract::code::Code;
use sha2::{Digest as _, Sha256};

/// The shell's exit codes for "cannot be executed" and "not found".
const SHELL_CANNOT_START: [i32; 2] = [126, 127];

/// Whether another try may help.
pub(crate) fn may_help(settled: &AttemptSettled, through_shell: bool) -> bool {
    let would_fail_again = [
        Code::SkillReportInvalid,
        Code::SkillReportMissing,
        Code::BudgetOverrun,
        Code::AgentAuth,
        Code::AgentBilling,
        Code::AgentBudget,
        Code::AgentDenied,
        Code::AgentModel,
        Code::AgentNotInstalled,
        Code::AgentTooLong,
        Code::AgentTurns,
    ];
    if settled.ok || would_fail_again.iter().any(|code| settled.has_failed_with(*code)) {
        return false;
    }
    match settled.outcome {
        Outcome::Exited { code } => !(through_shell && SHELL_CANNOT_START.contains(&code)),
        Outcome::Signalled { .. } | Outcome::TimedOut => true,
        Outcome::Cancelled | Outcome::CannotStart { .. } | Outcome::InDoubt { .. } => false,
    }
}

impl Retry {
    /// The shortest wait after the `failures`th failure (from 1): the lower bound of `backoff`, doubled for each failure after
    /// the first one, never above the upper bound.
    #[must_use]
    pub fn shortest_wait_ms(&self, failures: u32) -> u64 {
        let doublings = failures.saturating_sub(1);
        let doubled = self.backoff_min_ms.saturating_mul(1_u64.checked_shl(doublings).unwrap_or(u64::MAX));
        doubled.min(self.backoff_max_ms.max(self.backoff_min_ms))
    }

    /// The longest wait after the `failures`th failure: the shortest one and a tenth of it, never above the upper bound.
    #[must_use]
    pub fn longest_wait_ms(&self, failures: u32) -> u64 {
        let shortest = self.shortest_wait_ms(failures);
        let jitter = shortest.checked_div(JITTER_PART).unwrap_or(0);
        shortest.saturating_add(jitter).min(self.backoff_max_ms.max(self.backoff_min_ms))
    }
}

/// Jitter adds at most a wait divided by this.
const JITTER_PART: u64 = 10;

/// How long to wait after the `failures`th failure (from 1) of a visit; the last attempt decides where in the range.
pub(crate) fn wait_ms(retry: &Retry, failures: u32, attempt: &AttemptId) -> u64 {
    let shortest = retry.shortest_wait_ms(failures);
    let longest = retry.longest_wait_ms(failures);
    let span = longest.saturating_sub(shortest);
    let hash: [u8; 32] = Sha256::digest(attempt.to_string().as_bytes()).into();
    let jitter = hash.iter().take(8).fold(0_u64, |sum, byte| (sum << 8) | u64::from(*byte));
    shortest.saturating_add(jitter.checked_rem(span.saturating_add(1)).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_within_their_range_and_are_the_same_when_computed_twice() {
        let retry = Retry { attempts: 9, backoff_min_ms: 1_000, backoff_max_ms: 30_000 };
        let attempt = AttemptId::parse("flaky.1.1").unwrap();
        for failures in 1..80 {
            let wait = wait_ms(&retry, failures, &attempt);
            assert!((1_000..=30_000).contains(&wait), "{failures}: {wait}");
            assert_eq!(wait, wait_ms(&retry, failures, &attempt));
        }
    }

    #[test]
    fn the_first_wait_is_the_lower_bound_and_jitter_adds_a_tenth_at_most() {
        let minute = 60_000;
        let retry = Retry { attempts: 9, backoff_min_ms: 30 * minute, backoff_max_ms: 360 * minute };
        for (failures, shortest, longest) in
            [(1, 30, 33), (2, 60, 66), (3, 120, 132), (4, 240, 264), (5, 360, 360), (99, 360, 360)]
        {
            let range = shortest * minute..=longest * minute;
            assert_eq!(retry.shortest_wait_ms(failures)..=retry.longest_wait_ms(failures), range);
            let waits: Vec<u64> = (1..200)
                .map(|n| wait_ms(&retry, failures, &AttemptId::parse(&format!("a.{n}.1")).unwrap()))
                .collect();
            assert!(waits.iter().all(|wait| range.contains(wait)), "{failures}: {waits:?}");
            let differ = waits.iter().any(|wait| *wait != waits[0]);
            assert_eq!(differ, shortest != longest, "{failures}: runs that failed together are spread");
        }
    }

    #[test]
    fn no_wait_is_possible() {
        let retry = Retry { attempts: 3, backoff_min_ms: 0, backoff_max_ms: 0 };
        assert_eq!(wait_ms(&retry, 2, &AttemptId::parse("a.1.1").unwrap()), 0);
    }
}
