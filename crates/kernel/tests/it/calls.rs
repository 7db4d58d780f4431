//! Models that are called on a run's account: counted before they are called, charged when they are over.

use crate::{
    driver::{Driver, attempt, doubtful, exited, reported, settled},
    flows::{With, ask, bounded, bounded_graph, flow, limits, step},
    story::{ends, event, feed, plays, stand},
};
use envoi_kernel::{
    Flow,
    event::{Event, Outcome},
    flow::{InDoubtPolicy, Step},
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

fn lived(flow: &Arc<Flow>, inputs: &[&str]) -> Driver {
    let mut driver = Driver::new(flow);
    for input in inputs {
        let told = feed(&mut driver, input);
        assert!(!told.starts_with("refused"), "{input}: {told}");
    }
    driver.restart();
    driver
}

#[test]
fn a_call_counts_before_it_is_made_and_is_charged_when_it_is_over() {
    let mut driver = lived(&flow([step("a")]), &["start", "call 1 a.1.1"]);
    assert_eq!(driver.run.ledger().llm_calls, 1);
    assert_eq!(driver.run.calls().count(), 1);
    assert_eq!(driver.run.envelope().llm_call_count, 1);
    assert_eq!(feed(&mut driver, "called 1 0.05"), "call_1 ok = a.1.1 live");
    driver.restart();
    let used = Ledger {
        agent_hops: 1,
        llm_calls: 1,
        cost: cost("0.05"),
        tokens_in: 10,
        tokens_out: 2,
        ..Ledger::default()
    };
    assert_eq!((driver.run.ledger(), &driver.run.ledger_by_step()["a"]), (&used, &used));
    assert_eq!(driver.run.envelope().processing_history[0].llm_calls, 1);
    assert_eq!(driver.run.calls().count(), 0);
}

#[test]
fn a_call_stands_in_the_journal_with_its_model_and_who_offers_it() {
    let driver = lived(&flow([step("a")]), &["start", "call 1 a.1.1", "called 1 failed"]);
    let written: Vec<String> =
        driver.records[2..].iter().map(|record| serde_json::to_string(&record.event).unwrap()).collect();
    assert_eq!(
        written,
        [
            r#"{"type":"model_call_started","call":"call_1","attempt":"a.1.1","model":"small","provider":"lab"}"#,
            r#"{"type":"model_call_ended","call":"call_1","attempt":"a.1.1","outcome":"failed","duration_ms":3}"#,
        ]
    );
}

#[test]
fn only_a_live_attempt_calls() {
    let two = flow([step("a"), ask("b")]);
    let over = "refused: attempt `a.1.1` is not live = question [waiting 3]";
    for (inputs, told) in [
        (&["start", "call 1 a.1.2"][..], "refused: attempt `a.1.2` is not live = a.1.1 live"),
        (&["start", "call 1 b.1.1"], "refused: attempt `b.1.1` is not live = a.1.1 live"),
        (&["start", "a.1.1 exit 0", "call 1 a.1.1"], over),
        (&["start", "a.1.1 exit 0", "call 1"], "call_1 = question [waiting 3]"),
        (
            &["start", "cancel", "call 1 a.1.1"],
            "refused: the run is being cancelled = a.1.1 live, cancelling",
        ),
        (&["start", "call 1 a.1.1", "call 1 a.1.1"], "refused: call `call_1` has begun already = a.1.1 live"),
        (
            &["start", "a.1.1 exit 1", "call 1 a.1.1"],
            "refused: the run is over (failed) = nothing [failed 1]",
        ),
        (&["start", "a.1.1 exit 1", "call 1"], "refused: the run is over (failed) = nothing [failed 1]"),
    ] {
        assert_eq!(ends(&two, inputs), told, "{inputs:?}");
    }
}

#[test]
fn what_was_given_up_calls_no_more() {
    let racing = step("join").with(|step| {
        step.needs = ["a", "b"].map(crate::flows::step_id).to_vec();
        step.join = envoi_kernel::flow::Join::Any;
    });
    let race = bounded_graph(limits(&[]), [step("a"), step("b"), racing]);
    let mut driver = lived(&race, &["start", "slot", "call 1 b.1.1", "a.1.1 exit 0"]);
    assert_eq!(feed(&mut driver, "call 2 b.1.1"), "refused: attempt `b.1.1` is not live = b.1.1 ending");
    assert_eq!(feed(&mut driver, "called 1 0.05"), "call_1 ok = b.1.1 ending");
    assert_eq!(driver.run.ledger_by_step()["b"].cost, cost("0.05"));
}

#[test]
fn a_call_is_over_once() {
    let mut driver = lived(&flow([step("a")]), &["start", "call 1 a.1.1", "called 1 0.05"]);
    let used = driver.run.ledger().clone();
    for again in ["called 1 0.07", "called 1 lost", "called 2 0.07"] {
        let told = feed(&mut driver, again);
        assert!(told.contains("is not under way"), "{told}");
    }
    assert_eq!(driver.run.ledger(), &used);
}

#[test]
fn no_call_passes_the_bounds_of_the_run() {
    let a = || step("a");
    for (flow, before, told) in [
        (one(("llm_calls", "2"), a()), &["call 1 a.1.1"][..], "call_x of a.1.1"),
        (
            one(("llm_calls", "2"), a()),
            // Calls under way count.
            &["call 1 a.1.1", "call 2"],
            "refused: no further model call may begin: llm_calls 2 of 2 is used up",
        ),
        (one(("llm_calls", "2"), a()), &["call 1 a.1.1", "call 2", "more llm_calls 1"], "call_x of a.1.1"),
        (
            one(("llm_calls", "0"), a().budget("0", "-")),
            &[],
            "refused: no further model call may begin: llm_calls 0 of 0 is used up by the attempt",
        ),
        (one(("cost", "0.10"), a()), &["call 1 a.1.1", "called 1 0.099999999"], "call_x of a.1.1"),
        (
            one(("cost", "0.10"), a()),
            &["call 1 a.1.1", "called 1 0.10"],
            "refused: no further model call may begin: cost_usd 0.10 of 0.10 is used up",
        ),
        // The cost of a call is not known before the call has ended.
        (one(("cost", "0.10"), a()), &["call 1 a.1.1", "call 2 a.1.1"], "call_x of a.1.1"),
        (one(("wall_time_ms", "1"), a()), &[], "call_x of a.1.1"),
    ] {
        let inputs: Vec<&str> = ["start"].iter().chain(before).copied().collect();
        let mut driver = lived(&flow, &inputs);
        let now = feed(&mut driver, "call x a.1.1");
        assert_eq!(now.split(" = ").next(), Some(told), "{before:?}");
    }
}

#[test]
fn no_call_passes_the_budget_of_its_attempt() {
    let wide = |step: Step| bounded(limits(&[("llm_calls", "9"), ("cost", "9")]), [step]);
    for (flow, before, told) in [
        (wide(step("a").budget("2", "-")), &["call 1 a.1.1"][..], "call_x of a.1.1"),
        (
            wide(step("a").budget("2", "-")),
            &["call 1 a.1.1", "call 2 a.1.1", "called 2 failed"],
            "refused: no further model call may begin: llm_calls 2 of 2 is used up by the attempt",
        ),
        // Calls of others are not its own.
        (wide(step("a").budget("2", "-")), &["call 1 a.1.1", "call 2"], "call_x of a.1.1"),
        (
            wide(step("a").budget("-", "0.30")),
            &["call 1 a.1.1", "called 1 0.31"],
            "refused: no further model call may begin: cost_usd 0.31 of 0.30 is used up by the attempt",
        ),
        (wide(step("a").budget("-", "0.30")), &["call 1 a.1.1", "called 1 0.29"], "call_x of a.1.1"),
    ] {
        let inputs: Vec<&str> = ["start"].iter().chain(before).copied().collect();
        let mut driver = lived(&flow, &inputs);
        let now = feed(&mut driver, "call x a.1.1");
        assert_eq!(now.split(" = ").next(), Some(told), "{before:?}");
    }
}

/// `a` may use 3 calls of 5, and `b` beside it has no budget.
fn beside_a_budget() -> Driver {
    let steps = [step("a").budget("3", "0.30"), step("b")];
    lived(&bounded_graph(limits(&[("llm_calls", "5"), ("cost", "1")]), steps), &["start", "slot"])
}

#[test]
fn a_call_leaves_others_what_they_have_set_aside() {
    let mut driver = beside_a_budget();
    assert_eq!(stand(&driver.run), "= a.1.1 live, b.1.1 live");
    feed(&mut driver, "call 1 b.1.1");
    feed(&mut driver, "call 2 b.1.1");
    let refused = "refused: no further model call may begin: llm_calls 2 used, 3 reserved, 5 is the limit";
    assert!(feed(&mut driver, "call 3 b.1.1").starts_with(refused));
    assert!(feed(&mut driver, "call 3").starts_with(refused));
    for call in ["call 3 a.1.1", "call 4 a.1.1", "call 5 a.1.1"] {
        assert!(feed(&mut driver, call).starts_with("call_"), "{call}");
    }
    assert_eq!(driver.run.ledger().llm_calls, 5);
}

#[test]
fn what_an_attempt_uses_by_calls_is_not_set_aside_for_it_any_more() {
    let mut driver = beside_a_budget();
    let kept = |driver: &Driver| (driver.run.reserved().llm_calls, driver.run.reserved().cost);
    assert_eq!(kept(&driver), (3, cost("0.30")));
    feed(&mut driver, "call 1 a.1.1");
    assert_eq!(kept(&driver), (2, cost("0.30")));
    feed(&mut driver, "called 1 0.20");
    driver.restart();
    assert_eq!(kept(&driver), (2, cost("0.10")));
    feed(&mut driver, "call 2 a.1.1");
    feed(&mut driver, "called 2 0.20");
    assert_eq!(kept(&driver), (1, Cost::default()), "what it used beyond its budget is not owed to it");
    feed(&mut driver, "a.1.1 exit 0");
    assert_eq!((kept(&driver), driver.run.ledger().llm_calls), ((0, Cost::default()), 2));
}

#[test]
fn a_step_waits_for_what_is_left_of_the_budgets_beside_it() {
    let steps = [step("a").budget("3", "-"), step("b").budget("3", "-")];
    let mut driver = lived(
        &bounded_graph(limits(&[("llm_calls", "4")]), steps),
        &["start", "call 1 a.1.1", "call 2 a.1.1"],
    );
    assert_eq!(stand(&driver.run), "= a.1.1 live, b.1 ready", "2 are used, and 3 wanted of 4: it never fits");
    assert_eq!(
        feed(&mut driver, "slot"),
        "stopping: max_llm_calls_exceeded = a.1.1 live",
        "what lives goes on"
    );
    assert_eq!(feed(&mut driver, "call 3 a.1.1"), "call_3 of a.1.1 = a.1.1 live");
}

#[test]
fn a_report_tells_of_the_same_calls() {
    let metered = &["start", "call 1 a.1.1", "called 1 0.20", "call 2 a.1.1", "called 2 0.20"];
    for (told, calls, dollars, tokens_in) in [
        (r#""llm_calls":1"#, 2, "0.40", 20),
        (r#""llm_calls":2,"cost_usd":"0.40","tokens_in":20"#, 2, "0.40", 20),
        (r#""llm_calls":5,"cost_usd":"0.30","tokens_in":700"#, 5, "0.40", 700),
        (r#""cost_usd":0.41"#, 2, "0.41", 20),
    ] {
        let mut driver = lived(&flow([step("a"), step("b")]), metered);
        driver.ok(settled(metrics("a.1.1", told)));
        driver.restart();
        let used = driver.run.ledger();
        assert_eq!((used.llm_calls, used.cost, used.tokens_in), (calls, cost(dollars), tokens_in), "{told}");
        assert_eq!(driver.run.ledger_by_step()["a"], Ledger { agent_hops: 1, ..used.clone() });
        assert_eq!(driver.run.envelope().processing_history[0].llm_calls, calls, "{told}");
    }
}

#[test]
fn a_call_that_outlives_its_attempt_is_charged_once() {
    for (told, end, calls, dollars) in [
        ("", "called 2 0.20", 2, "0.30"),
        ("", "called 2 lost", 2, "0.10"),
        // The report knew of it.
        (r#""llm_calls":2,"cost_usd":"0.30""#, "called 2 0.20", 2, "0.30"),
        (r#""llm_calls":2,"cost_usd":"0.25""#, "called 2 0.20", 2, "0.30"),
        (r#""llm_calls":9,"cost_usd":"0.50""#, "called 2 0.20", 9, "0.50"),
    ] {
        let before = &["start", "call 1 a.1.1", "called 1 0.10", "call 2 a.1.1"];
        let mut driver = lived(&flow([step("a")]), before);
        driver.ok(settled(metrics("a.1.1", told)));
        assert_eq!(stand(&driver.run), "= nothing [succeeded 0]");
        driver.restart();
        feed(&mut driver, end);
        driver.restart();
        let used = driver.run.ledger();
        assert_eq!((used.llm_calls, used.cost), (calls, cost(dollars)), "{told} {end}");
        assert_eq!(driver.run.ledger_by_step()["a"].cost, cost(dollars));
        assert_eq!(driver.run.envelope().llm_call_count, calls);
        assert_eq!(driver.run.calls().count(), 0);
        let kept = String::from_utf8(driver.run.snapshot().unwrap()).unwrap();
        assert!(!kept.contains("metered"), "nothing more can come of it: {kept}");
    }
}

#[test]
fn an_attempt_that_called_past_its_budget_has_failed_whatever_it_reports() {
    let before = &["start", "call 1 a.1.1", "call 2 a.1.1", "called 1 0.20", "called 2 0.20"];
    let mut driver = lived(&flow([step("a").budget("5", "0.30").tries(3)]), before);
    driver.ok(settled(metrics("a.1.1", r#""llm_calls":1,"cost_usd":"0.01""#)));
    let error = driver.settlement("a.1.1").error.as_ref().unwrap();
    let expected = ("BUDGET_OVERRUN", "it used cost_usd 0.40 of a budget of 0.30");
    assert_eq!((error.code.as_str(), error.message.as_str()), expected);
    assert_eq!(stand(&driver.run), "= nothing [failed 1]");
    // Without a report too.
    let mut driver = lived(&flow([step("a").budget("-", "0.30")]), before);
    driver.ok(settled(exited("a.1.1", 0)));
    assert_eq!(driver.settlement("a.1.1").error.as_ref().unwrap().message, expected.1);
}

#[test]
fn an_attempt_in_doubt_is_charged_with_its_budget_or_what_it_called_if_that_is_more() {
    let budgeted = step("a").budget("5", "0.30").in_doubt(InDoubtPolicy::Ask);
    for (calls, late, expected) in [
        (&["call 1 a.1.1", "called 1 0.10"][..], "", (5, "0.30")),
        (&["call 1 a.1.1", "call 2 a.1.1", "called 1 0.20", "called 2 0.20"], "", (5, "0.40")),
        (&["call 1 a.1.1", "called 1 0.10"], r#""llm_calls":7,"cost_usd":"0.20""#, (7, "0.30")),
    ] {
        let inputs: Vec<&str> = ["start"].iter().chain(calls).copied().collect();
        let mut driver = lived(&flow([budgeted.clone()]), &inputs);
        driver.ok(doubtful("a.1.1", 4));
        if !late.is_empty() {
            driver.ok(settled(metrics("a.1.1", late)));
        }
        driver.restart();
        let used = driver.run.ledger();
        assert_eq!((used.llm_calls, used.cost), (expected.0, cost(expected.1)), "{calls:?} {late}");
        assert_eq!(driver.run.reserved(), Ledger::default());
    }
}

#[test]
fn a_run_in_which_calls_use_up_a_bound_ends_at_its_next_start() {
    plays(
        &bounded(limits(&[("llm_calls", "1")]), [step("a"), step("b")]),
        "> start
         started, a.1.1 begins
         = a.1.1 live
         > call 1 a.1.1
         call_1 of a.1.1
         = a.1.1 live
         > a.1.1 exit 0
         a.1.1 ok, a.1 -> b, a.1 succeeded, over: max_llm_calls_exceeded at b
         = nothing [exhausted 4]
         > called 1 0.01
         call_1 ok
         = nothing [exhausted 4]
         > more llm_calls 1
         limits raised, reopened at b, b.1.1 begins
         = b.1.1 live
         ",
    );
}

#[test]
fn a_fork_has_lived_the_calls_and_none_of_them_is_under_way() {
    let two = bounded(limits(&[("llm_calls", "4")]), [step("a"), step("b")]);
    let before = ["start", "call 1 a.1.1", "call 2 a.1.1", "a.1.1 exit 0", "call 3 b.1.1", "b.1.1 exit 1"];
    let source = lived(&two, &before);
    let mut fork = Driver::new(&two);
    fork.ok(envoi_kernel::Input::Fork(Box::new(envoi_kernel::Fork {
        run: envoi_kernel::ids::RunId::new("run_1fork").unwrap(),
        run_base: "/base/fork".to_owned(),
        workspace: "/work".to_owned(),
        shared: false,
        yes_to: Vec::new(),
        by: crate::driver::person("bob"),
        why: None,
        from: None,
        lived: source.records.clone(),
        family: source.run.known_share(),
        correct: None,
        isolated: None,
        files: None,
    })));
    fork.restart();
    assert!(fork.records.iter().any(|record| event(&record.event) == "call_2 of a.1.1"));
    assert_eq!((fork.run.calls().count(), fork.run.ledger().llm_calls), (0, 3));
    assert_eq!(feed(&mut fork, "call 4 b.1.1"), "call_4 of b.1.1 = b.1.1 live");
    assert!(feed(&mut fork, "call 5 b.1.1").contains("llm_calls 4 of 4 is used up"), "one bound for both");
}

#[test]
fn a_call_that_no_attempt_made_is_of_no_step() {
    let mut driver = lived(&flow([ask("b")]), &["start", "call 1"]);
    feed(&mut driver, "called 1 0.05");
    driver.restart();
    assert_eq!((driver.run.ledger().llm_calls, driver.run.ledger().cost), (1, cost("0.05")));
    assert!(driver.run.ledger_by_step().is_empty());
}

#[test]
fn a_journal_in_which_a_call_cannot_follow_is_refused() {
    let driver = lived(&flow([step("a")]), &["start", "call 1 a.1.1", "called 1 0.05"]);
    let fits = |change: &dyn Fn(&mut Event)| {
        let mut records = driver.records.clone();
        records.iter_mut().for_each(|record| change(&mut record.event));
        envoi_kernel::Run::replay(Arc::clone(driver.run.flow()), records).map(drop)
    };
    fits(&|_| {}).unwrap();
    for change in [
        (&|event: &mut Event| {
            if let Event::ModelCallEnded(ended) = event {
                ended.attempt = None;
            }
        }) as &dyn Fn(&mut Event),
        &|event| {
            if let Event::ModelCallEnded(ended) = event {
                ended.call = crate::story::call("2");
            }
        },
        &|event| {
            if let Event::ModelCallStarted(started) = event {
                started.attempt = Some(attempt("a.1.2"));
            }
        },
    ] {
        fits(change).unwrap_err();
    }
}

#[test]
fn a_timed_out_attempt_has_used_what_it_called() {
    let mut driver = lived(&flow([step("a").tries(2)]), &["start", "call 1 a.1.1", "called 1 0.05"]);
    driver.ok(settled(AttemptResult { outcome: Outcome::TimedOut, ..exited("a.1.1", 0) }));
    driver.timer_due();
    feed(&mut driver, "call 2 a.1.2");
    assert_eq!((driver.run.ledger().llm_calls, driver.run.ledger().cost), (2, cost("0.05")));
}
