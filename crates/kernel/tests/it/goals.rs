//! Goals, and rounds until they are reached.

use crate::{
    corrected::{correction, version},
    driver::{Driver, slot},
    flows::{With as _, bounded, critic, limits, step, step_id},
    story::{ends, event, feed, plays},
};
use envoi_contract::json::Value;
use envoi_kernel::{
    Flow,
    flow::{Expression, ForEach, GoalsPlan, Limits, Step},
};
use std::sync::Arc;

/// Goals `x` and `y`, for which the steps from `a` to `b` are repeated.
fn going_for(steps: impl IntoIterator<Item = Step>) -> Arc<Flow> {
    within(Limits::default(), "['x', 'y']", steps)
}

fn within(limits: Limits, list: &str, steps: impl IntoIterator<Item = Step>) -> Arc<Flow> {
    let flow = bounded(limits, steps);
    let goals = GoalsPlan {
        list: Expression(list.to_owned()),
        from: step_id("a"),
        to: step_id("b"),
        max_rounds: 3,
        stuck_after: 2,
    };
    Arc::new(Flow { goals: Some(goals), ..Flow::clone(&flow) })
}

fn marks(step: Step, goals: &[&str]) -> Step {
    step.with(|step| step.marks = goals.iter().map(|goal| (*goal).to_owned()).collect())
}

