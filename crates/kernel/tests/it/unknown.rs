//! Unknown usage of agents and models is counted, so that no total claims more than is known.

use crate::{
    driver::{Driver, doubtful, exited, reported, settled},
    flows::{With as _, bounded, flow, limits, step},
    programs::program,
    story::feed,
};
use envoi_kernel::{
    Input,
    event::Outcome,
    flow::{InDoubtPolicy, Step},
    input::AttemptResult,
    ledger::{Budget, Cost, Ledger},
};

/// The numbers of unknown calls, tokens and costs.
fn unknown(ledger: &Ledger) -> (u64, u64, u64) {
    (ledger.unknown_calls, ledger.unknown_tokens, ledger.unknown_costs)
}

fn metrics(id: &str, members: &str) -> AttemptResult {
    reported(id, &format!(r#""metrics":{{{members}}}"#))
}

const ALL: &str = r#""llm_calls":2,"tokens_in":100,"tokens_out":9,"cost_usd":"0.05""#;

#[test]
fn what_an_agent_does_not_report_is_unknown_and_not_nothing() {
    let agent = || program("a", Some("a"));
    let least = format!(r#"{ALL},"at_least":true"#);
    for (step, members, expected) in [
        (agent(), Some(ALL), (0, 0, 0)),
        (agent(), Some(r#""llm_calls":2,"tokens_in":100,"tokens_out":null,"cost_usd":"0.05""#), (0, 1, 0)),
        (agent(), Some(r#""llm_calls":null,"tokens_in":100,"tokens_out":9,"cost_usd":null"#), (1, 0, 1)),
        (agent(), Some(r#""llm_calls":2,"tokens_in":1,"tokens_out":1,"cost_usd":-5"#), (0, 0, 1)),
        (agent(), Some(least.as_str()), (1, 1, 1)),
        (agent(), Some(r#""llm_calls":2"#), (0, 1, 1)),
        (agent(), None, (1, 1, 1)),
        // A command is believed: an amount that its report does not name was not used.
        (step("a"), None, (0, 0, 0)),
        (step("a"), Some(r#""llm_calls":2"#), (0, 0, 0)),
        (step("a"), Some(r#""llm_calls":2,"cost_usd":null"#), (0, 0, 1)),
        (step("a"), Some(least.as_str()), (1, 1, 1)),
    ] {
        let mut driver = Driver::started(&flow([step]));
        driver.ok(settled(members.map_or_else(|| exited("a.1.1", 0), |members| metrics("a.1.1", members))));
        assert_eq!(unknown(driver.run.ledger()), expected, "{members:?}");
        let of_step = driver.run.ledger_by_step().get("a").cloned().unwrap_or_default();
        assert_eq!(unknown(&of_step), expected, "{members:?}");
        driver.restart();
        assert_eq!(unknown(driver.run.ledger()), expected, "{members:?}");
    }
}

#[test]
fn an_agent_that_could_not_be_started_has_used_nothing() {
    let mut driver = Driver::started(&flow([program("a", Some("a"))]));
    let outcome = Outcome::CannotStart { reason: "no such file".to_owned() };
    driver.ok(settled(AttemptResult { outcome, ..exited("a.1.1", 1) }));
    assert_eq!(unknown(driver.run.ledger()), (0, 0, 0));
}

#[test]
fn of_an_agent_in_doubt_nothing_is_known_but_what_its_budget_covers_and_a_late_result_tells() {
    let again = |step: Step| step.in_doubt(InDoubtPolicy::Rerun);
    let agent = || again(program("a", Some("a")));
    for (step, in_doubt) in [
        (agent(), (1, 1, 1)),
        (agent().budget("5", "0.30"), (0, 1, 0)),
        (agent().budget("5", "-"), (0, 1, 1)),
        (again(step("a")), (0, 0, 0)),
    ] {
        let mut driver = Driver::started(&flow([step]));
        driver.ok(doubtful("a.1.1", 5));
        assert_eq!(unknown(driver.run.ledger()), in_doubt);
        driver.restart();
        driver.ok(settled(metrics("a.1.1", ALL)));
        assert_eq!(unknown(driver.run.ledger()), (0, 0, 0), "its result came late");
        assert_eq!(unknown(&driver.run.ledger_by_step()["a"]), (0, 0, 0));
        assert!(driver.run.ledger().llm_calls >= 2);
    }
}

#[test]
fn a_metered_call_without_a_price_is_unknown_and_one_that_was_refused_is_not() {
    let mut driver = Driver::started(&bounded(limits(&[("cost", "5")]), [step("a")]));
    for (number, how, expected) in
        [(0, "0.05", (0, 0, 0)), (1, "lost", (0, 1, 1)), (2, "failed", (0, 2, 2)), (3, "refused", (0, 2, 2))]
    {
        feed(&mut driver, &format!("call {number} a.1.1"));
        match how {
            "refused" => {
                let call = crate::story::call(&number.to_string());
                let called = envoi_kernel::input::ModelCalled {
                    outcome: envoi_kernel::event::CallOutcome::Failed,
                    refused_until: Some(driver.now),
                    ..envoi_kernel::input::ModelCalled::lost(call)
                };
                driver.ok(Input::ModelCalled(Box::new(called)));
            }
            how => drop(feed(&mut driver, &format!("called {number} {how}"))),
        }
        assert_eq!(unknown(driver.run.ledger()), expected, "{how}");
    }
    driver.exit("a.1.1", 0);
    assert_eq!(unknown(driver.run.ledger()), (0, 2, 2));
}

#[test]
fn what_is_not_known_counts_against_the_limits_as_the_flow_declares() {
    let nulls = r#""llm_calls":null,"tokens_in":9,"tokens_out":9,"cost_usd":null"#;
    for (bound, assumed, reason) in [
        (("cost", "1"), Budget::default(), None),
        (
            ("cost", "1"),
            Budget { cost: Cost::parse("0.50"), llm_calls: None },
            Some(
                "cost_usd 1.00 of 1.00 is used up, with 0.50 for each of 2 that are not known (`limits.unknown`)",
            ),
        ),
        (
            ("llm_calls", "4"),
            Budget { cost: None, llm_calls: Some(2) },
            Some("llm_calls 4 of 4 is used up, with 2 for each of 2 that are not known (`limits.unknown`)"),
        ),
        (("llm_calls", "5"), Budget { cost: None, llm_calls: Some(2) }, None),
    ] {
        let mut bounds = limits(&[bound]);
        bounds.unknown = assumed;
        let agent = |name: &str| program(name, Some(name));
        let mut driver = Driver::started(&bounded(bounds, [agent("a"), agent("b"), agent("c")]));
        driver.ok(settled(metrics("a.1.1", nulls))).ok(settled(metrics("b.1.1", nulls)));
        assert_eq!(driver.run.envelope().termination_reason.as_deref(), reason);
        assert_eq!(driver.run.wants().attempts.len(), usize::from(reason.is_none()));
        assert_eq!(driver.run.ledger().cost, Cost::default(), "what is shown is what is known");
    }
}
