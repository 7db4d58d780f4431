//! A run of two steps on one worker, with the objects as Restate stores them: values under keys, and messages
//! as text.
//!
//! Every handler is called twice with the same values. If the second call had another result, Restate would
//! refuse to repeat it.

use super::*;
use envoi_cluster::{
    WorkerId,
    message::{Caller, ToDispatcher},
    wire::Said,
};
use envoi_contract::{digest::Digest, json::Object as JsonObject};
use envoi_kernel::{
    Event, Flow, Input,
    event::Outcome,
    ids::{AttemptId, Principal, RunId},
    input::{AttemptResult, Start},
    requester::Requester,
};
use std::collections::{BTreeSet, VecDeque};

const FLOW: &str = "flow: two\nsteps:\n  - id: one\n    run: [work]\n  - id: two\n    run: [work]\n";

struct Store(Arc<Flow>);

impl Contents for Store {
    fn content(&self, _: &Digest) -> Result<Option<Vec<u8>>, Unavailable> {
        Ok(None)
    }
    fn flow(&self, name: &FlowName) -> Result<Option<Arc<Flow>>, Unavailable> {
        Ok((FlowName::of(&self.0) == *name).then(|| Arc::clone(&self.0)))
    }
}

/// A store that cannot be reached.
struct Away;

impl Contents for Away {
    fn content(&self, _: &Digest) -> Result<Option<Vec<u8>>, Unavailable> {
        Err(Unavailable { reason: "no connection".to_owned() })
    }
    fn flow(&self, _: &FlowName) -> Result<Option<Arc<Flow>>, Unavailable> {
        Err(Unavailable { reason: "no connection".to_owned() })
    }
}

/// Stores values and delivers messages, as Restate does.
struct Platform {
    runs: Runs,
    flow: Arc<Flow>,
    kept: BTreeMap<(&'static str, String), Kept>,
    sent: VecDeque<Outgoing>,
    commits: Vec<Commit>,
}

fn run_id() -> RunId {
    RunId::new("run_0two").unwrap()
}

fn worker_id() -> WorkerId {
    WorkerId::new("w1").unwrap()
}

fn time(millis: i64) -> Timestamp {
    Timestamp::from_millis(1_795_219_200_000 + millis)
}

fn written(message: Message, at: i64) -> String {
    Posted { message, at: time(at) }.written().unwrap().text
}

fn to_run(message: ToRun) -> Message {
    Message::Run(run_id(), message)
}

fn to_worker(message: ToWorkerSlot) -> Message {
    Message::WorkerSlot(worker_id(), message)
}

fn start() -> ToRun {
    ToRun::Input(Box::new(Input::Start(Box::new(Start {
        run: run_id(),
        inputs: JsonObject::default(),
        source: "/project/flow.yaml".to_owned(),
        workspace: "/work".to_owned(),
        shared: true,
        keep_files: false,
        no_cache: false,
        isolated: None,
        run_base: "/base".to_owned(),
        language: 1,
        by: Principal { tenant: "red".to_owned(), actor: "ada".to_owned() },
        yes_to: Vec::new(),
        trace: None,
        env: JsonObject::default(),
        requester: Requester::default(),
        part: None,
    }))))
}

impl Platform {
    fn new() -> Self {
        let flow = Arc::new(envoi_flow::load("flow.yaml", FLOW).unwrap().flow);
        let contents = Arc::new(Store(Arc::clone(&flow)));
        let runs = Runs { contents, replicas: vec!["a".to_owned(), "b".to_owned()] };
        Self { runs, flow, kept: BTreeMap::new(), sent: VecDeque::new(), commits: Vec::new() }
    }

    fn name_flow(&mut self) -> Reply {
        let name = serde_json::to_string(&FlowName::of(&self.flow)).unwrap();
        let key = (names::RUN, run_id().to_string());
        let kept = self.kept.entry(key.clone()).or_default();
        let effects = self.runs.name_flow(kept, &name).unwrap();
        self.does(key, effects)
    }

