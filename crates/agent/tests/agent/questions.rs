//! Tests that a question is answered once, and that an answer goes to the question that a person has seen.

use crate::{
    Visit,
    fake::{
        Act::{Asks, Completes, Queues},
        Agent,
        Line::{BreaksAfter, Good},
        Ways,
    },
};

const VERSIONS: [&str; 2] = ["1.0", "0.3"];

#[test]
fn a_queue_of_the_agents_is_waited_for_and_no_second_answer_is_sent() {
    for version in VERSIONS {
        let script = [(Asks("which color?"), Good), (Queues(20, &Asks("delete everything?")), Good)];
        let agent = Agent::new(Ways { version, ..Ways::default() }, &script);
        let mut visit = Visit::with(&agent);
        visit.attempt();
        let left = visit.said("blue").attempt();
        assert_eq!((left.agent("said"), left.agent("question")), ("asks", "delete everything?"));
        assert_eq!(agent.handled(0), [("blue".to_owned(), "which color?".to_owned())]);
        assert_eq!(agent.sent().len(), 2);
    }
}

#[test]
fn without_a_time_limit_a_person_hears_when_the_answer_was_sent_and_another_one_is_not() {
    let script = [(Asks("which color?"), Good), (Queues(1_000, &Asks("delete everything?")), Good)];
    let agent = Agent::new(Ways::default(), &script);
    let mut visit = Visit::with(&agent);
    visit.attempt();
    visit.order.timeouts.move_ms = 0;
    let left = visit.said("blue").attempt();
    let question = left.agent("question");
    assert!(question.starts_with("Your answer was sent at 20"), "{question}");
    assert!(
        question.contains("`envoi deny`") && question.ends_with("It still asks:\n\nwhich color?"),
        "{question}"
    );
    for _ in 0..2 {
        let left = visit.said("yes").attempt();
        assert!(left.agent("question").starts_with("Your answer was sent at 20"));
        assert_eq!(agent.sent().len(), 2, "what has its answer gets no other");
    }
    // The person now answers the later question.
    agent.goes_on(0, Asks("delete everything?"));
    let left = visit.said("green").attempt();
    assert!(left.agent("question").starts_with("Your answer was not sent"), "{}", left.agent("question"));
    assert!(left.agent("question").ends_with("delete everything?"));
    assert_eq!((visit.said("no").attempt().code(), agent.sent().len()), ("ok", 3));
}

#[test]
fn an_answer_that_waits_in_a_queue_is_known_by_its_time_where_ids_are_new_at_each_look() {
    let ways = Ways { renews_ids: true, ..Ways::default() };
    let script = [(Asks("which color?"), Good), (Queues(1_000, &Asks("delete everything?")), Good)];
    let agent = Agent::new(ways, &script);
    let mut visit = Visit::with(&agent);
    visit.attempt();
    visit.order.timeouts.move_ms = 0;
    for answer in ["blue", "yes", "no"] {
        let left = visit.said(answer).attempt();
        assert!(left.agent("question").contains("No other answer is sent"), "{}", left.agent("question"));
        assert_eq!(agent.sent().len(), 2);
    }
}

#[test]
fn where_nothing_tells_a_question_from_the_same_one_again_a_person_hears_so() {
    let nameless = Ways { dates: false, names: false, ..Ways::default() };
    let timeless = Ways { renews: true, ..Ways::default() };
    for ways in [nameless, timeless] {
        let script =
            [(Asks("which?"), Good), (Queues(1_000, &Asks("delete?")), Good), (Completes("ok"), Good)];
        let agent = Agent::new(ways, &script);
        let mut visit = Visit::with(&agent);
        visit.attempt();
        let left = visit.said("blue").attempt();
        let question = left.agent("question");
        assert!(
            question.starts_with("Your answer was sent at 20") && question.ends_with("which?"),
            "{question}"
        );
        assert!(question.contains("If you answer again, that answer is sent"), "{question}");
        assert_eq!((visit.said("green").attempt().code(), agent.sent().len()), ("ok", 3));
    }
}

