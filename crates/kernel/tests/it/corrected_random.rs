//! Random corrections of random flows: a run in any state goes on or the correction is refused; no finished step runs again
//! unasked, and every version replays.

use crate::{
    corrected::{correction, version},
    driver::{Driver, person, slot},
    properties::{cases, live},
    random::{Turn, flows, turns},
    random_graphs::{busy_turns, graphs},
};
use envoi_contract::handoff::Status as HandoffStatus;
use envoi_kernel::{
    Event, Flow, Input, Record, Refusal, Run,
    event::Course,
    family::Share,
    ids::{StepId, VisitId},
};
use proptest::{prelude::*, sample::Index};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// The steps of the run's own flow whose last visit has succeeded and is not to be repeated, by the records.
fn done(flow: &Flow, records: &[Record]) -> BTreeSet<StepId> {
    let mut done: BTreeMap<StepId, bool> = BTreeMap::new();
    for record in records {
        match &record.event {
            Event::HandoffWritten(event) if event.visit.scope.is_empty() && event.visit.item().is_none() => {
                done.insert(event.visit.step.clone(), event.handoff.status == HandoffStatus::Succeeded);
            }
            Event::RunReopened(_) if flow.graph => repeat_failed(flow, &mut done),
            _ => {}
        }
        // The hand-off of a visit that goes back comes after its routing, and is repeated with the rest.
        if let Event::HandoffWritten(written) = &record.event
            && let Some(target) = went_back(records, &written.visit)
        {
            repeat(flow, &target, &mut done);
        }
    }
    // Any resumption does the failed steps again and those that depend on them.
    if flow.graph && matches!(records.last().map(|record| &record.event), Some(Event::RunEnded(_))) {
        repeat_failed(flow, &mut done);
    }
    done.into_iter().filter(|(_, done)| *done).map(|(step, _)| step).collect()
}

fn repeat_failed(flow: &Flow, done: &mut BTreeMap<StepId, bool>) {
    let failed: Vec<StepId> = done.iter().filter(|(_, done)| !**done).map(|(step, _)| step.clone()).collect();
    failed.iter().for_each(|step| repeat(flow, step, done));
}

/// The step that this visit of the run's own flow has gone back to.
fn went_back(records: &[Record], visit: &VisitId) -> Option<StepId> {
    records.iter().find_map(|record| match &record.event {
        Event::Routed(routed) if routed.visit == *visit && visit.scope.is_empty() => match &routed.course {
            Course::LoopBack(step) | Course::Round(step) => Some(step.clone()),
            _ => None,
        },
        _ => None,
    })
}

/// The step and those that depend on it are to be done again.
fn repeat(flow: &Flow, step: &StepId, done: &mut BTreeMap<StepId, bool>) {
    done.remove(step);
    for other in flow.steps.iter().filter(|other| flow.graph && other.needs.contains(step)) {
        repeat(flow, &other.id, done);
    }
}

/// Lives through `turns`, and corrects the flow before one of them.
fn corrected(
    old: &Arc<Flow>,
    new: &Arc<Flow>,
    turns: &[(Turn, bool)],
    at: Index,
    from: Option<Index>,
) -> (Driver, bool) {
    let (before, after) = turns.split_at(at.index(turns.len() + 1));
    let mut driver = live(old, before, |_, _, _| {});
    let new = version("corrected", new);
    driver.run.learn(Arc::clone(&new));
    let from = from.map(|from| new.steps[from.index(new.steps.len())].id.clone());
    let lived = driver.records.len();
    let resume = Input::Reopen { by: person("bob"), why: None, request: None, elsewhere: Share::default() };
    let anyway = driver
        .run
        .decide(resume, slot(), driver.now)
        .map(|records| opened(old, &records))
        .unwrap_or_default();
    let outlook = driver.run.correction(&new, from.as_ref());
    let decided = driver.feed_with(correction(&new, from.as_ref().map(StepId::as_str)), slot());
    let done = done(old, &driver.records[..lived]);
    match decided {
        Ok(records) => {
            assert!(outlook.refusals.is_empty(), "{:?}", outlook.refusals);
            if from.is_none() {
                let story: Vec<String> =
                    driver.records.iter().map(|record| crate::story::event(&record.event)).collect();
                check_commit(old, &records, &done, &anyway, &story);
            }
        }
        Err(Refusal::NotCorrectable { reasons }) => {
            assert_eq!(reasons, outlook.refusals);
            assert_eq!(driver.records.len(), lived);
        }
        Err(Refusal::Cancelling | Refusal::NotReopenable { .. }) => {}
        Err(other) => panic!("{other}"),
    }
    for (turn, free) in after {
        if let Some(input) = turn.input(&mut driver) {
            let slot = slot().filter(|_| *free || matches!(turn, Turn::Slot));
            driver.feed_with(input, slot).ok();
        }
    }
    let took_over = driver.records.iter().any(|record| matches!(record.event, Event::FlowCorrected(_)));
    (driver, took_over)
}

