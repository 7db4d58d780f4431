//! Tests schemas that need much work.

use super::*;
use crate::values::json_schema::{Mismatch, Schema};
use std::fmt::Write as _;

fn value(json: &str) -> envoi_contract::json::Value {
    envoi_contract::json::Value::parse_str(json).unwrap()
}

fn check(schema: &str, instance: &str) -> Vec<Mismatch> {
    Schema::new(&value(schema)).unwrap().check(&value(instance))
}

fn is_too_much(found: &[Mismatch]) -> bool {
    matches!(found, [one] if one.path.is_empty() && one.reason.contains("is not checked"))
}

/// How much of a schema applies at each depth.
fn by_depth(schema: &str) -> Vec<u64> {
    Work::of(&serde_json::from_str(schema).unwrap()).by_depth
}

/// Definitions that each apply the one before twice. The last one needs 2^40 uses of the first.
fn doubling(both: &str) -> String {
    let mut all = String::from(r#""a0": {"type": "integer"}"#);
    for at in 1..=40 {
        let one = format!("{{\"$ref\": \"#/$defs/a{}\"}}", at - 1);
        write!(all, ", \"a{at}\": {}", both.replace("ONE", &one)).unwrap();
    }
    format!("{{\"$defs\": {{{all}}}, \"$ref\": \"#/$defs/a40\"}}")
}

#[test]
fn references_that_double_are_too_much_whatever_combines_them() {
    for both in [
        r#"{"allOf": [ONE, ONE]}"#,
        r#"{"anyOf": [ONE, ONE]}"#,
        r#"{"oneOf": [ONE, ONE, false]}"#,
        r#"{"not": {"anyOf": [{"not": ONE}, {"not": ONE}]}}"#,
        r#"{"if": ONE, "then": ONE}"#,
        r#"{"dependentSchemas": {"a": ONE, "b": ONE}}"#,
        r#"{"allOf": [ONE], "unevaluatedItems": false}"#,
        r#"{"patternProperties": {"a": ONE, "b": ONE}}"#,
        r#"{"items": ONE, "contains": ONE}"#,
    ] {
        let deep = (0..41).fold("1".to_owned(), |inner, at| {
            if both.contains("items") || both.contains("unevaluated") {
                format!("[{inner}]")
            } else {
                format!("{{\"ab{at}\": {inner}}}")
            }
        });
        match Schema::new(&value(&doubling(both))) {
            Ok(schema) => assert!(is_too_much(&schema.check(&value(&deep))), "{both}"),
            Err(refused) => assert!(refused.reason.contains("any value"), "{both}: {refused:?}"),
        }
    }
}

#[test]
fn every_way_to_name_a_part_is_followed() {
    for (name, reference) in [
        (r#""$anchor": "a""#, "#a"),
        (r#""$id": "other.json""#, "other.json"),
        (r#""$dynamicAnchor": "a""#, "#a"),
        (r#""title": "one""#, "#/%24defs/x"),
        (r#""title": "one""#, "#/$defs/x"),
    ] {
        let many = format!("{{\"$ref\": \"{reference}\"}},").repeat(100);
        let schema =
            format!("{{\"$defs\": {{\"x\": {{{name}, \"enum\": [1, 2, 3]}}}}, \"allOf\": [{many} true]}}");
        let found = by_depth(&schema);
        // For each of them: the schema itself, and the list of `enum` with three values.
        assert!(found[0] >= 100 * (1 + 1 + 4), "{name} {reference}: {found:?}");
        assert!(found[0] < 1_000, "{name} {reference}: {found:?}");
    }
    assert_eq!(by_depth(r#"{"$ref": "https://json-schema.org/draft/2020-12/schema"}"#)[..2], [501, 500]);
}

#[test]
fn a_schema_that_refers_to_itself_counts_once_for_each_level_that_a_value_has() {
    let deep = |depth: usize| (0..depth).fold("{}".to_owned(), |inner, _| format!("{{\"a\": {inner}}}"));
    let tree = r##"{"properties": {"a": {"$ref": "#"}}}"##;
    assert_eq!(check(tree, &deep(100)), []);
    assert_eq!(by_depth(tree)[..3], [1, 2, 2]);
    let doubles = r##"{"properties": {"a": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}}"##;
    assert_eq!(check(doubles, &deep(5)), []);
    assert!(is_too_much(&check(doubles, &deep(60))));
    // This schema is endless, but following it ends.
    assert_eq!(by_depth(r##"{"allOf": [{"$ref": "#"}]}"##).len(), 2);
}

#[test]
fn parts_of_places_that_differ_do_not_add_up() {
    let rows = r#"{"items": {"properties": {"a": {"type": "string"}, "b": {"type": "string", "minLength": 1}}, "required": ["a"]}}"#;
    assert_eq!(by_depth(rows), [1, 1 + 2, 3, 0]);
    assert_eq!(
        by_depth(r#"{"properties": {"a": true}, "additionalProperties": false, "items": {"type": "null"}}"#),
        [1, 2, 0]
    );
}

#[test]
fn what_is_large_and_plain_is_checked_whole() {
    let schema = r#"{"items": {"type": "object", "properties": {"name": {"type": "string", "pattern": "^[a-z]+$"},
                     "count": {"type": "integer", "minimum": 0}}, "required": ["name"], "additionalProperties": false}}"#;
    let rows = |last: &str| format!("[{}{last}]", r#"{"name": "row", "count": 7},"#.repeat(50_000));
    assert_eq!(check(schema, &rows(r#"{"name": "row"}"#)), []);
    let [one] = check(schema, &rows(r#"{"count": 1}"#)).try_into().unwrap();
    assert_eq!(one.path, ["50000"]);
    assert!(one.reason.contains("\"name\" is a required property"), "{}", one.reason);
}

#[test]
fn the_number_of_reported_mismatches_is_bounded() {
    let wrong = format!("[{}1]", "1,".repeat(5_000));
    assert_eq!(check(r#"{"items": {"type": "string"}}"#, &wrong).len(), 1_000);
}

#[test]
fn a_pattern_that_goes_back_too_often_does_not_match_and_many_of_them_are_too_much() {
    let schema = r#"{"items": {"pattern": "^(?=(a+)+$)(a|aa)+$"}}"#;
    let evil = format!("\"{}b\"", "a".repeat(60));
    assert_eq!(check(schema, "[\"aa\"]"), []);
    assert_eq!(check(schema, &format!("[{evil}]")).len(), 1);
    assert!(is_too_much(&check(schema, &format!("[{}1]", format!("{evil},").repeat(20_000)))));
}

#[test]
fn long_values_count_more() {
    let pattern = r#"{"pattern": "x$"}"#;
    let schema = format!("{{\"allOf\": [{}{pattern}]}}", format!("{pattern},").repeat(2_000));
    assert_eq!(check(&schema, "\"x\""), []);
    assert!(is_too_much(&check(&schema, &format!("\"{}x\"", "y".repeat(1_000_000)))));
}

#[test]
fn a_chain_of_many_parts_needs_no_deep_stack() {
    let links: Vec<String> =
        (1..20_000).map(|at| format!("\"a{at}\": {{\"$ref\": \"#/$defs/a{}\"}}", at - 1)).collect();
    let schema =
        format!("{{\"$defs\": {{\"a0\": {{}}, {}}}, \"$ref\": \"#/$defs/a19999\"}}", links.join(","));
    let found = std::thread::Builder::new().stack_size(256 * 1024).spawn(move || by_depth(&schema));
    assert_eq!(found.unwrap().join().unwrap(), [20_001, 0]);
}
