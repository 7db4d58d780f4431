//! Results that the run does not wait for any more, or never did.

use crate::{
    driver::{Driver, doubtful, reported, settled},
    flows::{With, bounded, flow, limits, step},
    story::{plays, stand},
};
use envoi_kernel::{
    flow::InDoubtPolicy,
    ledger::{Cost, Ledger},
};

#[test]
fn a_late_result_is_recorded_once_and_leads_nowhere() {
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
fn what_a_late_result_used_is_charged_and_nothing_else_changes() {
    let mut driver = Driver::started(&flow([step("a").in_doubt(InDoubtPolicy::Rerun)]));
    driver.ok(doubtful("a.1.1", 4));
    let used = driver.run.ledger().clone();
    assert_eq!((used.agent_hops, used.llm_calls, used.wall_time_ms), (2, 0, 4));
    let mut before = driver.run.envelope();
    driver.ok(settled(reported("a.1.1", r#""metrics":{"llm_calls":7,"cost_usd":"1"}"#)));
    let late = Ledger { llm_calls: 7, cost: Cost::parse("1").unwrap(), wall_time_ms: 10, ..used };
    assert_eq!(driver.run.ledger(), &late, "it ran for 10 ms, of which 4 are charged already");
    before.llm_call_count = 7;
    assert_eq!(driver.run.envelope(), before);
    assert_eq!(
        driver.records.last().map(|record| crate::story::event(&record.event)).as_deref(),
        Some("a.1.1 late")
    );
    driver.restart();
}

#[test]
fn what_a_late_result_used_counts_against_the_bounds() {
    let flow = bounded(limits(&[("llm_calls", "5")]), [step("a").in_doubt(InDoubtPolicy::Rerun), step("b")]);
    let mut driver = Driver::started(&flow);
    driver.ok(doubtful("a.1.1", 0)).ok(settled(reported("a.1.1", r#""metrics":{"llm_calls":5}"#)));
    assert_eq!(stand(&driver.run), "= a.1.2 live");
    driver.exit("a.1.2", 0);
    assert_eq!(stand(&driver.run), "= nothing [exhausted 4]");
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
