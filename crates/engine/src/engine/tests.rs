//! The loop alone, fed by hand.

mod aside;
mod halted;

use super::*;
use crate::runner::{Caller, Clock, Job, Log, Observer, Runner};
use envoi_contract::json::Object;
use envoi_journal::{Aside, Commit, Note, PinnedFlow};
use envoi_kernel::{
    event::Outcome,
    ids::{Principal, Seq},
    input::{AttemptResult, ReportPlace, Start},
    requester::Requester,
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
    /// Runs that cannot be shown.
    unshown: Rc<RefCell<Vec<RunId>>>,
    now_ms: Rc<Cell<i64>>,
}

impl Doings {
    fn add(&self, what: String) {
        self.list.borrow_mut().push(what);
    }

    fn take(&self) -> Vec<String> {
        self.list.take()
    }
}

impl Clock for Doings {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.now_ms.get().max(1_000))
    }

    fn boot_id(&self) -> String {
        "boot".to_owned()
    }
}

impl Log for Doings {
    fn submit(&mut self, commit: Commit) {
        let names: Vec<&str> = commit.records.iter().map(|record| record.event.name()).collect();
        self.add(format!("{} commits {}", commit.run, names.join(" ")));
        let next = commit.expected + u64::try_from(commit.records.len()).unwrap();
        self.next.borrow_mut().insert(commit.run, next);
    }

    fn note(&mut self, note: Note) {
        let what = match &note {
            Note::SetAside { aside, .. } => format!("is set aside: {}", aside.code),
            Note::TakeUp { .. } => "is taken up".to_owned(),
            Note::Hold { .. } => "is held".to_owned(),
        };
        self.add(format!("{} {what}", note.run()));
    }

    fn next_seq(&mut self, run: &RunId) -> Result<Seq, String> {
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
    fn committed(&mut self, run: &Run, _: &[Record]) -> Result<(), String> {
        let id = &run.started().unwrap().run;
        match self.unshown.borrow().contains(id) {
            true => Err("the disk is full".to_owned()),
            false => Ok(()),
        }
    }

    fn set_aside(&mut self, run: &RunId, why: &Aside) {
        self.add(format!("{run} is shown as set aside: {}: {}", why.code, why.reason));
    }
}

fn engine(jobs: usize) -> (Engine, Doings) {
    let doings = Doings::default();
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
    let loaded = envoi_flow::load("flow.yaml", FLOW).unwrap();
    let flow = Arc::new(loaded.flow);
    let language = loaded.language;
    let (digest, text) = (flow.digest, FLOW.to_owned());
    Message::Begin(Box::new(Begin {
        run: Run::new(flow),
        start: Start {
            run: id(name),
            inputs: Object::default(),
            source: "/flow.yaml".to_owned(),
            workspace: "/".to_owned(),
            shared: true,
            run_base: format!("/{name}"),
            language,
            by: name.find(char::is_numeric).map_or_else(by, |at| of(&name[..at])),
            yes_to: Vec::new(),
            trace: None,
            requester: Requester::default(),
            slot: None,
        },
        pinned: PinnedFlow {
            digest,
            language,
            name: "flow.yaml".to_owned(),
            text,
            parts: Default::default(),
        },
        caller: Arc::new(Caller::default()),
        reply: Box::new(drop),
    }))
}

fn durable(name: &str) -> Message {
    Message::Committed { run: id(name), result: Ok(Receipt { events_bytes: 1 }) }
}

fn settled(name: &str, attempt: &str) -> Message {
    let attempt = AttemptId::parse(attempt).unwrap();
    let result = AttemptResult {
        attempt: attempt.clone(),
        outcome: Outcome::Exited { code: 0 },
        started_at: Timestamp::from_millis(1_000),
        duration_ms: 0,
        text: String::new(),
        text_blob: None,
        stderr_tail: String::new(),
        report: None,
        report_blob: None,
        report_place: ReportPlace::default(),
        files: Vec::new(),
        manifest: None,
        warnings: Vec::new(),
        misfit: None,
        excess: None,
        workspace_digest: None,
    };
    let settlement = Settlement::Finished { result: Box::new(result), blobs: Vec::new() };
    Message::Settled { run: id(name), attempt, settlement }
}

#[test]
fn a_slot_is_not_given_away_between_a_commit_and_the_start_that_it_announces() {
    let (mut engine, doings) = engine(1);
    engine.handle(begin("a"));
    engine.handle(Message::Ask { run: id("a"), ask: Ask::Cancel { by: by() }, reply: Box::new(drop) });
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
        run: read,
        asks: Vec::new(),
        purpose: crate::message::Purpose::GoOn,
        again: false,
        tail_bytes: 0,
        caller: Arc::new(Caller::default()),
        reply,
    })));
    let answer = answer.lock().unwrap().take();
    assert!(matches!(answer, Some(Err(EngineError::Stale { .. }))), "{answer:?}");
    assert!(doings.take().is_empty() && engine.is_idle(), "nothing starts again");
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
