//! `isolate: true`: what an item has done is not lost or done twice, and no run goes on in a tree with a part of a merge, however a run
//! ends, is corrected or forked around the merge.

use crate::{
    driver::{Driver, person, result, settled},
    flows::{With as _, ask, bounded, flow, graph, limits, step, step_id},
    set_back::isolated,
    story::{feed, stand},
};
use envoi_contract::digest::Digest;
use envoi_kernel::{
    Event, Fork, Input,
    event::{Command, Isolated, MergeItem, Outcome, Snapshot},
    flow::{Expression, ForEach, OnConflict, Step},
    ids::RunId,
    input::AttemptResult,
};
use std::collections::BTreeSet;

fn digest(word: &str) -> Digest {
    Digest::of(word.as_bytes())
}

fn each(items: &str) -> Step {
    step("fix").with(|step| {
        step.for_each = Some(ForEach { items: Expression(items.to_owned()), max_parallel: None });
        (step.isolate, step.on_conflict) = (true, OnConflict::Fail);
    })
}

/// An attempt that began with the files `before`, and left `after`.
fn from(id: &str, outcome: Outcome, before: &str, after: &str) -> AttemptResult {
    let snapshot = |word: &str| Some(Snapshot { digest: digest(word), moving: false });
    let result = result(id, outcome, "");
    AttemptResult { workspace_before: snapshot(before), workspace_after: snapshot(after), ..result }
}

fn item(id: &str, after: &str) -> Input {
    settled(from(id, Outcome::Exited { code: 0 }, "base", after))
}

/// Starts whatever waits for a slot.
fn fill(driver: &mut Driver) {
    while !driver.run.wants().ready.is_empty() {
        driver.ok(Input::SlotFree);
    }
}

fn live(driver: &Driver) -> Vec<String> {
    driver.run.wants().attempts.iter().map(ToString::to_string).collect()
}

fn merged(driver: &Driver, id: &str) -> Vec<(u64, Digest, Digest)> {
    let Command::Merge(call) = &driver.begun(id).command else { panic!("{id} merges nothing") };
    call.items.iter().map(|MergeItem { item, base, theirs, .. }| (*item, *base, *theirs)).collect()
}

fn error(driver: &Driver, visit: &str) -> String {
    driver.handoff(visit).error.clone().unwrap_or_default()
}

/// A run whose merge is under way.
fn merging(steps: impl IntoIterator<Item = Step>) -> Driver {
    let mut driver = isolated(&flow(steps));
    fill(&mut driver);
    driver.ok(item("0.fix.1.1", "zero"));
    fill(&mut driver);
    assert_eq!(live(&driver), ["fix.1.1"]);
    driver
}

/// The merge is in doubt; the files before it are known.
/// Nothing has begun twice.
fn begins_once(driver: &Driver) {
    let begun = driver.records.iter().filter_map(|record| match &record.event {
        Event::AttemptStarted(started) => Some(started.attempt.clone()),
        _ => None,
    });
    let all: Vec<_> = begun.collect();
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "{all:?}");
}

#[test]
fn items_that_wait_for_their_merge_when_a_run_is_cancelled_are_not_done_again() {
    let waits_for_a_person = limits(&[("agent_hops", "1"), ("on_reached", "ask")]);
    for (limits, waits) in [(waits_for_a_person, "= question"), (limits(&[]), "= fix.1 ready")] {
        let mut driver = isolated(&bounded(limits, [each("[1]"), step("last")]));
        fill(&mut driver);
        driver.feed_with(item("0.fix.1.1", "zero"), None).unwrap();
        if waits == "= question" {
            driver.feed_with(Input::SlotFree, None).ok();
        }
        feed(&mut driver, "cancel");
        driver.restart();
        assert!(error(&driver, "fix.1").starts_with("RUN_STOPPED"), "{waits}: {}", stand(&driver.run));
        feed(&mut driver, "reopen");
        fill(&mut driver);
        if waits == "= question" {
            feed(&mut driver, "answer raise agent_hops 9");
            fill(&mut driver);
        }
        driver.restart();
        assert_eq!(live(&driver), ["fix.2.1"], "{waits}");
        assert_eq!(merged(&driver, "fix.2.1"), [(0, digest("base"), digest("zero"))]);
        begins_once(&driver);
    }
}

#[test]
fn a_fork_compares_an_item_with_what_its_new_tree_began_with() {
    let tries = each("[1]").tries(3);
    let beside = [ask("first"), ask("second").with(|step| step.needs = vec![step_id("first")])];
    let steps = graph([tries].into_iter().chain(beside));
    let mut driver = isolated(&steps);
    fill(&mut driver);
    driver.ok(settled(from("0.fix.1.1", Outcome::Exited { code: 1 }, "base", "half")));
    feed(&mut driver, "answer approve");
    feed(&mut driver, "cancel");
    let place = Isolated {
        of: "/project".to_owned(),
        place: "/trees/fork".to_owned(),
        branch: None,
        head: None,
        base: digest("base"),
        remarks: Vec::new(),
    };
    let fork = Fork {
        run: RunId::new("run_1fork").unwrap(),
        run_base: "/base/fork".to_owned(),
        workspace: "/other".to_owned(),
        shared: false,
        yes_to: Vec::new(),
        by: person("bob"),
        why: None,
        from: Some(step_id("second")),
        lived: driver.records.clone(),
        family: driver.run.known_share(),
        correct: None,
        isolated: Some(Box::new(place)),
        files: None,
    };
    let mut fork_of = Driver::new(&steps);
    fork_of.now = driver.now;
    fork_of.ok(Input::Fork(Box::new(fork)));
    fill(&mut fork_of);
    fork_of.restart();
    assert_eq!(live(&fork_of), ["0.fix.1.2"]);
    fork_of.ok(settled(from("0.fix.1.2", Outcome::Exited { code: 0 }, "of the fork", "done")));
    fill(&mut fork_of);
    fork_of.restart();
    assert_eq!(merged(&fork_of, "fix.1.1"), [(0, digest("of the fork"), digest("done"))]);
}

#[test]
fn a_merge_that_fits_while_the_run_is_cancelled_leaves_the_hand_off_of_its_step() {
    let mut driver = merging([each("[1]"), step("last")]);
    feed(&mut driver, "cancel");
    driver.ok(settled(from("fix.1.1", Outcome::Exited { code: 0 }, "whole", "all")));
    driver.restart();
    assert_eq!(driver.handoff("fix.1").error, None, "{}", stand(&driver.run));
}
