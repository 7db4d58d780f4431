//! A corrected flow takes over: finished steps stay, later ones are done as in the new file.

use crate::{
    driver::{Driver, person, slot},
    flows::{With as _, ask, bounded, critic, flow, graph, limits, step, step_id},
    story::{event, feed, stand},
};
use envoi_contract::digest::Digest;
use envoi_kernel::{
    Event, Flow, Input, Refusal, Run,
    event::Choice,
    family::Share,
    flow::{
        Change, ForEach, GoalsPlan, InnerPlan, InputDecl, Join, OnExhausted, Step, StepKind, Template,
        compare,
    },
    ids::FlowId,
    input::Correct,
};
use std::{collections::BTreeMap, sync::Arc};

/// The same flow as another version.
pub(crate) fn version(name: &str, flow: &Arc<Flow>) -> Arc<Flow> {
    Arc::new(Flow { digest: Digest::of(name.as_bytes()), ..Flow::clone(flow) })
}

fn corrected(steps: impl IntoIterator<Item = Step>) -> Arc<Flow> {
    let flow = flow(steps);
    version(&format!("{:?}", flow.steps), &flow)
}

pub(crate) fn correction(to: &Flow, from: Option<&str>) -> Input {
    Input::Correct(Box::new(Correct {
        flow: to.digest,
        language: to.language,
        source: "/project/fixed.yaml".to_owned(),
        from: from.map(step_id),
        by: person("bob"),
        why: None,
        request: Some("req_1".to_owned()),
        elsewhere: Share::default(),
        seen: None,
    }))
}

/// The events of a correction, and the state of the run after it.
fn correct_from(driver: &mut Driver, to: &Arc<Flow>, from: Option<&str>) -> String {
    driver.run.learn(Arc::clone(to));
    let outlook = driver.run.correction(to, from.map(step_id).as_ref());
    let said = match driver.feed_with(correction(to, from), slot()) {
        Ok(records) => {
            assert_eq!(outlook.refusals, Vec::<String>::new());
            records.iter().map(|record| event(&record.event)).collect::<Vec<_>>().join(", ")
        }
        Err(Refusal::NotCorrectable { reasons }) => {
            assert_eq!(outlook.refusals, reasons, "a person is shown why");
            reasons.join("; ")
        }
        Err(refusal) => refusal.to_string(),
    };
    driver.restart();
    format!("{said} {}", stand(&driver.run))
}

fn correct(driver: &mut Driver, to: &Arc<Flow>) -> String {
    correct_from(driver, to, None)
}

/// A run of these steps that lived through these inputs.
fn after(flow: &Arc<Flow>, inputs: &[&str]) -> Driver {
    let mut driver = Driver::new(flow);
    for input in core::iter::once(&"start").chain(inputs) {
        feed(&mut driver, input);
    }
    driver
}

#[test]
fn a_failed_step_runs_again_as_the_file_says_now_and_nothing_else_does() {
    let mut driver =
        after(&flow([step("a"), step("b").exec(&["typo"]), step("c")]), &["a.1.1 exit 0", "b.1.1 exit 1"]);
    let fixed = corrected([step("a"), step("b").exec(&["right"]), step("c")]);
    assert_eq!(correct(&mut driver, &fixed), "flow corrected, reopened at b, b.2.1 begins = b.2.1 live");
    let argv = serde_json::to_string(&driver.begun("b.2.1").command).unwrap();
    assert!(argv.contains("right"), "{argv}");
    assert_eq!(driver.begun("b.2.1").handoff.as_ref().map(ToString::to_string).as_deref(), Some("b.1"));
    let started = driver.run.started().unwrap();
    assert_eq!((started.flow_digest, started.source.as_str()), (fixed.digest, "/project/fixed.yaml"));
    assert_eq!(
        driver.run.envelope().metadata.get("flow_digest").and_then(|digest| digest.as_str()),
        Some(fixed.digest.to_string().as_str())
    );
    feed(&mut driver, "b.2.1 exit 0");
    assert_eq!(
        feed(&mut driver, "c.1.1 exit 0").rsplit(", ").next(),
        Some("over: completed = nothing [succeeded 0]")
    );
    let begun =
        driver.records.iter().filter(|record| matches!(record.event, Event::AttemptStarted(_))).count();
    assert_eq!(begun, 4, "a once, b twice, c once");
}

#[test]
fn the_event_says_both_digests_and_who() {
    let first = flow([step("a")]);
    let mut driver = after(&first, &["a.1.1 exit 1"]);
    let second = corrected([step("a").tries(2)]);
    correct(&mut driver, &second);
    let found = driver.records.iter().find_map(|record| match &record.event {
        Event::FlowCorrected(event) => Some(event.as_ref().clone()),
        _ => None,
    });
    let found = found.unwrap();
    assert_eq!((found.before, found.after, found.by.actor.as_str()), (first.digest, second.digest, "bob"));
}

#[test]
fn replay_needs_every_version_and_says_which_is_missing() {
    let first = flow([step("a")]);
    let mut driver = after(&first, &["a.1.1 exit 1"]);
    let second = corrected([step("a").tries(2)]);
    correct(&mut driver, &second);
    assert!(Run::replay(driver.run.versions().clone(), driver.records.clone()).is_ok());
    let missing = Run::replay(first, driver.records.clone()).unwrap_err().to_string();
    assert!(missing.contains("flow_corrected") && missing.contains(&second.digest.to_string()), "{missing}");
    assert!(Run::replay(second, driver.records.clone()).is_err());
}

#[test]
fn a_corrected_run_may_be_corrected_again_and_back() {
    let first = flow([step("a")]);
    let mut driver = after(&first, &["a.1.1 exit 1"]);
    let second = version("second", &flow([step("a").tries(2)]));
    correct(&mut driver, &second);
    feed(&mut driver, "a.2.1 exit 1");
    feed(&mut driver, "due");
    feed(&mut driver, "a.2.2 exit 1");
    assert_eq!(correct(&mut driver, &first), "flow corrected, reopened at a, a.3.1 begins = a.3.1 live");
    assert_eq!(driver.run.flow(), &first);
}

