//! Tests that a task is cancelled when the run no longer needs it, even if the agent has never named it.

use crate::{
    Visit,
    fake::{
        Act::{Asks, Works},
        Agent,
        Line::Good,
        Ways,
    },
};
use envoi_contract::json::Value;

/// A visit whose message was sent, and whose record has no reply.
fn without_reply(agent: &Agent) -> Visit {
    let mut visit = Visit::with(agent);
    visit.attempt();
    visit.rewrite(|record| {
        for name in ["task", "taken", "question", "answered"] {
            record.insert(name, Value::Null);
        }
    });
    visit.order.denied = true;
    visit
}

#[test]
fn a_task_without_a_reply_is_searched_and_cancelled() {
    let agent = Agent::new(Ways::default(), &[(Asks("which?"), Good), (Works, Good)]);
    let left = without_reply(&agent).attempt();
    assert_eq!((left.code(), left.agent("said")), ("AGENT_CANCELED", "over"));
    assert_eq!((agent.stands(0), agent.sent().len(), agent.tasks()), ("canceled", 1, 1));
}

/// A task that has ended before, or goes on, is not said to be cancelled.
#[test]
fn a_task_that_is_in_another_state_is_not_called_cancelled() {
    for (canceled, words) in [
        ("canceled", "was cancelled"),
        ("completed", "was to be cancelled, and had ended before, as completed"),
        ("failed", "was to be cancelled, and had ended before, as failed"),
        ("working", "was to be cancelled, and is not cancelled yet: the agent says working"),
    ] {
        let agent =
            Agent::new(Ways { canceled, ..Ways::default() }, &[(Asks("which?"), Good), (Works, Good)]);
        let left = without_reply(&agent).attempt();
        assert_eq!((left.code(), left.agent("said")), ("AGENT_CANCELED", "over"), "{canceled}");
        assert!(left.message().ends_with(words), "{canceled}: {}", left.message());
    }
}

#[test]
fn where_it_cannot_be_found_nothing_is_sent() {
    let agent =
        Agent::new(Ways { version: "0.3", ..Ways::default() }, &[(Asks("which?"), Good), (Works, Good)]);
    let left = without_reply(&agent).attempt();
    assert!(left.code() == "AGENT_UNREACHABLE" && left.message().contains("may go on"), "{}", left.message());
    assert_eq!((agent.stands(0), agent.sent().len()), ("input-required", 1));
    // A message that was never sent has begun no task.
    let agent = Agent::new(Ways::default(), &[(Works, Good)]);
    let mut visit = Visit::with(&agent);
    visit.order.denied = true;
    assert_eq!((visit.attempt().code(), agent.tasks()), ("AGENT_CANCELED", 0));
}
