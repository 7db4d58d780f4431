//! An `agent` step whose program puts off a call of a tool: a question of the run, and an answer for exactly that call.

use crate::{
    driver::{Driver, doubtful, reported, settled},
    flows::{With as _, flow, graph},
    programs::{call, program, session},
};
use envoi_contract::{envelope::InterruptKind, json::Value};
use envoi_kernel::{
    Input, Status,
    event::{About, CallAnswer, Choice},
    flow::{AskCalls, InDoubtPolicy, Step, StepKind},
    input::Answer,
};

const HOUR_MS: u64 = 3_600_000;

fn asking(name: &str, asks: AskCalls) -> Step {
    program(name, Some("work")).with(|step| match &mut step.kind {
        StepKind::Agent(plan) => plan.ask = asks.clone(),
        _ => panic!("no program"),
    })
}

fn pushes() -> AskCalls {
    AskCalls { calls: vec!["Bash(git push *)".to_owned()], ..AskCalls::default() }
}

/// The program has put off this call.
fn asks(id: &str, call: &str, takes: &str) -> Input {
    let evidence = format!(r#"{{"call":"{call}","tool":"Bash"}}"#);
    let members = format!(
        r#""ok":true,"agent":{{"said":"asks","takes":"{takes}","question":"May it push?","evidence":{evidence}}}"#
    );
    settled(reported(id, &members))
}

fn answered(driver: &Driver, id: &str) -> Option<CallAnswer> {
    call(driver, id).answer.as_deref().cloned()
}

fn is_over(driver: &Driver) -> bool {
    matches!(driver.run.status(), Status::Ended(_))
}

#[test]
fn a_call_that_is_put_off_is_a_question_and_its_answer_resumes_the_session() {
    let mut driver = Driver::started(&flow([asking("a", pushes())]));
    assert_eq!((&call(&driver, "a.1.1").ask, answered(&driver, "a.1.1")), (&pushes().calls, None));
    let (id, _) = session(&driver, "a.1.1");
    driver.ok(asks("a.1.1", "sha256:1", "decision"));
    let raised = driver.question().clone();
    assert_eq!(
        (raised.about, raised.kind(), raised.expires_at),
        (About::Agent, InterruptKind::Confirmation, None)
    );
    assert_eq!(driver.run.accepts(&raised), [Choice::Approve, Choice::Deny]);
    driver.restart();
    let answer = Answer { text: Some("go".to_owned()), ..driver.answer(Choice::Approve, "carl") };
    driver.say(answer).unwrap();
    driver.restart();
    let expected = CallAnswer {
        interrupt: Some(raised.interrupt),
        call: "sha256:1".to_owned(),
        allows: true,
        text: "go".to_owned(),
        data: None,
    };
    assert_eq!(answered(&driver, "a.1.2"), Some(expected));
    assert_eq!(session(&driver, "a.1.2"), (id, true));
    // The agent asks again: an answer is for one attempt.
    driver.ok(asks("a.1.2", "sha256:2", "decision"));
    driver.say(driver.answer(Choice::Approve, "carl")).unwrap();
    assert_eq!(answered(&driver, "a.1.3").unwrap().call, "sha256:2");
    driver.exit("a.1.3", 0);
    assert!(is_over(&driver));
}

#[test]
fn a_denial_is_passed_to_the_agent_which_continues() {
    let mut driver = Driver::started(&flow([asking("a", pushes())]));
    driver.ok(asks("a.1.1", "sha256:1", "decision"));
    let answer = Answer { text: Some("not on a Friday".to_owned()), ..driver.answer(Choice::Deny, "carl") };
    driver.say(answer).unwrap();
    let told = answered(&driver, "a.1.2").unwrap();
    assert_eq!((told.allows, told.text.as_str()), (false, "not on a Friday"));
    driver.exit("a.1.2", 0);
    assert_eq!(driver.handoff("a.1").status, envoi_contract::handoff::Status::Succeeded);
}

#[test]
fn an_approval_may_change_the_call_and_a_question_of_the_agents_own_takes_words() {
    let mut driver = Driver::started(&flow([asking("a", pushes())]));
    driver.ok(asks("a.1.1", "sha256:1", "decision"));
    let data = Value::parse_str(r#"{"command":"git push --dry-run"}"#).unwrap();
    let changed = Answer { data: Some(data.clone()), ..driver.answer(Choice::Approve, "carl") };
    driver.say(changed).unwrap();
    assert_eq!(answered(&driver, "a.1.2").unwrap().data, Some(data));
    driver.ok(asks("a.1.2", "sha256:2", "words"));
    let raised = driver.question().clone();
    assert_eq!(driver.run.accepts(&raised), [Choice::Respond, Choice::Deny]);
    let words = Answer { text: Some("SQLite".to_owned()), ..driver.answer(Choice::Respond, "carl") };
    driver.say(words).unwrap();
    let told = answered(&driver, "a.1.3").unwrap();
    assert_eq!((told.allows, told.text.as_str(), told.data), (true, "SQLite", None));
}

#[test]
fn an_answer_whose_attempt_was_cut_off_allows_nothing_again() {
    let asks_about = |step: &mut Step| step.on_in_doubt = InDoubtPolicy::Rerun;
    let mut driver = Driver::started(&flow([asking("a", pushes()).with(asks_about)]));
    driver.ok(asks("a.1.1", "sha256:1", "decision"));
    driver.say(driver.answer(Choice::Approve, "carl")).unwrap();
    assert!(answered(&driver, "a.1.2").is_some());
    driver.ok(doubtful("a.1.2", 5));
    assert_eq!((answered(&driver, "a.1.3"), call(&driver, "a.1.3").cut_off), (None, true));
}

#[test]
fn a_session_that_waits_for_a_person_is_used_by_no_other_step() {
    let mut driver = Driver::started(&graph([asking("a", pushes()), asking("b", pushes())]));
    let first = driver.nth_begun(0).unwrap();
    driver.ok(asks(&first.to_string(), "sha256:1", "decision"));
    driver.restart();
    assert_eq!(driver.nth_begun(1), None, "the other step waits as long as the question is open");
    driver.say(driver.answer(Choice::Deny, "carl")).unwrap();
    let second = driver.nth_begun(1).unwrap();
    assert_eq!(second.visit, first.visit, "the session goes on where it was stopped");
    driver.exit(&second.to_string(), 0);
    assert_ne!(driver.nth_begun(2).unwrap().visit, first.visit);
}

#[test]
fn no_person_answers() {
    for (denies, over) in [(true, false), (false, true)] {
        let asks_for_an_hour =
            AskCalls { expires_in_ms: Some(HOUR_MS), denies_when_expired: denies, ..pushes() };
        let mut driver = Driver::started(&flow([asking("a", asks_for_an_hour)]));
        driver.ok(asks("a.1.1", "sha256:1", "decision"));
        let interrupt = driver.question().interrupt.clone();
        driver.now = driver.question().expires_at.unwrap();
        driver.ok(Input::Expire { interrupt });
        driver.restart();
        assert_eq!(is_over(&driver), over);
        if denies {
            let told = answered(&driver, "a.1.2").unwrap();
            assert_eq!((told.allows, told.interrupt, told.call.as_str()), (false, None, "sha256:1"));
        } else {
            assert!(driver.handoff("a.1").error.as_ref().unwrap().contains("QUESTION_EXPIRED"));
        }
    }
}
