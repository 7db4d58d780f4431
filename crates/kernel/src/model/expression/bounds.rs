//! Tests of the limits on the memory and work of expressions.

use super::{Scope, filter_names, test_names};
use envoi_contract::json::Value;
use std::collections::BTreeSet;

fn scope() -> Scope {
    let text = format!(r#"{{"inputs":{{"n":3,"s":"abc","l":[1,2],"k":"{}"}}}}"#, "k".repeat(100_000));
    Scope::new(Value::parse_str(&text).unwrap().as_object().unwrap())
}

/// A list of numbers, and below a text, of about the longest size that can be made and read once more.
const LONG: &str = "([1] * 900000)";
const TEXT: &str = "('a' * 20000000)";

/// Filters, each with arguments for which it would make or read too much.
const FILTERS: &[(&str, &str)] = &[
    ("capitalize", "TEXT|capitalize"),
    ("count", "LONG|count"),
    ("dictsort", "{'a': LONG}|dictsort"),
    ("join", "inputs.k|join(inputs.k)"),
    ("last", "LONG|last"),
    ("length", "LONG|length"),
    ("lines", "('\n' * 2000000)|lines"),
    ("list", "('a' * 2000000)|list"),
    ("lower", "TEXT|lower"),
    ("map", "LONG|map('string')"),
    ("max", "LONG|max"),
    ("min", "LONG|min"),
    ("reject", "LONG|reject('odd')"),
    ("rejectattr", "LONG|rejectattr('a')"),
    ("replace", "('a' * 1000)|replace('a', 'a' * 1000)|replace('a', 'a' * 1000)"),
    ("reverse", "LONG|reverse"),
    ("select", "([1] * 10000)|select('in', [1] * 1000)"),
    ("selectattr", "LONG|selectattr('a')"),
    ("sort", "LONG|sort"),
    ("split", "('k' * 2000000)|split('k')"),
    ("string", "LONG|string"),
    ("sum", "(['ab'] * 10000)|sum(start='')"),
    ("title", "TEXT|title"),
    ("trim", "inputs.k|trim(inputs.k)"),
    ("unique", "LONG|unique"),
    ("upper", "TEXT|upper"),
];

/// These filters take one value, return one that exists, or make no more than one item per member of a
/// mapping.
const MAKE_NOTHING: &[&str] = &["abs", "bool", "d", "default", "first", "float", "int", "items", "round"];

#[test]
fn each_filter_and_operator_is_refused_before_it_makes_too_much() {
    let operators = [
        "[1] * 1000000000",
        "'a' * 1000000000",
        "1000000000 * 'a'",
        "TEXT ~ 'a'",
        "TEXT + 'a'",
        "[LONG] + [1]",
        "[[1] * 1000] * 1000 * 1000",
        "TEXT[1:]",
        "'a' is startingwith(TEXT)",
        "'a' is endingwith(TEXT)",
        "1 is eq(LONG)",
        "1 is ne(LONG)",
        "1 is lt(LONG)",
        "1 is le(LONG)",
        "1 is gt(LONG)",
        "1 is ge(LONG)",
        "1 is in(LONG)",
    ];
    for long in [LONG, TEXT] {
        assert!(scope().holds(&format!("{long}|first == 'b'")).is_ok(), "{long} can be made");
    }
    for source in FILTERS.iter().map(|(_, source)| *source).chain(operators) {
        let source = source.replace("LONG", LONG).replace("TEXT", TEXT);
        let error = scope().evaluate(&source).expect_err(&source);
        assert!(error.too_large, "{source}: {error}");
        assert!(error.reason.contains("33554432 bytes"), "{source}: {error}");
    }
    let tried = FILTERS.iter().map(|(name, _)| *name).chain(MAKE_NOTHING.iter().copied());
    assert_eq!(tried.collect::<BTreeSet<_>>(), filter_names().into_iter().collect());
}

#[test]
fn all_expressions_of_one_scope_share_one_bound() {
    let (one, scope) = ("${{ ('a' * 1000000) | length }}", scope());
    let done = std::iter::from_fn(|| scope.render(one).ok()).take(1000).count();
    assert!((3..100).contains(&done), "{done} expressions");
    let error = scope.render(one).unwrap_err();
    assert!(error.too_large && error.reason.contains("the expressions of this step"), "{error}");
    // Nothing is left after that, not even for a small expression. A string with many expressions counts all
    // of them.
    assert!(scope.render("${{ inputs.n }}").unwrap_err().too_large);
    assert!(self::scope().render(&one.repeat(100)).unwrap_err().too_large);
}

#[test]
fn whatever_is_looked_through_is_paid() {
    let members = Value::parse_str(&format!(
        r#"{{"inputs":{{"k":"{}","l":[{}1]}}}}"#,
        "k".repeat(1_000_000),
        "1,".repeat(100_000)
    ));
    let members = members.unwrap().as_object().unwrap().clone();
    for source in [
        "'z' in inputs.k",
        "'z' not in inputs.k",
        "7 in inputs.l",
        "inputs.l == inputs.l",
        "inputs.l != inputs.l",
        "inputs.l < inputs.l",
        "inputs.k <= inputs.k",
        "1 < 2 < inputs.k | length",
        "inputs.k[999999] == 'z'",
        "inputs.k",
    ] {
        let scope = Scope::new(&members);
        let template = format!("${{{{ {source} }}}}");
        let done = std::iter::from_fn(|| scope.render(&template).ok()).take(100).count();
        assert!(done < 100, "{source} is for nothing");
        assert!(scope.render(&template).unwrap_err().too_large, "{source}");
    }
}

#[test]
fn constants_are_not_worked_out_while_they_are_read() {
    // Each product would take 100 MB if the expression language folded constants.
    let source = ["'a' * 99999999"; 60].join(" ~ ");
    assert!(super::variables(&source).unwrap().is_empty());
    assert!(scope().render(&format!("${{{{ {source} }}}}")).unwrap_err().too_large);
}

#[test]
fn what_is_usual_is_far_below_the_bound() {
    let items: Vec<String> =
        (0..5_000).map(|n| format!(r#"{{"n":{n},"name":"item {n}","tags":["a","b"]}}"#)).collect();
    let text = format!(r#"{{"inputs":{{"l":[{}]}}}}"#, items.join(","));
    let scope = || Scope::new(Value::parse_str(&text).unwrap().as_object().unwrap());
    for source in [
        "inputs.l | selectattr('n', 'gt', 100) | map(attribute='name') | unique | sort | join(', ') | length",
        "inputs.l | string | replace('item', 'thing') | upper | split(',') | last",
        "(inputs.l + inputs.l)[10:20] | map(attribute='tags') | list",
    ] {
        let found = scope().evaluate(source);
        assert!(found.is_ok(), "{source}: {found:?}");
    }
}

#[test]
fn a_number_that_json_cannot_write_is_an_error() {
    for source in [
        "1e308 * 10",
        "1e308 * 10 - 1e308 * 10",
        "[1, -1e308 * 10]",
        "'' ~ 1e308 * 10",
        "(1e308 * 10) | string",
        "'inf' | float",
        "'nan' | float",
        "10.0 ** 400",
    ] {
        let error = scope().evaluate(source).expect_err(source);
        assert!(!error.too_large && error.reason.contains("number"), "{source}: {error}");
        assert!(scope().render(&format!("${{{{ {source} }}}}")).is_err(), "{source}");
    }
    assert!(scope().holds("1e308 * 10").is_err());
}

#[test]
fn a_range_is_bounded_before_it_is_made() {
    for source in [
        "range(1000000000)",
        "range(0, 9223372036854775807)",
        "range(-9223372036854775807, 9223372036854775807)",
        "range(9223372036854775807, 0, -1)",
        "range(0, 1, 0)",
    ] {
        assert!(scope().evaluate(source).is_err(), "{source}");
    }
    for (source, length) in
        [("range(5, 2)", 0), ("range(2, 7, 2)", 3), ("range(7, 2, -2)", 3), ("range(3)", 3)]
    {
        assert!(scope().holds(&format!("({source} | length) == {length}")).unwrap(), "{source}");
    }
}

#[test]
fn what_the_page_does_not_list_does_not_exist() {
    for source in [
        "[1] | batch(1000000000, 0) | list | length",
        "[1] | slice(1000000000) | list | length",
        "'a' | indent(1000000000)",
        "'a' | center(1000000000)",
        "'%1000000000d' | format(1)",
        "range(100000) | map('string') | join(range(1000) | join)",
        "dict(a=1)",
        "debug()",
        "[1] | map('pprint')",
        "[1] | select('iterable')",
    ] {
        assert!(scope().evaluate(source).is_err(), "{source}");
    }
    assert!(!test_names().is_empty());
}

#[test]
fn operators_do_what_they_did() {
    for (source, value) in [
        ("inputs.n + 1", "4"),
        ("inputs.s + 'd' ~ 1", "\"abcd1\""),
        ("inputs.s ~ none ~ [1, 'a']", "\"abcNone[1, 'a']\""),
        ("'ab' * 2", "\"abab\""),
        ("2 * [1]", "[1,1]"),
        ("inputs.l + [3]", "[1,2,3]"),
        ("inputs.s[1:]", "\"bc\""),
        ("inputs.s[::-1]", "\"cba\""),
        ("inputs.l[:-1]", "[1]"),
        ("-inputs.n * 2 ** 2", "-12"),
        ("1 < inputs.n < 4 and not 'x' in inputs.s", "true"),
        ("{'a': inputs.l + inputs.l}.a | length", "4"),
        ("(inputs.nope | default('x')) + 'y'", "\"xy\""),
        ("inputs.l[0] == 1 and inputs['s'][1] == 'b' and inputs.l[-1] != inputs.l[0]", "true"),
        ("1 in inputs.l and 's' in inputs and 'nope' not in inputs", "true"),
        ("inputs.s == 'abc' == true", "false"),
    ] {
        let found = scope().evaluate(source);
        assert_eq!(found.as_ref().map(Value::compact).as_deref(), Ok(value), "{source}");
    }
    for source in ["inputs.nope + 1", "inputs.nope ~ 'a'", "1 == inputs.nope", "'a' * 'b'", "inputs.n[1:]"] {
        let error = scope().evaluate(source).expect_err(source);
        assert!(!error.too_large, "{source}: {error}");
    }
}
