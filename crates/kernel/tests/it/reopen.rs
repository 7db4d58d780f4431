//! An ended run goes on.

use crate::{
    driver::{Driver, person},
    flows::{critic, flow, step},
    story::{ends, plays},
};
use envoi_kernel::{Input, family::Share};

#[test]
fn the_step_that_stopped_the_run_gets_a_new_visit() {
    let driver = plays(
        &flow([step("a"), step("b"), step("c")]),
        "> start
         started, a.1.1 begins
         = a.1.1 live
         > reopen
         refused: only a failed, exhausted or cancelled run can be reopened; this one is running
         = a.1.1 live
         > a.1.1 exit 0
         a.1.1 ok, a.1 -> b, a.1 succeeded, b.1.1 begins
         = b.1.1 live
         > b.1.1 exit 1
         b.1.1 TOOL_EXIT_NON_ZERO, b.1 stops, b.1 failed, over: tool_failed_fatally at b
         = nothing [failed 1]
         > reopen without a slot
         reopened at b
         = b.2 ready
         > slot
         b.2.1 begins
         = b.2.1 live
         > b.2.1 exit 0
         b.2.1 ok, b.2 -> c, b.2 succeeded, c.1.1 begins
         = c.1.1 live
         > c.1.1 exit 0
         c.1.1 ok, c.1 -> end, c.1 succeeded, over: completed
         = nothing [succeeded 0]
         > reopen
         refused: only a failed, exhausted or cancelled run can be reopened; this one is succeeded
         = nothing [succeeded 0]
         ",
    );
    assert_eq!(driver.handoff("b.1").status.word(), "failed");
    assert_eq!(driver.handoff("b.2").status.word(), "succeeded");
    assert_eq!(driver.begun("b.2.1").handoff.as_ref().map(ToString::to_string).as_deref(), Some("b.1"));
}

#[test]
fn an_exhausted_loop_that_is_reopened_gets_one_more_verdict_and_no_more_rounds() {
    let strict = critic("critic", "a", 1);
    let strict = crate::flows::With::exhausted(strict, envoi_kernel::flow::OnExhausted::Fail);
    plays(
        &flow([step("a"), strict]),
        "> start
         started, a.1.1 begins
         = a.1.1 live
         > a.1.1 exit 0
         a.1.1 ok, a.1 -> critic, a.1 succeeded, critic.1.1 begins
         = critic.1.1 live
         > critic.1.1 exit 1
         critic.1.1 ok, critic.1 back to a, critic.1 succeeded, a.2.1 begins (round 1)
         = a.2.1 live
         > a.2.1 exit 0
         a.2.1 ok, a.2 -> critic, a.2 succeeded, critic.2.1 begins (round 1)
         = critic.2.1 live
         > critic.2.1 exit 1
         critic.2.1 ok, critic.2 stops, critic.2 succeeded, over: max_loop_exceeded at critic
         = nothing [exhausted 4]
         > reopen
         reopened at critic, critic.3.1 begins (round 1)
         = critic.3.1 live
         > critic.3.1 exit 1
         critic.3.1 ok, critic.3 stops, critic.3 succeeded, over: max_loop_exceeded at critic
         = nothing [exhausted 4]
         > reopen
         reopened at critic, critic.4.1 begins (round 1)
         = critic.4.1 live
         > critic.4.1 exit 0
         critic.4.1 ok, critic.4 -> end, critic.4 succeeded, over: completed
         = nothing [succeeded 0]
         ",
    );
}

#[test]
fn a_visit_that_never_began_leaves_no_gap() {
    plays(
        &flow([step("a"), step("b")]),
        "> start
         started, a.1.1 begins
         = a.1.1 live
         > a.1.1 exit 0 without a slot
         a.1.1 ok, a.1 -> b, a.1 succeeded
         = b.1 ready
         > cancel
         cancel by bob, over: user_cancelled at b
         = nothing [cancelled 130]
         > reopen
         reopened at b, b.1.1 begins
         = b.1.1 live
         ",
    );
}

#[test]
fn a_stopped_run_can_be_reopened() {
    let inputs = ["start", "poll.1.1 exit 1", "answer stop", "reopen"];
    assert_eq!(
        ends(&flow([critic("poll", "poll", 0)]), &inputs),
        "reopened at poll, poll.2.1 begins = poll.2.1 live"
    );
}

#[test]
fn a_run_that_has_not_begun_cannot_be_reopened() {
    let mut driver = Driver::new(&flow([step("a")]));
    let reopen = Input::Reopen { by: person("bob"), why: None, request: None, elsewhere: Default::default() };
    assert_eq!(driver.feed(reopen), Err(envoi_kernel::Refusal::NotStarted));
}

#[test]
fn a_run_that_goes_on_has_the_request_that_wanted_it_in_its_journal() {
    let request = || Some("req_1".to_owned());
    let (by, why, elsewhere) = (person("bob"), None::<String>, Share::default());
    let reopen =
        Input::Reopen { by: by.clone(), why: why.clone(), request: request(), elsewhere: elsewhere.clone() };
    let try_now = Input::TryNow { by, why, request: request(), elsewhere };
    for input in [reopen, try_now] {
        let mut driver = Driver::started(&flow([step("a")]));
        driver.exit("a.1.1", 1);
        let before = driver.records.len();
        driver.ok(input);
        let found: Vec<_> =
            driver.records[before..].iter().filter_map(|record| record.event.request()).collect();
        assert_eq!(found, ["req_1"]);
        driver.restart();
    }
}
