//! Tests defaults, schemas, and that all mistakes are reported at once.

use super::*;

fn flow(inputs: &str) -> Flow {
    let text = format!("flow: f\ninputs: {inputs}\nsteps:\n  - {{ id: a, run: [x] }}\n");
    crate::load("f.yaml", &text)
        .unwrap_or_else(|report| panic!("{}", report.render(crate::Colour::Never)))
        .flow
}

fn object(text: &str) -> Object {
    Value::parse_str(text).unwrap().as_object().unwrap().clone()
}

#[test]
fn defaults_fill_what_is_not_given_and_values_keep_their_tokens() {
    let flow = flow("{ n: { type: number }, s: { type: string, default: ./shop }, b: { default: [1.00] } }");
    let resolved = resolve(&flow, &object(r#"{"n": 1e400}"#)).unwrap();
    assert_eq!(Value::Object(resolved).compact(), r#"{"n":1e400,"s":"./shop","b":[1.00]}"#);
}

#[test]
fn every_mistake_of_the_inputs_is_reported_at_once() {
    let flow = flow(
        "{ package: { type: string }, depth: { type: integer, maximum: 5 }, list: { items: { type: string } } }",
    );
    let errors = resolve(&flow, &object(r#"{"pakage": "x", "depth": 7, "list": ["a", 2]}"#)).unwrap_err();
    let told: Vec<String> = errors.0.iter().map(InputError::to_string).collect();
    assert_eq!(
        told,
        [
            "there is no input `pakage`; did you mean `package`?",
            "input `package` is missing; give it a value with `--input package=…`",
            "input `depth`: 7 is greater than the maximum of 5",
            "input `list` at `1`: 2 is not of type \"string\"",
        ]
    );
}

#[test]
fn a_value_that_could_not_stand_in_an_envelope_is_refused() {
    let flow = flow("{ any: {} }");
    let given = |levels: usize| object(&format!("{{\"any\": {}{}}}", "[".repeat(levels), "]".repeat(levels)));
    assert!(resolve(&flow, &given(MAX_PART_DEPTH)).is_ok());
    let told = resolve(&flow, &given(MAX_PART_DEPTH + 1)).unwrap_err().to_string();
    assert_eq!(
        told,
        "input `any` has 101 levels of nesting, and at most 100 can be given; give the path of a file"
    );
}

#[test]
fn an_argument_is_text_for_a_string_and_json_for_anything_else() {
    let flow = flow(
        "{ s: { type: string }, n: { type: integer }, e: { enum: [dev, prod] }, any: {}, \
         m: { type: [string, \"null\"], maxLength: 3 } }",
    );
    for (name, text, value) in [
        ("m", "7", Some("\"7\"")),
        ("m", "null", Some("null")),
        ("m", "7777", Some("7777")),
        ("s", "7", Some("\"7\"")),
        ("s", "", Some("\"\"")),
        ("n", "7", Some("7")),
        ("n", "007", None),
        ("n", "seven", None),
        ("e", "dev", Some("\"dev\"")),
        ("e", "test", None),
        ("any", "{\"a\": [1.00]}", Some("{\"a\":[1.00]}")),
        ("any", "plain words", Some("\"plain words\"")),
    ] {
        let decl = flow.inputs.iter().find(|decl| decl.name == name).unwrap();
        let read = parse_argument(decl, text).ok().map(|value| value.compact());
        assert_eq!(read.as_deref(), value, "{name}={text}");
    }
}

fn read(name: &str, text: &str) -> Result<Value, InputError> {
    let flow = flow(
        "{ any: {}, s: { type: string }, list: { type: [array, string] }, maybe: { type: [string, \"null\"] } }",
    );
    parse_argument(flow.inputs.iter().find(|decl| decl.name == name).unwrap(), text)
}

#[test]
fn what_is_plainly_meant_as_json_is_no_text() {
    for text in [
        r#"{"a": 1,}"#,
        r#" { "a\"b" : one } "#,
        r#"{"a": 1, "a": 2}"#,
        "[1, 2,]",
        r#"["a,]", b]"#,
        r#"[{"a": 1}, {"a": }]"#,
        "[[true, false], [null, None]]",
    ] {
        for name in ["any", "list"] {
            let error = read(name, text).unwrap_err().to_string();
            assert!(error.contains(" is not JSON: ") && error.contains("line 1, column "), "{error}");
        }
        for name in ["s", "maybe"] {
            assert_eq!(read(name, text), Ok(Value::from(text)));
        }
    }
    assert_eq!(
        read("any", r#"{"a": 1,}"#).unwrap_err().to_string(),
        "input `any` is not JSON: `{\"a\": 1,}` (line 1, column 9: expected a member name in quotes, found `}`); as a text it needs \
         `type: string`, or is given as a JSON string"
    );
    for text in [
        "[draft] write this",
        "[draft]",
        "[draft, for Ada]",
        "[2026-11-30]",
        "[1st, 2nd]",
        "[see the notes, and [1]]",
        "[1] and [2]",
        "[1, 2] and [3, 4]",
        "[1, 2] are two",
        "{name}",
        "{{ name }}",
        "{a: 1}",
        r#"{"a": 1} {"a": 2}"#,
        r#"{"a": ID} is the form"#,
        r#"["open, and never closed]"#,
        "[",
        "{",
        "\"",
        "[]]",
        "[1 ",
    ] {
        assert_eq!(read("any", text), Ok(Value::from(text)));
    }
}

#[test]
fn an_argument_with_too_many_levels_is_no_text() {
    let levels = |count: usize| format!("{}{}", "[".repeat(count), "]".repeat(count));
    assert_eq!(read("any", &levels(127)).unwrap().depth(), 127);
    for text in [levels(128), levels(5000), "[".repeat(128), format!("{}1", r#"{"a":"#.repeat(128))] {
        let error = read("any", &text).unwrap_err().to_string();
        let reason = ": expected at most 127 levels of nesting, found a level more); as a text";
        assert!(error.starts_with("input `any` is not JSON: `") && error.contains(reason), "{error}");
        assert!(error.len() < 1000, "{error}");
        assert_eq!(read("s", &text), Ok(Value::from(text.as_str())));
    }
}
