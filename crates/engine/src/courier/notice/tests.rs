//! What is said of each kind of event, to the byte.

use super::*;
use envoi_contract::time::Timestamp;
use envoi_journal::{
    Commit, Delivery, Layout, Store,
    conformance::{commit, ended, interrupted, run, started, timer_set},
};
use envoi_kernel::event::InterruptCancelled;

/// The notices of a run: a question, its end without an answer, the end of the run, and an event that is none.
fn told() -> Vec<Result<Notice, String>> {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(Layout::new(folder.path())).unwrap();
    let writer = store.writer(store.take_epoch().unwrap()).unwrap();
    let run = run("1").unwrap();
    let cancelled =
        Event::InterruptCancelled(InterruptCancelled { interrupt: InterruptId::new("int_q").unwrap() });
    let events =
        [started(&run).unwrap(), interrupted("q").unwrap(), cancelled, ended(), timer_set("x").unwrap()];
    let to = |(seq, kind)| Delivery { seq, kind, id: format!("evt_1_{seq}"), target: String::new() };
    let kinds = [(1, Moment::Question), (2, Moment::Expiry), (3, Moment::End), (4, Moment::End)];
    let deliveries = kinds.map(to).into();
    writer.commit(Commit { deliveries, ..commit(&run, 0, events) }).unwrap();
    let reader = store.reader().unwrap();
    let rows = reader.due_deliveries(Timestamp::from_millis(9_000), 9).unwrap();
    let how: fn(&RunId, &InterruptRaised) -> String =
        |run, raised| format!("answer {run} {}", raised.interrupt);
    rows.iter().map(|row| compose(&reader, row, how)).collect()
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
         \"answer\":\"answer run_1 int_q\",\"status\":\"waiting\"}}"
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
    ];
    assert_eq!(notice.variables, variables.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

#[test]
fn a_question_that_ended_without_an_answer_is_told_with_what_was_asked() {
    let notice = told().remove(1).unwrap();
    assert_eq!(
        notice.event.to_json(),
        "{\"specversion\":\"1.0\",\"id\":\"evt_1_2\",\"source\":\"/envoi/runs/run_1\",\
         \"type\":\"dev.envoi.question.expired\",\"subject\":\"int_q\",\"time\":\"1970-01-01T00:00:02.000Z\",\
         \"datacontenttype\":\"application/json\",\"data\":{\"kind\":\"expiry\",\"run\":\"run_1\",\"flow\":\"sample\",\
         \"step\":\"step\",\"interrupt\":\"int_q\",\"about\":\"review\",\"question\":\"go on?\",\"status\":\"expired\"}}"
    );
}

#[test]
fn an_end_says_how_and_why() {
    let notice = told().remove(2).unwrap();
    assert_eq!(
        notice.event.to_json(),
        "{\"specversion\":\"1.0\",\"id\":\"evt_1_3\",\"source\":\"/envoi/runs/run_1\",\"type\":\"dev.envoi.run.ended\",\
         \"subject\":\"run_1\",\"time\":\"1970-01-01T00:00:03.000Z\",\"datacontenttype\":\"application/json\",\
         \"data\":{\"kind\":\"end\",\"run\":\"run_1\",\"flow\":\"sample\",\"status\":\"succeeded\",\
         \"terminal_reason\":\"completed\",\"reason\":\"every step is done\"}}"
    );
}

#[test]
fn an_event_of_which_nobody_is_told_is_refused_by_its_name() {
    assert_eq!(told().remove(3).unwrap_err(), "nobody is told of `timer_set`");
}
