//! Tests what the reader refuses, what it keeps, and the locations of its errors.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use std::format;

use super::{MAX_DEPTH, Members, Number, Object, Value, locate};

fn refused(text: &str) -> String {
    match Value::parse_str(text) {
        Ok(value) => panic!("{text} was read as {value:?}"),
        Err(error) => error.to_string(),
    }
}

fn nested(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

#[test]
fn tokens_order_and_strings_survive() {
    let texts = [
        r#"{"z":123456789012345678901234567890,"a":1.00,"m":1e400,"n":-0,"o":9007199254740993,"p":-0.0E+05}"#,
        r#"["é","😀","\u0000\u001f","\b\f\n\r\t","\"\\/",""]"#,
        r#"{"":null,"a":[true,false,{}],"b":[]}"#,
        "0",
        "\"\u{7f}\u{2028}\"",
    ];
    for text in texts {
        let value = Value::parse_str(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(value.compact(), text);
        assert_eq!(Value::parse_str(&value.pretty()), Ok(value));
    }
}

#[test]
fn escapes_become_minimal() {
    let value = Value::parse_str(r#" "\u00e9\uD83D\uDE00\/\u0041\u007f\u001F" "#);
    assert_eq!(value.map(|value| value.compact()).as_deref(), Ok("\"é😀/A\u{7f}\\u001f\""));
}

#[test]
fn pretty_is_two_spaces_and_one_newline() {
    let value = Value::parse_str(r#"{"a":[1,{"b":{}}],"c":[]}"#).unwrap();
    assert_eq!(
        value.pretty(),
        "{\n  \"a\": [\n    1,\n    {\n      \"b\": {}\n    }\n  ],\n  \"c\": []\n}\n"
    );
    assert_eq!(Value::Null.pretty(), "null\n");
}

#[test]
fn each_refusal_names_its_place() {
    let rows = [
        ("", "line 1, column 1: expected a value, found the end of the text"),
        ("\u{FEFF}{}", "line 1, column 1: expected JSON without a byte order mark, found a byte order mark"),
        ("{} {}", "line 1, column 4: expected the end of the document, found `{}`"),
        ("[1,]", "line 1, column 4, at `/1`: expected a value, found `]`"),
        ("{\"a\":1,}", "line 1, column 8: expected a member name in quotes, found `}`"),
        (
            "{\"é\":1, \"é\":2}",
            "line 1, column 9, at `/é`: expected each member name once, found a second member `\"é\"`",
        ),
        ("{\n \"a/b\": {\"~\": nul}}", "line 2, column 15, at `/a~1b/~0`: expected a value, found `nul}}`"),
        ("NaN", "line 1, column 1: expected a value, found `NaN`"),
        ("-Infinity", "line 1, column 1: expected a number, found `-Infinity`"),
        ("nullx", "line 1, column 1: expected a value, found `nullx`"),
        ("[\"\\uD800\"]", "line 1, column 3, at `/0`: expected a whole surrogate pair, found `\\uD800\"]`"),
        (
            "[\"\\uDC00\\uD800\"]",
            "line 1, column 3, at `/0`: expected a whole surrogate pair, found `\\uDC00\\uD800\"]`",
        ),
        ("\"\\x\"", "line 1, column 2: expected an escape that JSON knows, found `\\x\"`"),
        (
            "\"a\u{1}\"",
            "line 1, column 3: expected the rest of a string (control characters are escaped), found `\u{1}\"`",
        ),
        (
            "\"a",
            "line 1, column 3: expected the rest of a string (control characters are escaped), found the end of the text",
        ),
        ("[1 2]", "line 1, column 4: expected `,` or `]`, found `2]`"),
        ("{\"a\" 1}", "line 1, column 6: expected `:`, found `1}`"),
        ("\u{a0}1", "line 1, column 1: expected a value, found `\u{a0}1`"),
    ];
    for (text, message) in rows {
        assert_eq!(refused(text), message, "{text}");
    }
}

#[test]
fn numbers_that_json_does_not_know_are_refused() {
    for text in [
        "01", "-01", "+1", ".5", "1.", "1e", "1e+", "-", "1.e1", "0x1", "1_000", "1.2.3", "--1", "1-1",
        "1e1.5",
    ] {
        refused(text);
        assert_eq!(Number::parse(text), None, "{text}");
    }
}

#[test]
fn text_that_is_not_utf8_is_refused_where_it_breaks() {
    let error = Value::parse(b"[\"\xC3\xA9\", \"\xFF\"]").unwrap_err();
    assert_eq!((error.line, error.column, error.found.as_str()), (1, 8, "the byte 0xFF"));
    assert!(Value::parse(b"\"\xED\xA0\x80\"").is_err(), "a surrogate in UTF-8");
}

#[test]
fn the_depth_of_a_value_is_what_the_reader_counts() {
    for (text, depth) in [("1", 0), ("[]", 1), ("{}", 1), ("[1, {\"a\": [[]], \"b\": 2}]", 4)] {
        assert_eq!(Value::parse_str(text).unwrap().depth(), depth, "{text}");
    }
    assert_eq!(Value::parse_str(&nested(MAX_DEPTH)).unwrap().depth(), MAX_DEPTH);
}

#[test]
fn nesting_ends_at_127() {
    assert!(Value::parse_str(&nested(127)).is_ok());
    assert!(refused(&nested(128)).contains("expected at most 127 levels of nesting"));
    assert!(refused(&"[{\"a\":".repeat(100_000)).contains("127 levels"));
}

#[test]
fn a_document_past_16_mib_is_refused_never_cut() {
    let filler = "x".repeat(super::MAX_BYTES - 2);
    assert!(Value::parse_str(&format!("\"{filler}\"")).is_ok());
    assert!(refused(&format!("\"{filler}x\"")).contains("16 MiB"));
}

#[test]
fn duplicates_are_found_in_wide_objects_too() {
    let members: Vec<String> = (0..20_000).map(|n| format!("\"n{n}\":{n}")).collect();
    let wide = format!("{{{}}}", members.join(","));
    assert_eq!(Value::parse_str(&wide).unwrap().as_object().map(Members::len), Some(20_000));
    let doubled = format!("{{{},\n\"n7\":0}}", members.join(","));
    let error = Value::parse_str(&doubled).unwrap_err();
    assert_eq!((error.pointer.as_str(), error.line, error.column), ("/n7", 2, 1));
}

#[test]
fn integers_are_read_by_value_within_53_bits() {
    let rows = [
        ("0", Some(0)),
        ("-0", Some(0)),
        ("0e999999999999999999999", Some(0)),
        ("4096", Some(4096)),
        ("4096.0", Some(4096)),
        ("4.096e3", Some(4096)),
        ("40960E-1", Some(4096)),
        ("1e15", Some(1_000_000_000_000_000)),
        ("9007199254740991", Some(9_007_199_254_740_991)),
        ("9007199254740991.000", Some(9_007_199_254_740_991)),
        ("9007199254740992", None),
        ("1e16", None),
        ("1e400", None),
        ("1e99999999999999999999", None),
        ("-1", None),
        ("1.5", None),
        ("1e-1", None),
        ("1e-99999999999999999999", None),
        ("18446744073709551616", None),
    ];
    for (token, value) in rows {
        assert_eq!(Number::parse(token).unwrap().as_u53(), value, "{token}");
    }
}

#[test]
fn a_fraction_of_one_is_judged_by_value() {
    let rows = [
        ("0", true),
        ("0.9", true),
        ("1", true),
        ("1.000", true),
        ("10e-1", true),
        ("0.1e1", true),
        ("-0", true),
        ("1.01", false),
        ("1.0000000000000000000000001", false),
        ("2", false),
        ("-0.1", false),
        ("1e1", false),
        ("1e-400", true),
        ("1e400", false),
    ];
    for (token, fraction) in rows {
        assert_eq!(Number::parse(token).unwrap().is_fraction_of_one(), fraction, "{token}");
    }
}

#[test]
fn numbers_are_in_the_order_of_their_values_and_equal_if_these_are() {
    let in_order: &[&[&str]] = &[
        &["-1e99999999999999999999"],
        &["-1e400"],
        &["-12"],
        &["-9.5"],
        &["-1", "-1.0", "-10e-1"],
        &["-0.1"],
        &["0", "-0", "0.000", "0e9", "-0e-99999999999999999999"],
        &["1e-400"],
        &["0.1", "1e-1"],
        &["0.11"],
        &["1", "1.0", "0.1e1"],
        &["1.0000000000000000000000001"],
        &["9.5"],
        &["12"],
        &["9007199254740992"],
        &["9007199254740993", "9007199254740993.0"],
        &["170141183460469231731687303715884105728"],
        &["170141183460469231731687303715884105728.5"],
        &["1e400", "10e399"],
        &["1e99999999999999999999"],
    ];
    let all =
        || in_order.iter().enumerate().flat_map(|(place, line)| line.iter().map(move |one| (place, *one)));
    for (place, left) in all() {
        for (other, right) in all() {
            let number = |text| Number::parse(text).unwrap();
            assert_eq!(number(left).cmp_value(&number(right)), place.cmp(&other), "{left} {right}");
            assert_eq!(number(left).same_value(&number(right)), place == other, "{left} {right}");
        }
    }
}

#[test]
fn values_are_found_again_for_errors() {
    let text = "{\n  \"a\": [1, {\"b/c\": \"x\"}],\n  \"é\": 2, \"~1\": 3}";
    let rows = [
        ("", Some((1, 1))),
        ("/a", Some((2, 8))),
        ("/a/1", Some((2, 12))),
        ("/a/1/b~1c", Some((2, 20))),
        ("/é", Some((3, 8))),
        ("/~01", Some((3, 17))),
        ("/~1", None),
        ("/a/2", None),
        ("/b", None),
        ("/a/x", None),
        ("a", None),
    ];
    for (pointer, place) in rows {
        let found = locate(text.as_bytes(), pointer).map(|place| (place.line, place.column));
        assert_eq!(found, place, "{pointer}");
    }
}

#[test]
fn a_name_that_comes_again_replaces_however_many_there_are() {
    for count in [2_u64, 15, 16, 17, 40, 2000] {
        let names = (0..count).chain(0..count);
        let members: Members<u64> =
            names.enumerate().map(|(turn, n)| (format!("n{n}"), turn as u64)).collect();
        assert_eq!(members.keys().count() as u64, count);
        assert!(members.values().copied().eq(count..2 * count), "{count}");
        assert!(members.keys().map(ToString::to_string).eq((0..count).map(|n| format!("n{n}"))));
    }
}

#[test]
fn members_keep_their_place() {
    let mut members =
        Object::from([("b", Value::from(1_u64)), ("a", Value::Null), ("b", Value::from(2_u64))]);
    assert_eq!(Value::Object(members.clone()).compact(), r#"{"b":2,"a":null}"#);
    assert_eq!(members.insert("b", Value::Bool(true)), Some(Value::from(2_u64)));
    assert_eq!(members.insert("c", Value::Null), None);
    assert_eq!(members.keys().collect::<Vec<_>>(), ["b", "a", "c"]);
    assert_eq!(members.remove("a"), Some(Value::Null));
    assert_eq!((members.len(), members.contains_key("a"), members.is_empty()), (2, false, false));
}
