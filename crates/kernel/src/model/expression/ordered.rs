//! Mappings of an expression.

use minijinja::{
    Value,
    value::{Enumerator, Object},
};
use std::sync::{Arc, OnceLock};

/// A map that keeps the order of its members; minijinja's own map sorts them.
#[derive(Debug)]
pub(super) struct OrderedMap {
    members: Vec<(String, Value)>,
    /// Indices of the members sorted by name, computed on first use.
    by_name: OnceLock<Vec<usize>>,
}

impl OrderedMap {
    pub(super) fn members(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.members.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// The members sorted by name.
    pub(super) fn by_name(&self) -> impl Iterator<Item = (&str, &Value)> {
        let places = self.by_name.get_or_init(|| {
            let mut places: Vec<usize> = (0..self.members.len()).collect();
            places.sort_by_key(|place| self.members.get(*place).map(|(name, _)| name));
            places
        });
        places.iter().filter_map(|place| self.members.get(*place)).map(|(name, value)| (name.as_str(), value))
    }
}

impl FromIterator<(String, Value)> for OrderedMap {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(members: I) -> Self {
        Self { members: members.into_iter().collect(), by_name: OnceLock::new() }
    }
}

impl Object for OrderedMap {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let name = key.as_str()?;
        self.members.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.members().map(|(name, _)| Value::from(name)).collect())
    }
}
