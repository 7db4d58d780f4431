//! Tests that an attempt masks secrets in the agent's words before it writes them.

use crate::{
    Visit,
    fake::{
        Act::{Answers, Asks, Completes, Fails, HandsOver, Rejects, Works},
        Agent,
        Line::{BreaksAfter, Good},
        Ways,
    },
};
use std::{fs, path::Path};

const SECRET: &str = "hunter2-of-the-flow";

fn visit(agent: &Agent) -> Visit {
    Visit { secret: SECRET, ..Visit::with(agent) }
}

/// Asserts that no file of the visit contains the secret. Returns how many times it was masked.
fn assert_masked(folder: &Path, secret: &str) -> usize {
    let mut masked = 0;
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            masked += assert_masked(&path, secret);
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        assert!(!text.contains(secret), "{}: {text}", path.display());
        masked += text.matches("***").count();
    }
    masked
}

#[test]
fn no_file_of_an_attempt_has_a_secret_that_the_agent_says() {
    let data = r#"{"artifactId":"a","name":"n","parts":[{"data":{"hunter2-of-the-flow":["hunter2-of-the-flow"]}},{"url":"https://hunter2-of-the-flow"}]}"#;
    for act in [
        Answers("I know hunter2-of-the-flow"),
        Completes("I know hunter2-of-the-flow"),
        HandsOver(data),
        Asks("Is it hunter2-of-the-flow?"),
        Fails("I know hunter2-of-the-flow"),
        Rejects("I know hunter2-of-the-flow"),
    ] {
        let agent = Agent::new(Ways::default(), &[(act.clone(), Good)]);
        let visit = visit(&agent);
        visit.attempt();
        assert!(assert_masked(visit.folder.path(), SECRET) > 0, "{act:?} is kept, masked");
    }
}

#[test]
fn the_name_of_a_file_is_masked_before_it_is_cut() {
    let long = "x".repeat(190);
    let names = [format!("{long}{SECRET}.txt"), format!("a/{SECRET}"), SECRET.to_owned()];
    let parts = names.map(|name| format!(r#"{{"raw":"aGk=","filename":"{name}"}}"#)).join(",");
    let artifact = format!(r#"{{"artifactId":"a","parts":[{parts}]}}"#);
    let agent = Agent::new(Ways::default(), &[(HandsOver(artifact.leak()), Good)]);
    let mut visit = visit(&agent);
    let files = visit.folder.path().join("a2a-files");
    visit.order.files = Some(files.clone());
    visit.attempt();
    let names: Vec<String> =
        fs::read_dir(files).unwrap().flatten().map(|file| file.file_name().into_string().unwrap()).collect();
    assert!(names.len() == 3 && names.iter().all(|name| !name.contains("hunt")), "{names:?}");
}

#[test]
fn an_answer_without_a_task_is_masked_for_later_attempts_too() {
    let agent = Agent::new(Ways::default(), &[(Answers("I know hunter2-of-the-flow"), Good)]);
    let visit = visit(&agent);
    assert_eq!((visit.attempt().text, visit.attempt().text), ("I know ***".into(), "I know ***".into()));
    assert!(visit.record().compact().contains("I know ***"));
    assert_eq!(agent.sent().len(), 1);
}

/// The parts that identify a question may contain a secret: its id, its time, an Envoi's id for it, and the ids of
/// the history.
#[test]
fn a_question_with_a_secret_is_answered_as_the_one_that_was_shown() {
    let named = r#"{"urn:envoi:a2a:question":{"id":"int_hunter2-of-the-flow","subject":"s"}}"#;
    let of_envoi = Ways { metadata: Some(named), ..Ways::default() };
    let in_history = Ways { asks_in_history: true, dates: false, ..Ways::default() };
    for (ways, secret) in [
        (Ways::default(), SECRET),
        (of_envoi, SECRET),
        (Ways::default(), "s1"),
        (Ways::default(), "2026-11-22"),
        (in_history, "h1"),
    ] {
        let asks = Asks("Is it hunter2-of-the-flow?");
        let agent = Agent::new(ways.clone(), &[(asks, Good), (Completes("ok"), Good)]);
        let mut visit = Visit { secret, ..Visit::with(&agent) };
        assert_eq!(visit.attempt().agent("said"), "asks");
        assert_masked(&visit.folder.path().join("a2a"), secret);
        assert_eq!(visit.said("yes").attempt().text, "ok", "{ways:?} {secret}");
        assert_masked(&visit.folder.path().join("a2a"), secret);
        assert_eq!((agent.tasks(), agent.sent().len()), (1, 2));
    }
}

#[test]
fn other_words_with_another_secret_are_another_question() {
    let agent = Agent::new(Ways::default(), &[(Asks("Delete hunter2-of-the-flow?"), Good)]);
    let mut visit = visit(&agent);
    visit.attempt();
    agent.goes_on(0, Asks("Delete ***?"));
    let left = visit.said("yes").attempt();
    assert!(left.agent("question").contains("was not sent"), "{}", left.report.compact());
    assert_eq!(agent.sent().len(), 1);
}

#[test]
fn an_id_with_a_secret_is_not_kept_and_nothing_is_sent_twice_for_that() {
    for (act, line) in [(Asks("which?"), Good), (Completes("ok"), Good), (Completes("ok"), BreaksAfter)] {
        let agent = Agent::new(Ways { own_contexts: true, ..Ways::default() }, &[(act, line)]);
        let mut visit = Visit { secret: "task-1", ..Visit::with(&agent) };
        visit.attempt();
        assert_masked(visit.folder.path(), "task-1");
        if agent.stands(0) == "input-required" {
            visit.said("left");
        }
        let left = visit.attempt();
        let why = if agent.stands(0) == "completed" { "holds a secret" } else { "no longer knows" };
        assert!(left.code() == "MACHINE_FAILED" && left.message().contains(why), "{}", left.message());
        assert_masked(visit.folder.path(), "task-1");
        assert_eq!((agent.tasks(), agent.sent().len()), (1, 1));
    }
}

#[test]
fn where_an_address_of_the_card_holds_a_secret_the_card_is_fetched_again() {
    let agent = Agent::new(Ways::default(), &[(Asks("which?"), Good), (Works, Good)]);
    let mut visit = Visit { secret: "/rpc", ..Visit::with(&agent) };
    visit.attempt();
    assert_masked(visit.folder.path(), "/rpc");
    visit.order.denied = true;
    assert_eq!((visit.attempt().code(), agent.stands(0)), ("AGENT_CANCELED", "canceled"));
}

#[test]
fn without_its_secrets_an_attempt_keeps_no_word_of_the_agent() {
    let agent = Agent::new(Ways::default(), &[(Fails("I know hunter2-of-the-flow"), Good)]);
    let visit = Visit { secret: "*everything*", ..Visit::with(&agent) };
    let left = visit.attempt();
    assert!(left.code() == "AGENT_FAILED" && left.message().contains("cannot be had"), "{}", left.message());
    assert_masked(visit.folder.path(), SECRET);
    assert!(left.text.contains("left out") && !left.report.compact().contains("I know"));
}
