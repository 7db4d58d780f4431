//! Steps in listed order.

use crate::{
    driver::{Driver, slot},
    flows::{With, flow, step},
    story::plays,
};
use envoi_kernel::{Run, ids::AttemptId};
use std::sync::Arc;

#[test]
fn a_linear_run_goes_from_step_to_step_and_ends() {
    plays(
        &flow([step("a"), step("b")]),
        "> start
         started, a.1.1 begins
         = a.1.1 live
         > a.1.1 exit 0
         a.1.1 ok, a.1 -> b, a.1 succeeded, b.1.1 begins
         = b.1.1 live
         > b.1.1 exit 0
         b.1.1 ok, b.1 -> end, b.1 succeeded, over: completed
         = nothing [succeeded 0]
         > b.1.1 exit 0
         refused: attempt `b.1.1` is not live
         = nothing [succeeded 0]
         > slot
         refused: the run is over (succeeded)
         = nothing [succeeded 0]
         > start
         refused: the run has already started
         = nothing [succeeded 0]
         > cancel
         refused: the run is over (succeeded)
         = nothing [succeeded 0]
         ",
    );
}

#[test]
fn nothing_starts_without_a_slot() {
    plays(
        &flow([step("a"), step("b")]),
        "> slot
         refused: the run has not started
         = nothing
         > start without a slot
         started
         = a.1 ready
         > slot without a slot
         refused: no slot is free
         = a.1 ready
         > slot
         a.1.1 begins
         = a.1.1 live
         > slot
         refused: no visit waits for a slot
         = a.1.1 live
         > a.1.1 exit 0 without a slot
         a.1.1 ok, a.1 -> b, a.1 succeeded
         = b.1 ready
         > slot
         b.1.1 begins
         = b.1.1 live
         ",
    );
}

#[test]
fn a_step_may_lead_past_others_or_to_the_end() {
    plays(
        &flow([step("a").next("c"), step("b"), step("c").next("end"), step("d")]),
        "> start
         started, a.1.1 begins
         = a.1.1 live
         > a.1.1 exit 0
         a.1.1 ok, a.1 -> c, a.1 succeeded, c.1.1 begins
         = c.1.1 live
         > c.1.1 exit 0
         c.1.1 ok, c.1 -> end, c.1 succeeded, over: completed
         = nothing [succeeded 0]
         ",
    );
}

#[test]
fn a_failed_step_ends_the_run() {
    plays(
        &flow([step("a"), step("b")]),
        "> start
         started, a.1.1 begins
         = a.1.1 live
         > a.1.1 exit 2
         a.1.1 TOOL_EXIT_NON_ZERO, a.1 stops, a.1 failed, over: tool_failed_fatally at a
         = nothing [failed 1]
         ",
    );
}

#[test]
fn a_clock_that_goes_back_does_not_take_the_run_with_it() {
    let driver = plays(
        &flow([step("a"), step("b")]),
        "> start
         started, a.1.1 begins
         = a.1.1 live
         > clock -3600000
         > a.1.1 exit 0
         a.1.1 ok, a.1 -> b, a.1 succeeded, b.1.1 begins
         = b.1.1 live
         ",
    );
    assert!(driver.now < driver.records[0].at);
    assert!(driver.records.iter().all(|record| record.at == driver.records[0].at));
}

#[test]
fn an_attempt_knows_the_boot_its_number_and_the_last_handoff() {
    let driver = {
        let mut driver = Driver::started(&flow([step("a"), step("b")]));
        driver.exit("a.1.1", 0);
        driver
    };
    let begun = driver.begun("b.1.1");
    assert_eq!(begun.handoff.as_ref().map(ToString::to_string).as_deref(), Some("a.1"));
    assert_eq!((begun.boot_id.as_str(), begun.iteration, begun.cwd.as_str()), ("boot-1", 0, "."));
    assert_eq!(driver.begun("a.1.1").handoff, None);
    assert_eq!(driver.run.attempt(&begun.attempt).map(|plan| (**plan).clone()), Some(begun.clone()));
    assert_eq!(driver.run.attempt(&AttemptId::parse("a.1.1").unwrap()), None);
}

#[test]
fn a_record_that_cannot_follow_is_refused() {
    let flow = flow([step("a"), step("b")]);
    let mut driver = Driver::started(&flow);
    driver.exit("a.1.1", 0);
    let replay = |records: &[envoi_kernel::Record]| Run::replay(Arc::clone(&flow), records.to_vec());
    assert_eq!(replay(&driver.records), Ok(driver.run.clone()));

    let mut missing = driver.records.clone();
    missing.remove(2);
    let mut back = driver.records.clone();
    back[1].at = envoi_contract::time::Timestamp::from_millis(0);
    let mut twice = driver.records.clone();
    let again = envoi_kernel::Record { seq: twice.len() as u64, ..twice[1].clone() };
    twice.push(again);
    let other = Driver::new(&flow).run.decide(driver.start(), slot(), driver.now).unwrap();
    let mut restarted = driver.records.clone();
    restarted.push(envoi_kernel::Record { seq: restarted.len() as u64, ..other[0].clone() });
    for (what, records) in
        [("a gap", missing), ("time", back), ("a start", twice), ("a beginning", restarted)]
    {
        assert!(replay(&records).is_err(), "{what}");
    }
}
