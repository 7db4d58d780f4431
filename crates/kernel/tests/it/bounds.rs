//! `limits`: used < max, tested before a start.

use crate::{
    driver::{Driver, exited, reported, settled},
    flows::{With, bounded, critic, limits, step},
    story::{ends, plays},
};

#[test]
fn a_run_that_needs_exactly_its_hops_completes() {
    let flow = |hops| bounded(limits(&[("agent_hops", hops)]), [step("a"), step("b")]);
    let inputs = ["start", "a.1.1 exit 0", "b.1.1 exit 0"];
    assert_eq!(
        ends(&flow("2"), &inputs),
        "b.1.1 ok, b.1 -> end, b.1 succeeded, over: completed = nothing [succeeded 0]"
    );
    assert_eq!(
        ends(&flow("1"), &inputs[..2]),
        "a.1.1 ok, a.1 -> b, a.1 succeeded, over: max_agent_hops_exceeded at b = nothing [exhausted 4]"
    );
    assert_eq!(
        ends(&flow("0"), &inputs[..1]),
        "started, over: max_agent_hops_exceeded at a = nothing [exhausted 4]"
    );
}

#[test]
fn a_run_that_needs_exactly_its_iterations_completes() {
    let flow = |max| bounded(limits(&[("iterations", max)]), [critic("poll", "poll", 5)]);
    let inputs = ["start", "poll.1.1 exit 1", "poll.2.1 exit 0"];
    assert_eq!(
        ends(&flow("1"), &inputs),
        "poll.2.1 ok, poll.2 -> end, poll.2 succeeded, over: completed = nothing [succeeded 0]"
    );
    assert_eq!(
        ends(&flow("0"), &inputs[..2]),
        "poll.1.1 ok, poll.1 stops, poll.1 succeeded, over: max_iterations_exceeded at poll = nothing [exhausted 4]"
    );
}

#[test]
fn retries_count_as_hops() {
    let flow = bounded(limits(&[("agent_hops", "1")]), [step("a").tries(3)]);
    plays(
        &flow,
        "> start
         started, a.1.1 begins
         = a.1.1 live
         > a.1.1 exit 1
         a.1.1 TOOL_EXIT_NON_ZERO, timer for a.1
         = timer
         > due
         timer fires, a.1 stops, a.1 failed, over: max_agent_hops_exceeded at a
         = nothing [exhausted 4]
         ",
    );
}

#[test]
fn what_reports_tell_counts_against_calls_cost_and_time() {
    for (limit, used_up, reason) in [
        (("llm_calls", "5"), r#""metrics":{"llm_calls":5}"#, "max_llm_calls_exceeded"),
        (("llm_calls", "4"), r#""metrics":{"llm_calls":5}"#, "max_llm_calls_exceeded"),
        (("cost", "0.30"), r#""metrics":{"cost_usd":"0.30"}"#, "cost_limit_exceeded"),
        (("cost", "0.30"), r#""metrics":{"cost_usd":0.3}"#, "cost_limit_exceeded"),
        (("wall_time_ms", "10"), "\"data\":null", "time_limit_exceeded"),
    ] {
        let flow = bounded(limits(&[limit]), [step("a"), step("b")]);
        let mut driver = Driver::started(&flow);
        driver.ok(settled(reported("a.1.1", used_up)));
        let last = driver.records.last().map(|record| crate::story::event(&record.event));
        assert_eq!(last, Some(format!("over: {reason} at b")), "{limit:?}");
        assert_eq!(crate::story::stand(&driver.run), "= nothing [exhausted 4]");
    }
    for (limit, used, left) in [
        (("llm_calls", "6"), r#""metrics":{"llm_calls":5}"#, "= b.1.1 live"),
        (("cost", "0.30"), r#""metrics":{"cost_usd":"0.299999999"}"#, "= b.1.1 live"),
        (("wall_time_ms", "11"), "\"data\":null", "= b.1.1 live"),
    ] {
        let mut driver = Driver::started(&bounded(limits(&[limit]), [step("a"), step("b")]));
        driver.ok(settled(reported("a.1.1", used)));
        assert_eq!(crate::story::stand(&driver.run), left, "{limit:?}");
    }
}

#[test]
fn a_last_step_that_uses_all_there_is_completes_the_run() {
    let flow =
        bounded(limits(&[("llm_calls", "5"), ("wall_time_ms", "10"), ("agent_hops", "1")]), [step("a")]);
    let mut driver = Driver::started(&flow);
    driver.ok(settled(reported("a.1.1", r#""metrics":{"llm_calls":9}"#)));
    assert_eq!(crate::story::stand(&driver.run), "= nothing [succeeded 0]");
    assert_eq!(driver.run.ledger().llm_calls, 9);
}

#[test]
fn only_the_time_of_live_attempts_counts() {
    let mut driver = Driver::started(&bounded(limits(&[("wall_time_ms", "100")]), [step("a"), step("b")]));
    driver.now = driver.now.saturating_add_ms(1_000_000);
    driver.ok(settled(exited("a.1.1", 0)));
    assert_eq!(crate::story::stand(&driver.run), "= b.1.1 live");
}

#[test]
fn a_reopened_run_keeps_what_it_has_used() {
    let flow = bounded(limits(&[("agent_hops", "1")]), [step("a"), step("b")]);
    plays(
        &flow,
        "> start
         started, a.1.1 begins
         = a.1.1 live
         > a.1.1 exit 0
         a.1.1 ok, a.1 -> b, a.1 succeeded, over: max_agent_hops_exceeded at b
         = nothing [exhausted 4]
         > reopen
         reopened at b, over: max_agent_hops_exceeded at b
         = nothing [exhausted 4]
         ",
    );
}
