//! Events as programs see them.
//!
//! In the journal a value of the contracts is a text, so that nothing of it is lost, and a time is a number. Here a value is
//! JSON, with its members in their order and its numbers as they were written, and a time is RFC 3339. Owns this form alone: what an event
//! has is the kernel's.

use envoi_contract::{
    json::{Number, Object, Value},
    stored,
    time::Timestamp,
};
use envoi_kernel::Record;
use serde::{
    Serialize, Serializer,
    ser::{
        SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
        SerializeTupleStruct, SerializeTupleVariant,
    },
};
use std::fmt;

/// The event as a row of [`crate::event::Event`].
#[must_use]
pub fn value(record: &Record) -> Value {
    // Every type of an event can be written: the journal has written it.
    record.serialize(Shown).unwrap_or(Value::Null)
}

/// As [`value`], of the text that the journal has. A text that is no event of this version is given as it is.
#[must_use]
pub fn text(journal: String) -> String {
    match serde_json::from_str::<Record>(&journal) {
        Ok(record) => value(&record).compact(),
        Err(_) => journal,
    }
}

/// As [`text`], with the text of the journal as the member `stored`.
#[must_use]
pub fn text_and_stored(journal: String) -> String {
    match serde_json::from_str::<Record>(&journal).map(|record| value(&record)) {
        Ok(Value::Object(mut members)) => {
            members.insert("stored", Value::from(journal));
            Value::Object(members).compact()
        }
        _ => journal,
    }
}

/// Writes what is serialized as a value of the contracts.
struct Shown;

/// Something cannot be written as JSON.
#[derive(Debug)]
struct Unwritable(String);

impl fmt::Display for Unwritable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unwritable {}

impl serde::ser::Error for Unwritable {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

type Written = Result<Value, Unwritable>;

fn number(text: &str) -> Written {
    Number::parse(text).map(Value::from).ok_or_else(|| Unwritable(format!("`{text}` is not a number")))
}

fn named(name: &str, value: Value) -> Value {
    Value::Object(Object::from([(name, value)]))
}

impl Serializer for Shown {
    type Ok = Value;
    type Error = Unwritable;
    type SerializeSeq = List;
    type SerializeTuple = List;
    type SerializeTupleStruct = List;
    type SerializeTupleVariant = List;
    type SerializeMap = Members;
    type SerializeStruct = Members;
    type SerializeStructVariant = Members;

    fn serialize_newtype_struct<T: ?Sized + Serialize>(self, name: &'static str, value: &T) -> Written {
        let written = value.serialize(Shown)?;
        match (name, &written) {
            (stored::JSON, Value::String(text)) => {
                Value::parse_str(text).map_err(|error| Unwritable(error.to_string()))
            }
            (stored::TIME, Value::Number(ms)) => {
                let ms = ms.as_str().parse().map_err(|_| Unwritable(format!("`{ms}` is not a time")))?;
                Ok(Value::from(Timestamp::from_millis(ms).to_string()))
            }
            _ => Ok(written),
        }
    }

    fn serialize_bool(self, value: bool) -> Written {
        Ok(Value::from(value))
    }

    fn serialize_i8(self, value: i8) -> Written {
        number(&value.to_string())
    }

    fn serialize_i16(self, value: i16) -> Written {
        number(&value.to_string())
    }

    fn serialize_i32(self, value: i32) -> Written {
        number(&value.to_string())
    }

    fn serialize_i64(self, value: i64) -> Written {
        number(&value.to_string())
    }

    fn serialize_u8(self, value: u8) -> Written {
        number(&value.to_string())
    }

    fn serialize_u16(self, value: u16) -> Written {
        number(&value.to_string())
    }

    fn serialize_u32(self, value: u32) -> Written {
        number(&value.to_string())
    }

    fn serialize_u64(self, value: u64) -> Written {
        number(&value.to_string())
    }

    fn serialize_f32(self, value: f32) -> Written {
        number(&value.to_string())
    }

    fn serialize_f64(self, value: f64) -> Written {
        number(&value.to_string())
    }

    fn serialize_char(self, value: char) -> Written {
        Ok(Value::from(value.to_string()))
    }

    fn serialize_str(self, value: &str) -> Written {
        Ok(Value::from(value))
    }

    fn serialize_bytes(self, _: &[u8]) -> Written {
        Err(Unwritable("bytes have no form in JSON".to_owned()))
    }

    fn serialize_none(self) -> Written {
        Ok(Value::Null)
    }

