//! A life of the real engine, with a simulated world around it.
//!
//! The engine's effects on the world go into an outbox; the driver takes them out piece by piece, and can let
//! the engine die or fall asleep before each of them. Nothing is decided here and nothing is checked.

use crate::store::SimJournal;
use envoi_contract::time::Timestamp;
use envoi_engine::{
    Clock, Engine, EngineError, Job, Log, Message, Observer, Reply, Runner, ShowError, World,
};
use envoi_journal::{Aside, Commit, CommitError, Note, Receipt};
use envoi_kernel::{
    Record, Run,
    ids::{AttemptId, CallId, InterruptId, RunId},
};
use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet, VecDeque},
    io,
    rc::Rc,
    sync::{Arc, Mutex, PoisonError},
};

/// When every world begins, by a clock that is right: noon of some day, in milliseconds since 1970.
pub(crate) const BEGINNING_MS: i64 = 1_795_262_400_000;

/// An attempt of a run.
pub(crate) type Key = (RunId, AttemptId);

/// Something that the engine does to the world.
pub(crate) enum Effect {
    Submit(Box<Commit>),
    Note(Note),
    ShowAside(RunId),
    Show(RunId, Vec<Record>),
    Ensure(Box<Job>),
    Cancel(RunId, AttemptId),
}

/// A call that has a caller who waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Errand {
    Begin,
    Adopt,
    /// To try it again, after it was set aside, by the id of the request.
    TakeUp(String),
    /// An answer of this person to this question.
    Answer(InterruptId, String),
    ModelCall(CallId),
    ModelCalled(CallId),
    Cancel,
    Reopen,
    Correct,
    /// By the id of the request.
    TryNow(String),
}

/// The reply of the engine.
pub(crate) struct Answer {
    pub(crate) run: RunId,
    pub(crate) errand: Errand,
    pub(crate) result: Result<(), EngineError>,
}

/// A list that outlives the closures which add to it.
type Queue<T> = Arc<Mutex<VecDeque<T>>>;

/// The outcome of a commit or of a note, on its way to the engine.
pub(crate) struct Outcome {
    pub(crate) run: RunId,
    /// `None` for a commit.
    note: Option<Note>,
    pub(crate) result: Result<Receipt, CommitError>,
}

impl Outcome {
    pub(crate) fn is_commit(&self) -> bool {
        self.note.is_none()
    }

    pub(crate) fn message(self) -> Message {
        let Self { run, note, result } = self;
        match note {
            Some(note) => Message::Noted { note, result },
            None => Message::Committed { run, result },
        }
    }
}

/// An attempt that the engine has requested.
pub(crate) struct Ensured {
    /// Whether the engine has got its end.
    pub(crate) reported: bool,
}

/// See the module.
pub(crate) struct Instance {
    pub(crate) engine: Engine,
    pub(crate) journal: SimJournal,
    pub(crate) ensured: BTreeMap<Key, Ensured>,
    /// Attempts whose start it has decided and not requested yet.
    pub(crate) reserved: BTreeSet<Key>,
    /// Attempts that it has cancelled.
    pub(crate) cancelled: BTreeSet<Key>,
    pub(crate) draining: bool,
    /// Another one holds the lease.
    pub(crate) is_replaced: bool,
    /// A fault has reached it after which it may stop by itself.
    pub(crate) excused: bool,
    /// Runs whose begin was requested.
    pub(crate) begun: BTreeSet<RunId>,
    /// Runs that it has ever set aside.
    pub(crate) aside: BTreeSet<RunId>,
    pub(crate) cannot_show: Rc<Cell<bool>>,
    outbox: Outbox,
    commits: Queue<Outcome>,
    answers: Queue<Answer>,
}

type Outbox = Rc<RefCell<VecDeque<Effect>>>;

/// Few events of a simulated run are large.
const SNAPSHOT_FROM_BYTES: u64 = 64 * 1024;

impl Instance {
    pub(crate) fn new(journal: SimJournal, clocks: &Clocks, boot_id: String, jobs: usize) -> Self {
        let outbox = Outbox::default();
        let cannot_show = Rc::new(Cell::new(false));
        let closed = envoi_journal::Journal::closed_accounts(&journal).unwrap_or_default();
        let world = World {
            clock: Box::new(SimClock { clocks: clocks.clone(), boot_id }),
            log: Box::new(SimLog { outbox: Rc::clone(&outbox), journal: journal.clone() }),
            runner: Box::new(SimRunner(Rc::clone(&outbox))),
            observer: Box::new(SimObserver {
                outbox: Rc::clone(&outbox),
                cannot_show: Rc::clone(&cannot_show),
            }),
        };
        Self {
            engine: Engine::new(world, jobs)
                .with_snapshots_within_loop(SNAPSHOT_FROM_BYTES)
                .with_closed(closed),
            journal,
            ensured: BTreeMap::new(),
            reserved: BTreeSet::new(),
            cancelled: BTreeSet::new(),
            draining: false,
            is_replaced: false,
            excused: false,
            begun: BTreeSet::new(),
            aside: BTreeSet::new(),
            cannot_show,
            outbox,
            commits: Queue::default(),
            answers: Queue::default(),
        }
    }

