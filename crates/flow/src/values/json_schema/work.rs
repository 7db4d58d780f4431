//! An upper bound for the work of checking a value against a schema, computed before the check.
//!
//! A schema of a few lines can need more work than a machine can do in a year: thirty references that double each
//! time, or a pattern with backtracking. The engine checks values in the thread that all its runs share. The work is
//! therefore bounded, and a check that might exceed [`MOST`] is not made.
//!
//! The bound is the sum, over all locations of a value, of how much of the schema can apply there. That depends only
//! on the depth of the location ([`Work::by_depth`]): the parts that apply at one location, and the parts that each
//! of them applies one level below. If two parts cannot apply to the same location, such as two properties of one
//! object, only the larger one counts. A reference counts as its target; if the target is not certain, as all
//! possible targets. A schema that refers to itself needs no special case, because each level of the value applies it
//! again.

use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};

/// The largest amount of work of one check.
///
/// A part of a schema that applies once counts 1, plus 1 for each value in it. A list of 100,000 rows with ten plain
/// members each counts about five million. A check takes about 20 ns per unit for values that fit, and about 300 ns
/// for values that do not.
pub(super) const MOST: u64 = 10_000_000;

/// The largest number of backtracking steps in one use of a pattern. Beyond that the value does not match.
pub(super) const MOST_STEPS_BACK: usize = 20_000;

/// The work of one use of a pattern with backtracking.
const BACKTRACKING: u64 = 1_000;

/// The number of bytes, items or members after which the work of a value is counted again.
const LONG: usize = 64;

/// The largest depth of any value that was read.
const DEEPEST: usize = envoi_contract::json::MAX_DEPTH;

/// The work per level of a schema outside of the document, such as the meta-schema.
const FOREIGN: u64 = 500;

/// How much of a schema can apply at the locations of a value.
#[derive(Debug)]
pub(super) struct Work {
    /// The work at one location, by its depth.
    by_depth: Vec<u64>,
}

impl Work {
    pub(super) fn of(schema: &Value) -> Self {
        let mut parts = Parts::of(schema);
        let top = parts.number(schema);
        // Reading a part adds the parts that it applies to `found`.
        let mut at = 0;
        while let Some(found) = parts.found.get(at).copied() {
            let part = parts.part(found);
            parts.parts.push(part);
            at += 1;
        }
        Self { by_depth: by_depth(&parts.parts, top) }
    }

    /// True if there is a value whose check takes at most [`MOST`].
    pub(super) fn can_be_bounded(&self) -> bool {
        self.by_depth.first().is_none_or(|top| *top <= MOST)
    }

    /// True if checking the value takes at most [`MOST`].
    pub(super) fn is_bounded(&self, value: &Value) -> bool {
        let mut sum = 0_u64;
        let mut open = vec![(value, 0_usize)];
        while let Some((value, depth)) = open.pop() {
            let Some(here) = self.by_depth.get(depth) else { continue };
            let length = match value {
                Value::String(text) => text.len(),
                Value::Array(items) => items.len(),
                Value::Object(members) => members.len(),
                Value::Null | Value::Bool(_) | Value::Number(_) => 0,
            };
            let times = u64::try_from(length / LONG).unwrap_or(u64::MAX).saturating_add(1);
            sum = sum.saturating_add(here.saturating_mul(times));
            if sum > MOST {
                return false;
            }
            let below = depth.saturating_add(1);
            match value {
                Value::Array(items) => open.extend(items.iter().map(|item| (item, below))),
                Value::Object(members) => open.extend(members.values().map(|member| (member, below))),
                _ => {}
            }
        }
        true
    }
}

/// An object or boolean of a schema.
#[derive(Debug, Default)]
struct Part {
    /// Its own work.
    own: u64,
    /// The parts that it applies to the same location.
    here: Vec<usize>,
    /// The parts that it applies to members of an object, and to items of a list.
    members: Below,
    items: Below,
}

/// Parts that apply one level below.
#[derive(Debug, Default)]
struct Below {
    /// Parts that apply to different locations.
    apart: Vec<usize>,
    /// Parts that all apply to any location.
    any: Vec<usize>,
}