#[test]
fn where_a_list_goes_on() {
    let old = || [step("a"), step("b"), step("c")];
    let failed_at_b = ["a.1.1 exit 0", "b.1.1 exit 1"];
    let rows: [(&str, Vec<Step>, Option<&str>, &str); 12] = [
        (
            "a step is new before it",
            vec![step("a"), step("n"), step("b"), step("c")],
            None,
            "flow corrected, reopened at b, b.2.1 begins = b.2.1 live",
        ),
        (
            "a finished one is gone",
            vec![step("b"), step("c")],
            None,
            "flow corrected, reopened at b, b.2.1 begins = b.2.1 live",
        ),
        (
            "a finished one changed",
            vec![step("a").exec(&["x"]), step("b"), step("c")],
            None,
            "flow corrected, reopened at b, b.2.1 begins = b.2.1 live",
        ),
        (
            "the finished one again",
            vec![step("a").exec(&["x"]), step("b"), step("c")],
            Some("a"),
            "flow corrected from a, reopened at a, a.2.1 begins = a.2.1 live",
        ),
        (
            "the new one first",
            vec![step("a"), step("n"), step("b"), step("c")],
            Some("n"),
            "flow corrected from n, reopened at n, n.1.1 begins = n.1.1 live",
        ),
        (
            "where it stands is gone",
            vec![step("a"), step("c")],
            None,
            "step `b` is gone, and the run stands there: say with `--from STEP` where it goes on = nothing [failed 1]",
        ),
        (
            "it is gone, and another is named",
            vec![step("a"), step("c")],
            Some("a"),
            "flow corrected from a, reopened at a, a.2.1 begins = a.2.1 live",
        ),
        (
            "it has another name",
            vec![step("a"), step("d"), step("c")],
            Some("d"),
            "flow corrected from d, reopened at d, d.1.1 begins = d.1.1 live",
        ),
        (
            "it is left out",
            vec![step("a"), step("c")],
            Some("c"),
            "flow corrected from c, reopened at c, c.1.1 begins = c.1.1 live",
        ),
        (
            "another took its place and is jumped over",
            vec![step("a"), step("d"), step("c")],
            Some("c"),
            "the run has not come to step `c` yet = nothing [failed 1]",
        ),
        (
            "it has not come there",
            old().to_vec(),
            Some("c"),
            "the run has not come to step `c` yet = nothing [failed 1]",
        ),
        ("there is none", old().to_vec(), Some("z"), "the file has no step `z` = nothing [failed 1]"),
    ];
    for (what, steps, from, expected) in rows {
        let mut driver = after(&flow(old()), &failed_at_b);
        assert_eq!(correct_from(&mut driver, &corrected(steps), from), expected, "{what}");
    }
    // Nothing is finished before it.
    let mut driver = after(&flow(old()), &["a.1.1 exit 1"]);
    assert_eq!(
        correct_from(&mut driver, &corrected([step("d"), step("b"), step("c")]), Some("d")),
        "flow corrected from d, reopened at d, d.1.1 begins = d.1.1 live"
    );
}

#[test]
fn a_question_of_a_step_that_has_another_name_is_asked_there() {
    let old = flow([step("a"), ask("q"), step("b")]);
    let mut driver = after(&old, &["a.1.1 exit 0"]);
    let renamed = corrected([step("a"), ask("r"), step("b")]);
    assert_eq!(
        correct_from(&mut driver, &renamed, Some("r")),
        "question void, q.1 stops, q.1 skipped, flow corrected from r, asks Ask of r.1 = question [waiting 3]"
    );
}

#[test]
fn what_cannot_be_carried_over_is_refused_and_nothing_changes() {
    let first = flow([step("a"), step("b")]);
    let with = |change: &dyn Fn(&mut Flow)| {
        let mut flow = Flow::clone(&corrected([step("a"), step("b")]));
        change(&mut flow);
        Arc::new(flow)
    };
    let rows = [
        (
            with(&|flow| flow.id = FlowId::new("other").unwrap()),
            "the file is of flow `other`, and the run is of flow `demo`",
        ),
        (with(&|flow| flow.graph = true), "flow `demo` was a list and is a graph (`needs`) now"),
        (
            with(&|flow| flow.workspace = "w".to_owned()),
            "`workspace` cannot become `w`: the run works where it began",
        ),
        (
            with(&|flow| {
                flow.input_check = envoi_kernel::flow::InputCheck(|_, _| {
                    Err(envoi_kernel::flow::InputMisfit("no".to_owned()))
                })
            }),
            "no",
        ),
    ];
    for (to, expected) in rows {
        let mut driver = after(&first, &["a.1.1 exit 1"]);
        let records = driver.records.len();
        assert_eq!(correct(&mut driver, &to), format!("{expected} = nothing [failed 1]"));
        assert_eq!((driver.records.len(), driver.run.flow().digest), (records, first.digest));
    }
    let graph = with(&|flow| (flow.graph, flow.steps) = (true, vec![step("a")]));
    let mut driver = after(&graph, &["a.1.1 exit 1"]);
    assert_eq!(
        correct(&mut driver, &first),
        "flow `demo` was a graph (`needs`) and is a list now = nothing [failed 1]"
    );
    assert_eq!(driver.run.flow(), &graph);
    for (inputs, expected) in [
        (
            vec!["a.1.1 exit 0", "b.1.1 exit 0"],
            "only a failed, exhausted or cancelled run can be reopened; this one is succeeded = nothing [succeeded 0]",
        ),
        (vec!["cancel"], "the run is being cancelled = a.1.1 live, cancelling"),
    ] {
        assert_eq!(
            correct(&mut after(&first, &inputs), &corrected([step("a"), step("b").tries(2)])),
            expected
        );
    }
}

#[test]
fn an_open_question_is_asked_again_with_the_new_text_of_its_step() {
    let old = flow([step("a"), ask("q"), step("b")]);
    let mut driver = after(&old, &["a.1.1 exit 0"]);
    let same = corrected([step("a"), ask("q"), step("b").exec(&["x"])]);
    assert_eq!(
        correct(&mut driver, &same),
        "question out of date, flow corrected, asks Ask of q.1 = question [waiting 3]"
    );
    let first = driver.question().interrupt.clone();
    let other = ask("q").asking(|plan| plan.message = Template("Really?".to_owned()));
    let changed = version("third", &flow([step("a"), other, step("b")]));
    assert_eq!(
        correct(&mut driver, &changed),
        "question out of date, flow corrected, asks Ask of q.1 = question [waiting 3]"
    );
    assert_ne!(driver.question().interrupt, first);
    assert_eq!(driver.question().question, "Really?");
    let late = envoi_kernel::input::Answer::new(first.clone(), Choice::Approve, person("bob"));
    assert_eq!(driver.say(late).unwrap_err(), Refusal::NotOpen { interrupt: first });
    assert_eq!(feed(&mut driver, "answer approve").rsplit(", ").next(), Some("b.1.1 begins = b.1.1 live"));
}

#[test]
fn a_question_becomes_a_command_and_a_command_a_question() {
    let mut driver = after(&flow([step("a"), ask("q")]), &["a.1.1 exit 0"]);
    assert_eq!(
        correct(&mut driver, &corrected([step("a"), step("q")])),
        "question out of date, flow corrected, q.1.1 begins = q.1.1 live"
    );
    let mut driver = after(&flow([step("a")]), &["a.1.1 exit 1"]);
    assert_eq!(
        correct(&mut driver, &corrected([ask("a")])),
        "flow corrected, reopened at a, asks Ask of a.2 = question [waiting 3]"
    );
}

