//! Numbers that keep their written digits and still act as numbers.
//!
//! `2.50`, `1e3` and integers of more than 64 bits are passed on as written. Calculations use the value
//! instead ([`taken`]), whose range is limited. Comparisons use all digits ([`order`]).

use super::ordered::OrderedMap;
use core::cmp::Ordering;
use envoi_contract::json::Number;
use minijinja::{
    Error, ErrorKind, Value,
    value::{Object, ObjectRepr, ValueKind},
};
use std::{borrow::Cow, fmt, sync::Arc};

/// A number that prints its original token; its value alone would lose it.
#[derive(Debug)]
struct Written(Number);

impl Object for Written {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn is_true(self: &Arc<Self>) -> bool {
        !self.0.same_value(&Number::from(0_u64))
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

/// A number as a value that prints its token.
pub(super) fn value(number: &Number) -> Value {
    let token = number.as_str();
    match token.parse::<i64>() {
        Ok(integer) if integer.to_string() == token => Value::from(integer),
        _ => match token.parse::<f64>() {
            Ok(float) if float.is_finite() && float.to_string() == token => Value::from(float),
            _ => Value::from_object(Written(number.clone())),
        },
    }
}

/// Whether it is a number that keeps its digits.
pub(super) fn is_written(value: &Value) -> bool {
    value.downcast_object_ref::<Written>().is_some()
}

/// Whether it is a number, also one that keeps its digits.
pub(super) fn is_number(value: &Value) -> bool {
    value.is_number() || is_written(value)
}

/// Whether it is a number without a point and an exponent.
pub(super) fn is_integer(value: &Value) -> bool {
    match value.downcast_object_ref::<Written>() {
        Some(written) => written.0.is_integer_token(),
        None => value.is_integer(),
    }
}

/// Compares two numbers by all their digits.
pub(super) fn order(left: &Value, right: &Value) -> Ordering {
    if let (Some(left), Some(right)) = (small_integer(left), small_integer(right)) {
        return left.cmp(&right);
    }
    match (token(left), token(right)) {
        (Some(left), Some(right)) => left.cmp_value(&right),
        (left_token, right_token) => {
            // The number is infinite or not a number.
            let float = |value: &Value, token: Option<_>| match token {
                Some(_) => 0.0,
                None => f64::try_from(value.clone()).unwrap_or(f64::NAN),
            };
            float(left, left_token).total_cmp(&float(right, right_token))
        }
    }
}

fn small_integer(value: &Value) -> Option<i64> {
    value.is_integer().then(|| i64::try_from(value.clone()).ok()).flatten()
}

/// The token of a number. `None`: JSON cannot represent it.
fn token(value: &Value) -> Option<Cow<'_, Number>> {
    match value.downcast_object_ref::<Written>() {
        Some(written) => Some(Cow::Borrowed(&written.0)),
        None => Number::parse(&value.to_string()).map(Cow::Owned),
    }
}

/// Converts numbers to values for calculation, also inside lists and mappings.
///
/// # Errors
/// A number is too large.
pub(super) fn taken(value: Value) -> Result<Value, Error> {
    if let Some(written) = value.downcast_object_ref::<Written>() {
        return calculable(written.0.as_str());
    }
    if is_too_large(&value) {
        return calculable(&value.to_string());
    }
    if !has_written(&value) {
        return Ok(value);
    }
    match value.kind() {
        ValueKind::Map => {
            let mut members = Vec::new();
            for key in value.try_iter()? {
                members.push((key.to_string(), taken(value.get_item(&key)?)?));
            }
            Ok(Value::from_object(OrderedMap::from_iter(members)))
        }
        _ => Ok(value.try_iter()?.map(taken).collect::<Result<Vec<Value>, Error>>()?.into()),
    }
}

/// Whether the value contains such a number.
fn has_written(value: &Value) -> bool {
    match value.kind() {
        ValueKind::Seq | ValueKind::Iterable => {
            value.try_iter().is_ok_and(|mut items| items.any(|item| has_written(&item)))
        }
        ValueKind::Map => value.try_iter().is_ok_and(|mut keys| {
            keys.any(|key| value.get_item(&key).is_ok_and(|member| has_written(&member)))
        }),
        ValueKind::Plain => is_written(value),
        _ => false,
    }
}

/// Whether it is an integer literal of an expression that is too large for calculations.
pub(super) fn is_too_large(value: &Value) -> bool {
    value.is_integer() && i128::try_from(value.clone()).is_err()
}

fn calculable(token: &str) -> Result<Value, Error> {
    let too_large = || {
        let shown: String = token.chars().take(MOST_SHOWN).collect();
        let dots = if shown.len() < token.len() { "…" } else { "" };
        let message = format!("the number {shown}{dots} is too large to be calculated with");
        Error::new(ErrorKind::InvalidOperation, message)
    };
    let is_integer = token.strip_prefix('-').unwrap_or(token).bytes().all(|byte| byte.is_ascii_digit());
    if is_integer {
        return token.parse::<i128>().map(Value::from).map_err(|_| too_large());
    }
    let float = token.parse::<f64>().ok().filter(|float| float.is_finite()).ok_or_else(too_large)?;
    Ok(Value::from(float))
}

/// Maximum number of digits that a message shows.
const MOST_SHOWN: usize = 40;
