//! Tests that the rows of the newest visits equal those from all events.

use super::*;
use crate::step::{StepRow, StepRows, WaitReason};
use envoi_kernel::{
    Record, Run,
    event::{ModelCallEnded, ModelCallStarted},
    ids::AttemptId,
};
use serde_json::{Value, json};
use std::sync::Arc;

/// Stored records of every type.
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

#[test]
fn rows_and_sums_are_made_of_some_kinds_of_events_alone() {
    let mut counted = 0;
    for record in stored() {
        if StepRows::are_made_of(record.event.name()) {
            counted += 1;
            continue;
        }
        // After all events on which others may depend.
        let mut rows = StepRows::default();
        stored().iter().for_each(|record| rows.take_later(record));
        let mut passed = rows.clone();
        passed.pass(record.seq.max(rows.next()).saturating_add(1));
        let later = Record { seq: passed.next().saturating_sub(1), ..record };
        rows.take_later(&later);
        assert_eq!(format!("{rows:?}"), format!("{passed:?}"), "{}", later.event.name());
    }
    assert!(counted >= 10, "the kinds that matter are among them: {counted}");
    assert!(!StepRows::are_made_of("routed") && StepRows::are_made_of(""), "one without a kind may be any");
}

#[test]
fn a_row_says_whose_result_it_has_until_an_attempt_makes_its_own() {
    let run = run();
    let settled = |cached: bool| {
        let mut stored = stored().into_iter().filter_map(|record| match &record.event {
            envoi_kernel::Event::AttemptSettled(settled) if !settled.late => {
                let from = settled.cache.as_ref().and_then(|cache| cache.from.clone());
                (from.is_some() == cached).then_some((settled.attempt.visit.clone(), from, record))
            }
            _ => None,
        });
        stored.next().unwrap()
    };
    let (visit, from, record) = settled(true);
    let mut rows = begun(&visit);
    assert_eq!(rows.all(&run, &|_| false)[0].cached_from, None);
    rows.take_later(&record);
    let row = rows.all(&run, &|_| false).into_iter().find(|row| row.place == visit.to_string()).unwrap();
    let shown = row.cached_from.map(|from| (from.run, from.attempt));
    assert_eq!(shown, from.map(|from| (from.run, from.attempt)));
    assert!(shown.is_some());
    let (visit, _, record) = settled(false);
    let mut rows = begun(&visit);
    rows.take_later(&record);
    assert!(rows.all(&run, &|_| false).iter().all(|row| row.cached_from.is_none()));
}

#[test]
fn a_row_says_when_nothing_worked_on_it() {
    let run = run();
    let visit = AttemptId::parse("a.1.1").unwrap().visit;
    let mut rows = StepRows::default();
    // It works, waits for its next try, works, waits for a person, and works until its end.
    let kinds = ["attempt_started", "timer_set", "attempt_started", "interrupt_raised", "attempt_started"];
    let mut waits = Vec::new();
    for (seq, kind) in (0..).zip(kinds) {
        let mut record = about(kind, &visit, 0, seq * 10);
        if let Event::TimerSet(timer) = &mut record.event {
            timer.account = None;
        }
        rows.take_later(&record);
        let shown = rows.all(&run, &|_| false)[0].waits.clone();
        let of = |at: crate::Time| (at.0.as_millis() - 1_795_219_200_000) / 4_000;
        waits.push(
            shown.iter().map(|wait| (of(wait.from), wait.until.map(of), wait.reason)).collect::<Vec<_>>(),
        );
    }
    let tried = (1, Some(2), WaitReason::NextTry);
    let expected = [
        vec![],
        vec![(1, None, WaitReason::NextTry)],
        vec![tried],
        vec![tried, (3, None, WaitReason::Person)],
        vec![tried, (3, Some(4), WaitReason::Person)],
    ];
    assert_eq!(waits, expected);
    // Waits shorter than a second are not kept. Of many waits the longest are kept.
    for nth in 0..40 {
        rows.take_later(&about("timer_set", &visit, 0, 100 + nth * 10));
        rows.take_later(&about("attempt_started", &visit, 0, 101 + nth * 10 + nth % 8));
    }
    let shown = rows.all(&run, &|_| false)[0].waits.clone();
    let lengths: Vec<i64> =
        shown.iter().map(|wait| wait.until.unwrap().0.as_millis() - wait.from.0.as_millis()).collect();
    assert_eq!(lengths.len(), 16);
    assert!(lengths.iter().all(|length| *length >= 2_400), "{lengths:?}");
}

