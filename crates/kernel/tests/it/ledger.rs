//! The usage of a run, in total and by step, is kept over crash, resume and reopening.

use crate::{
    driver::{Driver, doubtful, exited, person, reported, settled},
    flows::{With, bounded, critic, flow, limits, step},
};
use envoi_kernel::{
    Input, Record, Run,
    event::{Event, Outcome},
    flow::InDoubtPolicy,
    input::AttemptResult,
    ledger::{Cost, Ledger},
};
use std::sync::Arc;

fn used(driver: &Driver, step: &str) -> Ledger {
    driver.run.ledger_by_step().get(step).cloned().unwrap_or_default()
}

#[test]
fn each_step_has_its_own_account() {
    let mut driver = Driver::started(&flow([step("a").tries(2), critic("critic", "a", 3)]));
    let metrics = r#""metrics":{"llm_calls":2,"tokens_in":100,"tokens_out":7,"cost_usd":0.05}"#;
    driver.exit("a.1.1", 1).timer_due().ok(settled(reported("a.1.2", metrics)));
    driver.exit("critic.1.1", 1).ok(settled(reported("a.2.1", metrics)));
    driver.restart();
    driver.exit("critic.2.1", 0);
    let of_a = Ledger {
        agent_hops: 3,
        iterations: 0,
        llm_calls: 4,
        wall_time_ms: 30,
        cost: Cost::parse("0.10").unwrap(),
        tokens_in: 200,
        tokens_out: 14,
        rounds: 0,
        waiting_ms: 0,
        unknown_calls: 0,
        unknown_tokens: 0,
        unknown_costs: 0,
    };
    assert_eq!(used(&driver, "a"), of_a);
    let of_critic = Ledger { agent_hops: 2, iterations: 1, wall_time_ms: 20, ..Ledger::default() };
    assert_eq!(used(&driver, "critic"), of_critic);
    let whole = Ledger { agent_hops: 5, iterations: 1, wall_time_ms: 50, ..of_a };
    assert_eq!(driver.run.ledger(), &whole);
}

#[test]
fn a_step_that_never_began_has_none() {
    let mut driver = Driver::started(&flow([step("a"), step("b").when("false"), step("c")]));
    driver.exit("a.1.1", 0);
    assert_eq!(driver.run.ledger_by_step().keys().collect::<Vec<_>>(), ["a", "c"]);
}

#[test]
fn reopening_gives_nothing_back() {
    let mut driver = Driver::started(&flow([step("a")]));
    let failed = reported("a.1.1", r#""metrics":{"llm_calls":2,"tokens_in":5}"#);
    driver.ok(settled(AttemptResult { outcome: Outcome::Exited { code: 1 }, ..failed }));
    driver.ok(Input::Reopen { by: person("bob"), why: None, request: None, elsewhere: Default::default() });
    driver.restart();
    driver.ok(settled(reported("a.2.1", r#""metrics":{"llm_calls":1,"tokens_in":6}"#)));
    let expected =
        Ledger { agent_hops: 2, llm_calls: 3, tokens_in: 11, wall_time_ms: 20, ..Ledger::default() };
    assert_eq!((driver.run.ledger(), &used(&driver, "a")), (&expected, &expected));
}

#[test]
fn doubt_and_a_late_result_stand_in_the_account_of_their_step() {
    let mut driver = Driver::started(&flow([step("a").in_doubt(InDoubtPolicy::Rerun), step("b")]));
    driver.ok(doubtful("a.1.1", 3)).ok(settled(exited("a.1.2", 0)));
    driver.ok(settled(reported("a.1.1", r#""metrics":{"tokens_out":4}"#)));
    let expected = Ledger { agent_hops: 2, tokens_out: 4, wall_time_ms: 20, ..Ledger::default() };
    assert_eq!(used(&driver, "a"), expected);
    assert_eq!(used(&driver, "b"), Ledger { agent_hops: 1, ..Ledger::default() });
}

/// Before there were budgets and tokens, an event had no word for them.
#[test]
fn a_journal_without_budgets_and_tokens_reads_as_before_and_is_written_as_before() {
    let mut driver = Driver::started(&bounded(limits(&[("llm_calls", "1")]), [step("a")]));
    driver
        .ok(Input::Raise {
            more: Ledger { llm_calls: 1, ..Ledger::default() },
            by: person("bob"),
            why: None,
            request: None,
            elsewhere: Default::default(),
        })
        .exit("a.1.1", 0);
    for record in &driver.records {
        let text = serde_json::to_string(record).unwrap();
        assert!(!text.contains("reserved") && !text.contains("tokens"), "{text}");
        assert_eq!(&serde_json::from_str::<Record>(&text).unwrap(), record);
    }
}

/// An older snapshot knows nothing of the steps' accounts: the events do.
#[test]
fn a_snapshot_without_accounts_is_not_read() {
    let mut driver = Driver::started(&flow([step("a")]));
    driver.exit("a.1.1", 0);
    let snapshot: serde_json::Value = serde_json::from_slice(&driver.run.snapshot().unwrap()).unwrap();
    for (inside, name) in [("", "by_step"), ("/control", "accounts")] {
        let mut older = snapshot.clone();
        let removed = older.pointer_mut(inside).unwrap().as_object_mut().unwrap().remove(name);
        assert!(removed.is_some(), "{name}");
        let bytes = serde_json::to_vec(&older).unwrap();
        assert!(Run::restore(Arc::clone(driver.run.flow()), &bytes).is_err(), "{name}");
    }
}

#[test]
fn what_is_reserved_is_read_as_it_was_written() {
    let driver = Driver::started(&flow([step("a").budget("5", "0.000000001")]));
    let started = driver.records.last().unwrap();
    let text = serde_json::to_string(started).unwrap();
    assert!(text.contains(r#""reserved":{"llm_calls":5,"cost":{"nano_usd":1}}"#), "{text}");
    assert!(matches!(&started.event, Event::AttemptStarted(_)));
    assert_eq!(&serde_json::from_str::<Record>(&text).unwrap(), started);
}
