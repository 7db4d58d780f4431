//! Generates values of every kind: unusual numbers, unusual texts, deep and wide values.

use std::collections::BTreeSet;

use envoi_contract::json::{Number, Object, Value};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// Texts: plain ones, unusual ones, and any scalars.
pub(crate) fn text() -> BoxedStrategy<String> {
    const ODD: &[&str] = &[
        "",
        " ",
        "\u{0}",
        "\"\\/\u{8}\u{c}\n\r\t\u{1f}",
        "\u{7f}\u{2028}\u{feff}",
        "é日本語🧪\u{202e}",
        "null",
        "~/~1",
    ];
    prop_oneof![
        3 => vec(prop::char::range('a', 'z'), 0..8).prop_map(String::from_iter),
        1 => prop::sample::select(ODD).prop_map(str::to_owned),
        1 => vec(any::<char>(), 0..6).prop_map(String::from_iter),
    ]
    .boxed()
}

/// A text that is not empty.
pub(crate) fn name() -> BoxedStrategy<String> {
    text().prop_map(|text| format!("n{text}")).boxed()
}

/// Number tokens with more digits, zeros and exponents than a machine number holds.
pub(crate) fn number() -> BoxedStrategy<Number> {
    let token = (any::<bool>(), any::<u64>(), option::of("[0-9]{1,30}"), option::of("[eE][+-]?[0-9]{1,4}"));
    token
        .prop_filter_map("a number token", |(negative, whole, fraction, power)| {
            let sign = if negative { "-" } else { "" };
            let fraction = fraction.map(|digits| format!(".{digits}")).unwrap_or_default();
            Number::parse(&format!("{sign}{whole}{fraction}{}", power.unwrap_or_default()))
        })
        .boxed()
}

/// Integers that a contract reads.
pub(crate) fn count() -> BoxedStrategy<u64> {
    prop_oneof![0..10_u64, Just((1 << 53) - 1), 0..(1_u64 << 53)].boxed()
}

fn scalar() -> BoxedStrategy<Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        number().prop_map(Value::Number),
        text().prop_map(Value::String),
    ]
    .boxed()
}

/// Any value, of moderate size.
pub(crate) fn value() -> BoxedStrategy<Value> {
    scalar()
        .prop_recursive(4, 24, 5, |inner| {
            prop_oneof![
                vec(inner.clone(), 0..5).prop_map(Value::Array),
                vec((text(), inner), 0..5).prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
        .boxed()
}

/// A value that is neither null nor empty.
pub(crate) fn content() -> BoxedStrategy<Value> {
    value().prop_map(|value| Value::Array(vec![value])).boxed()
}

/// Any object.
pub(crate) fn object() -> BoxedStrategy<Object> {
    vec((text(), value()), 0..4).prop_map(|members| members.into_iter().collect()).boxed()
}

/// An object whose names are none of `known`.
pub(crate) fn unknown(known: &'static [&'static str]) -> BoxedStrategy<Object> {
    object()
        .prop_map(move |object| {
            object.into_iter().filter(|(name, _)| !known.contains(&name.as_str())).collect()
        })
        .boxed()
}

/// Values with nearly the largest depth, or wide enough for an index.
pub(crate) fn deep_or_wide() -> BoxedStrategy<Value> {
    let deep = (vec(any::<bool>(), 0..120), value()).prop_map(|(shape, core)| {
        shape.into_iter().fold(core, |inner, array| {
            if array { Value::Array(vec![inner]) } else { Value::Object(Object::from([("x", inner)])) }
        })
    });
    let wide =
        vec((text(), scalar()), 0..200).prop_map(|members| Value::Object(members.into_iter().collect()));
    prop_oneof![deep, wide].boxed()
}

/// A change to an object: members reordered, replaced, removed and added.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    turn: usize,
    replaced: Option<(usize, Value)>,
    dropped: BTreeSet<usize>,
    added: Object,
}

/// Any change.
pub(crate) fn change() -> BoxedStrategy<Change> {
    let dropped = prop::collection::btree_set(0..40_usize, 0..3);
    (0..40_usize, option::of((0..40_usize, value())), dropped, object())
        .prop_map(|(turn, replaced, dropped, added)| Change { turn, replaced, dropped, added })
        .boxed()
}

/// Applies the change to `value`.
pub(crate) fn changed(value: &Value, change: &Change) -> Value {
    let mut members: Vec<(String, Value)> =
        value.as_object().cloned().unwrap_or_default().into_iter().collect();
    if let Some((place, other)) = &change.replaced
        && let Some((_, old)) = members.get_mut(*place)
    {
        *old = other.clone();
    }
    let turn = change.turn % members.len().max(1);
    members.rotate_left(turn);
    let kept = members.into_iter().enumerate().filter(|(place, _)| !change.dropped.contains(place));
    Value::Object(change.added.clone().into_iter().chain(kept.map(|(_, member)| member)).collect())
}
