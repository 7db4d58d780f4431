//! An agent program that calls its models through the bridge: its use is the metered one, and its limits stop it exactly.

use crate::{
    driver::{Driver, doubtful, exited, reported, settled},
    flows::{With as _, bounded, flow, limits},
    programs::{call, program, session},
    story::feed,
};
use envoi_contract::time::Timestamp;
use envoi_kernel::{
    Input,
    event::{About, CallOutcome, Event},
    flow::{OnReached, Retry, Step, StepKind},
    ids::CallId,
    input::{AttemptResult, ModelCalled},
    ledger::{Budget, Cost, Ledger},
};

fn bridged(name: &str) -> Step {
    program(name, Some(name)).with(|step| {
        step.retry = Retry { attempts: 3, backoff_min_ms: 1, backoff_max_ms: 1 };
        match &mut step.kind {
            StepKind::Agent(plan) => {
                (plan.by_bridge, plan.account) = (true, "model small".to_owned());
            }
            _ => panic!("no program"),
        }
    })
}

/// The result of a program that the bridge refused: it does not know of budgets.
fn refused(id: &str, code: &str) -> Input {
    let members = format!(
        r#""ok":false,"error":{{"code":"{code}","message":"429"}},"metrics":{{"llm_calls":9,"cost_usd":"7.00"}}"#
    );
    settled(AttemptResult { outcome: exited(id, 1).outcome, ..reported(id, &members) })
}

fn calls(driver: &mut Driver, attempt: &str, numbers: core::ops::Range<u32>) {
    for number in numbers {
        let told = feed(driver, &format!("call {number} {attempt}"));
        assert!(!told.starts_with("refused"), "{told}");
        feed(driver, &format!("called {number} 0.05"));
    }
}

fn used(llm_calls: u64, cost: &str) -> (u64, Option<Cost>) {
    (llm_calls, Cost::parse(cost))
}

fn charged(ledger: &Ledger) -> (u64, Option<Cost>) {
    (ledger.llm_calls, Some(ledger.cost))
}

#[test]
fn its_own_budget_stops_it_and_is_no_limit_of_an_account() {
    // The last one: it has asked again and again in silence.
    for code in ["AGENT_THROTTLED", "AGENT_BILLING", "AGENT_BUDGET", "AGENT_IDLE"] {
        let step = bridged("a").with(|step| step.budget = Budget { llm_calls: Some(2), cost: None });
        let mut driver = Driver::started(&flow([step]));
        assert!(call(&driver, "a.1.1").by_bridge);
        calls(&mut driver, "a.1.1", 0..2);
        assert!(feed(&mut driver, "call 2 a.1.1").contains("llm_calls 2 of 2 is used up by the attempt"));
        driver.restart();
        driver.ok(refused("a.1.1", code));
        let settled = driver.settlement("a.1.1");
        let error = settled.error.as_ref().unwrap();
        assert_eq!(error.code, "AGENT_BUDGET", "{code}");
        assert_eq!(
            error.message,
            "no further model call may begin: llm_calls 2 of 2 is used up by the attempt"
        );
        assert!(settled.throttled.is_none());
        assert_eq!(driver.run.status().word(), "failed", "{code}: another try would be stopped, too");
        assert_eq!(charged(driver.run.ledger()), used(2, "0.10"), "{code}");
    }
}

#[test]
fn a_failure_with_calls_left_is_what_the_program_says() {
    let step = bridged("a").with(|step| step.budget = Budget { llm_calls: Some(3), cost: None });
    let mut driver = Driver::started(&flow([step]));
    calls(&mut driver, "a.1.1", 0..2);
    driver.ok(refused("a.1.1", "AGENT_BILLING"));
    assert_eq!(driver.settlement("a.1.1").error.as_ref().unwrap().code, "AGENT_BILLING");
}

#[test]
fn one_that_fell_silent_with_calls_left_is_tried_again() {
    let step = bridged("a").with(|step| step.budget = Budget { llm_calls: Some(3), cost: None });
    let mut driver = Driver::started(&flow([step]));
    let (id, _) = session(&driver, "a.1.1");
    calls(&mut driver, "a.1.1", 0..2);
    driver.ok(refused("a.1.1", "AGENT_IDLE"));
    let settled = driver.settlement("a.1.1");
    assert_eq!(settled.error.as_ref().unwrap().code, "AGENT_IDLE");
    assert!(settled.throttled.is_none());
    driver.timer_due();
    assert_eq!(session(&driver, "a.1.2"), (id, true));
}

#[test]
fn a_bound_of_the_run_asks_and_the_session_goes_on_once_it_is_higher() {
    let mut bounds = limits(&[("llm_calls", "2")]);
    bounds.on_reached = OnReached::Ask;
    let mut driver = Driver::started(&bounded(bounds, [bridged("a")]));
    let (id, _) = session(&driver, "a.1.1");
    calls(&mut driver, "a.1.1", 0..2);
    driver.ok(refused("a.1.1", "AGENT_THROTTLED")).timer_due();
    assert_eq!(driver.question().about, About::Limit);
    driver.restart();
    feed(&mut driver, "more llm_calls 2");
    assert_eq!(session(&driver, "a.1.2"), (id, true));
    let failure = call(&driver, "a.1.2").failure.clone().unwrap();
    assert_eq!(failure, "AGENT_BUDGET: no further model call may begin: llm_calls 2 of 2 is used up");
    calls(&mut driver, "a.1.2", 2..4);
    assert_eq!(charged(driver.run.ledger()), used(4, "0.20"));
}

