//! Steps with needs: joins, branches that are given up, failures, loops over parallel parts.

use crate::{
    driver::Driver,
    flows::{With as _, ask, critic, flow, graph, step, step_id},
    story::{ends, feed, plays},
};
use envoi_kernel::flow::{Join, Step};

/// A step that needs these.
fn after(step: Step, needs: &[&str]) -> Step {
    step.with(|step| step.needs = needs.iter().map(|need| step_id(need)).collect())
}

fn joining(step: Step, join: Join) -> Step {
    step.with(|step| step.join = join)
}

fn when(step: Step, condition: &str) -> Step {
    step.when(condition).with(|step| step.regardless = true)
}

#[test]
fn branches_run_side_by_side_and_all_are_awaited() {
    let flow =
        graph([step("a"), after(step("b"), &["a"]), after(step("c"), &["a"]), after(step("d"), &["b", "c"])]);
    plays(
        &flow,
        "> start
         started, a entered, a.1.1 begins
         = a.1.1 live
         > a.1.1 exit 0
         a.1.1 ok, a.1 is passed, a.1 succeeded, b entered, c entered, b.1.1 begins
         = b.1.1 live, c.1 ready
         > slot
         c.1.1 begins
         = b.1.1 live, c.1.1 live
         > c.1.1 exit 0
         c.1.1 ok, c.1 is passed, c.1 succeeded
         = b.1.1 live
         > b.1.1 exit 0
         b.1.1 ok, b.1 is passed, b.1 succeeded, d entered, d.1.1 begins
         = d.1.1 live
         > d.1.1 exit 0
         d.1.1 ok, d.1 is passed, d.1 succeeded, over: completed
         = nothing [succeeded 0]",
    );
}

#[test]
fn every_root_is_there_from_the_start_and_the_same_command_twice_is_two_attempts() {
    let flow = graph([step("a"), step("b").exec(&["a"]), after(step("c"), &["a", "b"])]);
    let mut driver = Driver::started(&flow);
    assert_eq!(feed(&mut driver, "slot"), "b.1.1 begins = a.1.1 live, b.1.1 live");
    assert_eq!(driver.begun("a.1.1").command, driver.begun("b.1.1").command);
}

#[test]
fn the_first_wins_and_the_others_are_given_up() {
    let flow = graph([
        step("a"),
        after(step("b"), &["a"]),
        step("x"),
        joining(after(step("j"), &["b", "x"]), Join::Any),
        after(step("z"), &["j"]),
    ]);
    plays(
        &flow,
        "> start
         started, a entered, x entered, a.1.1 begins
         = a.1.1 live, x.1 ready
         > slot
         x.1.1 begins
         = a.1.1 live, x.1.1 live
         > x.1.1 exit 0
         x.1.1 ok, x.1 is passed, x.1 succeeded, j entered, j does without a b, a.1 is skipped, a.1 skipped, b entered
         = a.1.1 ending
         > slot
         refused: no visit waits for a slot
         = a.1.1 ending
         > a.1.1 exit 0
         a.1.1 late, b.1 is skipped, b.1 skipped, j.1.1 begins
         = j.1.1 live
         > j.1.1 exit 0
         j.1.1 ok, j.1 is passed, j.1 succeeded, z entered, z.1.1 begins
         = z.1.1 live
         > z.1.1 exit 0
         z.1.1 ok, z.1 is passed, z.1 succeeded, over: completed
         = nothing [succeeded 0]",
    );
}

#[test]
fn a_loser_in_doubt_asks_no_question() {
    let flow = graph([step("a"), step("x"), joining(after(step("j"), &["a", "x"]), Join::Any)]);
    let inputs = ["start", "slot", "x.1.1 exit 0", "a.1.1 doubt"];
    assert_eq!(ends(&flow, &inputs), "a.1.1 late, j.1.1 begins = j.1.1 live");
}

