//! Attempts whose end is not known.

use crate::{
    driver::Driver,
    flows::{With, agent, bounded, flow, limits, model, step},
    programs::program,
    story::{ends, feed, plays},
};
use envoi_kernel::flow::InDoubtPolicy;

#[test]
fn the_policy_of_the_step_decides() {
    for (policy, outcome) in [
        (InDoubtPolicy::Ask, "a.1.1 IN_DOUBT, asks InDoubt of a.1 = question [waiting 5]"),
        (InDoubtPolicy::Rerun, "a.1.1 IN_DOUBT, a.1.2 begins = a.1.2 live"),
        (
            InDoubtPolicy::Fail,
            "a.1.1 IN_DOUBT, a.1 stops, a.1 failed, over: tool_failed_fatally at a = nothing [failed 1]",
        ),
    ] {
        let flow = flow([step("a").in_doubt(policy.clone())]);
        assert_eq!(ends(&flow, &["start", "a.1.1 doubt"]), outcome, "{policy:?}");
    }
}

#[test]
fn a_person_reruns_or_gives_up() {
    let flow = flow([step("a"), step("b")]);
    plays(
        &flow,
        "> start
         started, a.1.1 begins
         = a.1.1 live
         > a.1.1 doubt
         a.1.1 IN_DOUBT, asks InDoubt of a.1
         = question [waiting 5]
         > answer proceed
         refused: `proceed` is no answer to this question; it takes rerun or fail
         = question [waiting 5]
         > answer again
         refused: `again` is no answer to this question; it takes rerun or fail
         = question [waiting 5]
         > answer stop
         refused: `stop` is no answer to this question; it takes rerun or fail
         = question [waiting 5]
         > slot
         refused: no visit waits for a slot
         = question [waiting 5]
         > a.1.1 doubt
         refused: attempt `a.1.1` is not live
         = question [waiting 5]
         > answer rerun
         answered rerun, a.1.2 begins
         = a.1.2 live
         > answer rerun
         refused: question `int_none` is not open
         = a.1.2 live
         > a.1.2 exit 0
         a.1.2 ok, a.1 -> b, a.1 succeeded, b.1.1 begins
         = b.1.1 live
         ",
    );
    plays(
        &flow,
        "> start
         started, a.1.1 begins
         = a.1.1 live
         > a.1.1 doubt
         a.1.1 IN_DOUBT, asks InDoubt of a.1
         = question [waiting 5]
         > answer fail
         answered fail, a.1 stops, a.1 failed, over: tool_failed_fatally at a
         = nothing [failed 1]
         ",
    );
}

#[test]
fn a_rerun_waits_for_its_slot() {
    plays(
        &flow([step("a")]),
        "> start
         started, a.1.1 begins
         = a.1.1 live
         > a.1.1 doubt without a slot
         a.1.1 IN_DOUBT, asks InDoubt of a.1
         = question [waiting 5]
         > answer rerun without a slot
         answered rerun
         = a.1 ready
         > slot
         a.1.2 begins
         = a.1.2 live
         ",
    );
}

#[test]
fn a_rerun_is_a_hop_and_not_a_try() {
    let twice = step("a").tries(2).in_doubt(InDoubtPolicy::Rerun);
    plays(
        &flow([twice]),
        "> start
         started, a.1.1 begins
         = a.1.1 live
         > a.1.1 doubt
         a.1.1 IN_DOUBT, a.1.2 begins
         = a.1.2 live
         > a.1.2 exit 1
         a.1.2 TOOL_EXIT_NON_ZERO, timer for a.1
         = timer
         > due
         timer fires, a.1.3 begins
         = a.1.3 live
         > a.1.3 exit 1
         a.1.3 TOOL_EXIT_NON_ZERO, a.1 stops, a.1 failed, over: tool_failed_fatally at a
         = nothing [failed 1]
         ",
    );
    let tight = bounded(limits(&[("agent_hops", "1")]), [step("a").in_doubt(InDoubtPolicy::Rerun)]);
    assert_eq!(
        ends(&tight, &["start", "a.1.1 doubt"]),
        "a.1.1 IN_DOUBT, a.1 stops, a.1 failed, over: max_agent_hops_exceeded at a = nothing [exhausted 4]"
    );
}

#[test]
fn only_a_live_attempt_can_be_in_doubt() {
    plays(
        &flow([step("a"), step("b")]),
        "> start
         started, a.1.1 begins
         = a.1.1 live
         > a.1.2 doubt
         refused: attempt `a.1.2` is not live
         = a.1.1 live
         > b.1.1 doubt
         refused: attempt `b.1.1` is not live
         = a.1.1 live
         > a.1.1 exit 0
         a.1.1 ok, a.1 -> b, a.1 succeeded, b.1.1 begins
         = b.1.1 live
         > a.1.1 doubt
         refused: attempt `a.1.1` is not live
         = b.1.1 live
         ",
    );
}

