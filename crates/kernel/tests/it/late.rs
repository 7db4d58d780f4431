//! Results that nobody waits for any more, or never did.

use crate::{
    driver::{Driver, reported, settled},
    flows::{With, flow, step},
    story::plays,
};
use envoi_kernel::flow::InDoubtPolicy;

#[test]
fn a_late_result_is_recorded_once_and_ignored() {
    plays(
        &flow([step("a").in_doubt(InDoubtPolicy::Rerun), step("b")]),
        "> start
         started, a.1.1 begins
         = a.1.1 live
         > a.1.1 doubt
         a.1.1 IN_DOUBT, a.1.2 begins
         = a.1.2 live
         > a.1.1 exit 0
         a.1.1 late
         = a.1.2 live
         > a.1.1 exit 0
         refused: attempt `a.1.1` is not live
         = a.1.2 live
         > a.1.2 exit 0
         a.1.2 ok, a.1 -> b, a.1 succeeded, b.1.1 begins
         = b.1.1 live
         ",
    );
}

#[test]
fn a_late_result_does_not_answer_the_question() {
    plays(
        &flow([step("a")]),
        "> start
         started, a.1.1 begins
         = a.1.1 live
         > a.1.1 doubt
         a.1.1 IN_DOUBT, asks InDoubt of a.1
         = question [waiting 5]
         > a.1.1 exit 0
         a.1.1 late
         = question [waiting 5]
         > answer fail
         answered fail, a.1 stops, a.1 failed, over: tool_failed_fatally at a
         = nothing [failed 1]
         > a.1.1 exit 0
         refused: attempt `a.1.1` is not live
         = nothing [failed 1]
         ",
    );
}

#[test]
fn a_late_result_may_come_after_the_end() {
    let driver = plays(
        &flow([step("a").in_doubt(InDoubtPolicy::Fail)]),
        "> start
         started, a.1.1 begins
         = a.1.1 live
         > a.1.1 doubt
         a.1.1 IN_DOUBT, a.1 stops, a.1 failed, over: tool_failed_fatally at a
         = nothing [failed 1]
         > a.1.1 exit 0
         a.1.1 late
         = nothing [failed 1]
         > a.1.1 exit 0
         refused: attempt `a.1.1` is not live
         = nothing [failed 1]
         ",
    );
    assert_eq!(driver.run.envelope().processing_history.len(), 1);
}

#[test]
fn a_late_result_changes_neither_counters_nor_the_envelope() {
    let mut driver = Driver::started(&flow([step("a").in_doubt(InDoubtPolicy::Rerun)]));
    let in_doubt = envoi_kernel::Input::InDoubt {
        attempt: crate::driver::attempt("a.1.1"),
        evidence: envoi_contract::json::Value::Null,
        slot: crate::driver::slot(),
    };
    driver.ok(in_doubt);
    let before = (driver.run.ledger().clone(), driver.run.envelope().clone());
    driver.ok(settled(reported("a.1.1", r#""metrics":{"llm_calls":7,"cost_usd":"1"}"#)));
    assert_eq!((driver.run.ledger().clone(), driver.run.envelope().clone()), before);
    assert_eq!(
        driver.records.last().map(|record| crate::story::event(&record.event)).as_deref(),
        Some("a.1.1 late")
    );
}

#[test]
fn a_result_of_an_unknown_attempt_is_refused() {
    plays(
        &flow([step("a"), step("b")]),
        "> start without a slot
         started
         = a.1 ready
         > a.1.1 exit 0
         refused: attempt `a.1.1` is not live
         = a.1 ready
         > slot
         a.1.1 begins
         = a.1.1 live
         > a.1.2 exit 0
         refused: attempt `a.1.2` is not live
         = a.1.1 live
         > a.2.1 exit 0
         refused: attempt `a.2.1` is not live
         = a.1.1 live
         > b.1.1 exit 0
         refused: attempt `b.1.1` is not live
         = a.1.1 live
         > nowhere.1.1 exit 0
         refused: attempt `nowhere.1.1` is not live
         = a.1.1 live
         > scope.a.1.1 exit 0
         refused: attempt `scope.a.1.1` is not live
         = a.1.1 live
         ",
    );
}
