//! A person ends a run.

use crate::{
    flows::{With, critic, flow, graph, step, step_id},
    story::{ends, plays},
};
use envoi_kernel::flow::{InDoubtPolicy, OnExhausted, Step};

#[test]
fn a_live_attempt_is_ended_first() {
    plays(
        &flow([step("a").tries(3), step("b")]),
        "> start
         started, a.1.1 begins
         = a.1.1 live
         > cancel
         cancel by bob
         = a.1.1 live, cancelling
         > cancel
         refused: the run is being cancelled
         = a.1.1 live, cancelling
         > slot
         refused: no visit waits for a slot
         = a.1.1 live, cancelling
         > a.1.1 cancelled
         a.1.1 TOOL_CANCELLED, a.1 stops, a.1 failed, over: user_cancelled at a
         = nothing [cancelled 130]
         > cancel
         refused: the run is over (cancelled)
         = nothing [cancelled 130]
         ",
    );
}

#[test]
fn what_finished_before_it_could_be_ended_keeps_its_handoff() {
    let flow = flow([step("a"), step("b")]);
    plays(
        &flow,
        "> start
         started, a.1.1 begins
         = a.1.1 live
         > cancel
         cancel by bob
         = a.1.1 live, cancelling
         > a.1.1 exit 0
         a.1.1 ok, a.1 -> b, a.1 succeeded, over: user_cancelled at b
         = nothing [cancelled 130]
         > reopen
         reopened at b, b.1.1 begins
         = b.1.1 live
         ",
    );
}

#[test]
fn a_run_whose_last_step_finished_anyway_is_complete() {
    assert_eq!(
        ends(&flow([step("a")]), &["start", "cancel", "a.1.1 exit 0"]),
        "a.1.1 ok, a.1 -> end, a.1 succeeded, over: completed = nothing [succeeded 0]"
    );
}

#[test]
fn whatever_else_comes_of_the_live_attempt_the_run_is_cancelled() {
    let looping = |policy| flow([critic("poll", "poll", 1).exhausted(policy), step("b")]);
    let once = ["start", "cancel", "poll.1.1 exit 1"];
    let spent = ["start", "poll.1.1 exit 1", "cancel", "poll.2.1 exit 1"];
    for (flow, inputs, events) in [
        (
            looping(OnExhausted::Ask),
            once.as_slice(),
            "poll.1.1 ok, poll.1 back to poll, poll.1 succeeded, over: user_cancelled at poll = nothing [cancelled 130]",
        ),
        (
            looping(OnExhausted::Ask),
            &spent,
            "poll.2.1 ok, poll.2 stops, poll.2 succeeded, over: user_cancelled at poll = nothing [cancelled 130]",
        ),
        (
            looping(OnExhausted::Fail),
            &spent,
            "poll.2.1 ok, poll.2 stops, poll.2 succeeded, over: user_cancelled at poll = nothing [cancelled 130]",
        ),
        (
            flow([step("poll").tries(2)]),
            &once,
            "poll.1.1 TOOL_EXIT_NON_ZERO, poll.1 stops, poll.1 failed, over: user_cancelled at poll = nothing [cancelled 130]",
        ),
        (
            flow([lenient("poll"), step("b")]),
            &["start", "cancel", "poll.1.1 cancelled"],
            "poll.1.1 TOOL_CANCELLED, poll.1 stops, poll.1 failed, over: user_cancelled at poll = nothing [cancelled 130]",
        ),
        (
            flow([lenient("poll")]),
            &["start", "cancel", "poll.1.1 cancelled"],
            "poll.1.1 TOOL_CANCELLED, poll.1 stops, poll.1 failed, over: user_cancelled at poll = nothing [cancelled 130]",
        ),
        (
            flow([lenient("poll")]),
            &["start", "cancel", "poll.1.1 doubt"],
            "poll.1.1 IN_DOUBT, poll.1 stops, poll.1 failed, over: user_cancelled at poll = nothing [cancelled 130]",
        ),
        (
            flow([lenient("poll").tries(2)]),
            &once,
            "poll.1.1 TOOL_EXIT_NON_ZERO, poll.1 stops, poll.1 failed, over: user_cancelled at poll = nothing [cancelled 130]",
        ),
        (
            flow([lenient("poll"), step("b")]),
            &["start", "cancel", "poll.1.1 exit 1"],
            "poll.1.1 TOOL_EXIT_NON_ZERO, poll.1 -> b, poll.1 failed, over: user_cancelled at b = nothing [cancelled 130]",
        ),
        (
            flow([step("poll")]),
            &["start", "cancel", "poll.1.1 doubt"],
            "poll.1.1 IN_DOUBT, poll.1 stops, poll.1 failed, over: user_cancelled at poll = nothing [cancelled 130]",
        ),
    ] {
        assert_eq!(ends(&flow, inputs), events, "{inputs:?}");
    }
}