    fn take(&mut self, name: &'static str, key: &str, text: &str, door: Door) -> Result<Reply, Fault> {
        let kept = self.kept.entry((name, key.to_owned())).or_default();
        let workers = Workers { lease_ms: 60_000 };
        let handle = || match name {
            names::RUN => self.runs.take(key, kept, text, door),
            names::WORKER => workers.take(key, kept, text, door),
            _ => Dispatchers.take(key, kept, text, door),
        };
        let effects = handle()?;
        assert_eq!(effects, handle().unwrap(), "called again with {text}");
        Ok(self.does((name, key.to_owned()), effects))
    }

    fn does(&mut self, object: (&'static str, String), effects: Effects) -> Reply {
        self.kept.entry(object).or_default().extend(effects.writes);
        self.sent.extend(effects.sends);
        effects.reply
    }

    fn ask(&mut self, message: Message, at: i64) -> Result<Reply, Fault> {
        let (name, key) = match &message {
            Message::Run(id, _) => (names::RUN, id.to_string()),
            Message::WorkerSlot(id, _) => (names::WORKER, id.to_string()),
            _ => panic!("nobody asks these"),
        };
        self.take(name, &key, &written(message, at), Door::Ask)
    }

    /// Delivers all messages without a delay, until none is left.
    fn delivers(&mut self) {
        while let Some(Outgoing { to, text, after_ms }) = self.sent.pop_front() {
            match to {
                // The check of a lease, which is due in a minute.
                Recipient::Object { .. } if after_ms > 0 => {}
                Recipient::Object { name, key } => {
                    self.take(name, &key, &text, Door::Tell).unwrap();
                }
                Recipient::Replica { service } => {
                    assert!(["EnvoiReplica-a", "EnvoiReplica-b"].contains(&service.as_str()), "{service}");
                    self.commits.push(commit(&text).unwrap());
                }
            }
        }
    }

    /// The attempts that were started, according to the replicas' events.
    fn started(&self) -> Vec<AttemptId> {
        let mut seen = BTreeSet::new();
        let records = self.commits.iter().flat_map(|commit| &commit.records);
        let new = records.filter(|record| seen.insert(record.seq));
        new.filter_map(|record| match &record.event {
            Event::AttemptStarted(started) => Some(started.attempt.clone()),
            _ => None,
        })
        .collect()
    }
}

#[test]
fn a_handler_that_is_called_again_says_the_same_and_a_run_of_two_steps_ends() {
    let mut platform = Platform::new();
    assert_eq!(platform.name_flow(), Reply::Done);
    assert_eq!(platform.name_flow(), Reply::Done, "named twice");
    let join = ToWorkerSlot::Join { last: 0, request: 1, instance: "i".to_owned() };
    let Reply::Answer(Answer::WorkerSlot(worker_slot::Reply::Joined { place, lost })) =
        platform.ask(to_worker(join), 1).unwrap()
    else {
        panic!("joined")
    };
    platform.ask(to_run(start()), 2).unwrap();
    let caller = Caller { place, lost };
    let beat = ToWorkerSlot::Beat { incarnation: 1, number: 1, free: 1, read: 0 };
    platform.ask(to_worker(beat.clone()), 3).unwrap();
    platform.delivers();
    let again = platform.ask(to_worker(beat), 3).unwrap();
    let Reply::Answer(Answer::WorkerSlot(worker_slot::Reply::Lives { mail })) = again else {
        panic!("it lives: {again:?}")
    };
    assert_eq!(mail, [(1, run_id())]);
    let mut answer = platform.ask(to_run(ToRun::Look { caller: caller.clone() }), 4).unwrap();
    for step in ["one.1.1", "two.1.1"] {
        let Reply::Answer(Answer::Run { said: Said::Taken, wanted }) = answer else { panic!("{answer:?}") };
        let [attempt] = &wanted.run[..] else { panic!("{wanted:?}") };
        assert_eq!(attempt.attempt.to_string(), step);
        let result = AttemptResult::empty(attempt.attempt.clone(), Outcome::Exited { code: 0 }, time(4));
        let settled = ToRun::Settled { caller: caller.clone(), result: Box::new(result) };
        answer = platform.ask(to_run(settled.clone()), 5).unwrap();
        let twice = platform.ask(to_run(settled), 6).unwrap();
        assert!(matches!(twice, Reply::Answer(Answer::Run { said: Said::Refused { .. }, .. })), "{twice:?}");
        platform.delivers();
    }
    let started: Vec<String> = platform.started().iter().map(ToString::to_string).collect();
    assert_eq!(started, ["one.1.1", "two.1.1"]);
    let ends = platform.commits.iter().flat_map(|commit| &commit.records);
    assert_eq!(
        ends.filter(|record| matches!(record.event, Event::RunEnded(_))).count(),
        2,
        "one for each replica"
    );
}

#[test]
fn what_is_not_as_it_must_be_is_unfit_and_what_may_pass_is_not() {
    let mut platform = Platform::new();
    let begin = written(to_run(start()), 1);
    let rows = [
        (begin.clone(), "its flow", "the flow of"),
        ("x".repeat(envoi_cluster::wire::MAX_BYTES + 1), "its size", "at most"),
        (begin.replacen("\"version\":1", "\"version\":2", 1), "its version", "upgrade its reader"),
        (written(Message::Run(RunId::new("run_0other").unwrap(), start()), 1), "its run", "to this run"),
        (written(to_worker(ToWorkerSlot::Unused { offer: 1 }), 1), "its object", "to a run"),
        (
            written(to_run(ToRun::Lost { worker: worker_id(), incarnation: 1 }), 1),
            "its sender",
            "another object alone",
        ),
    ];
    for (text, what, expected) in rows {
        let taken = platform.take(names::RUN, "run_0two", &text, Door::Ask);
        let Err(Fault::Unfit(reason)) = taken else { panic!("{what}: {taken:?}") };
        assert!(reason.contains(expected), "{what}: {reason}");
        assert!(platform.kept.values().all(Kept::is_empty) && platform.sent.is_empty());
    }
    let slot = written(to_worker(ToWorkerSlot::Unused { offer: 1 }), 1);
    assert!(matches!(platform.take(names::WORKER, "w1", &slot, Door::Ask), Err(Fault::Unfit(_))));
    let ready = ToDispatcher::Ready { run: run_id(), tenant: "red".to_owned() };
    let ready = written(Message::Dispatcher(ready), 1);
    assert!(matches!(platform.take(names::DISPATCHER, names::ALL, &ready, Door::Ask), Err(Fault::Unfit(_))));

    platform.name_flow();
    platform.runs.contents = Arc::new(Away);
    let away = platform.take(names::RUN, "run_0two", &begin, Door::Ask);
    assert!(matches!(away, Err(Fault::Unavailable(_))), "{away:?}");
}

#[test]
fn a_message_to_oneself_has_the_time_at_which_it_is_due() {
    let mut platform = Platform::new();
    let join = ToWorkerSlot::Join { last: 0, request: 1, instance: "i".to_owned() };
    platform.ask(to_worker(join), 7).unwrap();
    let Some(Outgoing { text, after_ms: 60_000, .. }) = platform.sent.pop_front() else {
        panic!("the lease is checked")
    };
    assert_eq!(Posted::read(&text, |_| None).unwrap().at, time(60_007));
}

#[test]
fn a_commit_that_is_too_large_for_a_message_goes_in_several() {
    let mut platform = Platform::new();
    platform.name_flow();
    platform.ask(to_run(start()), 1).unwrap();
    platform.delivers();
    let began = platform.commits.swap_remove(0).records.swap_remove(0);
    let large = "x".repeat(6 * 1024 * 1024);
    let records = (0..4).map(|seq| {
        let mut record = began.clone();
        record.seq = seq;
        let Event::RunStarted(started) = &mut record.event else { panic!("{record:?}") };
        started.source.clone_from(&large);
        record
    });
    let whole = Commit { run: run_id(), records: records.collect() };
    let parts: Vec<Commit> =
        texts(whole.clone(), time(1)).unwrap().iter().map(|text| commit(text).unwrap()).collect();
    assert_eq!(parts.len(), 2);
    assert_eq!(parts.into_iter().flat_map(|part| part.records).collect::<Vec<_>>(), whole.records);
}
