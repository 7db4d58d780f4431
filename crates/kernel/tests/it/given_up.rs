//! An abandoned step leaves nothing behind: no items, no flow, no open question.

use crate::{
    flows::{With as _, ask, critic, flow, graph, step, step_id},
    story::ends,
};
use envoi_contract::{digest::Digest, routing::Kind};
use envoi_kernel::{
    Flow,
    flow::{Expression, ForEach, InnerPlan, Join, Step, StepKind},
    ids::FlowId,
};
use std::sync::Arc;

fn after(step: Step, needs: &[&str]) -> Step {
    step.with(|step| step.needs = needs.iter().map(|need| step_id(need)).collect())
}

fn first(step: Step) -> Step {
    step.with(|step| step.join = Join::Any)
}

fn runs(name: &str, inner: &str) -> Step {
    let plan = InnerPlan { flow: FlowId::new(inner).unwrap(), inputs: Vec::new(), outputs: Vec::new() };
    step(name).with(|step| step.kind = StepKind::Flow(Box::new(plan)))
}

fn named(name: &str, flow: Arc<Flow>) -> Arc<Flow> {
    let (id, digest) = (FlowId::new(name).unwrap(), Digest::of(name.as_bytes()));
    Arc::new(Flow { id, digest, ..Flow::clone(&flow) })
}

fn with(outer: Arc<Flow>, inner: impl IntoIterator<Item = Arc<Flow>>) -> Arc<Flow> {
    let flows = inner.into_iter().map(|flow| (flow.id.clone(), flow)).collect();
    Arc::new(Flow { flows, ..Flow::clone(&outer) })
}

/// `triage`, whose hints may lead to step `link` of flow `build`.
fn triage() -> Step {
    step("triage").with(|step| {
        step.routing.declared = true;
        step.routing.kind = Kind::Branch;
        step.routing.flow_branches = vec![(FlowId::new("build").unwrap(), step_id("link"))];
    })
}

/// The steps `one` and `other`, and `j`, which is entered after the first of them.
fn either(one: Step, other: Step) -> [Step; 3] {
    let needs = [one.id.to_string(), other.id.to_string()];
    let join = first(after(step("j"), &[needs[0].as_str(), needs[1].as_str()]));
    [one, other, join]
}

#[test]
fn no_item_takes_the_place_of_one_that_was_given_up() {
    let fan = step("fan").with(|step| {
        step.for_each = Some(ForEach { items: Expression("[1, 2, 3]".to_owned()), max_parallel: Some(1) });
    });
    let given_up = ends(&graph(either(fan.clone(), step("x"))), &["start", "slot", "x.1.1 exit 0"]);
    assert!(given_up.contains("0.fan.1 is an item, 0.fan.1 skipped, fan.1 is skipped"), "{given_up}");
    let inputs = ["start", "slot", "x.1.1 exit 0", "0.fan.1.1 cancelled"];
    assert_eq!(ends(&graph(either(fan, step("x"))), &inputs), "0.fan.1.1 late, j.1.1 begins = j.1.1 live");
}

#[test]
fn a_flow_is_given_up_with_all_that_runs_in_it() {
    for inner in [flow([step("c")]), graph([step("c"), after(step("d"), &["c"])])] {
        let outer = with(graph(either(runs("b", "build"), step("x"))), [named("build", inner)]);
        let inputs = ["start", "slot", "x.1.1 exit 0", "b.1.c.1.1 cancelled"];
        assert_eq!(ends(&outer, &inputs), "b.1.c.1.1 late, j.1.1 begins = j.1.1 live");
    }
}

#[test]
fn a_result_may_come_when_its_flow_is_long_complete() {
    let outer = with(flow([runs("b", "build"), step("z")]), [named("build", flow([step("c")]))]);
    let inputs = ["start", "b.1.c.1.1 doubt", "rerun", "b.1.c.1.2 exit 0", "b.1.c.1.1 exit 0"];
    assert_eq!(ends(&outer, &inputs), "b.1.c.1.1 late = z.1.1 live");
    let again = [&inputs[..], &["b.1.c.1.1 exit 0"]].concat();
    assert_eq!(ends(&outer, &again), "refused: attempt `b.1.c.1.1` is not live = z.1.1 live");
}

