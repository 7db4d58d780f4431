//! Comparison of values: one total order.
//!
//! `==`, `<`, `in`, the tests of the same names, `sort`, `dictsort`, `min`, `max` and `unique` all use
//! [`order`]. Two values are equal if neither comes before the other. Values of different types are never
//! equal, and the type decides which comes first. Numbers are compared with all their digits.

use super::{meter, number, ordered::OrderedMap};
use core::cmp::Ordering;
use minijinja::{
    Error, ErrorKind, Value,
    value::{DynObject, Enumerator, Object, ObjectRepr, ValueKind},
};
use std::sync::Arc;

/// The order of two values.
pub(super) fn order(left: &Value, right: &Value) -> Ordering {
    let rank = Rank::of(left);
    rank.cmp(&Rank::of(right)).then_with(|| match rank {
        Rank::Undefined | Rank::Null => Ordering::Equal,
        Rank::Bool => left.is_true().cmp(&right.is_true()),
        Rank::Number => number::order(left, right),
        Rank::Text => left.as_str().cmp(&right.as_str()),
        Rank::List => of_lists(left, right),
        Rank::Mapping => of_mappings(left, right),
        Rank::Other => left.to_string().cmp(&right.to_string()),
    })
}

/// The types, in their order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Undefined,
    Null,
    Bool,
    Number,
    Text,
    List,
    Mapping,
    Other,
}

impl Rank {
    fn of(value: &Value) -> Self {
        match value.kind() {
            ValueKind::Undefined => Self::Undefined,
            ValueKind::None => Self::Null,
            ValueKind::Bool => Self::Bool,
            ValueKind::Number => Self::Number,
            ValueKind::String => Self::Text,
            ValueKind::Seq | ValueKind::Iterable => Self::List,
            ValueKind::Map => Self::Mapping,
            _ if number::is_written(value) => Self::Number,
            _ => Self::Other,
        }
    }
}

fn of_lists(left: &Value, right: &Value) -> Ordering {
    let (Ok(left), Ok(right)) = (left.try_iter(), right.try_iter()) else { return Ordering::Equal };
    first_difference(left, right, order)
}

/// Compares sizes first, then the members sorted by name.
fn of_mappings(left: &Value, right: &Value) -> Ordering {
    let by_count = left.len().cmp(&right.len());
    by_count.then_with(|| {
        first_difference(members(left), members(right), |(name, value), (other, with)| {
            order(name, other).then_with(|| order(value, with))
        })
    })
}

/// The members of a mapping in the order of their names.
fn members(mapping: &Value) -> Box<dyn Iterator<Item = (Value, Value)> + '_> {
    if let Some(map) = mapping.downcast_object_ref::<OrderedMap>() {
        return Box::new(map.by_name().map(|(name, value)| (Value::from(name), value.clone())));
    }
    // A mapping that is written out in the expression: short, because the expression is short.
    let names = mapping.try_iter().into_iter().flatten();
    let mut found: Vec<(Value, Value)> =
        names.map(|name| (name.clone(), mapping.get_item(&name).unwrap_or_default())).collect();
    found.sort_by(|(name, _), (other, _)| order(name, other));
    Box::new(found.into_iter())
}

fn first_difference<T>(
    mut left: impl Iterator<Item = T>,
    mut right: impl Iterator<Item = T>,
    order: impl Fn(&T, &T) -> Ordering,
) -> Ordering {
    loop {
        let next = match (left.next(), right.next()) {
            (Some(left), Some(right)) => order(&left, &right),
            (Some(_), None) => Ordering::Greater,
            (None, Some(_)) => Ordering::Less,
            (None, None) => return Ordering::Equal,
        };
        if next.is_ne() {
            return next;
        }
    }
}

/// Whether a container contains a value: a list as an item, a mapping as a name, a text as a substring.
pub(super) fn contains(container: &Value, value: &Value) -> bool {
    match (container.as_str(), value.as_str()) {
        (Some(text), Some(part)) => text.contains(part),
        (Some(text), None) => text.contains(&value.to_string()),
        (None, _) => {
            container.try_iter().is_ok_and(|mut items| items.any(|item| order(&item, value).is_eq()))
        }
    }
}

fn is_container(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::String | ValueKind::Seq | ValueKind::Iterable | ValueKind::Map)
}

/// Wraps an operand of a comparison, so that the expression language compares it with [`order`].
///
/// # Errors
/// The value is a number that JSON cannot represent.
pub(super) fn side(value: Value) -> Result<Value, Error> {
    meter::finite(&value)?;
    Ok(match value.is_undefined() {
        // The language itself refuses this value.
        true => value,
        false => Value::from_object(Side::Value(value)),
    })
}

#[derive(Debug)]
enum Side {
    Value(Value),
    /// The only item of an operand. It equals each value that the container contains; with that, the language
    /// answers `in`.
    Container(Value),
}

impl Object for Side {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Iterable
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        let item = match &**self {
            Self::Value(value) if is_container(value) => Value::from_object(Self::Container(value.clone())),
            Self::Value(_) | Self::Container(_) => {
                Value::from(Error::new(ErrorKind::InvalidOperation, NO_CONTAINER))
            }
        };
        Enumerator::Values(vec![item])
    }

    fn custom_cmp(self: &Arc<Self>, other: &DynObject) -> Option<Ordering> {
        match (&**self, other.downcast_ref::<Self>()?) {
            (Self::Value(left), Self::Value(right)) => Some(order(left, right)),
            (Self::Container(container), Self::Value(value))
            | (Self::Value(value), Self::Container(container)) => {
                Some(if contains(container, value) { Ordering::Equal } else { Ordering::Less })
            }
            (Self::Container(_), Self::Container(_)) => None,
        }
    }
}

const NO_CONTAINER: &str = "what stands behind `in` is no list, no mapping and no text";
