//! `isolate: true`: the items of a step work in trees of their own, and their changes are merged when all are over.

use crate::{
    ask::file,
    corrected::{correction, version},
    driver::{Driver, doubtful, exited, person, reported, settled, slot},
    flows::{With as _, critic, flow, graph, step, step_id},
    set_back::isolated,
    story::{feed, stand},
};
use envoi_contract::{digest::Digest, json::Value};
use envoi_kernel::{
    COPIED, Flow, Input, Refusal,
    event::{About, Choice, Command, MergeItem, Snapshot},
    flow::{EditedFile, Expression, ForEach, MergeDecision, OnConflict, OnExhausted, Step},
    input::{Answer, AttemptResult},
};
use std::sync::Arc;

fn digest(word: &str) -> Digest {
    Digest::of(word.as_bytes())
}

fn each(name: &str, items: &str) -> Step {
    step(name).with(|step| {
        step.for_each = Some(ForEach { items: Expression(items.to_owned()), max_parallel: None });
        (step.isolate, step.on_conflict) = (true, OnConflict::Theirs);
    })
}

/// An item that began with `base` and has left `base` with its own number.
fn item(id: &str, code: i32, left: &str) -> Input {
    let snapshot = |word: &str| Some(Snapshot { digest: digest(word), moving: false });
    let result = AttemptResult { workspace_before: snapshot("base"), ..exited(id, code) };
    settled(AttemptResult { workspace_after: snapshot(left), ..result })
}

/// The items that an attempt merges, with their results.
fn merged(driver: &Driver, id: &str) -> Vec<(u64, Digest)> {
    let Command::Merge(call) = &driver.begun(id).command else { panic!("{id} merges nothing") };
    assert_eq!(call.on_conflict, OnConflict::Theirs);
    let of = |item: &MergeItem| {
        assert_eq!(item.base, digest("base"));
        (item.item, item.theirs)
    };
    call.items.iter().map(of).collect()
}

fn fan(items: &str) -> (Arc<Flow>, Driver) {
    let flow = flow([each("fix", items), step("last")]);
    let driver = isolated(&flow);
    (flow, driver)
}

/// Starts each visit that waits for a slot.
fn fill(driver: &mut Driver) {
    while !driver.run.wants().ready.is_empty() {
        driver.ok(Input::SlotFree);
    }
}

#[test]
fn items_work_apart_and_are_merged_in_their_order_whichever_ends_first() {
    let (_, mut driver) = fan("[1, 2, 3]");
    fill(&mut driver);
    for (id, left) in [("2.fix.1.1", "two"), ("0.fix.1.1", "zero"), ("1.fix.1.1", "one")] {
        assert_eq!(driver.begun(id).tree.as_ref().map(ToString::to_string).as_deref(), id.strip_suffix(".1"));
        assert!(!driver.run.wants().attempts.iter().any(|live| live.to_string() == "fix.1.1"));
        driver.ok(item(id, 0, left));
        driver.restart();
    }
    fill(&mut driver);
    driver.restart();
    assert_eq!(merged(&driver, "fix.1.1"), [(0, digest("zero")), (1, digest("one")), (2, digest("two"))]);
    assert_eq!(driver.begun("fix.1.1").tree, None);
    driver.ok(item("fix.1.1", 0, "all"));
    driver.restart();
    fill(&mut driver);
    assert_eq!(driver.begun("last.1.1").tree, None);
    driver.ok(settled(exited("last.1.1", 0)));
    driver.restart();
    assert!(driver.run.wants().is_empty());
}

#[test]
fn a_merge_in_doubt_is_done_again_from_its_beginning_without_a_question() {
    let (_, mut driver) = fan("[1]");
    driver.ok(item("0.fix.1.1", 0, "zero"));
    fill(&mut driver);
    driver.ok(merge_in_doubt(false));
    driver.restart();
    assert_eq!(merged(&driver, "fix.1.2"), [(0, digest("zero"))]);
    assert_eq!(driver.begun("fix.1.2").set_back, Some(digest("base")));
}

/// The files before the merge are known.
fn merge_in_doubt(copied: bool) -> Input {
    let Input::InDoubt { attempt, evidence } = doubtful("fix.1.1", 5) else { unreachable!() };
    let mut members = evidence.as_object().unwrap().clone();
    members.insert("workspace_before".to_owned(), digest("base").to_string().as_str().into());
    members.insert(COPIED.to_owned(), copied.into());
    Input::InDoubt { attempt, evidence: Value::Object(members) }
}