#[test]
fn rounds_go_on_until_all_goals_are_reached() {
    let flow = going_for([step("first"), step("a").skill(), marks(step("b"), &["y"]), step("z")]);
    let driver = plays(
        &flow,
        r#"> start
         started, first.1.1 begins
         = first.1.1 live
         > first.1.1 exit 0
         first.1.1 ok, first.1 -> a, first.1 succeeded, goals x y, a.1.1 begins
         = a.1.1 live
         > a.1.1 reports "data":{"goals_reached":["nonsense"]}
         a.1.1 ok, a.1 reaches  (and unknown ones), a.1 -> b, a.1 succeeded, b.1.1 begins
         = b.1.1 live
         > b.1.1 says half
         b.1.1 ok, b.1 reaches y, b.1 next round at a, b.1 succeeded, a.2.1 begins
         = a.2.1 live
         > a.2.1 reports "data":{"goals_reached":["x","y"]}
         a.2.1 ok, a.2 reaches x, a.2 -> b, a.2 succeeded, b.2.1 begins
         = b.2.1 live
         > b.2.1 exit 0
         b.2.1 ok, b.2 -> z, b.2 succeeded, z.1.1 begins
         = z.1.1 live"#,
    );
    let signal = &driver.handoff("b.1").routing_signal;
    assert_eq!((signal.reason.as_str(), signal.next_step_id.as_deref()), ("Goals are open: x", Some("a")));
    let envelope = driver.run.envelope();
    assert_eq!((envelope.current_stage_number, envelope.max_stages), (2, 3));
    assert!(envelope.remaining_goals.is_empty() && envelope.all_goals == ["x", "y"]);
    let reached: Vec<String> = envelope
        .completed_stages
        .iter()
        .map(|stage| stage.get("goals_reached").map(Value::compact).unwrap_or_default())
        .collect();
    assert_eq!(reached, [r#"["y"]"#, r#"["x"]"#]);
    assert_eq!(envelope.prior_plans.len(), 1);
    assert_eq!(envelope.loop_feedback, ["half"]);
    assert!(envelope.completed_stage_set.contains_key("b") && !envelope.is_stuck(2));
    assert_eq!(driver.run.ledger().rounds, 2);
}

#[test]
fn a_round_over_the_bound_ends_the_run_and_more_rounds_let_it_go_on() {
    let flow = going_for([step("a"), marks(step("b"), &["x"])]);
    let mut driver = Driver::started(&flow);
    for round in 1..=3 {
        feed(&mut driver, &format!("a.{round}.1 exit 0"));
        feed(&mut driver, &format!("b.{round}.1 exit 0"));
    }
    assert_eq!(driver.run.status().exit_code(), Some(4));
    let envelope = driver.run.envelope();
    assert_eq!(
        envelope.termination_reason.as_deref(),
        Some("rounds 3 of 3 is used up, and open goals are left: `y`")
    );
    assert_eq!(feed(&mut driver, "reopen"), "reopened at b, b.4.1 begins = b.4.1 live");
    let over = feed(&mut driver, "b.4.1 exit 0");
    assert!(over.ends_with("over: max_stages_exceeded at b = nothing [exhausted 4]"), "{over}");
    let went = feed(&mut driver, "more rounds 1");
    assert_eq!(
        went, "limits raised, reopened behind b.4, b.4 next round at a, a.4.1 begins = a.4.1 live",
        "what the last step has come to stands"
    );
}

#[test]
fn a_run_without_any_goal_reached_asks_with_the_facts() {
    let flow = going_for([step("a"), step("b"), step("z")]);
    let stuck = ["start", "a.1.1 exit 0", "b.1.1 exit 0", "a.2.1 exit 0", "b.2.1 exit 0"];
    let went = ends(&flow, &stuck);
    assert_eq!(went, "b.2.1 ok, b.2 holds, b.2 succeeded, asks Stuck of b.2 = question [waiting 3]");
    for (answer, expected) in [
        ("again", "answered again, b.2 next round at a, a.3.1 begins = a.3.1 live"),
        ("proceed", "answered proceed, b.2 -> z, z.1.1 begins = z.1.1 live"),
        ("stop", "answered stop, b.2 stops, over: tool_failed_fatally at b = nothing [failed 1]"),
    ] {
        assert_eq!(ends(&flow, &[&stuck[..], &[answer]].concat()), expected);
    }
    let mut driver = Driver::new(&flow);
    stuck.iter().for_each(|words| drop(feed(&mut driver, words)));
    let question = driver.question();
    assert_eq!(question.evidence.get("goals").map(Value::compact).as_deref(), Some(r#"["x","y"]"#));
    assert!(driver.run.envelope().is_stuck(2));
    feed(&mut driver, "again");
    feed(&mut driver, "a.3.1 exit 0");
    let over = feed(&mut driver, "b.3.1 exit 0");
    assert!(over.ends_with("over: max_stages_exceeded at b = nothing [exhausted 4]"), "{over}");
}

#[test]
fn the_bound_of_rounds_may_be_asked_about() {
    let flow = within(limits(&[("on_reached", "ask")]), "['x', 'y']", [step("a"), marks(step("b"), &["x"])]);
    let mut driver = Driver::started(&flow);
    for round in 1..=2 {
        feed(&mut driver, &format!("a.{round}.1 exit 0"));
        feed(&mut driver, &format!("b.{round}.1 exit 0"));
    }
    feed(&mut driver, "a.3.1 exit 0");
    let asked = feed(&mut driver, "b.3.1 exit 0");
    assert!(asked.ends_with("asks Limit of b.3 = question [waiting 3]"), "{asked}");
    let went = feed(&mut driver, "raise rounds 2");
    assert_eq!(went, "answered raise, b.3 next round at a, a.4.1 begins = a.4.1 live");
}

#[test]
fn more_rounds_in_a_corrected_flow_answer_the_question_about_them() {
    let with = |max_rounds, stuck_after, name: &str, marked: &[&str]| {
        let steps = [step("a"), marks(step("b"), marked)];
        let flow = within(limits(&[("on_reached", "ask")]), "['x', 'y']", steps);
        let plan = GoalsPlan { max_rounds, stuck_after, ..flow.goals.clone().unwrap() };
        version(name, &Arc::new(Flow { goals: Some(plan), ..Flow::clone(&flow) }))
    };
    let round = ["a.1.1 exit 0", "b.1.1 exit 0"];
    let rows = [
        (
            with(1, 9, "demo", &["x"]),
            with(2, 9, "more", &["x"]),
            Some("a"),
            "b.1 next round at a, a.2.1 begins",
        ),
        (with(1, 9, "demo", &["x"]), with(1, 8, "same", &["x"]), None, "asks Limit of b.1"),
        (with(9, 1, "demo", &[]), with(9, 2, "more", &[]), Some("a"), "b.1 next round at a, a.2.1 begins"),
        (with(9, 1, "demo", &[]), with(8, 1, "same", &[]), None, "asks Stuck of b.1"),
    ];
    for (old, new, goes_on_at, expected) in rows {
        let mut driver = Driver::started(&old);
        round.iter().for_each(|words| drop(feed(&mut driver, words)));
        driver.run.learn(Arc::clone(&new));
        let outlook = driver.run.correction(&new, None);
        assert_eq!(outlook.goes_on_at.as_ref().map(|step| step.as_str()), goes_on_at, "{expected}");
        let records = driver.feed_with(correction(&new, None), slot()).unwrap();
        let went: Vec<String> = records.iter().map(|record| event(&record.event)).collect();
        assert_eq!(went.join(", "), format!("question out of date, flow corrected, {expected}"));
        driver.restart();
    }
}

#[test]
fn loops_within_a_round_count_anew_in_the_next_one() {
    let flow = going_for([step("a"), marks(critic("b", "a", 1), &["x"])]);
    let mut driver = Driver::started(&flow);
    let mut visit = 0;
    for _ in 0..2 {
        for code in [1, 0] {
            visit += 1;
            feed(&mut driver, &format!("a.{visit}.1 exit 0"));
            let went = feed(&mut driver, &format!("b.{visit}.1 exit {code}"));
            let course = if code == 1 { "back to a" } else { "next round at a" };
            assert!(went.contains(course), "{visit}: {went}");
        }
    }
}

#[test]
fn a_critic_that_is_not_content_and_a_failure_reach_nothing() {
    let flow = going_for([
        marks(step("a").with(|step| step.continue_on_error = true), &["x"]),
        marks(critic("b", "a", 1), &["y"]),
    ]);
    let went = ends(&flow, &["start", "a.1.1 exit 1"]);
    assert_eq!(went, "a.1.1 TOOL_EXIT_NON_ZERO, a.1 -> b, a.1 failed, b.1.1 begins = b.1.1 live");
    let went = ends(&flow, &["start", "a.1.1 exit 1", "b.1.1 exit 1"]);
    assert!(went.starts_with("b.1.1 ok, b.1 back to a, b.1 succeeded"), "{went}");
}

#[test]
fn steps_see_the_goals() {
    let a = step("a").exec(&["do", "${{ goals.remaining }}", "${{ goals.round }}", "${{ goals.done }}"]);
    let mut driver = Driver::started(&going_for([a, marks(step("b"), &["x"])]));
    feed(&mut driver, "a.1.1 exit 0");
    feed(&mut driver, "b.1.1 exit 0");
    let command = format!("{:?}", driver.begun("a.2.1").command);
    assert!(command.contains(r#""[\"y\"]", "2", "[\"x\"]""#), "{command}");
}

#[test]
fn goals_that_are_none_fail_the_step_that_begins_the_rounds() {
    for list in ["'x'", "[1]", "['']", "['x', 'x']", "steps.nothing.data"] {
        let flow = within(Limits::default(), list, [step("a"), step("b")]);
        let driver = Driver::started(&flow);
        assert_eq!(driver.run.status().exit_code(), Some(1), "{list}");
    }
}

#[test]
fn without_goals_there_is_no_round() {
    let flow = within(Limits::default(), "[]", [step("a"), step("b"), step("z")]);
    let went = ends(&flow, &["start"]);
    assert_eq!(
        went,
        "started, goals , a.1 -> b, a.1 skipped, b.1 -> z, b.1 skipped, z.1.1 begins = z.1.1 live"
    );
}

#[test]
fn a_cancel_at_the_end_of_a_round_begins_no_other() {
    let flow = going_for([step("a"), step("b")]);
    let went = ends(&flow, &["start", "a.1.1 exit 0", "cancel", "b.1.1 exit 0"]);
    assert!(went.ends_with("over: user_cancelled at b = nothing [cancelled 130]"), "{went}");
}

#[test]
fn an_item_of_the_last_step_ends_no_round_and_reaches_nothing_that_the_step_does_not() {
    let each = ForEach { items: Expression("[1, 2]".to_owned()), max_parallel: Some(1) };
    let last = marks(step("b"), &["x", "y"]).with(|step| step.for_each = Some(each));
    let flow = going_for([step("a"), last.with(|step| step.continue_on_error = true), step("z")]);
    plays(
        &flow,
        "> start
         started, goals x y, a.1.1 begins
         = a.1.1 live
         > a.1.1 exit 0
         a.1.1 ok, a.1 -> b, a.1 succeeded, b.1 has 2 items, 0.b.1.1 begins
         = 0.b.1.1 live
         > 0.b.1.1 exit 0
         0.b.1.1 ok, 0.b.1 is an item, 0.b.1 succeeded, 1.b.1.1 begins
         = 1.b.1.1 live
         > 1.b.1.1 exit 2
         1.b.1.1 TOOL_EXIT_NON_ZERO, 1.b.1 is an item, 1.b.1 failed, b.1 next round at a, b.1 failed, a.2.1 begins
         = a.2.1 live",
    );
}
