//! Tests the model after each kind of event.

use super::*;
use crate::{text::columns::Charset, view::live::fixture::Fixture};
use envoi_kernel::{
    event::{Choice, TimerSet},
    ids::TimerId,
    throttle::AccountWait,
};

fn states(model: &RunModel) -> Vec<(&str, State, u32, u32)> {
    model.level.steps.iter().map(|step| (step.id.as_str(), step.state, step.visit, step.attempt)).collect()
}

fn rounds(model: &RunModel) -> Vec<String> {
    model.level.rounds.loops.iter().map(super::super::rounds::Loop::label).collect()
}

const LOOP: &str = "flow: f\nsteps:\n  - id: a\n    run: x\n  - id: b\n    run: x\n    retry: { attempts: 2 }\n  \
    - id: c\n    run: x\n    routing: { kind: microloop, loop_to: a, status_from_exit: {0: OK, 1: BAD}, success_values: [OK], \
    max_iterations: 1 }\n";

#[test]
fn going_back_begins_the_steps_of_the_loop_anew() {
    let mut play = Fixture::of(LOOP);
    play.ends(1, 0, "a", &[]).ends(1, 0, "b", &[]);
    assert_eq!(
        states(&play.model),
        [("a", State::Done, 1, 1), ("b", State::Done, 1, 1), ("c", State::Running, 1, 1)]
    );
    assert_eq!(rounds(&play.model), ["loop 1 of 2"]);
    play.ends(1, 1, "c", &[]);
    assert_eq!(
        states(&play.model),
        [("a", State::Running, 2, 1), ("b", State::Waiting, 1, 1), ("c", State::Waiting, 1, 1)]
    );
    assert_eq!(rounds(&play.model), ["loop 2 of 2"]);
    play.ends(1, 0, "a", &[]).ends(1, 7, "oh", &[]);
    let State::Retry { due } = play.model.level.steps[1].state else {
        panic!("{:?}", play.model.level.steps[1])
    };
    assert!(due > play.now());
    assert!(play.model.level.steps[1].remark.contains("oh"), "why it is tried again");
    play.timer_is_due();
    assert_eq!(states(&play.model)[1], ("b", State::Running, 2, 2));
    play.ends(1, 0, "b", &[]).ends(1, 1, "c", &[]);
    assert_eq!(states(&play.model)[2], ("c", State::AwaitsAnswer, 2, 1), "the loop has had its last round");
    assert_eq!(play.model.status(), "waiting");
    assert!(!play.model.level.steps[2].passed_by_a_person);
    play.answer(Choice::Proceed);
    assert!(play.model.level.steps[2].passed_by_a_person, "its loop did not come to its end by itself");
    assert_eq!(states(&play.model)[2], ("c", State::Done, 2, 1));
    assert_eq!(play.model.status(), "succeeded");
}

#[test]
fn a_loop_that_goes_on_without_success_has_a_sign_and_words_of_its_own() {
    let flow = "flow: f\nsteps:\n  - id: test\n    run: x\n    routing: { kind: microloop, status_from_exit: { 0: OK, 1: NO }, \
                success_values: [OK], max_iterations: 1, on_exhausted: proceed }\n  - { id: ship, run: x }\n";
    let mut play = Fixture::of(flow);
    play.ends(1, 1, "no", &[]);
    assert!(!play.model.level.steps[0].is_exhausted, "it has a round left");
    play.ends(1, 1, "no", &[]);
    assert_eq!(states(&play.model)[1], ("ship", State::Running, 1, 1));
    let shown = play.picture(80, 20, Charset::Unicode);
    assert!(shown.contains("! test") && shown.contains("went on without success"), "{shown}");
}

#[test]
fn doubt_is_neither_success_nor_failure() {
    let mut play = Fixture::of("flow: f\nsteps:\n  - id: a\n    run: x\n");
    play.doubt("{}");
    assert_eq!(states(&play.model), [("a", State::InDoubt, 1, 1)]);
    assert!(play.model.level.steps[0].question.is_some());
    play.answer(Choice::Rerun);
    assert_eq!(states(&play.model), [("a", State::Running, 1, 2)]);
    assert!(play.model.level.steps[0].question.is_none());
    play.doubt("{}").answer(Choice::Fail);
    assert_eq!(states(&play.model), [("a", State::Failed, 1, 2)]);
    assert_eq!(play.model.status(), "failed");
}

