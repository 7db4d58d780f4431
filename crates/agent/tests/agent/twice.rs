//! Tests that nothing is sent twice, no matter where an attempt was killed or a connection broke.

use crate::{
    Visit,
    fake::{
        Act::{Answers, Asks, Completes, Errs, Works},
        Agent,
        Line::{BreaksAfter, BreaksAndTouches, BreaksBefore, Good, Hangs, RepliesLate, TakesLate},
        Ways,
    },
};
use envoi_contract::json::Value;
use std::{sync::mpsc, thread, time::Duration};

fn old() -> Ways {
    Ways { version: "0.3", ..Ways::default() }
}

/// Sets the record to its state after an attempt was killed between recording the intent and recording the reply.
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
fn a_reply_that_does_not_come_is_looked_for_beside_the_open_request() {
    let agent = Agent::new(Ways::default(), &[(Completes("ok"), Hangs)]);
    let mut visit = Visit::with(&agent);
    (visit.order.timeouts.request_ms, visit.order.timeouts.reply_ms) = (3_000, 90_000);
    let (tell, told) = mpsc::channel();
    thread::spawn(move || drop(tell.send(visit.attempt())));
    let left = told.recv_timeout(Duration::from_secs(60)).expect("it does not wait for the reply");
    assert_eq!((left.code(), agent.tasks(), agent.sent().len()), ("ok", 1, 1));
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
fn what_is_not_there_yet_is_waited_for_and_not_sent_again() {
    for looks in [0, 1, 30] {
        let agent = Agent::new(Ways::default(), &[(Completes("ok"), TakesLate(looks))]);
        let mut visit = Visit::with(&agent);
        visit.order.timeouts.in_flight_ms = 60_000;
        let left = visit.attempt();
        assert_eq!((left.code(), agent.tasks(), agent.sent().len()), ("ok", 1, 1), "{looks}");
    }
    let agent = Agent::new(Ways::default(), &[(Asks("which?"), Good), (Completes("ok"), TakesLate(30))]);
    let mut visit = Visit::with(&agent);
    visit.attempt();
    visit.order.timeouts.in_flight_ms = 60_000;
    assert_eq!((visit.said("left").attempt().code(), agent.sent().len()), ("ok", 2));
}

#[test]
fn what_an_attempt_that_was_killed_has_sent_is_waited_for_by_the_next() {
    let agent = Agent::new(Ways::default(), &[(Completes("ok"), TakesLate(9))]);
    let mut visit = Visit::with(&agent);
    assert_eq!(visit.attempt().code(), "AGENT_UNCLEAR", "its looking was cut short");
    // The message was sent long ago. The search still gives an agent that restarts some time.
    visit.rewrite(|record| drop(record.insert("sent_at", 1_u64.into())));
    visit.order.timeouts.search_ms = 60_000;
    assert_eq!((visit.attempt().code(), agent.tasks(), agent.sent().len()), ("ok", 1, 1));
}

#[test]
fn that_nothing_is_found_is_no_proof_and_a_person_decides() {
    for line in [BreaksBefore, TakesLate(1_000)] {
        let agent = Agent::new(Ways::default(), &[(Works, line), (Completes("ok"), Good)]);
        let mut visit = Visit::with(&agent);
        let heard = usize::from(line != BreaksBefore);
        for _ in 0..2 {
            let left = visit.attempt();
            assert_eq!((left.code(), left.agent("said")), ("AGENT_UNCLEAR", "unclear"));
            let message = left.message();
            assert!(
                message.starts_with("The message was sent at 20") && message.contains("it is not known"),
                "{message}"
            );
            assert_eq!(agent.sent().len(), heard);
        }
        visit.order.resend = true;
        assert_eq!((visit.attempt().code(), agent.sent().len()), ("ok", heard + 1));
    }
}

#[test]
fn a_task_in_a_context_of_the_agents_own_is_found_by_the_message() {
    let ways = Ways { own_contexts: true, ..Ways::default() };
    let agent = Agent::new(ways, &[(Asks("which?"), BreaksAfter), (Completes("ok"), Good)]);
    let mut visit = Visit::with(&agent);
    assert_eq!(visit.attempt().agent("question"), "which?");
    assert_eq!((visit.said("left").attempt().code(), agent.tasks(), agent.sent().len()), ("ok", 1, 2));
    assert_eq!(agent.sent()[1].text("contextId"), "own-task-1");
    let query = agent.heard().into_iter().rfind(|heard| heard.method == "ListTasks").unwrap().params;
    assert!(query.get("contextId").is_none() && query.get("statusTimestampAfter").is_some(), "{query:?}");

    let forgetful = Ways { own_contexts: true, remembers: false, ..Ways::default() };
    let agent = Agent::new(forgetful, &[(Completes("ok"), BreaksAfter)]);
    assert_eq!((Visit::with(&agent).attempt().code(), agent.sent().len()), ("AGENT_UNCLEAR", 1));
}

#[test]
fn a_reply_may_take_as_long_as_the_step() {
    // The reply comes after several searches that found nothing.
    let hidden = Ways { own_contexts: true, remembers: false, ..Ways::default() };
    let agent = Agent::new(hidden, &[(Completes("ok"), RepliesLate(5))]);
    let mut visit = Visit::with(&agent);
    // Each other request has to be answered in this time, too.
    visit.order.timeouts.request_ms = 2_000;
    let left = visit.attempt();
    assert_eq!((left.code(), agent.tasks(), agent.sent().len()), ("ok", 1, 1), "{}", left.message());
}

#[test]
fn only_an_agent_that_does_a_message_once_is_sent_it_again() {
    let once = Some("urn:envoi:a2a:sent-once:v1");
    for extension in [once, Some("urn:other"), None] {
        for ways in [old(), Ways::default()] {
            let agent =
                Agent::new(Ways { extension, ..ways }, &[(Works, BreaksBefore), (Completes("ok"), Good)]);
            let mut visit = Visit::with(&agent);
            visit.order.timeouts.search_ms = 200;
            let code = if extension == once { "ok" } else { "AGENT_UNCLEAR" };
            assert_eq!(visit.attempt().code(), code, "{extension:?}");
            assert_eq!(
                visit.record().get("sends").and_then(Value::as_u53),
                Some(if extension == once { 2 } else { 1 })
            );
        }
    }
}

#[test]
fn if_the_flow_wants_it_a_message_is_sent_again_a_few_times_before_a_person_is_asked() {
    let agent =
        Agent::new(Ways::default(), &[(Works, BreaksBefore), (Works, BreaksBefore), (Completes("ok"), Good)]);
    let mut visit = Visit::with(&agent);
    visit.order.resends = true;
    assert_eq!((visit.attempt().code(), agent.tasks()), ("ok", 1));

    let script =
        [(Works, TakesLate(1_000)), (Works, BreaksBefore), (Works, BreaksBefore), (Works, BreaksBefore)];
    let agent = Agent::new(old(), &script);
    let mut visit = Visit::with(&agent);
    visit.order.resends = true;
    let left = visit.attempt();
    assert!(
        left.code() == "AGENT_UNCLEAR" && left.message().contains("(4 times in all)"),
        "{}",
        left.message()
    );
    assert_eq!(visit.attempt().code(), "AGENT_UNCLEAR", "the next attempt does not begin to count again");
    visit.order.resend = true;
    assert_eq!(visit.attempt().code(), "ok");
}

#[test]
fn what_is_refused_when_it_is_sent_again_says_nothing_of_what_was_sent_before() {
    let wrong = Errs(r#"{"code":-32602,"message":"I have had that"}"#);
    let agent = Agent::new(old(), &[(Works, BreaksAfter), (wrong, Good), (Completes("ok"), Good)]);
    let mut visit = Visit::with(&agent);
    assert_eq!(visit.attempt().code(), "AGENT_UNCLEAR");
    visit.order.resend = true;
    let left = visit.attempt();
    assert!(
        left.code() == "AGENT_UNCLEAR" && left.message().contains("I have had that"),
        "{}",
        left.message()
    );
    visit.order.resend = false;
    assert_eq!((visit.attempt().code(), agent.sent().len()), ("AGENT_UNCLEAR", 2));
}

#[test]
fn an_answer_without_a_task_whose_reply_was_lost_is_in_doubt() {
    let agent = Agent::new(Ways::default(), &[(Answers("just so"), BreaksAfter), (Answers("just so"), Good)]);
    let visit = Visit::with(&agent);
    assert_eq!((visit.attempt().code(), agent.sent().len()), ("AGENT_UNCLEAR", 1));
}

#[test]
fn a_task_that_was_only_touched_has_not_taken_the_answer() {
    // The id and the time of the question give different results.
    let ways = Ways { names: false, ..Ways::default() };
    let same_id = Ways { asks_in_history: true, ..Ways::default() };
    for ways in [ways, same_id] {
        let names = ways.asks_in_history;
        let agent =
            Agent::new(ways, &[(Asks("which?"), Good), (Works, BreaksAndTouches), (Completes("ok"), Good)]);
        let mut visit = Visit::with(&agent);
        visit.attempt();
        let left = visit.said("left").attempt();
        let expected = if names { "AGENT_UNCLEAR" } else { "ok" };
        assert_eq!((left.code(), agent.sent().len()), (expected, 2));
    }
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
fn an_agent_without_a_status_gets_no_second_message_unless_a_person_wants_it() {
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
fn an_answer_of_which_nothing_is_found_is_given_again_only_if_a_person_wants_it() {
    for ways in [Ways::default(), old()] {
        let script = [(Asks("which?"), Good), (Works, BreaksBefore), (Completes("ok"), Good)];
        let agent = Agent::new(ways, &script);
        let mut visit = Visit::with(&agent);
        visit.attempt();
        visit.said("left");
        for _ in 0..2 {
            let left = visit.attempt();
            assert_eq!((left.code(), agent.sent().len()), ("AGENT_UNCLEAR", 1));
            assert!(left.message().starts_with("The answer was sent at 20"), "{}", left.message());
        }
        visit.order.resend = true;
        assert_eq!((visit.attempt().code(), agent.sent().len()), ("ok", 2));
    }
}

#[test]
fn where_nothing_tells_an_answer_from_none_a_person_says_so() {
    let ways = Ways { dates: false, remembers: false, names: false, ..old() };
    let script = [(Asks("which?"), Good), (Asks("which?"), BreaksAfter), (Completes("ok"), Good)];
    let agent = Agent::new(ways, &script);
    let mut visit = Visit::with(&agent);
    visit.attempt();
    let left = visit.said("left").attempt();
    assert_eq!((left.code(), left.agent("said"), agent.sent().len()), ("AGENT_UNCLEAR", "unclear", 2));
    visit.order.resend = true;
    assert_eq!((visit.attempt().code(), agent.sent().len()), ("ok", 3));
}
