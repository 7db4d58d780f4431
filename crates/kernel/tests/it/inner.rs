//! Flows that are a part of a run.

use crate::{
    driver::{Driver, result, settled},
    flows::{With as _, ask, critic, flow, graph, step, step_id},
    story::{ends, feed, plays},
};
use envoi_contract::{digest::Digest, routing::Kind};
use envoi_kernel::{
    Flow, Input, Refusal, Status,
    event::{Command, Outcome},
    flow::{Expression, ForEach, InnerInput, InnerPlan, InputDecl, Step, StepKind},
    ids::FlowId,
};
use std::sync::Arc;

/// A step `name` that runs flow `inner`.
fn runs(name: &str, inner: &str) -> Step {
    let plan = InnerPlan { flow: FlowId::new(inner).unwrap(), inputs: Vec::new(), outputs: Vec::new() };
    step(name).with(|step| step.kind = StepKind::Flow(Box::new(plan)))
}

fn plan(step: Step, change: impl FnOnce(&mut InnerPlan)) -> Step {
    step.with(|step| match &mut step.kind {
        StepKind::Flow(plan) => change(plan),
        _ => panic!("it runs no flow"),
    })
}

fn named(name: &str, flow: Arc<Flow>) -> Arc<Flow> {
    let (id, digest) = (FlowId::new(name).unwrap(), Digest::of(name.as_bytes()));
    Arc::new(Flow { id, digest, ..Flow::clone(&flow) })
}

/// A flow that knows these others.
fn with(outer: Arc<Flow>, inner: impl IntoIterator<Item = Arc<Flow>>) -> Arc<Flow> {
    let flows = inner.into_iter().map(|flow| (flow.id.clone(), flow)).collect();
    Arc::new(Flow { flows, ..Flow::clone(&outer) })
}

/// The summary of its last step is that of a flow, and the summaries of items are that of their step.
#[test]
fn the_text_of_a_flow_is_its_last_text_or_not_whole() {
    let read = |bytes: usize, each: bool| {
        let build = named("build", flow([step("link")]));
        let b = runs("b", "build").with(|step| {
            step.for_each =
                each.then(|| ForEach { items: Expression("['x']".to_owned()), max_parallel: None });
        });
        let z = step("z").exec(&["z", "${{ steps.b.text }}"]);
        let outer = with(flow([b, z]), [build]);
        let mut driver = Driver::started(&outer);
        let attempt = if each { "0.b.1.link.1.1" } else { "b.1.link.1.1" };
        let text = format!("begin {} end", "w".repeat(bytes));
        driver.ok(settled(result(attempt, Outcome::Exited { code: 0 }, &text)));
        let outcome = match driver.run.status() {
            Status::Ended(ended) => Err(ended.reason.clone()),
            _ => Ok(driver.begun("z.1.1").command.clone()),
        };
        (text, outcome)
    };
    for (bytes, each) in [(10, false), (3_000, false), (100 * 1024, false), (10, true), (3_000, true)] {
        let (text, outcome) = read(bytes, each);
        match outcome {
            Ok(Command::Exec(argv)) if each => assert_eq!(argv[1], format!("item 0: {text}")),
            Ok(Command::Exec(argv)) => assert_eq!(argv[1], text),
            Ok(other) => panic!("{other:?}"),
            Err(reason) => {
                assert!(bytes > 2_000 && (each || bytes > 3_000), "{bytes} {each}: {reason}");
                assert!(
                    reason.contains("the text of step `b` is not kept whole"),
                    "{bytes} {each}: {reason}"
                );
            }
        }
    }
}