impl Below {
    fn sum(&self, of: &[u64]) -> u64 {
        let largest = self.apart.iter().map(|part| get(of, *part)).max().unwrap_or_default();
        sum(&self.any, of).saturating_add(largest)
    }
}

fn get(of: &[u64], part: usize) -> u64 {
    of.get(part).copied().unwrap_or_default()
}

fn sum(parts: &[usize], of: &[u64]) -> u64 {
    parts.iter().map(|part| get(of, *part)).fold(0, u64::saturating_add)
}

fn by_depth(parts: &[Part], top: usize) -> Vec<u64> {
    let order = those_it_applies_first(parts);
    let mut by_depth = Vec::new();
    let mut above: Option<Vec<u64>> = None;
    // Each level is computed from the level below it.
    for _ in 0..=DEEPEST {
        let mut level = vec![0_u64; parts.len()];
        for (number, part) in order.iter().filter_map(|number| Some((*number, parts.get(*number)?))) {
            let own = match &above {
                None => part.own,
                Some(above) => part.members.sum(above).max(part.items.sum(above)),
            };
            let work = own.saturating_add(sum(&part.here, &level));
            if let Some(of) = level.get_mut(number) {
                *of = work;
            }
        }
        by_depth.push(get(&level, top));
        if level.iter().all(|work| *work == 0) {
            break;
        }
        above = Some(level);
    }
    by_depth
}

/// An order of the parts in which each comes after the parts that it applies to the same location. Parts that apply
/// each other there, which is an endless schema, have an arbitrary order.
fn those_it_applies_first(parts: &[Part]) -> Vec<usize> {
    let mut order = Vec::with_capacity(parts.len());
    let mut was_seen = vec![false; parts.len()];
    for first in 0..parts.len() {
        let mut open = vec![(first, false)];
        while let Some((part, is_done)) = open.pop() {
            if is_done {
                order.push(part);
            } else if let Some(seen) = was_seen.get_mut(part).filter(|seen| !**seen) {
                *seen = true;
                open.push((part, true));
                let here = parts.get(part).into_iter().flat_map(|part| &part.here);
                open.extend(here.map(|part| (*part, false)));
            }
        }
    }
    order
}

/// The parts of a schema, by the addresses of their JSON.
struct Parts<'s> {
    /// The document, and the parts with their own id, at which references begin.
    roots: Vec<&'s Value>,
    /// The parts with an anchor.
    anchors: BTreeMap<&'s str, Vec<&'s Value>>,
    numbers: HashMap<*const Value, usize>,
    found: Vec<Option<&'s Value>>,
    parts: Vec<Part>,
}

impl<'s> Parts<'s> {
    fn of(schema: &'s Value) -> Self {
        let (mut roots, mut anchors) = (vec![schema], BTreeMap::<_, Vec<_>>::new());
        let mut open = vec![schema];
        while let Some(value) = open.pop() {
            match value {
                Value::Object(members) => {
                    for (name, member) in members {
                        match (name.as_str(), member) {
                            ("$id" | "id", Value::String(id)) => {
                                roots.push(value);
                                // In earlier drafts an id could be an anchor.
                                let name = id.rsplit_once('#').map_or(id.as_str(), |(_, last)| last);
                                anchors.entry(name).or_default().push(value);
                            }
                            ("$anchor" | "$dynamicAnchor", Value::String(name)) => {
                                anchors.entry(name.as_str()).or_default().push(value);
                            }
                            _ => open.push(member),
                        }
                    }
                }
                Value::Array(items) => open.extend(items),
                _ => {}
            }
        }
        Self { roots, anchors, numbers: HashMap::new(), found: Vec::new(), parts: Vec::new() }
    }

    fn number(&mut self, value: &'s Value) -> usize {
        let next = self.found.len();
        let number = *self.numbers.entry(std::ptr::from_ref(value)).or_insert(next);
        if number == next {
            self.found.push(Some(value));
        }
        number
    }

    fn numbers(&mut self, values: impl IntoIterator<Item = &'s Value>) -> Vec<usize> {
        values.into_iter().map(|value| self.number(value)).collect()
    }

    /// A schema of another document. It applies itself at every level.
    fn foreign(&mut self) -> usize {
        let number = self.found.len();
        self.found.push(None);
        number
    }

