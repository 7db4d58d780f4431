//! Events as programs see them.
//!
//! In the journal a value of the contracts is a text, so that nothing of it is lost, and a time is a number. Here a value is
//! JSON, with its members in their order and its numbers as they were written, and a time is RFC 3339. Owns this form alone: what an event
//! has is the kernel's. It is written in one pass, without a tree of values: each stream of events writes each event.

use envoi_contract::{json, json::Number, stored, time::Timestamp};
use envoi_kernel::Record;
use serde::{
    Serialize, Serializer,
    ser::{
        SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
        SerializeTupleStruct, SerializeTupleVariant,
    },
};
use std::fmt::{self, Display, Write as _};

/// The event as a row of [`crate::event::Event`]: JSON on one line.
#[must_use]
pub fn shown(record: &Record) -> String {
    let mut writer = Writer { out: String::new(), form: Form::Plain };
    match record.serialize(&mut writer) {
        Ok(()) => writer.out,
        // Every type of an event can be written: the journal has written it.
        Err(_) => "null".to_owned(),
    }
}

/// As [`shown`], of the text that the journal has. A text that is no event of this version is given as it is.
#[must_use]
pub fn text(journal: String) -> String {
    match serde_json::from_str::<Record>(&journal) {
        Ok(record) => shown(&record),
        Err(_) => journal,
    }
}

/// As [`text`], with the text of the journal as the member `stored`.
#[must_use]
pub fn text_and_stored(journal: String) -> String {
    let Ok(record) = serde_json::from_str::<Record>(&journal) else { return journal };
    let mut out = shown(&record);
    if out.pop() != Some('}') {
        return journal;
    }
    out.push_str(",\"stored\":");
    json::write_string(&journal, &mut out);
    out.push('}');
    out
}

/// Writes what is serialized, as JSON of the contracts.
struct Writer {
    out: String,
    form: Form,
}

/// How the next scalar is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// As it is.
    Plain,
    /// A text that is JSON already: contract values write themselves on one line.
    Json,
    /// A number of milliseconds.
    Time,
}

/// Something cannot be written as JSON.
#[derive(Debug)]
struct Unwritable(String);

impl Display for Unwritable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unwritable {}

impl serde::ser::Error for Unwritable {
    fn custom<T: Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

type Written = Result<(), Unwritable>;

impl Writer {
    fn display(&mut self, value: impl Display) -> Written {
        write!(self.out, "{value}").map_err(|error| Unwritable(error.to_string()))
    }

    fn float(&mut self, value: impl Display) -> Written {
        let text = value.to_string();
        let number = Number::parse(&text).ok_or_else(|| Unwritable(format!("`{text}` is not a number")))?;
        self.display(number)
    }

    /// Opens an object or a list, within an object of one member if it is a variant with a name.
    fn open(&mut self, variant: Option<&'static str>, bracket: char) -> Group<'_> {
        if let Some(variant) = variant {
            self.out.push('{');
            json::write_string(variant, &mut self.out);
            self.out.push(':');
        }
        self.out.push(bracket);
        let close = if bracket == '{' { '}' } else { ']' };
        Group { writer: self, is_first: true, close, is_variant: variant.is_some() }
    }
}

impl<'w> Serializer for &'w mut Writer {
    type Ok = ();
    type Error = Unwritable;
    type SerializeSeq = Group<'w>;
    type SerializeTuple = Group<'w>;
    type SerializeTupleStruct = Group<'w>;
    type SerializeTupleVariant = Group<'w>;
    type SerializeMap = Group<'w>;
    type SerializeStruct = Group<'w>;
    type SerializeStructVariant = Group<'w>;

    fn serialize_newtype_struct<T: ?Sized + Serialize>(self, name: &'static str, value: &T) -> Written {
        self.form = match name {
            stored::JSON => Form::Json,
            stored::TIME => Form::Time,
            _ => Form::Plain,
        };
        let written = value.serialize(&mut *self);
        self.form = Form::Plain;
        written
    }

    fn serialize_bool(self, value: bool) -> Written {
        self.display(value)
    }

    fn serialize_i8(self, value: i8) -> Written {
        self.display(value)
    }

    fn serialize_i16(self, value: i16) -> Written {
        self.display(value)
    }

    fn serialize_i32(self, value: i32) -> Written {
        self.display(value)
    }

    fn serialize_i64(self, value: i64) -> Written {
        match self.form {
            Form::Time => {
                self.out.push('"');
                self.display(Timestamp::from_millis(value))?;
                self.out.push('"');
                Ok(())
            }
            Form::Plain | Form::Json => self.display(value),
        }
    }

    fn serialize_u8(self, value: u8) -> Written {
        self.display(value)
    }

    fn serialize_u16(self, value: u16) -> Written {
        self.display(value)
    }

    fn serialize_u32(self, value: u32) -> Written {
        self.display(value)
    }

    fn serialize_u64(self, value: u64) -> Written {
        self.display(value)
    }

    fn serialize_f32(self, value: f32) -> Written {
        self.float(value)
    }

    fn serialize_f64(self, value: f64) -> Written {
        self.float(value)
    }