#[test]
fn an_undated_question_is_put_again_only_when_the_agent_has_had_its_time() {
    let ways = Ways { dates: false, names: false, ..Ways::default() };
    let agent = Agent::new(ways, &[(Asks("which?"), Good), (Queues(30, &Completes("that one")), Good)]);
    let mut visit = Visit::with(&agent);
    visit.attempt();
    visit.order.timeouts.settle_ms = 3_600_000;
    assert_eq!(visit.said("blue").attempt().text, "that one");
    // A later attempt measures the time from the answer.
    let agent = Agent::new(
        Ways { dates: false, names: false, ..Ways::default() },
        &[(Asks("which?"), Good), (Queues(200, &Completes("late")), Good)],
    );
    let mut visit = Visit::with(&agent);
    visit.attempt();
    visit.said("blue").attempt();
    visit.order.timeouts.settle_ms = 3_600_000;
    visit.rewrite(|record| drop(record.insert("sent_at", 1_u64.into())));
    assert!(visit.attempt().agent("question").starts_with("Your answer was sent at 1970"));
}

#[test]
fn a_question_that_stands_only_in_the_history_can_be_answered() {
    for dates in [false, true] {
        let ways = Ways { dates, asks_in_history: true, ..Ways::default() };
        let agent = Agent::new(ways, &[(Asks("which color?"), Good), (Completes("ok"), Good)]);
        let mut visit = Visit::with(&agent);
        assert_eq!(visit.attempt().agent("question"), "which color?");
        agent.goes_on(0, Asks("delete everything?"));
        let left = visit.said("yes").attempt();
        assert!(left.agent("question").ends_with("delete everything?"), "{}", left.agent("question"));
        assert_eq!(agent.sent().len(), 1, "the answer is not one to that");
        assert_eq!((visit.said("no").attempt().code(), agent.sent().len()), ("ok", 2));
    }
}

#[test]
fn an_answer_arrives_at_an_agent_that_marks_its_question_anew_at_each_look() {
    for (names, dates, remembers) in
        [(true, true, true), (true, true, false), (false, true, true), (true, false, true)]
    {
        let ways = Ways { renews: true, names, dates, remembers, ..Ways::default() };
        let agent = Agent::new(ways, &[(Asks("which?"), Good), (Completes("that one"), Good)]);
        let mut visit = Visit::with(&agent);
        visit.attempt();
        let left = visit.said("left").attempt();
        assert_eq!((left.code(), left.text.as_str(), agent.sent().len()), ("ok", "that one", 2));
    }
}

#[test]
fn the_same_words_after_another_action_are_another_question() {
    let agent = Agent::new(Ways::default(), &[(Asks("delete it?"), Good), (Completes("ok"), Good)]);
    let mut visit = Visit::with(&agent);
    visit.attempt();
    agent.goes_on(0, Asks("delete it?"));
    let left = visit.said("yes").attempt();
    assert!(left.agent("question").starts_with("Your answer was not sent"), "{}", left.agent("question"));
    assert_eq!(agent.sent().len(), 1);
}

#[test]
fn an_answer_that_is_with_the_agent_is_not_sent_after_a_crash_either() {
    let script = [(Asks("which color?"), Good), (Queues(30, &Asks("delete everything?")), BreaksAfter)];
    let agent = Agent::new(Ways { remembers: false, ..Ways::default() }, &script);
    let mut visit = Visit::with(&agent);
    visit.attempt();
    let left = visit.said("blue").attempt();
    assert_eq!(
        (left.code(), left.agent("said")),
        ("AGENT_UNCLEAR", "unclear"),
        "nothing tells that it has it"
    );
    visit.order.timeouts.in_flight_ms = 3_600_000;
    let left = visit.attempt();
    assert!(left.agent("question").ends_with("delete everything?"), "{}", left.agent("question"));
    assert_eq!(agent.sent().len(), 2);
}
