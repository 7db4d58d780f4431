//! A step that is done once for each value of a list.

use crate::{
    driver::Driver,
    flows::{With as _, critic, flow, graph, limits, step, step_id},
    story::{ends, feed, plays},
};
use envoi_contract::json::Value;
use envoi_kernel::flow::{Expression, ForEach, Step};

fn each(step: Step, items: &str, max_parallel: Option<u32>) -> Step {
    step.with(|step| step.for_each = Some(ForEach { items: Expression(items.to_owned()), max_parallel }))
}

#[test]
fn every_item_is_a_visit_and_the_step_goes_on_when_all_are_done() {
    let work =
        each(step("work"), r#"["x", 2, {"n": 1.00}]"#, Some(2)).exec(&["do", "${{ item }}", "${{ index }}"]);
    let driver = plays(
        &flow([work, step("z")]),
        "> start
         started, work.1 has 3 items, 0.work.1.1 begins
         = 0.work.1.1 live, 1.work.1 ready
         > slot
         1.work.1.1 begins
         = 0.work.1.1 live, 1.work.1.1 live
         > 1.work.1.1 exit 0
         1.work.1.1 ok, 1.work.1 is an item, 1.work.1 succeeded, 2.work.1.1 begins
         = 0.work.1.1 live, 2.work.1.1 live
         > 2.work.1.1 exit 0
         2.work.1.1 ok, 2.work.1 is an item, 2.work.1 succeeded
         = 0.work.1.1 live
         > 0.work.1.1 says first
         0.work.1.1 ok, 0.work.1 is an item, 0.work.1 succeeded, work.1 -> z, work.1 succeeded, z.1.1 begins
         = z.1.1 live",
    );
    let command = |id| format!("{:?}", driver.begun(id).command);
    assert!(command("0.work.1.1").contains(r#"["do", "x", "0"]"#), "{}", command("0.work.1.1"));
    assert!(command("2.work.1.1").contains(r#""{\"n\":1.00}", "2""#), "{}", command("2.work.1.1"));
    let item = |name: &str| ("ENVOI_ITEM".to_owned(), name.to_owned());
    assert!(driver.begun("1.work.1.1").env.contains(&item("2")));
    assert_eq!(driver.handoff("work.1").summary, "item 0: first\nitem 1: \nitem 2:");
    assert_eq!(driver.handoff("0.work.1").summary, "first");
}

#[test]
fn items_start_in_the_order_of_their_list() {
    let many = each(step("work"), "range(12)", None);
    let mut driver = Driver::started(&flow([many]));
    for _ in 1..12 {
        feed(&mut driver, "slot");
    }
    let begun = driver.records.iter().filter_map(|record| match &record.event {
        envoi_kernel::Event::AttemptStarted(started) => started.attempt.visit.item(),
        _ => None,
    });
    assert_eq!(begun.collect::<Vec<_>>(), (0..12).collect::<Vec<_>>());
}

#[test]
fn the_data_of_the_step_is_that_of_its_items_in_their_order() {
    let work = each(step("work"), "[1, 2]", None).skill();
    let z = step("z").variable("SEEN", "${{ steps.work.data }}");
    let mut driver = Driver::started(&flow([work, z]));
    feed(&mut driver, "slot");
    feed(&mut driver, r#"1.work.1.1 reports "data":{"b":2}"#);
    feed(&mut driver, r#"0.work.1.1 reports "data":{"a":1}"#);
    let seen = &driver.begun("z.1.1").env;
    assert_eq!(seen, &[("SEEN".to_owned(), r#"[{"a":1},{"b":2}]"#.to_owned())]);
    let envelope = driver.run.envelope();
    let outputs = envelope.outputs.get("work").and_then(|output| output.get("data"));
    assert_eq!(outputs.map(Value::compact).as_deref(), Some(r#"[{"a":1},{"b":2}]"#));
}

#[test]
fn all_items_are_done_when_one_fails_and_a_reopened_run_does_only_that_one_again() {
    plays(
        &flow([each(step("work"), "['x', 'y', 'z']", Some(1)), step("z")]),
        "> start
         started, work.1 has 3 items, 0.work.1.1 begins
         = 0.work.1.1 live
         > 0.work.1.1 exit 0
         0.work.1.1 ok, 0.work.1 is an item, 0.work.1 succeeded, 1.work.1.1 begins
         = 1.work.1.1 live
         > 1.work.1.1 exit 1
         1.work.1.1 TOOL_EXIT_NON_ZERO, 1.work.1 is an item, 1.work.1 failed, 2.work.1.1 begins
         = 2.work.1.1 live
         > 2.work.1.1 exit 0
         2.work.1.1 ok, 2.work.1 is an item, 2.work.1 succeeded, work.1 stops, work.1 failed, over: tool_failed_fatally at work
         = nothing [failed 1]
         > reopen
         reopened at work, work.2 has 3 items, 1.work.2.1 begins
         = 1.work.2.1 live
         > 1.work.2.1 exit 0
         1.work.2.1 ok, 1.work.2 is an item, 1.work.2 succeeded, work.2 -> z, work.2 succeeded, z.1.1 begins
         = z.1.1 live",
    );
}

#[test]
fn a_loop_does_all_items_again() {
    let steps = [each(step("work"), "[1, 2]", None), critic("judge", "work", 1)];
    let inputs = [
        "start",
        "slot",
        "0.work.1.1 exit 0",
        "1.work.1.1 exit 0",
        "judge.1.1 exit 1",
        "slot",
        "0.work.2.1 exit 0",
    ];
    let went = "0.work.2.1 ok, 0.work.2 is an item, 0.work.2 succeeded = 1.work.2.1 live";
    assert_eq!(ends(&flow(steps), &inputs), went);
}

#[test]
fn a_failed_item_without_output_has_its_error_in_the_summary() {
    let mut driver = Driver::started(&flow([each(step("work"), "[1, 2, 3]", None)]));
    for input in ["slot", "slot", "0.work.1.1 exit 0", "1.work.1.1 exit 4", "2.work.1.1 says half of it"] {
        feed(&mut driver, input);
    }
    let summary = &driver.handoff("work.1").summary;
    assert_eq!(summary, "item 0: \nitem 1 failed: TOOL_EXIT_NON_ZERO: exit code 4\nitem 2: half of it");
}

#[test]
fn a_failed_item_is_tried_again_by_itself() {
    let inputs = ["start", "slot", "0.work.1.1 exit 1", "due", "0.work.1.2 exit 0"];
    let went = "0.work.1.2 ok, 0.work.1 is an item, 0.work.1 succeeded = 1.work.1.1 live";
    assert_eq!(ends(&flow([each(step("work"), "[1, 2]", None).tries(2)]), &inputs), went);
}

#[test]
fn an_empty_list_is_done_at_once() {
    let went = ends(&flow([each(step("work"), "[]", None), step("z")]), &["start"]);
    assert_eq!(went, "started, work.1 has 0 items, work.1 -> z, work.1 succeeded, z.1.1 begins = z.1.1 live");
}

#[test]
fn what_is_no_list_fails_the_step() {
    for list in ["'abc'", "{'a': 1}", "42", "steps.nothing.data"] {
        let driver = Driver::started(&flow([each(step("work"), list, None)]));
        assert_eq!(driver.run.status().exit_code(), Some(1), "{list}");
        let error = driver.handoff("work.1").error.clone().unwrap();
        assert!(
            error.starts_with("FOR_EACH_INVALID: ") || error.starts_with("EXPRESSION_FAILED: "),
            "{error}"
        );
    }
}

#[test]
fn a_bound_in_the_middle_keeps_what_is_done() {
    let bounded =
        crate::flows::bounded(limits(&[("agent_hops", "2")]), [each(step("work"), "[1, 2, 3]", None)]);
    plays(
        &bounded,
        "> start
         started, work.1 has 3 items, 0.work.1.1 begins
         = 0.work.1.1 live, 1.work.1 ready, 2.work.1 ready
         > slot
         1.work.1.1 begins, stopping: max_agent_hops_exceeded
         = 0.work.1.1 live, 1.work.1.1 live
         > 0.work.1.1 exit 0
         0.work.1.1 ok, 0.work.1 is an item, 0.work.1 succeeded
         = 1.work.1.1 live
         > 1.work.1.1 exit 0
         1.work.1.1 ok, 1.work.1 is an item, 1.work.1 succeeded, work.1 stops, work.1 failed, over: max_agent_hops_exceeded at work
         = nothing [exhausted 4]
         > more agent_hops 1
         limits raised, reopened at work, work.2 has 3 items, 2.work.2.1 begins
         = 2.work.2.1 live
         > 2.work.2.1 exit 0
         2.work.2.1 ok, 2.work.2 is an item, 2.work.2 succeeded, work.2 -> end, work.2 succeeded, over: completed
         = nothing [succeeded 0]",
    );
}

#[test]
fn items_of_a_loser_are_given_up_with_it() {
    let fan = each(step("fan"), "[1, 2]", None);
    let join = step("j").with(|step| {
        step.needs = vec![step_id("fan"), step_id("x")];
        step.join = envoi_kernel::flow::Join::Any;
    });
    let inputs = ["start", "slot", "slot", "x.1.1 exit 0", "1.fan.1.1 cancelled", "0.fan.1.1 exit 0"];
    let went = ends(&graph([fan, step("x"), join]), &inputs);
    assert_eq!(went, "0.fan.1.1 late, j.1.1 begins = j.1.1 live");
}

#[test]
fn an_item_in_doubt_asks_and_the_others_go_on() {
    let steps = [each(step("work"), "[1, 2]", None)];
    let inputs = ["start", "slot", "0.work.1.1 doubt", "1.work.1.1 exit 0"];
    let went = "1.work.1.1 ok, 1.work.1 is an item, 1.work.1 succeeded = question [waiting 5]";
    assert_eq!(ends(&flow(steps), &inputs), went);
}

#[test]
fn items_do_not_go_on_from_one_another() {
    let flow = flow([step("a"), each(step("work"), "[1, 2]", Some(1))]);
    let mut driver = Driver::started(&flow);
    feed(&mut driver, "a.1.1 exit 0");
    feed(&mut driver, "0.work.1.1 exit 0");
    let shown = driver.begun("1.work.1.1").handoff.as_ref().map(ToString::to_string);
    assert_eq!(shown.as_deref(), Some("a.1"));
}

#[test]
fn data_that_is_too_large_together_is_left_out_with_a_warning() {
    let items: Vec<String> = (0..40).map(|n| n.to_string()).collect();
    let list = format!("[{}]", items.join(","));
    let mut driver = Driver::started(&flow([each(step("work"), &list, Some(1)).skill(), step("z")]));
    let data = "x".repeat(4_000);
    for item in 0..40 {
        feed(&mut driver, &format!(r#"{item}.work.1.1 reports "data":"{data}""#));
    }
    let output =
        driver.run.envelope().outputs.get("work").and_then(|output| output.get("data")).cloned().unwrap();
    assert!(output.get("$omitted").is_some() && output.compact().len() < 300, "{}", output.compact());
    assert_eq!(driver.run.wants().attempts.len(), 1, "the run goes on");
}

#[test]
fn an_item_that_cannot_be_handed_over_fails_before_it_starts() {
    let list = format!("['{}']", "x".repeat(900)).replace('x', "\\u0000");
    let driver = Driver::started(&flow([each(step("work"), &list, None)]));
    assert!(driver.nth_begun(0).is_none());
    assert_eq!(driver.run.status().exit_code(), Some(1));
}

#[test]
fn items_that_are_under_way_when_the_run_ends_stay_items() {
    let two = || each(step("work"), "[1, 2, 3]", Some(1));
    let went = ends(&flow([two().tries(2)]), &["start", "0.work.1.1 exit 1", "cancel"]);
    let expected = "cancel by bob, 0.work.1 is an item, 0.work.1 failed, work.1 stops, work.1 failed, \
                    over: user_cancelled at work = nothing [cancelled 130]";
    assert_eq!(went, expected);
    let limits = limits(&[("agent_hops", "1"), ("on_reached", "ask")]);
    let bounded = crate::flows::bounded(limits, [two()]);
    let went = ends(&bounded, &["start", "0.work.1.1 exit 0", "stop"]);
    let expected = "answered stop, stopping: max_agent_hops_exceeded, work.1 stops, work.1 failed, \
                    over: max_agent_hops_exceeded at work = nothing [exhausted 4]";
    assert_eq!(went, expected);
}
