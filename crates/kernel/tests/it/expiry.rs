//! A question lapses at its hour by the run's own time, once.

use crate::{
    driver::{BEGINNING_MS, Driver, person},
    flows::{With, ask, flow, step, step_id},
    story::{ends, plays},
};
use envoi_contract::{routing::Decision, time::Timestamp};
use envoi_kernel::{
    Event, Input, Refusal,
    event::{Choice, FoundFile},
    flow::{OnExhausted, Overdue, Step},
};

fn lapsing(ms: u64, overdue: Overdue) -> Step {
    ask("q").expires(ms).asking(|plan| plan.on_expire = overdue)
}

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(BEGINNING_MS + ms)
}

#[test]
fn no_person_answers_in_time() {
    let driver = plays(
        &flow([lapsing(100, Overdue::Fail), step("b")]),
        "> start
         started, asks Ask of q.1
         = question [waiting 3]
         > clock +99
         > expire
         refused: question `#1` has not expired
         = question [waiting 3]
         > clock +1
         > approve
         refused: question `#1` has expired, at 2026-11-21T00:00:00.100Z
         = question [waiting 3]
         > restart
         > expire
         question expired, q.1 stops, q.1 failed, over: tool_failed_fatally at q
         = nothing [failed 1]
         > expire
         refused: the run is over (failed)
         = nothing [failed 1]
         > reopen
         reopened at q, asks Ask of q.2
         = question [waiting 3]
         ",
    );
    let handoff = driver.handoff("q.1");
    assert_eq!(handoff.summary, "[Expired without an answer]");
    assert_eq!(handoff.error.as_deref(), Some("QUESTION_EXPIRED: nobody answered step `q` in time"));
    assert_eq!(driver.question().expires_at, Some(at(200)));
    let said = driver.records.iter().find_map(|record| match &record.event {
        Event::RunEnded(event) => Some(event.reason.as_str()),
        _ => None,
    });
    assert_eq!(said, Some("Nobody answered step `q` in time"));
}

#[test]
fn an_expiry_may_lead_to_a_step_with_which_the_run_ends() {
    let flow =
        flow([lapsing(5, Overdue::Go(step_id("tidy"))), step("b").next("end"), step("tidy"), step("c")]);
    let driver = plays(
        &flow,
        "> start
         started, asks Ask of q.1
         = question [waiting 3]
         > clock +5
         > expire without a slot
         question expired, q.1 -> tidy, q.1 succeeded
         = tidy.1 ready
         > expire
         refused: question `int_none` is not open
         = tidy.1 ready
         > slot
         tidy.1.1 begins
         = tidy.1.1 live
         > tidy.1.1 exit 0
         tidy.1.1 ok, tidy.1 stops, tidy.1 succeeded, over: tool_failed_fatally at q
         = nothing [failed 1]
         ",
    );
    let said = driver.run.envelope().termination_reason.clone();
    assert_eq!(said.as_deref(), Some("Nobody answered step `q` in time"));
    let signal = &driver.handoff("q.1").routing_signal;
    assert_eq!((signal.decision, signal.reason.as_str()), (Decision::Branch, "Expired"));
}

#[test]
fn an_expiry_that_leads_back_is_a_bounded_loop_and_its_end_is_no_way_on() {
    let looped = |policy| {
        let asks = lapsing(5, Overdue::Go(step_id("a"))).with(|step| step.routing.max_iterations = 1);
        flow([step("a"), asks.exhausted(policy), step("b")])
    };
    let inputs = ["start", "a.1.1 exit 0", "clock +5", "expire", "a.2.1 exit 0", "clock +5", "expire"];
    for policy in [OnExhausted::Ask, OnExhausted::Proceed] {
        assert_eq!(
            ends(&looped(policy), &inputs[..4]),
            "question expired, q.1 back to a, q.1 succeeded, a.2.1 begins (round 1) = a.2.1 live"
        );
        assert_eq!(
            ends(&looped(policy), &inputs),
            "question expired, q.2 stops, q.2 failed, over: tool_failed_fatally at q = nothing [failed 1]"
        );
    }
    assert_eq!(
        ends(&looped(OnExhausted::Fail), &inputs),
        "question expired, q.2 stops, q.2 succeeded, over: max_loop_exceeded at q = nothing [exhausted 4]"
    );
}