#[test]
fn a_loser_that_waits_for_a_review_is_skipped_and_does_not_run_again() {
    let flow = graph([critic("r", "r", 0), step("a"), joining(after(step("j"), &["r", "a"]), Join::Any)]);
    let went = ends(&flow, &["start", "slot", "r.1.1 exit 1", "a.1.1 exit 0"]);
    assert!(
        went.ends_with(
            "j entered, j does without r, question void, r entered, j.1.1 begins, \
             r.2 is skipped, r.2 skipped = j.1.1 live"
        ),
        "{went}"
    );
}

#[test]
fn what_another_step_needs_is_no_loser() {
    let flow = graph([
        step("a"),
        step("x"),
        joining(after(step("j"), &["a", "x"]), Join::Any),
        after(step("k"), &["a"]),
    ]);
    let inputs = ["start", "slot", "x.1.1 exit 0"];
    let went = "x.1.1 ok, x.1 is passed, x.1 succeeded, j entered, j.1.1 begins = a.1.1 live, j.1.1 live";
    assert_eq!(ends(&flow, &inputs), went);
    let inputs = ["start", "slot", "x.1.1 exit 0", "j.1.1 exit 0", "a.1.1 exit 0", "k.1.1 exit 0"];
    assert_eq!(
        ends(&flow, &inputs),
        "k.1.1 ok, k.1 is passed, k.1 succeeded, over: completed = nothing [succeeded 0]"
    );
}

#[test]
fn what_all_that_needed_it_do_without_is_given_up() {
    let flow = graph([
        step("a"),
        step("x"),
        step("y"),
        joining(after(step("j"), &["a", "x"]), Join::Any),
        joining(after(step("k"), &["a", "y"]), Join::Any),
    ]);
    let mut inputs = vec!["start", "slot", "slot", "x.1.1 exit 0"];
    let went = "x.1.1 ok, x.1 is passed, x.1 succeeded, j entered, j.1.1 begins = a.1.1 live, j.1.1 live, y.1.1 live";
    assert_eq!(ends(&flow, &inputs), went);
    // The first of them may be over by then, or not.
    for over in [false, true] {
        inputs.extend(over.then_some("j.1.1 exit 0"));
        let went = ends(&flow, &[&inputs[..], &["y.1.1 exit 0"]].concat());
        assert!(went.contains("k entered, k does without a, a.1 is skipped"), "{went}");
    }
}

#[test]
fn joins_by_what_becomes_of_three() {
    let three =
        |join| graph([step("a"), step("b"), step("c"), joining(after(step("j"), &["a", "b", "c"]), join)]);
    let last = |join, codes: [u8; 3]| {
        let mut driver = Driver::started(&three(join));
        feed(&mut driver, "slot");
        feed(&mut driver, "slot");
        let mut went = String::new();
        for (name, code) in ["a", "b", "c"].into_iter().zip(codes) {
            went = feed(&mut driver, &format!("{name}.1.1 exit {code}"));
            if went.contains("j entered") {
                let live = driver.run.wants();
                for id in live.ending.iter().chain(&live.attempts).filter(|id| id.visit.step.as_str() != "j")
                {
                    feed(&mut driver, &format!("{id} cancelled"));
                }
                break;
            }
        }
        if driver.run.wants().attempts.iter().any(|id| id.visit.step.as_str() == "j") {
            went = feed(&mut driver, "j.1.1 exit 0");
        }
        went.rsplit_once("over: ").map_or(went.clone(), |(_, end)| end.to_owned())
    };
    let done = "completed = nothing [succeeded 0]";
    let failed = |at: &str| format!("tool_failed_fatally at {at} = nothing [failed 1]");
    for (join, codes, expected) in [
        (Join::All, [0, 0, 0], done.to_owned()),
        (Join::All, [0, 1, 0], failed("b")),
        (Join::Settled, [1, 1, 1], done.to_owned()),
        (Join::Settled, [0, 1, 0], done.to_owned()),
        (Join::Any, [1, 1, 0], done.to_owned()),
        (Join::Any, [0, 1, 1], done.to_owned()),
        (Join::Any, [1, 1, 1], failed("j")),
        (Join::Quorum(2), [0, 1, 0], done.to_owned()),
        (Join::Quorum(2), [0, 0, 1], done.to_owned()),
        (Join::Quorum(2), [0, 1, 1], failed("j")),
    ] {
        assert_eq!(last(join, codes), expected, "{join:?} {codes:?}");
    }
}

