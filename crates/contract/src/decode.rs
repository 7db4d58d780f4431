//! Takes the members of an object one by one, with the same refusals in every contract. The remaining members are
//! unknown ones.
//!
//! It knows types, not meanings: each contract lists its members.

use crate::code::Code;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::error::Diagnostic;
use crate::json::{Members, Object, Value, escape_segment};
use crate::quoted::shorten;
use crate::suggestion::nearest;

/// Longest part of a name in a refusal, in Unicode scalars.
const FOUND_SCALARS: usize = 60;

/// The members of an object that were not taken yet. The pointer of a refusal starts at this object; the caller adds
/// the location of the object.
pub(crate) struct Fields {
    code: Code,
    slots: Vec<(String, Option<Value>)>,
    /// The probable index of the next member. Documents in our order are read without a search.
    likely: usize,
}

impl Fields {
    /// The members of `value`, which must be an object.
    pub(crate) fn of(value: &Value, code: Code) -> Result<Fields, Diagnostic> {
        match value {
            Value::Object(object) => Ok(Fields::of_object(object.clone(), code)),
            other => Err(Diagnostic::of_value(code, "", "an object", other)),
        }
    }

    pub(crate) fn of_object(object: Object, code: Code) -> Fields {
        let slots = object.into_iter().map(|(name, value)| (name, Some(value))).collect();
        Fields { code, slots, likely: 0 }
    }

    /// Takes the member `name`.
    pub(crate) fn take(&mut self, name: &str) -> Option<Value> {
        let at = self.find(name)?;
        self.likely = at + 1;
        self.slots.get_mut(at)?.1.take()
    }

    fn find(&self, name: &str) -> Option<usize> {
        if self.slots.get(self.likely).is_some_and(|(key, _)| key == name) {
            return Some(self.likely);
        }
        self.slots.iter().position(|(key, _)| key == name)
    }

    /// A refusal of the member `name`.
    pub(crate) fn wrong(&self, name: &str, expected: &str, found: &Value) -> Diagnostic {
        Diagnostic::of_value(self.code, &pointer(name), expected, found)
    }

    /// A refusal because there is no member `name`.
    pub(crate) fn missing(&self, name: &str) -> Diagnostic {
        Diagnostic::new(self.code, "", &format!("a member `{name}`"), "none")
    }

    /// A required string.
    pub(crate) fn required_string(&mut self, name: &str) -> Result<String, Diagnostic> {
        match self.take(name) {
            Some(Value::String(text)) => Ok(text),
            Some(other) => Err(self.wrong(name, "a string", &other)),
            None => Err(self.missing(name)),
        }
    }

    /// A string; null means absent.
    pub(crate) fn string(&mut self, name: &str) -> Result<Option<String>, Diagnostic> {
        self.take(name).map_or(Ok(None), |value| null_or_string(self, name, value))
    }

    /// A time, kept as its text. Null and absent are the same.
    pub(crate) fn time(&mut self, name: &str) -> Result<Option<String>, Diagnostic> {
        let Some(text) = self.string(name)? else { return Ok(None) };
        match crate::time::passed_on(&text) {
            Some(kept) => Ok(Some(kept)),
            None => Err(self.wrong(name, "an RFC 3339 time or null", &Value::from(text))),
        }
    }

