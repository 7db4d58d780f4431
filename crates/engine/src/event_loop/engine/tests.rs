//! The loop alone, fed by hand.

mod aside;
mod halted;
mod overnight;
mod snapshots;
mod workspace;

use super::*;
use crate::model::runner::{Caller, Clock, Job, Log, Observer, Runner, ShowError};
use crate::model::{
    message::{Adopt, Begin, Reply},
    runner::Settlement,
    trouble::{Trouble, TroubleKind},
};
use envoi_contract::time::Timestamp;
use envoi_journal::{Aside, Commit, Note, PinnedFlow, Snapshot};
use envoi_journal::{CommitError, Receipt};
use envoi_kernel::{Input, Record, ids::AttemptId};
use envoi_kernel::{
    event::Outcome,
    ids::{Principal, Seq},
    input::{AttemptResult, Start},
};
use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    rc::Rc,
    sync::{Arc, Mutex},
};

const FLOW: &str = "flow: one\nsteps:\n  - id: only\n    run: [work]\n";

/// Everything the loop does to the world, in order.
#[derive(Clone, Default)]
struct Doings {
    list: Rc<RefCell<Vec<String>>>,
    /// How far each run is in the journal.
    next: Rc<RefCell<BTreeMap<RunId, Seq>>>,
    /// The snapshots of commits, and the place of the first record of each.
    snapshots: Rc<RefCell<Vec<(Seq, Snapshot)>>>,
    /// Runs that cannot be shown.
    unshown: Rc<RefCell<Vec<RunId>>>,
    /// Runs on which the observer panics.
    unbearable: Rc<RefCell<Vec<RunId>>>,
    clocks: Clocks,
}

/// The times of the wall clock and of the monotonic clock.
type Clocks = Rc<Cell<(Timestamp, u64)>>;

impl Doings {
    fn add(&self, what: String) {
        self.list.borrow_mut().push(what);
    }

    /// From now on the clocks show this.
    fn at(&self, wall: i64, steady_ms: u64) {
        self.clocks.set((Timestamp::from_millis(wall), steady_ms));
    }

    fn take(&self) -> Vec<String> {
        self.list.take()
    }

    fn panics_over(&self, run: &RunId) {
        assert!(!self.unbearable.borrow().contains(run), "a defect of the observer");
    }
}

impl Clock for Doings {
    fn now(&self) -> Timestamp {
        self.clocks.get().0
    }

    fn steady_ms(&self) -> u64 {
        self.clocks.get().1
    }

    fn boot_id(&self) -> String {
        "boot".to_owned()
    }
}

impl Log for Doings {
    fn submit(&mut self, commit: Commit) {
        let names: Vec<&str> = commit.records.iter().map(|record| record.event.name()).collect();
        self.add(format!("{} commits {}", commit.run, names.join(" ")));
        self.snapshots.borrow_mut().extend(commit.snapshot.map(|snapshot| (commit.expected, snapshot)));
        let next = commit.expected + u64::try_from(commit.records.len()).unwrap();
        self.next.borrow_mut().insert(commit.run, next);
    }

    fn note(&mut self, note: Note) {
        let what = match &note {
            Note::SetAside { aside, undone, .. } if undone.is_empty() => {
                format!("is set aside: {}", aside.code)
            }
            Note::SetAside { aside, undone, .. } => {
                format!("is set aside: {}: `{}` is not done", aside.code, undone.join("`, `"))
            }
            Note::TakeUp { requests, .. } if requests.is_empty() => "is taken up".to_owned(),
            Note::TakeUp { requests, .. } => format!("is taken up: `{}` is done", requests.join("`, `")),
            Note::Hold { .. } => "is held".to_owned(),
            Note::Release { .. } => "is released".to_owned(),
            Note::Done { request, .. } => format!("`{request}` is done"),
        };
        self.add(format!("{} {what}", note.run()));
    }

    fn next_seq(&mut self, run: &RunId) -> Result<Seq, envoi_journal::ReadError> {
        Ok(self.next.borrow().get(run).copied().unwrap_or(0))
    }
}

impl Runner for Doings {
    fn ensure(&mut self, job: Job) {
        self.add(format!("{} ensures {}", job.run, job.started.attempt));
    }

    fn cancel(&mut self, run: &RunId, attempt: &AttemptId) {
        self.add(format!("{run} cancels {attempt}"));
    }
}

