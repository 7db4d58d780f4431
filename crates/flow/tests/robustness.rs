//! Tests that loading any text ends with a flow, or with a report that can be shown.

use envoi_flow::{Colour, load, load_bytes};
use proptest::prelude::*;

const FLOWS: [&str; 5] = [
    include_str!("flows/fix-until-green.yaml"),
    include_str!("flows/everything.yaml"),
    include_str!("flows/questions.yaml"),
    include_str!("flows/graph.yaml"),
    include_str!("flows/rounds.yaml"),
];

/// Loads the bytes and renders the report. Spans must be inside the text and on character boundaries.
fn survive(bytes: &[u8]) {
    if let Err(report) = load_bytes("f.yaml", bytes) {
        assert!(!report.diagnostics.is_empty());
        for diagnostic in &report.diagnostics {
            let span = diagnostic.span;
            assert!(span.end <= report.text.len(), "{diagnostic:?}");
            assert!(report.text.is_char_boundary(span.start) && report.text.is_char_boundary(span.end));
        }
        assert!(report.render(Colour::Never).ends_with(" found\n") || report.beyond > 0);
        assert_eq!(report.located().len(), report.diagnostics.len());
    }
}

#[test]
fn every_beginning_of_a_flow_is_survived() {
    for flow in FLOWS {
        for end in 0..=flow.len() {
            survive(&flow.as_bytes()[..end]);
        }
    }
}

#[test]
fn every_flow_with_one_line_left_out_is_survived() {
    for flow in FLOWS {
        let lines: Vec<&str> = flow.lines().collect();
        for gone in 0..lines.len() {
            let kept: Vec<&str> =
                lines.iter().enumerate().filter(|(place, _)| *place != gone).map(|(_, line)| *line).collect();
            survive(kept.join("\n").as_bytes());
        }
    }
}

#[test]
fn a_thousand_mistakes_are_counted_and_a_hundred_shown() {
    let text: String = (0..1000).map(|n| format!("key{n}: x\n")).collect();
    let report = load("f.yaml", &text).unwrap_err();
    assert_eq!(report.diagnostics.len().saturating_add(report.beyond), 1002);
    assert!(report.render(Colour::Never).ends_with("f.yaml: 1002 problems found, the first 100 shown\n"));
}

#[test]
fn nesting_that_would_exhaust_the_stack_is_refused() {
    for piece in ["[", "{a: ", "- ", "? ", "!x ", "&a "] {
        survive(piece.repeat(20_000).as_bytes());
    }
    let nested =
        |expression: String| format!("flow: f\nsteps:\n  - id: a\n    run: [\"${{{{ {expression} }}}}\"]\n");
    for piece in ["(", "-", "not ", "run.id+", "[", "run.a.a", "1if 1else "] {
        survive(nested(piece.repeat(20_000)).as_bytes());
        survive(nested(format!("{}1", piece.repeat(1000 / piece.len()))).as_bytes());
    }
    for tail in [".a", "[0]", "()", "|upper"] {
        survive(nested(format!("run.id{}", tail.repeat(1000 / tail.len()))).as_bytes());
    }
    for schema in [
        "{ $ref: '#', default: 1 }",
        "{ anyOf: [{ $ref: '#' }, { not: { $ref: '#' } }], default: 1 }",
        "{ $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } }, default: 1 }",
    ] {
        survive(format!("flow: f\ninputs: {{ a: {schema} }}\nsteps: [{{ id: a, run: x }}]\n").as_bytes());
    }
}

/// Pieces of the language in an order that no person would write.
fn soup() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "flow: ",
        "steps:\n",
        "  - id: ",
        "a",
        "b",
        "\n",
        "    run: ",
        "[x]",
        "${{ ",
        " }}",
        "steps.a.data",
        "inputs.x",
        "ask: ",
        "message: ",
        "schema: ",
        "on_deny: ",
        "on_expire: ",
        "routing: ",
        "needs: ",
        "join: ",
        "quorum: ",
        "for_each: ",
        "max_parallel: ",
        "item",
        "if: ",
        "failure()",
        "goals: ",
        "list: ",
        "from: ",
        "to: ",
        "marks: ",
        "outputs: ",
        "budget: ",
        "verify: ",
        "flow: b.yaml",
        "flows: ",
        "branches: ",
        "b/c",
        "{ ",
        "}",
        "next: ",
        "end",
        ", ",
        "loop_to: ",
        "success_values: ",
        "[",
        "]",
        ":",
        "- ",
        "? ",
        "'",
        "\"",
        "|\n",
        ">\n",
        "  ",
        "\t",
        "&a ",
        "*a",
        "!!str ",
        "<<: ",
        "# ",
        "é",
        "\r\n",
        "\0",
        "1",
        "true",
        "~",
        "---\n",
        "timeout: ",
        "10s",
        "artifacts: ",
        "**",
        "\u{feff}",
        "inputs: ",
        "type: ",
        "string",
        "default: ",
        "%",
        "@",
        "`",
    ]);
    prop::collection::vec(pieces, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        survive(&bytes);
    }

    #[test]
    fn any_order_of_its_pieces_is_survived(text in soup()) {
        survive(text.as_bytes());
    }

    #[test]
    fn a_flow_with_something_thrown_in_is_survived(which in 0..FLOWS.len(), at in any::<prop::sample::Index>(), piece in soup()) {
        let mut text = FLOWS[which].to_owned();
        let mut place = at.index(text.len());
        while !text.is_char_boundary(place) {
            place -= 1;
        }
        text.insert_str(place, &piece);
        survive(text.as_bytes());
    }
}