#[test]
fn other_branches_go_on_after_a_failure_and_what_hangs_on_it_is_skipped() {
    let flow = graph([step("a"), step("b"), after(step("c"), &["a"]), after(step("d"), &["b"])]);
    plays(
        &flow,
        "> start
         started, a entered, b entered, a.1.1 begins
         = a.1.1 live, b.1 ready
         > a.1.1 exit 1
         a.1.1 TOOL_EXIT_NON_ZERO, a.1 is failed, a.1 failed, c entered, b.1.1 begins, c.1 is skipped, c.1 skipped
         = b.1.1 live
         > b.1.1 exit 0
         b.1.1 ok, b.1 is passed, b.1 succeeded, d entered, d.1.1 begins
         = d.1.1 live
         > d.1.1 exit 0
         d.1.1 ok, d.1 is passed, d.1 succeeded, over: tool_failed_fatally at a
         = nothing [failed 1]
         > reopen
         reopened at a, a entered, a.2.1 begins
         = a.2.1 live
         > a.2.1 exit 0
         a.2.1 ok, a.2 is passed, a.2 succeeded, c entered, c.2.1 begins
         = c.2.1 live
         > c.2.1 exit 0
         c.2.1 ok, c.2 is passed, c.2 succeeded, over: completed
         = nothing [succeeded 0]",
    );
}

#[test]
fn status_functions_tell_of_ancestors_only() {
    let flow = graph([
        step("a"),
        step("b"),
        when(after(step("undo"), &["a"]), "failure()"),
        when(after(step("always"), &["a"]), "always()"),
        when(after(step("other"), &["b"]), "failure()"),
        when(after(step("both"), &["a"]), "success() or failure()"),
    ]);
    let mut driver = Driver::started(&flow);
    for words in ["slot", "a.1.1 exit 1", "b.1.1 exit 0"] {
        feed(&mut driver, words);
    }
    let mut begun = Vec::new();
    while let Some(id) = driver.run.wants().attempts.first().cloned() {
        begun.push(id.to_string());
        feed(&mut driver, &format!("{id} exit 0"));
    }
    assert_eq!(begun, ["always.1.1", "both.1.1", "undo.1.1"]);
    assert_eq!(driver.handoff("other.1").routing_signal.reason, "Condition is false");
    assert_eq!(driver.run.status().exit_code(), Some(1), "a failure stays one");
}

#[test]
fn in_listed_order_a_failure_skips_up_to_what_is_done_all_the_same() {
    let steps =
        [step("a"), step("b"), when(step("tidy"), "always()"), step("c"), when(step("tell"), "failure()")];
    plays(
        &flow(steps),
        "> start
         started, a.1.1 begins
         = a.1.1 live
         > a.1.1 exit 1
         a.1.1 TOOL_EXIT_NON_ZERO, a.1 -> b, a.1 failed, b.1 -> tidy, b.1 skipped, tidy.1.1 begins
         = tidy.1.1 live
         > tidy.1.1 exit 1
         tidy.1.1 TOOL_EXIT_NON_ZERO, tidy.1 -> c, tidy.1 failed, c.1 -> tell, c.1 skipped, tell.1.1 begins
         = tell.1.1 live
         > tell.1.1 exit 0
         tell.1.1 ok, tell.1 stops, tell.1 succeeded, over: tool_failed_fatally at a
         = nothing [failed 1]
         > reopen
         reopened at a, a.2.1 begins
         = a.2.1 live
         > a.2.1 exit 0
         a.2.1 ok, a.2 -> b, a.2 succeeded, b.2.1 begins
         = b.2.1 live
         > b.2.1 exit 0
         b.2.1 ok, b.2 -> tidy, b.2 succeeded, tidy.2.1 begins
         = tidy.2.1 live",
    );
}