#[test]
fn of_a_merge_of_the_original_a_person_decides() {
    let (_, mut driver) = fan("[1]");
    driver.ok(item("0.fix.1.1", 0, "zero"));
    fill(&mut driver);
    driver.ok(merge_in_doubt(true));
    driver.restart();
    assert_eq!(stand(&driver.run), "= question [waiting 5]");
    let went = feed(&mut driver, "answer rerun");
    assert!(went.contains("fix.1.2 merges"), "{went}");
    assert_eq!(driver.begun("fix.1.2").set_back, Some(digest("base")));
}

#[test]
fn a_conflict_fails_the_step_and_a_resumed_run_merges_again_without_doing_the_items_again() {
    let (_, mut driver) = fan("[1, 2]");
    fill(&mut driver);
    driver.ok(item("0.fix.1.1", 0, "zero")).ok(item("1.fix.1.1", 0, "one"));
    fill(&mut driver);
    let conflict = r#""ok":false,"error":{"code":"MERGE_CONFLICT","message":"item 1: `a`"}"#;
    let result = reported("fix.1.1", conflict);
    driver.ok(settled(AttemptResult { outcome: exited("fix.1.1", 1).outcome, ..result }));
    driver.restart();
    let error = driver.handoff("fix.1").error.clone().unwrap_or_default();
    assert!(error.starts_with("MERGE_CONFLICT"), "{error}");
    feed(&mut driver, "reopen");
    driver.restart();
    fill(&mut driver);
    assert_eq!(merged(&driver, "fix.2.1"), [(0, digest("zero")), (1, digest("one"))]);
}

#[test]
fn items_that_succeeded_are_merged_beside_one_that_failed_and_not_twice() {
    let (_, mut driver) = fan("[1, 2]");
    fill(&mut driver);
    driver.ok(item("0.fix.1.1", 0, "zero")).ok(item("1.fix.1.1", 1, "half"));
    fill(&mut driver);
    assert_eq!(merged(&driver, "fix.1.1"), [(0, digest("zero"))]);
    driver.ok(item("fix.1.1", 0, "zero"));
    assert!(driver.handoff("fix.1").error.clone().unwrap_or_default().starts_with("ITEMS_FAILED"));
    feed(&mut driver, "reopen");
    fill(&mut driver);
    driver.ok(item("1.fix.2.1", 0, "one"));
    fill(&mut driver);
    driver.restart();
    assert_eq!(merged(&driver, "fix.2.1"), [(1, digest("one"))]);
}

#[test]
fn an_item_whose_files_were_not_kept_is_not_merged() {
    let (_, mut driver) = fan("[1]");
    driver.ok(settled(exited("0.fix.1.1", 0)));
    fill(&mut driver);
    driver.restart();
    let error = driver.handoff("fix.1").error.clone().unwrap_or_default();
    assert!(error.starts_with("FILES_NOT_KEPT"), "{error}");
}

#[test]
fn a_loop_that_goes_back_to_items_merges_into_the_files_as_they_are_then() {
    let flow = flow([each("fix", "[1]"), critic("test", "fix", 5)]);
    let mut driver = isolated(&flow);
    let with = |id: &str, code: i32, before: &str| {
        let before = Some(Snapshot { digest: digest(before), moving: false });
        settled(AttemptResult { workspace_before: before, ..exited(id, code) })
    };
    driver.ok(item("0.fix.1.1", 0, "zero"));
    fill(&mut driver);
    driver.ok(with("fix.1.1", 0, "first"));
    fill(&mut driver);
    driver.ok(with("test.1.1", 1, "merged"));
    fill(&mut driver);
    driver.ok(item("0.fix.2.1", 0, "better"));
    fill(&mut driver);
    driver.restart();
    assert_eq!(merged(&driver, "fix.2.1"), [(0, digest("better"))]);
    assert_eq!(driver.begun("fix.2.1").set_back, None, "what came of the first round stays");
}

/// A list of two whose second item was put off by the first merge.
fn put_off(step: Step) -> Driver {
    let mut driver = isolated(&flow([step, crate::flows::step("last")]));
    fill(&mut driver);
    driver.ok(item("0.fix.1.1", 0, "zero")).ok(item("1.fix.1.1", 0, "one"));
    fill(&mut driver);
    driver.ok(settled(reported("fix.1.1", IN_CONFLICT)));
    fill(&mut driver);
    driver.restart();
    driver
}