impl Observer for Doings {
    fn committed(&mut self, run: &Run, _: &[Record]) -> Result<(), ShowError> {
        let id = &run.started().unwrap().run;
        self.panics_over(id);
        match self.unshown.borrow().contains(id) {
            true => Err(std::io::Error::other("the disk is full").into()),
            false => Ok(()),
        }
    }

    fn set_aside(&mut self, run: &RunId, why: &Aside) {
        self.add(format!("{run} is shown as set aside: {}: {}", why.code, why.reason));
        self.panics_over(run);
    }

    fn taken_up(&mut self, run: &RunId) {
        self.add(format!("{run} is shown as taken up"));
        self.panics_over(run);
    }
}

fn engine(jobs: usize) -> (Engine, Doings) {
    let doings = Doings::default();
    doings.at(1_000, 0);
    let world = World {
        clock: Box::new(doings.clone()),
        log: Box::new(doings.clone()),
        runner: Box::new(doings.clone()),
        observer: Box::new(doings.clone()),
    };
    (Engine::new(world, jobs), doings)
}

fn by() -> Principal {
    of("local")
}

fn of(tenant: &str) -> Principal {
    Principal { tenant: tenant.to_owned(), actor: "ada".to_owned() }
}

fn id(name: &str) -> RunId {
    RunId::new(format!("run_{name}")).unwrap()
}

/// A name with a number is that of a run of the tenant before the number.
fn begin(name: &str) -> Message {
    begin_of(name, FLOW)
}

fn begin_of(name: &str, text: &str) -> Message {
    let loaded = envoi_flow::load("flow.yaml", text).unwrap();
    let flow = Arc::new(loaded.flow);
    let language = loaded.language;
    let digest = flow.digest;
    let text = text.to_owned();
    Message::Begin(Box::new(Begin {
        run: Run::new(flow),
        start: Start {
            source: "/flow.yaml".to_owned(),
            shared: true,
            run_base: format!("/{name}"),
            by: name.find(char::is_numeric).map_or_else(by, |at| of(&name[..at])),
            ..crate::model::sample::start(&id(name), language)
        },
        made: false,
        pinned: PinnedFlow {
            digest,
            language,
            name: "flow.yaml".to_owned(),
            text,
            parts: Default::default(),
            earlier: Vec::new(),
        },
        caller: Arc::new(Caller::default()),
        reply: Box::new(drop),
    }))
}

fn durable(name: &str) -> Message {
    Message::Committed { run: id(name), result: Ok(Receipt { events_bytes: 1 }) }
}

/// Adopts this run, with a follower.
fn adopt(run: Run) -> Message {
    let purpose = crate::model::message::Purpose::GoOn;
    let caller = Arc::new(Caller::default());
    Message::Adopt(Box::new(Adopt {
        corrected: None,
        run,
        inputs: Vec::new(),
        purpose,
        again: None,
        is_inside: false,
        request: None,
        tail_bytes: 0,
        caller,
        reply: Box::new(drop),
    }))
}

fn settled(name: &str, attempt: &str) -> Message {
    settled_with(name, attempt, 0)
}

fn settled_with(name: &str, attempt: &str, code: i32) -> Message {
    let attempt = AttemptId::parse(attempt).unwrap();
    let result =
        AttemptResult::empty(attempt.clone(), Outcome::Exited { code }, Timestamp::from_millis(1_000));
    let settlement = Settlement::Finished { result: Box::new(result), blobs: Vec::new() };
    Message::Settled { run: id(name), attempt, settlement }
}

#[test]
fn a_slot_is_not_given_away_between_a_commit_and_the_start_that_it_announces() {
    let (mut engine, doings) = engine(1);
    engine.handle(begin("a"));
    engine.handle(Message::Input {
        run: id("a"),
        input: Box::new(Input::Cancel { by: by() }),
        reply: Box::new(drop),
    });
    engine.handle(durable("a"));
    engine.handle(begin("b"));
    let expected = [
        "run_a commits run_started attempt_started",
        "run_a ensures only.1.1",
        "run_a commits cancel_requested",
        "run_b commits run_started",
    ];
    assert_eq!(doings.take(), expected);
    engine.handle(durable("b"));
    engine.handle(durable("a"));
    assert_eq!(doings.take(), ["run_a cancels only.1.1"], "the only slot is taken");
    assert_eq!(engine.live(), 1);
}

