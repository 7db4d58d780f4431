//! Reads the fields of a request, and collects all violations.
//!
//! Owns types, paths and texts of violations; `v1` and `v03` know which fields exist. An invalid field reads as its
//! default, so that reading continues. A request is used only if [`Violations::refuse`] accepts it.
//!
//! As in ProtoJSON, unknown members are ignored and `null` means absent. Types are strict: a number in a string is
//! not a number, and the value of an enum is its name.

use super::fault::{Fault, Violation};
use envoi_contract::{
    json::{Object, Value},
    time::Timestamp,
};
use std::cell::RefCell;

/// The largest number of fields in one refusal. A client with more errors gets the others with its next request.
const MOST_NAMED: usize = 32;

/// The largest `int32`, the type of counts.
const MOST: u64 = 2_147_483_647;

pub(super) const REQUIRED: &str = "Field is required.";
pub(super) const NOT_EMPTY: &str = "Field must contain at least one element.";

/// The violations of a request, in the order in which they were found.
#[derive(Debug, Default)]
pub(super) struct Violations(RefCell<Vec<Violation>>);

impl Violations {
    pub(super) fn add(&self, field: impl Into<String>, description: impl Into<String>) {
        let violation = Violation { field: field.into(), description: description.into() };
        let mut violations = self.0.borrow_mut();
        if violations.len() < MOST_NAMED && !violations.contains(&violation) {
            violations.push(violation);
        }
    }

    /// Returns the value, or an error if there are violations.
    pub(super) fn refuse<T>(self, read: Option<T>) -> Result<T, Fault> {
        match read {
            Some(read) if self.0.borrow().is_empty() => Ok(read),
            _ => Err(Fault::violations(self.0.into_inner())),
        }
    }
}

/// The spelling of member names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MemberNames {
    /// Only camel case: `contextId`.
    Exact,
    /// Also snake case, `context_id`. ProtoJSON requires readers to accept both.
    Proto,
}

/// The members of one object, and its path in the request.
#[derive(Debug)]
pub(super) struct FieldReader<'a> {
    object: &'a Object,
    path: String,
    names: MemberNames,
    wrong: &'a Violations,
}

impl<'a> FieldReader<'a> {
    /// A reader for the parameters themselves.
    pub(super) const fn of(object: &'a Object, names: MemberNames, wrong: &'a Violations) -> Self {
        Self { object, path: String::new(), names, wrong }
    }

    /// The path of the member `name`.
    pub(super) fn at(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// The path of the object itself.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    pub(super) fn wrong(&self, field: impl Into<String>, description: impl Into<String>) {
        self.wrong.add(field, description);
    }

    fn fault<T>(&self, name: &str, description: &str) -> Option<T> {
        self.wrong.add(self.at(name), description);
        None
    }

