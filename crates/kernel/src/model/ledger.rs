//! Usage counters of a run.
//!
//! Owns the counters and the arithmetic of cost. [`crate::Run::decide`] decides which bound ends a run.

use core::fmt;
use envoi_contract::json::{Object, Value};
use serde::{Deserialize, Serialize};

/// Money in billionths of a US dollar: exact for the prices of models, without floats.
///
/// Range 0 … 18 billion dollars; sums saturate.
///
/// ```
/// use envoi_kernel::ledger::Cost;
///
/// let cost = Cost::parse("2.50").unwrap_or_default();
/// assert_eq!(cost.to_string().parse::<f64>(), Ok(2.5));
/// assert_eq!(Cost::parse("2,50"), None);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cost {
    nano_usd: u64,
}

/// The price of a model, per million tokens of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenPrice {
    /// Input tokens.
    pub given: Cost,
    /// Input tokens that are read from the provider's prompt cache.
    pub cache_read: Cost,
    /// Input tokens that are written to the provider's prompt cache.
    pub cache_write: Cost,
    /// Output tokens.
    pub gotten: Cost,
}

/// Numbers of tokens of one call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tokens {
    /// All input tokens.
    pub given: u64,
    /// Input tokens that were read from the provider's prompt cache.
    pub cache_read: u64,
    /// Input tokens that were written to the provider's prompt cache.
    pub cache_write: u64,
    /// Output tokens.
    pub gotten: u64,
}

impl TokenPrice {
    /// The cost of a call, rounded up to a billionth of a dollar; sums saturate. Cache reads and writes are
    /// limited to the number of input tokens.
    ///
    /// ```
    /// use envoi_kernel::ledger::{Cost, TokenPrice, Tokens};
    ///
    /// let dollars = |text| Cost::parse(text).unwrap_or_default();
    /// let (given, gotten) = (dollars("5"), dollars("25"));
    /// let price = TokenPrice { given, gotten, cache_read: dollars("0.50"), cache_write: dollars("6.25") };
    /// let tokens = Tokens { given: 1_000_000, cache_read: 800_000, cache_write: 100_000, gotten: 0 };
    /// assert_eq!(price.cost(tokens), dollars("1.525"));
    /// let impossible = Tokens { given: 1_000_000, cache_read: 50_000_000, cache_write: 7, gotten: 0 };
    /// assert_eq!(price.cost(impossible), dollars("0.50"));
    /// ```
    #[must_use]
    pub fn cost(&self, tokens: Tokens) -> Cost {
        let cache_read = tokens.cache_read.min(tokens.given);
        let others = tokens.given.saturating_sub(cache_read);
        let cache_write = tokens.cache_write.min(others);
        let fresh = others.saturating_sub(cache_write);
        let parts = [
            (fresh, self.given),
            (cache_read, self.cache_read),
            (cache_write, self.cache_write),
            (tokens.gotten, self.gotten),
        ];
        let millionths = parts.into_iter().fold(0_u128, |sum, (tokens, price)| {
            sum.saturating_add(u128::from(tokens).saturating_mul(u128::from(price.nano_usd)))
        });
        Cost { nano_usd: u64::try_from(millionths.div_ceil(1_000_000)).unwrap_or(u64::MAX) }
    }
}

/// Number of decimal places of a [`Cost`].
const DECIMALS: usize = 9;
const DECIMALS_U32: u32 = 9;

/// Maximum number of digits of the integer part. Apart from leading zeros, a longer one is out of range
/// anyway.
const MAX_WHOLE_DIGITS: usize = 40;

impl Cost {
    /// Parses a plain decimal such as `5`, `5.00` or `0.000125`. Digits after the ninth round up, so that a
    /// bound is never undercounted. `None` for signs, exponents, or anything else.
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

    /// The cost in the `metrics` of a report: a decimal string or a number. `None` if there is none, or it is
    /// not a valid cost.
    #[must_use]
    pub fn of_metrics(metrics: &Object) -> Option<Self> {
        match metrics.get("cost_usd")? {
            Value::String(text) => Self::parse(text),
            Value::Number(number) => Self::of_number(number.as_str()),
            _ => None,
        }
    }

    /// Parses a JSON number: like [`Cost::parse`], but also with an exponent, which many writers use for
    /// small numbers (`3.5e-05`). `None` for negative or too large numbers.
    #[must_use]
    pub fn of_number(token: &str) -> Option<Self> {
        let (digits, exponent) = token.split_once(['e', 'E']).unwrap_or((token, "0"));
        let exponent: i32 = exponent.parse().ok()?;
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let all = format!("{whole}{fraction}");
        if all.trim_start_matches('-').bytes().all(|b| b == b'0') {
            return Some(Self::default());
        }
        if all.starts_with('-') {
            return None;
        }
        let point = i32::try_from(whole.len()).ok()?.checked_add(exponent)?;
        match usize::try_from(point) {
            Ok(0) => Self::parse(&format!("0.{all}")),
            Ok(point) if point > MAX_WHOLE_DIGITS => None,
            Ok(point) if point >= all.len() => Self::parse(&format!("{all:0<point$}")),
            Ok(point) => {
                let (whole, fraction) = all.split_at_checked(point)?;
                Self::parse(&format!("{whole}.{fraction}"))
            }
            // A number below the smallest unit counts as one unit.
            Err(_) if point.unsigned_abs() > DECIMALS_U32 => Some(Self { nano_usd: 1 }),
            Err(_) => {
                let zeros = "0".repeat(usize::try_from(point.unsigned_abs()).ok()?);
                Self::parse(&format!("0.{zeros}{all}"))
            }
        }
    }