#[test]
fn while_an_attempt_lives_the_correction_waits_and_nothing_else_starts() {
    let old = flow([step("a"), step("b").exec(&["typo"])]);
    let fixed = corrected([step("a").exec(&["other"]), step("b").exec(&["right"])]);
    let mut driver = after(&old, &[]);
    assert_eq!(correct(&mut driver, &fixed), "correction waits = a.1.1 live");
    assert_eq!(driver.run.requested_correction().map(|wanted| wanted.after), Some(fixed.digest));
    assert_eq!(
        driver.run.flow().digest,
        old.digest,
        "what is live settles under the flow that it began under"
    );
    assert_eq!(
        feed(&mut driver, "a.1.1 exit 0"),
        "a.1.1 ok, a.1 -> b, a.1 succeeded, flow corrected, b.1.1 begins = b.1.1 live"
    );
    driver.restart();
    assert_eq!((driver.run.flow().digest, driver.run.requested_correction()), (fixed.digest, None));
}

#[test]
fn a_live_attempt_that_fails_is_tried_again_by_the_corrected_step() {
    let mut driver = after(&flow([step("a").exec(&["typo"])]), &[]);
    correct(&mut driver, &corrected([step("a").exec(&["right"])]));
    assert_eq!(
        feed(&mut driver, "a.1.1 exit 1"),
        "a.1.1 TOOL_EXIT_NON_ZERO, a.1 stops, a.1 failed, over: tool_failed_fatally at a, flow corrected, \
         reopened at a, a.2.1 begins = a.2.1 live"
    );
}

#[test]
fn the_last_of_several_live_attempts_lets_the_correction_in() {
    let mut driver = after(&graph([step("a"), step("b"), step("c")]), &["slot"]);
    let fixed = version("corrected", &graph([step("a"), step("b"), step("c").exec(&["right"])]));
    assert_eq!(correct(&mut driver, &fixed), "correction waits = a.1.1 live, b.1.1 live");
    assert_eq!(feed(&mut driver, "slot"), "refused: no visit waits for a slot = a.1.1 live, b.1.1 live");
    assert_eq!(feed(&mut driver, "a.1.1 exit 0"), "a.1.1 ok, a.1 is passed, a.1 succeeded = b.1.1 live");
    assert_eq!(
        feed(&mut driver, "b.1.1 exit 0"),
        "b.1.1 ok, b.1 is passed, b.1 succeeded, flow corrected, c.1.1 begins = c.1.1 live"
    );
}

#[test]
fn a_wish_that_comes_to_nothing() {
    let fixed = corrected([step("a"), step("b").tries(2)]);
    let old = flow([step("a"), step("b")]);
    // A run that succeeds meanwhile has nothing to correct, and one that is cancelled is not to go on.
    let mut driver = after(&old, &["a.1.1 exit 0"]);
    correct(&mut driver, &fixed);
    assert_eq!(
        feed(&mut driver, "b.1.1 exit 0").rsplit(", ").next(),
        Some("over: completed = nothing [succeeded 0]")
    );
    driver.restart();
    let mut driver = after(&old, &["a.1.1 exit 0"]);
    correct(&mut driver, &fixed);
    feed(&mut driver, "cancel");
    let end = feed(&mut driver, "b.1.1 cancelled");
    assert_eq!(end.rsplit(", ").next(), Some("over: user_cancelled at b = nothing [cancelled 130]"));
    assert_eq!(driver.run.requested_correction(), None);
    // The result of an attempt may leave no way on.
    let looping = flow([step("a"), critic("b", "a", 3)]);
    let mut driver = after(&looping, &["a.1.1 exit 0"]);
    assert_eq!(correct(&mut driver, &corrected([step("a"), step("b")])), "correction waits = b.1.1 live");
    let end = feed(&mut driver, "b.1.1 exit 1");
    assert!(
        end.ends_with("correction dropped, over: tool_failed_fatally at a = nothing [failed 1]"),
        "{end}"
    );
    driver.restart();
}

/// The difference, the past events, the corrected steps, the step from which finished ones run again, the end of the attempt, the outcome.
type Awaited<'a> = (&'a str, &'a [&'a str], Vec<Step>, Option<&'a str>, &'a str, &'a str);

#[test]
fn what_follows_the_step_that_a_correction_waits_for_is_what_the_corrected_flow_says() {
    let old = || [step("a"), step("b"), step("c")];
    let last = ["a.1.1 exit 0", "b.1.1 exit 0"];
    let rows: [Awaited; 7] = [
        (
            "a step is new after the last one",
            &last,
            vec![step("a"), step("b"), step("c"), step("d")],
            None,
            "c.1.1 exit 0",
            "c.1.1 ok, c.1 -> d, c.1 succeeded, flow corrected, d.1.1 begins = d.1.1 live",
        ),
        (
            "a step is new after the one that lives",
            &last[..1],
            vec![step("a"), step("b"), step("n"), step("c")],
            None,
            "b.1.1 exit 0",
            "b.1.1 ok, b.1 -> n, b.1 succeeded, flow corrected, n.1.1 begins = n.1.1 live",
        ),
        (
            "the next one is gone",
            &last[..1],
            vec![step("a"), step("b"), step("d")],
            None,
            "b.1.1 exit 0",
            "b.1.1 ok, b.1 -> d, b.1 succeeded, flow corrected, d.1.1 begins = d.1.1 live",
        ),
        (
            "all that would follow is gone",
            &last[..1],
            vec![step("a"), step("b")],
            None,
            "b.1.1 exit 0",
            "b.1.1 ok, b.1 -> end, b.1 succeeded, flow corrected, over: completed = nothing [succeeded 0]",
        ),
        (
            "only what is finished differs",
            &last,
            vec![step("a").tries(2), step("b"), step("c")],
            None,
            "c.1.1 exit 0",
            "c.1.1 ok, c.1 -> end, c.1 succeeded, flow corrected, over: completed = nothing [succeeded 0]",
        ),
        (
            "it is to run again from a step on",
            &last,
            vec![step("a"), step("b").tries(2), step("c")],
            Some("b"),
            "c.1.1 exit 0",
            "c.1.1 ok, c.1 -> end, c.1 succeeded, flow corrected from b, b.2.1 begins = b.2.1 live",
        ),
        (
            "a step is new after the last one, which fails",
            &last,
            vec![step("a"), step("b"), step("c"), step("d")],
            None,
            "c.1.1 exit 1",
            "c.1.1 TOOL_EXIT_NON_ZERO, c.1 stops, c.1 failed, over: tool_failed_fatally at c, flow corrected, \
             reopened at c, c.2.1 begins = c.2.1 live",
        ),
    ];
    for (what, lived, steps, from, input, expected) in rows {
        let mut driver = after(&flow(old()), lived);
        let fixed = corrected(steps);
        let said = correct_from(&mut driver, &fixed, from);
        assert!(said.starts_with("correction waits"), "{what}: {said}");
        assert_eq!(feed(&mut driver, input), expected, "{what}");
        driver.restart();
        assert_eq!(driver.run.flow().digest, fixed.digest, "{what}");
    }
    let mut driver = after(&flow(old()), &last);
    correct(&mut driver, &corrected([step("a"), step("b"), step("c"), step("d")]));
    feed(&mut driver, "c.1.1 exit 0");
    assert_eq!(driver.handoff("c.1").routing_signal.next_step_id.as_deref(), Some("d"));
}

