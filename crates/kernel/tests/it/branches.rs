//! `isolate: true` on steps of a graph that are no lists: each works in a tree of its own, and what it has changed is merged at its end.

use crate::{
    driver::{Driver, doubtful, exited, person, reported, settled},
    flows::{With as _, ask, graph, step, step_id},
    set_back::isolated,
    story::{feed, stand},
};
use envoi_contract::{digest::Digest, json::Value};
use envoi_kernel::{
    Flow, Input,
    event::{About, Choice, Command, Event, Snapshot},
    flow::{InDoubtPolicy, MergeDecision, OnConflict, Step},
    input::{Answer, AttemptResult},
};
use std::sync::Arc;

fn digest(word: &str) -> Digest {
    Digest::of(word.as_bytes())
}

fn apart(name: &str, needs: &[&str]) -> Step {
    needing(name, needs).with(|step| step.isolate = true)
}

fn needing(name: &str, needs: &[&str]) -> Step {
    step(name).with(|step| step.needs = needs.iter().map(|need| step_id(need)).collect())
}

/// An attempt that began with `base` and has left these files.
fn left(id: &str, code: i32, files: &str) -> Input {
    let snapshot = |word: &str| Some(Snapshot { digest: digest(word), moving: false });
    let result = AttemptResult { workspace_before: snapshot("base"), ..exited(id, code) };
    settled(AttemptResult { workspace_after: snapshot(files), ..result })
}

/// What an attempt merges.
fn merged(driver: &Driver, id: &str) -> Vec<Digest> {
    let Command::Merge(call) = &driver.begun(id).command else { panic!("{id} merges nothing") };
    assert!(call.alone && driver.begun(id).tree.is_none());
    call.items.iter().map(|item| item.theirs).collect()
}

/// What is under way, after everything that could start has started.
fn live(driver: &mut Driver) -> Vec<String> {
    while !driver.run.wants().ready.is_empty() {
        driver.ok(Input::SlotFree);
    }
    driver.restart();
    let mut live: Vec<String> = driver.run.wants().attempts.iter().map(ToString::to_string).collect();
    live.sort();
    live
}

/// `b` stands before `a`, so it is merged first.
fn two(more: impl IntoIterator<Item = Step>) -> Arc<Flow> {
    graph([apart("b", &[]), apart("a", &[])].into_iter().chain(more).chain([needing("join", &["a", "b"])]))
}

#[test]
fn two_steps_work_apart_and_are_merged_one_after_the_other_before_what_needs_them_begins() {
    let mut driver = isolated(&two([]));
    assert_eq!(live(&mut driver), ["0.a.1.1", "0.b.1.1"]);
    for id in ["0.a.1.1", "0.b.1.1"] {
        let tree = driver.begun(id).tree.as_ref().map(ToString::to_string);
        assert_eq!(tree.as_deref(), id.strip_suffix(".1"));
        let names: Vec<&str> = driver.begun(id).env.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, [""; 0], "there is no value");
    }
    driver.ok(left("0.a.1.1", 0, "of a"));
    assert_eq!(live(&mut driver), ["0.b.1.1"], "`b` is merged first, and is still at work");
    driver.ok(left("0.b.1.1", 0, "of b"));
    assert_eq!(live(&mut driver), ["b.1.1"], "one merge at a time");
    assert_eq!(merged(&driver, "b.1.1"), [digest("of b")]);
    driver.ok(left("b.1.1", 0, "with b"));
    assert_eq!(live(&mut driver), ["a.1.1"]);
    assert_eq!(merged(&driver, "a.1.1"), [digest("of a")]);
    driver.ok(left("a.1.1", 0, "with both"));
    assert_eq!(live(&mut driver), ["join.1.1"]);
    assert_eq!(driver.begun("join.1.1").tree, None);
    driver.exit("join.1.1", 0);
    assert!(live(&mut driver).is_empty() && driver.run.wants().is_empty());
}