    /// An object; null means absent.
    pub(crate) fn object_or_null(&mut self, name: &str) -> Result<Option<Object>, Diagnostic> {
        match self.take(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Object(object)) => Ok(Some(object)),
            Some(other) => Err(self.wrong(name, "an object or null", &other)),
        }
    }

    /// A string; empty when absent.
    pub(crate) fn string_or_default(&mut self, name: &str) -> Result<String, Diagnostic> {
        match self.take(name) {
            None => Ok(String::new()),
            Some(Value::String(text)) => Ok(text),
            Some(other) => Err(self.wrong(name, "a string", &other)),
        }
    }

    /// A boolean; false when absent.
    pub(crate) fn bool(&mut self, name: &str) -> Result<bool, Diagnostic> {
        self.bool_or(name, false)
    }

    /// A boolean with a default.
    pub(crate) fn bool_or(&mut self, name: &str, default: bool) -> Result<bool, Diagnostic> {
        match self.take(name) {
            None => Ok(default),
            Some(Value::Bool(truth)) => Ok(truth),
            Some(other) => Err(self.wrong(name, "true or false", &other)),
        }
    }

    /// An integer from 0 to 2^53 - 1 with a default.
    pub(crate) fn u53_or(&mut self, name: &str, default: u64) -> Result<u64, Diagnostic> {
        match self.take(name) {
            None => Ok(default),
            Some(value) => value
                .as_u53()
                .ok_or_else(|| self.wrong(name, "an integer from 0 to 9007199254740991", &value)),
        }
    }

    /// A list of strings; empty when absent.
    pub(crate) fn strings(&mut self, name: &str) -> Result<Vec<String>, Diagnostic> {
        let Some(value) = self.take(name) else { return Ok(Vec::new()) };
        let Value::Array(elements) = value else { return Err(self.wrong(name, "a list of strings", &value)) };
        elements.into_iter().enumerate().map(|(index, element)| self.element(name, index, element)).collect()
    }

    fn element(&self, name: &str, index: usize, element: Value) -> Result<String, Diagnostic> {
        match element {
            Value::String(text) => Ok(text),
            other => Err(Diagnostic::of_value(
                self.code,
                &format!("{}/{index}", pointer(name)),
                "a string",
                &other,
            )),
        }
    }

    /// An object; empty when absent.
    pub(crate) fn object(&mut self, name: &str) -> Result<Object, Diagnostic> {
        match self.take(name) {
            None => Ok(Object::new()),
            Some(Value::Object(object)) => Ok(object),
            Some(other) => Err(self.wrong(name, "an object", &other)),
        }
    }

    /// A map whose values have the same type; empty when absent.
    pub(crate) fn map_of<V>(
        &mut self,
        name: &str,
        expected: &str,
        read: fn(Value) -> Result<V, Value>,
    ) -> Result<Members<V>, Diagnostic> {
        let object = self.object(name)?;
        let mut members = Vec::with_capacity(object.len());
        for (key, value) in object {
            match read(value) {
                Ok(value) => members.push((key, value)),
                Err(other) => {
                    let pointer = pointer(name) + &pointer(&key);
                    return Err(Diagnostic::of_value(self.code, &pointer, expected, &other));
                }
            }
        }
        Ok(Members::from_distinct(members))
    }

    /// Refuses members that were not taken. `names` are the known members.
    pub(crate) fn refuse_others(&self, names: &[&str]) -> Result<(), Diagnostic> {
        let Some((name, _)) = self.slots.iter().find(|(_, value)| value.is_some()) else { return Ok(()) };
        let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        let expected = format!("one of the members {}", quoted.join(", "));
        let refusal = Diagnostic::new(self.code, &pointer(name), &expected, &shorten(name, FOUND_SCALARS));
        Err(match nearest(name, names, true) {
            Some(meant) => refusal.with_hint(format!("did you mean `{meant}`?")),
            None => refusal,
        })
    }

    /// The members that were not taken, in the order in which they were read.
    pub(crate) fn rest(self) -> Object {
        let left = self.slots.into_iter().filter_map(|(name, value)| value.map(|value| (name, value)));
        Object::from_distinct(left.collect())
    }
}

/// The pointer of a member, relative to its object.
fn pointer(name: &str) -> String {
    format!("/{}", escape_segment(name))
}

/// A string or null.
pub(crate) fn null_or_string(
    fields: &Fields,
    name: &str,
    value: Value,
) -> Result<Option<String>, Diagnostic> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text)),
        other => Err(fields.wrong(name, "a string or null", &other)),
    }
}

/// An object with its known members first, then the unknown ones; a known name is never written twice.
pub(crate) fn with_unknown(known: Object, unknown: &Object) -> Value {
    if unknown.is_empty() {
        return Value::Object(known);
    }
    let known_count = known.len();
    let mut members: Vec<(String, Value)> = known.into_iter().collect();
    for (name, value) in unknown {
        let clashes = members.iter().take(known_count).any(|(key, _)| key == name);
        if !clashes {
            members.push((name.to_owned(), value.clone()));
        }
    }
    Value::Object(Object::from_distinct(members))
}
