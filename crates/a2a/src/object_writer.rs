//! Writes JSON objects member by member. Empty members are left out, as both versions require.
//!
//! It does not depend on the names of members.

use envoi_contract::{
    json::{Object, Value},
    time::Timestamp,
};

/// An object that is being written.
#[derive(Debug, Default)]
pub(super) struct ObjectWriter(Object);

impl ObjectWriter {
    pub(super) const fn new() -> Self {
        Self(Object::new())
    }

    /// A writer that adds to existing members.
    pub(super) const fn of(members: Object) -> Self {
        Self(members)
    }

    /// A member that is always written.
    pub(super) fn put(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name, value.into());
        self
    }

    /// A text, unless it is absent or empty.
    pub(super) fn word(self, name: &str, text: Option<&str>) -> Self {
        match text {
            None | Some("") => self,
            Some(text) => self.put(name, text),
        }
    }

    /// `true`, or no member.
    pub(super) fn flag(self, name: &str, truth: bool) -> Self {
        if truth { self.put(name, true) } else { self }
    }

    /// A list, unless it is empty.
    pub(super) fn list(self, name: &str, elements: Vec<Value>) -> Self {
        if elements.is_empty() { self } else { self.put(name, elements) }
    }

    /// A list of texts, unless it is empty.
    pub(super) fn words(self, name: &str, texts: &[String]) -> Self {
        self.list(name, texts.iter().map(|text| text.as_str().into()).collect())
    }

    /// An object, unless it is empty.
    pub(super) fn object(self, name: &str, object: &Object) -> Self {
        if object.is_empty() { self } else { self.put(name, object.clone()) }
    }

    /// A value, unless it is absent.
    pub(super) fn maybe(self, name: &str, value: Option<Value>) -> Self {
        match value {
            None => self,
            Some(value) => self.put(name, value),
        }
    }

    /// A number, unless it is absent.
    pub(super) fn count(self, name: &str, count: Option<u32>) -> Self {
        self.maybe(name, count.map(|count| u64::from(count).into()))
    }

    /// A time in UTC, unless it is absent.
    pub(super) fn time(self, name: &str, at: Option<Timestamp>) -> Self {
        self.maybe(name, at.map(|at| at.to_string().into()))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The members written so far.
    pub(super) fn members(self) -> Object {
        self.0
    }

    pub(super) fn value(self) -> Value {
        Value::Object(self.0)
    }
}