    fn part(&mut self, value: Option<&'s Value>) -> Part {
        let Some(value) = value else {
            let below = || Below { apart: vec![self.parts.len()], any: Vec::new() };
            return Part { own: FOREIGN, here: Vec::new(), members: below(), items: below() };
        };
        let mut part = Part { own: 1, ..Part::default() };
        let Value::Object(members) = value else { return part };
        for (name, member) in members {
            match name.as_str() {
                "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else" => {
                    part.here.extend(self.numbers(one_or_more(member)));
                }
                "dependentSchemas" | "dependencies" => part.here.extend(self.numbers(values(member))),
                "$ref" | "$dynamicRef" | "$recursiveRef" => {
                    part.here.extend(self.targets(member.as_str().unwrap_or("")));
                }
                "properties" => part.members.apart.extend(self.numbers(values(member))),
                "patternProperties" => {
                    let patterns = member.as_object().into_iter().flat_map(Map::keys);
                    part.own =
                        patterns.map(|pattern| of_pattern(pattern)).fold(part.own, u64::saturating_add);
                    part.members.any.extend(self.numbers(values(member)));
                }
                "additionalProperties" | "propertyNames" | "unevaluatedProperties" => {
                    part.members.any.push(self.number(member));
                }
                "prefixItems" => part.items.apart.extend(self.numbers(one_or_more(member))),
                "items" if member.is_array() => part.items.apart.extend(self.numbers(one_or_more(member))),
                "items" | "additionalItems" | "contains" | "unevaluatedItems" => {
                    part.items.any.push(self.number(member));
                }
                "pattern" => part.own = part.own.saturating_add(of_pattern(member.as_str().unwrap_or(""))),
                // These keywords do not take part in a check.
                "$defs" | "definitions" | "default" | "examples" | "title" | "description" | "$comment" => {}
                _ => part.own = part.own.saturating_add(nodes(member)),
            }
        }
        if members.contains_key("unevaluatedProperties") || members.contains_key("unevaluatedItems") {
            // The evaluated members or items are found by applying the other parts once more.
            part.here.extend(part.here.clone());
        }
        part
    }

    /// All possible targets of a reference.
    fn targets(&mut self, reference: &'s str) -> Vec<usize> {
        let (document, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let roots = self.roots.clone();
        let found: Vec<&Value> = match fragment.strip_prefix('/') {
            Some(pointer) => roots.iter().filter_map(|root| target(root, pointer)).collect(),
            None if fragment.is_empty() && document.is_empty() => roots,
            None if fragment.is_empty() => {
                let last = |id: &str| id.trim_end_matches('#').rsplit('/').next().map(str::to_owned);
                let id = |root: &Value| {
                    root.get("$id").or_else(|| root.get("id")).and_then(Value::as_str).and_then(last)
                };
                roots.into_iter().filter(|root| id(root) == last(document)).collect()
            }
            None => self.anchors.get(fragment).cloned().unwrap_or_default(),
        };
        match found.is_empty() {
            true => vec![self.foreign()],
            false => self.numbers(found),
        }
    }
}

/// The target of a pointer. It may contain percent-encoded characters.
fn target<'s>(root: &'s Value, pointer: &str) -> Option<&'s Value> {
    let decoded = decoded(pointer);
    root.pointer(&format!("/{decoded}"))
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let number = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match number.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn values(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_object().into_iter().flat_map(Map::values)
}

fn one_or_more(value: &Value) -> impl Iterator<Item = &Value> {
    let one = (!value.is_array()).then_some(value);
    value.as_array().into_iter().flatten().chain(one)
}

/// The work of a pattern. Only look-arounds and back-references need backtracking.
fn of_pattern(pattern: &str) -> u64 {
    let refers = |pair: &[u8]| matches!(pair, [b'\\', b'1'..=b'9' | b'k']);
    if pattern.contains("(?") || pattern.as_bytes().windows(2).any(refers) { BACKTRACKING } else { 1 }
}

fn nodes(value: &Value) -> u64 {
    match value {
        Value::Object(members) => members.values().map(nodes).fold(1, u64::saturating_add),
        Value::Array(items) => items.iter().map(nodes).fold(1, u64::saturating_add),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
    }
}

#[cfg(test)]
mod tests;
