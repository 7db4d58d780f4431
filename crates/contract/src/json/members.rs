//! A map that keeps the order of its members.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::{self, Vec};
use core::slice;

/// Up to this number of members, comparing each name with the earlier ones is cheaper than an index.
pub(super) const FEW_MEMBERS: usize = 16;

/// Named values in the order in which they were read or inserted, with unique names.
///
/// Lookup and insertion scan all members, which is fine for the objects of the contracts. Reading a document and
/// collecting from an iterator index the names, so their cost stays below quadratic for any number of members.
/// Equality includes the order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Members<V>(Vec<(String, V)>);

impl<V> Members<V> {
    /// A map without members.
    #[must_use]
    pub const fn new() -> Members<V> {
        Members(Vec::new())
    }

    /// Creates a map from members with distinct names. The caller guarantees that they are distinct.
    pub(crate) fn from_distinct(members: Vec<(String, V)>) -> Members<V> {
        Members(members)
    }

    /// The value of the member `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&V> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// A mutable reference to the value of the member `name`.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut V> {
        self.0.iter_mut().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// Replaces the value of the member `name` in its position, or appends the member. Returns the old value.
    pub fn insert(&mut self, name: impl Into<String>, value: V) -> Option<V> {
        let name = name.into();
        if let Some(slot) = self.get_mut(&name) {
            return Some(core::mem::replace(slot, value));
        }
        self.0.push((name, value));
        None
    }

    /// Removes the member `name`; the others keep their order. Returns its value.
    pub fn remove(&mut self, name: &str) -> Option<V> {
        let at = self.0.iter().position(|(key, _)| key == name)?;
        Some(self.0.remove(at).1)
    }

    /// True if there is a member `name`.
    #[must_use]
    pub fn contains_key(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// The members in order.
    pub fn iter(&self) -> Iter<'_, V> {
        Iter(self.0.iter())
    }

    /// The names in order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// The values in the order of the members.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.0.iter().map(|(_, value)| value)
    }

    /// Inserts any number of members, with an index of the names.
    fn extend_indexed<K: Into<String>>(&mut self, members: impl Iterator<Item = (K, V)>) {
        let mut members = members.peekable();
        if members.peek().is_none() {
            return;
        }
        let index = self.0.iter().enumerate().map(|(place, (name, _))| (name.clone(), place));
        let mut places: BTreeMap<String, usize> = index.collect();
        for (name, value) in members {
            let name = name.into();
            match places.get(&name).and_then(|at| self.0.get_mut(*at)) {
                Some(slot) => slot.1 = value,
                None => {
                    places.insert(name.clone(), self.0.len());
                    self.0.push((name, value));
                }
            }
        }
    }

    /// The number of members.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there are no members.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<V> Default for Members<V> {
    fn default() -> Members<V> {
        Members::new()
    }
}

/// A repeated name replaces the value in its first position.
impl<K: Into<String>, V> FromIterator<(K, V)> for Members<V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(members: I) -> Members<V> {
        let mut members = members.into_iter();
        let mut kept = Members::new();
        for (name, value) in members.by_ref().take(FEW_MEMBERS) {
            kept.insert(name, value);
        }
        kept.extend_indexed(members);
        kept
    }
}

impl<K: Into<String>, V, const N: usize> From<[(K, V); N]> for Members<V> {
    fn from(members: [(K, V); N]) -> Members<V> {
        members.into_iter().collect()
    }
}

impl<V> IntoIterator for Members<V> {
    type Item = (String, V);
    type IntoIter = vec::IntoIter<(String, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, V> IntoIterator for &'a Members<V> {
    type Item = (&'a str, &'a V);
    type IntoIter = Iter<'a, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// The members of a [`Members`] in order.
#[derive(Clone, Debug)]
pub struct Iter<'a, V>(slice::Iter<'a, (String, V)>);

impl<'a, V> Iterator for Iter<'a, V> {
    type Item = (&'a str, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(name, value)| (name.as_str(), value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<V> ExactSizeIterator for Iter<'_, V> {}

impl<V> DoubleEndedIterator for Iter<'_, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back().map(|(name, value)| (name.as_str(), value))
    }
}
