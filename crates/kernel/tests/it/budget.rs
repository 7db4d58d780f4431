//! `budget` of a step: set aside before a start, held to afterwards.

use crate::{
    driver::{Driver, attempt, doubtful, exited, reported, settled},
    flows::{With, ask, bounded, bounded_graph, critic, flow, limits, step},
    story::{ends, feed, plays, stand},
};
use envoi_kernel::{
    Flow, Input,
    event::Outcome,
    flow::{Budget, InDoubtPolicy, Step},
    input::AttemptResult,
    ledger::{Cost, Ledger},
};
use std::sync::Arc;

fn one(bound: (&str, &str), step: Step) -> Arc<Flow> {
    bounded(limits(&[bound]), [step])
}

fn cost(text: &str) -> Cost {
    Cost::parse(text).unwrap()
}

fn metrics(id: &str, members: &str) -> AttemptResult {
    reported(id, &format!(r#""metrics":{{{members}}}"#))
}

#[test]
fn a_step_starts_only_if_its_whole_budget_is_left() {
    let starts = "started, a.1.1 begins = a.1.1 live";
    for (bound, calls, dollars, told) in [
        (("llm_calls", "5"), "5", "-", starts.to_owned()),
        (("llm_calls", "4"), "5", "-", over("max_llm_calls_exceeded")),
        (("llm_calls", "0"), "0", "-", starts.to_owned()),
        (("llm_calls", "0"), "-", "1", over("max_llm_calls_exceeded")),
        (("cost", "0.30"), "-", "0.3", starts.to_owned()),
        (("cost", "0.299999999"), "-", "0.3", over("cost_limit_exceeded")),
        (("agent_hops", "1"), "9", "9", starts.to_owned()),
        (("wall_time_ms", "1"), "9", "9", starts.to_owned()),
    ] {
        let flow = one(bound, step("a").budget(calls, dollars));
        assert_eq!(ends(&flow, &["start"]), told, "{bound:?} {calls} {dollars}");
    }
}

fn over(reason: &str) -> String {
    format!("started, over: {reason} at a = nothing [exhausted 4]")
}

#[test]
fn a_budget_that_does_not_fit_says_what_is_used_reserved_wanted_and_the_limit() {
    for (bound, calls, dollars, reason) in [
        (("llm_calls", "6"), "4", "-", "llm_calls 3 used, 0 reserved, 4 wanted, 6 is the limit"),
        (("cost", "1.00"), "-", "0.75", "cost_usd 0.50 used, 0.00 reserved, 0.75 wanted, 1.00 is the limit"),
    ] {
        let steps = || [step("a"), step("b").budget(calls, dollars)];
        let used = || settled(metrics("a.1.1", r#""llm_calls":3,"cost_usd":"0.50""#));
        let mut driver = Driver::started(&bounded(limits(&[bound]), steps()));
        driver.ok(used());
        assert_eq!(stand(&driver.run), "= nothing [exhausted 4]");
        assert_eq!(driver.run.envelope().termination_reason.as_deref(), Some(reason));

        let mut driver = Driver::started(&bounded(limits(&[bound, ("on_reached", "ask")]), steps()));
        driver.ok(used());
        assert!(driver.question().question.contains(reason), "{}", driver.question().question);
        let more = if bound.0 == "cost" { "raise cost 0.25" } else { "raise llm_calls 1" };
        assert_eq!(feed(&mut driver, more), "answered raise, b.1.1 begins = b.1.1 live");
    }
}

#[test]
fn what_is_reserved_is_in_the_journal_and_is_free_again_when_the_attempt_is_over() {
    let mut driver = Driver::started(&flow([step("a").budget("5", "0.30").tries(2), step("b")]));
    let reserved = Ledger { llm_calls: 5, cost: cost("0.30"), ..Ledger::default() };
    assert_eq!(driver.run.reserved(), reserved);
    let budget = Budget { llm_calls: Some(5), cost: Some(cost("0.30")) };
    assert_eq!(driver.begun("a.1.1").reserved, Some(budget));
    driver.restart();
    assert_eq!(driver.run.reserved(), reserved);
    driver.exit("a.1.1", 1);
    assert_eq!(driver.run.reserved(), Ledger::default(), "between two tries nothing is reserved");
    driver.timer_due();
    assert_eq!(driver.run.reserved(), reserved);
    driver.ok(settled(metrics("a.1.2", r#""llm_calls":2"#)));
    assert_eq!(driver.run.reserved(), Ledger::default());
    assert_eq!((driver.run.ledger().llm_calls, driver.begun("b.1.1").reserved), (2, None));
}

#[test]
fn each_round_and_each_try_needs_its_budget() {
    let flow = one(("llm_calls", "5"), critic("poll", "poll", 9).budget("2", "-"));
    let mut driver = Driver::started(&flow);
    for (id, calls) in [("poll.1.1", 2), ("poll.2.1", 1)] {
        let left = metrics(id, &format!(r#""llm_calls":{calls}"#));
        driver.ok(settled(AttemptResult { outcome: Outcome::Exited { code: 1 }, ..left }));
    }
    assert_eq!(stand(&driver.run), "= poll.3.1 live", "3 used and 2 wanted of 5");
    driver.ok(settled(AttemptResult {
        outcome: Outcome::Exited { code: 1 },
        ..metrics("poll.3.1", r#""llm_calls":1"#)
    }));
    let reason = driver.run.envelope().termination_reason.clone().unwrap();
    assert_eq!(reason, "llm_calls 4 used, 0 reserved, 2 wanted, 5 is the limit");

    let flow = one(("cost", "0.50"), step("a").budget("-", "0.30").tries(3));
    let mut driver = Driver::started(&flow);
    let failed =
        AttemptResult { outcome: Outcome::Exited { code: 7 }, ..metrics("a.1.1", r#""cost_usd":0.25"#) };
    driver.ok(settled(failed)).timer_due();
    assert_eq!(stand(&driver.run), "= nothing [exhausted 4]", "0.25 used and 0.30 wanted of 0.50");
}

#[test]
fn an_attempt_that_used_more_than_its_budget_has_failed_and_is_charged_with_the_truth() {
    for (calls, dollars, used, message) in [
        ("5", "-", r#""llm_calls":6"#, "it used llm_calls 6 of a budget of 5"),
        ("-", "0.30", r#""cost_usd":"0.300000001""#, "it used cost_usd 0.300000001 of a budget of 0.30"),
        ("-", "0.00001", r#""cost_usd":3.5e-05"#, "it used cost_usd 0.000035 of a budget of 0.00001"),
        (
            "1",
            "0.30",
            r#""llm_calls":2,"cost_usd":1"#,
            "it used llm_calls 2 of a budget of 1, and cost_usd 1.00 of a budget of 0.30",
        ),
    ] {
        let mut driver = Driver::started(&flow([step("a").budget(calls, dollars).tries(3), step("b")]));
        driver.ok(settled(metrics("a.1.1", used)));
        let settlement = driver.settlement("a.1.1");
        let error = settlement.error.as_ref().unwrap();
        assert_eq!(
            (settlement.ok, error.code.as_str(), error.message.as_str()),
            (false, "BUDGET_OVERRUN", message)
        );
        assert_eq!(stand(&driver.run), "= nothing [failed 1]", "it is not tried again: it would use as much");
        let charged = driver.run.ledger();
        assert!(charged.llm_calls > 0 || charged.cost > Cost::default(), "{charged:?}");
        assert!(driver.handoff("a.1").error.as_deref().unwrap().starts_with("BUDGET_OVERRUN: "));
    }
}

#[test]
fn an_attempt_that_used_exactly_its_budget_or_less_is_held_to_nothing() {
    for used in [
        r#""llm_calls":5,"cost_usd":"0.30""#,
        r#""llm_calls":0"#,
        r#""tokens_in":900000"#,
        r#""llm_calls":"many","cost_usd":-1"#,
    ] {
        let mut driver = Driver::started(&flow([step("a").budget("5", "0.30")]));
        driver.ok(settled(metrics("a.1.1", used)));
        assert_eq!(stand(&driver.run), "= nothing [succeeded 0]", "{used}");
    }
}

#[test]
fn a_figure_that_is_none_counts_nothing_changes_no_verdict_and_is_warned_of() {
    let count = "a whole number from 0 to 2^53-1";
    let dollars = "US dollars from 0 to 18 billion, as a number or a decimal string";
    let not_counted = |member: &str, expected: &str, found: &str| {
        format!("the report's `{member}` is not counted: expected {expected}, found `{found}`")
    };
    let long = "9".repeat(200);
    for (member, expected, found) in [
        ("cost_usd", dollars, "-5"),
        ("cost_usd", dollars, "\"-5\""),
        ("cost_usd", dollars, "\"NaN\""),
        ("cost_usd", dollars, "\"1e3\""),
        ("cost_usd", dollars, "1e30"),
        ("cost_usd", dollars, "true"),
        ("llm_calls", count, "\"12\""),
        ("llm_calls", count, "1e30"),
        ("llm_calls", count, "1.5"),
        ("llm_calls", count, "-1"),
        ("llm_calls", count, "9007199254740992"),
        ("tokens_in", count, "[]"),
        ("tokens_out", count, "{}"),
    ] {
        let mut driver = Driver::started(&flow([step("a").budget("5", "0.30")]));
        driver.ok(settled(metrics("a.1.1", &format!(r#""{member}":{found}"#))));
        assert_eq!(stand(&driver.run), "= nothing [succeeded 0]", "{member} {found}");
        let expected = not_counted(&format!("metrics.{member}"), expected, found);
        assert_eq!(driver.settlement("a.1.1").warnings, [expected]);
        let nothing = Ledger {
            agent_hops: 1,
            wall_time_ms: driver.run.ledger().wall_time_ms,
            unknown_calls: u64::from(member == "llm_calls"),
            unknown_tokens: u64::from(member.starts_with("tokens_")),
            unknown_costs: u64::from(member == "cost_usd"),
            ..Ledger::default()
        };
        assert_eq!(*driver.run.ledger(), nothing, "{member} {found}");
    }
    let warnings = |members: &str| {
        let mut driver = Driver::started(&flow([step("a")]));
        driver.ok(settled(reported("a.1.1", members)));
        driver.settlement("a.1.1").warnings.clone()
    };
    assert_eq!(warnings(r#""metrics":[5]"#), [not_counted("metrics", "an object", "[5]")]);
    let all = warnings(&format!(r#""metrics":{{"cost_usd":-1,"llm_calls":{long},"other":-1}}"#));
    assert_eq!(all.len(), 2, "what the engine does not count may be anything: {all:?}");
    assert!(all[0].contains("9 … [100 bytes omitted]`"), "{all:?}");
    let cached = warnings(r#""metrics":{"tokens_in":3,"tokens_cached":50}"#);
    assert_eq!(
        cached,
        [not_counted("metrics.tokens_cached", "no more than `tokens_in`, of which these tokens are", "50")]
    );
    for fine in [
        r#""metrics":{"tokens_in":50,"tokens_cached":50}"#,
        r#""metrics":{"tokens_cached":50}"#,
        r#""metrics":null"#,
        r#""metrics":{"cost_usd":null,"llm_calls":null}"#,
        r#""metrics":{"cost_usd":"12","llm_calls":1e2,"tokens_in":5.0,"tokens_out":0}"#,
    ] {
        assert_eq!(warnings(fine), Vec::<String>::new(), "{fine}");
    }
}

#[test]
fn a_negative_figure_takes_nothing_from_what_was_used() {
    let mut driver = Driver::started(&flow([step("a"), step("b")]));
    driver.ok(settled(metrics("a.1.1", r#""llm_calls":3,"cost_usd":"0.50""#)));
    driver.ok(settled(metrics("b.1.1", r#""llm_calls":-2,"cost_usd":-0.5,"tokens_in":-9"#)));
    let used = driver.run.ledger();
    assert_eq!((used.llm_calls, used.cost, used.tokens_in), (3, cost("0.50"), 0));
}

#[test]
fn what_was_used_stops_at_the_largest_figure_there_is() {
    let most = "18446744073.709551615";
    let mut driver = Driver::started(&flow([step("a"), step("b")]));
    driver.ok(settled(metrics("a.1.1", &format!(r#""cost_usd":"{most}""#))));
    driver.ok(settled(metrics("b.1.1", &format!(r#""cost_usd":"{most}""#))));
    assert_eq!(driver.run.ledger().cost, cost(most));
    driver.restart();
    let largest = Ledger { llm_calls: u64::MAX, tokens_in: u64::MAX - 1, ..Ledger::default() };
    let mut sum = largest.clone();
    sum.add(&Ledger { llm_calls: 1, tokens_in: 5, ..Ledger::default() });
    assert_eq!((sum.llm_calls, sum.tokens_in), (u64::MAX, u64::MAX));
    assert_eq!(largest.beyond(&sum), Ledger::default(), "nothing is taken back");
}

#[test]
fn an_overrun_says_how_the_attempt_failed_besides() {
    let mut driver = Driver::started(&flow([step("a").budget("1", "-")]));
    let failed = AttemptResult { outcome: Outcome::TimedOut, ..metrics("a.1.1", r#""llm_calls":2"#) };
    driver.ok(settled(failed));
    let message = driver.settlement("a.1.1").error.as_ref().unwrap().message.clone();
    assert!(message.starts_with("it used llm_calls 2 of a budget of 1; also TOOL_TIMEOUT: "), "{message}");
}

#[test]
fn an_overrun_passes_where_the_flow_goes_on_after_failures_and_counts_all_the_same() {
    let steps = [step("a").budget("1", "-").with(|step| step.continue_on_error = true), step("b")];
    let mut driver = Driver::started(&bounded(limits(&[("llm_calls", "3")]), steps));
    driver.ok(settled(metrics("a.1.1", r#""llm_calls":2"#)));
    assert_eq!((stand(&driver.run).as_str(), driver.run.ledger().llm_calls), ("= b.1.1 live", 2));
}

#[test]
fn an_attempt_in_doubt_is_charged_with_its_whole_budget_and_gets_nothing_back() {
    let budgeted = step("a").budget("5", "0.30").in_doubt(InDoubtPolicy::Ask);
    let doubt = |driver: &mut Driver| {
        driver.ok(doubtful("a.1.1", 4));
        let used = driver.run.ledger();
        assert_eq!((used.llm_calls, used.cost, used.wall_time_ms), (5, cost("0.30"), 4));
        assert_eq!(driver.run.reserved(), Ledger::default());
        driver.restart();
    };
    for (late, calls, dollars) in [
        (r#""llm_calls":2,"cost_usd":"0.10""#, 5, "0.30"),
        (r#""llm_calls":7,"cost_usd":"0.10""#, 7, "0.30"),
        (r#""llm_calls":7,"cost_usd":"0.31","tokens_out":9"#, 7, "0.31"),
    ] {
        let mut driver = Driver::started(&flow([budgeted.clone()]));
        doubt(&mut driver);
        driver.ok(settled(metrics("a.1.1", late)));
        let used = driver.run.ledger();
        assert_eq!((used.llm_calls, used.cost, used.wall_time_ms), (calls, cost(dollars), 10), "{late}");
        driver.restart();
    }
    let flow = one(("llm_calls", "9"), budgeted.in_doubt(InDoubtPolicy::Rerun));
    let mut driver = Driver::started(&flow);
    doubt(&mut driver);
    assert_eq!(stand(&driver.run), "= nothing [exhausted 4]", "5 may be used, 5 are wanted, of 9");
}

#[test]
fn a_cancelled_attempt_gives_its_reservation_back() {
    let mut driver = Driver::started(&flow([step("a").budget("5", "-")]));
    driver.ok(Input::Cancel { by: crate::driver::person("bob") });
    assert_eq!(driver.run.reserved().llm_calls, 5, "it is live until it has been ended");
    driver.ok(settled(AttemptResult { outcome: Outcome::Cancelled, ..exited("a.1.1", 0) }));
    assert_eq!((driver.run.reserved().llm_calls, driver.run.ledger().llm_calls), (0, 0));
}

#[test]
fn a_run_that_a_budget_ended_goes_on_when_the_bound_is_raised() {
    plays(
        &bounded(limits(&[("llm_calls", "4")]), [step("a"), step("b").budget("5", "-")]),
        "> start
         started, a.1.1 begins
         = a.1.1 live
         > a.1.1 exit 0
         a.1.1 ok, a.1 -> b, a.1 succeeded, over: max_llm_calls_exceeded at b
         = nothing [exhausted 4]
         > reopen
         reopened at b, over: max_llm_calls_exceeded at b
         = nothing [exhausted 4]
         > more llm_calls 1
         limits raised, reopened at b, b.1.1 begins
         = b.1.1 live
         ",
    );
}

/// `a` and `b` side by side, in a run that may make so many calls; each attempt may make 3.
fn beside_each_other(limit: &str) -> Driver {
    let steps = ["a", "b"].map(|name| step(name).budget("3", "-").tries(2));
    Driver::started(&bounded_graph(limits(&[("llm_calls", limit)]), steps))
}

#[test]
fn what_does_not_fit_only_beside_others_waits_for_them() {
    let mut driver = beside_each_other("5");
    assert_eq!(stand(&driver.run), "= a.1.1 live", "3 are reserved, 3 wanted of 5");
    driver.restart();
    let mut say = |words: &str| feed(&mut driver, words);
    assert_eq!(say("slot"), "refused: no visit waits for a slot = a.1.1 live");
    assert_eq!(
        say("a.1.1 exit 1"),
        "a.1.1 TOOL_EXIT_NON_ZERO, timer for a.1, b.1.1 begins = b.1.1 live, timer"
    );
    assert_eq!(say("due"), "timer fires = b.1.1 live", "now the other one waits");
    assert_eq!(
        say("b.1.1 exit 1"),
        "b.1.1 TOOL_EXIT_NON_ZERO, timer for b.1, a.1.2 begins = a.1.2 live, timer"
    );
}

#[test]
fn what_fits_beside_others_starts_at_once() {
    let mut driver = beside_each_other("6");
    assert_eq!(stand(&driver.run), "= a.1.1 live, b.1 ready");
    assert_eq!(feed(&mut driver, "slot"), "b.1.1 begins = a.1.1 live, b.1.1 live");
    assert_eq!(driver.run.reserved().llm_calls, 6);
    driver.restart();
}

#[test]
fn what_starts_nothing_waits_for_no_budget() {
    let steps = [step("a").budget("5", "-"), ask("b"), step("c").when("false"), step("d")];
    let mut driver = Driver::started(&bounded_graph(limits(&[("llm_calls", "5")]), steps));
    assert_eq!(stand(&driver.run), "= a.1.1 live, question");
    assert_eq!(driver.handoff("c.1").status.word(), "skipped");
    driver.exit("a.1.1", 0);
    assert_eq!(stand(&driver.run), "= d.1.1 live, question");
}

#[test]
fn a_verification_waits_for_no_budget() {
    let mut driver = Driver::started(&bounded_graph(
        limits(&[("llm_calls", "8")]),
        ["a", "b"].map(|name| step(name).budget("3", "-").verified_by("look")),
    ));
    feed(&mut driver, "slot");
    // Beside the 3 that `a` has reserved, and the 3 that `b` may have used, 2 are left.
    assert_eq!(feed(&mut driver, "b.1.1 doubt without a slot"), "b.1.1 IN_DOUBT = a.1.1 live, b.1 ready");
    assert_eq!(feed(&mut driver, "slot"), "b.1.2 verifies b.1.1 = a.1.1 live, b.1.2 live");
    assert_eq!(feed(&mut driver, "b.1.2 exit 1"), "b.1.2 DID_NOT_HAPPEN = a.1.1 live", "that needs a budget");
    assert_eq!(
        feed(&mut driver, "a.1.1 exit 0"),
        "a.1.1 ok, a.1 is passed, a.1 succeeded, b.1.3 begins = b.1.3 live"
    );
}

#[test]
fn a_step_that_spends_nothing_starts_also_where_a_bound_on_spending_is_passed() {
    let rows = [("-", "-", false), ("1", "1", false), ("0", "-", false), ("-", "0", false), ("0", "0", true)];
    for (calls, dollars, starts) in rows {
        let limits = limits(&[("llm_calls", "2"), ("cost", "0.10")]);
        let steps = [step("spends"), step("cleans").budget(calls, dollars)];
        let mut driver = Driver::started(&bounded(limits, steps));
        driver.ok(settled(metrics("spends.1.1", r#""llm_calls":3,"cost_usd":"0.20""#)));
        let live = driver.run.is_live(&attempt("cleans.1.1"));
        assert_eq!(live, starts, "{calls} {dollars}: {:?}", driver.run.status());
    }
    // The other bounds hold it as they hold every step.
    let steps = [step("spends"), step("cleans").budget("0", "0")];
    let mut driver = Driver::started(&bounded(limits(&[("agent_hops", "1")]), steps));
    driver.exit("spends.1.1", 0);
    assert!(!driver.run.is_live(&attempt("cleans.1.1")));
}
