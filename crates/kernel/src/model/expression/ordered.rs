//! Mappings of an expression.

use minijinja::{
    Value,
    value::{Enumerator, Object},
};
use std::sync::Arc;

/// A map in the order of its members; minijinja's own sorts them.
#[derive(Debug)]
pub(super) struct OrderedMap(pub(super) Vec<(String, Value)>);

impl Object for OrderedMap {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let name = key.as_str()?;
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.0.iter().map(|(name, _)| Value::from(name.as_str())).collect())
    }
}
