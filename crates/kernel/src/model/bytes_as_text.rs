//! Bytes in JSON: a text if they are valid UTF-8, as nearly all are; otherwise hexadecimal digits.

use envoi_contract::digest::hex;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// The two forms. Bytes that are valid UTF-8 always use the first one, so that equal bytes have equal JSON.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Form<T> {
    Text(T),
    Hex(T),
}

#[expect(clippy::ref_option, reason = "serde asks for a reference to the field")]
pub(crate) fn serialize<S: Serializer>(bytes: &Option<Vec<u8>>, serializer: S) -> Result<S::Ok, S::Error> {
    let Some(bytes) = bytes else { return serializer.serialize_none() };
    match core::str::from_utf8(bytes) {
        Ok(text) => Some(Form::Text(text)).serialize(serializer),
        Err(_) => Some(Form::Hex(hex(bytes).as_str())).serialize(serializer),
    }
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<u8>>, D::Error> {
    match Option::<Form<String>>::deserialize(deserializer)? {
        None => Ok(None),
        Some(Form::Text(text)) => Ok(Some(text.into_bytes())),
        Some(Form::Hex(digits)) => {
            let bytes = of_hex(&digits);
            bytes.map(Some).ok_or_else(|| D::Error::custom("expected two hexadecimal digits for each byte"))
        }
    }
}

fn of_hex(digits: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let byte = |pair: &[u8]| match pair {
        [high, low] => Some((digit(high)? << 4) | digit(low)?),
        _ => None,
    };
    digits.as_bytes().chunks(2).map(byte).collect()
}
