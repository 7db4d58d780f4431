//! `outputs` of a step that runs a command.

use crate::told::{each_is_told, loaded, step, steps};

fn outputs(keys: &str) -> String {
    steps(&[&format!("id: a, run: x, {keys}")])
}

#[test]
fn the_data_of_a_step_has_a_schema_wherever_it_stands() {
    let flow = loaded(&outputs("skill: s, outputs: { type: object, required: [url] }"));
    let schema = step(&flow, "a").outputs.clone().map(|schema| schema.compact());
    assert_eq!(schema.as_deref(), Some(r#"{"type":"object","required":["url"]}"#));
    let flow = loaded(&outputs("data: json, outputs: { type: object }"));
    assert!(step(&flow, "a").data_is_text && step(&flow, "a").outputs.is_some());
    assert!(!step(&loaded(&outputs("outputs: { type: object }")), "a").data_is_text);
    for any in ["{}", "{ type: array, items: { type: string } }", "{ type: 'null' }"] {
        loaded(&outputs(&format!("skill: s, outputs: {any}")));
    }
}

#[test]
fn a_schema_that_is_none_is_reported() {
    each_is_told(vec![
        (outputs("data: yaml"), 3, "yaml", "`data`"),
        (
            outputs("returns: { a: '${{ run.id }}' }"),
            3,
            "returns",
            "`returns` does nothing in a step that runs a command",
        ),
        (outputs("skill: s, outputs: { url: string }"), 3, "url", "no keyword of JSON Schema"),
        (outputs("skill: s, outputs: { type: text }"), 3, "text", "the schema of `outputs` is not valid"),
        (outputs("skill: s, outputs: object"), 3, "object", "expected a JSON Schema such as"),
        (steps(&["id: a, ask: m, outputs: {}"]), 3, "outputs", "it runs no command"),
    ]);
}
