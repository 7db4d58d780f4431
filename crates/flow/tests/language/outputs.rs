//! `outputs` of a step that runs a command.

use crate::told::{each_is_told, loaded, step, steps};

fn outputs(keys: &str) -> String {
    steps(&[&format!("id: a, run: x, {keys}")])
}

#[test]
fn the_data_of_a_report_has_a_schema() {
    let flow = loaded(&outputs("skill: s, outputs: { type: object, required: [url] }"));
    let schema = step(&flow, "a").outputs.clone().map(|schema| schema.compact());
    assert_eq!(schema.as_deref(), Some(r#"{"type":"object","required":["url"]}"#));
    for any in ["{}", "{ type: array, items: { type: string } }", "{ type: 'null' }"] {
        loaded(&outputs(&format!("skill: s, outputs: {any}")));
    }
}

#[test]
fn a_schema_without_a_report_is_told() {
    each_is_told(vec![
        (outputs("outputs: { type: object }"), 3, "outputs", "this step need not leave one"),
        (outputs("skil: s, outputs: { type: object }"), 3, "skil", "did you mean `skill`?"),
        (outputs("skill: s, outputs: { url: string }"), 3, "url", "no keyword of JSON Schema"),
        (outputs("skill: s, outputs: { type: text }"), 3, "text", "the schema of `outputs` is not valid"),
        (outputs("skill: s, outputs: object"), 3, "object", "expected a JSON Schema such as"),
        (steps(&["id: a, ask: m, outputs: {}"]), 3, "outputs", "it runs no command"),
    ]);
}
