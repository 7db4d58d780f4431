//! A run whose answer is only recorded: nothing of it starts, and its questions lapse all the same.

use super::*;
use crate::model::message::Purpose;
use envoi_kernel::{event::Choice, ids::InterruptId, input::Answer};

const FLOW: &str = "flow: two\nsteps:\n  - id: first\n    ask: First?\n  - id: second\n    ask: {message: Second?, expires_in: 3s}\n  \
                    - id: work\n    run: [work]\n";

/// A run of `flow` from its first events, and the first question that it asks.
fn asking(flow: &str) -> (Run, InterruptId) {
    let loaded = envoi_flow::load("flow.yaml", flow).unwrap();
    let flow = Arc::new(loaded.flow);
    let start = Start {
        source: "/flow.yaml".to_owned(),
        shared: true,
        run_base: "/a".to_owned(),
        by: by(),
        ..crate::model::sample::start(&id("a"), loaded.language)
    };
    let now = Timestamp::from_millis(1_000);
    let records = Run::new(Arc::clone(&flow)).decide(Input::Start(Box::new(start)), None, now).unwrap();
    let run = Run::replay(flow, records).unwrap();
    let first = run.interrupts().next().unwrap().interrupt.clone();
    (run, first)
}

/// Approves the question of `run`; the next steps are not to be started.
fn only_recorded(run: Run, question: InterruptId) -> Message {
    Message::Adopt(Box::new(Adopt {
        corrected: None,
        run,
        inputs: vec![Input::Answer(Box::new(Answer::new(question, Choice::Approve, by())))],
        purpose: Purpose::Decide,
        again: None,
        is_inside: false,
        request: None,
        tail_bytes: 0,
        caller: Arc::new(Caller::default()),
        reply: Box::new(drop),
    }))
}

#[test]
fn the_questions_of_a_run_that_does_not_go_on_lapse_in_time() {
    let (run, first) = asking(FLOW);
    let (mut engine, doings) = engine(1);
    doings.next.borrow_mut().insert(id("a"), run.next_seq());
    engine.handle(only_recorded(run, first));
    engine.handle(durable("a"));
    doings.take();
    assert_eq!(engine.wakes_in(), Some(Duration::from_secs(3)), "the second question lapses");
    doings.at(4_000, 3_000);
    engine.handle(Message::Wake);
    let done = doings.take();
    assert!(done.iter().any(|doing| doing.contains("interrupt_expired")), "{done:?}");
    engine.handle(durable("a"));
    assert!(!doings.take().iter().any(|doing| doing.contains("ensures")), "nothing of it starts");
}

#[test]
fn an_answer_is_only_recorded_although_the_engine_still_holds_the_run_that_asks() {
    const ONE: &str = "flow: one\nsteps:\n  - id: first\n    ask: First?\n  - id: work\n    run: [work]\n";
    let (run, first) = asking(ONE);
    // The question is in the journal, and a client has seen it there, before the loop gets the result of that commit.
    let (mut engine, doings) = engine(1);
    engine.handle(begin_of("a", ONE));
    assert_eq!(doings.take(), ["run_a commits run_started interrupt_raised"]);
    engine.handle(only_recorded(run.clone(), first));
    engine.handle(durable("a"));
    let answered = doings.take();
    let at = |what: &str| answered.iter().position(|doing| doing.contains(what));
    assert!(at("is released") < at("interrupt_answered") && at("is released").is_some(), "{answered:?}");
    engine.handle(durable("a"));
    assert_eq!(doings.take(), [""; 0], "nothing of it starts");
}
