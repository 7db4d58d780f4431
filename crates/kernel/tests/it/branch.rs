//! Hints: a step's text names where to go, if its routing lets it.

use crate::{
    flows::{With, bounded, branch, critic, flow, limits, step},
    story::{ends, plays},
};
use envoi_kernel::flow::OnExhausted;

#[test]
fn a_hint_leads_to_a_later_step_that_the_flow_allows() {
    plays(
        &flow([branch("triage", &["fix", "close"]), step("fix").next("end"), step("close")]),
        "> start
         started, triage.1.1 begins
         = triage.1.1 live
         > triage.1.1 says Go to step 'close'
         triage.1.1 ok, triage.1 -> close, triage.1 succeeded, close.1.1 begins
         = close.1.1 live
         > close.1.1 exit 0
         close.1.1 ok, close.1 -> end, close.1 succeeded, over: completed
         = nothing [succeeded 0]
         ",
    );
}

#[test]
fn a_hint_that_is_not_allowed_needs_a_person() {
    let flow = flow([branch("triage", &["close"]), step("fix"), step("close")]);
    for text in [
        "nothing",
        "Go to step 'fix'",
        "Go to step 'nowhere'",
        "Go to step 'close' and go to step 'fix'",
        "Go to flow 'other' step 'close'",
    ] {
        let outcome = ends(&flow, &["start", &format!("triage.1.1 says {text}")]);
        assert_eq!(
            outcome,
            "triage.1.1 ok, triage.1 holds, triage.1 succeeded, asks Review of triage.1 = question [waiting 3]",
            "{text}"
        );
    }
    let outcome = ends(&flow, &["start", "triage.1.1 says Go to flow 'demo' step 'close'"]);
    assert_eq!(
        outcome,
        "triage.1.1 ok, triage.1 -> close, triage.1 succeeded, close.1.1 begins = close.1.1 live"
    );
}

#[test]
fn a_hint_does_not_count_where_the_flow_names_no_branches() {
    let outcome = ends(&flow([step("a"), step("b"), step("c")]), &["start", "a.1.1 says Go to step 'c'"]);
    assert_eq!(outcome, "a.1.1 ok, a.1 -> b, a.1 succeeded, b.1.1 begins = b.1.1 live");
}

#[test]
fn a_hint_to_this_or_an_earlier_step_is_a_loop_back_within_bounds() {
    plays(
        &flow([step("a"), branch("b", &["a", "b"]).with(|step| step.routing.max_iterations = 2), step("c")]),
        "> start
         started, a.1.1 begins
         = a.1.1 live
         > a.1.1 exit 0
         a.1.1 ok, a.1 -> b, a.1 succeeded, b.1.1 begins
         = b.1.1 live
         > b.1.1 says Go to step 'a'
         b.1.1 ok, b.1 back to a, b.1 succeeded, a.2.1 begins (round 1)
         = a.2.1 live
         > a.2.1 exit 0
         a.2.1 ok, a.2 -> b, a.2 succeeded, b.2.1 begins (round 1)
         = b.2.1 live
         > b.2.1 says Go to step 'b'
         b.2.1 ok, b.2 back to b, b.2 succeeded, b.3.1 begins (round 2)
         = b.3.1 live
         > b.3.1 says Go to step 'a'
         b.3.1 ok, b.3 holds, b.3 succeeded, asks Exhausted of b.3
         = question [waiting 3]
         > answer again
         refused: another round would pass a bound: max_iterations 2 of step `b`
         = question [waiting 3]
         > answer proceed
         answered proceed, b.3 -> c, c.1.1 begins
         = c.1.1 live
         ",
    );
    for (policy, outcome) in [
        (
            OnExhausted::Fail,
            "b.2.1 ok, b.2 stops, b.2 succeeded, over: max_loop_exceeded at b = nothing [exhausted 4]",
        ),
        (OnExhausted::Proceed, "b.2.1 ok, b.2 -> c, b.2 succeeded, c.1.1 begins = c.1.1 live"),
    ] {
        let again = branch("b", &["b"]).exhausted(policy).with(|step| step.routing.max_iterations = 1);
        let outcome_now = ends(
            &flow([again, step("c")]),
            &["start", "b.1.1 says Go to step 'b'", "b.2.1 says Go to step 'b'"],
        );
        assert_eq!(outcome_now, outcome, "{policy:?}");
    }
    let tight = bounded(limits(&[("iterations", "0")]), [branch("b", &["b"])]);
    assert_eq!(
        ends(&tight, &["start", "b.1.1 says Go to step 'b'"]),
        "b.1.1 ok, b.1 stops, b.1 succeeded, over: max_iterations_exceeded at b = nothing [exhausted 4]"
    );
}

#[test]
fn a_loop_with_an_unknown_hint_needs_a_person_and_is_not_exhausted() {
    let both = critic("b", "b", 3).exhausted(OnExhausted::Proceed).with(|step| {
        step.routing.status_from_exit.clear();
        step.routing.branches = vec![crate::flows::step_id("c")];
    });
    plays(
        &flow([both, step("c")]),
        "> start
         started, b.1.1 begins
         = b.1.1 live
         > b.1.1 says Status: UNVERIFIED. Go to step 'nowhere'
         b.1.1 ok, b.1 holds, b.1 succeeded, asks Review of b.1
         = question [waiting 3]
         > answer again
         answered again, b.1 back to b, b.2.1 begins (round 1)
         = b.2.1 live
         ",
    );
}
