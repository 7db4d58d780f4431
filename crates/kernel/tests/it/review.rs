//! Signals that need a person, and the possible answers.

use crate::{
    driver::{Driver, result, settled},
    flows::{With, bounded, branch, critic, flow, limits, step},
    story::{ends, plays},
};
use envoi_kernel::{
    Flow,
    event::Outcome,
    flow::{Expression, ForEach, InnerPlan, Step, StepKind},
    ids::FlowId,
    input::AttemptResult,
};
use std::sync::Arc;

fn talker(max_iterations: u64) -> Step {
    critic("critic", "a", max_iterations).with(|step| step.routing.status_from_exit.clear())
}

#[test]
fn a_question_names_the_beginning_of_a_long_reason_and_the_hand_off_all_of_it() {
    let mut driver = Driver::started(&flow([step("a"), talker(2), step("b")]));
    driver.exit("a.1.1", 0);
    let lines: Vec<String> = (0..9_500).map(|nth| format!("Status: W{nth}")).collect();
    let text = lines.join("\n");
    driver.ok(settled(result("critic.1.1", Outcome::Exited { code: 0 }, &text)));
    let asked = &driver.question().question;
    assert!(asked.contains("Conflicting statuses: W0, W1, ") && asked.contains("bytes omitted]"), "{asked}");
    assert!(asked.len() < 17_000, "{}", asked.len());
    assert!(driver.handoff("critic.1").routing_signal.reason.ends_with(", W9499"));
}

#[test]
fn a_text_that_is_cut_passes_no_gate_and_takes_no_branch() {
    let gate = || step("gate").with(|step| step.routing.success_values = vec!["VERIFIED".to_owned()]);
    let each = |step: Step| {
        let items = ForEach { items: Expression("['x']".to_owned()), max_parallel: None };
        step.with(|step| step.for_each = Some(items))
    };
    let id = FlowId::new("inner").unwrap();
    let plan = InnerPlan { flow: id.clone(), inputs: Vec::new(), outputs: Vec::new() };
    // A flow is as far as the last text in it.
    let around = |inner: Step| {
        let kind = StepKind::Flow(Box::new(plan.clone()));
        let outer = flow([step("a"), gate().with(|step| step.kind = kind), step("b")]);
        let inner = Arc::new(Flow { id: id.clone(), ..Flow::clone(&flow([inner])) });
        Arc::new(Flow { flows: [(id.clone(), inner)].into(), ..Flow::clone(&outer) })
    };
    let flows = [
        (flow([step("a"), talker(2), step("b")]), "critic.1.1"),
        (flow([step("a"), gate(), step("b")]), "gate.1.1"),
        (flow([step("a"), branch("choose", &["b"]), step("b")]), "choose.1.1"),
        (flow([step("a"), each(gate()), step("b")]), "0.gate.1.1"),
        (around(step("work")), "gate.1.work.1.1"),
        (around(each(step("work"))), "gate.1.0.work.1.1"),
    ];
    for (flow, attempt) in flows {
        for text in ["Status: VERIFIED", "Status: UNVERIFIED", "ROUTE_TO: b", "it is VERIFIED", ""] {
            let mut driver = Driver::started(&flow);
            driver.exit("a.1.1", 0);
            let cut = AttemptResult { text_cut: true, ..result(attempt, Outcome::Exited { code: 0 }, text) };
            driver.ok(settled(cut));
            let asked = &driver.question().question;
            assert!(
                asked.contains("Handoff is cut, and nothing is read from it"),
                "{attempt} {text}: {asked}"
            );
            assert!(driver.settlement(attempt).text_cut);
        }
    }
    // The exit code is not in the text.
    let mut driver = Driver::started(&flow([step("a"), critic("critic", "a", 1), step("b")]));
    driver.exit("a.1.1", 0);
    let cut =
        |code| AttemptResult { text_cut: true, ..result("critic.1.1", Outcome::Exited { code }, "end") };
    driver.ok(settled(cut(0)));
    assert_eq!(driver.nth_begun(2).unwrap().to_string(), "b.1.1");
}