#[test]
fn a_model_has_what_its_calls_have_used_and_how_many_are_not_known() {
    let mut rows = StepRows::default();
    let stored = |kind: &str| stored().into_iter().find(|record| record.event.name() == kind).unwrap();
    let mut seq = 0;
    let mut take = |rows: &mut StepRows, event: Event| {
        seq += 1;
        rows.take_later(&Record { seq, event, ..stored("model_call_started") });
    };
    let (Event::ModelCallStarted(started), Event::ModelCallEnded(ended)) =
        (stored("model_call_started").event, stored("model_call_ended").event)
    else {
        unreachable!()
    };
    // Each call with its model, and whether its end states the usage. The last one is still in progress.
    for (nth, (model, is_known)) in
        [("small", Some(true)), ("large", Some(true)), ("small", Some(false)), ("large", None)]
            .iter()
            .enumerate()
    {
        let call: envoi_kernel::ids::CallId = serde_json::from_value(json!(format!("call_{nth}"))).unwrap();
        let started = ModelCallStarted { call: call.clone(), model: (*model).to_owned(), ..*started.clone() };
        take(&mut rows, Event::ModelCallStarted(Box::new(started)));
        let Some(is_known) = is_known else { continue };
        let mut ended = ModelCallEnded { call, ..*ended.clone() };
        if !is_known {
            (ended.cost, ended.tokens_in, ended.tokens_out) = (None, None, Some(1));
        }
        take(&mut rows, Event::ModelCallEnded(Box::new(ended)));
    }
    let shown: Vec<_> = rows.by_model().into_iter().map(|of| serde_json::to_value(of).unwrap()).collect();
    let model = |model: &str, calls: u64, unknown: u64, tokens_out: u64| {
        json!({"model": model, "provider": "lab", "llm_calls": calls, "unknown_costs": unknown, "unknown_tokens": unknown,
            "tokens_in": 10, "tokens_out": tokens_out, "cost_usd": "0.70"})
    };
    assert_eq!(shown, [model("large", 2, 0, 2), model("small", 2, 1, 3)]);
    // The usage before a fork belongs to the other run.
    take(&mut rows, stored("run_forked").event);
    assert!(rows.by_model().is_empty());
}

/// Rows with only this visit.
fn begun(visit: &VisitId) -> StepRows {
    let mut rows = StepRows::default();
    rows.take_later(&about("attempt_started", visit, 0, 0));
    rows
}

/// An event of this kind about a visit: the `nth` of the stored ones.
fn about(kind: &str, visit: &VisitId, nth: usize, seq: Seq) -> Record {
    let all: Vec<&str> =
        STORED.lines().filter(|line| line.contains(&format!("\"type\":\"{kind}\""))).collect();
    let mut line: Value = serde_json::from_str(all[nth % all.len()]).unwrap();
    line["seq"] = json!(seq);
    line["at"] = json!(1_795_219_200_000_u64 + seq * 400);
    let event = line["event"].as_object_mut().unwrap();
    if event.contains_key("attempt") {
        event["attempt"] = json!(visit.attempt(u32::try_from(nth % 3 + 1).unwrap()).to_string());
    } else {
        event["visit"] = serde_json::to_value(visit).unwrap();
    }
    serde_json::from_value(line).unwrap()
}

/// A deterministic generator of pseudo-random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }
}

/// Events about visits at several depths, in any order. Results occur only for visits that have begun.
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

/// The newest rows and their ancestors, from all events.
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

/// The same rows, from few events.
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

/// Two flows: a list with a loop, items, an inner flow and a skipped step; and a graph.
const FLOWS: [&str; 2] = [
    "flow: f
limits: { iterations: 40 }
steps:
  - { id: first, run: x, retry: { attempts: 2, backoff: 1s..1s } }
  - { id: skipped, if: 'false', run: x }
  - { id: each, for_each: [p, q, r], max_parallel: 2, flow: ./inner.yaml }
  - { id: ask, ask: 'Go on?' }
  - { id: within, flow: ./inner.yaml }
  - id: last
    run: x
    routing: { kind: microloop, loop_to: first, success_values: [VERIFIED], max_iterations: 30 }
",
    "flow: g
limits: { iterations: 40 }
steps:
  - { id: first, run: x, retry: { attempts: 2, backoff: 1s..1s } }
  - { id: left, needs: [first], for_each: [p, q, r], run: x }
  - { id: right, needs: [first], flow: ./inner.yaml }
  - { id: skipped, needs: [first], if: 'false', run: x }
  - id: last
    needs: [left, right, skipped]
    run: x
    routing: { kind: microloop, loop_to: first, success_values: [VERIFIED], max_iterations: 30 }
",
];

const INNER: &str = "flow: inner\nsteps:\n  - { id: a, run: x }\n  - { id: b, if: 'false', run: x }\n  - { id: c, ask: 'Well?' }\n";