#[test]
fn a_step_that_is_new_in_a_loop_takes_part_in_its_round() {
    let mut driver = after(
        &flow([step("a"), step("b"), critic("c", "a", 1)]),
        &["a.1.1 exit 0", "b.1.1 exit 0", "c.1.1 exit 1", "a.2.1 exit 0"],
    );
    let wider = corrected([step("a"), step("b"), step("n"), critic("c", "a", 1)]);
    assert_eq!(correct(&mut driver, &wider), "correction waits = b.2.1 live");
    assert_eq!(
        feed(&mut driver, "b.2.1 exit 0"),
        "b.2.1 ok, b.2 -> n, b.2 succeeded, flow corrected, n.1.1 begins (round 1) = n.1.1 live"
    );
    feed(&mut driver, "n.1.1 exit 0");
    let end = feed(&mut driver, "c.2.1 exit 1");
    assert!(end.contains("Exhausted"), "the round that was under way was the last one: {end}");
}

#[test]
fn a_live_or_doubtful_step_stays() {
    let without = corrected([step("a")]);
    let old = flow([step("a"), step("b")]);
    let mut live = after(&old, &["a.1.1 exit 0"]);
    assert_eq!(
        correct(&mut live, &without),
        "step `b` is gone, and an attempt of it is running; step `b` is gone, and the run stands there: say with \
         `--from STEP` where it goes on = b.1.1 live"
    );
    let mut doubtful = after(&old, &["a.1.1 exit 0", "b.1.1 doubt"]);
    let refused = correct(&mut doubtful, &without);
    assert!(refused.starts_with("step `b` is gone, and an attempt of it is in doubt; "), "{refused}");
    let refused = correct_from(&mut doubtful, &corrected([step("a"), step("b").tries(2)]), Some("a"));
    assert!(
        refused.starts_with("an attempt of step `b` is in doubt: decide that before the run goes back"),
        "{refused}"
    );
    // The question about it is put again, about the same attempt.
    assert_eq!(
        correct(&mut doubtful, &corrected([step("a"), step("b").tries(2)])),
        "question out of date, flow corrected, asks InDoubt of b.1 = question [waiting 5]"
    );
}

#[test]
fn an_attempt_in_doubt_that_a_correction_waited_for_is_asked_about_once() {
    let old = flow([step("a"), step("b"), step("c")]);
    let fixed = corrected([step("a"), step("b").tries(2), step("c")]);
    let mut driver = after(&old, &["a.1.1 exit 0"]);
    assert_eq!(correct(&mut driver, &fixed), "correction waits = b.1.1 live");
    assert_eq!(
        feed(&mut driver, "b.1.1 doubt"),
        "b.1.1 IN_DOUBT, flow corrected, asks InDoubt of b.1 = question [waiting 5]"
    );
    driver.restart();
    assert!(feed(&mut driver, "answer rerun").ends_with("b.1.2 begins = b.1.2 live"));
}

#[test]
fn what_has_begun_does_no_other_kind_of_work_and_what_is_over_may() {
    let old = flow([step("a").tries(2), step("b")]);
    let other = || corrected([ask("a"), step("b")]);
    let refused = correct(&mut after(&old, &["a.1.1 exit 1"]), &other());
    assert!(
        refused.starts_with(
            "step `a` is under way, and is of another kind in the file: finish or cancel it first"
        ),
        "its next attempt is due: {refused}"
    );
    let mut live = after(&old, &[]);
    assert!(correct(&mut live, &other()).starts_with("step `a` is under way, and is of another kind"));
    let mut failed = after(&old, &["a.1.1 exit 1", "due", "a.1.2 exit 1"]);
    assert_eq!(
        correct(&mut failed, &other()),
        "flow corrected, reopened at a, asks Ask of a.2 = question [waiting 3]"
    );
}

#[test]
fn a_step_whose_doubt_is_decided_may_go_and_its_late_result_changes_nothing() {
    let old = flow([step("a"), step("b"), step("c")]);
    let lived = ["a.1.1 exit 0", "b.1.1 doubt", "answer fail"];
    for (steps, from, expected) in [
        (
            vec![step("a"), step("d"), step("c")],
            "d",
            "flow corrected from d, reopened at d, d.1.1 begins = d.1.1 live",
        ),
        (vec![step("a"), step("c")], "c", "flow corrected from c, reopened at c, c.1.1 begins = c.1.1 live"),
    ] {
        let mut driver = after(&old, &lived);
        assert_eq!(correct_from(&mut driver, &corrected(steps), Some(from)), expected);
        let stands = stand(&driver.run);
        assert_eq!(feed(&mut driver, "b.1.1 exit 0"), format!("b.1.1 late {stands}"));
        assert_eq!(
            feed(&mut driver, "b.1.1 exit 0"),
            format!("refused: attempt `b.1.1` is not live {stands}")
        );
        driver.restart();
    }
}

#[test]
fn a_loop_that_has_gone_back_keeps_its_ends_and_its_count() {
    let inputs = ["a.1.1 exit 0", "b.1.1 exit 0", "c.1.1 exit 1", "a.2.1 exit 1"];
    let old = flow([step("a"), step("b"), critic("c", "a", 3)]);
    let mut driver = after(&old, &inputs);
    let refused = correct(&mut driver, &corrected([step("a"), step("b"), critic("c", "b", 3)]));
    assert!(refused.starts_with("the run is in a further round of the loop that `c` closes"), "{refused}");
    let wider = corrected([step("a"), step("b").tries(2), critic("c", "a", 9)]);
    assert_eq!(
        correct(&mut driver, &wider),
        "flow corrected, reopened at a, a.3.1 begins (round 1) = a.3.1 live"
    );
}

