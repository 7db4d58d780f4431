//! The exact bytes of the notice for each kind of event.

use super::*;
use envoi_contract::time::Timestamp;
use envoi_journal::{
    Chain, Commit, Delivery, EventFilter, Layout, Store,
    conformance::{commit, ended, interrupted, run, started, timer_set},
};
use envoi_kernel::event::InterruptExpired;

/// The notices of a run: a question, its expiry, the end of the run, and an event without notices.
fn told() -> Vec<Result<Notice, NotPrepared>> {
    told_of(question())
}

fn told_of(question: Event) -> Vec<Result<Notice, NotPrepared>> {
    told_with_lines(question).0
}

/// The notices, and the lines of the events.
fn told_with_lines(question: Event) -> (Vec<Result<Notice, NotPrepared>>, Vec<String>) {
    told_with_page(question, None)
}

fn told_with_page(question: Event, page: Option<&str>) -> (Vec<Result<Notice, NotPrepared>>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(Layout::new(folder.path())).unwrap();
    let writer = store.writer(store.take_epoch().unwrap()).unwrap();
    let run = run("1").unwrap();
    let expired = Event::InterruptExpired(InterruptExpired { interrupt: InterruptId::new("int_q").unwrap() });
    let events = [started(&run).unwrap(), question, expired, ended(), timer_set("x").unwrap()];
    let to = |(seq, kind)| Delivery { seq, kind, id: format!("evt_1_{seq}"), target: String::new() };
    let kinds = [(1, Moment::Question), (2, Moment::Expiry), (3, Moment::End), (4, Moment::End)];
    let deliveries = kinds.map(to).into();
    writer.commit(Commit { deliveries, ..commit(&run, 0, events) }).unwrap();
    let reader = store.reader().unwrap();
    let rows = reader.due_deliveries(Timestamp::from_millis(9_000), 9).unwrap();
    let how: fn(&RunId, &InterruptRaised) -> String =
        |run, raised| format!("answer {run} {}", raised.interrupt);
    let lines = reader.event_texts(&run, 0, 99, usize::MAX, EventFilter::All).unwrap();
    let told = rows.iter().map(|row| compose(&reader, row, how, page)).collect();
    (told, lines.into_iter().map(|text| text.json).collect())
}

/// A question that expires.
fn question() -> Event {
    let mut event = interrupted("q").unwrap();
    if let Event::InterruptRaised(raised) = &mut event {
        raised.expires_at = Some(Timestamp::from_millis(2_000));
    }
    event
}

