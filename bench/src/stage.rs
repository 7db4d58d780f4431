//! The real engine, journal and hand-off files, with steps that settle immediately.
//!
//! It differs from a real engine only in its runner, and in that the loop runs on the caller's thread.

use crate::Outcome;
use envoi_contract::{json::Object, time::Timestamp};
use envoi_engine::{
    Begin, Caller, Clock, Engine, FileProjector, Followers, Job, Log, Message, Observer, Runner, Settlement,
    ShowError, Trouble, TroubleKind, World, protocol::Response,
};
use envoi_journal::{Blobs, Commit, INLINE_MAX_BYTES, Layout, Note, PinnedFlow, Store, Writer};
use envoi_kernel::{
    Flow, Record, Run,
    event::{Blob, Event, Outcome as Ending},
    ids::{AttemptId, InterruptId, Principal, RunId, Seq},
    input::{AttemptResult, Start},
};
use std::{
    cell::Cell,
    path::{Path, PathBuf},
    rc::Rc,
    sync::{
        Arc,
        mpsc::{self, Receiver, Sender},
    },
    time::{Duration, Instant},
};

/// The behaviour of a stage's steps.
#[derive(Clone, Copy)]
pub(crate) enum Steps {
    /// They settle immediately, with a text of this many bytes.
    Settle { text_bytes: usize },
    /// They settle immediately, with a text that starts another round.
    GoRound,
    /// They never settle.
    Hang,
}

/// An engine with its store and its runs.
pub(crate) struct Stage {
    engine: Engine,
    mailbox: Sender<Message>,
    inbox: Receiver<Message>,
    seen: Rc<Seen>,
    followers: Followers,
    layout: Layout,
    flow: Arc<Flow>,
    text: String,
    language: u32,
    runs: u64,
    folder: PathBuf,
}

/// Counts of committed events.
#[derive(Default)]
struct Seen {
    begun: Cell<u64>,
    ended: Cell<u64>,
    started: Cell<u64>,
    settled: Cell<u64>,
    /// The longest time that the loop took for one message.
    longest_turn: Cell<Duration>,
    wrong: Cell<bool>,
    commits: Cell<u64>,
    /// When followers received the newest commit.
    shown_at: Cell<Option<Instant>>,
}

impl Stage {
    /// A stage for a flow of `steps` sequential steps.
    pub(crate) fn new(dir: &Path, jobs: usize, steps: u32, kind: Steps) -> Outcome<Self> {
        Self::of(dir, jobs, &flow_text(steps), kind)
    }

    /// An empty store in `dir`, and a flow. The store is not removed: a file system may be slow for seconds
    /// after thousands of files were removed (ext4 does not reuse their inodes immediately, and searches).
    pub(crate) fn of(dir: &Path, jobs: usize, text: &str, kind: Steps) -> Outcome<Self> {
        let folder = tempfile::tempdir_in(dir)?.keep();
        let layout = Layout::new(folder.join(".envoi"));
        let store = Store::open(layout.clone())?;
        let epoch = store.take_epoch()?;
        let writer = store.writer(epoch)?;
        let (mailbox, inbox) = mpsc::channel();
        let seen = Rc::new(Seen::default());
        let followers = Followers::default();
        let projector = FileProjector::new(layout.clone(), store.reader()?, epoch, followers.clone());
        let world = World {
            clock: Box::new(SystemClock),
            log: Box::new(WriterLog { writer, mailbox: mailbox.clone(), seen: Rc::clone(&seen) }),
            runner: Box::new(AtOnce { mailbox: mailbox.clone(), blobs: store.blobs(), kind, count: 0 }),
            observer: Box::new(Counting { projector, seen: Rc::clone(&seen) }),
        };
        let loaded = envoi_flow::load("bench.yaml", text).map_err(|report| report.to_string())?;
        Ok(Self {
            engine: Engine::new(world, jobs),
            mailbox,
            inbox,
            seen,
            followers,
            layout,
            flow: Arc::new(loaded.flow),
            text: text.to_owned(),
            language: loaded.language,
            runs: 0,
            folder,
        })
    }

    /// Begins `runs` runs. Their messages wait for the loop.
    pub(crate) fn begin(&mut self, runs: u32) -> Outcome<()> {
        (0..runs).try_for_each(|_| self.begin_one().map(drop))
    }

