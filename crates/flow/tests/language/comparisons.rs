//! Tests that a comparison with an impossible word is a mistake.

use crate::told::{Row, each_is_told, loaded, steps};
use envoi_flow::load_as;
use std::collections::BTreeMap;

const INPUTS: &str = "inputs: { mode: { enum: [fast, deep], default: fast } }\n";

/// A flow whose step `after` has this condition. The data of `judge` and `person` have known words.
fn conditional(condition: &str) -> String {
    let lines = [
        "id: test, run: x, continue_on_error: true",
        "id: judge, run: x, outputs: { type: object, properties: { verdict: { enum: [good, bad] } } }",
        "id: person, ask: { message: m, schema: { type: object, properties: { to: { enum: [blog, mail] } } } }",
        &format!("id: after, run: x, if: \"{condition}\""),
    ];
    steps(&lines).replacen("steps:", &format!("{INPUTS}steps:"), 1)
}

#[test]
fn words_that_can_be_are_no_mistake() {
    for condition in [
        "steps.test.status == 'succeeded'",
        "'failed' != steps.test.status",
        "steps.test.status in ['failed', 'skipped'] or steps.test.status not in ['succeeded']",
        "steps.judge.data.verdict == 'good' and steps.person.data.to == 'mail'",
        "inputs.mode == 'deep' and steps.test.summary == 'success'",
        "steps.judge.data.other == 'x' and steps.test.status ~ '' == 'x'",
        "steps.test.status == inputs.mode",
        "steps.test.status == 'succ' ~ 'eeded' or 'suc' ~ 'ceeded' == steps.test.status",
        "'x' == steps.test.status ~ 'y' or steps.test.status == 'SUCCEEDED' | lower",
    ] {
        loaded(&conditional(condition));
    }
}

#[test]
fn a_word_that_can_never_be_is_a_mistake_with_the_nearest_word() {
    let row = |condition: &str, at: &'static str, words: &'static str| -> Row {
        (conditional(condition), 7, at, words)
    };
    each_is_told(vec![
        row(
            "steps.test.status == 'success'",
            "'success'",
            "`steps.test.status` is never `success` | `succeeded`, `failed` or `skipped` | did you mean `succeeded`?",
        ),
        row("'failure' == steps.test.status", "'failure'", "did you mean `failed`?"),
        row("steps['test'].status != 'Failed'", "'Failed'", "did you mean `failed`?"),
        row("steps.test.status in ['failed', 'skip']", "'skip'", "did you mean `skipped`?"),
        row("steps.test.status not in ('ok',)", "'ok'", "did you mean `succeeded`?"),
        row("steps.judge.data.verdict == 'goood'", "'goood'", "`good` or `bad` | did you mean `good`?"),
        row("steps.person.data.to == 'letter'", "'letter'", "is never `letter` | `blog` or `mail`"),
        row("inputs.mode == 'slow'", "'slow'", "`inputs.mode` is never `slow` | `fast` or `deep`"),
    ]);
}

#[test]
fn a_flow_that_a_run_is_pinned_to_loads_as_it_did() {
    for condition in
        ["steps.test.status == 'success'", "[1] | batch(2) | list", "range(3) | list", "1 is iterable"]
    {
        let text = conditional(condition);
        for language in 1..=envoi_flow::LANGUAGE {
            let loaded = load_as(language, "f.yaml", &text, &BTreeMap::new());
            assert!(loaded.is_ok(), "{language} {condition}");
        }
    }
    let closed = "{ type: object, additionalProperties: false, required: [b], properties: { a: {} } }";
    let text = format!(
        "flow: f\nsteps:\n  - {{ id: q, ask: {{ message: m, schema: {closed} }} }}\n  - {{ id: b, run: [x], if: steps.q.data.c == 1 }}\n"
    );
    assert!(envoi_flow::load("f.yaml", &text).is_err());
    for language in 1..=envoi_flow::LANGUAGE {
        load_as(language, "f.yaml", &text, &BTreeMap::new())
            .unwrap_or_else(|report| panic!("{language}: {report}"));
    }
}