#[test]
fn a_question_says_what_is_asked_and_how_to_answer() {
    let notice = told().remove(0).unwrap();
    assert_eq!(
        notice.event.to_json(),
        "{\"specversion\":\"1.0\",\"id\":\"evt_1_1\",\"source\":\"/envoi/runs/run_1\",\
         \"type\":\"dev.envoi.question.raised\",\"subject\":\"int_q\",\"time\":\"1970-01-01T00:00:01.000Z\",\
         \"datacontenttype\":\"application/json\",\"data\":{\"kind\":\"question\",\"run\":\"run_1\",\"flow\":\"sample\",\
         \"step\":\"step\",\"interrupt\":\"int_q\",\"about\":\"review\",\"question\":\"go on?\",\
         \"answer\":\"answer run_1 int_q\",\"expires_at\":\"1970-01-01T00:00:02.000Z\",\"status\":\"waiting\"}}"
    );
    let variables = [
        ("ENVOI_NOTICE_ID", "evt_1_1"),
        ("ENVOI_NOTICE", "question"),
        ("ENVOI_RUN_ID", "run_1"),
        ("ENVOI_FLOW", "sample"),
        ("ENVOI_STEP", "step"),
        ("ENVOI_INTERRUPT", "int_q"),
        ("ENVOI_QUESTION", "go on?"),
        ("ENVOI_STATUS", "waiting"),
        ("ENVOI_HEAD", ""),
        ("ENVOI_LINK", ""),
    ];
    assert_eq!(notice.variables, variables.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

#[test]
fn the_notice_of_an_expired_question_has_its_text() {
    let notice = told().remove(1).unwrap();
    assert_eq!(
        notice.event.to_json(),
        "{\"specversion\":\"1.0\",\"id\":\"evt_1_2\",\"source\":\"/envoi/runs/run_1\",\
         \"type\":\"dev.envoi.question.expired\",\"subject\":\"int_q\",\"time\":\"1970-01-01T00:00:02.000Z\",\
         \"datacontenttype\":\"application/json\",\"data\":{\"kind\":\"expiry\",\"run\":\"run_1\",\"flow\":\"sample\",\
         \"step\":\"step\",\"interrupt\":\"int_q\",\"about\":\"review\",\"question\":\"go on?\",\"expires_at\":\"1970-01-01T00:00:02.000Z\",\"status\":\"expired\"}}"
    );
}

#[test]
fn an_end_says_how_and_why_and_by_what_its_events_are_known() {
    let (mut told, lines) = told_with_lines(question());
    let notice = told.remove(2).unwrap();
    // The end is followed by one event.
    let mut chain = Chain::of(&run("1").unwrap());
    lines.iter().take(4).for_each(|line| chain.add(line.as_bytes()));
    let head = chain.head().to_string();
    assert!(notice.variables.contains(&("ENVOI_HEAD".to_owned(), head.clone())));
    assert_eq!(
        notice.event.to_json().replace(&head, "HEAD"),
        "{\"specversion\":\"1.0\",\"id\":\"evt_1_3\",\"source\":\"/envoi/runs/run_1\",\"type\":\"dev.envoi.run.ended\",\
         \"subject\":\"run_1\",\"time\":\"1970-01-01T00:00:03.000Z\",\"datacontenttype\":\"application/json\",\
         \"data\":{\"kind\":\"end\",\"run\":\"run_1\",\"flow\":\"sample\",\"status\":\"succeeded\",\
         \"terminal_reason\":\"completed\",\"reason\":\"every step is done\",\
         \"head\":\"HEAD\"}}"
    );
}

#[test]
fn where_the_page_is_known_each_leads_to_its_question_or_its_run() {
    let (told, _) = told_with_page(question(), Some("https://envoi.example:8443"));
    for (notice, place) in told.into_iter().zip(["q/int_q", "q/int_q", "r/run_1"]) {
        let notice = notice.unwrap();
        let link = format!("https://envoi.example:8443/#/{place}");
        assert_eq!(notice.event.data.get("link").and_then(Value::as_str), Some(link.as_str()));
        assert!(notice.variables.contains(&("ENVOI_LINK".to_owned(), link)));
    }
}

#[test]
fn each_is_of_the_run_s_trace_and_of_the_visit_that_asks_or_of_the_run_as_it_ended() {
    let run = run("1").unwrap();
    let Event::RunStarted(begun) = started(&run).unwrap() else { panic!() };
    let Event::InterruptRaised(raised) = question() else { panic!() };
    let trace = Trace::of(&begun);
    let visit = trace.traceparent(Of::Visit(&raised.visit));
    // The expiry of the question has started a new stretch of activity.
    let stretch = trace.traceparent(Of::Stretch(2));
    let told: Vec<_> = told().into_iter().filter_map(|notice| Some(notice.ok()?.trace)).collect();
    assert_eq!(told, [Some(visit), Some(visit), Some(stretch)]);
}

#[test]
fn an_event_without_notices_is_refused_by_its_name() {
    assert_eq!(told().remove(3).unwrap_err().to_string(), "there is no notice of `timer_set`");
}

#[test]
fn a_variable_has_a_length_that_every_system_takes() {
    let mut event = question();
    if let Event::InterruptRaised(raised) = &mut event {
        raised.question = format!("a\0b{}", "ä".repeat(200_000));
    }
    let notice = told_of(event).remove(0).unwrap();
    let (_, question) = notice.variables.iter().find(|(name, _)| name == "ENVOI_QUESTION").unwrap();
    assert!(question.starts_with("abä") && question.chars().count() == 4_000);
    assert!(notice.event.to_json().len() > 400_000);
}