#[test]
fn nothing_is_done_all_the_same_after_a_cancel_or_at_a_bound() {
    let steps = || [step("a"), when(step("tidy"), "always()")];
    let cancelled = ends(&flow(steps()), &["start", "cancel", "a.1.1 cancelled"]);
    assert!(cancelled.ends_with("over: user_cancelled at a = nothing [cancelled 130]"), "{cancelled}");
    let tight = crate::flows::bounded(crate::flows::limits(&[("agent_hops", "1")]), steps());
    let bound = ends(&tight, &["start", "a.1.1 exit 1"]);
    assert!(bound.ends_with("over: max_agent_hops_exceeded at tidy = nothing [exhausted 4]"), "{bound}");
}

#[test]
fn a_loop_over_a_parallel_part_repeats_all_of_it() {
    let flow = graph([
        step("a"),
        after(step("b"), &["a"]),
        after(step("c"), &["a"]),
        after(critic("judge", "a", 2), &["b", "c"]),
        after(step("z"), &["judge"]),
    ]);
    plays(
        &flow,
        "> start
         started, a entered, a.1.1 begins
         = a.1.1 live
         > a.1.1 exit 0
         a.1.1 ok, a.1 is passed, a.1 succeeded, b entered, c entered, b.1.1 begins
         = b.1.1 live, c.1 ready
         > b.1.1 exit 0
         b.1.1 ok, b.1 is passed, b.1 succeeded, c.1.1 begins
         = c.1.1 live
         > c.1.1 exit 0
         c.1.1 ok, c.1 is passed, c.1 succeeded, judge entered, judge.1.1 begins
         = judge.1.1 live
         > judge.1.1 exit 1
         judge.1.1 ok, judge.1 back to a, judge.1 succeeded, a.2.1 begins (round 1)
         = a.2.1 live
         > a.2.1 exit 0
         a.2.1 ok, a.2 is passed, a.2 succeeded, b entered, c entered, b.2.1 begins (round 1)
         = b.2.1 live, c.2 ready
         > b.2.1 exit 0
         b.2.1 ok, b.2 is passed, b.2 succeeded, c.2.1 begins (round 1)
         = c.2.1 live
         > c.2.1 exit 0
         c.2.1 ok, c.2 is passed, c.2 succeeded, judge entered, judge.2.1 begins (round 1)
         = judge.2.1 live
         > judge.2.1 exit 0
         judge.2.1 ok, judge.2 is passed, judge.2 succeeded, z entered, z.1.1 begins
         = z.1.1 live",
    );
}

#[test]
fn a_loop_gives_up_what_hangs_on_it_and_is_still_under_way() {
    let flow = graph([
        step("a"),
        after(critic("judge", "a", 2), &["a"]),
        after(step("side"), &["a"]),
        after(ask("sign"), &["a"]),
    ]);
    let inputs = ["start", "a.1.1 exit 0", "slot", "judge.1.1 exit 1"];
    let went = "judge.1.1 ok, question void, side.1 is skipped, side.1 skipped, sign.1 is skipped, sign.1 skipped, \
                judge.1 back to a, judge.1 succeeded = side.1.1 ending";
    assert_eq!(ends(&flow, &inputs), went);
    let mut driver = Driver::new(&flow);
    for words in inputs {
        feed(&mut driver, words);
    }
    assert_eq!(feed(&mut driver, "side.1.1 cancelled"), "side.1.1 late, a.2.1 begins (round 1) = a.2.1 live");
    let after = feed(&mut driver, "a.2.1 exit 0");
    assert!(after.contains("side entered, sign entered"), "{after}");
}

#[test]
fn a_branch_in_a_graph_leaves_the_others_out() {
    let triage = step("triage").with(|step| {
        step.routing.declared = true;
        step.routing.kind = envoi_contract::routing::Kind::Branch;
        step.routing.branches = vec![step_id("fix"), step_id("close")];
    });
    let flow = graph([
        triage,
        after(step("fix"), &["triage"]),
        after(step("close"), &["triage"]),
        after(step("log"), &["triage"]),
        joining(after(step("end-of-it"), &["fix", "close", "log"]), Join::All),
    ]);
    let went = ends(&flow, &["start", "triage.1.1 says Go to step 'close'"]);
    let expected = "triage.1.1 ok, triage.1 is passed, triage.1 succeeded, triage does without fix, fix entered, \
                    close entered, log entered, close.1.1 begins, fix.1 is skipped, fix.1 skipped = close.1.1 live, log.1 ready";
    assert_eq!(went, expected);
}