#[test]
fn bounds_of_the_new_file_hold_and_what_is_used_stays_used() {
    let bound = |hops: &str, name: &str| {
        version(name, &bounded(limits(&[("agent_hops", hops)]), [step("a"), step("b"), step("c")]))
    };
    let mut driver = after(&bound("2", "demo"), &["a.1.1 exit 0", "b.1.1 exit 0"]);
    assert_eq!(stand(&driver.run), "= nothing [exhausted 4]");
    let outlook = driver.run.correction(&bound("3", "x"), None);
    assert_eq!(outlook.limits, ["agent_hops: 2 -> 3"]);
    assert_eq!(
        correct(&mut driver, &bound("2", "same")),
        "flow corrected, reopened at c, over: max_agent_hops_exceeded at c = nothing [exhausted 4]"
    );
    assert_eq!(
        correct(&mut driver, &bound("3", "more")),
        "flow corrected, reopened at c, c.1.1 begins = c.1.1 live"
    );
    assert_eq!(driver.run.ledger().agent_hops, 3);
    // A question about a bound is withdrawn when the file has another one.
    let asks = |hops: &str, name: &str| {
        version(
            name,
            &bounded(limits(&[("agent_hops", hops), ("on_reached", "ask")]), [step("a"), step("b")]),
        )
    };
    let mut driver = after(&asks("1", "demo"), &["a.1.1 exit 0"]);
    assert_eq!(stand(&driver.run), "= question [waiting 3]");
    assert_eq!(
        correct(&mut driver, &asks("5", "more")),
        "question out of date, flow corrected, b.1.1 begins = b.1.1 live"
    );
}

/// A loop of `a` and `c` that goes back as often as this; the rule for its end; the limit of all loops, if there is one.
fn looping(rounds: u64, then: OnExhausted, bounds: &[(&str, &str)], name: &str) -> Arc<Flow> {
    let closing = critic("c", "a", rounds).exhausted(then);
    version(name, &bounded(limits(bounds), [step("a"), closing, step("z")]))
}

/// The change of each step in the outlook, and the step at which the run continues.
fn shown(driver: &Driver, to: &Flow) -> (String, Option<String>) {
    let outlook = driver.run.correction(to, None);
    let runs = outlook.steps.iter().filter(|row| row.to_run).map(|row| row.step.as_str());
    (runs.collect::<Vec<_>>().join(" "), outlook.goes_on_at.map(|step| step.to_string()))
}

#[test]
fn a_loop_that_a_bound_stopped_goes_on_under_a_higher_one_and_no_visit_that_is_over_runs_again() {
    use OnExhausted::{Ask, Fail, Proceed};
    let one_round = ["a.1.1 exit 0", "c.1.1 exit 1", "a.2.1 exit 0", "c.2.1 exit 1"];
    let all = |count, asks: bool| {
        let mut bounds = vec![("iterations", count)];
        bounds.extend(asks.then_some(("on_reached", "ask")));
        bounds
    };
    type Row<'r> = (&'r str, Arc<Flow>, Arc<Flow>, (&'r str, Option<&'r str>), &'r str);
    let back = "a.3.1 begins (round 2) = a.3.1 live";
    let rows: [Row<'_>; 10] = [
        (
            "a question about the loop",
            looping(1, Ask, &[], "demo"),
            looping(2, Ask, &[], "more"),
            ("a c z", Some("a")),
            "question out of date, flow corrected, c.2 back to a, ",
        ),
        (
            "a loop that ended the run",
            looping(1, Fail, &[], "demo"),
            looping(2, Fail, &[], "more"),
            ("a c z", Some("a")),
            "flow corrected, reopened behind c.2, c.2 back to a, ",
        ),
        (
            "the bound of all loops, asked about",
            looping(9, Ask, &all("1", true), "demo"),
            looping(9, Ask, &all("2", true), "more"),
            ("a c z", Some("a")),
            "question out of date, flow corrected, c.2 back to a, ",
        ),
        (
            "the bound of all loops ended the run",
            looping(9, Ask, &all("1", false), "demo"),
            looping(9, Ask, &all("2", false), "more"),
            ("a c z", Some("a")),
            "flow corrected, reopened behind c.2, c.2 back to a, ",
        ),
        (
            "no round more, and asked anew",
            looping(1, Ask, &[], "demo"),
            looping(0, Ask, &[], "less"),
            ("z", None),
            "question out of date, flow corrected, asks Exhausted of c.2 = question [waiting 3]",
        ),
        (
            "no round more, and the flow goes on",
            looping(1, Ask, &[], "demo"),
            looping(1, Proceed, &[], "on"),
            ("z", None),
            "question out of date, flow corrected, c.2 -> z, z.1.1 begins = z.1.1 live",
        ),
        (
            "no round more, and the flow ends",
            looping(1, Ask, &[], "demo"),
            looping(1, Fail, &[], "end"),
            ("z", None),
            "question out of date, flow corrected, c.2 stops, over: max_loop_exceeded at c = nothing [exhausted 4]",
        ),
        (
            "a round of the loop, and none of all loops",
            looping(1, Ask, &[], "demo"),
            looping(2, Ask, &all("1", true), "all"),
            ("z", None),
            "question out of date, flow corrected, asks Limit of c.2 = question [waiting 3]",
        ),
        (
            "the step is another one: it decides anew",
            looping(1, Fail, &[], "demo"),
            version(
                "other",
                &flow([step("a"), critic("c", "a", 2).exhausted(Fail).exec(&["right"]), step("z")]),
            ),
            ("c z", Some("c")),
            "flow corrected, reopened at c, c.3.1 begins (round 1) = c.3.1 live",
        ),
        (
            "no round more: it decides anew",
            looping(1, Fail, &[], "demo"),
            version("same", &flow([step("a").tries(2), critic("c", "a", 1).exhausted(Fail), step("z")])),
            ("c z", Some("c")),
            "flow corrected, reopened at c, c.3.1 begins (round 1) = c.3.1 live",
        ),
    ];
    for (what, old, new, said, expected) in rows {
        let mut driver = after(&old, &one_round);
        let said = (said.0.to_owned(), said.1.map(str::to_owned));
        assert_eq!(shown(&driver, &new), said, "{what}");
        let back = if expected.ends_with(", ") { back } else { "" };
        assert_eq!(correct(&mut driver, &new), format!("{expected}{back}"), "{what}");
        if !back.is_empty() {
            assert_eq!(
                driver.begun("a.3.1").feedback.as_ref().map(ToString::to_string).as_deref(),
                Some("c.2.1")
            );
            feed(&mut driver, "a.3.1 exit 0");
            assert!(feed(&mut driver, "c.3.1 exit 0").contains("z.1.1 begins"), "{what}");
        }
    }
    let mut driver = after(&looping(1, Ask, &[], "demo"), &one_round);
    correct(&mut driver, &looping(0, Ask, &[], "less"));
    assert_eq!(
        driver.question().question,
        "The loop of step `c` has had its last round: max_iterations 1 of 0 is used up. Proceed, or stop?"
    );
    assert!(feed(&mut driver, "answer proceed").starts_with("answered proceed, c.2 -> z"));
}

