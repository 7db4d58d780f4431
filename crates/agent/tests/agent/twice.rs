//! Nothing is sent twice, wherever an attempt was killed and whatever became of a connection.

use crate::{
    Visit,
    fake::{
        Act::{Asks, Completes, Errs, Works},
        Agent,
        Line::{BreaksAfter, BreaksBefore, Good, Hangs},
        Ways,
    },
};
use envoi_contract::json::Value;

fn old() -> Ways {
    Ways { version: "0.3", ..Ways::default() }
}

/// As it stands when an attempt was killed after it had noted what it was about to send, and before the reply was noted.
fn killed_while_sending(visit: &Visit) {
    visit.rewrite(|record| {
        for name in ["task", "taken"] {
            record.insert(name, Value::Null);
        }
    });
}

#[test]
fn a_reply_that_was_lost_is_looked_for() {
    let agent = Agent::new(Ways::default(), &[(Completes("ok"), BreaksAfter)]);
    let left = Visit::with(&agent).attempt();
    assert_eq!((left.code(), left.text.as_str(), agent.tasks(), agent.sent().len()), ("ok", "ok", 1, 1));
}

#[test]
fn a_reply_that_does_not_come_is_looked_for() {
    let agent = Agent::new(Ways::default(), &[(Completes("ok"), Hangs)]);
    let mut visit = Visit::with(&agent);
    visit.order.waits.request_ms = 1_000;
    assert_eq!((visit.attempt().code(), agent.tasks(), agent.sent().len()), ("ok", 1, 1));
}

#[test]
fn an_attempt_that_was_killed_while_it_sent_is_taken_up() {
    let agent = Agent::new(Ways::default(), &[(Completes("ok"), Good)]);
    let visit = Visit::with(&agent);
    visit.attempt();
    killed_while_sending(&visit);
    let left = visit.attempt();
    assert_eq!((left.code(), agent.tasks(), agent.sent().len()), ("ok", 1, 1));
}

#[test]
fn an_attempt_that_was_killed_before_it_sent_is_done_by_the_next_under_the_same_id() {
    let agent = Agent::new(Ways::default(), &[(Works, BreaksBefore), (Completes("ok"), Good)]);
    let visit = Visit::with(&agent);
    visit.attempt();
    let noted = visit.record();
    assert_eq!(noted.get("intent").and_then(Value::as_u53), Some(0), "it may have been sent");
    assert_eq!((visit.attempt().code(), agent.tasks()), ("ok", 1));
}

#[test]
fn an_attempt_that_was_killed_while_it_followed_sends_nothing() {
    for ways in [Ways::default(), old()] {
        let agent = Agent::new(ways, &[(Completes("ok"), Good)]);
        let visit = Visit::with(&agent);
        visit.attempt();
        assert_eq!((visit.attempt().code(), agent.sent().len()), ("ok", 1));
    }
}

#[test]
fn an_agent_that_cannot_say_is_not_told_again_unless_a_person_wants_it() {
    for ways in [old(), Ways { lists: false, ..Ways::default() }] {
        let agent = Agent::new(ways, &[(Works, BreaksAfter), (Completes("ok"), Good)]);
        let mut visit = Visit::with(&agent);
        for _ in 0..2 {
            let left = visit.attempt();
            assert_eq!(
                (left.code(), left.agent("said"), agent.sent().len()),
                ("AGENT_UNCLEAR", "unclear", 1)
            );
        }
        visit.order.resend = true;
        assert_eq!((visit.attempt().code(), agent.sent().len()), ("ok", 2));
        let sent = agent.sent();
        assert_eq!(sent[0].text("messageId"), sent[1].text("messageId"));
    }
}

#[test]
fn what_the_agent_refused_was_not_taken_and_may_be_sent() {
    let wrong = Errs(r#"{"code":-32602,"message":"not now"}"#);
    let agent = Agent::new(old(), &[(wrong, Good), (Completes("ok"), Good)]);
    let visit = Visit::with(&agent);
    assert_eq!(visit.attempt().code(), "AGENT_REFUSED");
    assert_eq!((visit.attempt().code(), agent.tasks()), ("ok", 1));
}

#[test]
fn an_answer_whose_reply_was_lost_is_not_given_again() {
    let undated = Ways { dates: false, ..old() };
    for ways in [Ways::default(), old(), undated, Ways { remembers: false, ..Ways::default() }] {
        for then in [Completes("ok"), Asks("which?")] {
            let agent = Agent::new(ways.clone(), &[(Asks("which?"), Good), (then.clone(), BreaksAfter)]);
            let mut visit = Visit::with(&agent);
            visit.attempt();
            let left = visit.said("left").attempt();
            let said = if matches!(then, Asks(_)) { "asks" } else { "" };
            assert_eq!((left.code(), left.agent("said"), agent.sent().len()), ("ok", said, 2), "{then:?}");
        }
    }
}

#[test]
fn an_answer_that_was_not_taken_is_given_by_the_next_attempt() {
    for ways in [Ways::default(), old()] {
        let script = [(Asks("which?"), Good), (Works, BreaksBefore), (Completes("ok"), Good)];
        let agent = Agent::new(ways, &script);
        let mut visit = Visit::with(&agent);
        visit.attempt();
        assert_eq!(visit.said("left").attempt().code(), "AGENT_UNREACHABLE");
        assert_eq!((visit.attempt().code(), agent.sent().len()), ("ok", 2));
    }
}

#[test]
fn where_nothing_tells_an_answer_from_none_a_person_says_so() {
    let ways = Ways { dates: false, remembers: false, ..old() };
    let script = [(Asks("which?"), Good), (Asks("which?"), BreaksAfter), (Completes("ok"), Good)];
    let agent = Agent::new(ways, &script);
    let mut visit = Visit::with(&agent);
    visit.attempt();
    let left = visit.said("left").attempt();
    assert_eq!((left.code(), left.agent("said"), agent.sent().len()), ("AGENT_UNCLEAR", "unclear", 2));
    visit.order.resend = true;
    assert_eq!((visit.attempt().code(), agent.sent().len()), ("ok", 3));
}
