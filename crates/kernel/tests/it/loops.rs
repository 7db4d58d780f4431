//! Microloops: their rounds, their nesting, and their end without success.

use crate::{
    driver::Driver,
    flows::{With, critic, flow, step},
    story::{ends, plays},
};
use envoi_contract::routing::Kind;
use envoi_kernel::flow::{OnBlocked, OnExhausted};

#[test]
fn a_loop_goes_back_until_the_critic_is_content() {
    plays(
        &flow([step("repair"), critic("critic", "repair", 4), step("report")]),
        "> start
         started, repair.1.1 begins
         = repair.1.1 live
         > repair.1.1 exit 0
         repair.1.1 ok, repair.1 -> critic, repair.1 succeeded, critic.1.1 begins
         = critic.1.1 live
         > critic.1.1 exit 1
         critic.1.1 ok, critic.1 back to repair, critic.1 succeeded, repair.2.1 begins (round 1)
         = repair.2.1 live
         > repair.2.1 exit 0
         repair.2.1 ok, repair.2 -> critic, repair.2 succeeded, critic.2.1 begins (round 1)
         = critic.2.1 live
         > critic.2.1 exit 0
         critic.2.1 ok, critic.2 -> report, critic.2 succeeded, report.1.1 begins
         = report.1.1 live
         > report.1.1 exit 0
         report.1.1 ok, report.1 -> end, report.1 succeeded, over: completed
         = nothing [succeeded 0]
         ",
    );
}

#[test]
fn n_iterations_are_n_returns_and_one_visit_more() {
    plays(
        &flow([critic("poll", "poll", 2), step("z")]),
        "> start
         started, poll.1.1 begins
         = poll.1.1 live
         > poll.1.1 exit 1
         poll.1.1 ok, poll.1 back to poll, poll.1 succeeded, poll.2.1 begins (round 1)
         = poll.2.1 live
         > poll.2.1 exit 1
         poll.2.1 ok, poll.2 back to poll, poll.2 succeeded, poll.3.1 begins (round 2)
         = poll.3.1 live
         > poll.3.1 exit 1
         poll.3.1 ok, poll.3 holds, poll.3 succeeded, asks Exhausted of poll.3
         = question [waiting 3]
         ",
    );
    plays(
        &flow([critic("poll", "poll", 0)]),
        "> start
         started, poll.1.1 begins
         = poll.1.1 live
         > poll.1.1 exit 1
         poll.1.1 ok, poll.1 holds, poll.1 succeeded, asks Exhausted of poll.1
         = question [waiting 3]
         ",
    );
}

#[test]
fn when_a_loop_is_exhausted_the_flow_says_what_follows() {
    for (policy, outcome) in [
        (
            OnExhausted::Ask,
            "poll.2.1 ok, poll.2 holds, poll.2 succeeded, asks Exhausted of poll.2 = question [waiting 3]",
        ),
        (
            OnExhausted::Fail,
            "poll.2.1 ok, poll.2 stops, poll.2 succeeded, over: max_loop_exceeded at poll = nothing [exhausted 4]",
        ),
        (OnExhausted::Proceed, "poll.2.1 ok, poll.2 -> z, poll.2 succeeded, z.1.1 begins = z.1.1 live"),
    ] {
        let flow = flow([critic("poll", "poll", 1).exhausted(policy), step("z")]);
        assert_eq!(ends(&flow, &["start", "poll.1.1 exit 1", "poll.2.1 exit 1"]), outcome, "{policy:?}");
    }
}

#[test]
fn when_a_loop_is_blocked_the_flow_says_what_follows() {
    for (policy, outcome) in [
        (
            OnBlocked::Ask,
            "poll.1.1 ok, poll.1 holds, poll.1 succeeded, asks Blocked of poll.1 = question [waiting 3]",
        ),
        (
            OnBlocked::Fail,
            "poll.1.1 ok, poll.1 stops, poll.1 succeeded, over: tool_failed_fatally at poll = nothing [failed 1]",
        ),
    ] {
        let flow = flow([critic("poll", "poll", 3).blocked(policy)]);
        let words = "poll.1.1 says Status: UNVERIFIED\nCan further iteration help: no";
        let configured = flow.steps[0].clone().with(|step| step.routing.can_further_iteration_help = false);
        let mut by_text = flow.steps[0].clone();
        by_text.routing.status_from_exit.clear();
        assert_eq!(ends(&crate::flows::flow([by_text]), &["start", words]), outcome, "text, {policy:?}");
        assert_eq!(
            ends(&crate::flows::flow([configured]), &["start", "poll.1.1 exit 1"]),
            outcome,
            "{policy:?}"
        );
    }
}