#[test]
fn a_flow_runs_in_a_scope_of_its_own_and_returns() {
    let build = named("build", flow([step("compile"), step("link")]));
    let outer = with(flow([step("a"), runs("b", "build"), step("z")]), [build]);
    let driver = plays(
        &outer,
        "> start
         started, a.1.1 begins
         = a.1.1 live
         > a.1.1 exit 0
         a.1.1 ok, a.1 -> b, a.1 succeeded, b.1 runs build, b.1.compile.1.1 begins
         = b.1.compile.1.1 live
         > b.1.compile.1.1 exit 0
         b.1.compile.1.1 ok, b.1.compile.1 -> link, b.1.compile.1 succeeded, b.1.link.1.1 begins
         = b.1.link.1.1 live
         > b.1.link.1.1 says linked
         b.1.link.1.1 ok, b.1.link.1 -> end, b.1.link.1 succeeded, b.1 returns {}, b.1 -> z, b.1 succeeded, z.1.1 begins
         = z.1.1 live",
    );
    assert_eq!(driver.handoff("b.1").summary, "linked");
    assert_eq!(driver.handoff("b.1.link.1").flow_key, "build");
    assert_eq!(driver.handoff("b.1").flow_key, "demo");
    let shown = |id: &str| driver.begun(id).handoff.as_ref().map(ToString::to_string).unwrap_or_default();
    assert_eq!(
        [shown("b.1.compile.1.1"), shown("b.1.link.1.1"), shown("z.1.1")],
        ["a.1", "b.1.compile.1", "b.1"]
    );
    let done: Vec<String> =
        driver.run.envelope().completed_stage_set.keys().map(ToString::to_string).collect();
    assert_eq!(done, ["a", "b/compile", "b/link", "b"]);
}

