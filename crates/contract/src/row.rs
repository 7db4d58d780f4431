//! The form of contract values in our database rows (feature `serde`): the text of their compact JSON, or the JSON
//! itself ([`crate::stored`]).
//!
//! The reader of a row is not the strict one and may lose digits or member order. A string is read unchanged. A value
//! that is written as itself is read unchanged too, because only values for which that holds are written so.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;

use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::{Error as _, SerializeMap as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::digest::Digest;
use crate::envelope::{Envelope, FlowInterrupt, InterruptResponse, ProcessingRecord};
use crate::error::Diagnostic;
use crate::handoff::Handoff;
use crate::json::{Members, Number, Value};
use crate::routing::{Audit, Signal};
use crate::skill_report::SkillReport;
use crate::stored;
use crate::time::Timestamp;
use crate::user_envelope::AttachmentRef;

/// Serialises `$type` as the JSON text that `$write` returns, and reads it with `$read` from that text or from the
/// JSON itself. A value that its reader would refuse is not written.
macro_rules! as_json {
    ($type:ty, $write:expr, $read:expr) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let write: fn(&$type) -> Result<String, Diagnostic> = $write;
                let json = write(self).map_err(S::Error::custom)?;
                serializer.serialize_newtype_struct(stored::JSON, &json)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$type, D::Error> {
                let value = deserializer.deserialize_any(TextOrItself)?;
                let read: fn(Value) -> Result<$type, RowError> = $read;
                read(value).map_err(D::Error::custom)
            }
        }
    };
}

/// The reason why a row does not contain the expected value.
enum RowError {
    /// The contract refuses it.
    Refused(Diagnostic),
    /// It does not have this form.
    Expected(&'static str),
}

impl fmt::Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RowError::Refused(refusal) => refusal.fmt(f),
            RowError::Expected(form) => write!(f, "expected {form}"),
        }
    }
}

impl From<Diagnostic> for RowError {
    fn from(refusal: Diagnostic) -> RowError {
        RowError::Refused(refusal)
    }
}

/// A value in a row: the text of its JSON, or the JSON itself for an object or a list.
struct TextOrItself;

impl<'de> Visitor<'de> for TextOrItself {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text that is JSON, an object or a list")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Value, E> {
        Value::parse_str(text).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Value, A::Error> {
        Itself.visit_map(map)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Value, A::Error> {
        Itself.visit_seq(list)
    }
}

/// A value inside a value that is written as itself.
struct Itself;

impl<'de> Visitor<'de> for Itself {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Value, E> {
        Ok(Value::Bool(truth))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Number(Number::from(number)))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Number(Number::from(number)))
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Value, E> {
        // The shortest text of the number, which is how it was written.
        let number = Number::parse(&format!("{number:?}")).map(Value::Number);
        number.ok_or_else(|| E::custom("expected a JSON number"))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::from(text))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::String(text))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Value, A::Error> {
        MembersVisitor(PhantomData::<Within>).visit_map(map).map(|members| {
            let members = members.into_iter().map(|(name, value)| (name, value.0));
            Value::Object(Members::from_distinct(members.collect()))
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut elements = Vec::new();
        while let Some(Within(element)) = list.next_element()? {
            elements.push(element);
        }
        Ok(Value::Array(elements))
    }
}

/// See [`Itself`].
struct Within(Value);

impl<'de> Deserialize<'de> for Within {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Within, D::Error> {
        deserializer.deserialize_any(Itself).map(Within)
    }
}

as_json!(Value, |value| Ok(value.compact()), Ok);
as_json!(Number, |number| Ok(number.to_string()), |value| match value {
    Value::Number(number) => Ok(number),
    _ => Err(RowError::Expected("a JSON number")),
});
impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
        deserializer.deserialize_str(DigestVisitor)
    }
}

struct DigestVisitor;

impl Visitor<'_> for DigestVisitor {
    type Value = Digest;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`sha256:` and 64 hexadecimal digits")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Digest, E> {
        Digest::parse(text).ok_or_else(|| E::custom("expected `sha256:` and 64 hexadecimal digits"))
    }
}

