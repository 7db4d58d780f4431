//! `files: restore`: a step that is done again begins with the files that it began with the first time.

use crate::{
    driver::{Driver, doubtful, exited, settled},
    flows::{With as _, critic, flow, step},
    story::feed,
};
use envoi_contract::{code::Code, digest::Digest, json::Value};
use envoi_kernel::{
    Flow, Input, Refusal, SET_BACK,
    event::{FilesSetBack, Isolated, Snapshot},
    flow::{FilesAgain, InDoubtPolicy, Step},
    input::AttemptResult,
};
use std::sync::Arc;

fn digest(word: &str) -> Digest {
    Digest::of(word.as_bytes())
}

fn restoring(name: &str) -> Step {
    step(name).with(|step| {
        step.files = FilesAgain::Restore;
        step.on_in_doubt = InDoubtPolicy::Rerun;
    })
}

/// A run with a tree of its own.
pub(crate) fn isolated(flow: &Arc<Flow>) -> Driver {
    let mut driver = Driver::new(flow);
    let Input::Start(mut start) = driver.start() else { unreachable!() };
    let isolated = Isolated {
        of: "/project".to_owned(),
        place: "/trees/run".to_owned(),
        branch: None,
        head: None,
        base: digest("base"),
        remarks: Vec::new(),
    };
    (start.isolated, start.keep_files) = (Some(Box::new(isolated)), true);
    driver.feed(Input::Start(start)).unwrap();
    driver
}

/// An attempt that began with these files.
fn from(id: &str, code: i32, before: &str) -> Input {
    let before = Some(Snapshot { digest: digest(before), moving: false });
    settled(AttemptResult { workspace_before: before, ..exited(id, code) })
}

/// The files that an attempt is to begin with.
fn set_back(driver: &Driver, id: &str) -> Option<Digest> {
    driver.begun(id).set_back
}

#[test]
fn another_try_begins_with_the_files_of_the_first_one() {
    let mut driver = isolated(&flow([restoring("a").tries(3), step("b").tries(2)]));
    driver.ok(from("a.1.1", 1, "first")).timer_due().ok(from("a.1.2", 1, "first")).timer_due();
    driver.restart();
    driver.ok(from("a.1.3", 0, "first")).ok(from("b.1.1", 1, "later")).timer_due();
    let found = ["a.1.1", "a.1.2", "a.1.3", "b.1.1", "b.1.2"].map(|id| set_back(&driver, id));
    assert_eq!(found, [None, Some(digest("first")), Some(digest("first")), None, None]);
}

#[test]
fn what_is_in_doubt_begins_again_with_the_files_of_the_first_one() {
    let mut driver = isolated(&flow([restoring("a")]));
    let mut evidence = Value::parse_str(r#"{"ran_ms": 5}"#).unwrap().as_object().unwrap().clone();
    evidence.insert("workspace_before".to_owned(), Value::from(digest("first").to_string()));
    let attempt = crate::driver::attempt("a.1.1");
    driver.ok(Input::InDoubt { attempt, evidence: Value::Object(evidence.clone()) });
    assert_eq!(set_back(&driver, "a.1.2"), Some(digest("first")));
    driver.restart();
    let was = FilesSetBack {
        from: digest("half"),
        to: digest("first"),
        folders_gone: Some(digest("folders")),
        late: Vec::new(),
        left: Vec::new(),
    };
    let text = serde_json::to_string(&was).unwrap();
    evidence.insert(SET_BACK.to_owned(), Value::parse_str(&text).unwrap());
    let attempt = crate::driver::attempt("a.1.2");
    driver.ok(Input::InDoubt { attempt, evidence: Value::Object(evidence) });
    assert_eq!(driver.settlement("a.1.2").set_back.as_deref(), Some(&was));
    assert_eq!(set_back(&driver, "a.1.3"), Some(digest("first")));
}

#[test]
fn a_loop_goes_back_to_the_files_with_which_its_step_was_entered() {
    let test = || critic("test", "fix", 5);
    let mut driver = isolated(&flow([step("plan"), restoring("fix"), restoring("build"), test()]));
    driver.ok(from("plan.1.1", 0, "base")).ok(from("fix.1.1", 0, "planned"));
    driver.ok(from("build.1.1", 0, "fixed")).ok(from("test.1.1", 1, "built"));
    driver.restart();
    assert_eq!(set_back(&driver, "fix.2.1"), Some(digest("planned")));
    driver.ok(from("fix.2.1", 0, "planned"));
    assert_eq!(set_back(&driver, "build.2.1"), None, "what `fix` has done stays");
    driver.ok(from("build.2.1", 0, "fixed again")).ok(from("test.2.1", 1, "built again"));
    driver.restart();
    assert_eq!(set_back(&driver, "fix.3.1"), Some(digest("planned")));
}

#[test]
fn a_run_that_a_person_has_repaired_and_resumed_begins_with_the_files_as_they_are() {
    let mut driver = isolated(&flow([restoring("a")]));
    driver.ok(from("a.1.1", 1, "first"));
    feed(&mut driver, "reopen");
    assert_eq!(set_back(&driver, "a.2.1"), None);
}

#[test]
fn files_that_were_not_kept_are_not_gone_back_to_and_the_step_says_so() {
    let moving = Some(Snapshot { digest: digest("first"), moving: true });
    let rows = [(None, Code::FilesNotKept), (moving, Code::FilesMoving)];
    for (before, code) in rows {
        let mut driver = isolated(&flow([restoring("a").tries(2)]));
        driver.ok(settled(AttemptResult { workspace_before: before, ..exited("a.1.1", 1) })).timer_due();
        driver.restart();
        let error = driver.handoff("a.1").error.clone().unwrap_or_default();
        assert!(error.starts_with(code.as_str()), "{error}");
    }
    let mut driver = isolated(&flow([restoring("a")]));
    driver.ok(doubtful("a.1.1", 5));
    let error = driver.handoff("a.1").error.clone().unwrap_or_default();
    assert!(error.starts_with("FILES_NOT_KEPT"), "{error}");
}

#[test]
fn nobodys_own_folder_is_set_back_by_a_flow() {
    let flow = flow([step("a"), restoring("b")]);
    let mut driver = Driver::new(&flow);
    let refused = driver.feed(driver.start());
    assert!(matches!(refused, Err(Refusal::NotIsolated { step, .. }) if step.as_str() == "b"));
}
