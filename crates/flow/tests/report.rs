//! Tests the report of mistakes for people and for programs.

use envoi_contract::code::Code;
use envoi_flow::{Colour, LineColumn, Located, load};

const BROKEN: &str = "\
flow: shop
stpes: 1
steps:
  - id: a
    run: [\"x\", \"${{ inputs.pakage }}\"]
    routing: { next: end }
  - { id: b, run: [x], timeout: 5 }
  - { id: ä, run: [x] }
";

#[test]
fn a_report_shows_each_line_with_what_to_do() {
    let report = load("flow.yaml", BROKEN).unwrap_err();
    let expected = r#"error[FLOW_INVALID]: unknown key `stpes` in a flow
 --> flow.yaml:2:1
  |
2 | stpes: 1
  | ^^^^^
  |
  = help: did you mean `steps`?

error[FLOW_INVALID]: there is no input `pakage`
 --> flow.yaml:5:21
  |
5 |     run: ["x", "${{ inputs.pakage }}"]
  |                     ^^^^^^^^^^^^^
  |
  = help: declare it: `inputs: { pakage: { type: string } }`

error[FLOW_INVALID]: step `b` is never reached
 --> flow.yaml:7:11
  |
6 |     routing: { next: end }
  |                      --- `a` goes on to `end`
7 |   - { id: b, run: [x], timeout: 5 }
  |           ^
  |
  = help: no `next` and no `branches` name it; add it to one of them, or remove it

error[FLOW_INVALID]: `timeout`: expected a duration such as `500ms`, `10s`, `30m`, `2h` or `1d`, found the number `5`
 --> flow.yaml:7:33
  |
7 |   - { id: b, run: [x], timeout: 5 }
  |                                 ^
  |
  = help: a duration has a unit: `5s`

error[FLOW_INVALID]: `ä` is not an id
 --> flow.yaml:8:11
  |
8 |   - { id: ä, run: [x] }
  |           ^ expected a lower-case letter, then up to 63 of `a-z 0-9 _ -`

flow.yaml: 5 problems found
"#;
    assert_eq!(report.render(Colour::Never), expected);
    assert_eq!(report.to_string(), "`flow.yaml` is not a flow that can run: 5 problems found");
}

#[test]
fn a_side_way_is_shown_with_both_of_its_ends() {
    let text = "\
flow: shop
steps:
  - id: approve
    ask: { message: Publish?, on_deny: undo }
  - { id: publish, run: [x] }
  - { id: undo, run: [x] }
  - { id: mail, run: [x] }
";
    let expected = r#"error[FLOW_INVALID]: `undo` follows `publish`, and is also where a denial of `approve` leads
 --> flow.yaml:5:11
  |
4 |     ask: { message: Publish?, on_deny: undo }
  |                                        ---- a denial leads to `undo`
5 |   - { id: publish, run: [x] }
  |           ^^^^^^^
  |
  = help: say which at `publish`: `routing: { next: end }`, or `next: undo` if that is meant

error[FLOW_INVALID]: step `mail` is never reached
 --> flow.yaml:7:11
  |
4 |     ask: { message: Publish?, on_deny: undo }
  |                                        ---- a denial leads to `undo`, and the run ends there
...
7 |   - { id: mail, run: [x] }
  |           ^^^^
  |
  = help: say where it goes on: `routing: { next: mail }` at `undo`

flow.yaml: 2 problems found
"#;
    assert_eq!(load("flow.yaml", text).unwrap_err().render(Colour::Never), expected);
}

#[test]
fn a_report_in_colour_says_the_same() {
    let report = load("flow.yaml", BROKEN).unwrap_err();
    let coloured = report.render(Colour::Always);
    assert!(coloured.contains("\u{1b}["));
    let mut plain = String::new();
    let mut rest = coloured.as_str();
    while let Some((text, escape)) = rest.split_once('\u{1b}') {
        plain.push_str(text);
        rest = escape.split_once('m').map_or("", |(_, after)| after);
    }
    plain.push_str(rest);
    assert_eq!(plain, report.render(Colour::Never));
}

#[test]
fn a_report_names_the_file_and_the_lines_and_columns_of_each_mistake() {
    let report = load("flow.yaml", BROKEN).unwrap_err();
    let located = report.located();
    assert_eq!(located.len(), 5);
    let Located { file, start, end, diagnostic } = located[0];
    assert_eq!(
        (file, start, end),
        ("flow.yaml", LineColumn { line: 2, column: 1 }, LineColumn { line: 2, column: 6 })
    );
    assert_eq!(
        (diagnostic.code, diagnostic.message.as_str(), diagnostic.help.as_deref()),
        (Code::FlowInvalid, "unknown key `stpes` in a flow", Some("did you mean `steps`?"))
    );
}
