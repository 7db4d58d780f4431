//! The stored forms of this crate keep their names: records in a journal and snapshots of a run.
//!
//! `stored/records.jsonl` holds records of every kind of event: those of random runs, and some written by hand for what they do not reach.
//! That is version 1 of their form; `stored/kept.jsonl` has the same events in version 2, a line for each.
//! `stored/snapshots.json` holds the snapshots of three runs. A field that is renamed in the code and not in `serde` fails here. To add
//! a new event or member: `ENVOI_STORED=write cargo test -p envoi-kernel stored`, and look at the difference: lines may
//! be added, none may change.

#![expect(
    clippy::disallowed_methods,
    reason = "a test reads its fixtures, and writes them when a person wants it"
)]

use crate::{
    properties::live,
    random::{flows, turns},
    random_graphs::{busy_turns, graphs},
    snapshots::{lived, snapshot},
};
use envoi_contract::routing::{Decision, Signal};
use envoi_kernel::{Event, Record};
use proptest::{
    strategy::{Strategy as _, ValueTree as _},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use serde_json::Value;
use std::{collections::BTreeSet, fs, path::PathBuf};

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/stored").join(name)
}

fn is_to_be_written() -> bool {
    std::env::var("ENVOI_STORED").is_ok_and(|value| value == "write")
}

/// The members of a value with their places, below the name of its event.
fn members(value: &Value, place: &str, into: &mut BTreeSet<String>) {
    // The names in these objects are data: steps, files, inputs.
    let is_data = ["env", "inputs", "artifacts", "data", "metrics", "unknown", "evidence", "audit", "lists"];
    match value {
        Value::Object(_) if is_data.iter().any(|data| place.ends_with(data)) => {}
        Value::Object(object) => {
            for (name, member) in object {
                members(member, &format!("{place}/{name}"), into);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| members(item, &format!("{place}[]"), into)),
        _ => {}
    }
    into.insert(place.to_owned());
}

fn members_of(record: &Record) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    members(&serde_json::to_value(record).unwrap(), record.event.name(), &mut found);
    found
}

/// Random runs, always the same: of each kind of event the first record, and each one with a member that none before it has.
fn sample() -> Vec<Record> {
    let config = Config { failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let mut seen = BTreeSet::new();
    let mut sample = Vec::new();
    for round in 0..400 {
        let (flow, turns) = if round % 2 == 0 {
            (flows(), turns()).new_tree(&mut runner).unwrap().current()
        } else {
            (graphs(), busy_turns()).new_tree(&mut runner).unwrap().current()
        };
        for record in live(&flow, &turns, |_, _, _| {}).records {
            let found = members_of(&record);
            if !found.is_subset(&seen) {
                seen.extend(found);
                sample.push(record);
            }
        }
    }
    sample
}

/// Adds those records to the file that have a member that it does not know.
fn add_new_members(sample: &[Record]) {
    let path = file("records.jsonl");
    let mut stored = fs::read_to_string(&path).unwrap_or_default();
    let mut known: BTreeSet<String> =
        stored.lines().flat_map(|line| members_of(&serde_json::from_str(line).unwrap())).collect();
    for record in sample {
        let found = members_of(record);
        if !found.is_subset(&known) {
            known.extend(found);
            stored.push_str(&serde_json::to_string(record).unwrap());
            stored.push('\n');
        }
    }
    fs::write(path, stored).unwrap();
}

#[test]
fn a_stored_record_reads_and_writes_as_it_was() {
    let now = sample();
    if is_to_be_written() {
        add_new_members(&now);
    }
    let stored = fs::read_to_string(file("records.jsonl")).unwrap();
    let mut known = BTreeSet::new();
    for line in stored.lines() {
        let record: Record = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(serde_json::to_string(&record).unwrap(), line);
        known.extend(members_of(&record));
    }
    let written: BTreeSet<String> = now.iter().flat_map(members_of).collect();
    let new: Vec<_> = written.difference(&known).collect();
    assert!(new.is_empty(), "no stored record has these members: {new:?}");
}

#[test]
fn every_kind_of_event_has_a_stored_record() {
    let stored = fs::read_to_string(file("records.jsonl")).unwrap();
    let stored = stored.lines().map(|line| serde_json::from_str::<Record>(line).unwrap().event);
    let known: BTreeSet<&str> = stored.map(|event| event.name()).collect();
    let missing: Vec<_> = Event::NAMES.iter().filter(|name| !known.contains(*name)).collect();
    assert!(
        missing.is_empty(),
        "write a line by hand for each of {missing:?}: the random runs do not reach them"
    );
}

#[test]
fn an_event_that_was_kept_reads_and_writes_as_it_was() {
    let records = fs::read_to_string(file("records.jsonl")).unwrap();
    let records: Vec<Record> = records.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    if is_to_be_written() {
        let kept: String = records.iter().map(|record| record.event.kept().unwrap() + "\n").collect();
        fs::write(file("kept.jsonl"), kept).unwrap();
    }
    let kept = fs::read_to_string(file("kept.jsonl")).unwrap();
    let kept: Vec<&str> = kept.lines().collect();
    assert_eq!(kept.len(), records.len(), "each event stands in both");
    for (record, line) in records.iter().zip(kept) {
        let event: Event = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(event, record.event, "{line}");
        assert_eq!(record.event.kept().unwrap(), line);
        // An object or a list within a string is left only where a number would come back with another text.
        assert!(!line.contains(":\"{") || line.contains("0.10") || line.contains("1.00"), "{line}");
    }
}

/// Each step's events hold a value that their types refuse to write.
#[test]
fn an_event_that_no_reader_would_take_is_not_kept() {
    let records = fs::read_to_string(file("records.jsonl")).unwrap();
    let first = |name: &str| {
        let found = records.lines().find(|line| line.contains(&format!("\"type\":\"{name}\"")));
        serde_json::from_str::<Record>(found.unwrap()).unwrap().event
    };
    let deep = || (0..200).fold(envoi_contract::json::Value::Null, |value, _| vec![value].into());
    let [mut started, mut settled, mut routed, mut written] =
        ["attempt_started", "attempt_settled", "routed", "handoff_written"].map(first);
    match (&mut started, &mut settled, &mut routed, &mut written) {
        (
            Event::AttemptStarted(started),
            Event::AttemptSettled(settled),
            Event::Routed(routed),
            Event::HandoffWritten(written),
        ) => {
            started.attempt.attempt = 0;
            settled.metrics.insert("deep", deep());
            routed.signal = Signal::new(Decision::Branch, "nowhere", "1.0");
            written.handoff.summary = "x".repeat(2001);
        }
        other => panic!("{other:?}"),
    }
    for event in [started, settled, routed, written] {
        let error = event.kept().unwrap_err().to_string();
        assert!(error.starts_with("could not be read again: "), "{error}");
        // It is right: the general writer refuses it too, or its text cannot be read.
        let text = serde_json::to_string(&event);
        assert!(text.is_err() || serde_json::from_str::<Event>(&text.unwrap()).is_err(), "{}", event.name());
    }
}

#[test]
fn a_snapshot_that_was_stored_is_what_the_same_run_writes() {
    let now: Vec<Value> = lived().iter().map(snapshot).collect();
    if is_to_be_written() {
        fs::write(file("snapshots.json"), serde_json::to_string_pretty(&now).unwrap() + "\n").unwrap();
    }
    let stored: Vec<Value> =
        serde_json::from_str(&fs::read_to_string(file("snapshots.json")).unwrap()).unwrap();
    assert_eq!(now, stored, "a snapshot of another form needs another version");
}