    fn serialize_char(self, value: char) -> Written {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Written {
        match self.form {
            Form::Json => self.out.push_str(value),
            Form::Plain | Form::Time => json::write_string(value, &mut self.out),
        }
        Ok(())
    }

    fn serialize_bytes(self, _: &[u8]) -> Written {
        Err(Unwritable("bytes have no form in JSON".to_owned()))
    }

    fn serialize_none(self) -> Written {
        self.serialize_unit()
    }

    fn serialize_some<T: ?Sized + Serialize>(self, value: &T) -> Written {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Written {
        self.out.push_str("null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Written {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Written {
        self.serialize_str(variant)
    }

    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Written {
        let mut object = self.open(None, '{');
        object.member(variant, value)?;
        object.close()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Group<'w>, Unwritable> {
        Ok(self.open(None, '['))
    }

    fn serialize_tuple(self, _: usize) -> Result<Group<'w>, Unwritable> {
        Ok(self.open(None, '['))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Group<'w>, Unwritable> {
        Ok(self.open(None, '['))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Group<'w>, Unwritable> {
        Ok(self.open(Some(variant), '['))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Group<'w>, Unwritable> {
        Ok(self.open(None, '{'))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Group<'w>, Unwritable> {
        Ok(self.open(None, '{'))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Group<'w>, Unwritable> {
        Ok(self.open(Some(variant), '{'))
    }
}

/// An object or a list that is being written.
struct Group<'w> {
    writer: &'w mut Writer,
    is_first: bool,
    close: char,
    /// It stands within an object that has its name.
    is_variant: bool,
}

impl Group<'_> {
    fn next(&mut self) {
        if !self.is_first {
            self.writer.out.push(',');
        }
        self.is_first = false;
    }

    fn element<T: ?Sized + Serialize>(&mut self, value: &T) -> Written {
        self.next();
        value.serialize(&mut *self.writer)
    }

    fn member<T: ?Sized + Serialize>(&mut self, name: &str, value: &T) -> Written {
        self.next();
        json::write_string(name, &mut self.writer.out);
        self.writer.out.push(':');
        value.serialize(&mut *self.writer)
    }

    fn close(self) -> Written {
        self.writer.out.push(self.close);
        if self.is_variant {
            self.writer.out.push('}');
        }
        Ok(())
    }
}

impl SerializeMap for Group<'_> {
    type Ok = ();
    type Error = Unwritable;

    fn serialize_key<T: ?Sized + Serialize>(&mut self, key: &T) -> Written {
        self.next();
        let begin = self.writer.out.len();
        key.serialize(&mut *self.writer)?;
        match self.writer.out.get(begin..) {
            Some(name) if name.starts_with('"') => Ok(()),
            other => Err(Unwritable(format!("`{}` is not the name of a member", other.unwrap_or_default()))),
        }
    }

    fn serialize_value<T: ?Sized + Serialize>(&mut self, value: &T) -> Written {
        self.writer.out.push(':');
        value.serialize(&mut *self.writer)
    }

    fn end(self) -> Written {
        self.close()
    }
}

macro_rules! list {
    ($($of:ident $add:ident,)+) => {
        $(impl $of for Group<'_> {
            type Ok = ();
            type Error = Unwritable;

            fn $add<T: ?Sized + Serialize>(&mut self, value: &T) -> Written {
                self.element(value)
            }

            fn end(self) -> Written {
                self.close()
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
        $(impl $of for Group<'_> {
            type Ok = ();
            type Error = Unwritable;

            fn serialize_field<T: ?Sized + Serialize>(&mut self, name: &'static str, value: &T) -> Written {
                self.member(name, value)
            }

            fn end(self) -> Written {
                self.close()
            }
        })+
    };
}

members! { SerializeStruct, SerializeStructVariant, }

#[cfg(test)]
mod tests {
    use super::*;
    use envoi_contract::json::Value;

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
            let text = shown(&record);
            let shown = Value::parse_str(&text).unwrap();
            assert_eq!(shown.compact(), text, "{line}");
            let with = Value::parse_str(&text_and_stored(line.to_owned())).unwrap();
            assert_eq!(with.get("stored").and_then(Value::as_str), Some(line));
            assert_eq!(with.get("event"), shown.get("event"));
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

    /// Every form that a row may have, whether or not an event has it today.
    #[derive(serde::Serialize)]
    enum Shape {
        Unit,
        New(u8),
        Pair(i8, f64),
        Named { a: Option<char>, b: std::collections::BTreeMap<String, Vec<()>> },
    }

    fn written(value: &impl Serialize) -> Result<String, String> {
        let mut writer = Writer { out: String::new(), form: Form::Plain };
        value.serialize(&mut writer).map(|()| writer.out).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_written_is_what_a_general_writer_writes() {
        let map = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), vec![(), ()])).collect();
        let shapes = [
            Shape::Unit,
            Shape::New(255),
            Shape::Pair(-1, 0.5),
            Shape::Named { a: None, b: map(&[]) },
            Shape::Named { a: Some('"'), b: map(&["a\n", "\u{1}é"]) },
        ];
        assert_eq!(written(&shapes).unwrap(), serde_json::to_string(&shapes).unwrap());
        let times = (Timestamp::from_millis(0), "a\\b", Value::parse_str(r#"{"b":1.00,"a":[]}"#).unwrap());
        assert_eq!(written(&times).unwrap(), r#"["1970-01-01T00:00:00.000Z","a\\b",{"b":1.00,"a":[]}]"#);
        assert!(written(&f64::NAN).is_err());
        assert!(written(&std::collections::BTreeMap::from([(1, 2)])).is_err(), "a name is a text");
    }
}