#[test]
fn questions_of_branches_are_open_side_by_side_and_taken_in_any_order() {
    let flow = graph([ask("a"), ask("b"), ask("c"), after(step("z"), &["a", "b", "c"])]);
    for order in [[1, 2, 3], [1, 3, 2], [2, 1, 3], [2, 3, 1], [3, 1, 2], [3, 2, 1]] {
        let mut driver = Driver::started(&flow);
        assert_eq!(driver.run.status().exit_code(), Some(3));
        for nth in order {
            let said = feed(&mut driver, &format!("#{nth} approve"));
            assert!(said.starts_with("answered approve"), "{said}");
            let again = feed(&mut driver, &format!("#{nth} approve"));
            assert!(again.starts_with("refused"), "{again}");
        }
        assert_eq!(driver.run.wants().attempts.len(), 1, "{order:?}");
    }
}

#[test]
fn a_bound_stops_what_has_not_begun_and_waits_for_what_has() {
    let limits = crate::flows::limits(&[("agent_hops", "2")]);
    let flow = crate::flows::bounded_graph(limits, [step("a"), step("b"), step("c")]);
    plays(
        &flow,
        "> start
         started, a entered, b entered, c entered, a.1.1 begins
         = a.1.1 live, b.1 ready, c.1 ready
         > slot
         b.1.1 begins, stopping: max_agent_hops_exceeded
         = a.1.1 live, b.1.1 live
         > b.1.1 exit 1
         b.1.1 TOOL_EXIT_NON_ZERO, b.1 stops, b.1 failed
         = a.1.1 live
         > a.1.1 exit 0
         a.1.1 ok, a.1 is passed, a.1 succeeded, over: max_agent_hops_exceeded at c
         = nothing [exhausted 4]
         > more agent_hops 3
         limits raised, reopened at c, b entered, c entered, b.2.1 begins
         = b.2.1 live, c.1 ready",
    );
}

#[test]
fn a_bound_is_asked_about_once_however_many_wait_for_it() {
    let limits = crate::flows::limits(&[("agent_hops", "1"), ("on_reached", "ask")]);
    let flow = crate::flows::bounded_graph(limits, [step("a"), step("b"), step("c")]);
    plays(
        &flow,
        "> start
         started, a entered, b entered, c entered, a.1.1 begins, asks Limit of b.1
         = a.1.1 live, question
         > a.1.1 exit 0
         a.1.1 ok, a.1 is passed, a.1 succeeded
         = question [waiting 3]
         > raise agent_hops 2
         answered raise, b.1.1 begins
         = b.1.1 live, c.1 ready",
    );
}

#[test]
fn a_question_of_one_branch_does_not_make_the_run_wait_while_another_moves() {
    let flow = graph([ask("a"), step("b")]);
    let mut driver = Driver::started(&flow);
    assert_eq!(driver.run.status().exit_code(), None);
    assert_eq!(driver.run.envelope().current_stage, "b", "what runs, not what waits");
    feed(&mut driver, "b.1.1 exit 0");
    assert_eq!(driver.run.status().exit_code(), Some(3));
    let envelope = driver.run.envelope();
    assert!(envelope.parallel_mode && envelope.active_stages.contains_key("a"));
    assert!(envelope.completed_stage_set.contains_key("b"));
}

#[test]
fn a_cancel_ends_every_branch() {
    let flow = graph([step("a"), step("b"), ask("q"), after(step("z"), &["a", "b"])]);
    let inputs = ["start", "slot", "cancel", "b.1.1 cancelled", "a.1.1 cancelled"];
    let went = ends(&flow, &inputs);
    assert!(went.ends_with("over: user_cancelled at q = nothing [cancelled 130]"), "{went}");
}

