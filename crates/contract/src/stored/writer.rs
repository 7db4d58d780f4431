//! The serializer of rows. See [`super`] for the two forms.

use super::names::{JSON, TIME};
use super::plain::{self, Form};
use crate::json::{self, Number};
use crate::time::Timestamp;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt::{self, Display, Write as _};
use serde::{
    Serialize, Serializer,
    ser::{
        SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
        SerializeTupleStruct, SerializeTupleVariant,
    },
};

/// Appends the row to `out`, on one line, in the form that the store keeps.
///
/// # Errors
/// A value that could not be read again is refused; `out` then contains a part of the row.
pub fn kept(row: &impl Serialize, out: &mut String) -> Result<(), Unwritable> {
    write_row(row, out, Style::Kept)
}

/// Appends the row to `out`, on one line, in the form that programs see.
///
/// # Errors
/// The row cannot be written as JSON, for example because a name is not a text; `out` then contains a part of the
/// row.
pub fn shown(row: &impl Serialize, out: &mut String) -> Result<(), Unwritable> {
    write_row(row, out, Style::Shown)
}

fn write_row(row: &impl Serialize, out: &mut String, style: Style) -> Written {
    let mut writer = Writer { out, style, next: Next::Plain, wrote_none: false };
    row.serialize(&mut writer)
}

/// Which of the two forms.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Kept,
    Shown,
}

/// Writes serialized values directly, without a tree.
struct Writer<'o> {
    out: &'o mut String,
    style: Style,
    next: Next,
    /// True if the last value that was written is an absent one.
    wrote_none: bool,
}

/// The meaning of the next scalar.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// The scalar itself.
    Plain,
    /// A text that is already JSON: contract values write themselves on one line.
    Json,
    /// A number of milliseconds.
    Time,
}

/// A value cannot be written as JSON, or could not be read again.
#[derive(Debug)]
pub struct Unwritable(String);

impl Display for Unwritable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for Unwritable {}

impl serde::ser::Error for Unwritable {
    fn custom<T: Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

type Written = Result<(), Unwritable>;

impl<'o> Writer<'o> {
    fn display(&mut self, value: impl Display) -> Written {
        write!(self.out, "{value}").map_err(|error| Unwritable(error.to_string()))
    }

    fn float(&mut self, value: impl Display) -> Written {
        let text = value.to_string();
        let number = Number::parse(&text).ok_or_else(|| Unwritable(format!("`{text}` is not a number")))?;
        self.display(number)
    }

    /// Writes a contract value, given its JSON.
    fn value(&mut self, json: &str) -> Written {
        match if self.style == Style::Shown { Form::Itself } else { plain::form(json) } {
            Form::Itself => self.out.push_str(json),
            Form::Text => json::write_string(json, self.out),
            Form::Refused => {
                let found =
                    format!("a value of {} bytes is too deep, or too large, to be read again", json.len());
                return Err(Unwritable(found));
            }
        }
        Ok(())
    }

    /// Opens an object or a list. A variant with a name is wrapped in an object with one member.
    fn open(&mut self, variant: Option<&'static str>, bracket: char) -> Group<'_, 'o> {
        if let Some(variant) = variant {
            self.out.push('{');
            json::write_string(variant, self.out);
            self.out.push(':');
        }
        self.out.push(bracket);
        let close = if bracket == '{' { '}' } else { ']' };
        Group { writer: self, is_first: true, close, is_variant: variant.is_some() }
    }
}

impl<'w, 'o> Serializer for &'w mut Writer<'o> {
    type Ok = ();
    type Error = Unwritable;
    type SerializeSeq = Group<'w, 'o>;
    type SerializeTuple = Group<'w, 'o>;
    type SerializeTupleStruct = Group<'w, 'o>;
    type SerializeTupleVariant = Group<'w, 'o>;
    type SerializeMap = Group<'w, 'o>;
    type SerializeStruct = Group<'w, 'o>;
    type SerializeStructVariant = Group<'w, 'o>;

    fn serialize_newtype_struct<T: ?Sized + Serialize>(self, name: &'static str, value: &T) -> Written {
        self.next = match name {
            JSON => Next::Json,
            TIME => Next::Time,
            _ => Next::Plain,
        };
        let written = value.serialize(&mut *self);
        self.next = Next::Plain;
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
        if self.next != Next::Time || self.style == Style::Kept {
            return self.display(value);
        }
        self.out.push('"');
        self.display(Timestamp::from_millis(value))?;
        self.out.push('"');
        Ok(())
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
        if self.next == Next::Json {
            return self.value(value);
        }
        json::write_string(value, self.out);
        Ok(())
    }

    fn serialize_bytes(self, _: &[u8]) -> Written {
        Err(Unwritable("bytes have no form in JSON".to_owned()))
    }