#[test]
fn a_text_that_contradicts_itself_needs_a_person() {
    plays(
        &flow([step("a"), talker(2), step("b")]),
        "> start
         started, a.1.1 begins
         = a.1.1 live
         > a.1.1 exit 0
         a.1.1 ok, a.1 -> critic, a.1 succeeded, critic.1.1 begins
         = critic.1.1 live
         > critic.1.1 says Status: VERIFIED. Status: UNVERIFIED
         critic.1.1 ok, critic.1 holds, critic.1 succeeded, asks Review of critic.1
         = question [waiting 3]
         > slot
         refused: no visit waits for a slot
         = question [waiting 3]
         > answer rerun
         refused: `rerun` is no answer to this question; it takes proceed, again or stop
         = question [waiting 3]
         > answer again
         answered again, critic.1 back to a, a.2.1 begins (round 1)
         = a.2.1 live
         > a.2.1 exit 0
         a.2.1 ok, a.2 -> critic, a.2 succeeded, critic.2.1 begins (round 1)
         = critic.2.1 live
         > critic.2.1 says I cannot tell
         critic.2.1 ok, critic.2 holds, critic.2 succeeded, asks Review of critic.2
         = question [waiting 3]
         > answer proceed
         answered proceed, critic.2 -> b, b.1.1 begins
         = b.1.1 live
         > answer proceed
         refused: question `int_none` is not open
         = b.1.1 live
         ",
    );
}

#[test]
fn a_person_may_stop_the_run() {
    let inputs = ["start", "a.1.1 exit 0", "critic.1.1 exit 0", "answer stop"];
    assert_eq!(
        ends(&flow([step("a"), talker(2), step("b")]), &inputs),
        "answered stop, critic.1 stops, over: tool_failed_fatally at critic = nothing [failed 1]"
    );
}

#[test]
fn another_round_past_a_bound_is_refused_and_nothing_changes() {
    plays(
        &flow([step("a"), critic("critic", "a", 0), step("b")]),
        "> start
         started, a.1.1 begins
         = a.1.1 live
         > a.1.1 exit 0
         a.1.1 ok, a.1 -> critic, a.1 succeeded, critic.1.1 begins
         = critic.1.1 live
         > critic.1.1 exit 1
         critic.1.1 ok, critic.1 holds, critic.1 succeeded, asks Exhausted of critic.1
         = question [waiting 3]
         > answer again
         refused: another round would pass a bound: max_iterations 0 of step `critic`
         = question [waiting 3]
         > answer proceed
         answered proceed, critic.1 -> b, b.1.1 begins
         = b.1.1 live
         ",
    );
    let spent = bounded(limits(&[("iterations", "0")]), [step("a"), talker(2), step("b")]);
    assert_eq!(
        ends(&spent, &["start", "a.1.1 exit 0", "critic.1.1 exit 0", "answer again"]),
        "refused: another round would pass a bound: iterations 0 of 0 is used up = question [waiting 3]"
    );
}

#[test]
fn proceeding_from_the_last_step_completes_the_run() {
    let inputs = ["start", "a.1.1 exit 0", "critic.1.1 exit 0", "answer proceed"];
    assert_eq!(
        ends(&flow([step("a"), talker(2)]), &inputs),
        "answered proceed, critic.1 -> end, over: completed = nothing [succeeded 0]"
    );
}

#[test]
fn a_step_that_is_no_loop_may_be_repeated_anew_in_each_round_of_the_loop_around_it() {
    let once = branch("pick", &["b"]).with(|step| step.routing.max_iterations = 1);
    plays(
        &flow([once, step("b"), critic("test", "pick", 1)]),
        "> start
         started, pick.1.1 begins
         = pick.1.1 live
         > pick.1.1 says nothing
         pick.1.1 ok, pick.1 holds, pick.1 succeeded, asks Review of pick.1
         = question [waiting 3]
         > answer again
         answered again, pick.1 back to pick, pick.2.1 begins (round 1)
         = pick.2.1 live
         > pick.2.1 says nothing
         pick.2.1 ok, pick.2 holds, pick.2 succeeded, asks Review of pick.2
         = question [waiting 3]
         > answer again
         refused: another round would pass a bound: max_iterations 1 of step `pick`
         = question [waiting 3]
         > answer proceed
         answered proceed, pick.2 -> b, b.1.1 begins
         = b.1.1 live
         > b.1.1 exit 0
         b.1.1 ok, b.1 -> test, b.1 succeeded, test.1.1 begins
         = test.1.1 live
         > test.1.1 exit 1
         test.1.1 ok, test.1 back to pick, test.1 succeeded, pick.3.1 begins (round 1)
         = pick.3.1 live
         > pick.3.1 says nothing
         pick.3.1 ok, pick.3 holds, pick.3 succeeded, asks Review of pick.3
         = question [waiting 3]
         > answer again
         answered again, pick.3 back to pick, pick.4.1 begins (round 1)
         = pick.4.1 live
         ",
    );
}