#[test]
fn in_a_graph_a_loop_goes_on_under_a_higher_bound_too() {
    let with = |rounds, then, name: &str| {
        let closing = needing(critic("c", "a", rounds).exhausted(then), &["a"]);
        version(name, &graph([step("a"), closing, needing(step("z"), &["c"]), step("b")]))
    };
    let lived = ["slot", "a.1.1 exit 0", "b.1.1 exit 0", "c.1.1 exit 1", "a.2.1 exit 0", "c.2.1 exit 1"];
    for (then, expected) in [
        (OnExhausted::Ask, "question out of date, flow corrected, c.2 back to a, "),
        (OnExhausted::Fail, "flow corrected, reopened behind c.2, c.2 back to a, "),
    ] {
        let mut driver = after(&with(1, then, "demo"), &lived);
        let more = with(2, then, "more");
        assert_eq!(shown(&driver, &more), ("a c z".to_owned(), None));
        let said = correct(&mut driver, &more);
        assert_eq!(said, format!("{expected}a.3.1 begins (round 2) = a.3.1 live"));
        feed(&mut driver, "a.3.1 exit 0");
        feed(&mut driver, "c.3.1 exit 0");
        let last = driver.run.wants().attempts[0].to_string();
        assert!(last.starts_with("z."), "{last}");
        let end = feed(&mut driver, &format!("{last} exit 0"));
        assert_eq!(end.rsplit(", ").next(), Some("over: completed = nothing [succeeded 0]"));
    }
    let mut driver = after(&with(1, OnExhausted::Ask, "demo"), &lived);
    let less = with(0, OnExhausted::Ask, "less");
    assert_eq!(
        shown(&driver, &less),
        ("z".to_owned(), None),
        "where `c` leads is asked; it is not done again"
    );
    assert!(correct(&mut driver, &less).ends_with("asks Exhausted of c.2 = question [waiting 3]"));
}

fn needing(step: Step, needs: &[&str]) -> Step {
    step.with(|step| step.needs = needs.iter().map(|need| step_id(need)).collect())
}

#[test]
fn in_a_graph_what_is_new_or_failed_is_done_and_what_is_finished_stays() {
    let old = graph([step("a"), step("b"), needing(step("c"), &["a", "b"])]);
    let lived = ["slot", "a.1.1 exit 0", "b.1.1 exit 1"];
    let mut driver = after(&old, &lived);
    assert_eq!(stand(&driver.run), "= nothing [failed 1]");
    let fixed = version(
        "corrected",
        &graph([
            step("a").exec(&["x"]),
            step("b").exec(&["right"]),
            needing(step("n"), &["a"]),
            needing(step("c"), &["a", "b", "n"]),
        ]),
    );
    let outlook = driver.run.correction(&fixed, None);
    let rows: Vec<_> =
        outlook.steps.iter().map(|row| (row.step.as_str(), row.change.word(), row.to_run)).collect();
    assert_eq!(
        rows,
        [("a", "changed", false), ("b", "changed", true), ("n", "new", true), ("c", "changed", true)]
    );
    assert_eq!(
        correct(&mut driver, &fixed),
        "flow corrected, reopened at b, b entered, n entered, b.2.1 begins = b.2.1 live, n.1 ready"
    );
    // A step that failed and is gone holds up nothing: the steps that depended on it are done.
    let mut driver = after(&old, &lived);
    let without = version("corrected", &graph([step("a"), needing(step("c"), &["a"])]));
    assert_eq!(
        correct(&mut driver, &without),
        "flow corrected, reopened at c, c entered, c.2.1 begins = c.2.1 live"
    );
    // On request, the run does a finished step again, and the steps that depend on it.
    let mut driver = after(&old, &lived);
    assert_eq!(
        correct_from(&mut driver, &fixed, Some("a")),
        "flow corrected from a, reopened at a, a entered, b entered, a.2.1 begins = a.2.1 live, b.2 ready"
    );
}

#[test]
fn a_graph_whose_step_waits_for_a_review_and_is_gone_comes_to_its_end() {
    let old = graph([step("a"), critic("b", "b", 0)]);
    let mut driver = after(&old, &["slot", "a.1.1 exit 0", "b.1.1 exit 1"]);
    assert_eq!(stand(&driver.run), "= question [waiting 3]");
    let without = version("corrected", &graph([step("a")]));
    assert_eq!(
        correct(&mut driver, &without),
        "question void, flow corrected, over: completed = nothing [succeeded 0]"
    );
}

#[test]
fn a_finished_step_that_a_new_join_goes_on_without_is_skipped_and_does_not_run_again() {
    let reviewed = critic("r", "r", 0);
    let old = graph([reviewed.clone(), step("a")]);
    let mut driver = after(&old, &["slot", "r.1.1 exit 1", "a.1.1 exit 0"]);
    assert_eq!(stand(&driver.run), "= question [waiting 3]");
    let join = needing(step("j"), &["r", "a"]).with(|step| step.join = Join::Any);
    let with_a_join = version("corrected", &graph([reviewed, step("a"), join]));
    // The question about the way of `r` has no subject any more. The first visit of `r` keeps its hand-off.
    assert_eq!(
        correct(&mut driver, &with_a_join),
        "question out of date, flow corrected, asks Exhausted of r.1, j entered, j does without r, question void, r entered, \
         j.1.1 begins, r.2 is skipped, r.2 skipped = j.1.1 live"
    );
    let end = feed(&mut driver, "j.1.1 exit 0");
    assert!(end.ends_with("over: completed = nothing [succeeded 0]"), "{end}");
    let begun =
        driver.records.iter().filter(|record| matches!(record.event, Event::AttemptStarted(_))).count();
    assert_eq!(begun, 3, "each once");
}

#[test]
fn what_hangs_on_nothing_that_is_to_run_again_goes_on_as_it_was() {
    let with = |command: &str| {
        graph([
            critic("r", "r", 0),
            step("a"),
            needing(step("b").exec(&[command]), &["a"]),
            step("w").tries(2),
            needing(step("z"), &["r", "w"]),
        ])
    };
    let lived = ["slot", "slot", "r.1.1 exit 1", "a.1.1 exit 0", "w.1.1 exit 1", "b.1.1 exit 0"];
    let mut driver = after(&with("typo"), &lived);
    assert_eq!(stand(&driver.run), "= timer, question");
    assert_eq!(
        correct_from(&mut driver, &version("corrected", &with("right")), Some("b")),
        "question out of date, flow corrected from b, asks Exhausted of r.1, b entered, b.2.1 begins = b.2.1 live, \
         timer, question"
    );
    feed(&mut driver, "b.2.1 exit 0");
    feed(&mut driver, "due");
    feed(&mut driver, "w.1.2 exit 0");
    let end = feed(&mut driver, "answer proceed");
    assert!(end.ends_with("z entered, z.1.1 begins = z.1.1 live"), "{end}");
}

#[test]
fn a_waiting_run_goes_back_on_request() {
    let old = flow([step("a"), ask("q"), step("b")]);
    let mut driver = after(&old, &["a.1.1 exit 0"]);
    let fixed = corrected([step("a").exec(&["x"]), ask("q"), step("b")]);
    assert_eq!(
        correct_from(&mut driver, &fixed, Some("a")),
        "question void, q.1 stops, q.1 skipped, flow corrected from a, a.2.1 begins = a.2.1 live"
    );
    assert!(feed(&mut driver, "a.2.1 exit 0").ends_with("asks Ask of q.2 = question [waiting 3]"));
}

