//! `continue_on_error`: a failed step does not end the run, and is not made out to have succeeded.

use crate::{
    flows::{With, critic, flow, step},
    story::{ends, plays},
};
use envoi_contract::routing::Decision;
use envoi_kernel::flow::{Expression, Step};

fn lenient(step: Step) -> Step {
    step.with(|step| step.continue_on_error = true)
}

#[test]
fn a_run_goes_on_after_a_failed_step_that_says_so() {
    let driver = plays(
        &flow([lenient(step("a").with(|step| step.retry.attempts = 2)), step("b")]),
        "> start
         started, a.1.1 begins
         = a.1.1 live
         > a.1.1 exit 1
         a.1.1 TOOL_EXIT_NON_ZERO, timer for a.1
         = timer
         > due
         timer fires, a.1.2 begins
         = a.1.2 live
         > a.1.2 exit 1
         a.1.2 TOOL_EXIT_NON_ZERO, a.1 -> b, a.1 failed, b.1.1 begins
         = b.1.1 live
         > b.1.1 exit 0
         b.1.1 ok, b.1 -> end, b.1 succeeded, over: completed
         = nothing [succeeded 0]
         ",
    );
    let handoff = driver.handoff("a.1");
    let signal = &handoff.routing_signal;
    assert_eq!(
        (signal.decision, signal.reason.as_str()),
        (Decision::Advance, "Step failed: TOOL_EXIT_NON_ZERO")
    );
    assert!(handoff.error.as_deref().is_some_and(|error| error.starts_with("TOOL_EXIT_NON_ZERO: ")));
    let envelope = driver.run.envelope();
    assert!(envelope.failed_stages.contains_key("a") && !envelope.completed_stage_set.contains_key("a"));
}

#[test]
fn later_steps_see_that_it_has_failed() {
    let when = |status: &str| Some(Expression(format!("steps.a.status == '{status}'")));
    let mend = step("mend").with(|step| step.condition = when("failed"));
    let praise = step("praise").with(|step| step.condition = when("succeeded"));
    let flow = flow([lenient(step("a")), mend, praise]);
    assert_eq!(
        ends(&flow, &["start", "a.1.1 exit 3"]),
        "a.1.1 TOOL_EXIT_NON_ZERO, a.1 -> mend, a.1 failed, mend.1.1 begins = mend.1.1 live"
    );
    assert_eq!(
        ends(&flow, &["start", "a.1.1 exit 0"]),
        "a.1.1 ok, a.1 -> mend, a.1 succeeded, mend.1 -> praise, mend.1 skipped, praise.1.1 begins = praise.1.1 live"
    );
}

#[test]
fn a_failed_critic_is_passed_over_and_its_loop_is_not_repeated() {
    let flow = flow([step("a"), lenient(critic("critic", "a", 3)), step("b")]);
    assert_eq!(
        ends(&flow, &["start", "a.1.1 exit 0", "critic.1.1 exit 7"]),
        "critic.1.1 TOOL_EXIT_NON_ZERO, critic.1 -> b, critic.1 failed, b.1.1 begins = b.1.1 live"
    );
}

#[test]
fn a_cancelled_run_does_not_go_on() {
    let flow = flow([lenient(step("a")), step("b")]);
    assert_eq!(
        ends(&flow, &["start", "cancel", "a.1.1 cancelled"]),
        "a.1.1 TOOL_CANCELLED, a.1 stops, a.1 failed, over: user_cancelled at a = nothing [cancelled 130]"
    );
}
