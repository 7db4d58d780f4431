//! Events as text are the events.

use super::*;
use crate::testing::{
    TestStore, answered, attempt, commit, ended, handoff, interrupt, pinned, place, raised, run, settled,
    started, timer_fired, timer_set,
};
use crate::{Commit, ReadError};
use envoi_contract::routing::Signal;
use envoi_kernel::event::{About, Course, EndStatus, Event, Record, Routed};

/// A run with events of many kinds; its second attempt failed.
fn lived() -> (TestStore, Vec<Record>) {
    let place = place();
    let mut failed = settled("b", 1, &[]);
    if let Event::AttemptSettled(settled) = &mut failed {
        settled.ok = false;
    }
    let events = [
        started(&run("a")),
        attempt("a", 1),
        settled("a", 1, &[]),
        handoff("a", 1, "words"),
        timer_set("x"),
        timer_fired("x"),
        attempt("b", 1),
        failed,
        raised("q", About::Review),
        answered("q"),
        ended(EndStatus::Failed),
    ];
    let begun = commit(&run("a"), 0, events);
    let writer = place.store.writer(place.store.take_epoch().unwrap()).unwrap();
    writer.commit(Commit { pinned: Some(pinned()), ..begun }).unwrap();
    let records = place.reader.records(&run("a"), 0, None).unwrap();
    (place, records)
}

fn text(record: &Record) -> EventText {
    let (seq, at, event) = (record.seq, record.at.as_millis(), record.event.kept().unwrap());
    let json = format!("{{\"seq\":{seq},\"at\":{at},\"event\":{event}}}");
    EventText { seq: record.seq, name: record.event.name().to_owned(), json }
}

#[test]
fn a_page_is_the_events_as_they_are_written_from_a_place_on() {
    let (place, records) = lived();
    let whole: Vec<EventText> = records.iter().map(text).collect();
    let story = |from, limit, bytes| {
        place.reader.event_texts(&run("a"), from, limit, bytes, EventFilter::All).unwrap()
    };
    assert_eq!(story(0, 100, usize::MAX), whole);
    assert_eq!(story(3, 2, usize::MAX), whole[3..5]);
    assert_eq!(story(11, 2, usize::MAX), []);
    // A page that is full of bytes ends, and never before its first event.
    assert_eq!(story(0, 100, 1), whole[..1]);
    assert_eq!(story(2, 100, whole[2].json.len()), whole[2..3]);
    assert_eq!(story(2, 100, whole[2].json.len() + 1), whole[2..4]);
    let none = place.reader.event_texts(&run("b"), 0, 1, 1, EventFilter::All);
    assert!(matches!(none, Err(ReadError::Missing { .. })));
    assert_eq!(interrupt("q").as_str(), "int_q");
}

#[test]
fn what_decides_is_all_but_what_went_as_it_was_to_go() {
    let (place, records) = lived();
    let deciding = records.iter().filter(|record| match &record.event {
        Event::AttemptSettled(settled) => !settled.ok,
        Event::RunStarted(_) | Event::AttemptStarted(_) | Event::HandoffWritten(_) | Event::TimerFired(_) => {
            false
        }
        _ => true,
    });
    let expected: Vec<EventText> = deciding.map(text).collect();
    let names: Vec<&str> = expected.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(
        names,
        ["timer_set", "attempt_settled", "interrupt_raised", "interrupt_answered", "run_ended"]
    );
    let story = |from, limit| {
        place.reader.event_texts(&run("a"), from, limit, usize::MAX, EventFilter::Deciding).unwrap()
    };
    assert_eq!(story(0, 100), expected);
    assert_eq!(story(0, 2), expected[..2]);
    assert_eq!(story(expected[1].seq + 1, 2), expected[2..4]);
    let back = |before, limit| {
        let mut texts =
            place.reader.event_texts_back(&run("a"), before, limit, EventFilter::Deciding).unwrap();
        texts.reverse();
        texts
    };
    assert_eq!(back(None, 100), expected);
    assert_eq!(back(None, 2), expected[3..]);
    assert_eq!(back(Some(expected[3].seq), 2), expected[1..3]);
}