#[test]
fn a_run_that_was_read_before_its_end_is_not_brought_back() {
    let (mut engine, doings) = engine(1);
    engine.handle(begin("a"));
    engine.handle(durable("a"));
    let read = engine.run(&id("a")).unwrap().clone();
    engine.handle(settled("a", "only.1.1"));
    engine.handle(durable("a"));
    assert!(engine.run(&id("a")).is_none(), "it is over");
    doings.take();
    let answer = Arc::new(Mutex::new(None));
    let told = Arc::clone(&answer);
    let reply = Box::new(move |result| *told.lock().unwrap() = Some(result));
    engine.handle(Message::Adopt(Box::new(Adopt {
        corrected: None,
        run: read,
        inputs: Vec::new(),
        purpose: crate::model::message::Purpose::GoOn,
        again: None,
        is_inside: false,
        request: None,
        tail_bytes: 0,
        caller: Arc::new(Caller::default()),
        reply,
    })));
    let answer = answer.lock().unwrap().take();
    assert!(matches!(answer, Some(Err(EngineError::Stale { .. }))), "{answer:?}");
    assert!(doings.take().is_empty() && engine.is_idle(), "nothing starts again");
}

#[test]
fn an_engine_that_is_to_end_begins_a_run_for_which_something_was_made_and_no_other() {
    let (mut engine, doings) = engine(1);
    let said = Arc::new(Mutex::new(Vec::new()));
    let ask = |what: &'static str| -> Reply {
        let said = Arc::clone(&said);
        Box::new(move |result: Result<(), EngineError>| said.lock().unwrap().push((what, result.is_ok())))
    };
    let may_begin = |what| Message::MayBegin { within: Vec::new(), reply: ask(what) };
    engine.handle(may_begin("before"));
    engine.handle(Message::Drain);
    engine.handle(may_begin("after"));
    for (name, made) in [("a", true), ("b", false)] {
        let Message::Begin(mut begin) = begin(name) else { panic!("it begins") };
        (begin.made, begin.reply) = (made, ask(name));
        engine.handle(Message::Begin(begin));
    }
    engine.handle(durable("a"));
    assert_eq!(*said.lock().unwrap(), [("before", true), ("after", false), ("b", false), ("a", true)]);
    assert_eq!(doings.take(), ["run_a commits run_started"], "nothing of it starts");
    assert!(engine.is_idle());
}

/// Begins these runs, each named for its tenant with a number, and has each attempt end as soon as it runs; the order in which runs are served.
fn served(jobs: usize, runs: &[&str]) -> Vec<String> {
    let (mut engine, doings) = engine(jobs);
    for name in runs {
        engine.handle(begin(name));
    }
    let mut order = Vec::new();
    let mut todo: VecDeque<String> = doings.take().into();
    while let Some(doing) = todo.pop_front() {
        let mut words = doing.split(' ');
        let run = words.next().unwrap().strip_prefix("run_").unwrap().to_owned();
        if words.next() == Some("ensures") {
            order.push(run.clone());
            engine.handle(settled(&run, "only.1.1"));
        } else {
            engine.handle(durable(&run));
        }
        todo.extend(doings.take());
    }
    assert!(engine.is_idle(), "all are served");
    order
}

#[test]
fn a_tenant_with_many_runs_takes_turns_with_one_that_has_few() {
    for (jobs, runs, expected) in [
        (1, "n1 n2 n3 n4 n5", "n1 n2 n3 n4 n5"),
        (1, "n1 n2 n3 n4 n5 s1 s2", "n1 s1 n2 s2 n3 n4 n5"),
        (2, "n1 n2 n3 n4 n5 s1 s2", "n1 n2 s1 n3 s2 n4 n5"),
        (1, "n1 n2 n3 s1 s2 e1", "n1 e1 s1 n2 s2 n3"),
    ] {
        let runs: Vec<&str> = runs.split(' ').collect();
        assert_eq!(served(jobs, &runs).join(" "), expected, "{jobs} at once");
    }
}

/// An engine whose only slot is taken.
fn busy() -> (Engine, Doings) {
    let (mut engine, doings) = engine(1);
    engine.handle(begin_of("a", FLOW));
    engine.handle(durable("a"));
    assert_eq!(engine.live(), 1, "the slot is taken");
    (engine, doings)
}

