//! The form of contract values in our database rows (feature `serde`): the text of their compact JSON.
//!
//! A row's reader is not the strict one and may lose digits or member order; a string passes through it unchanged.

use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::digest::Digest;
use crate::envelope::{Envelope, FlowInterrupt, InterruptResponse, ProcessingRecord};
use crate::error::Diagnostic;
use crate::handoff::Handoff;
use crate::json::{self, Members, Number, Value};
use crate::routing::{Audit, Signal};
use crate::skill_report::SkillReport;
use crate::stored;
use crate::time::Timestamp;
use crate::user_envelope::AttachmentRef;

/// Serialises `$type` as the string that `$write` gives, which is JSON, and reads it back with `$read`.
macro_rules! as_json {
    ($type:ty, $write:expr, $read:expr) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let write: fn(&$type) -> String = $write;
                serializer.serialize_newtype_struct(stored::JSON, &write(self))
            }
        }

        read_text!($type, $read);
    };
}

/// Reads `$type` from a string with `$read`.
macro_rules! read_text {
    ($type:ty, $read:expr) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$type, D::Error> {
                let text = <Cow<'de, str>>::deserialize(deserializer)?;
                let read: fn(&str) -> Result<$type, RowError> = $read;
                read(&text).map_err(D::Error::custom)
            }
        }
    };
}

/// Why the text in a row is not the value that it should be.
enum RowError {
    /// It is no JSON.
    Json(json::Error),
    /// The contract refuses it.
    Refused(Diagnostic),
    /// It has another form than this.
    Expected(&'static str),
}

impl fmt::Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RowError::Json(error) => error.fmt(f),
            RowError::Refused(refusal) => refusal.fmt(f),
            RowError::Expected(form) => write!(f, "expected {form}"),
        }
    }
}

impl From<json::Error> for RowError {
    fn from(error: json::Error) -> RowError {
        RowError::Json(error)
    }
}

impl From<Diagnostic> for RowError {
    fn from(refusal: Diagnostic) -> RowError {
        RowError::Refused(refusal)
    }
}

as_json!(Value, Value::compact, |text| Ok(Value::parse_str(text)?));
as_json!(Number, |number| number.to_string(), |text| {
    Number::parse(text).ok_or(RowError::Expected("a JSON number"))
});
impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

read_text!(Digest, |text| {
    Digest::parse(text).ok_or(RowError::Expected("`sha256:` and 64 hexadecimal digits"))
});
as_json!(Signal, |signal| signal.orchestrator(None).compact(), |text| {
    Ok(Signal::decode(&Value::parse_str(text)?)?)
});
as_json!(Audit, |audit| audit.to_value().compact(), |text| {
    Audit::from_value(&Value::parse_str(text)?).ok_or(RowError::Expected("the audit of a resolution"))
});
as_json!(Handoff, |handoff| handoff.to_value().compact(), |text| Ok(Handoff::decode(text.as_bytes())?));
as_json!(Envelope, Envelope::compact, |text| Ok(Envelope::decode(text.as_bytes())?));
as_json!(FlowInterrupt, |interrupt| interrupt.to_value().compact(), |text| {
    Ok(FlowInterrupt::from_value(&Value::parse_str(text)?)?)
});
as_json!(InterruptResponse, |response| response.to_value().compact(), |text| {
    Ok(InterruptResponse::from_value(&Value::parse_str(text)?)?)
});
as_json!(ProcessingRecord, |record| record.to_value().compact(), |text| {
    Ok(ProcessingRecord::from_value(&Value::parse_str(text)?)?)
});
as_json!(AttachmentRef, |file| file.to_value().compact(), |text| {
    Ok(AttachmentRef::decode(&Value::parse_str(text)?)?)
});
as_json!(SkillReport, |report| report.to_value().compact(), |text| {
    Ok(SkillReport::decode(text.as_bytes())?)
});

/// Milliseconds since 1970.
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

/// A map in the order of the members.
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
        assert!(number.starts_with("expected a JSON number"), "{number}");
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
