//! A snapshot is read as it was written, or not at all: then the events are replayed.

use crate::{
    driver::{Driver, person},
    flows::{With as _, ask, bounded, bounded_graph, critic, flow, limits, step},
};
use envoi_kernel::{Input, Run, event::Choice};
use serde_json::Value;
use std::sync::Arc;

pub(crate) fn snapshot(driver: &Driver) -> Value {
    serde_json::from_slice(&driver.run.snapshot().unwrap()).unwrap()
}

fn restored(driver: &Driver, snapshot: &Value) -> Option<Run> {
    Run::restore(Arc::clone(driver.run.flow()), &serde_json::to_vec(snapshot).unwrap()).ok()
}

/// Runs in different states, so that most members have a value that is not their default.
pub(crate) fn lived() -> Vec<Driver> {
    let mut retried =
        Driver::started(&bounded(limits(&[("llm_calls", "9")]), [step("a").tries(3), step("b")]));
    retried.exit("a.1.1", 1);
    let mut approved = Driver::started(&flow([step("a"), ask("b"), step("c")]));
    approved.exit("a.1.1", 0);
    let mut live = approved.clone();
    live.say(live.answer(Choice::Approve, "bob")).unwrap();
    let mut cancelling = live.clone();
    cancelling.ok(Input::Cancel { by: person("bob") });
    // The third of three steps side by side comes to a bound while the others are live.
    let three = [step("a"), step("b"), step("c")];
    let mut stopping = Driver::started(&bounded_graph(limits(&[("agent_hops", "2")]), three));
    stopping.ok(Input::SlotFree);
    assert!(snapshot(&stopping)["control"]["stopping"].is_object());
    let mut ended = Driver::started(&flow([step("a")]));
    ended.exit("a.1.1", 1);
    vec![retried, approved, live, cancelling, stopping, ended]
}

#[test]
fn a_snapshot_of_another_version_is_not_read_and_one_without_a_version_is_of_the_first() {
    for driver in lived() {
        let mut kept = snapshot(&driver);
        assert_eq!(kept["version"], 3);
        for (version, is_read) in [(0, false), (1, false), (2, false), (3, true), (4, false)] {
            kept["version"] = version.into();
            let found = restored(&driver, &kept);
            assert_eq!(found.as_ref(), Some(&driver.run).filter(|_| is_read), "{version}");
        }
        // The first one lacks how long the run has waited for accounts.
        kept.as_object_mut().unwrap().remove("version");
        assert_eq!(restored(&driver, &kept), None);
    }
}

/// The names of members at each place; names that are data, such as steps and paths, are among them.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => members.iter().for_each(|(name, member)| {
            let place = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
            places(member, &place, found);
            found.push(place);
        }),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(n, item)| places(item, &format!("{at}/{n}"), found));
        }
        _ => {}
    }
}

/// Members of events, which decode as old journals need it, and of the envelope, which keeps what it does not know.
fn is_of_others(place: &str) -> bool {
    let others = [
        "/envelope",
        "/control/started/",
        "/control/stopping/",
        "/control/ended/",
        "/control/top/failing/",
        "/control/interrupts/",
        "/plan/",
        "/Settled/",
        "/Answered/",
    ];
    others.iter().any(|part| place.contains(part))
}

#[test]
fn a_member_under_another_name_is_never_taken_for_one_that_is_missing() {
    let mut looked_at = 0;
    for driver in lived() {
        let kept = snapshot(&driver);
        let mut found = Vec::new();
        places(&kept, "", &mut found);
        for place in found.iter().filter(|place| !is_of_others(place)) {
            let (parent, name) = place.rsplit_once('/').unwrap();
            let mut renamed = kept.clone();
            let members = renamed.pointer_mut(parent).unwrap().as_object_mut().unwrap();
            let Some(value) = members.remove(name) else { continue };
            members.insert(format!("{name}_x"), value);
            looked_at += 1;
            // A name that is data may be any other; then it is still there.
            if let Some(run) = restored(&driver, &renamed) {
                let again: Value = serde_json::from_slice(&run.snapshot().unwrap()).unwrap();
                assert!(again.pointer(&format!("{place}_x")).is_some(), "{place} was lost in silence");
            }
        }
    }
    assert!(looked_at > 100, "{looked_at}");
}

