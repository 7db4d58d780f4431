//! Checks whether the JSON of a value is read back unchanged by a reader that is not the strict one.
//!
//! Such a reader converts numbers to machine numbers, and supports less depth. It keeps everything else, because the
//! writer escapes strings and names are unique. The check is one pass over the text, without a tree.

use crate::json::{MAX_BYTES, MAX_DEPTH};

/// Largest depth of a value inside a row. The row's own depth is added to it.
const MAX_DEPTH_WITHIN: usize = 64;

/// Largest number of digits that every JSON reader represents exactly, with the decimal point in any position.
const MAX_DIGITS: usize = 15;

/// How the JSON of a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// As the JSON itself.
    Itself,
    /// As a string.
    Text,
    /// Not at all, because the strict reader would refuse it.
    Refused,
}

/// Determines the form of `json`, which has no white space.
pub(super) fn form(json: &str) -> Form {
    if json.len() > MAX_BYTES {
        return Form::Refused;
    }
    // Otherwise the JSON text of a string and a plain text would look the same.
    let stands = json.starts_with(['{', '[']);
    let mut depth = 0_usize;
    let mut deepest = 0_usize;
    let mut exact = true;
    let mut rest = json.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'{' | b'[' => {
                depth = depth.saturating_add(1);
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => rest = after_string(after),
            b'-' | b'0'..=b'9' => {
                let length = after.iter().take_while(|byte| is_of_number(**byte)).count();
                exact = exact && is_exact(*byte, after.get(..length).unwrap_or_default());
                rest = after.get(length..).unwrap_or_default();
            }
            _ => {}
        }
    }
    match () {
        () if deepest > MAX_DEPTH => Form::Refused,
        () if stands && exact && deepest <= MAX_DEPTH_WITHIN => Form::Itself,
        () => Form::Text,
    }
}

/// The bytes after a string; `bytes` begin inside it.
fn after_string(mut bytes: &[u8]) -> &[u8] {
    while let Some(at) = bytes.iter().position(|byte| matches!(byte, b'"' | b'\\')) {
        let is_escape = bytes.get(at) == Some(&b'\\');
        bytes = bytes.get(at.saturating_add(1).saturating_add(usize::from(is_escape))..).unwrap_or_default();
        if !is_escape {
            return bytes;
        }
    }
    &[]
}

const fn is_of_number(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-')
}

/// True if the number is read back as the same token: as an integer, or as the shortest text of a machine number.
///
/// A number with few digits and without an exponent qualifies if it has no superfluous zeros and is not so small that
/// it would be written with an exponent.
fn is_exact(first: u8, rest: &[u8]) -> bool {
    let digits = if first == b'-' { rest } else { &[] };
    // The digits without the sign. The first digit of a positive number is in `first`.
    let (leading, tail) = match digits.split_first() {
        Some((leading, tail)) => (*leading, tail),
        None => (first, rest),
    };
    if tail.len() >= MAX_DIGITS || tail.iter().any(|byte| matches!(byte, b'e' | b'E')) {
        return false;
    }
    match tail.iter().position(|byte| *byte == b'.') {
        // The integer `-0` would lose its sign.
        None => first != b'-' || leading != b'0',
        Some(at) => {
            let fraction = tail.get(at.saturating_add(1)..).unwrap_or_default();
            let is_shortest = fraction == b"0" || fraction.last() != Some(&b'0');
            is_shortest && (leading != b'0' || fraction == b"0" || !fraction.starts_with(b"0000"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Value;
    use alloc::format;
    use alloc::string::ToString;

    #[test]
    fn numbers_stand_as_themselves_only_if_a_machine_number_has_the_same_text() {
        for token in
            ["0", "7", "-7", "123456789012345", "0.9", "1.0", "0.5", "-0.25", "12.5", "0.0001", "0.0"]
        {
            assert_eq!(form(&format!("[{token}]")), Form::Itself, "{token}");
        }
        for token in [
            "-0",
            "1234567890123456",
            "0.90",
            "1.00",
            "1e3",
            "1E3",
            "1.5e2",
            "0.00001",
            "9007199254740993",
            "0.1234567890123456789",
        ] {
            assert_eq!(form(&format!("{{\"a\":{token}}}")), Form::Text, "{token}");
        }
        // The contents of strings, not numbers.
        assert_eq!(form(r#"["1e3 \" 1e3","\\",1]"#), Form::Itself);
        assert_eq!(form(r#"["\\",1e3]"#), Form::Text);
    }

    #[test]
    fn scalars_are_texts_and_what_is_too_deep_is_refused() {
        for json in ["null", "true", "7", "\"a\"", "\"[1]\""] {
            assert_eq!(form(json), Form::Text, "{json}");
        }
        let nested = |depth: usize| {
            (0..depth).fold(Value::Null, |value, _| Value::Array(alloc::vec![value])).compact()
        };
        for (depth, expected) in
            [(1, Form::Itself), (64, Form::Itself), (65, Form::Text), (127, Form::Text), (128, Form::Refused)]
        {
            let json = nested(depth);
            assert_eq!(form(&json), expected, "{depth}");
            assert_eq!(Value::parse_str(&json).is_ok(), expected != Form::Refused, "{depth}");
        }
        assert_eq!(form(&format!("[\"{}\"]", "x".repeat(MAX_BYTES))), Form::Refused);
        assert_eq!("[]".to_string().as_str(), nested(1).replace("null", ""));
    }
}
