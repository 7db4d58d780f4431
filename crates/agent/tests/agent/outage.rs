//! Tests that an attempt waits for an agent that cannot be reached for a while, and that no message is lost.

use crate::{
    Visit,
    fake::{
        Act::{Asks, Completes, Errs, Works},
        Agent,
        Line::{Good, TakesLate},
        Ways,
    },
};

const AWAY: [&str; 6] = [
    "503 Service Unavailable",
    "404 Not Found",
    "302 Found",
    "401 Unauthorized",
    "429 Too Many Requests",
    "502 Bad Gateway",
];

#[test]
fn a_task_is_followed_through_whatever_stands_before_the_agent_meanwhile() {
    let agent = Agent::new(Ways::default(), &[(Works, Good)]);
    let visit = Visit::with(&agent);
    let watching = agent.clone();
    let follows = std::thread::spawn(move || {
        watching.wait_for("GetTask", 1);
        watching.goes_on(0, Completes("done"));
        watching.is_away(&AWAY);
    });
    let left = visit.attempt();
    follows.join().unwrap();
    assert_eq!((left.code(), agent.sent().len()), ("ok", 1));
}

#[test]
fn an_outage_is_tolerated_as_long_as_the_step_may_take_and_refusals_for_less() {
    for status in ["503 Service Unavailable", "404 Not Found"] {
        let agent = Agent::new(Ways::default(), &[(Works, Good)]);
        let mut visit = Visit::with(&agent);
        let timeouts = &mut visit.order.timeouts;
        match status {
            "404 Not Found" => timeouts.refusal_ms = 0,
            _ => timeouts.outage_ms = 0,
        }
        let watching = agent.clone();
        let follows = std::thread::spawn(move || {
            watching.wait_for("SendMessage", 1);
            watching.is_away(&[status; 1_000]);
        });
        let left = visit.attempt();
        follows.join().unwrap();
        assert_eq!(left.code(), "AGENT_UNREACHABLE", "{status}");
        assert!(left.message().contains("task task-1 may still go on there"), "{}", left.message());
    }
}

#[test]
fn an_answer_waits_for_an_agent_that_is_away() {
    let agent = Agent::new(Ways::default(), &[(Asks("which?"), Good), (Completes("that one"), Good)]);
    let mut visit = Visit::with(&agent);
    visit.attempt();
    agent.is_away(&AWAY);
    let left = visit.said("left").attempt();
    assert_eq!((left.code(), left.text.as_str(), agent.sent().len()), ("ok", "that one", 2));
}

#[test]
fn an_answer_that_was_certainly_not_taken_is_sent_when_the_agent_is_there_again() {
    let agent = Agent::new(Ways::default(), &[(Asks("which?"), Good), (Completes("that one"), Good)]);
    let mut visit = Visit::with(&agent);
    visit.attempt();
    // The poll succeeds, and the sending fails.
    agent.is_away(&["", "429 Too Many Requests", "", "425 Too Early"]);
    let left = visit.said("left").attempt();
    assert_eq!((left.code(), left.text.as_str(), agent.sent().len()), ("ok", "that one", 2));
}

#[test]
fn the_reason_of_a_wrong_answer_is_sent_until_the_agent_is_there() {
    let wrong = Errs(r#"{"code":-32602,"message":"a number, please"}"#);
    let agent = Agent::new(Ways::default(), &[(Asks("how many?"), Good), (wrong, Good)]);
    let mut visit = Visit::with(&agent);
    visit.attempt();
    agent.is_away(&["", "", "502 Bad Gateway", "503 Service Unavailable"]);
    let left = visit.said("many").attempt();
    assert_eq!(
        (left.agent("said"), left.agent("question")),
        ("asks", "The agent did not take the answer: a number, please (-32602)\n\nhow many?")
    );
}

#[test]
fn a_person_is_asked_about_a_message_while_the_agent_is_away() {
    let agent = Agent::new(Ways::default(), &[(Works, TakesLate(10_000)), (Completes("ok"), Good)]);
    let mut visit = Visit::with(&agent);
    (visit.order.timeouts.reply_ms, visit.order.timeouts.outage_ms) = (2_000, 3_600_000);
    let watching = agent.clone();
    let away = std::thread::spawn(move || {
        watching.wait_for("SendMessage", 1);
        watching.is_away(&["503 Service Unavailable"; 10_000]);
    });
    visit.order.timeouts.in_flight_ms = 60_000;
    let left = visit.attempt();
    away.join().unwrap();
    assert_eq!((left.code(), left.agent("said")), ("AGENT_UNCLEAR", "unclear"));
    assert!(left.message().contains("503"), "{}", left.message());
}