#[test]
fn attempts_are_found_by_the_events_that_started_them() {
    let (place, _) = lived();
    let first = AttemptId::parse("a.1.1").unwrap();
    let second = AttemptId::parse("b.1.1").unwrap();
    let listed = |from, limit| place.reader.attempts_started(&run("a"), from, limit).unwrap();
    assert_eq!(listed(0, 9), [(1, first.clone()), (6, second.clone())]);
    assert_eq!(listed(0, 1), [(1, first.clone())]);
    assert_eq!(listed(2, 9), [(6, second.clone())]);
    let back = |before, limit| place.reader.attempts_started_before(&run("a"), before, limit).unwrap();
    assert_eq!(back(None, 9), [(6, second.clone()), (1, first.clone())]);
    assert_eq!(back(None, 1), [(6, second)]);
    assert_eq!(back(Some(6), 9), [(1, first.clone())]);
    assert_eq!(back(Some(1), 9), []);
    assert!(place.reader.has_started(&run("a"), &first).unwrap());
    assert!(!place.reader.has_started(&run("a"), &AttemptId::parse("a.1.2").unwrap()).unwrap());
}

#[test]
fn a_decision_says_why_also_where_the_hand_off_that_follows_has_it() {
    let place = place();
    let why = |text: &str| envoi_contract::json::Value::parse_str(text).unwrap();
    let routed = |step: &str, audit: &str| {
        Event::Routed(Box::new(Routed {
            visit: AttemptId::parse(&format!("{step}.1.1")).unwrap().visit,
            signal: Signal::default(),
            course: Course::Complete,
            audit: why(audit),
            answer: None,
            end: None,
        }))
    };
    let mut written = handoff("a", 1, "words");
    if let Event::HandoffWritten(written) = &mut written {
        written.handoff.routing_audit = why(r#"{"row":"8"}"#);
    }
    let events = [
        started(&run("a")),
        routed("a", "null"),
        written,
        routed("b", r#"{"answer":"go"}"#),
        routed("c", "null"),
    ];
    let writer = place.store.writer(place.store.take_epoch().unwrap()).unwrap();
    writer.commit(Commit { pinned: Some(pinned()), ..commit(&run("a"), 0, events) }).unwrap();
    let audits = |filter| {
        let texts = place.reader.event_texts(&run("a"), 1, 9, usize::MAX, filter).unwrap();
        let audit = |text: EventText| match serde_json::from_str::<Record>(&text.json).unwrap().event {
            Event::Routed(routed) => Some(routed.audit.compact()),
            _ => None,
        };
        texts.into_iter().filter_map(audit).collect::<Vec<_>>()
    };
    assert_eq!(audits(EventFilter::Deciding), [r#"{"row":"8"}"#, r#"{"answer":"go"}"#, "null"]);
    assert_eq!(audits(EventFilter::All), ["null", r#"{"answer":"go"}"#, "null"], "as they are");
}

/// Events hold the output of steps as JSON: it may have any member.
#[test]
fn the_text_of_a_step_is_no_request() {
    let place = place();
    let mut said = settled("a", 1, &[]);
    if let Event::AttemptSettled(said) = &mut said {
        said.data = envoi_contract::json::Value::parse_str(r#"{"request":"req_1"}"#).unwrap();
    }
    let mut answer = answered("q");
    if let Event::InterruptAnswered(answer) = &mut answer {
        answer.request = Some("req_1".to_owned());
    }
    let first = [started(&run("a")), attempt("a", 1), said];
    let writer = place.store.writer(place.store.take_epoch().unwrap()).unwrap();
    writer.commit(Commit { pinned: Some(pinned()), ..commit(&run("a"), 0, first) }).unwrap();
    assert_eq!(place.reader.request_seq(&run("a"), "req_1").unwrap(), None);
    writer.commit(commit(&run("a"), 3, [raised("q", About::Review), answer])).unwrap();
    assert_eq!(place.reader.request_seq(&run("a"), "req_1").unwrap(), Some(4));
    assert!(!place.reader.has_request(&run("a"), "req_2").unwrap());
}
