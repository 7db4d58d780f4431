//! `limits.on_reached: ask`: a person may raise the bound that holds a run up.

use crate::{
    driver::{Driver, reported, settled},
    flows::{With, bounded, branch, critic, limits, step},
    story::{ends, feed, plays, stand},
};
use envoi_kernel::{Flow, event::About, flow::Step};
use std::sync::Arc;

fn asking(bound: (&str, &str), steps: impl IntoIterator<Item = Step>) -> Arc<Flow> {
    bounded(limits(&[bound, ("on_reached", "ask")]), steps)
}

#[test]
fn a_bound_before_a_start_is_raised_and_the_run_goes_on() {
    let driver = plays(
        &asking(("agent_hops", "1"), [step("a"), step("b"), step("c")]),
        "> start
         started, a.1.1 begins
         = a.1.1 live
         > a.1.1 exit 0
         a.1.1 ok, a.1 -> b, a.1 succeeded, asks Limit of b.1
         = question [waiting 3]
         > slot
         refused: no visit waits for a slot
         = question [waiting 3]
         > raise llm_calls 5
         refused: the answer does not fit: say by how much `agent_hops` is raised, and nothing else
         = question [waiting 3]
         > raise
         refused: the answer does not fit: say by how much `agent_hops` is raised, and nothing else
         = question [waiting 3]
         > raise agent_hops 0
         refused: the answer does not fit: say by how much `agent_hops` is raised, and nothing else
         = question [waiting 3]
         > restart
         > raise agent_hops 1
         answered raise, b.1.1 begins
         = b.1.1 live
         > restart
         > b.1.1 exit 0
         b.1.1 ok, b.1 -> c, b.1 succeeded, asks Limit of c.1
         = question [waiting 3]
         > raise agent_hops 5 without a slot
         answered raise
         = c.1 ready
         > slot
         c.1.1 begins
         = c.1.1 live
         > c.1.1 exit 0
         c.1.1 ok, c.1 -> end, c.1 succeeded, over: completed
         = nothing [succeeded 0]
         ",
    );
    assert_eq!(driver.run.limits().agent_hops, Some(7));
    assert_eq!(driver.run.envelope().max_agent_hops, 7, "the envelope shows the bound that holds");
    assert_eq!(driver.run.envelope().agent_hop_count, 3);
}

#[test]
fn every_bound_asks_and_ends_the_run_for_its_own_reason_when_it_is_not_raised() {
    let rows = [
        (("agent_hops", "1"), "agent_hops 1", "max_agent_hops_exceeded"),
        (("llm_calls", "3"), "llm_calls 1", "max_llm_calls_exceeded"),
        (("wall_time_ms", "10"), "wall_time_ms 1", "time_limit_exceeded"),
        (("cost", "0.30"), "cost 0.01", "cost_limit_exceeded"),
    ];
    let metrics = r#""metrics":{"llm_calls":3,"cost_usd":"0.30"}"#;
    for (bound, more, reason) in rows {
        let asked = || {
            let mut driver = Driver::started(&asking(bound, [step("a"), step("b")]));
            driver.ok(settled(reported("a.1.1", metrics)));
            assert_eq!(
                (stand(&driver.run), driver.question().about),
                ("= question [waiting 3]".to_owned(), About::Limit)
            );
            driver
        };
        let mut driver = asked();
        driver.restart();
        let stopped = feed(&mut driver, "stop");
        assert_eq!(
            stopped,
            format!("answered stop, over: {reason} at b = nothing [exhausted 4]"),
            "{bound:?}"
        );
        let said = driver.run.envelope().termination_reason.clone().unwrap();
        assert!(said.ends_with("is used up, and bob did not raise it"), "{said}");
        for other in rows.iter().filter(|row| row.1 != more) {
            let refused = feed(&mut asked(), &format!("raise {}", other.1));
            assert!(refused.contains("does not fit"), "{bound:?} raised by {}: {refused}", other.1);
        }
        let refused = feed(&mut asked(), "raise iterations 1");
        assert!(refused.contains("does not fit"), "{refused}");
        let mut driver = asked();
        assert_eq!(feed(&mut driver, &format!("raise {more}")), "answered raise, b.1.1 begins = b.1.1 live");
        driver.restart();
    }
}