/// Plays a run of this flow, serving its wants in any order.
fn played(text: &str, random: &mut Random, most: usize) -> (Run, Vec<Record>) {
    use envoi_contract::time::Timestamp;
    use envoi_kernel::{
        Input,
        event::Outcome,
        ids::{Principal, RunId},
        input::{Answer, AttemptResult, Slot, Start},
        requester::Requester,
    };
    let parts: std::collections::BTreeMap<_, _> =
        [("inner.yaml".to_owned(), INNER.to_owned())].into_iter().collect();
    let loaded = envoi_flow::load_with("flow.yaml", text, &parts).unwrap();
    let by = Principal { tenant: "local".to_owned(), actor: "ada".to_owned() };
    let start = Start {
        run: RunId::new("run_1").unwrap(),
        inputs: envoi_contract::json::Object::default(),
        source: "/w/flow.yaml".to_owned(),
        workspace: "/w".to_owned(),
        shared: false,
        keep_files: false,
        no_cache: false,
        isolated: None,
        run_base: "/run_1".to_owned(),
        language: loaded.language,
        by: by.clone(),
        yes_to: Vec::new(),
        trace: None,
        env: envoi_contract::json::Object::default(),
        requester: Requester::default(),
        part: None,
    };
    let mut run = Run::new(Arc::new(loaded.flow));
    let mut records: Vec<Record> = Vec::new();
    let mut now = 1_000_000;
    let mut next = Some(Input::Start(Box::new(start)));
    while let Some(input) = next.take().filter(|_| records.len() < most) {
        now += 10;
        let decided = run.decide(input, Some(Slot::new("boot")), Timestamp::from_millis(now)).unwrap();
        decided.iter().for_each(|record| run.apply(record).unwrap());
        records.extend(decided);
        let wants = run.wants();
        let (attempts, questions) = (wants.attempts.len(), wants.interrupts.len());
        let open = attempts + questions;
        next = if !wants.ready.is_empty() && (open == 0 || random.below(3) > 0) {
            Some(Input::SlotFree)
        } else if open == 0 {
            wants.timers.first().map(|(timer, due)| {
                now = now.max(due.as_millis());
                Input::TimerDue { timer: timer.clone() }
            })
        } else {
            let which = random.below(open);
            Some(match wants.attempts.get(which) {
                Some(attempt) => {
                    let code = i32::from(attempt.visit.step.as_str() == "first" && attempt.attempt == 1);
                    let result = AttemptResult::empty(
                        attempt.clone(),
                        Outcome::Exited { code },
                        Timestamp::from_millis(now),
                    );
                    Input::Settled(Box::new(AttemptResult {
                        text: format!("Status: UNVERIFIED\n{}", records.len()),
                        ..result
                    }))
                }
                None => {
                    let id = &wants.interrupts[which - attempts];
                    let raised = run.interrupts().find(|raised| raised.interrupt == *id).unwrap().clone();
                    let choice = run.accepts(&raised)[0];
                    Input::Answer(Box::new(Answer::new(id.clone(), choice, by.clone())))
                }
            })
        };
    }
    (run, records)
}

#[test]
fn enough_of_a_run_is_known_before_all_of_its_events_are_read() {
    let mut random = Random(20_261_129);
    let (mut looks, mut early) = (0, 0);
    for case in 0..12 {
        let (run, records) = played(FLOWS[case % 2], &mut random, 700);
        assert!(records.len() > 300, "case {case}: {} events", records.len());
        for most in [1, 2, 3, 7, 20] {
            let end = records.len() - random.below(40);
            let (expected, others) = of_all(&records[..end], &run, most);
            let mut outline = Outline::default();
            for (left, record) in records[..end].iter().enumerate().rev() {
                if let Some((touch, visit)) = Touch::of(record.event.name()).zip(subject(&record.event)) {
                    outline.take_back(record.seq, touch, visit);
                }
                assert!(Opening::of(&record.event).is_none() || Opening::is_of(record.event.name()));
                Opening::of(&record.event).iter().for_each(|opening| outline.open_back(opening));
                // Checked after each event, because it must never be true too early.
                if !outline.is_enough(most) {
                    continue;
                }
                let newest = outline.newest(most);
                let mut rows = StepRows::default();
                let is_needed =
                    |record: &&Record| record.seq >= newest.from || newest.before.contains(&record.seq);
                records[..end].iter().filter(is_needed).for_each(|record| rows.take_later(record));
                let mut shown = rows.all(&run, &|_| false);
                shown.retain(|row| newest.visits.contains(&row.id()));
                assert_eq!(shown, expected, "case {case}, {most} visits, from event {left} of {end}");
                assert!(others > 0);
                looks += 1;
                early += usize::from(left > end / 2);
                if left % 5 == 0 {
                    break;
                }
            }
        }
    }
    assert!(looks > 100 && early > 20, "{looks} looks, {early} of them in the newer half of a run");
}