    fn serialize_none(self) -> Written {
        self.serialize_unit()?;
        self.wrote_none = true;
        Ok(())
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

    fn serialize_seq(self, _: Option<usize>) -> Result<Group<'w, 'o>, Unwritable> {
        Ok(self.open(None, '['))
    }

    fn serialize_tuple(self, _: usize) -> Result<Group<'w, 'o>, Unwritable> {
        Ok(self.open(None, '['))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Group<'w, 'o>, Unwritable> {
        Ok(self.open(None, '['))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Group<'w, 'o>, Unwritable> {
        Ok(self.open(Some(variant), '['))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Group<'w, 'o>, Unwritable> {
        Ok(self.open(None, '{'))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Group<'w, 'o>, Unwritable> {
        Ok(self.open(None, '{'))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Group<'w, 'o>, Unwritable> {
        Ok(self.open(Some(variant), '{'))
    }
}

/// An object or a list that is being written.
struct Group<'w, 'o> {
    writer: &'w mut Writer<'o>,
    is_first: bool,
    close: char,
    /// True if it is wrapped in an object that has the variant's name.
    is_variant: bool,
}

impl Group<'_, '_> {
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
        json::write_string(name, self.writer.out);
        self.writer.out.push(':');
        value.serialize(&mut *self.writer)
    }

    /// Writes a member of a struct. Readers treat a missing member as absent, so an absent value need not be kept.
    fn field<T: ?Sized + Serialize>(&mut self, name: &str, value: &T) -> Written {
        let begin = self.writer.out.len();
        let was_first = self.is_first;
        self.writer.wrote_none = false;
        self.member(name, value)?;
        if core::mem::take(&mut self.writer.wrote_none) && self.writer.style == Style::Kept {
            self.writer.out.truncate(begin);
            self.is_first = was_first;
        }
        Ok(())
    }

    fn close(self) -> Written {
        self.writer.wrote_none = false;
        self.writer.out.push(self.close);
        if self.is_variant {
            self.writer.out.push('}');
        }
        Ok(())
    }
}

impl SerializeMap for Group<'_, '_> {
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
        $(impl $of for Group<'_, '_> {
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
        $(impl $of for Group<'_, '_> {
            type Ok = ();
            type Error = Unwritable;

            fn serialize_field<T: ?Sized + Serialize>(&mut self, name: &'static str, value: &T) -> Written {
                self.field(name, value)
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
    use crate::json::Value;
    use alloc::collections::BTreeMap;
    use alloc::vec::Vec;
    use serde::Deserialize;

    /// Every form that a row may have, even if no event uses it today.
    #[derive(Serialize)]
    enum Shape {
        Unit,
        New(u8),
        Pair(i8, f64),
        Named { a: Option<char>, b: BTreeMap<String, Vec<()>> },
    }

    fn written(row: &impl Serialize, style: Style) -> Result<String, String> {
        let mut out = String::new();
        write_row(row, &mut out, style).map(|()| out).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_shown_is_what_a_general_writer_writes() {
        let map =
            |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), alloc::vec![(), ()])).collect();
        let shapes = [
            Shape::Unit,
            Shape::New(255),
            Shape::Pair(-1, 0.5),
            Shape::Named { a: None, b: map(&[]) },
            Shape::Named { a: Some('"'), b: map(&["a\n", "\u{1}é"]) },
        ];
        assert_eq!(written(&shapes, Style::Shown).unwrap(), serde_json::to_string(&shapes).unwrap());
        let row = (Timestamp::from_millis(0), "a\\b", Value::parse_str(r#"{"b":1.00,"a":[]}"#).unwrap());
        let shown = r#"["1970-01-01T00:00:00.000Z","a\\b",{"b":1.00,"a":[]}]"#;
        assert_eq!(written(&row, Style::Shown).unwrap(), shown);
        for style in [Style::Shown, Style::Kept] {
            assert!(written(&f64::NAN, style).is_err());
            assert!(written(&BTreeMap::from([(1, 2)]), style).is_err(), "a name is a text");
        }
    }

    #[derive(Serialize, Deserialize, PartialEq, Debug)]
    struct Row {
        first: Option<u8>,
        at: Timestamp,
        values: Vec<Value>,
        perhaps: Option<Value>,
        list: Vec<Option<u8>>,
        inner: Option<Inner>,
        last: Option<u8>,
    }

    #[derive(Serialize, Deserialize, PartialEq, Debug)]
    struct Inner {
        none: Option<u8>,
    }

    fn row(perhaps: Option<&str>, inner: bool) -> Row {
        let values = [
            "{}",
            r#"{"z":1,"a":[true,null,"x\n",0.5]}"#,
            r#"{"z":1.00}"#,
            "null",
            "7",
            r#""text""#,
            r#""[1]""#,
        ];
        let value = |json: &str| Value::parse_str(json).unwrap();
        Row {
            first: None,
            at: Timestamp::from_millis(5),
            values: values.map(value).into(),
            perhaps: perhaps.map(value),
            list: alloc::vec![None, Some(1), None],
            inner: inner.then_some(Inner { none: None }),
            last: inner.then_some(1),
        }
    }

    #[test]
    fn what_is_kept_has_values_as_themselves_where_they_come_back_unchanged_and_no_member_without_a_value() {
        let values =
            r#"[{},{"z":1,"a":[true,null,"x\n",0.5]},"{\"z\":1.00}","null","7","\"text\"","\"[1]\""]"#;
        let none = format!(r#"{{"at":5,"values":{values},"list":[null,1,null]}}"#);
        assert_eq!(written(&row(None, false), Style::Kept).unwrap(), none);
        let some = format!(
            r#"{{"at":5,"values":{values},"perhaps":"null","list":[null,1,null],"inner":{{}},"last":1}}"#
        );
        assert_eq!(written(&row(Some("null"), true), Style::Kept).unwrap(), some);
    }

    #[test]
    fn both_forms_are_read() {
        for row in
            [row(None, false), row(Some("null"), true), row(Some("[1]"), false), row(Some("0.10"), true)]
        {
            let kept = written(&row, Style::Kept).unwrap();
            assert_eq!(serde_json::from_str::<Row>(&kept).unwrap(), row, "{kept}");
            let general = serde_json::to_string(&row).unwrap();
            assert_eq!(serde_json::from_str::<Row>(&general).unwrap(), row, "{general}");
        }
    }

    #[test]
    fn a_value_that_could_not_be_read_again_is_not_kept() {
        let deep = (0..128).fold(Value::Null, |value, _| Value::Array(alloc::vec![value]));
        let refused = written(&deep, Style::Kept).unwrap_err();
        assert!(refused.contains("too deep"), "{refused}");
        assert!(written(&deep, Style::Shown).is_ok());
    }
}
