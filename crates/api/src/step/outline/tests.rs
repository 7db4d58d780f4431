//! The rows of the newest visits are those that all events make.

use super::*;
use crate::step::{StepRow, StepRows};
use envoi_kernel::{Record, Run, ids::AttemptId};
use serde_json::{Value, json};
use std::sync::Arc;

/// Records of every type, as journals have them.
const STORED: &str = include_str!("../../../../kernel/tests/it/stored/records.jsonl");

fn stored() -> Vec<Record> {
    STORED.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn run() -> Run {
    let loaded = envoi_flow::load("flow.yaml", "flow: f\nsteps:\n  - { id: a, run: x }\n").unwrap();
    Run::new(Arc::new(loaded.flow))
}

#[test]
fn what_touches_a_visit_is_what_makes_and_changes_its_row() {
    let run = run();
    let mut touched = BTreeSet::new();
    for record in stored() {
        let kind = record.event.name();
        let mut rows = StepRows::default();
        rows.take_later(&record);
        let begun = rows.all(&run, &|_| false);
        match Touch::of(kind) {
            Some(Touch::Begins) => {
                let visit = subject(&record.event).unwrap();
                assert!(begun.iter().any(|row| row.place == visit.to_string()), "{kind}");
            }
            Some(Touch::Changes) => {
                assert!(begun.is_empty(), "{kind}");
                touched.extend(subject(&record.event).map(|_| kind));
            }
            None => assert!(begun.is_empty() && subject(&record.event).is_none(), "{kind}"),
        }
    }
    assert_eq!(touched.len(), 4, "one of each kind: {touched:?}");
    // An event that changes no row of the visit that it names need not be taken.
    let mut others: Vec<Record> = stored();
    others.retain(|record| Touch::of(record.event.name()).is_none());
    for record in others {
        let named = serde_json::to_value(&record.event).unwrap();
        let Some(visit) = named.get("visit").and_then(|visit| serde_json::from_value(visit.clone()).ok())
        else {
            continue;
        };
        let mut rows = begun(&visit);
        let before = rows.all(&run, &|_| false);
        rows.take_later(&record);
        assert_eq!(rows.all(&run, &|_| false), before, "{}", record.event.name());
    }
}

/// Rows of this visit alone.
fn begun(visit: &VisitId) -> StepRows {
    let mut rows = StepRows::default();
    rows.take_later(&about("attempt_started", visit, 0, 0));
    rows
}

/// An event of this kind about a visit: the `nth` of those that are stored.
fn about(kind: &str, visit: &VisitId, nth: usize, seq: Seq) -> Record {
    let all: Vec<&str> =
        STORED.lines().filter(|line| line.contains(&format!("\"type\":\"{kind}\""))).collect();
    let mut line: Value = serde_json::from_str(all[nth % all.len()]).unwrap();
    line["seq"] = json!(seq);
    line["at"] = json!(1_795_219_200_000_u64 + seq * 10);
    let event = line["event"].as_object_mut().unwrap();
    if event.contains_key("attempt") {
        event["attempt"] = json!(visit.attempt(u32::try_from(nth % 3 + 1).unwrap()).to_string());
    } else {
        event["visit"] = serde_json::to_value(visit).unwrap();
    }
    serde_json::from_value(line).unwrap()
}

/// The same numbers each time.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }
}

/// Events about visits at several depths, in any order; results only of what has begun.
fn lived(random: &mut Random, length: usize) -> Vec<Record> {
    const KINDS: [&str; 8] = [
        "attempt_started",
        "handoff_written",
        "fanned_out",
        "flow_entered",
        "interrupt_raised",
        "attempt_settled",
        "flow_returned",
        "timer_set",
    ];
    const PLACES: [&str; 7] = ["a", "0.a", "1.a", "a.1.b", "0.a.2.b", "0.a.2.3.b", "c"];
    let mut begun = BTreeSet::new();
    let mut records = Vec::new();
    while records.len() < length {
        let place = PLACES[random.below(PLACES.len())];
        let visit = AttemptId::parse(&format!("{place}.{}.1", random.below(6) + 1)).unwrap().visit;
        let kind = KINDS[random.below(KINDS.len())];
        if Touch::of(kind) == Some(Touch::Begins) {
            begun.extend(wholes(&visit));
        } else if !begun.contains(&visit) {
            continue;
        }
        let seq = Seq::try_from(records.len()).unwrap();
        records.push(about(kind, &visit, random.below(12), seq));
    }
    records
}

/// The newest rows and those that they are part of, of all events.
fn of_all(records: &[Record], run: &Run, most: usize) -> (Vec<StepRow>, usize) {
    let mut rows = StepRows::default();
    records.iter().for_each(|record| rows.take(record));
    let all = rows.all(run, &|_| false);
    let newest = &all[all.len().saturating_sub(most)..];
    let mut shown = BTreeSet::new();
    for row in newest {
        let mut next = Some(row.place.clone());
        while let Some(place) = next {
            next = all.iter().find(|row| row.place == place).unwrap().part_of.clone();
            shown.insert(place);
        }
    }
    let earlier = all.len() - shown.len();
    (all.into_iter().filter(|row| shown.contains(&row.place)).collect(), earlier)
}

/// The same, of few of them.
fn of_few(records: &[Record], run: &Run, most: usize) -> (Vec<StepRow>, usize) {
    let mut outline = Outline::default();
    for record in records.iter().rev() {
        if let Some((touch, visit)) = Touch::of(record.event.name()).zip(subject(&record.event)) {
            outline.take_back(record.seq, touch, visit);
        }
    }
    let newest = outline.newest(most);
    let mut rows = StepRows::default();
    let is_needed = |record: &&Record| record.seq >= newest.from || newest.before.contains(&record.seq);
    records.iter().filter(is_needed).for_each(|record| rows.take_later(record));
    let all = rows.all(run, &|_| false).into_iter();
    (all.filter(|row| newest.visits.contains(&row.id())).collect(), newest.earlier)
}

#[test]
fn the_newest_rows_are_the_same_of_few_events_as_of_all() {
    let run = run();
    let mut random = Random(20_261_129);
    let mut cut = 0;
    for case in 0..150 {
        let length = 1 + random.below(60);
        let records = lived(&mut random, length);
        for most in 1..=25 {
            let few = of_few(&records, &run, most);
            cut += usize::from(few.1 > 0);
            assert_eq!(few, of_all(&records, &run, most), "case {case}, {most} of {length} events");
        }
    }
    assert!(cut > 500, "{cut}");
    assert_eq!(of_few(&[], &run, 3), (Vec::new(), 0));
}
