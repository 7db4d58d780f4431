//! How much work of expressions one step and one decision may cause.

use crate::{
    driver::{Driver, slot},
    flows::{With, ask, flow, graph, step, step_id},
    story::stand,
};
use envoi_kernel::{
    Event, Flow, Input, Refusal,
    flow::{CommandPlan, Expression, ForEach, InnerPlan, Step, StepKind, Template},
    ids::FlowId,
};
use std::sync::Arc;

/// It makes three megabytes, and is false.
const COSTLY: &str = "('a' * 3000000) == 1";

fn costly_text(times: usize) -> String {
    format!("${{{{ {COSTLY} }}}} ").repeat(times)
}

#[test]
fn a_step_whose_expressions_are_costly_together_fails_before_it_starts() {
    let argv = vec![Template("work".to_owned()), Template(costly_text(60))];
    let asks = ask("a").asking(|plan| plan.message = Template(costly_text(60)));
    let variables = (0..60).fold(step("a"), |step, n| step.variable(&format!("A{n}"), &costly_text(1)));
    let exec = step("a").with(|step| step.kind = StepKind::Run(CommandPlan::Exec(argv)));
    for (what, step) in [
        ("variables", variables),
        ("arguments", exec),
        ("a script", step("a").shell(&costly_text(60))),
        ("a question", asks),
    ] {
        let driver = Driver::started(&flow([step]));
        let error = driver.handoff("a.1").error.clone().unwrap_or_default();
        assert!(error.starts_with("VALUE_TOO_LARGE: "), "{what}: {error}");
        assert!(error.contains("the expressions of this step"), "{what}: {error}");
        assert_eq!(driver.run.ledger().agent_hops, 0, "{what}");
    }
    let few = (0..3).fold(step("a"), |step, n| step.variable(&format!("A{n}"), &costly_text(1)));
    let driver = Driver::started(&flow([few.clone(), few.with(|step| step.id = step_id("b"))]));
    assert_eq!(stand(&driver.run), "= a.1.1 live", "what a step may do is what each may");
}

/// A list of a hundred, each of which enters a flow of these steps.
fn hundred(steps: impl IntoIterator<Item = Step>) -> Arc<Flow> {
    let build = Arc::new(Flow { id: FlowId::new("build").unwrap(), ..Flow::clone(&flow(steps)) });
    let plan = InnerPlan { flow: build.id.clone(), inputs: Vec::new(), outputs: Vec::new() };
    let items = Expression("range(100)".to_owned());
    let calls = step("b").with(|step| {
        step.kind = StepKind::Flow(Box::new(plan));
        step.for_each = Some(ForEach { items, max_parallel: None });
    });
    let flows = [(build.id.clone(), build)].into();
    Arc::new(Flow { flows, ..Flow::clone(&flow([calls, step("z")])) })
}

/// How many visits of the step are over.
fn over(driver: &Driver, step: &str) -> usize {
    let is_one = |event: &Event| matches!(event, Event::HandoffWritten(written) if written.visit.step == step_id(step));
    driver.records.iter().filter(|record| is_one(&record.event)).count()
}

#[test]
fn a_decision_ends_when_the_expressions_of_its_steps_have_done_enough() {
    let mut driver = Driver::new(&hundred([step("never").when(COSTLY)]));
    driver.feed_with(driver.start(), None).unwrap();
    let mut turns = 1;
    loop {
        let before = over(&driver, "never");
        if driver.feed_with(Input::SlotFree, None).is_err() {
            break;
        }
        let done = over(&driver, "never") - before;
        assert!(done <= 15, "{done} steps at once");
        assert!(done < 10 || driver.run.is_cut_short(), "{done} steps, and nobody is told that more follows");
        driver.restart();
        turns += 1;
    }
    assert_eq!(over(&driver, "never"), 100, "each is skipped, and once");
    assert!(turns > 7, "{turns} turns");
}

#[test]
fn conditions_of_steps_that_wait_for_a_slot_do_not_keep_others_from_their_turn_and_each_starts() {
    let steps = (0..40).map(|n| step(&format!("s{n}")).when(&format!("not ({COSTLY})")));
    let mut driver = Driver::new(&graph(steps));
    driver.feed_with(driver.start(), None).unwrap();
    while driver.feed_with(Input::SlotFree, None).is_ok() {}
    assert_eq!(driver.run.wants().ready.len(), 40);
    assert_eq!(driver.feed_with(Input::SlotFree, None), Err(Refusal::NoSlot));
    for live in 1..=40 {
        driver.feed_with(Input::SlotFree, slot()).unwrap();
        assert_eq!(driver.run.wants().attempts.len(), live);
    }
}