#[test]
fn a_step_goes_on_from_the_last_of_what_it_needs() {
    let flow = graph([step("a"), step("b"), step("x"), after(step("j"), &["a", "b"])]);
    let mut driver = Driver::started(&flow);
    for words in ["slot", "slot", "b.1.1 exit 0", "a.1.1 exit 0"] {
        feed(&mut driver, words);
    }
    feed(&mut driver, "x.1.1 exit 0");
    assert_eq!(driver.begun("j.1.1").handoff.as_ref().map(ToString::to_string).as_deref(), Some("a.1"));
    assert_eq!(driver.begun("x.1.1").handoff, None);
}

#[test]
fn a_step_that_is_not_done_has_no_failure_in_hand() {
    let settled = joining(after(step("s"), &["a"]), Join::Settled);
    let flow = graph([step("a"), settled.when("false"), step("b")]);
    let went = ends(&flow, &["start", "slot", "a.1.1 exit 1", "b.1.1 exit 0"]);
    assert!(went.ends_with("over: tool_failed_fatally at a = nothing [failed 1]"), "{went}");
}

#[test]
fn a_reopened_run_leaves_what_went_on_without_the_failed_step() {
    let flow = graph([
        step("a"),
        step("c"),
        joining(after(step("e"), &["a", "c"]), Join::Any),
        after(step("f"), &["a"]),
    ]);
    let inputs = ["start", "slot", "c.1.1 exit 0", "a.1.1 exit 1", "e.1.1 exit 0", "reopen", "a.2.1 exit 0"];
    let went = ends(&flow, &inputs);
    assert_eq!(went, "a.2.1 ok, a.2 is passed, a.2 succeeded, f entered, f.2.1 begins = f.2.1 live");
}

#[test]
fn what_was_given_up_before_it_began_is_skipped_to_expressions() {
    let join = joining(after(step("j"), &["a", "b"]), Join::Any).exec(&["${{ steps.b.status }}"]);
    let flow = graph([step("a"), step("u"), after(step("b"), &["u"]), join]);
    let mut driver = Driver::started(&flow);
    for words in ["slot", "a.1.1 exit 0", "u.1.1 cancelled"] {
        feed(&mut driver, words);
    }
    assert!(format!("{:?}", driver.begun("j.1.1").command).contains("skipped"));
}

#[test]
fn a_skipped_step_leaves_what_it_would_have_gone_on_from() {
    let flow = graph([step("a"), after(step("b").when("false"), &["a"]), after(step("c"), &["b"])]);
    let mut driver = Driver::started(&flow);
    feed(&mut driver, "a.1.1 exit 0");
    assert_eq!(driver.begun("c.1.1").handoff.as_ref().map(ToString::to_string).as_deref(), Some("a.1"));
}

#[test]
fn a_bound_that_is_raised_while_the_run_stops_lets_it_go_on() {
    let limits = crate::flows::limits(&[("agent_hops", "1")]);
    let flow = crate::flows::bounded_graph(limits, [step("a"), step("b")]);
    let inputs = ["start", "slot", "more agent_hops 5"];
    let went = ends(&flow, &inputs);
    assert_eq!(went, "limits raised, b.1.1 begins = a.1.1 live, b.1.1 live");
}

#[test]
fn one_raise_answers_every_question_about_its_bound() {
    let limits = crate::flows::limits(&[("iterations", "1"), ("on_reached", "ask")]);
    let flow = crate::flows::bounded_graph(limits, [critic("a", "a", 3), critic("b", "b", 3)]);
    let mut driver = Driver::started(&flow);
    for words in ["slot", "a.1.1 exit 1", "b.1.1 exit 1", "a.2.1 exit 1"] {
        feed(&mut driver, words);
    }
    assert_eq!(driver.run.wants().interrupts.len(), 2);
    let went = feed(&mut driver, "more iterations 5");
    assert!(driver.run.wants().interrupts.is_empty(), "{went}");
    assert!(went.contains("a.3.1 begins") || went.contains("b.2.1 begins"), "{went}");
}

/// Plays all inputs, and gives what the last of them came to.
fn last(flow: &std::sync::Arc<envoi_kernel::Flow>, inputs: &str) -> String {
    ends(flow, &inputs.split(", ").collect::<Vec<_>>())
}