    /// The cost in billionths of a US dollar.
    #[must_use]
    pub fn nano_usd(self) -> u64 {
        self.nano_usd
    }

    /// A cost from billionths of a US dollar.
    #[must_use]
    pub fn from_nano_usd(nano_usd: u64) -> Self {
        Self { nano_usd }
    }

    /// The sum, limited to the largest representable cost.
    #[must_use]
    pub fn saturating_add(self, other: Self) -> Self {
        Self { nano_usd: self.nano_usd.saturating_add(other.nano_usd) }
    }

    /// The difference; 0 if `other` is larger.
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

/// Usage so far. The counters never decrease, not even on resume, with two exceptions: the hop of an attempt
/// that was refused by a limit of its account is given back, and unknown usage of an attempt is removed when
/// its result arrives late.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ledger {
    /// Number of attempts started.
    pub agent_hops: u64,
    /// Number of loop-backs.
    pub iterations: u64,
    /// Number of model calls, from reports or metered by the bridge.
    pub llm_calls: u64,
    /// Milliseconds during which an attempt was live.
    pub wall_time_ms: u64,
    /// Cost, from reports or metered by the bridge.
    pub cost: Cost,
    /// Number of rounds begun, in a run with goals.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rounds: u64,
    /// Input tokens, from reports or providers. No bound applies to them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tokens_in: u64,
    /// Output tokens, from reports or providers.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tokens_out: u64,
    /// Milliseconds of waiting for accounts; used only to raise that bound. The time that a run has waited is
    /// not shared with its forks: see [`Run::waited_ms`](crate::Run::waited_ms).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waiting_ms: u64,
    /// Attempts and model calls with an unknown number of calls: `llm_calls` is a lower bound.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unknown_calls: u64,
    /// Attempts and model calls with an unknown number of tokens: `tokens_in` and `tokens_out` are lower
    /// bounds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unknown_tokens: u64,
    /// Attempts and model calls with an unknown cost: `cost` is a lower bound.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unknown_costs: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Ledger {
    /// Adds each counter; sums saturate.
    pub fn add(&mut self, more: &Self) {
        self.agent_hops = self.agent_hops.saturating_add(more.agent_hops);
        self.iterations = self.iterations.saturating_add(more.iterations);
        self.llm_calls = self.llm_calls.saturating_add(more.llm_calls);
        self.wall_time_ms = self.wall_time_ms.saturating_add(more.wall_time_ms);
        self.cost = self.cost.saturating_add(more.cost);
        self.rounds = self.rounds.saturating_add(more.rounds);
        self.tokens_in = self.tokens_in.saturating_add(more.tokens_in);
        self.tokens_out = self.tokens_out.saturating_add(more.tokens_out);
        self.waiting_ms = self.waiting_ms.saturating_add(more.waiting_ms);
        self.unknown_calls = self.unknown_calls.saturating_add(more.unknown_calls);
        self.unknown_tokens = self.unknown_tokens.saturating_add(more.unknown_tokens);
        self.unknown_costs = self.unknown_costs.saturating_add(more.unknown_costs);
    }

    /// The larger of both, counter by counter.
    #[must_use]
    pub fn larger(&self, other: &Self) -> Self {
        let mut larger = self.clone();
        larger.add(&other.beyond(self));
        larger
    }

    /// The excess over `other`, counter by counter; 0 if there is none.
    #[must_use]
    pub fn beyond(&self, other: &Self) -> Self {
        Self {
            agent_hops: self.agent_hops.saturating_sub(other.agent_hops),
            iterations: self.iterations.saturating_sub(other.iterations),
            llm_calls: self.llm_calls.saturating_sub(other.llm_calls),
            wall_time_ms: self.wall_time_ms.saturating_sub(other.wall_time_ms),
            cost: self.cost.saturating_sub(other.cost),
            rounds: self.rounds.saturating_sub(other.rounds),
            tokens_in: self.tokens_in.saturating_sub(other.tokens_in),
            tokens_out: self.tokens_out.saturating_sub(other.tokens_out),
            waiting_ms: self.waiting_ms.saturating_sub(other.waiting_ms),
            unknown_calls: self.unknown_calls.saturating_sub(other.unknown_calls),
            unknown_tokens: self.unknown_tokens.saturating_sub(other.unknown_tokens),
            unknown_costs: self.unknown_costs.saturating_sub(other.unknown_costs),
        }
    }
}

/// `budget`: the amount that one attempt may use. `None`: nothing is reserved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Model calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub llm_calls: Option<u64>,
    /// Cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
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
    fn a_number_may_have_an_exponent() {
        for (token, shown) in [
            ("0.3", "0.30"),
            ("3.5e-05", "0.000035"),
            ("3.5E-5", "0.000035"),
            ("25e-2", "0.25"),
            ("1e3", "1000.00"),
            ("1.25e1", "12.50"),
            ("1.25e+2", "125.00"),
            ("12e-2", "0.12"),
            ("1e-9", "0.000000001"),
            ("1e-10", "0.000000001"),
            ("1e-400", "0.000000001"),
            ("0e-400", "0.00"),
            ("0.0", "0.00"),
            ("-0", "0.00"),
            ("-0.0", "0.00"),
        ] {
            assert_eq!(Cost::of_number(token).map(|c| c.to_string()).as_deref(), Some(shown), "{token}");
        }
        for token in ["-1", "-1e-3", "-1e-400", "-0.001", "1e30", "1e400", "1e99999999999"] {
            assert_eq!(Cost::of_number(token), None, "{token}");
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