#[test]
fn a_rerun_by_policy_ends_with_a_person_after_three() {
    let flow = flow([step("a").in_doubt(InDoubtPolicy::Rerun)]);
    let doubts = ["start", "a.1.1 doubt", "a.1.2 doubt", "a.1.3 doubt", "a.1.4 doubt"];
    assert_eq!(ends(&flow, &doubts[..4]), "a.1.3 IN_DOUBT, a.1.4 begins = a.1.4 live");
    assert_eq!(ends(&flow, &doubts), "a.1.4 IN_DOUBT, asks InDoubt of a.1 = question [waiting 5]");
}

#[test]
fn an_attempt_that_has_sent_nothing_runs_again_without_a_question() {
    let nothing = |attempt: u32| format!("a.1.{attempt} doubt nothing sent");
    let doubts: Vec<String> = ["start".to_owned()].into_iter().chain((1..=4).map(nothing)).collect();
    let doubts: Vec<&str> = doubts.iter().map(String::as_str).collect();
    let asking = flow([step("a")]);
    assert_eq!(ends(&asking, &doubts[..2]), "a.1.1 IN_DOUBT, a.1.2 begins = a.1.2 live");
    assert_eq!(ends(&asking, &doubts), "a.1.4 IN_DOUBT, asks InDoubt of a.1 = question [waiting 5]");
    // An explicit policy to fail is obeyed.
    let failing = flow([step("a").in_doubt(InDoubtPolicy::Fail)]);
    assert!(ends(&failing, &doubts[..2]).ends_with("[failed 1]"));
}

#[test]
fn an_open_doubt_is_asked_about_again_before_the_step_runs_again() {
    let tight =
        crate::flows::bounded_graph(limits(&[("agent_hops", "2")]), [step("a"), step("b"), step("c")]);
    let mut driver = Driver::started(&tight);
    feed(&mut driver, "slot");
    feed(&mut driver, "a.1.1 doubt");
    let over = feed(&mut driver, "b.1.1 exit 0");
    assert!(over.contains("max_agent_hops_exceeded"), "{over}");
    let went = feed(&mut driver, "more agent_hops 10");
    assert!(went.contains("asks InDoubt of a.2") && !went.contains("a.2.1 begins"), "{went}");
    assert!(driver.question().question.contains("`a.1.1`"));
    feed(&mut driver, "fail");
    feed(&mut driver, "c.1.1 exit 0");
    assert_eq!(driver.run.status().exit_code(), Some(1));
    assert!(feed(&mut driver, "reopen").contains("a.3.1 begins"), "somebody has said that it failed");
}

#[test]
fn where_the_policy_decides_no_question_is_asked() {
    let steps = [step("a").in_doubt(InDoubtPolicy::Fail)];
    let went = ends(&flow(steps), &["start", "a.1.1 doubt", "reopen"]);
    assert_eq!(went, "reopened at a, a.2.1 begins = a.2.1 live");
}

/// The next attempt of a step, a verification too, could act where the attempt of the original still runs.
#[test]
fn of_an_attempt_of_the_original_a_person_decides_whatever_the_step_says() {
    let kinds = [
        ("command", step("a").tries(3)),
        ("agent of a2a", agent("a").tries(3)),
        ("agent program", program("a", None).tries(3)),
        ("model", model("a").tries(3)),
    ];
    for (kind, step) in kinds {
        let policies = [
            step.clone().in_doubt(InDoubtPolicy::Ask),
            step.clone().in_doubt(InDoubtPolicy::Rerun),
            step.clone().in_doubt(InDoubtPolicy::Fail),
            step.verified_by("look"),
        ];
        for step in policies {
            for evidence in ["copied", "copied and nothing sent"] {
                let policy = step.on_in_doubt.clone();
                let doubt = format!("a.1.1 doubt {evidence}");
                let asked = ends(&flow([step.clone()]), &["start", &doubt]);
                let expected = "a.1.1 IN_DOUBT, asks InDoubt of a.1 = question [waiting 5]";
                assert_eq!(asked, expected, "{kind}, {policy:?}, {evidence}");
            }
        }
    }
}

/// An attempt that the copy has begun is its own.
#[test]
fn after_the_person_s_answer_the_step_decides_again() {
    let rerun = flow([step("a").in_doubt(InDoubtPolicy::Rerun)]);
    let inputs = ["start", "a.1.1 doubt copied", "answer rerun", "a.1.2 doubt"];
    assert!(ends(&rerun, &inputs[..3]).ends_with("a.1.2 begins = a.1.2 live"));
    assert_eq!(ends(&rerun, &inputs), "a.1.2 IN_DOUBT, a.1.3 begins = a.1.3 live");
}

/// The verification was begun in the original, which may still come to its own end.
#[test]
fn of_a_verification_of_the_original_a_person_decides_too() {
    let flow = flow([step("a").verified_by("look")]);
    let inputs = ["start", "a.1.1 doubt", "a.1.2 doubt copied"];
    assert_eq!(ends(&flow, &inputs[..2]), "a.1.1 IN_DOUBT, a.1.2 verifies a.1.1 = a.1.2 live");
    assert_eq!(ends(&flow, &inputs), "a.1.2 IN_DOUBT, asks InDoubt of a.1 = question [waiting 5]");
}
