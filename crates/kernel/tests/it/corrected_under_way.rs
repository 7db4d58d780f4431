//! A correction of visits under way: their inputs stay or they are begun anew, and doubts are decided before the run goes back.

use crate::{
    corrected::{correction, version},
    driver::{Driver, slot},
    flows::{With as _, ask, flow, graph, step, step_id},
    story::{event, feed, stand},
};
use envoi_kernel::{
    Flow, Refusal,
    flow::{Expression, ForEach, InDoubtPolicy, InnerInput, InnerPlan, Step, StepKind, Template},
    ids::FlowId,
};
use std::{collections::BTreeMap, sync::Arc};

/// The events of a correction, or the reasons against it, and the state of the run after it.
fn correct(driver: &mut Driver, to: &Arc<Flow>, from: Option<&str>) -> String {
    driver.run.learn(Arc::clone(to));
    let shown = driver.run.correction(to, from.map(step_id).as_ref()).refusals;
    let said = match driver.feed_with(correction(to, from), slot()) {
        Ok(records) => {
            assert_eq!(shown, Vec::<String>::new());
            records.iter().map(|record| event(&record.event)).collect::<Vec<_>>().join(", ")
        }
        Err(Refusal::NotCorrectable { reasons }) => {
            assert_eq!(shown, reasons, "a person is shown why");
            reasons.join("; ")
        }
        Err(refusal) => refusal.to_string(),
    };
    driver.restart();
    format!("{said} {}", stand(&driver.run))
}

fn after(flow: &Arc<Flow>, inputs: &[&str]) -> Driver {
    let mut driver = Driver::new(flow);
    for input in core::iter::once(&"start").chain(inputs) {
        feed(&mut driver, input);
    }
    driver
}

/// A step that runs the flow `build` with this value, maybe for each of a list.
fn runs(name: &str, value: &str, list: Option<&str>) -> Step {
    let inputs = vec![("v".to_owned(), InnerInput::Template(Template(value.to_owned())))];
    let plan = InnerPlan { flow: FlowId::new("build").unwrap(), inputs, outputs: Vec::new() };
    step(name).with(|step| {
        step.kind = StepKind::Flow(Box::new(plan));
        step.for_each = list.map(|list| ForEach { items: Expression(list.to_owned()), max_parallel: None });
    })
}

/// The steps beside a flow `build`, which has these steps.
fn around(steps: impl IntoIterator<Item = Step>, inner: Vec<Step>) -> Arc<Flow> {
    let inner = Flow { id: FlowId::new("build").unwrap(), ..Flow::clone(&flow(inner)) };
    let outer = flow(steps);
    let flows = BTreeMap::from([(inner.id.clone(), Arc::new(inner))]);
    version(&format!("{:?} {flows:?}", outer.steps), &Arc::new(Flow { flows, ..Flow::clone(&outer) }))
}

#[test]
fn what_a_step_under_way_was_given_stays_and_a_correction_of_it_is_refused() {
    let list = |items: &str, of: Step| {
        let items = Expression(items.to_owned());
        flow([of.with(|step| step.for_each = Some(ForEach { items, max_parallel: Some(1) })), step("z")])
    };
    let inner = || vec![step("c"), ask("q"), step("d")];
    let flow_with = |value: &str, list: Option<&str>| around([runs("x", value, list), step("z")], inner());
    let rows = [
        (list("[1, 2]", ask("x")), list("[3, 4]", ask("x")), vec![], "its list (`for_each`)"),
        (
            flow_with("a", Some("[1]")),
            flow_with("a", Some("[2]")),
            vec!["0.x.1.c.1.1 exit 0"],
            "its list (`for_each`)",
        ),
        (
            flow_with("a", Some("[1]")),
            flow_with("b", Some("[1]")),
            vec!["0.x.1.c.1.1 exit 0"],
            "the `inputs` of its flow",
        ),
        (flow_with("a", None), flow_with("b", None), vec!["x.1.c.1.1 exit 0"], "the `inputs` of its flow"),
    ];
    for (old, new, inputs, what) in rows {
        let new = version(&format!("{:?}", new.steps), &new);
        let mut driver = after(&old, &inputs);
        let refused = correct(&mut driver, &new, None);
        let why = format!(
            "step `x` is under way with {what} as it began, and the file has another one there: `--from x` does it anew"
        );
        assert!(refused.starts_with(&why), "{refused}");
        assert_eq!(driver.run.flow().digest, old.digest, "nothing has changed");
        let anew = correct(&mut driver, &new, Some("x"));
        assert!(anew.contains("flow corrected from x"), "{anew}");
        assert_eq!(driver.run.flow().digest, new.digest);
        // Other contents of a corrected step may differ.
        let mut driver = after(&old, &inputs);
        let other = Flow::clone(&old);
        let mut steps = other.steps.clone();
        steps[1] = step("z").exec(&["other"]);
        let other = version("other", &Arc::new(Flow { steps, ..other }));
        assert!(correct(&mut driver, &other, None).contains("flow corrected"), "{what}");
    }
}

