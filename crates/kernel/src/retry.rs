//! Which failures are tried again, and after how long.
//!
//! Not tried again: a command that cannot be started, a report that is not one, an attempt in doubt (its policy decides),
//! a cancelled one, one that used more than its budget (it would again). Waits double from the shortest to the longest; jitter comes from the attempt's id, so that a decision
//! made twice is the same.

use crate::{
    budget,
    event::{AttemptSettled, Outcome},
    flow::Retry,
    ids::AttemptId,
};
use sha2::{Digest as _, Sha256};

/// The shell's exit codes for "cannot be executed" and "not found".
const SHELL_CANNOT_START: [i32; 2] = [126, 127];

/// Whether another try may help.
pub(crate) fn may_help(settled: &AttemptSettled, through_shell: bool) -> bool {
    let code = settled.error.as_ref().map_or("", |error| error.code.as_str());
    match settled.outcome {
        _ if settled.ok || code.starts_with("SKILL_REPORT_") || code == budget::OVERRUN => false,
        Outcome::Exited { code } => !(through_shell && SHELL_CANNOT_START.contains(&code)),
        Outcome::Signalled { .. } | Outcome::TimedOut => true,
        Outcome::Cancelled | Outcome::CannotStart { .. } | Outcome::InDoubt { .. } => false,
    }
}

/// How long to wait after the `failures`th failure (from 1): between the shortest wait and that wait doubled `failures`
/// times, never above the longest.
pub(crate) fn wait_ms(retry: &Retry, failures: u32, attempt: &AttemptId) -> u64 {
    let doubled = retry.backoff_min_ms.saturating_mul(1_u64.checked_shl(failures).unwrap_or(u64::MAX));
    let upper = doubled.min(retry.backoff_max_ms).max(retry.backoff_min_ms);
    let span = upper.saturating_sub(retry.backoff_min_ms);
    let hash: [u8; 32] = Sha256::digest(attempt.to_string().as_bytes()).into();
    let jitter = hash.iter().take(8).fold(0_u64, |sum, byte| (sum << 8) | u64::from(*byte));
    retry.backoff_min_ms.saturating_add(jitter.checked_rem(span.saturating_add(1)).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_within_their_range_and_are_the_same_when_asked_twice() {
        let retry = Retry { attempts: 9, backoff_min_ms: 1_000, backoff_max_ms: 30_000 };
        let attempt = AttemptId::parse("flaky.1.1").unwrap();
        for failures in 1..80 {
            let wait = wait_ms(&retry, failures, &attempt);
            assert!((1_000..=30_000).contains(&wait), "{failures}: {wait}");
            assert_eq!(wait, wait_ms(&retry, failures, &attempt));
        }
        assert!(wait_ms(&retry, 1, &attempt) <= 2_000);
    }

    #[test]
    fn no_wait_is_possible() {
        let retry = Retry { attempts: 3, backoff_min_ms: 0, backoff_max_ms: 0 };
        assert_eq!(wait_ms(&retry, 2, &AttemptId::parse("a.1.1").unwrap()), 0);
    }
}
