//! A number as it was written, and exact operations on its value.

use alloc::string::{String, ToString};
use core::{cmp::Ordering, fmt};

/// The largest integer that a contract reads: 2^53 - 1. Every JSON reader represents integers up to it exactly.
pub(crate) const MAX_U53: u64 = (1 << 53) - 1;

/// A JSON number, kept as its token: `1.00`, `-0` and `1e400` are written unchanged.
///
/// Two numbers are equal if their texts are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number(String);

impl Number {
    /// Reads a number token; `None` if `text` is not exactly one token.
    #[must_use]
    pub fn parse(text: &str) -> Option<Number> {
        (token_length(text.as_bytes()) == Some(text.len())).then(|| Number(String::from(text)))
    }

    /// Takes a token that the reader has already measured.
    pub(super) fn from_token(token: &str) -> Number {
        Number(String::from(token))
    }

    /// The token.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The value, if it is an integer in `0..=2^53-1`. `4096.0` and `4.096e3` are the integer 4096.
    #[must_use]
    pub fn as_u53(&self) -> Option<u64> {
        if self.0.len() < 16
            && let Ok(plain) = self.0.parse::<u64>()
        {
            return Some(plain);
        }
        let decimal = Decimal::of(&self.0);
        if decimal.digits.is_empty() {
            return Some(0);
        }
        if decimal.negative || decimal.exponent < 0 {
            return None;
        }
        decimal.integer().filter(|value| *value <= MAX_U53)
    }

    /// True if the value is in `0..=1`.
    #[must_use]
    pub fn is_fraction_of_one(&self) -> bool {
        let decimal = Decimal::of(&self.0);
        if decimal.digits.is_empty() {
            return true;
        }
        let point = decimal.point();
        !decimal.negative && (point <= 0 || (point == 1 && decimal.digits == "1"))
    }

    /// True if both have the same value, even with different tokens, such as `1.0` and `1e0`.
    #[must_use]
    pub fn same_value(&self, other: &Number) -> bool {
        Decimal::of(&self.0) == Decimal::of(&other.0)
    }

    /// Compares the values, for any tokens and any number of digits.
    #[must_use]
    pub fn cmp_value(&self, other: &Number) -> Ordering {
        Decimal::of(&self.0).cmp(&Decimal::of(&other.0))
    }

    /// True if the token has neither a fraction nor an exponent.
    #[must_use]
    pub fn is_integer_token(&self) -> bool {
        !self.0.contains(['.', 'e', 'E'])
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<u64> for Number {
    fn from(integer: u64) -> Number {
        Number(integer.to_string())
    }
}

impl From<u32> for Number {
    fn from(integer: u32) -> Number {
        Number(integer.to_string())
    }
}

impl From<i64> for Number {
    fn from(integer: i64) -> Number {
        Number(integer.to_string())
    }
}

/// The length of the number token at the beginning of `bytes`; `None` if there is none.
pub(super) fn token_length(bytes: &[u8]) -> Option<usize> {
    let mut at = usize::from(bytes.first() == Some(&b'-'));
    let whole = digits_at(bytes, at);
    if whole == 0 || (whole > 1 && bytes.get(at) == Some(&b'0')) {
        return None;
    }
    at += whole;
    if bytes.get(at) == Some(&b'.') {
        let fraction = digits_at(bytes, at + 1);
        if fraction == 0 {
            return None;
        }
        at += 1 + fraction;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at += 1 + usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let exponent = digits_at(bytes, at);
        if exponent == 0 {
            return None;
        }
        at += exponent;
    }
    Some(at)
}

fn digits_at(bytes: &[u8], start: usize) -> usize {
    bytes.get(start..).unwrap_or_default().iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// A number in normal form: `0.digits × 10^(digits.len() + exponent)`, without zeros at either end of `digits`.
#[derive(PartialEq, Eq)]
struct Decimal {
    negative: bool,
    digits: String,
    exponent: i64,
}

impl Decimal {
    fn of(token: &str) -> Decimal {
        let (mantissa, power) = token.split_once(['e', 'E']).unwrap_or((token, "0"));
        let (sign, unsigned) = mantissa.strip_prefix('-').map_or((false, mantissa), |rest| (true, rest));
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let mut digits = String::with_capacity(whole.len() + fraction.len());
        digits.push_str(whole);
        digits.push_str(fraction);
        let kept = digits.trim_end_matches('0').len();
        let mut exponent = exponent_of(power).saturating_sub(length(fraction.len()));
        exponent = exponent.saturating_add(length(digits.len() - kept));
        digits.truncate(kept);
        let digits = String::from(digits.trim_start_matches('0'));
        if digits.is_empty() {
            return Decimal { negative: false, digits, exponent: 0 };
        }
        Decimal { negative: sign, digits, exponent }
    }

    /// Compares the values.
    fn cmp(&self, other: &Decimal) -> Ordering {
        // -1 for a negative number, 0 for zero, 1 for a positive number.
        let sign = |number: &Decimal| i8::from(!number.digits.is_empty()) - 2 * i8::from(number.negative);
        let point = |number: &Decimal| i128::from(number.exponent) + i128::from(length(number.digits.len()));
        let size = point(self).cmp(&point(other)).then_with(|| self.digits.cmp(&other.digits));
        sign(self).cmp(&sign(other)).then(match (self.digits.is_empty(), self.negative) {
            (true, _) => Ordering::Equal,
            (false, false) => size,
            (false, true) => size.reverse(),
        })
    }

    /// The position of the decimal point, counted from the first digit.
    fn point(&self) -> i64 {
        self.exponent.saturating_add(length(self.digits.len()))
    }

    /// The value, if it is an integer that is not too large.
    fn integer(&self) -> Option<u64> {
        if self.point() > 16 {
            return None;
        }
        let digits = self.digits.parse::<u64>().ok()?;
        let power = u32::try_from(self.exponent).ok()?;
        digits.checked_mul(10_u64.checked_pow(power)?)
    }
}

fn length(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The value of the exponent, limited to the range of a machine integer.
fn exponent_of(power: &str) -> i64 {
    let bound = if power.starts_with('-') { i64::MIN } else { i64::MAX };
    power.strip_prefix('+').unwrap_or(power).parse().unwrap_or(bound)
}