#[test]
fn what_a_step_hands_over_is_what_it_has_done_and_not_what_is_said_of_the_merge() {
    let reads = needing("join", &["a", "b"]).with(|step| {
        step.condition = Some(envoi_kernel::flow::Expression(
            "steps.a.data.n == 7 and steps.a.text == 'done' and steps.a.status == 'succeeded'".to_owned(),
        ));
    });
    let mut driver = isolated(&graph([apart("b", &[]), apart("a", &[]), reads]));
    live(&mut driver);
    driver.ok(left("0.b.1.1", 0, "of b"));
    live(&mut driver);
    driver.ok(left("b.1.1", 0, "with b"));
    let Input::Settled(result) = left("0.a.1.1", 0, "of a") else { unreachable!() };
    let said = reported("0.a.1.1", r#""ok":true,"data":{"n":7}"#);
    driver.ok(settled(AttemptResult {
        text: "done".to_owned(),
        report: said.report,
        report_blob: said.report_blob,
        report_place: said.report_place,
        ..*result
    }));
    live(&mut driver);
    let merge = AttemptResult { text: "item 0: 3 files".to_owned(), ..exited("a.1.1", 0) };
    driver.ok(settled(merge));
    assert_eq!(live(&mut driver), ["join.1.1"]);
    assert_eq!(driver.handoff("a.1").summary, "done");
}

#[test]
fn a_step_that_fails_has_its_own_error_and_is_not_merged_and_the_other_one_is() {
    let mut driver = isolated(&two([]));
    live(&mut driver);
    driver.ok(left("0.a.1.1", 0, "of a")).ok(left("0.b.1.1", 3, "half"));
    assert_eq!(live(&mut driver), ["a.1.1"]);
    let error = driver.handoff("b.1").error.clone().unwrap_or_default();
    assert!(error.starts_with("TOOL_EXIT_NON_ZERO: "), "{error}");
    driver.ok(left("a.1.1", 0, "with a"));
    assert!(live(&mut driver).is_empty() && driver.run.wants().is_empty());
    assert!(stand(&driver.run).contains("failed"), "{}", stand(&driver.run));
    feed(&mut driver, "reopen");
    assert_eq!(live(&mut driver), ["0.b.2.1"], "what is merged is not done again");
    driver.ok(left("0.b.2.1", 0, "of b"));
    assert_eq!(live(&mut driver), ["b.2.1"]);
}

#[test]
fn nothing_begins_beside_a_merge_and_a_merge_begins_beside_nothing_in_the_runs_tree() {
    // Such a flow is refused when it is checked. The kernel holds the rule all the same.
    let flow = graph([
        apart("a", &[]),
        ask("ready"),
        needing("late", &["ready"]),
        apart("beside", &[]),
        needing("join", &["a"]),
    ]);
    let mut driver = isolated(&flow);
    assert_eq!(live(&mut driver), ["0.a.1.1", "0.beside.1.1"]);
    driver.ok(left("0.a.1.1", 0, "of a"));
    assert_eq!(live(&mut driver), ["0.beside.1.1", "a.1.1"]);
    feed(&mut driver, "answer approve: yes");
    driver.ok(left("0.beside.1.1", 1, "half"));
    assert_eq!(live(&mut driver), ["a.1.1"], "`late` waits for the end of the merge");
    driver.ok(left("a.1.1", 0, "with a"));
    assert_eq!(live(&mut driver), ["join.1.1", "late.1.1"]);

    let mut driver = isolated(&flow);
    live(&mut driver);
    feed(&mut driver, "answer approve: yes");
    assert_eq!(live(&mut driver), ["0.a.1.1", "0.beside.1.1", "late.1.1"]);
    driver.ok(left("0.a.1.1", 0, "of a"));
    assert_eq!(live(&mut driver), ["0.beside.1.1", "late.1.1"], "the merge waits");
    driver.exit("late.1.1", 0);
    assert_eq!(live(&mut driver), ["0.beside.1.1", "a.1.1"]);
}

/// The files before the merge are known.
fn merge_in_doubt(id: &str) -> Input {
    let Input::InDoubt { attempt, evidence } = doubtful(id, 5) else { unreachable!() };
    let mut members = evidence.as_object().unwrap().clone();
    members.insert("workspace_before".to_owned(), digest("tip").to_string().as_str().into());
    Input::InDoubt { attempt, evidence: Value::Object(members) }
}

#[test]
fn a_merge_that_was_cut_off_is_done_again_before_anything_else_begins() {
    let flow = graph([apart("first", &["ready"]), ask("ready"), apart("a", &[]), apart("b", &[])]);
    let mut driver = isolated(&flow);
    assert_eq!(live(&mut driver), ["0.a.1.1", "0.b.1.1"]);
    driver.ok(left("0.a.1.1", 0, "of a")).ok(left("0.b.1.1", 0, "of b"));
    assert_eq!(live(&mut driver), ["a.1.1"]);
    // It stands earlier in the flow, and yet the merge that has begun does not wait for it.
    feed(&mut driver, "answer approve: yes");
    assert_eq!(live(&mut driver), ["a.1.1"]);
    driver.feed_with(merge_in_doubt("a.1.1"), None).unwrap();
    assert_eq!(live(&mut driver), ["a.1.2"]);
    assert_eq!(merged(&driver, "a.1.2"), [digest("of a")]);
    assert_eq!(driver.begun("a.1.2").set_back, Some(digest("tip")));
    driver.ok(left("a.1.2", 0, "with a"));
    assert_eq!(live(&mut driver), ["0.first.1.1"], "`b` waits for what stands before it");
    driver.ok(left("0.first.1.1", 0, "of first"));
    assert_eq!(live(&mut driver), ["first.1.1"]);
    driver.ok(left("first.1.1", 0, "with first"));
    assert_eq!(live(&mut driver), ["b.1.1"]);
    assert_eq!(driver.begun("b.1.1").set_back, None);
}

#[test]
fn an_attempt_in_doubt_is_asked_about_and_run_again_in_the_same_tree() {
    let mut driver = isolated(&two([]));
    live(&mut driver);
    driver.ok(doubtful("0.a.1.1", 5));
    driver.ok(left("0.b.1.1", 0, "of b"));
    assert_eq!(live(&mut driver), ["b.1.1"]);
    driver.ok(left("b.1.1", 0, "with b"));
    feed(&mut driver, "answer rerun");
    assert_eq!(live(&mut driver), ["0.a.1.2"]);
    assert_eq!(driver.begun("0.a.1.2").tree, driver.begun("0.a.1.1").tree);
    let rerun = |step: Step| step.with(|step| step.on_in_doubt = InDoubtPolicy::Rerun);
    let mut driver = isolated(&graph([rerun(apart("a", &[])), apart("b", &[])]));
    live(&mut driver);
    driver.ok(doubtful("0.a.1.1", 5));
    assert_eq!(live(&mut driver), ["0.a.1.2", "0.b.1.1"]);
}

const IN_CONFLICT: &str = r#""ok":true,"data":{"in_conflict":[0],"conflicts":[]}"#;

/// `a` does not fit to what `b` has left.
fn in_conflict(on_conflict: OnConflict) -> Driver {
    let flow = graph([
        apart("b", &[]),
        apart("a", &[]).with(|step| step.on_conflict = on_conflict),
        apart("c", &[]),
        needing("join", &["a", "b", "c"]),
    ]);
    let mut driver = isolated(&flow);
    live(&mut driver);
    driver.ok(left("0.a.1.1", 0, "of a")).ok(left("0.b.1.1", 0, "of b"));
    assert_eq!(live(&mut driver), ["0.c.1.1", "b.1.1"]);
    driver.ok(left("b.1.1", 0, "with b"));
    assert_eq!(live(&mut driver), ["0.c.1.1", "a.1.1"]);
    driver.ok(settled(reported("a.1.1", IN_CONFLICT)));
    driver.restart();
    driver
}

fn answer(driver: &mut Driver, choice: Choice) {
    let raised = driver.run.interrupts().next().unwrap().clone();
    assert_eq!((raised.about, raised.visit.to_string().as_str()), (About::Conflict, "a.1"));
    assert!(raised.question.starts_with("Step `a` has changed the same lines"), "{}", raised.question);
    driver.ok(Input::Answer(Box::new(Answer::new(raised.interrupt, choice, person("zed")))));
}

/// All are merged, and then `join` is done.
fn ends(driver: &mut Driver, last: &str) {
    assert_eq!(live(driver), ["0.c.1.1", last]);
    driver.ok(left(last, 0, "with a")).ok(left("0.c.1.1", 0, "of c"));
    assert_eq!(live(driver), ["c.1.1"]);
    driver.ok(left("c.1.1", 0, "all"));
    assert_eq!(live(driver), ["join.1.1"]);
}

#[test]
fn a_person_takes_one_side_of_a_conflict_and_the_step_is_not_done_again() {
    for (choice, decided) in [(Choice::Ours, MergeDecision::Ours), (Choice::Theirs, MergeDecision::Theirs)] {
        let mut driver = in_conflict(OnConflict::Ask);
        assert_eq!(live(&mut driver), ["0.c.1.1"]);
        answer(&mut driver, choice);
        live(&mut driver);
        let Command::Merge(call) = &driver.begun("a.2.1").command else { panic!("it merges nothing") };
        assert_eq!((call.decided.as_ref(), call.alone), (Some(&decided), true));
        assert_eq!(merged(&driver, "a.2.1"), [digest("of a")]);
        ends(&mut driver, "a.2.1");
    }
}

#[test]
fn a_step_in_conflict_is_done_again_from_the_runs_tree_with_what_the_merge_has_said() {
    for on_conflict in [OnConflict::Ask, OnConflict::Again] {
        let mut driver = in_conflict(on_conflict);
        if on_conflict == OnConflict::Ask {
            answer(&mut driver, Choice::Again);
        }
        assert_eq!(live(&mut driver), ["0.a.2.1", "0.c.1.1"]);
        let begun = driver.begun("0.a.2.1");
        assert_eq!(begun.feedback.as_ref().map(ToString::to_string).as_deref(), Some("a.1.1"));
        assert_eq!((begun.iteration, begun.set_back), (1, None));
        driver.ok(left("0.a.2.1", 0, "fits"));
        live(&mut driver);
        assert_eq!(merged(&driver, "a.2.1"), [digest("fits")]);
        ends(&mut driver, "a.2.1");
    }
}

#[test]
fn a_conflict_may_be_left_out_or_end_the_run_and_a_resumed_run_does_only_that_step_again() {
    let mut driver = in_conflict(OnConflict::Ask);
    answer(&mut driver, Choice::Proceed);
    driver.ok(left("0.c.1.1", 0, "of c"));
    assert_eq!(live(&mut driver), ["c.1.1"]);
    driver.ok(left("c.1.1", 0, "with c"));
    assert_eq!(live(&mut driver), ["join.1.1"], "its files are left out");
    let error = driver.handoff("a.1").error.clone().unwrap_or_default();
    assert!(error.starts_with("MERGE_CONFLICT: what the step has changed"), "{error}");

    let mut driver = in_conflict(OnConflict::Ask);
    answer(&mut driver, Choice::Stop);
    driver.ok(left("0.c.1.1", 0, "of c"));
    live(&mut driver);
    driver.ok(left("c.1.1", 0, "with c"));
    assert!(live(&mut driver).is_empty() && driver.run.wants().is_empty());
    feed(&mut driver, "reopen");
    assert_eq!(live(&mut driver), ["0.a.2.1"]);
}

#[test]
fn with_fail_a_conflict_fails_the_step_and_a_resumed_run_only_merges_it_anew() {
    let mut driver = in_conflict(OnConflict::Fail);
    // With `fail` the merge itself fails, so this one says nothing about a conflict.
    assert_eq!(driver.run.interrupts().count(), 1, "a merge that puts off asks");
    let flow = two([]);
    driver = isolated(&flow);
    live(&mut driver);
    driver.ok(left("0.b.1.1", 0, "of b")).ok(left("0.a.1.1", 0, "of a"));
    live(&mut driver);
    driver.ok(left("b.1.1", 0, "with b"));
    live(&mut driver);
    let conflict = r#""ok":false,"error":{"code":"MERGE_CONFLICT","message":"`x`"}"#;
    let result = reported("a.1.1", conflict);
    driver.ok(settled(AttemptResult { outcome: exited("a.1.1", 1).outcome, ..result }));
    assert!(live(&mut driver).is_empty() && driver.run.wants().is_empty());
    feed(&mut driver, "reopen");
    assert_eq!(live(&mut driver), ["a.2.1"]);
    assert_eq!(merged(&driver, "a.2.1"), [digest("of a")]);
}

#[test]
fn a_cancelled_run_does_not_do_again_what_only_waited_for_its_merge() {
    for is_cancelled in [true, false] {
        let mut driver = isolated(&two([]));
        live(&mut driver);
        driver.ok(left("0.a.1.1", 0, "of a"));
        assert_eq!(live(&mut driver), ["0.b.1.1"]);
        if is_cancelled {
            feed(&mut driver, "cancel");
            driver.ok(settled(AttemptResult {
                outcome: envoi_kernel::event::Outcome::Cancelled,
                ..exited("0.b.1.1", 0)
            }));
        } else {
            driver.ok(left("0.b.1.1", 0, "of b"));
            assert_eq!(live(&mut driver), ["b.1.1"]);
            feed(&mut driver, "cancel");
            driver.ok(settled(AttemptResult {
                outcome: envoi_kernel::event::Outcome::Cancelled,
                ..exited("b.1.1", 0)
            }));
        }
        assert!(live(&mut driver).is_empty() && driver.run.wants().is_empty());
        feed(&mut driver, "reopen");
        if is_cancelled {
            assert_eq!(live(&mut driver), ["0.b.2.1"], "`a` is done, and waits for its turn");
            driver.ok(left("0.b.2.1", 0, "of b"));
        }
        assert_eq!(live(&mut driver), ["b.2.1"]);
        driver.ok(left("b.2.1", 0, "with b"));
        assert_eq!(live(&mut driver), ["a.2.1"]);
        assert_eq!(merged(&driver, "a.2.1"), [digest("of a")]);
    }
}

#[test]
fn a_loop_repeats_steps_that_work_apart_in_new_trees() {
    let critic =
        crate::flows::critic("test", "plan", 2).with(|step| step.needs = ["a", "b"].map(step_id).to_vec());
    let flow = graph([step("plan"), apart("a", &["plan"]), apart("b", &["plan"]), critic]);
    let mut driver = isolated(&flow);
    for round in 1..=2 {
        let id = |name: &str| format!("{name}.{round}.1");
        assert_eq!(live(&mut driver), [id("plan")]);
        driver.exit(&id("plan"), 0);
        assert_eq!(live(&mut driver), [id("0.a"), id("0.b")]);
        driver.ok(left(&id("0.b"), 0, "of b")).ok(left(&id("0.a"), 0, "of a"));
        for merge in ["a", "b"] {
            assert_eq!(live(&mut driver), [id(merge)]);
            driver.ok(left(&id(merge), 0, "with it"));
        }
        assert_eq!(live(&mut driver), [id("test")]);
        driver.exit(&id("test"), if round == 1 { 1 } else { 0 });
    }
    assert!(live(&mut driver).is_empty() && driver.run.wants().is_empty());
}

#[test]
fn a_list_and_a_step_work_apart_beside_each_other() {
    let list = apart("list", &[]).with(|step| {
        step.for_each = Some(envoi_kernel::flow::ForEach {
            items: envoi_kernel::flow::Expression("[1, 2]".to_owned()),
            max_parallel: None,
        });
    });
    let mut driver = isolated(&graph([list, apart("a", &[]), needing("join", &["a", "list"])]));
    assert_eq!(live(&mut driver), ["0.a.1.1", "0.list.1.1", "1.list.1.1"]);
    driver.ok(left("0.a.1.1", 0, "of a")).ok(left("1.list.1.1", 0, "one"));
    assert_eq!(live(&mut driver), ["0.list.1.1"]);
    driver.ok(left("0.list.1.1", 0, "zero"));
    assert_eq!(live(&mut driver), ["list.1.1"]);
    driver.ok(left("list.1.1", 0, "with the list"));
    assert_eq!(live(&mut driver), ["a.1.1"]);
    let lists = |driver: &Driver, step: &str| {
        driver.records.iter().any(|record| {
            matches!(&record.event, Event::FannedOut(event) if event.visit.step.as_str() == step && event.alone)
        })
    };
    assert_eq!((lists(&driver, "a"), lists(&driver, "list")), (true, false));
}
