//! A worker with the objects of the cluster in the same process, and a runner that only records its calls.

use super::*;
use crate::blob_store::Folder;
use envoi_cluster::{Message as ObjectMessage, Sent, dispatcher, message::Commit, run};
use envoi_contract::{digest::Digest, time::Timestamp};
use envoi_journal::{Layout, PinnedFlow, Store};
use envoi_kernel::{
    Event, Input, Status,
    event::{Change, EndStatus, FileChange},
    flow::Versions,
    ids::Principal,
    input::Start,
    requester::Requester,
};
use std::{
    path::PathBuf,
    sync::{Mutex, mpsc::Sender},
};
use tempfile::TempDir;

const FLOW: &str = "flow: two\nsteps:\n  - id: one\n    run: [work]\n  - id: two\n    run: [work]\n";
const LEASE: Duration = Duration::from_secs(600);
const RUN: &str = "run_1";

/// The objects. Their messages are delivered at once; delayed ones wait until a test delivers them.
struct Platform {
    flow: Versions,
    runs: BTreeMap<RunId, run::State>,
    workers: BTreeMap<WorkerId, worker_slot::State>,
    dispatcher: dispatcher::State,
    later: Vec<ObjectMessage>,
    commits: Vec<Commit>,
    /// How many of the next calls are carried out without an answer.
    unanswered: u32,
    /// The free slots in each heartbeat.
    free: Vec<u32>,
}

impl Platform {
    fn deliver(&mut self, message: ObjectMessage) -> Option<Answer> {
        let (sent, answer) = match message {
            ObjectMessage::Run(id, message) => {
                let state = self.runs.remove(&id).unwrap_or_default();
                let handled = run::handle(&id, state, &self.flow, message, now()).unwrap();
                self.runs.insert(id, handled.state);
                let answer = Answer::Run { said: handled.reply.into(), wanted: handled.wanted };
                (handled.sent, Some(answer))
            }
            ObjectMessage::WorkerSlot(id, message) => {
                if let ToWorkerSlot::Beat { free, .. } = &message {
                    self.free.push(*free);
                }
                let state = self.workers.remove(&id).unwrap_or_default();
                let lease_ms = u64::try_from(LEASE.as_millis()).unwrap();
                let (state, sent, reply) = worker_slot::handle(&id, state, message, lease_ms);
                self.workers.insert(id, state);
                (sent, Some(Answer::WorkerSlot(reply)))
            }
            ObjectMessage::Dispatcher(message) => {
                let (state, sent) = dispatcher::handle(core::mem::take(&mut self.dispatcher), message);
                self.dispatcher = state;
                (sent, None)
            }
            ObjectMessage::Commit(commit) => {
                self.commits.push(commit);
                (Vec::new(), None)
            }
        };
        for Sent { message, after_ms } in sent {
            if after_ms > 0 {
                self.later.push(message);
            } else {
                self.deliver(message);
            }
        }
        answer
    }
}

struct Door(Arc<Mutex<Platform>>);

impl Objects for Door {
    fn ask(&self, posted: Posted, _: &dyn Fn(&[u8]) -> Result<(), Unavailable>) -> Result<Reply, NotAsked> {
        let mut platform = self.0.lock().unwrap();
        let answer = platform.deliver(posted.message).unwrap();
        if platform.unanswered > 0 {
            platform.unanswered -= 1;
            return Err(NotAsked::Status { status: 503, text: "the answer is lost".to_owned() });
        }
        Ok(Reply::Answer(answer))
    }
}

#[derive(Default)]
struct Given {
    ensured: Vec<String>,
    cancelled: Vec<String>,
}

struct Written(Arc<Mutex<Given>>);

impl Runner for Written {
    fn ensure(&mut self, job: Job) {
        self.0.lock().unwrap().ensured.push(job.started.attempt.to_string());
    }
    fn cancel(&mut self, _: &RunId, attempt: &AttemptId) {
        self.0.lock().unwrap().cancelled.push(attempt.to_string());
    }
}

