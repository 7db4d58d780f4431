//! Tests the meaning of plain words, and which YAML is refused.

use super::*;

fn read(text: &str) -> (Option<Node>, Problems) {
    let mut problems = Problems::default();
    let node = compose(text, &mut problems);
    (node, problems)
}

/// The tree as text. Each scalar and collection has the text of its span.
fn outline(text: &str, node: &Node, out: &mut Vec<String>) {
    let spanned = text.get(node.span.start..node.span.end).unwrap();
    match &node.kind {
        Kind::Scalar(scalar) => out.push(format!("{:?}={spanned:?}", scalar.text)),
        Kind::Sequence(items) => {
            out.push(format!("[]={spanned:?}"));
            items.iter().for_each(|item| outline(text, item, out));
        }
        Kind::Mapping(members) => {
            out.push(format!("{{}}={spanned:?}"));
            for (key, value) in members {
                out.push(format!("{}:{:?}", key.text, text.get(key.span.start..key.span.end).unwrap()));
                outline(text, value, out);
            }
        }
    }
}

#[test]
fn every_node_spans_its_own_text() {
    for (text, expected) in [
        (
            "a: 1   # x\nb: 'é z'\n",
            vec!["{}=\"a: 1   # x\\nb: 'é z'\"", "a:\"a\"", "\"1\"=\"1\"", "b:\"b\"", "\"é z\"=\"'é z'\""],
        ),
        (
            "é: [x, \"y\"]\r\nb:\r\n  - q\r\n",
            vec![
                "{}=\"é: [x, \\\"y\\\"]\\r\\nb:\\r\\n  - q\"",
                "é:\"é\"",
                "[]=\"[x, \\\"y\\\"]\"",
                "\"x\"=\"x\"",
                "\"y\"=\"\\\"y\\\"\"",
                "b:\"b\"",
                "[]=\"- q\"",
                "\"q\"=\"q\"",
            ],
        ),
        (
            "a:\nb: |\n  x\n  y\nc: 2\n",
            vec![
                "{}=\"a:\\nb: |\\n  x\\n  y\\nc: 2\"",
                "a:\"a\"",
                "\"\"=\"a\"",
                "b:\"b\"",
                "\"x\\ny\\n\"=\"x\\n  y\"",
                "c:\"c\"",
                "\"2\"=\"2\"",
            ],
        ),
    ] {
        let (node, problems) = read(text);
        assert!(problems.is_empty(), "{problems:?}");
        let mut out = Vec::new();
        outline(text, &node.unwrap(), &mut out);
        assert_eq!(out, expected, "{text}");
    }
}

#[test]
fn what_hides_the_meaning_of_a_file_is_refused_at_its_place() {
    let mut missing = Vec::new();
    let deep = "[".repeat(70);
    for (text, line, column, message) in [
        ("a: 1\na: 2\n", 2, 1, "duplicate key `a`"),
        ("a: &x 1\nb: 2\n", 1, 4, "anchors are not supported"),
        ("a: &x {c: 1}\n", 1, 4, "anchors are not supported"),
        ("a: &x 1\nb: *x\n", 2, 4, "aliases are not supported"),
        ("a: !!str 1\n", 1, 4, "tags are not supported"),
        ("a:\n  <<: {b: 1}\n", 2, 3, "merge keys are not supported"),
        ("? [a]\n: 1\n", 1, 3, "a key must be a text"),
        (": 1\n", 1, 1, "a key is missing here"),
        ("a: 1\n---\nb: 2\n", 2, 1, "a second document"),
        ("a:\n\tb: 1\n", 2, 2, "not valid YAML"),
        ("a: [1, 2\nb: 3\n", 2, 2, "not valid YAML"),
        ("a: 'x\n", 1, 4, "not valid YAML"),
        (deep.as_str(), 1, 66, "nested more than 64"),
    ] {
        let (_, problems) = read(text);
        let report = problems.into_report("f", text);
        let found = report.diagnostics.iter().any(|diagnostic| {
            let place = report.place(diagnostic);
            (place.line, place.column) == (line, column) && diagnostic.message.contains(message)
        });
        if !found {
            let found: Vec<_> = report.diagnostics.iter().map(|d| (report.place(d), &d.message)).collect();
            missing.push(format!("{text:?}: {found:?}"));
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn a_value_with_a_colon_is_shown_in_quotes() {
    for (text, help) in [
        ("a:\n  - run: echo a: b\n", Some("'echo a: b'")),
        ("run: echo \"a: b\" # c\n", Some("'echo \"a: b\" # c'")),
        ("ask: Don't: really?\n", Some("\"Don't: really?\"")),
        ("a: b\n c: d\n", None),
        ("a: [b: c: d]\n", None),
        ("a: 'x\n", None),
    ] {
        let (_, problems) = read(text);
        let report = problems.into_report("f", text);
        let found = report.diagnostics.iter().find_map(|diagnostic| diagnostic.help.clone());
        let expected = help.map(|value| {
            format!("a value with `: ` in it stands in quotes, or in the lines below `|`: {value}")
        });
        assert_eq!(found, expected, "{text:?} {:?}", report.diagnostics);
    }
}

#[test]
fn an_empty_file_has_no_tree_and_no_mistake() {
    for text in ["", "# only a comment\n", "\n\n"] {
        let (node, problems) = read(text);
        assert!(node.is_none() && problems.is_empty(), "{text:?} {node:?}");
    }
}
