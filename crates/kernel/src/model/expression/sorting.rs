//! The filters that choose or arrange the items of a list: `sort`, `dictsort`, `min`, `max` and `unique`.
//!
//! Ensures that they use the common order of values and return the items as written. They take the same
//! options as the filters of the expression language.

use super::compare::order;
use core::cmp::Ordering;
use minijinja::{
    Error, ErrorKind, Value,
    value::{Kwargs, ValueKind},
};
use std::collections::BTreeSet;

/// An item, and its key for comparisons.
type Keyed = (Key, Value);

/// A sort key that may ignore case.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key(Vec<Ordered>);

struct Ordered(Value);

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> Ordering {
        order(&self.0, &other.0)
    }
}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ordered {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ordered {}

pub(super) fn sort(list: Value, options: Kwargs) -> Result<Value, Error> {
    let attributes = options.get::<Option<&str>>("attribute")?.map(|attributes| {
        attributes.split(',').map(str::trim).filter(|name| !name.is_empty()).collect::<Vec<_>>()
    });
    let mut keyed = keyed(&list, &options, attributes.as_deref())?;
    let reverse = options.get::<Option<bool>>("reverse")?.unwrap_or(false);
    options.assert_all_used()?;
    sort_keyed(&mut keyed, reverse);
    Ok(keyed.into_iter().map(|(_, item)| item).collect())
}

pub(super) fn dictsort(mapping: Value, options: Kwargs) -> Result<Value, Error> {
    if mapping.kind() != ValueKind::Map {
        return Err(Error::new(ErrorKind::InvalidOperation, "cannot convert value into pair list"));
    }
    let by_value = options.get::<Option<&str>>("by")? == Some("value");
    let exact = is_exact(&options)?;
    let reverse = options.get::<Option<bool>>("reverse")?.unwrap_or(false);
    options.assert_all_used()?;
    let mut keyed = Vec::new();
    for name in mapping.try_iter()?.checked() {
        let name = name?;
        let value = mapping.get_item(&name)?;
        let compared = if by_value { value.clone() } else { name.clone() };
        keyed.push((Key(vec![folded(compared, exact)]), Value::from(vec![name, value])));
    }
    sort_keyed(&mut keyed, reverse);
    Ok(keyed.into_iter().map(|(_, pair)| pair).collect())
}

/// The first of the smallest items.
pub(super) fn min(list: Value, options: Kwargs) -> Result<Value, Error> {
    // `min_by` returns the first of several.
    let found = one_attribute(&list, &options)?.into_iter().min_by(|(left, _), (right, _)| left.cmp(right));
    Ok(found.map_or(Value::UNDEFINED, |(_, item)| item))
}

/// The last of the largest items.
pub(super) fn max(list: Value, options: Kwargs) -> Result<Value, Error> {
    // `max_by` returns the last of several.
    let found = one_attribute(&list, &options)?.into_iter().max_by(|(left, _), (right, _)| left.cmp(right));
    Ok(found.map_or(Value::UNDEFINED, |(_, item)| item))
}

/// The first of each group of equal items.
pub(super) fn unique(list: Value, options: Kwargs) -> Result<Value, Error> {
    let mut seen = BTreeSet::new();
    let items = one_attribute(&list, &options)?;
    Ok(items.into_iter().filter_map(|(key, item)| seen.insert(key).then_some(item)).collect())
}

fn one_attribute(list: &Value, options: &Kwargs) -> Result<Vec<Keyed>, Error> {
    let attribute = options.get::<Option<&str>>("attribute")?;
    let keyed = keyed(list, options, attribute.as_ref().map(std::slice::from_ref))?;
    options.assert_all_used()?;
    Ok(keyed)
}

fn sort_keyed(keyed: &mut [Keyed], reverse: bool) {
    keyed.sort_by(|(left, _), (right, _)| if reverse { right.cmp(left) } else { left.cmp(right) });
}

fn keyed(list: &Value, options: &Kwargs, attributes: Option<&[&str]>) -> Result<Vec<Keyed>, Error> {
    if list.is_undefined() {
        return Err(Error::new(ErrorKind::UndefinedError, "there is no list to look through"));
    }
    let exact = is_exact(options)?;
    let key = |item: &Value| match attributes {
        None => Key(vec![folded(item.clone(), exact)]),
        Some(attributes) => Key(attributes.iter().map(|path| folded(at(item, path), exact)).collect()),
    };
    let items = list.try_iter().map_err(|error| {
        Error::new(ErrorKind::InvalidOperation, "cannot convert value to list").with_source(error)
    })?;
    items.checked().map(|item| item.map(|item| (key(&item), item))).collect()
}

fn is_exact(options: &Kwargs) -> Result<bool, Error> {
    Ok(options.get::<Option<bool>>("case_sensitive")?.unwrap_or(false))
}

fn folded(value: Value, exact: bool) -> Ordered {
    Ordered(match value.as_str().filter(|_| !exact) {
        Some(text) => Value::from(text.to_lowercase()),
        None => value,
    })
}

/// The value at a path such as `name` or `0.name`; undefined if there is none.
fn at(item: &Value, path: &str) -> Value {
    path.split('.').fold(item.clone(), |value, part| {
        let member = match part.parse::<usize>() {
            Ok(place) => value.get_item_by_index(place),
            Err(_) => value.get_attr(part),
        };
        member.unwrap_or_default()
    })
}