struct Stage {
    folder: TempDir,
    platform: Arc<Mutex<Platform>>,
    shared: SharedContents,
}

/// A process of the worker.
struct Life {
    worker: Worker,
    given: Arc<Mutex<Given>>,
    mailbox: Sender<Message>,
}

fn run_id() -> RunId {
    RunId::new(RUN).unwrap()
}

impl Stage {
    /// A run that has begun, and waits for a slot.
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let shared = SharedContents::new(Arc::new(Folder::open(&folder.path().join("contents")).unwrap()));
        let loaded = envoi_flow::load("flow.yaml", FLOW).unwrap();
        let flow = Arc::new(loaded.flow);
        let pinned = PinnedFlow {
            digest: flow.digest,
            language: loaded.language,
            name: "flow.yaml".to_owned(),
            text: FLOW.to_owned(),
            parts: loaded.parts,
            earlier: Vec::new(),
        };
        shared.keep_flow(&pinned).unwrap();
        let platform = Platform {
            flow: Versions::from(flow),
            runs: BTreeMap::new(),
            workers: BTreeMap::new(),
            dispatcher: dispatcher::State::default(),
            later: Vec::new(),
            commits: Vec::new(),
            unanswered: 0,
            free: Vec::new(),
        };
        let stage = Self { folder, platform: Arc::new(Mutex::new(platform)), shared };
        stage.tell(Input::Start(Box::new(Start {
            run: run_id(),
            inputs: Object::default(),
            source: "/project/flow.yaml".to_owned(),
            workspace: "/work".to_owned(),
            shared: true,
            keep_files: false,
            no_cache: false,
            isolated: None,
            run_base: "/base".to_owned(),
            language: loaded.language,
            by: Principal { tenant: "local".to_owned(), actor: "ada".to_owned() },
            yes_to: Vec::new(),
            trace: None,
            env: Object::default(),
            requester: Requester::default(),
            part: None,
        })));
        stage
    }

    fn tell(&self, input: Input) {
        let message = ObjectMessage::Run(run_id(), ToRun::Input(Box::new(input)));
        self.platform.lock().unwrap().deliver(message).unwrap();
    }

    /// Puts all commits so far into the shared contents.
    fn share_commits(&self) {
        for commit in self.platform.lock().unwrap().commits.drain(..) {
            self.shared.keep_commit(commit).unwrap();
        }
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("worker")
    }

    /// Starts the worker, which joins.
    fn begin(&self) -> Life {
        let given = Arc::new(Mutex::new(Given::default()));
        let (mailbox, inbox) = mpsc::channel();
        let mut worker = self.process(&given, inbox);
        worker.join().unwrap();
        Life { worker, given, mailbox }
    }

    /// The worker before it has joined.
    fn process(&self, given: &Arc<Mutex<Given>>, inbox: Receiver<Message>) -> Worker {
        let store = Arc::new(Store::open(Layout::new(self.home())).unwrap());
        let replica = Replica::open(&store, self.shared.clone(), |line| panic!("{line}")).unwrap();
        let settings = Settings {
            name: Some(WorkerId::new("w1").unwrap()),
            jobs: 2,
            lease: LEASE,
            launcher: Launcher::own(["never"]),
            caller: |_, _| CallerWire::default(),
            random: || {
                static NEXT: AtomicU64 = AtomicU64::new(1);
                Ok(NEXT.fetch_add(1, Ordering::Relaxed))
            },
            print_line: |_| {},
        };
        let around = Around {
            objects: Box::new(Door(Arc::clone(&self.platform))),
            runner: Box::new(Written(Arc::clone(given))),
            inbox,
            until_ms: Arc::new(AtomicU64::new(0)),
        };
        Worker::new(replica, self.shared.clone(), settings, around).unwrap()
    }

    fn status(&self) -> Status {
        let platform = self.platform.lock().unwrap();
        platform.runs[&run_id()].run(&platform.flow).unwrap().status()
    }

    fn ended(&self) -> Option<EndStatus> {
        match self.status() {
            Status::Ended(ended) => Some(ended.status),
            _ => None,
        }
    }
}

