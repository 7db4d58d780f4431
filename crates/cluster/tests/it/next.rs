//! The next step starts in the slot of the step before, in one call of its worker.

use crate::{flows, objects::time, world::start};
use envoi_cluster::{
    Message, Place, Wanted,
    message::{Caller, FreeSlot, ToDispatcher, ToRun},
    run::{self, Handled, Reply},
};
use envoi_kernel::{
    Event, Flow, Input,
    event::Outcome,
    flow::Versions,
    ids::{AttemptId, RunId},
    input::AttemptResult,
};
use std::{collections::BTreeMap, sync::Arc};

fn place(incarnation: u64) -> Place {
    Place::parse(&format!("w#{incarnation}@instance")).unwrap()
}

fn run_id() -> RunId {
    RunId::new("run_0").unwrap()
}

struct Turns {
    flow: Versions,
    state: run::State,
    offers: u64,
}

impl Turns {
    fn of(flow: Versions) -> Self {
        let mut turns = Self { flow, state: run::State::default(), offers: 0 };
        turns.take(ToRun::Input(Box::new(Input::Start(Box::new(start(&run_id(), "red"))))));
        turns
    }

    fn take(&mut self, message: ToRun) -> Handled {
        let handled = run::handle(&run_id(), self.state.clone(), &self.flow, message, time(1)).unwrap();
        self.state = handled.state.clone();
        handled
    }

    fn grant(&mut self, place: &Place) {
        self.offers += 1;
        let slot = FreeSlot { place: place.clone(), offer: self.offers, floor: 1, accounts: Arc::default() };
        self.take(ToRun::SlotFree(Box::new(slot)));
    }

    fn settle(&mut self, attempt: &AttemptId, place: Place) -> Handled {
        let result = AttemptResult::empty(attempt.clone(), Outcome::Exited { code: 0 }, time(1));
        self.take(ToRun::Settled { caller: Caller { place, lost: 0 }, result: Box::new(result) })
    }

    fn wanted(&mut self, place: Place) -> Vec<AttemptId> {
        attempts(&self.take(ToRun::Look { caller: Caller { place, lost: 0 } }).wanted)
    }
}

fn attempts(wanted: &Wanted) -> Vec<AttemptId> {
    wanted.run.iter().map(|started| started.attempt.clone()).collect()
}

fn texts(attempts: &[AttemptId]) -> Vec<String> {
    attempts.iter().map(ToString::to_string).collect()
}

fn calls_for_a_slot(handled: &Handled) -> bool {
    handled.sent.iter().any(|sent| matches!(sent.message, Message::Dispatcher(ToDispatcher::Ready { .. })))
}

/// A flow with this number of steps, one after another.
fn steps(count: usize, keys: &str) -> Versions {
    let steps: String = (0..count).map(|number| format!("  - id: s{number}\n{keys}")).collect();
    let loaded =
        envoi_flow::load_with("flow.yaml", &format!("flow: many\nsteps:\n{steps}"), &BTreeMap::new());
    let flow: Arc<Flow> = Arc::new(loaded.unwrap_or_else(|errors| panic!("{errors:?}")).flow);
    Versions::from(flow)
}

#[test]
fn the_answer_to_the_end_of_a_step_is_the_next_step() {
    let mut turns = Turns::of(flows::flow(0).1);
    turns.grant(&place(1));
    let first = turns.wanted(place(1));
    assert_eq!(texts(&first), ["plan.1.1"]);
    let settled = turns.settle(&first[0], place(1));
    let next = attempts(&settled.wanted);
    assert_eq!(texts(&next), ["build.1.1"]);
    assert!(!calls_for_a_slot(&settled), "it has one");
    // A single commit has the end of the first step and the start of the next.
    let commits: Vec<_> =
        settled.sent.iter().filter(|sent| matches!(sent.message, Message::Commit(_))).collect();
    let [envoi_cluster::Sent { message: Message::Commit(commit), .. }] = commits[..] else {
        panic!("{commits:?}")
    };
    let starts = commit.records.iter().filter(|record| matches!(record.event, Event::AttemptStarted(_)));
    assert_eq!(starts.count(), 1);
    // The answer was lost, and the call is repeated: nothing is started, and the answer has the same content.
    let again = turns.settle(&first[0], place(1));
    assert!(matches!(again.reply, Reply::Refused(_)), "{:?}", again.reply);
    assert_eq!(attempts(&again.wanted), next);
}

#[test]
fn a_worker_that_is_lost_begins_nothing_with_what_it_ends() {
    // A step in doubt is rerun automatically, on any worker with a free slot.
    let mut turns = Turns::of(flows::flow(1).1);
    turns.grant(&place(1));
    let first = turns.wanted(place(1));
    turns.take(ToRun::Lost { worker: place(1).worker, incarnation: 1 });
    let late = turns.settle(&first[0], place(1));
    assert_eq!(late.wanted, Wanted::default());
    // The worker came back in time with another incarnation: attempts that it starts belong to that one.
    let mut turns = Turns::of(flows::flow(0).1);
    turns.grant(&place(1));
    let first = turns.wanted(place(2));
    turns.settle(&first[0], place(2));
    turns.take(ToRun::Lost { worker: place(1).worker, incarnation: 1 });
    assert_eq!(texts(&turns.wanted(place(2))), ["build.1.1"]);
    turns.take(ToRun::Lost { worker: place(1).worker, incarnation: 2 });
    assert_eq!(turns.wanted(place(2)), []);
}

#[test]
fn a_long_run_gives_its_slot_back_now_and_then() {
    let mut turns = Turns::of(steps(12, "    run: [work]\n"));
    turns.grant(&place(1));
    let mut wanted = turns.wanted(place(1));
    let mut ended = 0;
    let last = loop {
        let settled = turns.settle(&wanted[0], place(1));
        ended += 1;
        wanted = attempts(&settled.wanted);
        if wanted.is_empty() {
            break settled;
        }
    };
    assert_eq!(ended, 9, "the attempt that was granted, and eight after it");
    assert!(calls_for_a_slot(&last), "it waits its turn");
    turns.grant(&place(1));
    let next = turns.wanted(place(1));
    assert_eq!(texts(&next), ["s9.1.1"]);
    assert_eq!(texts(&attempts(&turns.settle(&next[0], place(1)).wanted)), ["s10.1.1"], "it counts anew");
}

#[test]
fn a_step_with_an_account_waits_for_a_slot_that_says_how_the_account_stands() {
    let mut turns = Turns::of(steps(2, "    agent: { use: claude, prompt: Go on. }\n"));
    turns.grant(&place(1));
    let first = turns.wanted(place(1));
    assert_eq!(first.len(), 1);
    let settled = turns.settle(&first[0], place(1));
    assert_eq!(attempts(&settled.wanted), []);
    assert!(matches!(settled.reply, Reply::Taken), "{:?}", settled.reply);
}
