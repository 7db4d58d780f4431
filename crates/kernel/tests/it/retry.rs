//! Failed attempts that are tried again.

use crate::{
    driver::{AttemptResultExt as _, Driver, exited, settled},
    flows::{With, critic, flow, step},
    story::{ends, plays},
};

#[test]
fn a_failed_attempt_is_tried_again_until_its_tries_are_spent() {
    let driver = plays(
        &flow([step("flaky").tries(3), step("b")]),
        "> start
         started, flaky.1.1 begins
         = flaky.1.1 live
         > flaky.1.1 exit 1
         flaky.1.1 TOOL_EXIT_NON_ZERO, timer for flaky.1
         = timer
         > early
         refused: timer `tim_01m7xpe600eb2tctj52nnwnehq` is not due
         = timer
         > slot
         refused: no visit waits for a slot
         = timer
         > timer tim_none
         refused: timer `tim_none` is not armed
         = timer
         > due
         timer fires, flaky.1.2 begins
         = flaky.1.2 live
         > flaky.1.2 timeout
         flaky.1.2 TOOL_TIMEOUT, timer for flaky.1
         = timer
         > due without a slot
         timer fires
         = flaky.1 ready
         > slot
         flaky.1.3 begins
         = flaky.1.3 live
         > flaky.1.3 signal 9
         flaky.1.3 TOOL_EXIT_NON_ZERO, flaky.1 stops, flaky.1 failed, over: tool_failed_fatally at flaky
         = nothing [failed 1]
         ",
    );
    assert_eq!(driver.run.ledger().iterations, 0);
    assert_eq!(driver.run.ledger().agent_hops, 3);
}

#[test]
fn a_try_that_succeeds_goes_on() {
    let flow = flow([step("flaky").tries(2), step("b")]);
    assert_eq!(
        ends(&flow, &["start", "flaky.1.1 reports \"ok\":false", "due", "flaky.1.2 exit 0"]),
        "flaky.1.2 ok, flaky.1 -> b, flaky.1 succeeded, b.1.1 begins = b.1.1 live"
    );
}

#[test]
fn a_timer_is_due_at_its_time_and_not_before() {
    let mut driver = Driver::started(&flow([step("flaky").tries(2)]));
    driver.exit("flaky.1.1", 1);
    let (timer, due) = driver.timer();
    let wait = due.as_millis() - driver.now.as_millis();
    assert!((1_000..=2_000).contains(&wait), "{wait}");
    let early = envoi_contract::time::Timestamp::from_millis(due.as_millis() - 1);
    let input = || envoi_kernel::Input::TimerDue { timer: timer.clone() };
    assert!(driver.run.decide(input(), None, early).is_err());
    assert!(driver.run.decide(input(), None, due).is_ok());
}

#[test]
fn what_another_try_cannot_mend_is_not_tried_again() {
    let exec = || step("a").tries(3);
    for (step, how, code) in [
        (exec(), "unstartable", "TOOL_CANNOT_START"),
        (exec(), "cancelled", "TOOL_CANCELLED"),
        (exec().skill(), "exit 0", "SKILL_REPORT_MISSING"),
        (exec().shell("nope"), "exit 127", "TOOL_EXIT_NON_ZERO"),
        (exec().shell("nope"), "exit 126", "TOOL_EXIT_NON_ZERO"),
    ] {
        let outcome = ends(&flow([step]), &["start", &format!("a.1.1 {how}")]);
        let expected = format!(
            "a.1.1 {code}, a.1 stops, a.1 failed, over: tool_failed_fatally at a = nothing [failed 1]"
        );
        assert_eq!(outcome, expected, "{how}");
    }
    let invalid = exited("a.1.1", 0).with_report(b"{\"ok\":1}");
    let mut driver = Driver::started(&flow([exec().skill()]));
    driver.ok(settled(invalid));
    assert_eq!(crate::story::stand(&driver.run), "= nothing [failed 1]");
    assert_eq!(
        driver.settlement("a.1.1").error.as_ref().map(|error| error.code.as_str()),
        Some("SKILL_REPORT_INVALID")
    );
}

#[test]
fn a_program_that_is_no_shell_may_exit_with_127_and_be_tried_again() {
    let outcome = ends(&flow([step("a").tries(2)]), &["start", "a.1.1 exit 127"]);
    assert_eq!(outcome, "a.1.1 TOOL_EXIT_NON_ZERO, timer for a.1 = timer");
}

#[test]
fn an_exit_code_that_states_a_status_is_no_failure() {
    let flow = flow([critic("critic", "critic", 3).tries(3)]);
    assert_eq!(
        ends(&flow, &["start", "critic.1.1 exit 1"]),
        "critic.1.1 ok, critic.1 back to critic, critic.1 succeeded, critic.2.1 begins (round 1) = critic.2.1 live"
    );
    assert_eq!(
        ends(&flow, &["start", "critic.1.1 exit 2"]),
        "critic.1.1 TOOL_EXIT_NON_ZERO, timer for critic.1 = timer"
    );
}

#[test]
fn each_visit_has_its_own_tries() {
    let flow = flow([step("a").tries(2), critic("critic", "a", 3)]);
    let outcome =
        ends(&flow, &["start", "a.1.1 exit 1", "due", "a.1.2 exit 0", "critic.1.1 exit 1", "a.2.1 exit 1"]);
    assert_eq!(outcome, "a.2.1 TOOL_EXIT_NON_ZERO, timer for a.2 = timer");
}

#[test]
fn a_retry_gets_the_output_of_the_failed_attempt() {
    let mut driver = Driver::started(&flow([step("flaky").tries(3), step("b")]));
    driver.exit("flaky.1.1", 1).timer_due().exit("flaky.1.2", 0);
    let feedback = |id: &str| driver.begun(id).feedback.as_ref().map(ToString::to_string);
    assert_eq!(feedback("flaky.1.1"), None);
    assert_eq!(feedback("flaky.1.2").as_deref(), Some("flaky.1.1"));
    assert_eq!(feedback("b.1.1"), None, "the next step has the hand-off");
}