impl Life {
    /// Takes several turns, until all decisions have arrived.
    fn turns(&mut self, stage: &Stage) {
        for _ in 0..5 {
            stage.share_commits();
            self.worker.wait(Duration::ZERO);
            self.worker.turn().unwrap();
        }
    }

    fn settles(&self, attempt: &str, outcome: Outcome) {
        self.settles_with(attempt, outcome, Vec::new());
    }

    fn settles_with(&self, attempt: &str, outcome: Outcome, files: Vec<FileChange>) {
        let attempt = AttemptId::parse(attempt).unwrap();
        let result = AttemptResult::empty(attempt.clone(), outcome, Timestamp::from_millis(1_000));
        let result = AttemptResult { files, ..result };
        let settlement = Settlement::Finished { result: Box::new(result), blobs: Vec::new() };
        self.mailbox.send(Message::Settled { run: run_id(), attempt, settlement }).unwrap();
    }

    fn succeeds(&self, attempt: &str) {
        self.settles(attempt, Outcome::Exited { code: 0 });
    }

    fn ensured(&self) -> Vec<String> {
        self.given.lock().unwrap().ensured.clone()
    }

    fn cancelled(&self) -> Vec<String> {
        self.given.lock().unwrap().cancelled.clone()
    }
}

#[test]
fn a_run_is_done_step_by_step_each_begun_once() {
    let stage = Stage::new();
    let mut life = stage.begin();
    life.turns(&stage);
    assert_eq!(life.ensured(), ["one.1.1"]);
    life.succeeds("one.1.1");
    life.turns(&stage);
    assert_eq!(life.ensured(), ["one.1.1", "two.1.1"], "the answer has the next one");
    life.succeeds("two.1.1");
    life.turns(&stage);
    assert_eq!(stage.ended(), Some(EndStatus::Succeeded));
    assert!(life.worker.here.is_empty() && life.cancelled().is_empty());
}

#[test]
fn nothing_is_begun_before_its_announcement_is_here() {
    let stage = Stage::new();
    let mut life = stage.begin();
    for _ in 0..3 {
        life.worker.turn().unwrap();
    }
    assert!(!life.worker.here.is_empty(), "it is wanted");
    assert!(life.ensured().is_empty());
    life.turns(&stage);
    assert_eq!(life.ensured(), ["one.1.1"]);
}

#[test]
fn a_worker_that_was_killed_looks_at_what_it_had_and_nothing_is_decided_anew() {
    let stage = Stage::new();
    let mut before = stage.begin();
    before.turns(&stage);
    drop(before);
    let mut after = stage.begin();
    after.turns(&stage);
    // The runner finds out from its folder how it ended.
    assert_eq!(after.ensured(), ["one.1.1"]);
    after.succeeds("one.1.1");
    after.turns(&stage);
    after.succeeds("two.1.1");
    after.turns(&stage);
    assert_eq!(stage.ended(), Some(EndStatus::Succeeded));
    assert_eq!(after.ensured(), ["one.1.1", "two.1.1"]);
}

#[test]
fn a_worker_that_is_back_offers_no_slot_before_it_knows_what_it_runs() {
    let stage = Stage::new();
    let mut before = stage.begin();
    before.turns(&stage);
    drop(before);
    stage.platform.lock().unwrap().free.clear();
    let mut after = stage.begin();
    stage.platform.lock().unwrap().unanswered = 1;
    for _ in 0..3 {
        after.worker.turn().unwrap();
    }
    assert_eq!(stage.platform.lock().unwrap().free, [0, 0, 1], "of two, one is used");
}