    pub(crate) fn next_effect(&self) -> Option<Effect> {
        self.outbox.borrow_mut().pop_front()
    }

    /// Puts an effect back that was taken out and has not taken place.
    pub(crate) fn put_back(&self, effect: Effect) {
        self.outbox.borrow_mut().push_front(effect);
    }

    /// Hands the commit to the store; its outcome waits until the engine gets it.
    pub(crate) fn submit(&self, commit: Commit) {
        use envoi_journal::Journal;
        let run = commit.run.clone();
        let commits = Arc::clone(&self.commits);
        let outcome = move |result| add(&commits, Outcome { run, note: None, result });
        self.journal.submit(commit, Box::new(outcome));
    }

    /// As [`Instance::submit`].
    pub(crate) fn note(&self, note: Note) {
        let noted = note.clone();
        let commits = Arc::clone(&self.commits);
        let outcome =
            move |result| add(&commits, Outcome { run: noted.run().clone(), note: Some(noted), result });
        self.journal.note(note, Box::new(outcome));
    }

    /// Runs with an outcome that the engine has not got yet.
    pub(crate) fn pending_outcomes(&self) -> Vec<RunId> {
        let commits = self.commits.lock().unwrap_or_else(PoisonError::into_inner);
        let runs: BTreeSet<&RunId> = commits.iter().map(|outcome| &outcome.run).collect();
        runs.into_iter().cloned().collect()
    }

    /// The oldest outcome of this run. Outcomes of different runs may overtake each other.
    pub(crate) fn next_outcome(&self, run: &RunId) -> Option<Outcome> {
        let mut commits = self.commits.lock().unwrap_or_else(PoisonError::into_inner);
        let place = commits.iter().position(|outcome| outcome.run == *run)?;
        commits.remove(place)
    }

    /// A reply for the engine to call; [`Instance::next_answer`] has its result.
    pub(crate) fn reply(&self, run: &RunId, errand: Errand) -> Reply {
        let run = run.clone();
        let answers = Arc::clone(&self.answers);
        Box::new(move |result| add(&answers, Answer { run, errand, result }))
    }

    pub(crate) fn next_answer(&self) -> Option<Answer> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    /// Attempts that it has requested and whose end it has not got, except those of runs that are set aside.
    pub(crate) fn live(&self) -> usize {
        let held = |key: &Key| self.engine.run(&key.0).is_some();
        self.ensured.iter().filter(|(key, ensured)| !ensured.reported && held(key)).count()
    }
}

fn add<T>(to: &Queue<T>, what: T) {
    to.lock().unwrap_or_else(PoisonError::into_inner).push_back(what);
}

/// The clocks of the machine, which go on while an engine is away.
#[derive(Clone)]
pub(crate) struct Clocks {
    pub(crate) wall: Rc<Cell<Timestamp>>,
    /// Never set back.
    pub(crate) steady_ms: Rc<Cell<u64>>,
}

struct SimClock {
    clocks: Clocks,
    boot_id: String,
}

impl Clock for SimClock {
    fn now(&self) -> Timestamp {
        self.clocks.wall.get()
    }

    fn steady_ms(&self) -> u64 {
        self.clocks.steady_ms.get()
    }

    fn boot_id(&self) -> String {
        self.boot_id.clone()
    }
}

struct SimLog {
    outbox: Outbox,
    journal: SimJournal,
}

impl Log for SimLog {
    fn submit(&mut self, commit: Commit) {
        self.outbox.borrow_mut().push_back(Effect::Submit(Box::new(commit)));
    }

    fn note(&mut self, note: Note) {
        self.outbox.borrow_mut().push_back(Effect::Note(note));
    }

    fn next_seq(&mut self, run: &RunId) -> Result<u64, envoi_journal::ReadError> {
        Ok(self.journal.next_seq(run))
    }
}

struct SimRunner(Outbox);

impl Runner for SimRunner {
    fn ensure(&mut self, job: Job) {
        self.0.borrow_mut().push_back(Effect::Ensure(Box::new(job)));
    }

    fn cancel(&mut self, run: &RunId, attempt: &AttemptId) {
        self.0.borrow_mut().push_back(Effect::Cancel(run.clone(), attempt.clone()));
    }
}

struct SimObserver {
    outbox: Outbox,
    cannot_show: Rc<Cell<bool>>,
}

impl Observer for SimObserver {
    fn committed(&mut self, run: &Run, records: &[Record]) -> Result<(), ShowError> {
        if self.cannot_show.get() {
            return Err(io::Error::other("the simulated disk is full").into());
        }
        let Some(started) = run.started() else {
            return Err(io::Error::other("a run without a start was shown").into());
        };
        self.outbox.borrow_mut().push_back(Effect::Show(started.run.clone(), records.to_vec()));
        Ok(())
    }

    fn set_aside(&mut self, run: &RunId, _: &Aside) {
        self.outbox.borrow_mut().push_back(Effect::ShowAside(run.clone()));
    }
}