    /// Begins one run, like [`Stage::begin`].
    pub(crate) fn begin_one(&mut self) -> Outcome<RunId> {
        let begin = self.next_run()?;
        let run = begin.start.run.clone();
        self.mailbox.send(Message::Begin(Box::new(begin)))?;
        Ok(run)
    }

    /// Passes a message to the loop directly, without its mailbox.
    pub(crate) fn hand(&mut self, message: Message) -> Outcome<()> {
        let began = Instant::now();
        self.engine.handle(message);
        self.seen.longest_turn.set(self.seen.longest_turn.get().max(began.elapsed()));
        self.engine.stopped().map_or(Ok(()), |error| Err(error.to_string().into()))
    }

    /// Runs the loop until an attempt has ended, and takes that message out of its mailbox.
    pub(crate) fn play_until_one_settles(&mut self) -> Outcome<Message> {
        loop {
            match self.inbox.recv()? {
                settled @ Message::Settled { .. } => return Ok(settled),
                other => self.hand(other)?,
            }
        }
    }

    /// From now on `follower` receives the run's events, until it is at rest.
    pub(crate) fn follow(&self, run: &RunId, follower: Sender<Response>) {
        self.followers.add(run, follower);
    }

    /// The open question of the run.
    pub(crate) fn open_question(&self, run: &RunId) -> Option<InterruptId> {
        self.engine.run(run)?.interrupts().next().map(|raised| raised.interrupt.clone())
    }

    /// Number of attempts that have ended.
    pub(crate) fn settled(&self) -> u64 {
        self.seen.settled.get()
    }

    /// Number of runs that have begun.
    pub(crate) fn begun(&self) -> u64 {
        self.seen.begun.get()
    }

    /// Number of runs that have ended.
    pub(crate) fn ended(&self) -> u64 {
        self.seen.ended.get()
    }

    /// The longest time that the loop took for one message since the last call.
    pub(crate) fn take_longest_turn(&self) -> Duration {
        self.seen.longest_turn.take()
    }

    /// Number of commits so far.
    pub(crate) fn commits(&self) -> u64 {
        self.seen.commits.get()
    }

    /// When followers received the newest commit.
    pub(crate) fn shown_at(&self) -> Option<Instant> {
        self.seen.shown_at.get()
    }

    /// Runs the loop until all runs have ended.
    pub(crate) fn play_to_the_end(&mut self) -> Outcome<()> {
        self.play_until(|stage| stage.seen.ended.get() == stage.runs)
    }

    /// Runs the loop until each run has a live attempt.
    pub(crate) fn play_until_all_are_live(&mut self) -> Outcome<()> {
        self.play_until(|stage| stage.seen.started.get() == stage.runs)
    }

    /// The folder of the store.
    pub(crate) fn root(&self) -> &Path {
        self.layout.root()
    }

    /// Runs the loop until the condition holds.
    pub(crate) fn play_until(&mut self, over: impl Fn(&Self) -> bool) -> Outcome<()> {
        while !over(self) {
            let message = self.inbox.recv()?;
            self.hand(message)?;
        }
        if self.seen.wrong.get() {
            return Err("a run did not succeed: this is no measurement".into());
        }
        Ok(())
    }

    fn next_run(&mut self) -> Outcome<Begin> {
        self.runs = self.runs.saturating_add(1);
        let run = RunId::new(format!("run_bench{:06}", self.runs))?;
        Ok(Begin {
            run: Run::new(Arc::clone(&self.flow)),
            start: Start {
                run: run.clone(),
                inputs: Object::default(),
                source: self.folder.join("bench.yaml").display().to_string(),
                workspace: self.folder.display().to_string(),
                shared: true,
                run_base: self.layout.run(&run).display().to_string(),
                language: self.language,
                by: Principal { tenant: "local".to_owned(), actor: "bench".to_owned() },
                yes_to: Vec::new(),
                env: Object::default(),
                trace: None,
                requester: envoi_kernel::requester::Requester::default(),
                keep_files: false,
                no_cache: false,
                isolated: None,
                part: None,
            },
            made: false,
            pinned: PinnedFlow {
                parts: Default::default(),
                digest: self.flow.digest,
                language: self.language,
                name: "bench.yaml".to_owned(),
                text: self.text.clone(),
                earlier: Vec::new(),
            },
            caller: Arc::new(Caller::default()),
            reply: Box::new(|_| {}),
        })
    }
}

fn flow_text(steps: u32) -> String {
    let step = |number| format!("  - id: s{number}\n    run: [\"true\"]\n");
    format!("flow: bench\nsteps:\n{}", (1..=steps).map(step).collect::<String>())
}

struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        envoi_engine::now()
    }

    fn steady_ms(&self) -> u64 {
        u64::try_from(envoi_engine::now().as_millis()).unwrap_or(0)
    }

    fn boot_id(&self) -> String {
        "bench".to_owned()
    }
}

struct WriterLog {
    writer: Writer,
    mailbox: Sender<Message>,
    seen: Rc<Seen>,
}

impl Log for WriterLog {
    fn submit(&mut self, commit: Commit) {
        self.seen.commits.set(self.seen.commits.get().saturating_add(1));
        let (run, mailbox) = (commit.run.clone(), self.mailbox.clone());
        self.writer
            .submit(commit, Box::new(move |result| drop(mailbox.send(Message::Committed { run, result }))));
    }

    fn note(&mut self, note: Note) {
        let (noted, mailbox) = (note.clone(), self.mailbox.clone());
        let done = move |result| drop(mailbox.send(Message::Noted { note: noted, result }));
        self.writer.note(note, Box::new(done));
    }

    fn next_seq(&mut self, run: &RunId) -> Result<Seq, envoi_journal::ReadError> {
        // The benchmark only begins new runs.
        Err(envoi_journal::ReadError::Missing { what: "run", id: run.to_string() })
    }
}

/// The real observer, with counters.
struct Counting {
    projector: FileProjector,
    seen: Rc<Seen>,
}

impl Observer for Counting {
    fn committed(&mut self, run: &Run, records: &[Record]) -> Result<(), ShowError> {
        for record in records {
            match &record.event {
                Event::RunStarted(_) => self.seen.begun.set(self.seen.begun.get().saturating_add(1)),
                Event::AttemptStarted(_) => self.seen.started.set(self.seen.started.get().saturating_add(1)),
                Event::AttemptSettled(_) => self.seen.settled.set(self.seen.settled.get().saturating_add(1)),
                Event::RunEnded { .. } => {
                    self.seen.ended.set(self.seen.ended.get().saturating_add(1));
                    self.seen.wrong.set(self.seen.wrong.get() || run.status().word() != "succeeded");
                }
                _ => {}
            }
        }
        let shown = self.projector.committed(run, records);
        self.seen.shown_at.set(Some(Instant::now()));
        shown
    }
}

struct AtOnce {
    mailbox: Sender<Message>,
    blobs: Blobs,
    kind: Steps,
    count: u64,
}

impl Runner for AtOnce {
    fn ensure(&mut self, job: Job) {
        self.count = self.count.saturating_add(1);
        let text = match self.kind {
            Steps::Settle { text_bytes } => text(self.count, text_bytes),
            // The status is on its own line. No two texts are equal.
            Steps::GoRound => format!("Status: UNVERIFIED\n{}", self.count),
            Steps::Hang => return,
        };
        let settlement = settle(&job, &self.blobs, text).unwrap_or_else(|error| Settlement::Unknown {
            trouble: Trouble::new(TroubleKind::Files, error.to_string()),
        });
        let (run, attempt) = (job.run, job.started.attempt.clone());
        drop(self.mailbox.send(Message::Settled { run, attempt, settlement }));
    }

    fn cancel(&mut self, _: &RunId, _: &AttemptId) {}
}

/// No two texts are equal, so that none is stored once for many steps.
fn text(number: u64, bytes: usize) -> String {
    let mut text = format!("{number} ");
    text.extend("the step says what it did; ".chars().cycle().take(bytes.saturating_sub(text.len())));
    text
}

/// Settles like a real attempt: a large text is put into the store before, a small one goes with the commit.
fn settle(job: &Job, blobs: &Blobs, text: String) -> Outcome<Settlement> {
    let bytes = text.as_bytes().to_vec();
    let size = u64::try_from(bytes.len())?;
    let (digest, carried) = if bytes.len() > INLINE_MAX_BYTES {
        (blobs.put(&bytes)?, Vec::new())
    } else {
        let digest = envoi_contract::digest::Digest::of(&bytes);
        (digest, vec![(digest, bytes)])
    };
    let attempt = job.started.attempt.clone();
    let empty = AttemptResult::empty(attempt, Ending::Exited { code: 0 }, envoi_engine::now());
    let result = AttemptResult { text, text_blob: Some(Blob { digest, size }), ..empty };
    Ok(Settlement::Finished { result: Box::new(result), blobs: carried })
}