#[test]
fn a_clock_that_is_set_back_neither_saves_a_question_nor_lapses_it_early() {
    let flow = flow([step("a"), lapsing(100, Overdue::Fail), step("b")]);
    let mut driver = Driver::started(&flow);
    driver.now = at(1_000);
    driver.exit("a.1.1", 0);
    assert_eq!(driver.question().expires_at, Some(at(1_100)));
    let asked = driver.question().interrupt.clone();
    let expire = || Input::Expire { interrupt: asked.clone() };
    // The clock is an hour before the last event: the run's own time is that event's.
    driver.now = at(-3_600_000);
    assert_eq!(driver.feed(expire()), Err(Refusal::NotExpired { interrupt: asked.clone() }));
    let vote = driver.say(driver.answer(Choice::Approve, "bob")).unwrap();
    assert!(vote.iter().all(|record| record.at == at(1_000)));

    // Time that the run has seen does not go away: a question that has lapsed by it stays so.
    let asks = lapsing(100, Overdue::Fail).quorum(3);
    let mut driver = Driver::started(&crate::flows::flow([asks]));
    driver.now = at(99);
    driver.say(driver.answer(Choice::Approve, "bob")).unwrap();
    driver.now = at(0);
    let records = driver.say(driver.answer(Choice::Approve, "carl")).unwrap();
    assert_eq!(records[0].at, at(99));
    driver.now = at(100);
    assert!(matches!(driver.say(driver.answer(Choice::Approve, "dora")), Err(Refusal::Expired { .. })));
}

#[test]
fn the_time_of_a_question_begins_when_it_is_put() {
    let mut driver = Driver::started(&flow([step("a"), lapsing(100, Overdue::Fail)]));
    driver.now = at(50);
    driver.exit("a.1.1", 0);
    let question = driver.question();
    assert_eq!((question.raised_at, question.expires_at), (at(50), Some(at(150))));
    assert_eq!(driver.run.wants().expiries, [(question.interrupt.clone(), at(150))]);
}

#[test]
fn a_question_without_a_time_never_lapses() {
    let mut driver = Driver::started(&flow([ask("q"), step("b")]));
    driver.now = Timestamp::from_millis(i64::MAX / 2);
    let interrupt = driver.question().interrupt.clone();
    assert_eq!(driver.run.wants().expiries, []);
    let refused = driver.feed(Input::Expire { interrupt: interrupt.clone() });
    assert_eq!(refused, Err(Refusal::NotExpired { interrupt }));
    driver.say(driver.answer(Choice::Approve, "bob")).unwrap();
}

#[test]
fn votes_do_not_save_a_question_from_its_hour() {
    let mut driver = Driver::started(&flow([lapsing(100, Overdue::Fail).quorum(2), step("b")]));
    driver.say(driver.answer(Choice::Approve, "bob")).unwrap();
    driver.now = at(100);
    let interrupt = driver.question().interrupt.clone();
    driver.ok(Input::Expire { interrupt });
    assert_eq!(crate::story::stand(&driver.run), "= nothing [failed 1]");
}

#[test]
fn a_question_whose_time_is_over_is_not_put_again() {
    let mut driver = Driver::started(&flow([lapsing(100, Overdue::Fail)]));
    driver.now = at(100);
    let interrupt = driver.question().interrupt.clone();
    let found = vec![FoundFile { path: "a.py".to_owned(), digest: None }];
    let refused = driver.feed(Input::Changed { interrupt: interrupt.clone(), found });
    assert_eq!(refused, Err(Refusal::Expired { interrupt, at: at(100) }));
}

#[test]
fn a_cancelled_question_does_not_expire() {
    let mut driver = Driver::started(&flow([step("a"), lapsing(100, Overdue::Fail)]));
    driver.exit("a.1.1", 0);
    driver.ok(Input::Cancel { by: person("bob") });
    let expired = driver.records.iter().any(|record| matches!(record.event, Event::InterruptExpired(_)));
    assert!(!expired && driver.run.wants().expiries.is_empty());
}
