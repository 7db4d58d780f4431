//! `if`: the steps that are skipped, and the data that are handed on past them.

use crate::{
    driver::Driver,
    flows::{With, critic, flow, step},
    story::{ends, plays},
};

#[test]
fn a_false_condition_skips_the_step_and_the_run_goes_on() {
    let driver = plays(
        &flow([step("a"), step("b").when("steps.a.status == 'failed'"), step("c").when("true")]),
        "> start
         started, a.1.1 begins
         = a.1.1 live
         > a.1.1 exit 0
         a.1.1 ok, a.1 -> b, a.1 succeeded, b.1 -> c, b.1 skipped, c.1.1 begins
         = c.1.1 live
         > c.1.1 exit 0
         c.1.1 ok, c.1 -> end, c.1 succeeded, over: completed
         = nothing [succeeded 0]
         ",
    );
    let handoff = driver.handoff("b.1");
    assert_eq!(handoff.routing_signal.reason, "Condition is false");
    assert_eq!((handoff.error.as_deref(), handoff.summary.as_str()), (None, ""));
    assert_eq!(driver.begun("c.1.1").handoff.as_ref().map(ToString::to_string).as_deref(), Some("a.1"));
}

#[test]
fn a_run_of_skipped_steps_needs_no_slot_and_no_hop() {
    let never = |name| step(name).when("false");
    let tight = crate::flows::bounded(crate::flows::limits(&[("agent_hops", "0")]), [never("a"), never("b")]);
    assert_eq!(
        ends(&tight, &["start without a slot"]),
        "started, a.1 -> b, a.1 skipped, b.1 -> end, b.1 skipped, over: completed = nothing [succeeded 0]"
    );
}

#[test]
fn a_skipped_critic_does_not_loop() {
    let flow = flow([step("a"), critic("critic", "a", 3).when("1 > 2"), step("b")]);
    assert_eq!(
        ends(&flow, &["start", "a.1.1 exit 0"]),
        "a.1.1 ok, a.1 -> critic, a.1 succeeded, critic.1 -> b, critic.1 skipped, b.1.1 begins = b.1.1 live"
    );
}

#[test]
fn a_condition_that_cannot_be_evaluated_fails_the_step() {
    plays(
        &flow([step("a").when("inputs.nope"), step("b")]),
        "> start without a slot
         started, a.1 stops, a.1 failed, over: tool_failed_fatally at a
         = nothing [failed 1]
         ",
    );
}

#[test]
fn a_condition_sees_the_last_settled_visit() {
    let mut driver = Driver::started(&flow([
        step("a"),
        critic("critic", "a", 3),
        step("b").when("steps.critic.data.n == 2"),
    ]));
    driver.exit("a.1.1", 0);
    driver.ok(crate::driver::settled(crate::driver::reported("critic.1.1", r#""data":{"n":2}"#)));
    assert_eq!(crate::story::stand(&driver.run), "= b.1.1 live");
}
