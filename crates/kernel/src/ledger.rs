//! What a run has used of what it may use.
//!
//! Owns the counters and the arithmetic of cost. Which bound ends a run is decided in [`crate::Run::decide`].

use core::fmt;
use serde::{Deserialize, Serialize};

/// Money in billionths of a US dollar: exact for the prices that models have, without floats.
///
/// Range 0 … 18 billion dollars; sums saturate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cost {
    nano_usd: u64,
}

/// Digits after the point that a [`Cost`] holds.
const DECIMALS: usize = 9;

impl Cost {
    /// Reads a plain decimal such as `5`, `5.00` or `0.000125`; digits past the ninth round up, so that a bound is never
    /// undercounted. `None` for signs, exponents, or anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !digits(fraction) {
            return None;
        }
        let kept: String = fraction.chars().chain("000000000".chars()).take(DECIMALS).collect();
        let rest = fraction.bytes().skip(DECIMALS).any(|b| b != b'0');
        let nanos = whole.parse::<u64>().ok()?.checked_mul(1_000_000_000)?;
        let nano_usd = nanos.checked_add(kept.parse().ok()?)?.checked_add(u64::from(rest))?;
        Some(Self { nano_usd })
    }

    /// The sum, at most the largest cost there is.
    #[must_use]
    pub fn saturating_add(self, other: Self) -> Self {
        Self { nano_usd: self.nano_usd.saturating_add(other.nano_usd) }
    }

    /// How much more this is than `other`; nothing, if it is not more.
    #[must_use]
    pub fn saturating_sub(self, other: Self) -> Self {
        Self { nano_usd: self.nano_usd.saturating_sub(other.nano_usd) }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fraction = format!("{:09}", self.nano_usd % 1_000_000_000);
        let kept = fraction.trim_end_matches('0');
        write!(f, "{}.{:0<2}", self.nano_usd / 1_000_000_000, kept)
    }
}

/// Used so far; never goes down, not by a resume either.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// Attempts started.
    pub agent_hops: u64,
    /// Loop-backs.
    pub iterations: u64,
    /// Model calls that reports told of.
    pub llm_calls: u64,
    /// Milliseconds in which an attempt was live.
    pub wall_time_ms: u64,
    /// Cost that reports told of.
    pub cost: Cost,
}

impl Ledger {
    /// Adds each counter; none goes past the largest number there is.
    pub(crate) fn add(&mut self, more: &Self) {
        self.agent_hops = self.agent_hops.saturating_add(more.agent_hops);
        self.iterations = self.iterations.saturating_add(more.iterations);
        self.llm_calls = self.llm_calls.saturating_add(more.llm_calls);
        self.wall_time_ms = self.wall_time_ms.saturating_add(more.wall_time_ms);
        self.cost = self.cost.saturating_add(more.cost);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_is_exact_and_rounds_up() {
        for (text, shown) in [
            ("5", "5.00"),
            ("5.00", "5.00"),
            ("0.000125", "0.000125"),
            ("0.1234567890", "0.123456789"),
            ("0.0000000001", "0.000000001"),
        ] {
            assert_eq!(Cost::parse(text).map(|c| c.to_string()).as_deref(), Some(shown), "{text}");
        }
    }

    #[test]
    fn a_difference_is_exact_and_never_negative() {
        let cost = |text: &str| Cost::parse(text).unwrap();
        assert_eq!(cost("5.10").saturating_sub(cost("0.000000001")), cost("5.099999999"));
        assert_eq!(cost("1").saturating_sub(cost("2")), Cost::default());
    }

    #[test]
    fn what_is_no_plain_decimal_is_no_cost() {
        for text in ["", "-1", "1e3", ".5", "5.", "1,5", "NaN", "99999999999999999999"] {
            assert_eq!(Cost::parse(text), None, "{text}");
        }
    }
}
