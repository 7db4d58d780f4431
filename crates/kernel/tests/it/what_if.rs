//! The effect of another flow on the texts of a run: each decision separately, in the state of that time.

use crate::{
    driver::{Driver, exited, settled},
    flows::{With as _, branch, critic, flow, step},
    story::feed,
};
use envoi_kernel::{
    Flow, WhatIf,
    event::Course,
    flow::{OnBlocked, OnExhausted, Step},
    what_if,
};
use std::sync::Arc;

fn lived(flow: &Arc<Flow>, inputs: &[&str]) -> Driver {
    let mut driver = Driver::new(flow);
    for input in inputs {
        assert!(!feed(&mut driver, input).contains("refused"), "{input}");
    }
    driver
}

/// Decisions as `visit: then / now`; those that are the same are left out.
fn told(driver: &Driver, other: &Flow) -> Vec<String> {
    let course = |course: &Course| match course {
        Course::Enter(step) => format!("to {step}"),
        Course::LoopBack(step) => format!("back to {step}"),
        other => format!("{other:?}").to_lowercase(),
    };
    let found = what_if(driver.run.versions().clone(), &driver.records, other, &mut |_| None).unwrap();
    let told = found.iter().filter_map(|found| {
        let said = match &found.what_if {
            WhatIf::Same => return None,
            WhatIf::Differs { then, now } => {
                let about = now.about.map(|about| format!(" {about:?}")).unwrap_or_default();
                format!("{} / {}{about}", course(&then.course), course(&now.course))
            }
            WhatIf::Gone { then } => format!("{} / gone", course(&then.course)),
            WhatIf::Unknown => "unknown".to_owned(),
        };
        Some(format!("{}: {said}", found.visit))
    });
    told.collect()
}

/// Decided by its text, not by its exit code.
fn reads(step: Step) -> Step {
    step.with(|step| step.routing.status_from_exit.clear())
}

#[test]
fn every_decision_that_would_differ_is_found_and_no_other() {
    let old = flow([step("write"), reads(critic("look", "write", 2)), step("end")]);
    let says = |visit: u32, status: &str| format!("look.{visit}.1 says Status: {status}");
    let (first, second, third) = (says(1, "UNVERIFIED"), says(2, "UNVERIFIED"), says(3, "VERIFIED"));
    let inputs = [
        "start",
        "write.1.1 exit 0",
        &first,
        "write.2.1 exit 0",
        &second,
        "write.3.1 exit 0",
        &third,
        "end.1.1 exit 0",
    ];
    let driver = lived(&old, &inputs);
    let look = |max| reads(critic("look", "write", max));
    let content = |values: &[&str]| {
        let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
        look(2).with(|step| step.routing.success_values = values)
    };
    let with = |look: Step| flow([step("write"), look, step("end")]);
    let rows: [(&str, Arc<Flow>, &[&str]); 8] = [
        ("the same flow", old.clone(), &[]),
        ("one round more", with(look(3)), &[]),
        ("one round less", with(look(1)), &["look.2: back to write / hold Exhausted"]),
        (
            "one round less, and on",
            with(look(1).exhausted(OnExhausted::Proceed)),
            &["look.2: back to write / to end"],
        ),
        (
            "other words of success",
            with(content(&["UNVERIFIED"])),
            &[
                "look.1: back to write / to end",
                "look.2: back to write / to end",
                "look.3: to end / hold Exhausted",
            ],
        ),
        (
            "another step between",
            flow([step("write"), look(2), step("check"), step("end")]),
            &["look.3: to end / to check"],
        ),
        (
            "the loop goes further back",
            flow([step("plan"), step("write"), reads(critic("look", "plan", 2)), step("end")]),
            &["look.1: back to write / back to plan", "look.2: back to write / back to plan"],
        ),
        (
            "no such step",
            flow([step("write"), step("end")]),
            &[
                "write.1: to look / to end",
                "look.1: back to write / gone",
                "write.2: to look / to end",
                "look.2: back to write / gone",
                "write.3: to look / to end",
                "look.3: to end / gone",
            ],
        ),
    ];
    for (what, other, expected) in rows {
        assert_eq!(told(&driver, &other), expected, "{what}");
    }
}

#[test]
fn hints_and_what_blocks_are_decided_anew() {
    let old = flow([branch("sort", &["one", "two"]), step("one"), step("two")]);
    let driver = lived(&old, &["start", "sort.1.1 says Go to step 'two'", "two.1.1 exit 0"]);
    let other = flow([branch("sort", &["one"]), step("one"), step("two")]);
    assert_eq!(told(&driver, &other), ["sort.1: to two / hold Review"]);
    let words = "poll.1.1 says Status: UNVERIFIED\nCan further iteration help: no";
    let poll = |policy| flow([reads(critic("poll", "poll", 3)).blocked(policy), step("end")]);
    let driver = lived(&poll(OnBlocked::Ask), &["start", words]);
    assert_eq!(told(&driver, &poll(OnBlocked::Fail)), ["poll.1: hold / stop"]);
    assert!(told(&driver, &poll(OnBlocked::Ask)).is_empty());
}

#[test]
fn a_text_that_is_not_kept_is_unknown_and_answers_are_not_looked_at() {
    let old = flow([reads(critic("poll", "poll", 0)), step("end")]);
    let long = format!("{}\nStatus: UNVERIFIED\n{}", "x ".repeat(3_000), "y ".repeat(3_000));
    let unread = Arc::new(Flow { reads_text: false, ..Flow::clone(&old) });
    let mut driver = lived(&unread, &["start", &format!("poll.1.1 says {long}")]);
    feed(&mut driver, "answer proceed");
    let other = flow([reads(critic("poll", "poll", 3)), step("end")]);
    let versions = || driver.run.versions().clone();
    let with = |text: Option<&str>| {
        let mut text_of = |_: &_| text.map(str::to_owned);
        what_if(versions(), &driver.records, &other, &mut text_of).unwrap()
    };
    let found = with(Some(&long));
    assert_eq!(found.len(), 1, "the answer is no text: {found:?}");
    assert!(matches!(found[0].what_if, WhatIf::Differs { .. }), "{found:?}");
    // A kept text that does not lead to the recorded decision proves nothing.
    let found = with(Some("Status: VERIFIED"));
    assert_eq!(found[0].what_if, WhatIf::Unknown);
    let mut driver = Driver::started(&old);
    driver.ok(settled(exited("poll.1.1", 0)));
    assert!(told(&driver, &other).iter().all(|line| !line.contains("unknown")));
}