/// The steps of the run's own flow whose visits these records open, otherwise than by the way of a visit that ended. A step that
/// another one goes on without is entered only to be skipped: nothing of it begins any more.
fn opened(flow: &Flow, records: &[Record]) -> Vec<StepId> {
    let mut given_up: BTreeSet<&StepId> = BTreeSet::new();
    let mut opened = Vec::new();
    for record in records {
        let begins = match &record.event {
            Event::StepEntered(entered) if entered.scope.is_empty() => {
                opened.extend(Some(&entered.step).filter(|step| !given_up.contains(step)).cloned());
                continue;
            }
            // In a graph that is only a name: steps are entered when they are due.
            Event::RunReopened(reopened) if !flow.graph && reopened.decides.is_none() => {
                opened.push(reopened.step.clone());
                continue;
            }
            Event::StepsGivenUp(event) if event.scope.is_empty() => {
                given_up.extend(&event.steps);
                continue;
            }
            Event::AttemptStarted(event) => &event.attempt.visit,
            Event::FannedOut(event) => &event.visit,
            Event::FlowEntered(event) => &event.visit,
            Event::InterruptRaised(event) => &event.visit,
            _ => continue,
        };
        assert!(
            !begins.scope.is_empty() || !given_up.contains(&begins.step),
            "{begins} is given up and begins"
        );
    }
    opened
}

/// Checks the steps that the correction itself opens: no finished step, except those that resuming the run
/// would have repeated anyway.
fn check_commit(
    flow: &Flow,
    records: &[Record],
    done: &BTreeSet<StepId>,
    anyway: &[StepId],
    story: &[String],
) {
    let waits = records.iter().any(|record| matches!(record.event, Event::CorrectionRequested(_)));
    assert!(!waits || records.len() == 1, "something follows beside a live attempt");
    for step in opened(flow, records) {
        assert!(
            anyway.contains(&step) || !done.contains(&step),
            "{step} was finished and runs again: {}",
            story.join(", ")
        );
    }
}

/// No visit that has left a hand-off has another attempt, and every prefix replays to what was lived.
fn check_run(driver: &Driver) {
    let versions = driver.run.versions().clone();
    let mut replayed = Run::new(versions.clone());
    let mut over: BTreeMap<VisitId, HandoffStatus> = BTreeMap::new();
    for record in &driver.records {
        let text = serde_json::to_string(record).unwrap();
        replayed.apply(&serde_json::from_str(&text).unwrap()).unwrap();
        match &record.event {
            Event::AttemptStarted(started) => {
                assert!(
                    !over.contains_key(&started.attempt.visit),
                    "{} had left a hand-off",
                    started.attempt
                );
            }
            Event::HandoffWritten(event) => {
                let twice = over.insert(event.visit.clone(), event.handoff.status);
                assert!(twice.is_none(), "{} left two hand-offs", event.visit);
            }
            _ => {}
        }
        let restored = Run::restore(versions.clone(), &replayed.snapshot().unwrap()).unwrap();
        assert_eq!(restored, replayed);
    }
    assert_eq!(replayed, driver.run);
    let mut deciding = Run::without_view(versions.clone());
    driver.records.iter().for_each(|record| deciding.apply(record).unwrap());
    let control = driver.run.control_snapshot().unwrap();
    assert_eq!(Run::restore_control(versions, &control).unwrap(), deciding, "also of the flow that holds");
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn a_corrected_list_keeps_what_is_finished(
        (old, new, turns, at, from) in
            (flows(), flows(), turns(), any::<Index>(), proptest::option::weighted(0.3, any::<Index>()))
    ) {
        check_run(&corrected(&old, &new, &turns, at, from).0);
    }

    #[test]
    fn a_corrected_graph_keeps_what_is_finished(
        (old, new, turns, at, from) in
            (graphs(), graphs(), busy_turns(), any::<Index>(), proptest::option::weighted(0.3, any::<Index>()))
    ) {
        check_run(&corrected(&old, &new, &turns, at, from).0);
    }
}