#[test]
fn a_flow_that_goes_on_where_it_stopped_keeps_its_inputs() {
    let with = |value: &str| around([runs("x", value, None), step("z")], vec![step("c"), step("d")]);
    let mut driver = after(&with("a"), &["x.1.c.1.1 exit 0", "x.1.d.1.1 exit 1"]);
    assert_eq!(
        correct(&mut driver, &with("b"), None),
        "step `x` has finished parts that began with the `inputs` of its flow as it began, and the file has another one \
         there: `--from x` does it anew = nothing [failed 1]"
    );
    let anew = correct(&mut driver, &with("b"), Some("x"));
    assert!(anew.contains("x.2 runs build"), "{anew}");
}

#[test]
fn a_correction_that_goes_back_waits_until_what_is_in_doubt_is_decided() {
    let verify: fn(&mut Step) = |step| {
        let StepKind::Run(plan) = step.kind.clone() else { panic!("no command") };
        step.on_in_doubt = InDoubtPolicy::Verify(plan);
    };
    for policy in [(|_: &mut Step| ()) as fn(&mut Step), verify] {
        for (answer, from, next) in [("rerun", "b", "b.2.1"), ("fail", "b", "b.2.1"), ("rerun", "a", "a.2.1")]
        {
            let old = flow([step("a"), step("b").with(policy), step("c")]);
            let new = flow([step("a"), step("b").with(policy).tries(2), step("c")]);
            let new = version("new", &new);
            let mut driver = after(&old, &["a.1.1 exit 0"]);
            assert_eq!(correct(&mut driver, &new, Some(from)), "correction waits = b.1.1 live");
            assert_eq!(
                feed(&mut driver, "b.1.1 doubt"),
                "b.1.1 IN_DOUBT, asks InDoubt of b.1 = question [waiting 5]"
            );
            driver.restart();
            let said = feed(&mut driver, &format!("answer {answer}"));
            assert!(said.contains(&format!("flow corrected from {from}")), "{said}");
            assert!(said.ends_with(&format!("{next} begins = {next} live")), "{said}");
            assert_eq!(driver.run.flow().digest, new.digest);
            driver.restart();
        }
    }
}

#[test]
fn a_step_that_runs_again_by_itself_when_in_doubt_needs_no_answer_before_the_run_goes_back() {
    let rerun = |name: &str| step(name).in_doubt(InDoubtPolicy::Rerun);
    let old = flow([step("a"), rerun("b")]);
    let new = version("new", &flow([step("a"), rerun("b").tries(2)]));
    let mut driver = after(&old, &["a.1.1 exit 0"]);
    correct(&mut driver, &new, Some("b"));
    let said = feed(&mut driver, "b.1.1 doubt");
    assert!(said.contains("flow corrected from b") && said.ends_with("b.2.1 begins = b.2.1 live"), "{said}");
}

#[test]
fn while_a_correction_waits_for_a_decision_nothing_else_starts_and_another_one_may_come() {
    let needs = |of: Step| of.with(|step| step.needs = vec![step_id("a")]);
    let steps = |last: Step| graph([step("a"), needs(step("b")), needs(last)]);
    let (old, new) = (steps(step("c")), version("new", &steps(step("c").tries(2))));
    let mut driver = after(&old, &["a.1.1 exit 0"]);
    feed(&mut driver, "slot");
    let begun = stand(&driver.run);
    assert!(begun.contains("b.1.1 live") && begun.contains("c.1.1 live"), "{begun}");
    correct(&mut driver, &new, Some("a"));
    feed(&mut driver, "b.1.1 doubt");
    assert_eq!(
        feed(&mut driver, "c.1.1 exit 0").rsplit(", ").next(),
        Some("c.1 succeeded = question [waiting 5]")
    );
    driver.restart();
    // The same without going back needs no decision before: it is asked anew.
    let plain = version("plain", &new);
    assert!(correct(&mut driver, &plain, None).contains("flow corrected"));
    assert_eq!(driver.run.requested_correction(), None);
}