#[test]
fn a_result_may_come_when_its_flow_has_been_taken_up_elsewhere() {
    let build = named("build", flow([step("c"), step("d")]));
    let outer = with(flow([runs("b", "build")]), [build]);
    let inputs = [
        "start",
        "b.1.c.1.1 doubt",
        "rerun",
        "b.1.c.1.2 exit 0",
        "b.1.d.1.1 exit 1",
        "reopen",
        "b.1.c.1.1 exit 0",
    ];
    assert_eq!(ends(&outer, &inputs), "b.1.c.1.1 late = b.2.d.2.1 live");
}

#[test]
fn a_step_that_a_person_was_to_lead_on_is_given_up_too() {
    let asks = step("a").with(|step| {
        step.routing.declared = true;
        step.routing.kind = Kind::Branch;
        step.routing.branches = vec![step_id("j")];
    });
    let inputs = ["start", "slot", "a.1.1 says Go to step 'nowhere'", "x.1.1 exit 0", "j.1.1 exit 0"];
    let went = ends(&graph(either(asks, step("x"))), &inputs);
    assert_eq!(went, "j.1.1 ok, j.1 is passed, j.1 succeeded, over: completed = nothing [succeeded 0]");
}

#[test]
fn a_flow_that_a_hint_led_into_is_given_up_with_its_step() {
    for inner in [flow([step("link"), step("pack")]), graph([step("link"), after(step("pack"), &["link"])])] {
        let build = named("build", inner);
        let outer = with(graph(either(triage(), step("x"))), [Arc::clone(&build)]);
        let hint = "triage.1.1 says Go to flow 'build' step 'link'";
        let inputs = ["start", "slot", hint, "x.1.1 exit 0", "triage.1.link.1.1 cancelled", "j.1.1 exit 0"];
        let went = ends(&outer, &inputs);
        assert_eq!(went, "j.1.1 ok, j.1 is passed, j.1 succeeded, over: completed = nothing [succeeded 0]");
        // The same where the run ends in its middle, and goes on without it.
        let inputs =
            ["start", "slot", hint, "cancel", "x.1.1 cancelled", "triage.1.link.1.1 cancelled", "reopen"];
        let went = ends(&outer, &inputs);
        assert_eq!(
            went,
            "reopened at triage, triage entered, x entered, triage.2.1 begins = triage.2.1 live, x.2 ready"
        );
        // And where a loop repeats its step.
        let looped = [step("a"), after(triage(), &["a"]), after(critic("judge", "a", 2), &["a"])];
        let outer = with(graph(looped), [build]);
        let inputs =
            ["start", "a.1.1 exit 0", "slot", hint, "judge.1.1 exit 1", "triage.1.link.1.1 cancelled"];
        assert_eq!(ends(&outer, &inputs), "triage.1.link.1.1 late, a.2.1 begins (round 1) = a.2.1 live");
    }
}

#[test]
fn a_loop_enters_nothing_before_its_needs_are_over() {
    let flow = graph([
        step("a0"),
        after(step("a"), &["a0"]),
        after(step("k"), &["a0"]),
        step("x"),
        first(after(critic("j", "a", 2), &["a", "x"])),
    ]);
    let inputs = ["start", "slot", "x.1.1 exit 0", "j.1.1 exit 1"];
    let went = "j.1.1 ok, j.1 back to a, j.1 succeeded, j entered, j does without a, j.2.1 begins (round 1) \
                = a0.1.1 live, j.2.1 live";
    assert_eq!(ends(&flow, &inputs), went);
    let inputs = [&inputs[..], &["a0.1.1 exit 0"]].concat();
    let went = "a0.1.1 ok, a0.1 is passed, a0.1 succeeded, a entered, k entered, a.1 is skipped, a.1 skipped, \
                k.1.1 begins = j.2.1 live, k.1.1 live";
    assert_eq!(ends(&flow, &inputs), went);
}

#[test]
fn a_denial_that_a_loop_has_undone_does_not_colour_what_comes_after_it() {
    // The question is listed before the step that it leads back to.
    let sign = after(ask("sign"), &["a"]).on_deny("a").again_from("a", 2);
    let flow = graph([sign, step("a"), after(ask("late").expires(5), &["sign"])]);
    let inputs = ["start", "a.1.1 exit 0", "deny", "a.2.1 exit 0", "#2 approve", "clock 10", "expire"];
    let went = ends(&flow, &inputs);
    assert!(went.ends_with("over: tool_failed_fatally at late = nothing [failed 1]"), "{went}");
}