    fn serialize_some<T: ?Sized + Serialize>(self, value: &T) -> Written {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Written {
        Ok(Value::Null)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Written {
        Ok(Value::Null)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Written {
        Ok(Value::from(variant))
    }

    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Written {
        Ok(named(variant, value.serialize(self)?))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<List, Unwritable> {
        Ok(List::default())
    }

    fn serialize_tuple(self, _: usize) -> Result<List, Unwritable> {
        Ok(List::default())
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<List, Unwritable> {
        Ok(List::default())
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<List, Unwritable> {
        Ok(List { variant: Some(variant), ..List::default() })
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Members, Unwritable> {
        Ok(Members::default())
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Members, Unwritable> {
        Ok(Members::default())
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Members, Unwritable> {
        Ok(Members { variant: Some(variant), ..Members::default() })
    }
}

/// A list, or the fields of a tuple.
#[derive(Default)]
struct List {
    elements: Vec<Value>,
    variant: Option<&'static str>,
}

impl List {
    fn add<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<(), Unwritable> {
        self.elements.push(value.serialize(Shown)?);
        Ok(())
    }

    fn written(self) -> Value {
        let list = Value::Array(self.elements);
        match self.variant {
            Some(variant) => named(variant, list),
            None => list,
        }
    }
}

/// Members of an object.
#[derive(Default)]
struct Members {
    members: Object,
    /// The name of the member whose value comes next.
    name: Option<String>,
    variant: Option<&'static str>,
}

impl Members {
    fn add<T: ?Sized + Serialize>(&mut self, name: &str, value: &T) -> Result<(), Unwritable> {
        self.members.insert(name, value.serialize(Shown)?);
        Ok(())
    }

    fn written(self) -> Value {
        let object = Value::Object(self.members);
        match self.variant {
            Some(variant) => named(variant, object),
            None => object,
        }
    }
}

impl SerializeMap for Members {
    type Ok = Value;
    type Error = Unwritable;

    fn serialize_key<T: ?Sized + Serialize>(&mut self, key: &T) -> Result<(), Unwritable> {
        match key.serialize(Shown)? {
            Value::String(name) => self.name = Some(name),
            other => return Err(Unwritable(format!("`{}` is not the name of a member", other.compact()))),
        }
        Ok(())
    }

    fn serialize_value<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<(), Unwritable> {
        let name = self.name.take().ok_or_else(|| Unwritable("a value came before its name".to_owned()))?;
        self.add(&name, value)
    }

    fn end(self) -> Written {
        Ok(self.written())
    }
}

macro_rules! list {
    ($($of:ident $add:ident,)+) => {
        $(impl $of for List {
            type Ok = Value;
            type Error = Unwritable;

            fn $add<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<(), Unwritable> {
                self.add(value)
            }

            fn end(self) -> Written {
                Ok(self.written())
            }
        })+
    };
}

list! {
    SerializeSeq serialize_element,
    SerializeTuple serialize_element,
    SerializeTupleStruct serialize_field,
    SerializeTupleVariant serialize_field,
}

macro_rules! members {
    ($($of:ident,)+) => {
        $(impl $of for Members {
            type Ok = Value;
            type Error = Unwritable;

            fn serialize_field<T: ?Sized + Serialize>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), Unwritable> {
                self.add(name, value)
            }

            fn end(self) -> Written {
                Ok(self.written())
            }
        })+
    };
}

members! { SerializeStruct, SerializeStructVariant, }

#[cfg(test)]
mod tests {
    use super::*;

    /// Records of every type, as journals have them.
    const STORED: &str = include_str!("../../../kernel/tests/it/stored/records.jsonl");

    /// Every text below `value`.
    fn texts<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
        match value {
            Value::String(text) => found.push(text),
            Value::Array(elements) => elements.iter().for_each(|element| texts(element, found)),
            Value::Object(members) => members.values().for_each(|member| texts(member, found)),
            _ => {}
        }
    }

    #[test]
    fn values_and_times_are_themselves_in_every_type_of_event() {
        let mut seen = 0;
        for line in STORED.lines() {
            let Ok(record) = serde_json::from_str::<Record>(line) else { panic!("{line}") };
            seen += 1;
            let shown = value(&record);
            assert_eq!(shown.get("seq").and_then(Value::as_u53), Some(record.seq), "{line}");
            let at = shown.get("at").and_then(Value::as_str).and_then(Timestamp::parse);
            assert_eq!(at, Some(record.at), "{line}");
            assert_eq!(
                shown.get("event").and_then(|event| event.get("type")).and_then(Value::as_str),
                Some(record.event.name())
            );
            let mut all = Vec::new();
            texts(&shown, &mut all);
            let folded: Vec<_> = all
                .into_iter()
                .filter(|text| text.starts_with(['{', '[']) || matches!(*text, "null" | "true"))
                .collect();
            assert!(folded.is_empty(), "{folded:?}: {line}");
        }
        assert!(seen > 20, "{seen}");
    }
}