#[test]
fn what_was_skipped_is_content_enough_when_nothing_else_is_left() {
    let skipped = step("s").when("false");
    let flow = graph([step("a"), skipped, joining(after(step("j"), &["a", "s"]), Join::Any)]);
    assert!(last(&flow, "start, a.1.1 exit 1").ends_with("j entered, j.1.1 begins = j.1.1 live"));
}

#[test]
fn a_settled_join_waits_for_all_and_minds_no_failure() {
    let flow = graph([
        step("a"),
        step("b"),
        joining(after(step("j"), &["a", "b"]), Join::Settled),
        after(step("k"), &["a"]),
    ]);
    let went = last(&flow, "start, slot, a.1.1 exit 1");
    assert!(went.ends_with("k entered, k.1 is skipped, k.1 skipped = b.1.1 live"), "{went}");
    let went = last(&flow, "start, slot, a.1.1 exit 1, b.1.1 exit 0");
    assert!(went.ends_with("j entered, j.1.1 begins = j.1.1 live"), "{went}");
}

#[test]
fn what_is_given_up_and_not_yet_entered_waits_for_nothing() {
    let flow = graph([
        step("a"),
        after(step("b"), &["a"]),
        step("x"),
        step("y"),
        joining(after(step("j"), &["b", "x"]), Join::Any),
        joining(after(step("k"), &["a", "y"]), Join::Any),
    ]);
    let went = last(&flow, "start, slot, slot, x.1.1 exit 0");
    assert!(went.contains("j does without b, j.1.1 begins = a.1.1 live"), "{went}");
    let went = last(&flow, "start, slot, slot, x.1.1 exit 0, y.1.1 exit 0");
    assert!(went.contains("k does without a, a.1 is skipped"), "{went}");
}

#[test]
fn a_loser_between_its_tries_waits_no_longer() {
    let flow = graph([step("a").tries(2), step("x"), joining(after(step("j"), &["a", "x"]), Join::Any)]);
    let went = last(&flow, "start, slot, a.1.1 exit 1, x.1.1 exit 0");
    assert!(
        went.contains("j does without a, timer fires, a.1 is skipped, a.1 skipped, j.1.1 begins"),
        "{went}"
    );
}

#[test]
fn a_cancel_among_what_is_done_all_the_same_leads_to_nothing_further() {
    let steps = [step("a"), when(step("tidy"), "always()"), when(step("tell"), "always()")];
    let went = last(&flow(steps), "start, a.1.1 exit 1, cancel, tidy.1.1 cancelled");
    assert!(went.contains("tidy.1 stops, tidy.1 failed, over: user_cancelled"), "{went}");
}

#[test]
fn a_bound_of_the_run_is_no_failure_of_the_step_that_reached_it() {
    let limits = || crate::flows::limits(&[("iterations", "0")]);
    let flow = crate::flows::bounded_graph(limits(), [critic("c", "c", 3)]);
    let went = last(&flow, "start, c.1.1 exit 1");
    assert!(went.contains("c.1 stops, c.1 succeeded, over: max_iterations_exceeded at c"), "{went}");
    // It waits for what is being ended.
    let join = joining(after(step("j"), &["a", "x"]), Join::Any);
    let flow = crate::flows::bounded_graph(limits(), [step("a"), critic("c", "c", 3), step("x"), join]);
    let went = last(&flow, "start, slot, slot, x.1.1 exit 0, c.1.1 exit 1");
    assert!(went.ends_with("stopping: max_iterations_exceeded = a.1.1 ending"), "{went}");
    let went = last(&flow, "start, slot, slot, x.1.1 exit 0, c.1.1 exit 1, a.1.1 cancelled");
    assert!(went.ends_with("over: max_iterations_exceeded at c = nothing [exhausted 4]"), "{went}");
}