#[test]
fn inputs_go_in_and_outputs_come_out() {
    let build = named("build", flow([step("c").skill().exec(&["c", "${{ inputs.x }}", "${{ inputs.y }}"])]));
    let declare = |name: &str, default: Option<&str>| InputDecl {
        name: name.to_owned(),
        schema: envoi_contract::json::Value::Null,
        default: default.map(envoi_contract::json::Value::from),
    };
    let inputs = vec![declare("x", None), declare("y", Some("usual"))];
    let build = Arc::new(Flow { inputs, ..Flow::clone(&build) });
    let calls = plan(runs("b", "build"), |plan| {
        plan.inputs = vec![("x".to_owned(), InnerInput::Expression(Expression("inputs.top".to_owned())))];
        plan.outputs = vec![("n".to_owned(), Expression("steps.c.data.n".to_owned()))];
    });
    let outer = with(flow([calls, step("z").exec(&["z", "${{ steps.b.data.n }}"])]), [build]);
    let mut driver = Driver::started_with(&outer, r#"{"top": 7.50}"#);
    assert!(format!("{:?}", driver.begun("b.1.c.1.1").command).contains(r#""7.50", "usual""#));
    feed(&mut driver, r#"b.1.c.1.1 reports "data":{"n":1.00}"#);
    assert!(format!("{:?}", driver.begun("z.1.1").command).contains(r#""1.00""#));
}

#[test]
fn a_failure_comes_back_with_its_cause_and_a_reopened_run_goes_on_inside() {
    let build = named("build", flow([step("compile"), step("link")]));
    let outer = with(flow([runs("b", "build"), step("z")]), [build]);
    let driver = plays(
        &outer,
        "> start
         started, b.1 runs build, b.1.compile.1.1 begins
         = b.1.compile.1.1 live
         > b.1.compile.1.1 exit 0
         b.1.compile.1.1 ok, b.1.compile.1 -> link, b.1.compile.1 succeeded, b.1.link.1.1 begins
         = b.1.link.1.1 live
         > b.1.link.1.1 exit 1
         b.1.link.1.1 TOOL_EXIT_NON_ZERO, b.1.link.1 stops, b.1.link.1 failed, b.1 stops, b.1 failed, over: tool_failed_fatally at b
         = nothing [failed 1]
         > reopen
         reopened at b, b.2 takes up build, b.2.link.2.1 begins
         = b.2.link.2.1 live
         > b.2.link.2.1 exit 0
         b.2.link.2.1 ok, b.2.link.2 -> end, b.2.link.2 succeeded, b.2 returns {}, b.2 -> z, b.2 succeeded, z.1.1 begins
         = z.1.1 live",
    );
    let error = driver.handoff("b.1").error.clone().unwrap();
    assert!(
        error.starts_with("FLOW_FAILED: flow `build`: Step `link` failed: TOOL_EXIT_NON_ZERO"),
        "{error}"
    );
}

#[test]
fn a_denial_inside_is_one_outside() {
    let build = named("build", flow([ask("sure")]));
    let outer = with(flow([runs("b", "build")]), [build]);
    let went = ends(&outer, &["start", "deny"]);
    assert!(went.ends_with("over: policy_violation at b = nothing [failed 1]"), "{went}");
}

#[test]
fn a_loop_runs_the_flow_anew() {
    let build = named("build", flow([step("c")]));
    let outer = with(flow([runs("b", "build"), critic("judge", "b", 2)]), [build]);
    let inputs = ["start", "b.1.c.1.1 exit 0", "judge.1.1 exit 1"];
    let went = "judge.1.1 ok, judge.1 back to b, judge.1 succeeded, b.2 runs build, b.2.c.1.1 begins = b.2.c.1.1 live";
    assert_eq!(ends(&outer, &inputs), went);
}

#[test]
fn loops_inside_count_for_themselves() {
    let build = named("build", flow([step("c"), critic("judge", "c", 1)]));
    let outer = with(flow([runs("b", "build"), runs("d", "build")]), [build]);
    let mut inputs = vec!["start"];
    inputs.extend(["b.1.c.1.1 exit 0", "b.1.judge.1.1 exit 1", "b.1.c.2.1 exit 0", "b.1.judge.2.1 exit 0"]);
    inputs.extend(["d.1.c.1.1 exit 0", "d.1.judge.1.1 exit 1"]);
    let went = ends(&outer, &inputs);
    assert!(went.ends_with("d.1.c.2.1 begins (round 1) = d.1.c.2.1 live"), "{went}");
}

#[test]
fn flows_run_flows() {
    let innermost = named("innermost", flow([step("c")]));
    let middle = named("middle", graph([runs("m", "innermost"), step("n")]));
    let outer = with(flow([runs("o", "middle")]), [middle, innermost]);
    let inputs = ["start", "slot", "o.1.n.1.1 exit 0", "o.1.m.1.c.1.1 exit 0"];
    let went = ends(&outer, &inputs);
    assert!(
        went.ends_with("o.1 returns {}, o.1 -> end, o.1 succeeded, over: completed = nothing [succeeded 0]"),
        "{went}"
    );
    let failed = ends(&outer, &["start", "slot", "o.1.n.1.1 exit 0", "o.1.m.1.c.1.1 exit 1", "reopen"]);
    assert_eq!(
        failed,
        "reopened at o, o.2 takes up middle, o.2.m entered, o.2.m.2 takes up innermost, o.2.m.2.c.2.1 begins = o.2.m.2.c.2.1 live"
    );
}

#[test]
fn a_flow_for_each_item() {
    let build = named("build", flow([step("c").exec(&["c", "${{ inputs.x }}"])]));
    let calls = plan(runs("b", "build"), |plan| {
        plan.inputs = vec![("x".to_owned(), InnerInput::Expression(Expression("item".to_owned())))];
    })
    .with(|step| {
        step.for_each = Some(ForEach { items: Expression("['p', 'q']".to_owned()), max_parallel: None })
    });
    let outer = with(flow([calls, step("z")]), [build]);
    let driver = plays(
        &outer,
        "> start
         started, b.1 has 2 items, 0.b.1 runs build, 0.b.1.c.1.1 begins, 1.b.1 runs build
         = 0.b.1.c.1.1 live, 1.b.1.c.1 ready
         > slot
         1.b.1.c.1.1 begins
         = 0.b.1.c.1.1 live, 1.b.1.c.1.1 live
         > 1.b.1.c.1.1 exit 0
         1.b.1.c.1.1 ok, 1.b.1.c.1 -> end, 1.b.1.c.1 succeeded, 1.b.1 returns {}, 1.b.1 is an item, 1.b.1 succeeded
         = 0.b.1.c.1.1 live
         > 0.b.1.c.1.1 exit 0
         0.b.1.c.1.1 ok, 0.b.1.c.1 -> end, 0.b.1.c.1 succeeded, 0.b.1 returns {}, 0.b.1 is an item, 0.b.1 succeeded, b.1 -> z, b.1 succeeded, z.1.1 begins
         = z.1.1 live",
    );
    assert!(format!("{:?}", driver.begun("1.b.1.c.1.1").command).contains(r#""q""#));
}

/// A flow that does `build` for each of `range(many)`.
fn for_each_of(many: usize, build: Arc<Flow>) -> Arc<Flow> {
    let items = Expression(format!("range({many})"));
    let calls = runs("b", "build").with(|step| step.for_each = Some(ForEach { items, max_parallel: None }));
    with(flow([calls, step("z")]), [build])
}

/// The moves that one decision may make before others have their turn.
const A_TURN: usize = 32;

#[test]
fn steps_that_start_nothing_are_done_a_turn_at_a_time_and_none_is_lost() {
    let build = named("build", flow([ask("sure")]));
    let mut driver = Driver::started(&for_each_of(100, build));
    let mut turns = 1;
    loop {
        let asked = driver.asked().len();
        if driver.run.wants().ready.is_empty() {
            break;
        }
        driver.restart();
        feed(&mut driver, "slot");
        turns += 1;
        assert!(driver.asked().len() - asked <= A_TURN, "more than a turn of questions at once");
    }
    assert_eq!(driver.asked().len(), 100, "every item has asked, and once");
    // Each item enters its flow and asks.
    assert!(turns >= 200 / A_TURN, "{turns} turns");
}

#[test]
fn a_run_whose_steps_all_are_skipped_ends_after_some_turns() {
    let build = named("build", flow([step("never").when("false")]));
    let mut driver = Driver::started(&for_each_of(50, build));
    let mut turns = 1;
    while driver.run.wants().attempts.is_empty() {
        feed(&mut driver, "slot");
        turns += 1;
        assert!(turns < 50, "the run does not come to its end");
    }
    assert_eq!(driver.run.wants().attempts.len(), 1, "z has begun");
    assert!(turns > 2, "{turns} turns");
    assert_eq!(driver.handoff("b.1").summary.lines().count(), 50);
}

#[test]
fn what_starts_nothing_goes_on_without_a_slot_and_what_starts_does_not() {
    let asks = named("build", flow([ask("sure")]));
    let mut driver = Driver::new(&for_each_of(100, asks));
    driver.feed_with(driver.start(), None).unwrap();
    while !driver.run.wants().ready.is_empty() {
        driver.feed_with(Input::SlotFree, None).unwrap();
    }
    assert_eq!(driver.asked().len(), 100);
    let works = named("build", flow([step("work")]));
    let mut driver = Driver::new(&for_each_of(100, works));
    driver.feed_with(driver.start(), None).unwrap();
    let turns = std::iter::from_fn(|| driver.feed_with(Input::SlotFree, None).ok()).count();
    assert!((1..=100).contains(&turns), "{turns} turns");
    assert_eq!(driver.run.wants().ready.len(), 100, "each has entered its flow, and waits for a slot");
    assert_eq!(driver.feed_with(Input::SlotFree, None), Err(Refusal::NoSlot));
}

#[test]
fn items_of_items_that_would_be_too_many_at_once_are_done_one_after_the_other() {
    let items = Expression("range(1000)".to_owned());
    let deep = step("deep").with(|step| step.for_each = Some(ForEach { items, max_parallel: None }));
    let mut driver = Driver::new(&for_each_of(12, named("build", flow([deep]))));
    driver.feed(driver.start()).unwrap();
    for _ in 0..12 {
        feed(&mut driver, "slot");
    }
    let widths: Vec<usize> = driver
        .records
        .iter()
        .filter_map(|record| match &record.event {
            envoi_kernel::Event::FannedOut(list) => Some(list.width),
            _ => None,
        })
        .collect();
    assert_eq!(widths.len(), 13, "the list and twelve within it");
    assert_eq!(widths[..10], [1000; 10]);
    assert!(widths[10] < 1000 && widths[11..] == [1, 1], "{widths:?}");
    assert!(driver.run.wants().ready.len() < 10_100);
}

/// `triage`, whose hints may lead to step `link` of flow `build`.
fn triage() -> Step {
    step("triage").with(|step| {
        step.routing.declared = true;
        step.routing.kind = Kind::Branch;
        step.routing.flow_branches = vec![(FlowId::new("build").unwrap(), step_id("link"))];
    })
}

#[test]
fn a_hint_leads_into_a_flow_and_the_run_returns_to_the_step_after() {
    let build = named("build", flow([step("compile"), step("link"), step("pack")]));
    let outer = with(flow([triage(), step("z")]), [build]);
    plays(
        &outer,
        "> start
         started, triage.1.1 begins
         = triage.1.1 live
         > triage.1.1 says Go to flow 'build' step 'link'
         triage.1.1 ok, triage.1 holds, triage.1 succeeded, triage.1 runs build at link, triage.1.link.1.1 begins
         = triage.1.link.1.1 live
         > triage.1.link.1.1 exit 0
         triage.1.link.1.1 ok, triage.1.link.1 -> pack, triage.1.link.1 succeeded, triage.1.pack.1.1 begins
         = triage.1.pack.1.1 live
         > triage.1.pack.1.1 exit 0
         triage.1.pack.1.1 ok, triage.1.pack.1 -> end, triage.1.pack.1 succeeded, triage.1 returns null, triage.1 -> z, z.1.1 begins
         = z.1.1 live",
    );
}

#[test]
fn a_hint_to_another_flow_or_another_step_of_it_needs_a_person() {
    for says in ["Go to flow 'other' step 'link'", "Go to flow 'build' step 'compile'"] {
        let build = named("build", flow([step("compile"), step("link")]));
        let outer = with(flow([triage(), step("z")]), [build]);
        let went = ends(&outer, &["start", &format!("triage.1.1 says {says}")]);
        assert!(went.contains("asks Review of triage.1"), "{says}: {went}");
    }
}

#[test]
fn a_flow_that_a_hint_led_into_fails_the_step() {
    let build = named("build", flow([step("compile"), step("link")]));
    let outer = with(flow([triage(), step("z")]), [build]);
    let inputs = ["start", "triage.1.1 says Go to flow 'build' step 'link'", "triage.1.link.1.1 exit 1"];
    let went = ends(&outer, &inputs);
    assert!(
        went.ends_with("triage.1 stops, over: tool_failed_fatally at triage = nothing [failed 1]"),
        "{went}"
    );
    let again = [&inputs[..], &["reopen"]].concat();
    assert_eq!(ends(&outer, &again), "reopened at triage, triage.2.1 begins = triage.2.1 live");
}

#[test]
fn a_cancel_in_the_middle_keeps_the_place() {
    let build = named("build", flow([step("compile"), step("link")]));
    let outer = with(flow([runs("b", "build")]), [build]);
    let inputs = ["start", "b.1.compile.1.1 exit 0", "cancel", "b.1.link.1.1 cancelled"];
    let went = ends(&outer, &inputs);
    assert!(
        went.ends_with("b.1 stops, b.1 failed, over: user_cancelled at b = nothing [cancelled 130]"),
        "{went}"
    );
    let again = [&inputs[..], &["reopen"]].concat();
    assert_eq!(
        ends(&outer, &again),
        "reopened at b, b.2 takes up build, b.2.link.2.1 begins = b.2.link.2.1 live"
    );
}

#[test]
fn a_bound_that_is_reached_inside_stops_the_run_at_the_step_of_its_own_flow() {
    let build = named("build", flow([step("c"), critic("judge", "c", 5)]));
    let outer = with(flow([runs("b", "build"), step("z")]), [build]);
    let limits = crate::flows::limits(&[("iterations", "1")]);
    let outer = Arc::new(Flow { limits, ..Flow::clone(&outer) });
    let inputs =
        ["start", "b.1.c.1.1 exit 0", "b.1.judge.1.1 exit 1", "b.1.c.2.1 exit 0", "b.1.judge.2.1 exit 1"];
    let went = ends(&outer, &inputs);
    assert!(went.ends_with("over: max_iterations_exceeded at b = nothing [exhausted 4]"), "{went}");
    let again = [&inputs[..], &["more iterations 1"]].concat();
    assert_eq!(
        ends(&outer, &again),
        "limits raised, reopened at b, b.2 takes up build, b.2.judge.3.1 begins (round 1) = b.2.judge.3.1 live"
    );
}

#[test]
fn inputs_that_do_not_fit_fail_the_step() {
    let build = named("build", flow([step("c")]));
    let refuses = envoi_kernel::flow::InputCheck(|flow, _| {
        Err(envoi_kernel::flow::InputMisfit(format!("flow `{}` wants another", flow.id)))
    });
    let build = Arc::new(Flow { input_check: refuses, ..Flow::clone(&build) });
    let driver = Driver::started(&with(flow([runs("b", "build")]), [build]));
    let error = driver.handoff("b.1").error.clone().unwrap();
    assert_eq!(error, "INPUT_INVALID: flow `build` wants another");
}

#[test]
fn a_run_that_ends_while_a_flow_of_an_item_waits_numbers_its_visits_on() {
    let build = named("build", flow([step("b")]));
    let each = ForEach { items: Expression("[1, 2]".to_owned()), max_parallel: None };
    let outer = with(flow([runs("b", "build").with(|step| step.for_each = Some(each))]), [build]);
    let inputs = ["start", "cancel", "0.b.1.b.1.1 cancelled", "reopen"];
    let went = ends(&outer, &inputs);
    assert!(went.starts_with("reopened at b, b.2 has 2 items, 0.b.2 runs build"), "{went}");
}

#[test]
fn a_yes_that_was_given_at_the_start_is_for_the_runs_own_steps() {
    let build = named("build", flow([ask("sure")]));
    let outer = with(flow([runs("b", "build"), ask("sure")]), [build]);
    let mut driver = Driver::new(&outer);
    driver.yes_to = vec![step_id("sure")];
    driver.feed(driver.start()).unwrap();
    assert_eq!(driver.question().visit.to_string(), "b.1.sure.1");
}

#[test]
fn a_flow_that_a_hint_led_into_may_fail_where_the_step_says_so() {
    let build = named("build", flow([step("compile"), step("link")]));
    let lenient = triage().with(|step| step.continue_on_error = true);
    let outer = with(flow([lenient, step("z")]), [build]);
    let inputs = ["start", "triage.1.1 says Go to flow 'build' step 'link'", "triage.1.link.1.1 exit 1"];
    let went = ends(&outer, &inputs);
    assert!(went.ends_with("triage.1 -> z, z.1.1 begins = z.1.1 live"), "{went}");
}

#[test]
fn a_visit_inside_is_over_before_the_one_that_holds_it() {
    let outer = with(flow([runs("b", "build")]), [named("build", flow([step("c").tries(2)]))]);
    let went = ends(&outer, &["start", "b.1.c.1.1 exit 1", "cancel"]);
    assert!(
        went.contains("b.1.c.1 stops, b.1.c.1 failed, b.1 stops, b.1 failed, over: user_cancelled"),
        "{went}"
    );
}

#[test]
fn a_flow_that_a_hint_leads_into_has_its_usual_inputs() {
    let build = named("build", flow([step("link").exec(&["link", "${{ inputs.y }}"])]));
    let usual = Some(envoi_contract::json::Value::from("usual"));
    let input = InputDecl { name: "y".to_owned(), schema: envoi_contract::json::Value::Null, default: usual };
    let build = Arc::new(Flow { inputs: vec![input], ..Flow::clone(&build) });
    let mut driver = Driver::started(&with(flow([triage(), step("z")]), [build]));
    feed(&mut driver, "triage.1.1 says Go to flow 'build' step 'link'");
    assert!(format!("{:?}", driver.begun("triage.1.link.1.1").command).contains("usual"));
}

#[test]
fn outputs_that_are_too_large_fail_the_step() {
    let input = InputDecl { name: "x".to_owned(), schema: envoi_contract::json::Value::Null, default: None };
    let build = named("build", flow([step("c").when("false")]));
    let build = Arc::new(Flow { inputs: vec![input], ..Flow::clone(&build) });
    let expression = |text: &str| Expression(text.to_owned());
    let calls = plan(runs("b", "build"), |plan| {
        plan.inputs = vec![("x".to_owned(), InnerInput::Expression(expression("inputs.top")))];
        plan.outputs = vec![("x".to_owned(), expression("inputs.x"))];
    });
    let outer = with(flow([calls]), [build]);
    for (bytes, code) in [(60_000, Some(0)), (70_000, Some(1))] {
        let driver = Driver::started_with(&outer, &format!(r#"{{"top": "{}"}}"#, "x".repeat(bytes)));
        assert_eq!(driver.run.status().exit_code(), code, "{bytes}");
    }
}

#[test]
fn results_of_a_flow_that_is_done_with_may_come_one_by_one() {
    let outer = with(flow([runs("b", "build"), step("z")]), [named("build", flow([step("c"), step("d")]))]);
    let mut inputs = vec!["start", "b.1.c.1.1 doubt", "rerun", "b.1.c.1.2 exit 0"];
    inputs.extend(["b.1.d.1.1 doubt", "rerun", "b.1.d.1.2 exit 0", "b.1.c.1.1 exit 0", "b.1.d.1.1 exit 0"]);
    assert_eq!(ends(&outer, &inputs), "b.1.d.1.1 late = z.1.1 live");
}

#[test]
fn another_round_of_a_graph_takes_up_no_flow_that_failed() {
    let after = |step: Step, need: &str| step.with(|step| step.needs = vec![step_id(need)]);
    let fails = after(runs("b", "build"), "a").with(|step| step.continue_on_error = true);
    let steps = [step("a"), fails, after(critic("judge", "a", 2), "b")];
    let outer = with(graph(steps), [named("build", flow([step("c")]))]);
    let inputs = ["start", "a.1.1 exit 0", "b.1.c.1.1 exit 1", "judge.1.1 exit 1", "a.2.1 exit 0"];
    let went = ends(&outer, &inputs);
    assert!(went.ends_with("b entered, b.2 runs build, b.2.c.1.1 begins = b.2.c.1.1 live"), "{went}");
}

#[test]
fn a_flow_that_is_taken_up_leaves_where_a_hint_had_led() {
    let pack = step("pack").with(|step| step.needs = vec![step_id("link")]);
    let build = named("build", graph([step("link"), pack]));
    let outer = with(flow([runs("b", "middle")]), [named("middle", flow([triage()])), build]);
    let hint = "b.1.triage.1.1 says Go to flow 'build' step 'link'";
    let inputs = [
        "start",
        hint,
        "b.1.triage.1.link.1.1 exit 0",
        "cancel",
        "b.1.triage.1.pack.1.1 cancelled",
        "reopen",
    ];
    let went = ends(&outer, &inputs);
    assert_eq!(went, "reopened at b, b.2 takes up middle, b.2.triage.2.1 begins = b.2.triage.2.1 live");
}