const IN_CONFLICT: &str = r#""ok":true,"data":{"in_conflict":[1],"conflicts":[]}"#;

fn deciding(on_conflict: OnConflict) -> Step {
    each("fix", "[1, 2]").with(|step| step.on_conflict = on_conflict)
}

fn answer(driver: &mut Driver, choice: Choice) {
    let raised = driver.run.interrupts().next().unwrap().clone();
    assert_eq!((raised.about, raised.visit.to_string().as_str()), (About::Conflict, "fix.1"));
    assert_eq!(raised.evidence.get("in_conflict").unwrap().compact(), "[1]");
    driver.ok(Input::Answer(Box::new(Answer::new(raised.interrupt, choice, person("zed")))));
    fill(driver);
    driver.restart();
}

/// The item that was put off is done again, with the output of the merge, and nothing else is.
fn is_done_again(driver: &mut Driver) {
    let live: Vec<String> = driver.run.wants().attempts.iter().map(ToString::to_string).collect();
    assert_eq!(live, ["1.fix.2.1"]);
    let begun = driver.begun("1.fix.2.1");
    assert_eq!(begun.feedback.as_ref().map(ToString::to_string).as_deref(), Some("fix.1.1"));
    assert_eq!((begun.iteration, begun.set_back), (1, None));
    driver.ok(item("1.fix.2.1", 0, "fits"));
    fill(driver);
    let Command::Merge(call) = &driver.begun("fix.2.1").command else { panic!("it merges nothing") };
    assert_eq!(
        call.items.iter().map(|item| (item.item, item.theirs)).collect::<Vec<_>>(),
        [(1, digest("fits"))]
    );
    driver.ok(item("fix.2.1", 0, "all"));
    fill(driver);
    driver.restart();
    assert_eq!(driver.handoff("fix.2").error, None);
    driver.begun("last.1.1");
}

#[test]
fn items_in_conflict_are_done_again_from_what_the_others_have_left() {
    is_done_again(&mut put_off(deciding(OnConflict::Again)));
}

#[test]
fn a_person_decides_whether_items_in_conflict_are_done_again_left_out_or_the_end() {
    let mut driver = put_off(deciding(OnConflict::Ask));
    answer(&mut driver, Choice::Again);
    is_done_again(&mut driver);
    let mut driver = put_off(deciding(OnConflict::Ask));
    answer(&mut driver, Choice::Proceed);
    driver.begun("last.1.1");
    let error = driver.handoff("fix.1").error.clone().unwrap_or_default();
    assert!(error.starts_with("MERGE_CONFLICT") && error.ends_with("do not fit: 1 (2)"), "{error}");
    let mut driver = put_off(deciding(OnConflict::Ask));
    answer(&mut driver, Choice::Stop);
    assert!(driver.run.wants().is_empty());
    feed(&mut driver, "reopen");
    fill(&mut driver);
    driver.restart();
    let live: Vec<String> = driver.run.wants().attempts.iter().map(ToString::to_string).collect();
    assert_eq!(live, ["1.fix.2.1"], "the other one is merged already");
}

#[test]
fn items_are_done_again_as_often_as_their_loop_may_go_back() {
    for (then, asks) in [(OnExhausted::Ask, true), (OnExhausted::Fail, false)] {
        let step = deciding(OnConflict::Again).with(|step| {
            (step.routing.max_iterations, step.routing.on_exhausted) = (0, then);
        });
        let mut driver = put_off(step);
        assert_eq!(driver.run.interrupts().count(), usize::from(asks));
        assert_eq!(driver.run.wants().is_empty(), !asks);
        if asks {
            let raised = driver.run.interrupts().next().unwrap().clone();
            let again = Answer::new(raised.interrupt, Choice::Again, person("zed"));
            let refused = driver.feed(Input::Answer(Box::new(again)));
            assert!(matches!(refused, Err(Refusal::PastBound { .. })), "{refused:?}");
        }
    }
}