#[test]
fn an_inner_loop_counts_anew_in_each_round_of_the_outer_one() {
    plays(
        &flow([step("plan"), step("write"), critic("lint", "write", 1), critic("test", "plan", 1)]),
        "> start
         started, plan.1.1 begins
         = plan.1.1 live
         > plan.1.1 exit 0
         plan.1.1 ok, plan.1 -> write, plan.1 succeeded, write.1.1 begins
         = write.1.1 live
         > write.1.1 exit 0
         write.1.1 ok, write.1 -> lint, write.1 succeeded, lint.1.1 begins
         = lint.1.1 live
         > lint.1.1 exit 1
         lint.1.1 ok, lint.1 back to write, lint.1 succeeded, write.2.1 begins (round 1)
         = write.2.1 live
         > write.2.1 exit 0
         write.2.1 ok, write.2 -> lint, write.2 succeeded, lint.2.1 begins (round 1)
         = lint.2.1 live
         > lint.2.1 exit 0
         lint.2.1 ok, lint.2 -> test, lint.2 succeeded, test.1.1 begins
         = test.1.1 live
         > test.1.1 exit 1
         test.1.1 ok, test.1 back to plan, test.1 succeeded, plan.2.1 begins (round 1)
         = plan.2.1 live
         > plan.2.1 exit 0
         plan.2.1 ok, plan.2 -> write, plan.2 succeeded, write.3.1 begins
         = write.3.1 live
         > write.3.1 exit 0
         write.3.1 ok, write.3 -> lint, write.3 succeeded, lint.3.1 begins
         = lint.3.1 live
         > lint.3.1 exit 1
         lint.3.1 ok, lint.3 back to write, lint.3 succeeded, write.4.1 begins (round 1)
         = write.4.1 live
         > write.4.1 exit 0
         write.4.1 ok, write.4 -> lint, write.4 succeeded, lint.4.1 begins (round 1)
         = lint.4.1 live
         > lint.4.1 exit 1
         lint.4.1 ok, lint.4 holds, lint.4 succeeded, asks Exhausted of lint.4
         = question [waiting 3]
         > answer proceed
         answered proceed, lint.4 -> test, test.2.1 begins (round 1)
         = test.2.1 live
         > test.2.1 exit 1
         test.2.1 ok, test.2 holds, test.2 succeeded, asks Exhausted of test.2
         = question [waiting 3]
         ",
    );
}

#[test]
fn loops_that_cross_do_not_start_each_other_over() {
    let flow = flow([
        step("a"),
        step("b"),
        critic("first", "a", 1).exhausted(OnExhausted::Proceed),
        critic("second", "b", 1).exhausted(OnExhausted::Proceed),
    ]);
    let mut driver = Driver::started(&flow);
    for turn in 0.. {
        let Some(live) = driver.run.wants().attempts.first().cloned() else { break };
        driver.exit(&live.to_string(), i32::from(live.visit.step.as_str().len() > 1));
        assert!(turn < 40, "it never ends");
    }
    assert_eq!(driver.run.status().word(), "succeeded");
}

#[test]
fn a_round_knows_its_number_and_the_critics_last_words() {
    let mut driver = Driver::started(&flow([
        step("plan"),
        step("write"),
        critic("lint", "write", 1),
        critic("test", "plan", 1),
        step("z"),
    ]));
    driver.exit("plan.1.1", 0).exit("write.1.1", 0).exit("lint.1.1", 1);
    driver.exit("write.2.1", 0).exit("lint.2.1", 0).exit("test.1.1", 1);
    driver.exit("plan.2.1", 0).exit("write.3.1", 0).exit("lint.3.1", 1).exit("write.4.1", 0);
    driver.exit("lint.4.1", 0).exit("test.2.1", 0);
    for (attempt, iteration, feedback) in [
        ("write.1.1", 0, None),
        ("write.2.1", 1, Some("lint.1.1")),
        ("lint.2.1", 1, Some("lint.1.1")),
        ("test.1.1", 0, None),
        ("plan.2.1", 1, Some("test.1.1")),
        ("write.3.1", 0, Some("test.1.1")),
        ("write.4.1", 1, Some("lint.3.1")),
        ("test.2.1", 1, Some("test.1.1")),
        ("z.1.1", 0, None),
    ] {
        let begun = driver.begun(attempt);
        let words = begun.feedback.as_ref().map(ToString::to_string);
        assert_eq!((begun.iteration, words.as_deref()), (iteration, feedback), "{attempt}");
    }
}

#[test]
fn a_failed_critic_is_not_routed() {
    let flow = flow([step("a"), critic("critic", "a", 3)]);
    let outcome = ends(&flow, &["start", "a.1.1 exit 0", "critic.1.1 exit 2"]);
    assert_eq!(
        outcome,
        "critic.1.1 TOOL_EXIT_NON_ZERO, critic.1 stops, critic.1 failed, over: tool_failed_fatally at critic = nothing [failed 1]"
    );
}

#[test]
fn a_linear_step_that_waits_for_a_status_is_a_gate() {
    let gate = |back: &str| critic("gate", back, 1).with(|step| step.routing.kind = Kind::Linear);
    for (back, inputs, outcome) in [
        (
            "a",
            vec!["gate.1.1 exit 1"],
            "gate.1.1 ok, gate.1 back to a, gate.1 succeeded, a.2.1 begins (round 1) = a.2.1 live",
        ),
        (
            "gate",
            vec!["gate.1.1 exit 1"],
            "gate.1.1 ok, gate.1 back to gate, gate.1 succeeded, gate.2.1 begins (round 1) = gate.2.1 live",
        ),
        (
            "gate",
            vec!["gate.1.1 exit 1", "gate.2.1 exit 1"],
            "gate.2.1 ok, gate.2 holds, gate.2 succeeded, asks Exhausted of gate.2 = question [waiting 3]",
        ),
        (
            "a",
            vec!["gate.1.1 exit 0"],
            "gate.1.1 ok, gate.1 -> z, gate.1 succeeded, z.1.1 begins = z.1.1 live",
        ),
    ] {
        let all: Vec<&str> = ["start", "a.1.1 exit 0"].into_iter().chain(inputs).collect();
        assert_eq!(ends(&flow([step("a"), gate(back), step("z")]), &all), outcome, "{back} {all:?}");
    }
}