/// A step with `continue_on_error`.
fn lenient(id: &str) -> Step {
    step(id).with(|step| step.continue_on_error = true)
}

#[test]
fn a_step_that_was_cut_short_is_done_again_also_where_a_failure_would_be_passed_over() {
    let needs_a = step("b").with(|step| step.needs = vec![step_id("a")]);
    for flow in [flow([lenient("a"), step("b")]), graph([lenient("a"), needs_a])] {
        let went = ends(&flow, &["start", "cancel", "a.1.1 cancelled", "reopen"]);
        assert!(went.starts_with("reopened at a,") && went.ends_with("a.2.1 begins = a.2.1 live"), "{went}");
    }
    // A failure that is none of the end's is passed over as ever.
    let fails_in_doubt = lenient("a").with(|step| step.on_in_doubt = InDoubtPolicy::Fail);
    for (step, last) in [(fails_in_doubt, "a.1.1 doubt"), (lenient("a").tries(2), "a.1.1 unstartable")] {
        let went = ends(&flow([step, crate::flows::step("b")]), &["start", "cancel", last]);
        assert!(went.contains("a.1 -> b, a.1 failed, over: user_cancelled at b"), "{went}");
    }
}

#[test]
fn an_open_question_becomes_void() {
    plays(
        &flow([step("a"), critic("poll", "poll", 0)]),
        "> start
         started, a.1.1 begins
         = a.1.1 live
         > a.1.1 exit 0
         a.1.1 ok, a.1 -> poll, a.1 succeeded, poll.1.1 begins
         = poll.1.1 live
         > poll.1.1 exit 1
         poll.1.1 ok, poll.1 holds, poll.1 succeeded, asks Exhausted of poll.1
         = question [waiting 3]
         > cancel
         cancel by bob, question void, over: user_cancelled at poll
         = nothing [cancelled 130]
         > answer proceed
         refused: the run is over (cancelled)
         = nothing [cancelled 130]
         > reopen
         reopened at poll, poll.2.1 begins
         = poll.2.1 live
         ",
    );
    plays(
        &flow([step("a")]),
        "> start
         started, a.1.1 begins
         = a.1.1 live
         > a.1.1 doubt
         a.1.1 IN_DOUBT, asks InDoubt of a.1
         = question [waiting 5]
         > cancel
         cancel by bob, question void, a.1 stops, a.1 failed, over: user_cancelled at a
         = nothing [cancelled 130]
         > a.1.1 exit 0
         a.1.1 late
         = nothing [cancelled 130]
         > reopen
         reopened at a, asks InDoubt of a.2
         = question [waiting 5]
         > answer rerun
         answered rerun, a.2.1 begins
         = a.2.1 live
         ",
    );
}

#[test]
fn a_run_that_waits_for_a_slot_or_a_timer_is_over_at_once() {
    let flow = flow([step("a").tries(2)]);
    assert_eq!(
        ends(&flow, &["start without a slot", "cancel"]),
        "cancel by bob, over: user_cancelled at a = nothing [cancelled 130]"
    );
    plays(
        &flow,
        "> start
         started, a.1.1 begins
         = a.1.1 live
         > a.1.1 exit 1
         a.1.1 TOOL_EXIT_NON_ZERO, timer for a.1
         = timer
         > cancel
         cancel by bob, a.1 stops, a.1 failed, over: user_cancelled at a
         = nothing [cancelled 130]
         > reopen
         reopened at a, a.2.1 begins
         = a.2.1 live
         ",
    );
}