#[test]
fn after_a_failed_item_no_question_about_a_conflict_is_asked() {
    let mut driver =
        isolated(&flow([each("fix", "[1, 2, 3]").with(|step| step.on_conflict = OnConflict::Ask)]));
    fill(&mut driver);
    driver.ok(item("0.fix.1.1", 0, "zero")).ok(item("1.fix.1.1", 0, "one")).ok(item("2.fix.1.1", 1, "half"));
    fill(&mut driver);
    driver.ok(settled(reported("fix.1.1", IN_CONFLICT)));
    driver.restart();
    assert!(driver.handoff("fix.1").error.clone().unwrap_or_default().starts_with("MERGE_CONFLICT"));
    assert!(driver.run.wants().is_empty());
    feed(&mut driver, "reopen");
    fill(&mut driver);
    let live: Vec<String> = driver.run.wants().attempts.iter().map(ToString::to_string).collect();
    assert_eq!(live, ["1.fix.2.1", "2.fix.2.1"]);
}

#[test]
fn a_correction_puts_the_question_about_a_conflict_again_and_keeps_items_in_their_trees() {
    let to = |driver: &mut Driver, word: &str, step: Step| {
        let after =
            version(word, &flow([step, crate::flows::step("last").with(|step| step.timeout_ms = Some(7))]));
        driver.run.learn(Arc::clone(&after));
        let corrected = driver.feed_with(correction(&after, None), slot());
        driver.restart();
        corrected
    };
    let mut driver = put_off(deciding(OnConflict::Ask));
    let shown = driver.run.interrupts().next().unwrap().interrupt.clone();
    let refused = to(&mut driver, "in one tree", deciding(OnConflict::Ask).with(|step| step.isolate = false));
    assert!(matches!(refused, Err(Refusal::NotCorrectable { .. })), "{refused:?}");
    to(&mut driver, "another last step", deciding(OnConflict::Ask)).unwrap();
    let raised = driver.run.interrupts().next().unwrap().clone();
    assert!(raised.interrupt != shown && raised.about == About::Conflict, "the yes would be to another flow");
    answer(&mut driver, Choice::Again);
    is_done_again(&mut driver);
}

/// All files in conflict are named, so that they can be edited.
const TO_BE_EDITED: &str = r#""ok":true,"data":{"in_conflict":[1],"edit":"attempts/fix.1.1/merge/edit","conflicts":[{"item":1,"files":[{"path":"a/x","kind":"content"},{"path":"b","kind":"modify/delete"}]}]}"#;

/// The item that was put off is merged as it was decided, without being done again, and that is no round of a loop.
fn is_merged_as(driver: &mut Driver, decided: &MergeDecision) {
    let live: Vec<String> = driver.run.wants().attempts.iter().map(ToString::to_string).collect();
    assert_eq!(live, ["fix.2.1"]);
    let begun = driver.begun("fix.2.1");
    assert_eq!((begun.iteration, begun.feedback.as_ref(), begun.set_back), (0, None, None));
    let Command::Merge(call) = &begun.command else { panic!("it merges nothing") };
    assert_eq!(call.decided.as_ref(), Some(decided));
    assert!(call.on_conflict.puts_off(), "what cannot be settled so is asked about again");
    let items: Vec<_> = call.items.iter().map(|item| (item.item, item.theirs)).collect();
    assert_eq!(items, [(1, digest("one"))]);
    assert_eq!(driver.run.ledger().iterations, 0);
}

#[test]
fn a_person_takes_one_side_of_a_conflict_and_no_item_is_done_again() {
    for (choice, decided) in [(Choice::Ours, MergeDecision::Ours), (Choice::Theirs, MergeDecision::Theirs)] {
        for on_conflict in [OnConflict::Ask, OnConflict::Again] {
            let step = deciding(on_conflict).with(|step| step.routing.max_iterations = 0);
            let mut driver = put_off(step);
            answer(&mut driver, choice);
            is_merged_as(&mut driver, &decided);
            driver.ok(item("fix.2.1", 0, "all"));
            fill(&mut driver);
            driver.restart();
            assert_eq!(driver.handoff("fix.2").error, None);
            driver.begun("last.1.1");
        }
    }
}

#[test]
fn a_conflict_that_one_side_does_not_settle_is_asked_about_again() {
    let mut driver = put_off(deciding(OnConflict::Ask));
    answer(&mut driver, Choice::Ours);
    driver.ok(settled(reported("fix.2.1", IN_CONFLICT)));
    fill(&mut driver);
    driver.restart();
    let raised = driver.run.interrupts().next().unwrap().clone();
    assert_eq!((raised.about, raised.visit.to_string().as_str()), (About::Conflict, "fix.2"));
    driver.ok(Input::Answer(Box::new(Answer::new(raised.interrupt, Choice::Again, person("zed")))));
    fill(&mut driver);
    driver.restart();
    let live: Vec<String> = driver.run.wants().attempts.iter().map(ToString::to_string).collect();
    assert_eq!(live, ["1.fix.3.1"], "what was decided before does not hold any more");
}