/// Snapshots of earlier versions of this crate kept the person who cancelled a run, and its pending end, beside its end.
#[test]
fn of_an_end_and_what_led_to_it_the_end_counts() {
    let [.., cancelling, stopping, ended] = &lived()[..] else { panic!("three are being ended or over") };
    let by = snapshot(cancelling)["control"]["cancelling"].clone();
    let end = snapshot(stopping)["control"]["stopping"].clone();
    let mut kept = snapshot(ended);
    kept["control"]["stopping"] = end.clone();
    assert_eq!(restored(ended, &kept).as_ref(), Some(&ended.run));
    kept["control"]["cancelling"] = by;
    assert_eq!(restored(ended, &kept).as_ref(), Some(&ended.run));
    let mut kept = snapshot(cancelling);
    kept["control"]["stopping"] = end;
    assert_eq!(restored(cancelling, &kept).as_ref(), Some(&cancelling.run), "it was stopped, then cancelled");
}

#[test]
fn a_run_that_has_not_started_is_not_ended() {
    for driver in &lived()[3..] {
        let mut kept = snapshot(driver);
        kept["control"]["started"] = Value::Null;
        let refused = Run::restore(Arc::clone(driver.run.flow()), &serde_json::to_vec(&kept).unwrap());
        let expected = "the snapshot cannot be read or written: it is of a run that ends and has not started";
        assert_eq!(refused.unwrap_err().to_string(), expected);
    }
}

#[test]
fn what_decides_is_kept_apart_and_neither_snapshot_is_taken_for_the_other() {
    for driver in lived() {
        let flow = || Arc::clone(driver.run.flow());
        let whole = snapshot(&driver);
        let control = driver.run.control_snapshot().unwrap();
        let mut expected = whole.clone();
        expected.as_object_mut().unwrap().retain(|name, _| name == "version" || name == "control");
        assert_eq!(serde_json::from_slice::<Value>(&control).unwrap(), expected);
        let deciding = Run::restore_control(flow(), &control).unwrap();
        assert_eq!(deciding.wants(), driver.run.wants());
        assert_eq!(deciding.status(), driver.run.status());
        assert_eq!(
            deciding.decide(Input::SlotFree, crate::driver::slot(), driver.now),
            driver.run.decide(Input::SlotFree, crate::driver::slot(), driver.now)
        );
        // A run without its view would show an almost empty envelope.
        assert!(deciding.snapshot().is_err());
        assert!(Run::restore(flow(), &control).is_err());
        assert!(Run::restore_control(flow(), &serde_json::to_vec(&whole).unwrap()).is_err());
    }
}

#[test]
fn a_run_is_shown_without_its_envelope_as_with_it() {
    for driver in lived() {
        let flow = || Arc::clone(driver.run.flow());
        let whole = snapshot(&driver);
        let shown = Run::restore_without_envelope(flow(), &driver.run.snapshot().unwrap()).unwrap();
        assert_eq!(shown.control_snapshot(), driver.run.control_snapshot());
        assert_eq!(shown.ledger_by_step(), driver.run.ledger_by_step());
        assert!(shown.snapshot().is_err(), "its envelope says next to nothing");
        // It is not looked at, but it has to be there.
        for (envelope, is_read) in [(Some(Value::from("damaged")), true), (None, false)] {
            let mut other = whole.clone();
            let members = other.as_object_mut().unwrap();
            members.remove("envelope");
            members.extend(envelope.map(|envelope| ("envelope".to_owned(), envelope)));
            let other = serde_json::to_vec(&other).unwrap();
            assert_eq!(Run::restore_without_envelope(flow(), &other).is_ok(), is_read);
            assert!(Run::restore(flow(), &other).is_err());
        }
    }
}

/// The reason for two parts: the envelope has a line for each attempt, the deciding state has none.
#[test]
fn what_decides_does_not_grow_with_the_rounds_of_a_loop() {
    let rounds = |count: u32| {
        let mut driver = Driver::started(&flow([critic("poll", "poll", 9_999)]));
        for round in 1..=count {
            driver.exit(&format!("poll.{round}.1"), 1);
        }
        (driver.run.control_snapshot().unwrap().len(), driver.run.snapshot().unwrap().len())
    };
    let (few, few_whole) = rounds(10);
    let (many, many_whole) = rounds(60);
    assert!(many < few + 200, "{few} bytes after 10 rounds, {many} after 60");
    assert!(many_whole > few_whole + 5_000, "{few_whole}, {many_whole}");
}
