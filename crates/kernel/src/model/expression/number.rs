//! Numbers that keep the digits with which they were written, and count as numbers all the same.
//!
//! `2.50`, `1e3` and integers of more than 64 bits are handed on as they are written. To calculate with one, to compare it or to test it,
//! its value is taken instead: [`taken`].

use super::ordered::OrderedMap;
use envoi_contract::json::Number;
use minijinja::{
    Error, ErrorKind, Value,
    value::{Object, ObjectRepr, ValueKind},
};
use std::{fmt, sync::Arc};

/// A number that prints the token it was read from, which its value alone would not.
#[derive(Debug)]
struct Written(Number);

impl Object for Written {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn is_true(self: &Arc<Self>) -> bool {
        // A number that is too large to be calculated with is not 0, and one that is too small is.
        self.0.as_str().parse::<f64>().is_ok_and(|number| number != 0.0)
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

/// The same value with numbers that can be calculated with, also in lists and mappings.
///
/// # Errors
/// One of them is too large.
pub(super) fn taken(value: Value) -> Result<Value, Error> {
    if let Some(written) = value.downcast_object_ref::<Written>() {
        return calculable(written.0.as_str());
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
            Ok(Value::from_object(OrderedMap(members.into_iter().collect())))
        }
        _ => Ok(value.try_iter()?.map(taken).collect::<Result<Vec<Value>, Error>>()?.into()),
    }
}

/// Whether such a number stands in it.
fn has_written(value: &Value) -> bool {
    match value.kind() {
        ValueKind::Seq | ValueKind::Iterable => {
            value.try_iter().is_ok_and(|mut items| items.any(|item| has_written(&item)))
        }
        ValueKind::Map => value.try_iter().is_ok_and(|mut keys| {
            keys.any(|key| value.get_item(&key).is_ok_and(|member| has_written(&member)))
        }),
        ValueKind::Plain => value.downcast_object_ref::<Written>().is_some(),
        _ => false,
    }
}

fn calculable(token: &str) -> Result<Value, Error> {
    let too_large = || {
        let shown: String = token.chars().take(MOST_SHOWN).collect();
        let dots = if shown.len() < token.len() { "…" } else { "" };
        let message = format!("the number {shown}{dots} is too large to be calculated with or compared");
        Error::new(ErrorKind::InvalidOperation, message)
    };
    let is_integer = token.strip_prefix('-').unwrap_or(token).bytes().all(|byte| byte.is_ascii_digit());
    if is_integer {
        return token.parse::<i128>().map(Value::from).map_err(|_| too_large());
    }
    let float = token.parse::<f64>().ok().filter(|float| float.is_finite()).ok_or_else(too_large)?;
    Ok(Value::from(float))
}

/// The most digits of a number that a message shows.
const MOST_SHOWN: usize = 40;