fn runs(name: &str, inner: &str) -> Step {
    let plan = InnerPlan { flow: FlowId::new(inner).unwrap(), inputs: Vec::new(), outputs: Vec::new() };
    step(name).with(|step| step.kind = StepKind::Flow(Box::new(plan)))
}

/// A flow that runs `build`, which has these steps.
fn around(name: &str, inner: Vec<Step>) -> Arc<Flow> {
    let inner = Flow { id: FlowId::new("build").unwrap(), ..Flow::clone(&flow(inner)) };
    let outer = flow([step("a"), runs("b", "build"), step("z")]);
    let flows = BTreeMap::from([(inner.id.clone(), Arc::new(inner))]);
    Arc::new(Flow { flows, digest: Digest::of(name.as_bytes()), ..Flow::clone(&outer) })
}

#[test]
fn a_flow_within_the_run_goes_on_where_it_stopped() {
    let old = around("demo", vec![step("compile"), step("link").exec(&["typo"])]);
    let lived = ["a.1.1 exit 0", "b.1.compile.1.1 exit 0", "b.1.link.1.1 exit 1"];
    let mut driver = after(&old, &lived);
    let fixed = around("fixed", vec![step("compile"), step("link").exec(&["right"])]);
    let changed = driver.run.correction(&fixed, None).steps.into_iter().find(|row| row.step.as_str() == "b");
    assert_eq!(changed.unwrap().change, Change::Changed(vec!["flow build (link)".to_owned()]));
    assert_eq!(
        correct(&mut driver, &fixed),
        "flow corrected, reopened at b, b.2 takes up build, b.2.link.1.1 begins = b.2.link.1.1 live"
            .replace("link.1.1", "link.2.1")
    );
    let mut driver = after(&old, &lived);
    let gone = around("gone", vec![step("compile")]);
    assert_eq!(
        correct(&mut driver, &gone),
        "step `link` of flow `build` is gone, and the run stands there = nothing [failed 1]"
    );
    // From the step that runs it on, the flow begins anew.
    assert_eq!(
        correct_from(&mut driver, &fixed, Some("b")),
        "flow corrected from b, reopened at b, b.2 runs build, b.2.compile.1.1 begins = b.2.compile.1.1 live"
    );
}

#[test]
fn a_loop_of_an_inner_flow_goes_on_under_a_higher_bound() {
    use OnExhausted::{Ask, Fail};
    let build = |rounds, then, name: &str| {
        around(name, vec![step("compile"), critic("c", "compile", rounds).exhausted(then)])
    };
    let lived = [
        "a.1.1 exit 0",
        "b.1.compile.1.1 exit 0",
        "b.1.c.1.1 exit 1",
        "b.1.compile.2.1 exit 0",
        "b.1.c.2.1 exit 1",
    ];
    for (then, expected) in [
        (
            Ask,
            "question out of date, flow corrected, b.1.c.2 back to compile, b.1.compile.3.1 begins (round 2) = b.1.compile.3.1 live",
        ),
        // The run has ended within: the step that closes the loop gives its verdict anew.
        (
            Fail,
            "flow corrected, reopened at b, b.2 takes up build, b.2.c.3.1 begins (round 1) = b.2.c.3.1 live",
        ),
    ] {
        let mut driver = after(&build(1, then, "demo"), &lived);
        assert_eq!(correct(&mut driver, &build(2, then, "more")), expected);
    }
}

#[test]
fn a_cancelled_run_goes_on_where_it_was_cancelled() {
    let old = || flow([step("a"), ask("q"), step("b")]);
    let fixed = corrected([step("a"), ask("q"), step("b").exec(&["right"])]);
    let mut driver = after(&old(), &["a.1.1 exit 0", "cancel"]);
    assert_eq!(stand(&driver.run), "= nothing [cancelled 130]");
    assert_eq!(
        correct(&mut driver, &fixed),
        "flow corrected, reopened at q, asks Ask of q.1 = question [waiting 3]"
    );
    assert!(feed(&mut driver, "answer approve").contains("b.1.1 begins"));
    let mut driver = after(&old(), &["cancel", "a.1.1 cancelled"]);
    assert_eq!(stand(&driver.run), "= nothing [cancelled 130]");
    let typo = corrected([step("a").exec(&["right"]), ask("q"), step("b")]);
    assert_eq!(correct(&mut driver, &typo), "flow corrected, reopened at a, a.2.1 begins = a.2.1 live");
    // A cancel is over with: a corrected run may be cancelled again.
    assert!(feed(&mut driver, "cancel").starts_with("cancel by bob"));
}