#[test]
fn a_cancel_waits_for_what_is_being_ended() {
    let flow = graph([step("a"), step("x"), joining(after(step("j"), &["a", "x"]), Join::Any), ask("q")]);
    assert!(!last(&flow, "start, slot, x.1.1 exit 0").contains("waiting"));
    assert_eq!(
        last(&flow, "start, slot, x.1.1 exit 0, cancel"),
        "cancel by bob, question void = a.1.1 ending, cancelling"
    );
    let went = last(&flow, "start, slot, x.1.1 exit 0, cancel, a.1.1 cancelled");
    assert!(went.contains("a.1.1 late, over: user_cancelled"), "{went}");
}

#[test]
fn a_step_that_waits_for_a_slot_keeps_no_question_back() {
    let went = last(&graph([step("a"), step("b"), ask("q")]), "start");
    assert_eq!(
        went,
        "started, a entered, b entered, q entered, a.1.1 begins, asks Ask of q.1 = a.1.1 live, b.1 ready, question"
    );
}

#[test]
fn a_graph_is_not_over_while_a_person_has_to_lead_a_step_on() {
    let held = || crate::flows::branch("triage", &["z"]);
    let flow = graph([held(), after(step("z"), &["triage"])]);
    let went = last(&flow, "start, triage.1.1 says Go to step 'nowhere'");
    assert!(went.ends_with("asks Review of triage.1 = question [waiting 3]"), "{went}");
    // A loop that repeats it asks it anew.
    let flow = graph([
        step("a"),
        after(critic("judge", "a", 2), &["a"]),
        after(held(), &["a"]),
        after(step("z"), &["triage"]),
    ]);
    let inputs = "start, a.1.1 exit 0, slot, triage.1.1 says Go to step 'nowhere', judge.1.1 exit 1";
    let went = last(&flow, inputs);
    assert!(went.contains("question void, judge.1 back to a"), "{went}");
    let went = last(&flow, &format!("{inputs}, a.2.1 exit 0"));
    assert!(went.contains("judge entered, triage entered"), "{went}");
}

#[test]
fn another_round_may_take_another_branch() {
    let both = joining(after(critic("judge", "triage", 2), &["fix", "close"]), Join::All);
    let flow = graph([
        crate::flows::branch("triage", &["fix", "close"]),
        after(step("fix"), &["triage"]),
        after(step("close"), &["triage"]),
        both,
    ]);
    let inputs = "start, triage.1.1 says Go to step 'fix', fix.1.1 exit 0, judge.1.1 exit 1, \
                  triage.2.1 says Go to step 'close'";
    let went = last(&flow, inputs);
    assert!(went.contains("triage does without fix") && went.contains("close.2.1 begins"), "{went}");
}

#[test]
fn a_loop_within_a_loop_counts_anew_wherever_its_steps_are_listed() {
    let steps = || {
        [
            step("a"),
            after(step("b"), &["a"]),
            after(critic("inner", "b", 1), &["b"]),
            after(critic("outer", "a", 1), &["inner"]),
        ]
    };
    let mut reversed = steps();
    reversed.reverse();
    for flow in [graph(steps()), graph(reversed)] {
        let round = "start, a.1.1 exit 0, b.1.1 exit 0, inner.1.1 exit 1";
        assert!(
            last(&flow, round).ends_with("b.2.1 begins (round 1) = b.2.1 live"),
            "{}",
            last(&flow, round)
        );
        let round = format!("{round}, b.2.1 exit 0, inner.2.1 exit 0, outer.1.1 exit 1, a.2.1 exit 0");
        assert!(last(&flow, &round).ends_with("b.3.1 begins = b.3.1 live"), "{}", last(&flow, &round));
        let round = format!("{round}, b.3.1 exit 0, inner.3.1 exit 1");
        assert!(
            last(&flow, &round).ends_with("b.4.1 begins (round 1) = b.4.1 live"),
            "{}",
            last(&flow, &round)
        );
    }
}

#[test]
fn loops_beside_each_other_do_not_start_each_other_over() {
    let flow = graph([critic("c", "c", 1), critic("d", "d", 1)]);
    let went = last(&flow, "start, slot, c.1.1 exit 1, d.1.1 exit 1, c.2.1 exit 1");
    assert!(went.contains("asks Exhausted of c.2"), "{went}");
}