#[test]
fn a_raise_that_is_not_enough_asks_again() {
    let mut driver = Driver::started(&asking(("llm_calls", "3"), [step("a"), step("b")]));
    driver.ok(settled(reported("a.1.1", r#""metrics":{"llm_calls":5}"#)));
    let first = driver.question().interrupt.clone();
    assert_eq!(
        feed(&mut driver, "raise llm_calls 2"),
        "answered raise, asks Limit of b.1 = question [waiting 3]"
    );
    assert_ne!(driver.question().interrupt, first);
    assert_eq!(feed(&mut driver, "raise llm_calls 1"), "answered raise, b.1.1 begins = b.1.1 live");
    assert_eq!(driver.run.limits().llm_calls, Some(6));
}

#[test]
fn a_bound_of_all_loops_holds_up_a_loop_back() {
    plays(
        &asking(("iterations", "0"), [step("a"), critic("critic", "a", 3), step("b")]),
        "> start
         started, a.1.1 begins
         = a.1.1 live
         > a.1.1 exit 0
         a.1.1 ok, a.1 -> critic, a.1 succeeded, critic.1.1 begins
         = critic.1.1 live
         > critic.1.1 exit 1
         critic.1.1 ok, critic.1 holds, critic.1 succeeded, asks Limit of critic.1
         = question [waiting 3]
         > again
         refused: `again` is no answer to this question; it takes raise or stop
         = question [waiting 3]
         > approve
         refused: `approve` is no answer to this question; it takes raise or stop
         = question [waiting 3]
         > raise agent_hops 1
         refused: the answer does not fit: say by how much `iterations` is raised, and nothing else
         = question [waiting 3]
         > restart
         > raise iterations 1
         answered raise, critic.1 back to a, a.2.1 begins (round 1)
         = a.2.1 live
         > a.2.1 exit 0
         a.2.1 ok, a.2 -> critic, a.2 succeeded, critic.2.1 begins (round 1)
         = critic.2.1 live
         > critic.2.1 exit 1
         critic.2.1 ok, critic.2 holds, critic.2 succeeded, asks Limit of critic.2
         = question [waiting 3]
         > stop
         answered stop, over: max_iterations_exceeded at critic
         = nothing [exhausted 4]
         ",
    );
}

#[test]
fn a_raised_bound_lets_a_hint_go_back_where_it_pointed() {
    let pick = branch("pick", &["a"]);
    let flow = asking(("iterations", "0"), [step("a"), step("b"), pick]);
    let inputs =
        ["start", "a.1.1 exit 0", "b.1.1 exit 0", "pick.1.1 says Go to step 'a'", "raise iterations 1"];
    assert_eq!(ends(&flow, &inputs), "answered raise, pick.1 back to a, a.2.1 begins (round 1) = a.2.1 live");
}

#[test]
fn the_person_who_raises_a_limit_has_sent_the_run_back() {
    let mut driver = Driver::started(&asking(("iterations", "0"), [step("a"), critic("critic", "a", 3)]));
    driver.exit("a.1.1", 0).exit("critic.1.1", 1);
    let id = driver.question().interrupt.clone();
    feed(&mut driver, "raise iterations 1");
    assert_eq!(driver.begun("a.2.1").sent_back_by.as_ref(), Some(&id));
    let feedback = driver.begun("a.2.1").feedback.as_ref().map(ToString::to_string);
    assert_eq!(feedback.as_deref(), Some("critic.1.1"));
}

#[test]
fn a_retry_at_a_bound_asks_and_stopping_leaves_the_failure() {
    let flow = asking(("agent_hops", "1"), [step("a").tries(3)]);
    let inputs = ["start", "a.1.1 exit 1", "due"];
    assert_eq!(ends(&flow, &inputs), "timer fires, asks Limit of a.1 = question [waiting 3]");
    assert_eq!(
        ends(&flow, &["start", "a.1.1 exit 1", "due", "raise agent_hops 1"]),
        "answered raise, a.1.2 begins = a.1.2 live"
    );
    assert_eq!(
        ends(&flow, &["start", "a.1.1 exit 1", "due", "stop"]),
        "answered stop, a.1 stops, a.1 failed, over: max_agent_hops_exceeded at a = nothing [exhausted 4]"
    );
}

#[test]
fn a_run_that_was_stopped_at_a_bound_asks_again_when_it_is_reopened() {
    let flow = asking(("agent_hops", "1"), [step("a"), step("b")]);
    let inputs = ["start", "a.1.1 exit 0", "stop", "reopen"];
    assert_eq!(ends(&flow, &inputs), "reopened at b, asks Limit of b.1 = question [waiting 3]");
    let raised = ["start", "a.1.1 exit 0", "raise agent_hops 1", "b.1.1 exit 1", "reopen"];
    assert_eq!(ends(&flow, &raised), "reopened at b, asks Limit of b.2 = question [waiting 3]");
}