#[test]
fn a_report_without_an_answer_is_made_again() {
    let stage = Stage::new();
    let mut life = stage.begin();
    life.turns(&stage);
    life.succeeds("one.1.1");
    life.worker.wait(Duration::ZERO);
    stage.platform.lock().unwrap().unanswered = 1;
    life.worker.turn().unwrap();
    assert!(life.worker.is_failing && life.worker.here.len() == 1, "it is not known whether it arrived");
    life.turns(&stage);
    assert_eq!(life.ensured(), ["one.1.1", "two.1.1"]);
    life.succeeds("two.1.1");
    life.turns(&stage);
    assert_eq!(stage.ended(), Some(EndStatus::Succeeded));
}

#[test]
fn what_is_cancelled_is_ended_and_reported() {
    let by = Principal { tenant: "local".to_owned(), actor: "ada".to_owned() };
    let stage = Stage::new();
    let mut life = stage.begin();
    life.turns(&stage);
    stage.tell(Input::Cancel { by });
    life.turns(&stage);
    life.turns(&stage);
    assert_eq!(life.cancelled(), ["one.1.1"], "once");
    assert_eq!(stage.ended(), None, "it may still run");
    life.settles("one.1.1", Outcome::Cancelled);
    life.turns(&stage);
    assert_eq!(stage.ended(), Some(EndStatus::Cancelled));
    stage.share_commits();
    life.worker.replica.advance(&run_id()).unwrap();
    let records = life.worker.replica.store().reader().unwrap().records(&run_id(), 0, None).unwrap();
    let outcomes: Vec<_> = records
        .iter()
        .filter_map(|record| match &record.event {
            Event::AttemptSettled(settled) => Some(settled.outcome.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(outcomes, [Outcome::Cancelled], "there is no doubt about it");
}

#[test]
fn what_is_cancelled_before_it_was_begun_is_begun_only_to_be_ended() {
    let by = Principal { tenant: "local".to_owned(), actor: "ada".to_owned() };
    let stage = Stage::new();
    let mut life = stage.begin();
    for _ in 0..3 {
        life.worker.turn().unwrap();
    }
    assert!(!life.worker.here.is_empty() && life.ensured().is_empty());
    stage.tell(Input::Cancel { by });
    life.turns(&stage);
    // A supervisor that finds the request to cancel runs nothing.
    assert_eq!((life.ensured(), life.cancelled()), (vec!["one.1.1".to_owned()], vec!["one.1.1".to_owned()]));
}

#[test]
fn a_command_that_nobody_wanted_ended_is_in_doubt() {
    let stage = Stage::new();
    let mut life = stage.begin();
    life.turns(&stage);
    life.settles("one.1.1", Outcome::Cancelled);
    life.turns(&stage);
    // The flow has no rule for such an attempt, so a person is asked.
    assert!(matches!(stage.status(), Status::Waiting { .. }), "{:?}", stage.status());
    assert_eq!(life.ensured(), ["one.1.1"], "nothing is begun again unasked");
}

#[test]
fn what_a_cluster_cannot_hand_over_makes_the_step_fail() {
    let file = |path: String, size: u64| FileChange {
        path,
        change: Change::Created,
        blob: Some(Blob { digest: Digest::of(b"x"), size }),
        before: None,
    };
    let many = |count: usize| (0..count).map(|number| file(format!("{number}.txt"), 1)).collect::<Vec<_>>();
    for (files, fails) in [
        (many(MOST_LISTED), false),
        (many(MOST_LISTED + 1), true),
        (vec![file("large.bin".to_owned(), MOST_BYTES + 1)], true),
    ] {
        let stage = Stage::new();
        stage.shared.keep(b"x").unwrap();
        let mut life = stage.begin();
        life.turns(&stage);
        life.settles_with("one.1.1", Outcome::Exited { code: 0 }, files);
        life.turns(&stage);
        assert_eq!(stage.ended() == Some(EndStatus::Failed), fails, "{:?}", stage.status());
        assert_eq!(life.ensured().len(), if fails { 1 } else { 2 }, "nothing is reported again and again");
    }
}

#[test]
fn a_worker_that_is_cut_off_begins_nothing() {
    let stage = Stage::new();
    let mut life = stage.begin();
    for _ in 0..3 {
        life.worker.turn().unwrap();
    }
    stage.share_commits();
    life.worker.around.until_ms.store(boot_ms(), Ordering::Relaxed);
    life.worker.begin_wanted();
    assert!(life.ensured().is_empty());
    // After an answered heartbeat it continues.
    life.turns(&stage);
    assert_eq!(life.ensured(), ["one.1.1"]);
}

#[test]
fn what_is_cut_off_has_ended_before_the_shortest_lease_is_over() {
    let lease_ms = envoi_flow::cluster::SHORTEST_LEASE_MS;
    assert!(runs_for_ms(lease_ms) + Lease::ENDS_WITHIN_MS < lease_ms);
}

#[test]
fn a_worker_that_was_given_up_ends_what_it_runs_and_joins_again() {
    let stage = Stage::new();
    let mut life = stage.begin();
    life.turns(&stage);
    // The worker sent no heartbeat for the time of its lease: only the check of the last heartbeat finds
    // that.
    let checks = core::mem::take(&mut stage.platform.lock().unwrap().later);
    checks.into_iter().for_each(|check| drop(stage.platform.lock().unwrap().deliver(check)));
    assert!(
        matches!(stage.status(), Status::Waiting { .. }),
        "its attempt is in doubt: {:?}",
        stage.status()
    );
    // Its supervisor ends the command when it is cancelled.
    life.settles("one.1.1", Outcome::Cancelled);
    life.worker.turn().unwrap();
    assert_eq!(life.cancelled(), ["one.1.1"]);
    assert_eq!(life.worker.life.as_ref().unwrap().place.incarnation, 2);
    life.turns(&stage);
    assert!(life.worker.here.is_empty(), "the late end was reported");
    assert_eq!(life.ensured(), ["one.1.1"], "what was given to the lost life is not begun again");
}

#[test]
fn a_copy_of_the_folder_does_not_join() {
    let stage = Stage::new();
    let life = stage.begin();
    let copy = stage.folder.path().join("copy.json");
    drop(life);
    std::fs::copy(stage.home().join("worker.json"), &copy).unwrap();
    drop(stage.begin());
    std::fs::copy(&copy, stage.home().join("worker.json")).unwrap();
    let mut copy = stage.process(&Arc::default(), mpsc::channel().1);
    assert!(matches!(copy.join(), Err(WorkerError::Copied { .. })));
}

#[test]
fn a_worker_beats_between_the_contents_that_it_shares() {
    let stage = Stage::new();
    let mut life = stage.begin();
    life.turns(&stage);
    let store = Arc::clone(life.worker.replica.store());
    let file = |name: &str| {
        let bytes = name.repeat(100_000);
        let digest = store.blobs().put(bytes.as_bytes()).unwrap();
        let blob = Some(Blob { digest, size: bytes.len() as u64 });
        FileChange { path: name.to_owned(), change: Change::Created, blob, before: None }
    };
    life.settles_with("one.1.1", Outcome::Exited { code: 0 }, ["a", "b", "c"].map(file).to_vec());
    life.worker.wait(Duration::ZERO);
    stage.platform.lock().unwrap().free.clear();
    life.worker.report_all().unwrap();
    assert!(stage.platform.lock().unwrap().free.is_empty(), "the last one was a moment ago");
    assert_eq!(life.ensured(), ["one.1.1"]);
    // Now the last heartbeat is long ago, and two get no answer.
    life.turns(&stage);
    life.settles_with("two.1.1", Outcome::Exited { code: 0 }, ["d", "e", "f"].map(file).to_vec());
    life.worker.wait(Duration::ZERO);
    life.worker.around.until_ms.store(0, Ordering::Relaxed);
    {
        let mut platform = stage.platform.lock().unwrap();
        platform.free.clear();
        platform.unanswered = 2;
    }
    life.worker.report_all().unwrap();
    assert_eq!(stage.platform.lock().unwrap().free, [0, 0, 0], "until one is answered");
    assert!(boot_ms() < life.worker.around.until_ms.load(Ordering::Relaxed), "its attempts may go on");
}