#[test]
fn a_limit_of_the_run_ends_it_where_no_person_is_asked() {
    let mut driver = Driver::started(&bounded(limits(&[("llm_calls", "1")]), [bridged("a")]));
    calls(&mut driver, "a.1.1", 0..1);
    driver.ok(refused("a.1.1", "AGENT_BILLING")).timer_due();
    let end = driver.records.iter().rev().find_map(|record| match &record.event {
        Event::RunEnded(end) => Some(end.reason.clone()),
        _ => None,
    });
    assert_eq!(end.as_deref(), Some("llm_calls 1 of 1 is used up"));
}

#[test]
fn the_meter_counts_and_the_programs_own_figures_only_where_nothing_was_metered() {
    let done =
        |id: &str| settled(reported(id, r#""metrics":{"llm_calls":9,"tokens_in":900,"cost_usd":"7.00"}"#));
    let step =
        || bridged("a").with(|step| step.budget = Budget { llm_calls: None, cost: Cost::parse("1.00") });
    let mut driver = Driver::started(&flow([step()]));
    calls(&mut driver, "a.1.1", 0..2);
    driver.ok(done("a.1.1"));
    assert_eq!(driver.run.status().word(), "succeeded", "its estimate is not what it used");
    assert_eq!(charged(driver.run.ledger()), used(2, "0.10"));
    driver.restart();
    assert_eq!(charged(driver.run.ledger()), used(2, "0.10"));
    // It has found another way to its model.
    let mut driver = Driver::started(&flow([bridged("a")]));
    driver.ok(done("a.1.1"));
    assert_eq!(charged(driver.run.ledger()), used(9, "7.00"));
}

#[test]
fn in_doubt_it_is_charged_with_what_was_metered_and_not_with_its_budget() {
    let budget = Budget { llm_calls: Some(10), cost: Cost::parse("5.00") };
    let mut driver = Driver::started(&flow([bridged("a").with(|step| step.budget = budget)]));
    calls(&mut driver, "a.1.1", 0..3);
    driver.restart();
    driver.ok(doubtful("a.1.1", 5));
    assert_eq!(charged(driver.run.ledger()), used(3, "0.15"));
    driver.restart();
    assert_eq!(charged(driver.run.ledger()), used(3, "0.15"));
}

#[test]
fn the_bridge_knows_when_a_limit_is_over_that_the_program_does_not_tell() {
    let until = Timestamp::parse("2026-11-23T17:45:00Z").unwrap();
    // The second program does not report the limit at all: it has retried in silence, until it was ended.
    for code in ["AGENT_THROTTLED", "AGENT_IDLE"] {
        let mut driver = Driver::started(&flow([bridged("a")]));
        let call = CallId::new("call_1").unwrap();
        feed(&mut driver, "call 1 a.1.1");
        let ended = ModelCalled {
            outcome: CallOutcome::Failed,
            refused_until: Some(until),
            ..ModelCalled::lost(call)
        };
        driver.ok(Input::ModelCalled(Box::new(ended)));
        driver.restart();
        driver.ok(refused("a.1.1", code));
        let settled = driver.settlement("a.1.1");
        assert_eq!(settled.error.as_ref().unwrap().code, "AGENT_THROTTLED", "{code}");
        let throttled = settled.throttled.clone().unwrap();
        assert_eq!((throttled.account.as_str(), throttled.resets_at), ("model small", Some(until)));
    }
    // An answered call after it shows that the limit is over.
    let mut driver = Driver::started(&flow([bridged("a")]));
    feed(&mut driver, "call 1 a.1.1");
    let ended =
        ModelCalled { refused_until: Some(until), ..ModelCalled::lost(CallId::new("call_1").unwrap()) };
    driver.ok(Input::ModelCalled(Box::new(ended)));
    calls(&mut driver, "a.1.1", 2..3);
    driver.ok(refused("a.1.1", "AGENT_THROTTLED"));
    assert_eq!(driver.settlement("a.1.1").throttled.clone().unwrap().resets_at, None);
}

#[test]
fn one_that_fell_silent_after_a_limit_or_in_its_last_call_has_fallen_silent() {
    let mut driver = Driver::started(&flow([bridged("a")]));
    feed(&mut driver, "call 1 a.1.1");
    let long_ago = Timestamp::parse("2001-01-01T00:00:00Z").unwrap();
    let ended =
        ModelCalled { refused_until: Some(long_ago), ..ModelCalled::lost(CallId::new("call_1").unwrap()) };
    driver.ok(Input::ModelCalled(Box::new(ended)));
    driver.ok(refused("a.1.1", "AGENT_IDLE"));
    assert_eq!(driver.settlement("a.1.1").error.as_ref().unwrap().code, "AGENT_IDLE");
    let step = bridged("a").with(|step| step.budget = Budget { llm_calls: Some(1), cost: None });
    let mut driver = Driver::started(&flow([step]));
    feed(&mut driver, "call 1 a.1.1");
    driver.ok(refused("a.1.1", "AGENT_IDLE"));
    assert_eq!(driver.settlement("a.1.1").error.as_ref().unwrap().code, "AGENT_IDLE");
}

#[test]
fn a_session_belongs_to_the_program_whatever_its_model() {
    let other = bridged("b").with(|step| match &mut step.kind {
        StepKind::Agent(plan) => {
            (plan.session, plan.account) = (Some("a".to_owned()), "model large".to_owned());
        }
        _ => panic!("no program"),
    });
    let mut driver = Driver::started(&flow([bridged("a"), other]));
    let (id, _) = session(&driver, "a.1.1");
    assert_eq!(call(&driver, "a.1.1").session_key.as_deref(), Some("a@claude by bridge"));
    driver.exit("a.1.1", 0);
    assert_eq!(session(&driver, "b.1.1"), (id, true));
}