#[test]
fn a_step_whose_account_is_closed_says_whose_and_until_when() {
    let mut play = Fixture::of("flow: f\nsteps:\n  - id: a\n    run: x\n");
    let Some(visit) = play.records.iter().find_map(|record| match &record.event {
        Event::AttemptStarted(started) => Some(started.attempt.visit.clone()),
        _ => None,
    }) else {
        panic!("its attempt has begun")
    };
    let due = Timestamp::from_millis(1_700_000_000_000);
    for (resets_at, words) in
        [(Some(due), "waiting for claude until "), (None, "waiting for claude, next try at ")]
    {
        let account = AccountWait { account: "claude".to_owned(), resets_at, is_tried: false };
        let timer = TimerId::new("tim_1").unwrap();
        let event = Event::TimerSet(TimerSet { timer, due, visit: visit.clone(), account: Some(account) });
        let record = Record { seq: play.model.next(), at: play.now(), event };
        play.model.record(&record);
        assert_eq!(play.model.level.steps[0].state, State::Retry { due });
        let shown = play.picture(80, 20, Charset::Unicode);
        assert!(shown.contains(words), "{shown}");
    }
}

#[test]
fn an_item_in_doubt_is_asked_about_and_goes_on_while_its_step_says_how_it_stands() {
    let mut play = Fixture::of("flow: f\nsteps:\n  - { id: look, for_each: [a, b], run: x }\n");
    play.fills().doubts("0.look.1.1");
    assert_eq!(play.model.level.steps[0].stands(), State::Running, "the other item moves");
    play.ended("1.look.1.1", 1, 0, "b");
    assert_eq!(play.model.level.steps[0].stands(), State::InDoubt);
    play.answer(Choice::Rerun).fills();
    assert_eq!(play.model.level.steps[0].stands(), State::Running);
    play.ended("0.look.1.2", 1, 0, "a");
    assert_eq!(states(&play.model), [("look", State::Done, 1, 0)]);
    assert_eq!(play.model.status(), "succeeded");
}

#[test]
fn a_loop_within_a_loop_starts_over_in_each_round_of_the_outer_one() {
    let critic = |id: &str, back: &str| {
        format!(
            "  - id: {id}\n    run: x\n    routing: {{ kind: microloop, loop_to: {back}, status_from_exit: {{0: OK, 1: BAD}}, \
             success_values: [OK], max_iterations: 5 }}\n"
        )
    };
    let flow = format!(
        "flow: f\nsteps:\n  - id: a\n    run: x\n  - id: b\n    run: x\n{}{}",
        critic("in", "b"),
        critic("out", "a")
    );
    let mut play = Fixture::of(&flow);
    play.ends(1, 0, "", &[]).ends(1, 0, "", &[]).ends(1, 1, "", &[]).ends(1, 0, "", &[]);
    assert_eq!(rounds(&play.model), ["loop 2 of 6", "loop 1 of 6"]);
    play.ends(1, 0, "", &[]).ends(1, 1, "", &[]);
    assert_eq!(rounds(&play.model), ["loop 1 of 6", "loop 2 of 6"]);
    assert_eq!(states(&play.model)[0], ("a", State::Running, 2, 1));
}

#[test]
fn the_loops_of_a_corrected_flow_are_those_of_the_correction() {
    let mut play = Fixture::of(LOOP);
    play.ends(1, 0, "a", &[]).ends(1, 0, "b", &[]).ends(1, 1, "c", &[]);
    let before = "  - id: new\n    run: x\n";
    let corrected = LOOP.replace("steps:\n", &format!("steps:\n{before}"));
    play.corrects(&corrected.replace("max_iterations: 1", "max_iterations: 4"));
    play.ends(1, 0, "what is running ends first", &[]);
    assert_eq!(rounds(&play.model), ["loop 2 of 5"]);
    let [found] = &play.model.level.rounds.loops[..] else { panic!("one loop") };
    assert_eq!((found.first, found.last), (1, 3), "each step stands one row further down");
}

#[test]
fn a_record_is_taken_once_and_in_its_place() {
    let mut play = Fixture::of(LOOP);
    let again = Record { seq: 0, at: play.now(), event: Event::CancelRequested(cancel()) };
    let ahead = Record { seq: 99, ..again.clone() };
    let before = (states(&play.model).len(), play.model.next(), play.model.status());
    play.model.record(&again);
    play.model.record(&ahead);
    assert_eq!((states(&play.model).len(), play.model.next(), play.model.status()), before);
    let next = Record { seq: play.model.next(), ..again };
    play.model.record(&next);
    assert_eq!(play.model.status(), "cancelling");
}

fn cancel() -> envoi_kernel::event::CancelRequested {
    let by = envoi_kernel::ids::Principal { tenant: "local".to_owned(), actor: "x".to_owned() };
    envoi_kernel::event::CancelRequested { by }
}
