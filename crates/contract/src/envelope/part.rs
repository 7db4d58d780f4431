//! Members of an envelope that borrow from it, so that writing does not copy their values.

use alloc::string::{String, ToString};

use crate::json::{Members, Object, Value, write_compact, write_string};

/// A member's value, borrowed if possible.
pub(super) enum Part<'a> {
    Text(&'a str),
    MaybeText(Option<&'a str>),
    Texts(&'a [String]),
    Count(u64),
    Flag(bool),
    Flags(&'a Members<bool>),
    TextMap(&'a Members<String>),
    Free(&'a Object),
    FreeList(&'a [Object]),
    Made(Value),
}

impl Part<'_> {
    /// Returns a copy of the value.
    pub(super) fn to_value(&self) -> Value {
        match self {
            Part::Text(text) => Value::from(*text),
            Part::MaybeText(text) => Value::from(*text),
            Part::Texts(texts) => Value::from(texts.to_vec()),
            Part::Count(count) => Value::from(*count),
            Part::Flag(flag) => Value::from(*flag),
            Part::Flags(flags) => map(flags, |flag| Value::from(*flag)),
            Part::TextMap(texts) => map(texts, |text| Value::from(text.as_str())),
            Part::Free(object) => Value::Object((*object).clone()),
            Part::FreeList(objects) => Value::from(objects.to_vec()),
            Part::Made(value) => value.clone(),
        }
    }

    /// Appends the value on one line.
    pub(super) fn write(&self, out: &mut String) {
        match self {
            Part::Text(text) | Part::MaybeText(Some(text)) => write_string(text, out),
            Part::Texts(texts) => list(texts, |text, out| write_string(text, out), out),
            Part::Free(object) => members(object, write_compact, out),
            Part::FreeList(objects) => list(objects, |object, out| members(object, write_compact, out), out),
            Part::TextMap(texts) => members(texts, |text, out| write_string(text, out), out),
            Part::Made(value) => write_compact(value, out),
            Part::MaybeText(None) | Part::Count(_) | Part::Flag(_) | Part::Flags(_) => {
                write_compact(&self.to_value(), out);
            }
        }
    }
}

fn map<V>(members: &Members<V>, value: fn(&V) -> Value) -> Value {
    let copied = members.iter().map(|(name, member)| (name.to_string(), value(member)));
    Value::Object(Object::from_distinct(copied.collect()))
}

fn list<T>(elements: &[T], write: fn(&T, &mut String), out: &mut String) {
    out.push('[');
    for (index, element) in elements.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write(element, out);
    }
    out.push(']');
}

fn members<V>(members: &Members<V>, write: fn(&V, &mut String), out: &mut String) {
    out.push('{');
    for (index, (name, value)) in members.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        member(name, out);
        write(value, out);
    }
    out.push('}');
}

/// Appends a member's name and the colon.
pub(super) fn member(name: &str, out: &mut String) {
    write_string(name, out);
    out.push(':');
}