#[test]
fn a_merge_as_decided_that_fails_is_done_again_in_the_same_way() {
    let mut driver = put_off(deciding(OnConflict::Ask));
    answer(&mut driver, Choice::Theirs);
    driver.ok(settled(exited("fix.2.1", 2)));
    fill(&mut driver);
    feed(&mut driver, "reopen");
    fill(&mut driver);
    driver.restart();
    let Command::Merge(call) = &driver.begun("fix.3.1").command else { panic!("it merges nothing") };
    assert_eq!(call.decided, Some(MergeDecision::Theirs));
}

fn put_off_to_be_edited() -> Driver {
    let mut driver = isolated(&flow([deciding(OnConflict::Ask), step("last")]));
    fill(&mut driver);
    driver.ok(item("0.fix.1.1", 0, "zero")).ok(item("1.fix.1.1", 0, "one"));
    fill(&mut driver);
    driver.ok(settled(reported("fix.1.1", TO_BE_EDITED)));
    fill(&mut driver);
    driver.restart();
    driver
}

#[test]
fn a_person_edits_files_in_conflict_and_says_what_becomes_of_each() {
    let attached = digest("right");
    let edit = |driver: &Driver, files: &str| {
        let raised = driver.run.interrupts().next().unwrap().clone();
        let files =
            files.replace("RIGHT", &attached.to_string()).replace("OTHER", &digest("other").to_string());
        let data = envoi_contract::json::Value::parse_str(&format!(r#"{{"files":{files}}}"#)).unwrap();
        let answer = Answer::new(raised.interrupt, Choice::Edit, person("zed"));
        Input::Answer(Box::new(Answer { data: Some(data), attachments: vec![file("right")], ..answer }))
    };
    let mut driver = put_off_to_be_edited();
    for (files, why) in [
        (r#"{"a/x":"RIGHT"}"#, "`b` is missing"),
        (r#"{"a/x":"RIGHT","b":null,"c":null}"#, "`c` in `files` is not in conflict"),
        (r#"{"a/x":"OTHER","b":null}"#, "`a/x` in `files` is neither null nor the digest of an attachment"),
        ("[]", "`a/x` is missing"),
    ] {
        let refused = driver.feed(edit(&driver, files));
        assert!(matches!(&refused, Err(Refusal::Misfit { reason }) if reason.contains(why)), "{refused:?}");
    }
    driver.ok(edit(&driver, r#"{"a/x":"RIGHT","b":null}"#));
    fill(&mut driver);
    driver.restart();
    let edited = |path: &str, content| EditedFile { path: path.to_owned(), content, instead_of: None };
    is_merged_as(&mut driver, &MergeDecision::Edited(vec![edited("a/x", Some(attached)), edited("b", None)]));
}

#[test]
fn files_in_conflict_are_edited_only_where_all_of_them_are_named() {
    let mut driver = put_off(deciding(OnConflict::Ask));
    let raised = driver.run.interrupts().next().unwrap().clone();
    assert!(!raised.question.contains("edit"), "{}", raised.question);
    let edit = Answer::new(raised.interrupt, Choice::Edit, person("zed"));
    let refused = driver.feed(Input::Answer(Box::new(edit)));
    assert!(matches!(&refused, Err(Refusal::WrongChoice { .. })), "{refused:?}");
    assert!(put_off_to_be_edited().run.interrupts().next().unwrap().question.contains("edit the files"));
}

#[test]
fn in_a_graph_too_items_in_conflict_are_merged_as_decided_or_done_again_alone() {
    for (choice, expected) in [(Choice::Ours, "fix.2.1"), (Choice::Again, "1.fix.2.1")] {
        let flow =
            graph([deciding(OnConflict::Ask), step("last").with(|step| step.needs = vec![step_id("fix")])]);
        let mut driver = isolated(&flow);
        fill(&mut driver);
        driver.ok(item("0.fix.1.1", 0, "zero")).ok(item("1.fix.1.1", 0, "one"));
        fill(&mut driver);
        driver.ok(settled(reported("fix.1.1", IN_CONFLICT)));
        answer(&mut driver, choice);
        let live: Vec<String> = driver.run.wants().attempts.iter().map(ToString::to_string).collect();
        assert_eq!(live, [expected]);
    }
}
