//! The bounds of a run are raised from outside.

use crate::{
    flows::{bounded, critic, limits, step},
    story::{ends, plays},
};

#[test]
fn a_run_that_a_bound_ended_goes_on_when_that_bound_is_raised() {
    let driver = plays(
        &bounded(limits(&[("agent_hops", "1"), ("llm_calls", "9")]), [step("a"), step("b")]),
        "> start
         started, a.1.1 begins
         = a.1.1 live
         > a.1.1 exit 0
         a.1.1 ok, a.1 -> b, a.1 succeeded, over: max_agent_hops_exceeded at b
         = nothing [exhausted 4]
         > more llm_calls 5
         limits raised
         = nothing [exhausted 4]
         > more agent_hops 1
         limits raised, reopened at b, b.1.1 begins
         = b.1.1 live
         > restart
         > b.1.1 exit 0
         b.1.1 ok, b.1 -> end, b.1 succeeded, over: completed
         = nothing [succeeded 0]
         > more agent_hops 1
         refused: the run is over (succeeded)
         = nothing [succeeded 0]
         ",
    );
    let held = driver.run.limits();
    assert_eq!((held.agent_hops, held.llm_calls), (Some(2), Some(14)));
    assert_eq!(driver.run.envelope().max_llm_calls, 14);
}

#[test]
fn a_bound_is_raised_before_it_is_reached() {
    let flow = bounded(limits(&[("iterations", "1")]), [step("a"), critic("critic", "a", 9)]);
    let round = ["a.1.1 exit 0", "critic.1.1 exit 1", "a.2.1 exit 0", "critic.2.1 exit 1"];
    let without = [&["start"], round.as_slice()].concat();
    assert_eq!(
        ends(&flow, &without),
        "critic.2.1 ok, critic.2 stops, critic.2 succeeded, over: max_iterations_exceeded at critic = nothing [exhausted 4]"
    );
    let with = [&["start", "more iterations 1"], round.as_slice()].concat();
    assert_eq!(
        ends(&flow, &with),
        "critic.2.1 ok, critic.2 back to a, critic.2 succeeded, a.3.1 begins (round 2) = a.3.1 live"
    );
}

#[test]
fn a_loop_that_the_bound_of_all_loops_ended_goes_back_and_its_last_visit_does_not_run_again() {
    let flow = bounded(limits(&[("iterations", "1")]), [step("a"), critic("critic", "a", 9)]);
    let round = ["start", "a.1.1 exit 0", "critic.1.1 exit 1", "a.2.1 exit 0", "critic.2.1 exit 1"];
    let with = |last: &'static str| [round.as_slice(), &[last]].concat();
    assert_eq!(
        ends(&flow, &with("more iterations 1")),
        "limits raised, reopened behind critic.2, critic.2 back to a, a.3.1 begins (round 2) = a.3.1 live"
    );
    // A resume without more room is for another verdict.
    assert_eq!(
        ends(&flow, &with("reopen")),
        "reopened at critic, critic.3.1 begins (round 1) = critic.3.1 live"
    );
}

#[test]
fn what_has_no_limit_is_not_raised_and_nothing_changes() {
    let flow = bounded(limits(&[("agent_hops", "5")]), [step("a")]);
    let rows = [
        ("more", "refused: nothing is raised: no bound is named = a.1.1 live"),
        ("more agent_hops 0", "refused: nothing is raised: no bound is named = a.1.1 live"),
        (
            "more agent_hops 1 llm_calls 1",
            "refused: nothing is raised: `llm_calls` has no limit in this flow = a.1.1 live",
        ),
    ];
    for (input, told) in rows {
        assert_eq!(ends(&flow, &["start", input]), told);
    }
}

#[test]
fn raising_the_bound_that_a_question_is_about_answers_it() {
    let flow = bounded(
        limits(&[("agent_hops", "1"), ("llm_calls", "1"), ("on_reached", "ask")]),
        [step("a"), step("b")],
    );
    assert_eq!(
        ends(&flow, &["start", "a.1.1 exit 0", "more agent_hops 2 llm_calls 3"]),
        "limits raised, answered raise, b.1.1 begins = b.1.1 live"
    );
    assert_eq!(
        ends(&flow, &["start", "a.1.1 exit 0", "more llm_calls 3"]),
        "limits raised = question [waiting 3]"
    );
}

#[test]
fn a_run_that_failed_keeps_the_higher_bounds_for_when_it_is_reopened() {
    let flow = bounded(limits(&[("agent_hops", "1")]), [step("a"), step("b")]);
    assert_eq!(
        ends(&flow, &["start", "a.1.1 exit 1", "more agent_hops 1", "reopen"]),
        "reopened at a, a.2.1 begins = a.2.1 live"
    );
}