#[test]
fn what_starts_nothing_waits_for_no_slot_after_a_crash_between_two_turns() {
    let (mut engine, _) = busy();
    let skipped: String = (0..200).map(|n| format!("  - {{ id: s{n}, if: false, run: [work] }}\n")).collect();
    engine.handle(begin_of("b", &format!("flow: two\nsteps:\n{skipped}  - {{ id: last, ask: Go on? }}\n")));
    engine.handle(durable("b"));
    let b = RunId::new("run_b").unwrap();
    let between = engine.run(&b).unwrap().clone();
    assert_eq!(between.interrupts().count(), 0);
    let (mut after, _) = busy();
    after.handle(adopt(between));
    for _ in 0..20 {
        if after.run(&b).is_some_and(|run| run.interrupts().next().is_some()) {
            break;
        }
        after.handle(durable("b"));
    }
    assert_eq!(
        after.run(&b).unwrap().interrupts().count(),
        1,
        "the question stands although the slot is taken"
    );
}

#[test]
fn what_starts_nothing_waits_for_no_slot_however_much_it_is() {
    let (mut engine, doings) = busy();
    let skipped: String = (0..200).map(|n| format!("  - {{ id: s{n}, if: false, run: [work] }}\n")).collect();
    let asks = "  - { id: last, ask: Go on? }\n  - { id: then, run: [work] }\n";
    engine.handle(begin_of("b", &format!("flow: two\nsteps:\n{skipped}{asks}")));
    let b = RunId::new("run_b").unwrap();
    for _ in 0..20 {
        if engine.run(&b).is_some_and(|run| run.interrupts().next().is_some()) {
            break;
        }
        engine.handle(durable("b"));
    }
    let run = engine.run(&b).unwrap();
    assert_eq!(
        run.interrupts().count(),
        1,
        "the question stands although every slot is taken: {:?}",
        doings.take()
    );
    assert_eq!(engine.live(), 1);
}

/// A run whose first attempt has failed and is tried again after exactly one second; it is durable.
fn retried(doings: &Doings, engine: &mut Engine) {
    let flow =
        "flow: one\nsteps:\n  - id: only\n    run: [work]\n    retry: { attempts: 2, backoff: 1s..1s }\n";
    engine.handle(begin_of("a", flow));
    engine.handle(durable("a"));
    engine.handle(settled_with("a", "only.1.1", 1));
    engine.handle(durable("a"));
    assert_eq!(engine.wakes_in(), Some(Duration::from_secs(1)));
    doings.take();
}

const HOUR: i64 = 3_600_000;

#[test]
fn a_clock_that_is_set_back_or_forward_holds_up_nothing_that_is_due() {
    let rows = [
        ("as it was", 500, 500, 1_000, 1_000),
        ("set back at once", -HOUR, 0, 1_000 - HOUR, 1_000),
        ("set back on the way", 500 - HOUR, 500, 1_000 - HOUR, 1_000),
        ("set forward", 500, 500, HOUR, 600),
        ("the machine was suspended", 500, 500, 5_000, 510),
    ];
    for (row, wall, steady, due_wall, due_steady) in rows {
        let (mut engine, doings) = engine(1);
        doings.at(10 * HOUR, 7);
        retried(&doings, &mut engine);
        doings.at(10 * HOUR + wall, 7 + steady);
        engine.handle(Message::Wake);
        assert_eq!(doings.take(), Vec::<String>::new(), "{row}: too early");
        doings.at(10 * HOUR + due_wall, 7 + due_steady);
        assert_eq!(engine.wakes_in(), Some(Duration::ZERO), "{row}");
        engine.handle(Message::Wake);
        assert_eq!(doings.take(), ["run_a commits timer_fired attempt_started"], "{row}");
    }
}

#[test]
fn a_run_whose_last_event_lies_in_the_future_goes_on_in_its_own_time() {
    let (mut before, doings) = engine(1);
    doings.at(10 * HOUR, 7);
    retried(&doings, &mut before);
    let run = before.run(&id("a")).unwrap().clone();
    // Another engine, after the clock was set back by an hour; its monotonic clock counts from elsewhere.
    let (mut after, doings) = engine(1);
    doings.at(9 * HOUR, 123_456);
    after.handle(adopt(run));
    doings.take();
    assert_eq!(after.wakes_in(), Some(Duration::from_secs(1)));
    doings.at(9 * HOUR + 999, 124_455);
    after.handle(Message::Wake);
    assert_eq!(doings.take(), Vec::<String>::new());
    doings.at(9 * HOUR + 1_000, 124_456);
    after.handle(Message::Wake);
    assert_eq!(doings.take(), ["run_a commits timer_fired attempt_started"]);
}
