//! A question that several people have to approve.

use crate::{
    ask::file,
    driver::{Driver, person},
    flows::{With, ask, flow, step},
    story::{ends, plays},
};
use envoi_contract::json::Value;
use envoi_kernel::{Refusal, event::Choice, input::Answer};

fn three() -> Driver {
    Driver::started(&flow([ask("q").quorum(3), step("b")]))
}

#[test]
fn several_different_people_have_to_approve() {
    let driver = plays(
        &flow([ask("q").quorum(3), step("b")]),
        "> start
         started, asks Ask of q.1
         = question [waiting 3]
         > approve: fine by bob
         bob votes approve
         = question [waiting 3]
         > approve: fine again by bob
         refused: `bob` has approved already; 2 more have to
         = question [waiting 3]
         > restart
         > approve by bob
         refused: `bob` has approved already; 2 more have to
         = question [waiting 3]
         > approve by carl
         carl votes approve
         = question [waiting 3]
         > approve by carl
         refused: `carl` has approved already; 1 more have to
         = question [waiting 3]
         > restart
         > approve: at last by dora
         answered approve, q.1 -> b, q.1 succeeded, b.1.1 begins
         = b.1.1 live
         ",
    );
    let text = "bob: fine\ncarl: [Approved by operator]\ndora: at last";
    assert_eq!(driver.answered(0).text, text);
    assert_eq!(driver.handoff("q.1").summary, text);
    let said = driver.answered(0).data.get("text").and_then(Value::as_str);
    assert_eq!(said, Some(text), "the response has the words of all");
}

#[test]
fn a_single_denial_decides() {
    let flow = flow([ask("q").quorum(3).again_from("q", 1), step("b")]);
    let over = "answered deny, q.1 stops, q.1 failed, over: policy_violation at q = nothing [failed 1]";
    assert_eq!(ends(&flow, &["start", "deny by bob"]), over);
    assert_eq!(ends(&flow, &["start", "approve by bob", "deny by carl"]), over);
    // A person who has approved may change their mind.
    assert_eq!(ends(&flow, &["start", "approve by bob", "restart", "deny by bob"]), over);
}

#[test]
fn another_round_decides_too_and_then_all_are_asked_again() {
    plays(
        &flow([ask("q").quorum(2).again_from("q", 1), step("b")]),
        "> start
         started, asks Ask of q.1
         = question [waiting 3]
         > approve by bob
         bob votes approve
         = question [waiting 3]
         > again: shorter by carl
         answered again, q.1 back to q, q.1 succeeded, asks Ask of q.2
         = question [waiting 3]
         > approve by bob
         bob votes approve
         = question [waiting 3]
         > approve by carl
         answered approve, q.2 -> b, q.2 succeeded, b.1.1 begins
         = b.1.1 live
         ",
    );
}

#[test]
fn a_question_that_is_put_again_forgets_its_votes() {
    plays(
        &flow([ask("q").quorum(2), step("b")]),
        "> start
         started, asks Ask of q.1
         = question [waiting 3]
         > approve by bob
         bob votes approve
         = question [waiting 3]
         > changed
         question out of date, asks Ask of q.1
         = question [waiting 3]
         > approve by bob
         bob votes approve
         = question [waiting 3]
         > approve by carl
         answered approve, q.1 -> b, q.1 succeeded, b.1.1 begins
         = b.1.1 live
         ",
    );
}

#[test]
fn votes_stand_in_the_order_in_which_they_came_and_survive_a_restart() {
    let mut driver = three();
    let id = driver.question().interrupt.clone();
    for name in ["zoe", "bob"] {
        driver.say(driver.answer(Choice::Approve, name)).unwrap();
        driver.restart();
    }
    let names: Vec<_> = driver.run.votes(&id).map(|vote| vote.by.actor.clone()).collect();
    assert_eq!(names, ["zoe", "bob"]);
    driver.say(driver.answer(Choice::Approve, "carl")).unwrap();
    assert_eq!(driver.run.votes(&id).count(), 0);
}

#[test]
fn the_starter_of_the_run_is_one_of_them_unless_excluded() {
    let mut driver = Driver::started(&flow([ask("q").quorum(2).asking(|plan| plan.not_by_starter = true)]));
    let refused = driver.say(driver.answer(Choice::Approve, "ada"));
    assert_eq!(refused, Err(Refusal::NotByStarter { actor: "ada".to_owned() }));
    for name in ["bob", "carl"] {
        driver.say(driver.answer(Choice::Approve, name)).unwrap();
    }
    assert_eq!(crate::story::stand(&driver.run), "= nothing [succeeded 0]");
    let mut driver = Driver::started(&flow([ask("q").quorum(2)]));
    for name in ["ada", "bob"] {
        driver.say(driver.answer(Choice::Approve, name)).unwrap();
    }
    assert_eq!(crate::story::stand(&driver.run), "= nothing [succeeded 0]");
}

#[test]
fn people_of_two_tenants_are_two_people() {
    let mut driver = Driver::started(&flow([ask("q").quorum(2)]));
    driver.say(driver.answer(Choice::Approve, "bob")).unwrap();
    let mut answer = driver.answer(Choice::Approve, "bob");
    answer.by.tenant = "elsewhere".to_owned();
    driver.say(answer).unwrap();
    assert_eq!(crate::story::stand(&driver.run), "= nothing [succeeded 0]");
    assert_ne!(driver.answered(0).by, person("bob"));
}

fn with_files(answer: Answer, prefix: &str, count: usize) -> Answer {
    let attachments = (0..count).map(|n| file(&format!("{prefix}{n}"))).collect();
    Answer { attachments, ..answer }
}

#[test]
fn the_files_of_all_are_merged_and_over_twenty_are_refused() {
    let mut driver = three();
    driver.say(with_files(driver.answer(Choice::Approve, "bob"), "b", 12)).unwrap();
    let before = driver.run.snapshot();
    let refused = driver.say(with_files(driver.answer(Choice::Approve, "carl"), "c", 9));
    assert!(matches!(refused, Err(Refusal::Misfit { .. })), "{refused:?}");
    assert!(driver.run.snapshot() == before);
    driver.say(with_files(driver.answer(Choice::Approve, "carl"), "c", 7)).unwrap();
    driver.say(with_files(driver.answer(Choice::Approve, "dora"), "d", 1)).unwrap();
    let names: Vec<_> =
        driver.answered(0).attachments.iter().filter_map(|file| file.filename.clone()).collect();
    assert_eq!(
        (names.len(), names[0].as_str(), names[12].as_str(), names[19].as_str()),
        (20, "b0", "c0", "d0")
    );
    assert_eq!(
        driver.handoff("q.1").to_value().get("artifacts").and_then(Value::as_object).unwrap().len(),
        20
    );
}

#[test]
fn a_denial_keeps_only_its_own_files() {
    let mut driver = three();
    driver.say(with_files(driver.answer(Choice::Approve, "bob"), "b", 20)).unwrap();
    driver.say(with_files(driver.answer(Choice::Deny, "carl"), "c", 1)).unwrap();
    let answer = driver.answered(0);
    assert_eq!((answer.attachments.len(), answer.text.as_str()), (1, "[Denied by operator]"));
}