#[test]
fn new_inputs_have_their_defaults_and_dropped_ones_are_gone() {
    let declared = |name: &str, default: &str| InputDecl {
        name: name.to_owned(),
        schema: envoi_contract::json::Value::Null,
        default: Some(default.into()),
    };
    let with = |name: &str, inputs: Vec<InputDecl>, step: Step| {
        Arc::new(Flow { inputs, ..Flow::clone(&version(name, &flow([step]))) })
    };
    let old = with("demo", vec![declared("x", "1"), declared("y", "2")], step("a"));
    let mut driver = Driver::started_with(&old, r#"{"x": "1", "y": "5"}"#);
    driver.exit("a.1.1", 1);
    let fixed = with(
        "new",
        vec![declared("y", "2"), declared("z", "3")],
        step("a").exec(&["${{ inputs.y }}${{ inputs.z }}"]),
    );
    correct(&mut driver, &fixed);
    let argv = serde_json::to_string(&driver.begun("a.2.1").command).unwrap();
    assert!(argv.contains("53"), "{argv}");
}

#[test]
fn a_round_under_way_keeps_its_ends() {
    let with = |name: &str, to: &str| {
        let plan = GoalsPlan {
            list: envoi_kernel::flow::Expression("['x']".to_owned()),
            from: step_id("a"),
            to: step_id(to),
            max_rounds: 3,
            stuck_after: 2,
        };
        let listed = version(name, &flow([step("a"), step("b"), step("c")]));
        Arc::new(Flow { goals: Some(plan), ..Flow::clone(&listed) })
    };
    let mut driver = after(&with("demo", "b"), &["a.1.1 exit 0", "b.1.1 doubt", "answer fail"]);
    assert_eq!(stand(&driver.run), "= nothing [failed 1]");
    let words = "the run goes for its goals, and the file has not the same `goals.from` and `goals.to`";
    assert_eq!(correct(&mut driver, &with("other", "c")), format!("{words} = nothing [failed 1]"));
    assert_eq!(
        correct(&mut driver, &corrected([step("a"), step("b")])),
        format!("{words} = nothing [failed 1]")
    );
    let same = with("same", "b");
    assert_eq!(correct(&mut driver, &same), "flow corrected, reopened at b, b.2.1 begins = b.2.1 live");
}

#[test]
fn items_that_are_done_stay_done() {
    let over = |name: &str, step: Step| {
        let items = envoi_kernel::flow::Expression("[1, 2]".to_owned());
        version(
            name,
            &flow([step.with(|step| step.for_each = Some(ForEach { items, max_parallel: Some(1) }))]),
        )
    };
    let half_done = || {
        let mut driver = after(&over("demo", step("a")), &[]);
        for code in [0, 1] {
            let live = driver.run.wants().attempts[0].to_string();
            driver.exit(&live, code);
        }
        driver
    };
    let mut driver = half_done();
    assert_eq!(stand(&driver.run), "= nothing [failed 1]");
    correct(&mut driver, &over("fixed", step("a").exec(&["right"])));
    let again: Vec<String> = driver.run.wants().attempts.iter().map(ToString::to_string).collect();
    assert_eq!(again.len(), 1, "{again:?}");
    assert_eq!(driver.run.attempt(&driver.run.wants().attempts[0]).unwrap().attempt.visit.item(), Some(1));
    let plain = version("plain", &flow([step("a")]));
    let mut driver = half_done();
    let refused = correct(&mut driver, &plain);
    assert!(refused.starts_with("step `a` has finished parts"), "{refused}");
}

#[test]
fn what_differs_between_two_flows() {
    let kept = Change::Kept;
    let changed = |keys: &[&str]| Change::Changed(keys.iter().map(|key| (*key).to_owned()).collect());
    let rows: [(&str, Step, Change); 17] = [
        ("nothing", step("a"), kept),
        ("run", step("a").exec(&["x"]), changed(&["run"])),
        ("kind", ask("a"), changed(&["ask"])),
        ("if", step("a").when("false"), changed(&["if"])),
        ("env", step("a").variable("A", "1"), changed(&["env"])),
        ("retry", step("a").tries(2), changed(&["retry"])),
        ("skill", step("a").skill(), changed(&["skill"])),
        ("data", step("a").with(|step| step.data_is_text = true), changed(&["data"])),
        ("routing", step("a").next("end"), changed(&["routing"])),
        ("budget", step("a").budget("1", "-"), changed(&["budget"])),
        ("join", step("a").with(|step| step.join = Join::Any), changed(&["join"])),
        ("needs", needing(step("a"), &["b"]), changed(&["needs"])),
        ("timeout", step("a").with(|step| step.timeout_ms = Some(1)), changed(&["timeout"])),
        ("artifacts", step("a").with(|step| step.artifacts.push("*".to_owned())), changed(&["artifacts"])),
        ("marks", step("a").with(|step| step.marks.push("x".to_owned())), changed(&["marks"])),
        ("envelope", step("a").with(|step| step.envelope = true), changed(&["envelope"])),
        ("two", step("a").tries(2).when("x"), changed(&["if", "retry"])),
    ];
    for (what, step, expected) in rows {
        let found = compare(&flow([crate::flows::step("a")]), &flow([step]));
        assert_eq!(found, [(step_id("a"), expected)], "{what}");
    }
    let env = Arc::new(Flow {
        env: vec![("A".to_owned(), Template("1".to_owned()))],
        ..Flow::clone(&flow([step("a"), ask("q")]))
    });
    assert_eq!(
        compare(&flow([step("a"), ask("q")]), &env),
        [(step_id("a"), changed(&["env of the flow"])), (step_id("q"), Change::Kept)],
        "a question sees no environment"
    );
    let secret = envoi_kernel::flow::Secret {
        name: "T".to_owned(),
        source: envoi_kernel::flow::SecretSource::File("t".to_owned()),
    };
    let secrets = Arc::new(Flow { secrets: vec![secret], ..Flow::clone(&flow([step("a")])) });
    assert_eq!(compare(&flow([step("a")]), &secrets), [(step_id("a"), changed(&["secrets"]))]);
    let passed = Arc::new(Flow {
        pass_env: vec!["LANG".to_owned()],
        env_files: vec![".env".to_owned()],
        ..Flow::clone(&flow([step("a"), ask("q")]))
    });
    assert_eq!(
        compare(&flow([step("a"), ask("q")]), &passed),
        [(step_id("a"), changed(&["pass_env", "env_file"])), (step_id("q"), Change::Kept)]
    );
    let found = compare(&flow([step("a"), step("b")]), &flow([step("n"), step("b")]));
    assert_eq!(
        found,
        [(step_id("n"), Change::New), (step_id("b"), Change::Kept), (step_id("a"), Change::Gone)]
    );
}

/// The result of a correction that a person agreed to when its outlook was `seen`.
fn agreed(driver: &mut Driver, to: &Arc<Flow>, from: Option<&str>, seen: Digest) -> Result<(), Refusal> {
    let Input::Correct(mut correct) = correction(to, from) else { unreachable!() };
    correct.seen = Some(seen);
    driver.feed_with(Input::Correct(correct), slot()).map(drop)
}

#[test]
fn an_agreement_counts_for_what_was_shown_only() {
    let first = flow([step("a"), step("b"), step("c")]);
    let second = corrected([step("a"), step("b").exec(&["right"]), step("c")]);
    let third = corrected([step("a"), step("b").exec(&["other"]), step("c")]);
    let mut driver = after(&first, &["a.1.1 exit 0", "b.1.1 exit 1"]);
    for flow in [&second, &third] {
        driver.run.learn(Arc::clone(flow));
    }
    let shown = |driver: &Driver, to: &Flow, from: Option<&str>| {
        driver.run.correction(to, from.map(step_id).as_ref()).digest
    };
    let seen = shown(&driver, &second, None);
    // A comparison of another flow, of other steps, and of another state of the run.
    for (to, from) in [(&third, None), (&second, Some("a"))] {
        assert_eq!(agreed(&mut driver, to, from, seen), Err(Refusal::ComparisonChanged));
    }
    feed(&mut driver, "reopen");
    assert_eq!(
        agreed(&mut driver, &second, None, seen),
        Err(Refusal::ComparisonChanged),
        "it is at work again"
    );
    feed(&mut driver, "b.2.1 exit 1");
    assert_eq!(shown(&driver, &second, None), seen, "it stands as it stood");
    let seen_third = shown(&driver, &third, None);
    assert_eq!(agreed(&mut driver, &third, None, seen_third), Ok(()));
    feed(&mut driver, "b.3.1 exit 1");
    assert_eq!(
        agreed(&mut driver, &second, None, seen),
        Err(Refusal::ComparisonChanged),
        "by then it corrects another flow"
    );
    let seen = shown(&driver, &second, None);
    assert_eq!(agreed(&mut driver, &second, None, seen), Ok(()));
}
