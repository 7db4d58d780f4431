//! Tests `model`: the model and its question.

use crate::told::{each_is_told, loaded, step, steps};
use envoi_kernel::flow::{
    AfterWait, Expression, Fallback, InDoubtPolicy, InnerInput, ModelPlan, OnThrottled, Step, StepKind,
    Template,
};

#[expect(clippy::panic, reason = "a step of these tests that is another one is a failed test")]
fn plan(step: &Step) -> &ModelPlan {
    match &step.kind {
        StepKind::Model(plan) => plan,
        other => panic!("{other:?}"),
    }
}

fn model(keys: &str, others: &str) -> String {
    steps(&["id: a, run: x", &format!("id: b, model: {{ {keys} }}{others}")])
}

#[test]
fn a_model_has_a_prompt_and_what_is_given_with_it() {
    let flow = loaded(&model("use: small, prompt: 'Sum up.'", ""));
    let template = |text: &str| Template(text.to_owned());
    let expected = ModelPlan {
        model: "small".to_owned(),
        on_throttled: OnThrottled::default(),
        prompt: template("Sum up."),
        system: None,
        files: Vec::new(),
        temperature: None,
        max_tokens: None,
        repair: 0,
    };
    assert_eq!(plan(step(&flow, "b")), &expected);
    assert_eq!(plan(step(&flow, "b")).account(), "model small");
    assert_eq!(step(&flow, "b").on_in_doubt, InDoubtPolicy::Ask);
    let flow = loaded(&model(
        "use: own/x:7b, prompt: 'Sum up ${{ steps.a.summary }}', system: 'Be ${{ run.id }}', files: [a.md, '${{ steps.a.artifacts }}', \
         'x-${{ run.id }}.md'], temperature: 0.20, max_tokens: 50, repair: 2",
        ", outputs: { type: object }, on_in_doubt: rerun, on_throttled: { wait: 2h, then: ask }",
    ));
    let expected = ModelPlan {
        model: "own/x:7b".to_owned(),
        on_throttled: OnThrottled { wait_ms: 7_200_000, then: AfterWait::Ask },
        prompt: template("Sum up ${{ steps.a.summary }}"),
        system: Some(template("Be ${{ run.id }}")),
        files: vec![
            InnerInput::Template(template("a.md")),
            InnerInput::Expression(Expression("steps.a.artifacts".to_owned())),
            InnerInput::Template(template("x-${{ run.id }}.md")),
        ],
        temperature: Some("0.20".to_owned()),
        max_tokens: Some(50),
        repair: 2,
    };
    assert_eq!(plan(step(&flow, "b")), &expected);
    assert_eq!(step(&flow, "b").on_in_doubt, InDoubtPolicy::Rerun);
    let one = loaded(&model("use: small, prompt: p, files: a.md", ""));
    assert_eq!(plan(step(&one, "b")).files.len(), 1);
}

#[test]
fn another_model_can_go_on_where_the_first_one_is_at_its_limit() {
    for (keys, wait_ms) in [("{ use: large }", 0), ("{ wait: 2h, then: { use: large } }", 7_200_000)] {
        let flow = loaded(&model("use: small, prompt: p", &format!(", on_throttled: {keys}")));
        let OnThrottled { wait_ms: read, then } = &plan(step(&flow, "b")).on_throttled;
        let AfterWait::Use(other) = then else { panic!("{keys}: {then:?}") };
        let Fallback { name, account, model, args, .. } = other.as_ref();
        assert_eq!((*read, name.as_str(), account.as_str()), (wait_ms, "large", "model large"));
        assert!(model.is_none() && args.is_empty(), "{keys}");
    }
}

#[test]
fn a_model_that_cannot_be_called_is_named() {
    let with = |keys: &str| model(&format!("use: small, prompt: p, {keys}"), "");
    let beside = |keys: &str| model("use: small, prompt: p", &format!(", {keys}"));
    each_is_told(vec![
        (model("prompt: p", ""), 4, "model", "`model` without a `use`"),
        (model("use: small", ""), 4, "model", "`model` without a `prompt`"),
        (model("use: small, promt: p", ""), 4, "promt", "did you mean `prompt`?"),
        (model("use: a b, prompt: p", ""), 4, "a b", "cannot be the name of a model"),
        (model("use: '${{ run.id }}', prompt: p", ""), 4, "'${{ run.id }}'", "nothing is filled in"),
        (with("temperature: 3"), 4, "3", "a number from 0 to 2"),
        (with("temperature: warm"), 4, "warm", "a number from 0 to 2"),
        (with("max_tokens: 0"), 4, "0", "`max_tokens`"),
        (with("repair: 2"), 4, "repair", "`repair` without `outputs`"),
        (with("files: ['']"), 4, "''", "a file of `files`"),
        (beside("skill: s"), 4, "skill", "`skill` does nothing in a step with `model`"),
        (beside("idle: 5m"), 4, "idle", "how long an answer may take"),
        (beside("denials: 1"), 4, "denials", "a model has no tools"),
        (beside("on_throttled: { use: codex }"), 4, "{ use: codex }", "cannot go on with an agent program"),
        (beside("on_throttled: { use: small }"), 4, "use", "goes on with the account that is closed"),
        (beside("on_throttled: { use: other, args: [x] }"), 4, "args", "`args` is for an agent program"),
        (beside("on_throttled: { then: { use: 'a b' } }"), 4, "'a b'", "cannot be the name of a model"),
        (beside("run: make"), 4, "run", "a step does one thing"),
    ]);
}
