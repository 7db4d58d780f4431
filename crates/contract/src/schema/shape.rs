//! The shapes of members, as JSON Schema.

use alloc::format;
use alloc::vec::Vec;

use crate::json::{Number, Object, Value};

/// RFC 3339 up to the fraction of the seconds; only existing days match.
const CLOCK: &str = "^(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)\
                     |02-(?:0[1-9]|1[0-9]|2[0-8]))|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]\
                     |[13579][26])00)-02-29)[Tt ](?:[01][0-9]|2[0-3]):[0-5][0-9]:(?:[0-5][0-9]|60)(?:[.][0-9]+)?";

/// The offset from UTC, including the doubled form of one source system.
const OFFSET: &str = "(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9]|[+]00:00[Zz])";

/// `shape` with a description. A description in `shape` itself takes precedence.
pub(super) fn described(description: &str, shape: Object) -> Object {
    let mut schema = Object::from([("description", Value::from(description))]);
    for (keyword, value) in shape {
        schema.insert(keyword, value);
    }
    schema
}

/// Members with their descriptions and shapes.
pub(super) fn properties<const N: usize>(members: [(&str, &str, Object); N]) -> Object {
    members
        .into_iter()
        .map(|(name, description, shape)| (name, Value::Object(described(description, shape))))
        .collect()
}

/// A schema with one keyword.
pub(super) fn only(keyword: &str, value: impl Into<Value>) -> Object {
    Object::from([(keyword, value.into())])
}

/// `shape` with one more keyword.
pub(super) fn with(mut shape: Object, keyword: &str, value: impl Into<Value>) -> Object {
    shape.insert(keyword, value.into());
    shape
}

/// A JSON type.
pub(super) fn of_type(name: &str) -> Object {
    only("type", name)
}

/// A JSON type or null.
fn or_null(name: &str) -> Object {
    only("type", Value::from(Vec::from([name, "null"])))
}

/// A reference to a part in `$defs`.
pub(super) fn part(name: &str) -> Object {
    only("$ref", format!("#/$defs/{name}"))
}

/// The schema of several alternatives.
pub(super) fn any_of<const N: usize>(shapes: [Object; N]) -> Object {
    only("anyOf", Value::from(Vec::from(shapes)))
}

/// A part or null.
pub(super) fn maybe_part(name: &str) -> Object {
    any_of([part(name), of_type("null")])
}

/// A time or null; `$defs` has the time.
pub(super) fn maybe_time() -> Object {
    maybe_part("time")
}

/// Any value.
pub(super) fn free() -> Object {
    Object::new()
}

pub(super) fn text() -> Object {
    of_type("string")
}

pub(super) fn maybe_text() -> Object {
    or_null("string")
}

pub(super) fn filled_text() -> Object {
    with(text(), "minLength", 1_u64)
}

/// A string with at least one character that is not ASCII white space.
pub(super) fn telling_text() -> Object {
    with(text(), "pattern", "[^ \\t\\n\\f\\r]")
}

pub(super) fn flag() -> Object {
    of_type("boolean")
}

/// A boolean; false when absent.
pub(super) fn flag_or_false() -> Object {
    with(flag(), "default", false)
}

pub(super) fn maybe_flag() -> Object {
    or_null("boolean")
}

/// An integer that every JSON reader represents exactly.
pub(super) fn count() -> Object {
    let whole = with(of_type("integer"), "minimum", 0_u64);
    with(whole, "maximum", crate::json::MAX_U53)
}

/// A count with a default.
pub(super) fn count_or(default: u64) -> Object {
    with(count(), "default", default)
}

/// A number from 0 to 1.
pub(super) fn share() -> Object {
    let bounded = with(with(of_type("number"), "minimum", 0_u64), "maximum", 1_u64);
    with(bounded, "default", Number::parse("0.7").map(Value::Number))
}

/// An object with any members.
pub(super) fn object() -> Object {
    of_type("object")
}

pub(super) fn maybe_object() -> Object {
    or_null("object")
}

/// A list.
pub(super) fn list(of: Object) -> Object {
    with(of_type("array"), "items", of)
}

pub(super) fn texts() -> Object {
    list(text())
}

pub(super) fn objects() -> Object {
    list(object())
}

/// A map by name.
pub(super) fn map(of: Object) -> Object {
    with(of_type("object"), "additionalProperties", of)
}

pub(super) fn text_map() -> Object {
    map(text())
}

pub(super) fn flag_map() -> Object {
    map(flag())
}

/// The words of a closed vocabulary.
pub(super) fn words<'a>(words: impl IntoIterator<Item = &'a str>) -> Object {
    only("enum", Value::from(words.into_iter().collect::<Vec<_>>()))
}

/// The words of a closed vocabulary, or null.
pub(super) fn maybe_words<'a>(words: impl IntoIterator<Item = &'a str>) -> Object {
    let words = words.into_iter().map(Value::from).chain([Value::Null]);
    only("enum", Value::Array(words.collect()))
}

/// Times that are kept as texts.
pub(super) fn time() -> Object {
    let description = "RFC 3339; any offset and precision, even none.";
    described(description, with(text(), "pattern", format!("{CLOCK}{OFFSET}?$")))
}

/// Times that denote a moment.
pub(super) fn moment() -> Object {
    let description = "RFC 3339 with its offset, from year 0 to year 9999 in UTC.";
    described(description, with(text(), "pattern", format!("{CLOCK}{OFFSET}$")))
}

/// `rule`, if `condition` holds.
pub(super) fn when(condition: Object, rule: Object) -> Object {
    Object::from([("if", Value::Object(condition)), ("then", Value::Object(rule))])
}

/// The member `name` is present and has this shape.
pub(super) fn has(name: &str, shape: Object) -> Object {
    let required = only("required", Value::from(Vec::from([name])));
    with(required, "properties", only(name, shape))
}

/// The member `name` has this shape if it is present.
pub(super) fn member(name: &str, shape: Object) -> Object {
    only("properties", only(name, shape))
}