as_json!(
    Signal,
    |signal| {
        signal.check()?;
        Ok(signal.compact())
    },
    |value| Ok(Signal::decode(&value)?)
);
as_json!(Audit, |audit| Ok(audit.to_value().compact()), |value| {
    Audit::from_value(&value).ok_or(RowError::Expected("the audit of a resolution"))
});
as_json!(
    Handoff,
    |handoff| {
        handoff.check()?;
        Ok(handoff.compact())
    },
    |value| Ok(Handoff::from_value(&value)?)
);
as_json!(Envelope, |envelope| Ok(envelope.compact()), |value| Ok(Envelope::from_value(value)?));
as_json!(FlowInterrupt, |interrupt| Ok(interrupt.to_value().compact()), |value| {
    Ok(FlowInterrupt::from_value(&value)?)
});
as_json!(InterruptResponse, |response| Ok(response.to_value().compact()), |value| {
    Ok(InterruptResponse::from_value(&value)?)
});
as_json!(ProcessingRecord, |record| Ok(record.to_value().compact()), |value| {
    Ok(ProcessingRecord::from_value(&value)?)
});
as_json!(AttachmentRef, |file| Ok(file.to_value().compact()), |value| { Ok(AttachmentRef::decode(&value)?) });
as_json!(SkillReport, |report| Ok(report.to_value().compact()), |value| {
    Ok(SkillReport::from_value(&value)?)
});

/// Written as milliseconds since 1970.
impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct(stored::TIME, &self.as_millis())
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        i64::deserialize(deserializer).map(Timestamp::from_millis)
    }
}

/// Written as a map, in the order of the members.
impl<V: Serialize> Serialize for Members<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.len()))?;
        for (name, value) in self {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Members<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Members<V>, D::Error> {
        deserializer.deserialize_map(MembersVisitor(PhantomData))
    }
}

struct MembersVisitor<V>(PhantomData<V>);

impl<'de, V: Deserialize<'de>> Visitor<'de> for MembersVisitor<V> {
    type Value = Members<V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map without equal names")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<V>, A::Error> {
        let mut members: Vec<(String, V)> = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        let count = members.len();
        let members: Members<V> = members.into_iter().collect();
        if members.len() == count { Ok(members) } else { Err(A::Error::custom("two members of one name")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Object;

    fn trip<T: Serialize + for<'de> Deserialize<'de> + PartialEq + fmt::Debug>(value: &T) -> String {
        let row = serde_json::to_string(value).unwrap();
        assert_eq!(&serde_json::from_str::<T>(&row).unwrap(), value);
        row
    }

    #[test]
    fn a_row_keeps_digits_and_order() {
        let value = Value::parse_str(r#"{"z":1.00,"a":[1e400,-0,"x"]}"#).unwrap();
        assert_eq!(trip(&value), r#""{\"z\":1.00,\"a\":[1e400,-0,\"x\"]}""#);
        let object: Object = value.as_object().unwrap().clone();
        assert_eq!(trip(&object), r#"{"z":"1.00","a":"[1e400,-0,\"x\"]"}"#);
        trip(&Number::from(7_u64));
        trip(&Digest::of(b"x"));
        assert_eq!(trip(&Timestamp::from_millis(-1)), "-1");
        trip(&Members::from([("b", true), ("a", false)]));
        assert!(serde_json::from_str::<Members<bool>>(r#"{"a":true,"a":true}"#).is_err());
    }

    #[test]
    fn a_row_that_is_something_else_is_refused_with_the_reason() {
        let refused = |error: Option<serde_json::Error>| error.map(|error| error.to_string()).unwrap();
        let number = refused(serde_json::from_str::<Number>(r#""01""#).err());
        assert!(number.contains("expected a number"), "{number}");
        let text = refused(serde_json::from_str::<Number>(r#""\"1\"""#).err());
        assert!(text.starts_with("expected a JSON number"), "{text}");
        let value = refused(serde_json::from_str::<Value>(r#""{""#).err());
        assert!(value.contains("expected a member name in quotes"), "{value}");
        let signal = refused(serde_json::from_str::<Signal>(r#""{\"decision\":\"fly\"}""#).err());
        assert!(signal.starts_with("ROUTING_SIGNAL_INVALID"), "{signal}");
    }

    #[test]
    fn contracts_stand_in_rows_as_text() {
        let input = crate::routing::decode_input(
            br#"{"handoff_text":"Go to step 'z'","routing":{"routing_kind":"branch"},"steps":["a"]}"#,
        );
        let resolution = crate::routing::resolve(&input.unwrap()).unwrap();
        trip(&resolution);
        trip(&resolution.signal);
        trip(&Envelope::default());
        trip(&ProcessingRecord::default());
        trip(&InterruptResponse { approved: Some(true), ..InterruptResponse::default() });
        let report = br#"{"ok":true,"generatedAt":"t","skillName":"s","metrics":{"cost_usd":0.10}}"#;
        trip(&SkillReport::decode(report).unwrap());
        assert_eq!(trip(&crate::handoff::Status::Failed), "\"failed\"");
        assert_eq!(trip(&crate::envelope::TerminalReason::MaxLlmCallsExceeded), "\"max_llm_calls_exceeded\"");
        assert_eq!(trip(&crate::routing::Decision::Loop), "\"loop\"");
        assert_eq!(trip(&crate::routing::Kind::Microloop), "\"microloop\"");
    }
}