    /// The member `name`, even if it is null.
    pub(super) fn present(&self, name: &str) -> Option<&'a Value> {
        let here = self.object.get(name);
        let snake =
            (self.names == MemberNames::Proto).then(|| snake_case(name)).filter(|snake| snake != name);
        let there = snake.and_then(|snake| self.object.get(&snake));
        if here.is_some() && there.is_some() {
            return self.fault(name, "Field stands twice, under both of its names.");
        }
        here.or(there)
    }

    /// The member `name`; null counts as absent.
    fn member(&self, name: &str) -> Option<&'a Value> {
        self.present(name).filter(|value| !value.is_null())
    }

    /// A text; `None` if it is absent. It may be empty.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        match self.member(name)? {
            Value::String(text) => Some(text.clone()),
            _ => self.fault(name, "Must be a string."),
        }
    }

    /// A text; an empty one counts as absent.
    pub(super) fn word(&self, name: &str) -> Option<String> {
        self.text(name).filter(|text| !text.is_empty())
    }

    /// A required text that is not empty.
    pub(super) fn required_word(&self, name: &str) -> Option<String> {
        match self.member(name) {
            None => self.fault(name, REQUIRED),
            Some(Value::String(text)) if text.is_empty() => self.fault(name, REQUIRED),
            Some(_) => self.word(name),
        }
    }

    /// A required text, which may be empty.
    pub(super) fn required_text(&self, name: &str) -> Option<String> {
        if self.member(name).is_none() {
            return self.fault(name, REQUIRED);
        }
        self.text(name)
    }

    /// A boolean; `None` if it is absent.
    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        match self.member(name)? {
            Value::Bool(truth) => Some(*truth),
            _ => self.fault(name, "Must be true or false."),
        }
    }

    /// A count; `None` if it is absent.
    pub(super) fn count(&self, name: &str) -> Option<u32> {
        let number = self.member(name)?.as_u53().filter(|number| *number <= MOST);
        let number = number.and_then(|number| u32::try_from(number).ok());
        number.or_else(|| self.fault(name, "Must be an integer from 0 to 2147483647."))
    }

    /// A time; `None` if it is absent.
    pub(super) fn time(&self, name: &str) -> Option<Timestamp> {
        let at = self.text(name)?;
        Timestamp::parse(&at).or_else(|| self.fault(name, "Must be an RFC 3339 time with its offset."))
    }

    /// A word that `read` knows; `None` if it is absent. `words` lists the valid words for the refusal.
    pub(super) fn one_of<T>(&self, name: &str, read: impl Fn(&str) -> Option<T>, words: &str) -> Option<T> {
        let word = self.word(name)?;
        read(&word).or_else(|| self.fault(name, &format!("Must be one of {words}.")))
    }

    /// A required word that `read` knows.
    pub(super) fn required_one_of<T>(
        &self,
        name: &str,
        read: impl Fn(&str) -> Option<T>,
        words: &str,
    ) -> Option<T> {
        if matches!(self.member(name), None | Some(Value::String(_))) && self.required_word(name).is_none() {
            return None;
        }
        self.one_of(name, read, words)
    }

    /// A list of texts.
    pub(super) fn words(&self, name: &str) -> Vec<String> {
        let read = |(index, element): (usize, &Value)| match element {
            Value::String(text) => Some(text.clone()),
            _ => self.fault(&format!("{name}[{index}]"), "Must be a string."),
        };
        self.array(name).iter().enumerate().filter_map(read).collect()
    }

    /// An object with any members; empty if it is absent.
    pub(super) fn free(&self, name: &str) -> Object {
        match self.member(name) {
            None => Object::new(),
            Some(Value::Object(object)) => object.clone(),
            Some(_) => self.fault(name, "Must be an object.").unwrap_or_default(),
        }
    }

    /// A required object with any members.
    pub(super) fn required_free(&self, name: &str) -> Option<Object> {
        match self.member(name) {
            None => self.fault(name, REQUIRED),
            Some(Value::Object(object)) => Some(object.clone()),
            Some(_) => self.fault(name, "Must be an object."),
        }
    }

    /// An object whose members `read` reads; `None` if it is absent.
    pub(super) fn inner<T>(&self, name: &str, read: impl Fn(&FieldReader<'a>) -> Option<T>) -> Option<T> {
        match self.member(name)? {
            Value::Object(object) => read(&self.below(object, name)),
            _ => self.fault(name, "Must be an object."),
        }
    }

    /// A required object whose members `read` reads.
    pub(super) fn required_inner<T>(
        &self,
        name: &str,
        read: impl Fn(&FieldReader<'a>) -> Option<T>,
    ) -> Option<T> {
        if self.member(name).is_none() {
            return self.fault(name, REQUIRED);
        }
        self.inner(name, read)
    }

    /// A list of at least one object, each read by `read`.
    pub(super) fn elements<T>(&self, name: &str, read: impl Fn(&FieldReader<'a>) -> Option<T>) -> Vec<T> {
        let array = self.array(name);
        let is_list = matches!(self.member(name), None | Some(Value::Array(_)));
        if array.is_empty() && is_list {
            self.wrong(self.at(name), NOT_EMPTY);
        }
        let one = |(index, element): (usize, &'a Value)| {
            let name = format!("{name}[{index}]");
            match element {
                Value::Object(object) => read(&self.below(object, &name)),
                _ => self.fault(&name, "Must be an object."),
            }
        };
        array.iter().enumerate().filter_map(one).collect()
    }

    fn array(&self, name: &str) -> &'a [Value] {
        match self.member(name) {
            None => &[],
            Some(Value::Array(elements)) => elements,
            Some(_) => self.fault(name, "Must be a list.").unwrap_or_default(),
        }
    }

    fn below(&self, object: &'a Object, name: &str) -> Self {
        Self { object, path: self.at(name), names: self.names, wrong: self.wrong }
    }
}

/// Converts `contextId` to `context_id`, as protocol buffers write it.
fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len().saturating_add(2));
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}
