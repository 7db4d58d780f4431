//! A worker: it joins, sends heartbeats, pulls attempts, runs them with the engine's runner, and reports
//! their results.
//!
//! Owns which attempts of each run are on this machine, and until when they may run. Each answer of a run
//! contains everything that is wanted here, so a lost answer costs one more call. The runner gets only
//! attempts from such an answer, and only when the store of this machine has the event that announces them.
//! The folder of an attempt shows how it ended, as after a crash of an engine. So a worker that is killed
//! joins again and looks at each run that it holds.
//!
//! **Without a connection, an attempt ends.** An attempt may run for three fifths of the lease, counted from
//! the sending of the last answered heartbeat. Its supervisor keeps this deadline, even if the worker is
//! stopped or gone. Such an attempt is in doubt: it is not known how much of it was done.

mod identity;

use crate::{blob_store::MOST_BYTES, replica::Replica, shared::SharedContents};
use envoi_cluster::{
    Message as ToObject, Place, Wanted, WorkerId,
    message::{Caller, ToRun, ToWorkerSlot},
    wire::{Answer, Posted},
    worker_slot,
};
use envoi_contract::json::{Object, Value};
use envoi_engine::{
    Job, Message, Processes, Runner, Settlement, elsewhere, flow_folder, now, protocol::CallerWire,
};
use envoi_kernel::{
    Flow, Run,
    event::{AttemptStarted, Blob, Outcome},
    files::{MOST_LISTED, MOST_LISTED_BYTES, are_listed},
    ids::{AttemptId, RunId},
    input::AttemptResult,
};
use envoi_restate::{Ingress, NotAsked, Reply, Unavailable};
use envoi_step::{AttemptDir, Launcher, Lease, boot_ms, instance_id};
use identity::Identity;
pub use identity::IdentityError;
use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

/// Settings that the main program chooses.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The worker's name. `None`: the name in its folder, or a new one.
    pub name: Option<WorkerId>,
    /// The most attempts at the same time.
    pub jobs: u32,
    /// The lease of the cluster, the same as at the server: a worker without a heartbeat for this time is
    /// lost.
    pub lease: Duration,
    /// How a supervisor is started.
    pub launcher: Launcher,
    /// The environment that commands of a run may see, with the values of the flow's secrets.
    pub caller: fn(&Flow, &Path) -> CallerWire,
    /// Makes a new number that cannot be guessed.
    pub random: fn() -> io::Result<u64>,
    /// Prints a line for the person who runs the worker.
    pub print_line: fn(&str),
}

/// Why a worker cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// Its folder does not tell its identity.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// The system failed: the boot id, the process namespace, or random bytes.
    #[error("the machine failed: {0}")]
    Machine(#[from] io::Error),
    /// Its folder is a copy, was restored from an older state, or belongs to another cluster.
    #[error("the cluster knows worker `{worker}` in a later life than this folder does")]
    Copied {
        /// The worker.
        worker: WorkerId,
    },
    /// The answer of an object is not one of that object.
    #[error("the answer of the cluster is not understood: {reason}")]
    NotUnderstood {
        /// The answer, or the reason.
        reason: String,
    },
}

/// The shortest and the longest pause between two heartbeats while nothing happens. Slots are offered by
/// heartbeats.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// Pause after a call without an answer, or after a failed system call.
const AFTER_FAILURE: Duration = Duration::from_millis(500);
/// Pause after the result of an attempt could not be read.
const AFTER_TROUBLE: Duration = Duration::from_secs(10);

/// The objects of the cluster, as a worker calls them.
trait Objects {
    /// Like [`Ingress::ask_keeping`].
    fn ask(&self, posted: Posted, keep: &dyn Fn(&[u8]) -> Result<(), Unavailable>)
    -> Result<Reply, NotAsked>;
}

impl Objects for Ingress {
    fn ask(
        &self,
        posted: Posted,
        keep: &dyn Fn(&[u8]) -> Result<(), Unavailable>,
    ) -> Result<Reply, NotAsked> {
        self.ask_keeping(posted, |bytes| Ok(keep(bytes)?))
    }
}

/// Works until the process ends. `joined` is called once, when the worker has joined for the first time.
///
/// # Errors
/// [`WorkerError`].
pub fn work(
    replica: Replica,
    shared: SharedContents,
    ingress: Ingress,
    settings: Settings,
    joined: impl FnOnce(&WorkerId),
) -> Result<(), WorkerError> {
    let until_ms = Arc::new(AtomicU64::new(0));
    let (mailbox, inbox) = mpsc::channel();
    let store = Arc::clone(replica.store());
    let processes = Processes::new(store, settings.launcher.clone(), envoi_step::boot_id()?, mailbox)
        .with_lease(Arc::clone(&until_ms));
    let around = Around { objects: Box::new(ingress), runner: Box::new(processes), inbox, until_ms };
    let mut worker = Worker::new(replica, shared, settings, around)?;
    worker.join()?;
    joined(worker.identity.worker());
    let mut pause = FIRST_PAUSE;
    loop {
        let before = worker.here.len();
        let has_happened = worker.turn()? || worker.here.len() != before;
        pause = match (worker.is_failing, has_happened) {
            (true, _) => AFTER_FAILURE,
            (false, true) => FIRST_PAUSE,
            (false, false) => pause.saturating_mul(2).min(LONGEST_PAUSE).min(worker.settings.lease / 10),
        };
        worker.wait(pause);
    }
}

/// How long an attempt may run after the last answered heartbeat was sent. The rest of the lease is for
/// ending it.
fn runs_for_ms(lease_ms: u64) -> u64 {
    lease_ms.saturating_mul(3) / 5
}

/// The worker's environment, which tests replace.
struct Around {
    objects: Box<dyn Objects>,
    runner: Box<dyn Runner>,
    inbox: Receiver<Message>,
    /// The deadline of attempts that the runner starts, by [`boot_ms`].
    until_ms: Arc<AtomicU64>,
}

/// Identifies an attempt.
type Key = (RunId, AttemptId);

/// An attempt that is here or should be here. It uses a slot.
struct Here {
    state: State,
    /// It has to be ended.
    ends: bool,
    /// After a failure, the time of the next try.
    not_before: Option<Instant>,
}

enum State {
    /// The runner gets it when the store of this machine has its announcement.
    Wanted,
    /// The runner has it.
    Runs,
    /// It has to be reported.
    Over(Settlement),
}

/// An incarnation of the worker, as its object knows it.
struct Life {
    place: Place,
    /// The last incarnation that was lost before this one.
    lost: u64,
    beats: u64,
    /// The mail is read up to this number.
    read: u64,
    /// Whether the mail of the last answered heartbeat is read: then `here` has all attempts of earlier
    /// incarnations that run here.
    knows: bool,
    /// When the attempts' leases were last renewed, by [`boot_ms`].
    renewed_ms: u64,
}

struct Worker {
    replica: Arc<Replica>,
    shared: SharedContents,
    settings: Settings,
    around: Around,
    identity: Identity,
    boot_id: String,
    instance: String,
    life: Option<Life>,
    here: BTreeMap<Key, Here>,
    /// Whether a call had no answer, or a system call failed, since the turn began.
    is_failing: bool,
    /// Whether the reason was printed. The next one is printed only after a turn without failures.
    has_complained: bool,
}

impl Worker {
    fn new(
        replica: Replica,
        shared: SharedContents,
        settings: Settings,
        around: Around,
    ) -> Result<Self, WorkerError> {
        let home = replica.store().layout().root().to_owned();
        let fresh = (settings.random)()?;
        let new_name = WorkerId::new(format!("w-{fresh:016x}")).map_err(io::Error::other)?;
        Ok(Self {
            identity: Identity::of(&home, settings.name.as_ref(), || new_name)?,
            boot_id: envoi_step::boot_id()?,
            instance: instance_id(&home)?,
            replica: Arc::new(replica),
            shared,
            settings,
            around,
            life: None,
            here: BTreeMap::new(),
            is_failing: false,
            has_complained: false,
        })
    }

    /// Begins an incarnation. Waits while the cluster does not answer, and while an earlier incarnation may
    /// still have its lease.
    fn join(&mut self) -> Result<(), WorkerError> {
        loop {
            let (last, request) = self.identity.joining((self.settings.random)()?)?;
            let sent_ms = boot_ms();
            let join = ToWorkerSlot::Join { last, request, instance: self.instance.clone() };
            match self.ask_own(join)? {
                Some(worker_slot::Reply::Joined { place, lost }) => {
                    self.identity.joined(place.incarnation)?;
                    self.life = Some(Life { place, lost, beats: 0, read: 0, knows: false, renewed_ms: 0 });
                    self.lasts_since(sent_ms);
                    return Ok(());
                }
                Some(worker_slot::Reply::Wait) => {
                    self.complain("an earlier life of this worker may still run elsewhere: waiting until its lease is over");
                }
                Some(worker_slot::Reply::Copied) => {
                    return Err(WorkerError::Copied { worker: self.identity.worker().clone() });
                }
                Some(other) => return Err(not_understood(&other)),
                None => {}
            }
            thread::sleep(AFTER_FAILURE);
        }
    }

    /// Does everything that is due now. Returns whether anything has happened.
    fn turn(&mut self) -> Result<bool, WorkerError> {
        self.is_failing = false;
        self.begin_wanted();
        let has_reported = self.report_all()?;
        let has_mail = self.beat()?;
        self.begin_wanted();
        if !self.is_failing {
            self.has_complained = false;
        }
        Ok(has_reported || has_mail)
    }

    /// Waits for messages of the runner, at most this long.
    fn wait(&mut self, longest: Duration) {
        let mut message = match self.around.inbox.recv_timeout(longest) {
            Ok(message) => message,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
        };
        loop {
            self.receive(message);
            let Ok(next) = self.around.inbox.try_recv() else { return };
            message = next;
        }
    }

    fn receive(&mut self, message: Message) {
        match message {
            Message::Settled { run, attempt, settlement } => {
                let Some(here) = self.here.get_mut(&(run.clone(), attempt.clone())) else { return };
                match settlement {
                    Settlement::Unknown { trouble } => {
                        let reason = format!("attempt {attempt} of run {run}: {}", trouble.reason);
                        (here.state, here.not_before) =
                            (State::Wanted, Instant::now().checked_add(AFTER_TROUBLE));
                        (self.settings.print_line)(&reason);
                    }
                    settlement => here.state = State::Over(settlement),
                }
            }
            Message::Troubled { run, trouble } => {
                (self.settings.print_line)(&format!("run {run}: {}", trouble.reason));
            }
            // The other messages are for an engine.
            _ => {}
        }
    }

    /// Passes attempts that are wanted and announced to the runner. A worker whose deadline has passed starts
    /// nothing.
    fn begin_wanted(&mut self) {
        if boot_ms() >= self.around.until_ms.load(Ordering::Relaxed) {
            return;
        }
        let is_due = |here: &Here| {
            matches!(here.state, State::Wanted) && here.not_before.is_none_or(|time| time <= Instant::now())
        };
        let due: Vec<Key> =
            self.here.iter().filter(|(_, here)| is_due(here)).map(|(key, _)| key.clone()).collect();
        for (run, attempt) in due {
            match self.replica.with_run(&run, |run| self.job(run, &attempt)) {
                Ok(Some(Some(job))) => self.begin((run, attempt), job),
                // Its announcement has not arrived yet.
                Ok(None | Some(None)) => {}
                Err(error) => self.fails(&error),
            }
        }
    }

    fn begin(&mut self, key: Key, job: Job) {
        let Some(here) = self.here.get_mut(&key) else { return };
        here.state = State::Runs;
        let ends = here.ends;
        // Makes the next heartbeat give it the current deadline.
        self.life.iter_mut().for_each(|life| life.renewed_ms = 0);
        self.around.runner.ensure(job);
        if ends {
            self.around.runner.cancel(&key.0, &key.1);
        }
    }

    /// The job of an attempt. `None` if the run has not announced it yet.
    fn job(&self, run: &Run, attempt: &AttemptId) -> Option<Job> {
        let announced = run.attempt(attempt)?;
        let place = Place::parse(&announced.boot_id).ok()?;
        // A probe compares only the boot id. Another process namespace shows in the lock.
        let boot_id = place.instance.split('.').next().unwrap_or("").to_owned();
        let started = AttemptStarted { boot_id, ..AttemptStarted::clone(announced) };
        let wire = (self.settings.caller)(run.flow(), flow_folder(run));
        let job = Job::of(run, Arc::new(started), elsewhere::caller_of(run.flow(), &wire))?;
        Some(Job { run_base: self.replica.store().layout().run(&job.run), ..job })
    }

    fn report_all(&mut self) -> Result<bool, WorkerError> {
        let is_over = |here: &Here| matches!(here.state, State::Over(_));
        let over: Vec<Key> =
            self.here.iter().filter(|(_, here)| is_over(here)).map(|(key, _)| key.clone()).collect();
        let mut has_reported = false;
        for key in over {
            self.stays_alive();
            has_reported |= self.report(key)?;
        }
        Ok(has_reported)
    }

    /// Reports the end of an attempt. Without an answer it is reported again, until there is one.
    fn report(&mut self, key: Key) -> Result<bool, WorkerError> {
        let Some(caller) = self.caller() else { return Ok(false) };
        let Some(Here { state: State::Over(settlement), ends, .. }) = self.here.get(&key) else {
            return Ok(false);
        };
        let message = match self.settled(&key, settlement, *ends, caller) {
            Ok(message) => message,
            Err(error) => {
                self.fails(&error);
                return Ok(false);
            }
        };
        let Some(wanted) = self.ask_run(&key.0, message)? else { return Ok(false) };
        self.here.remove(&key);
        self.does(&key.0, wanted);
        Ok(true)
    }

    /// The message about the end of an attempt. Its contents are in the shared store when this returns.
    fn settled(
        &self,
        key: &Key,
        settlement: &Settlement,
        ends: bool,
        caller: Caller,
    ) -> Result<ToRun, Unavailable> {
        let (run, attempt) = key;
        let in_doubt = |caller, evidence| ToRun::InDoubt { caller, attempt: attempt.clone(), evidence };
        match settlement {
            Settlement::Finished { result, .. } if matches!(result.outcome, Outcome::Cancelled) && !ends => {
                // No run wanted its end: its supervisor has ended it at the deadline.
                let why = format!("its worker `{}` was cut off, and ended it", self.identity.worker());
                Ok(in_doubt(caller, Value::Object(Object::from([("why", Value::from(why))]))))
            }
            Settlement::Finished { result, blobs } => {
                blobs.iter().try_for_each(|(_, bytes)| self.shared.keep(bytes))?;
                let checked =
                    self.replica.with_run(run, |run| elsewhere::checked_result(run, (**result).clone()))?;
                let checked = checked.unwrap_or_else(|| (**result).clone());
                let result = Box::new(without_excess(checked));
                Ok(ToRun::Settled { caller, result })
            }
            Settlement::InDoubt { evidence } => Ok(in_doubt(caller, evidence.clone())),
            Settlement::Unknown { trouble } => {
                Err(Unavailable { reason: format!("attempt {attempt} of run {run}: {}", trouble.reason) })
            }
        }
    }

    /// Sends a heartbeat with the number of free slots, and looks at the runs that its mail names. Returns
    /// whether there were any.
    fn beat(&mut self) -> Result<bool, WorkerError> {
        let used = u32::try_from(self.here.len()).unwrap_or(u32::MAX);
        let Some(life) = &mut self.life else { return Ok(false) };
        // Attempts of an earlier incarnation use slots, and are not known before the mail is read.
        let free = if life.knows { self.settings.jobs.saturating_sub(used) } else { 0 };
        life.beats = life.beats.saturating_add(1);
        let (number, read, incarnation) = (life.beats, life.read, life.place.incarnation);
        let sent_ms = boot_ms();
        let mail = match self.ask_own(ToWorkerSlot::Beat { incarnation, number, free, read })? {
            Some(worker_slot::Reply::Lives { mail }) => mail,
            Some(worker_slot::Reply::Lost) => return self.is_lost().map(|()| true),
            Some(other) => return Err(not_understood(&other)),
            None => return Ok(false),
        };
        self.lasts_since(sent_ms);
        let mut has_mail = false;
        let last = mail.last().map_or(0, |(number, _)| *number);
        for (number, run) in mail.into_iter().filter(|(number, _)| *number > read) {
            has_mail = true;
            let Some(caller) = self.caller() else { break };
            let Some(wanted) = self.ask_run(&run, ToRun::Look { caller })? else { break };
            self.does(&run, wanted);
            self.life.iter_mut().for_each(|life| life.read = number);
        }
        self.life.iter_mut().for_each(|life| life.knows = life.read >= last);
        Ok(has_mail)
    }

    /// Sends a heartbeat in the middle of long work, if the last answered one was some time ago. It offers no
    /// slots and reads no mail.
    fn stays_alive(&mut self) {
        let lease_ms = u64::try_from(self.settings.lease.as_millis()).unwrap_or(u64::MAX);
        let until_ms = self.around.until_ms.load(Ordering::Relaxed);
        let sent_ms = boot_ms();
        let Some(life) = &mut self.life else { return };
        if sent_ms.saturating_add(runs_for_ms(lease_ms)) < until_ms.saturating_add(lease_ms / 10) {
            return;
        }
        life.beats = life.beats.saturating_add(1);
        let (incarnation, number, read) = (life.place.incarnation, life.beats, life.read);
        let beat = ToWorkerSlot::Beat { incarnation, number, free: 0, read };
        let message = ToObject::WorkerSlot(self.identity.worker().clone(), beat);
        let asked = self.around.objects.ask(Posted { message, at: now() }, &|bytes| self.shared.keep(bytes));
        // Other answers, such as that the worker is lost, are handled in the next turn.
        if let Ok(Reply::Answer(Answer::WorkerSlot(worker_slot::Reply::Lives { .. }))) = asked {
            self.lasts_since(sent_ms);
        }
    }

    /// The worker is lost: running attempts are ended, and it joins again. Ended attempts are still reported.
    fn is_lost(&mut self) -> Result<(), WorkerError> {
        (self.settings.print_line)(
            "the cluster has given this worker up: its attempts are ended, and it joins again",
        );
        self.life = None;
        self.here.retain(|_, here| !matches!(here.state, State::Wanted));
        let is_running = |here: &Here| matches!(here.state, State::Runs);
        for ((run, attempt), _) in self.here.iter().filter(|(_, here)| is_running(here)) {
            self.around.runner.cancel(run, attempt);
        }
        while self.here.values().any(is_running) {
            self.wait(LONGEST_PAUSE);
        }
        self.here.retain(|_, here| !matches!(here.state, State::Wanted));
        self.join()
    }

    /// Carries out what a run wants here.
    fn does(&mut self, run: &RunId, wanted: Wanted) {
        let ends: BTreeSet<AttemptId> = wanted.end.into_iter().collect();
        let runs: BTreeSet<AttemptId> = wanted.run.iter().map(|started| started.attempt.clone()).collect();
        for attempt in runs.union(&ends) {
            let new = || Here { state: State::Wanted, ends: false, not_before: None };
            self.here.entry((run.clone(), attempt.clone())).or_insert_with(new);
        }
        let is_of_run = |(of, _): &Key| of == run;
        // An attempt that was never started here and is no longer wanted is dropped.
        self.here.retain(|key, here| {
            !is_of_run(key)
                || runs.contains(&key.1)
                || ends.contains(&key.1)
                || !matches!(here.state, State::Wanted)
        });
        let mut is_here = false;
        for (key, here) in self.here.iter_mut().filter(|(key, _)| is_of_run(key)) {
            is_here = true;
            if runs.contains(&key.1) || here.ends {
                continue;
            }
            here.ends = true;
            if matches!(here.state, State::Runs) {
                self.around.runner.cancel(&key.0, &key.1);
            }
        }
        if !is_here {
            self.around.runner.leave(run);
        }
    }

    /// A heartbeat sent at this time was answered: extends the deadlines of the attempts.
    fn lasts_since(&mut self, sent_ms: u64) {
        let lease_ms = u64::try_from(self.settings.lease.as_millis()).unwrap_or(u64::MAX);
        let until_ms = sent_ms.saturating_add(runs_for_ms(lease_ms));
        self.around.until_ms.store(until_ms, Ordering::Relaxed);
        let Some(life) = &mut self.life else { return };
        if sent_ms < life.renewed_ms.saturating_add(lease_ms / 20) {
            return;
        }
        life.renewed_ms = sent_ms;
        let lease = Lease { boot_id: self.boot_id.clone(), until_ms };
        let running = self.here.iter().filter(|(_, here)| matches!(here.state, State::Runs));
        for ((run, attempt), _) in running {
            let place = self.replica.store().layout().attempt(run, attempt);
            // Before its folder exists, its order contains the deadline.
            if let Err(error) = lease.renew(&AttemptDir::new(&place))
                && place.is_dir()
            {
                (self.settings.print_line)(&format!(
                    "the lease of attempt {attempt} of run {run} is not renewed: {error}"
                ));
            }
        }
    }

    fn caller(&self) -> Option<Caller> {
        self.life.as_ref().map(|life| Caller { place: life.place.clone(), lost: life.lost })
    }

    fn ask_own(&mut self, message: ToWorkerSlot) -> Result<Option<worker_slot::Reply>, WorkerError> {
        let message = ToObject::WorkerSlot(self.identity.worker().clone(), message);
        match self.ask(message) {
            Some(Answer::WorkerSlot(reply)) => Ok(Some(reply)),
            Some(other) => Err(not_understood(&other)),
            None => Ok(None),
        }
    }

    /// Sends a message to a run. Returns what the run wants here, whether it accepted or refused the message.
    fn ask_run(&mut self, run: &RunId, message: ToRun) -> Result<Option<Wanted>, WorkerError> {
        match self.ask(ToObject::Run(run.clone(), message)) {
            Some(Answer::Run { wanted, .. }) => Ok(Some(wanted)),
            Some(other) => Err(not_understood(&other)),
            None => Ok(None),
        }
    }

    fn ask(&mut self, message: ToObject) -> Option<Answer> {
        let posted = Posted { message, at: now() };
        let replica = Arc::clone(&self.replica);
        let shared = replica.share_with(&posted, || self.stays_alive());
        let asked = shared.map_err(NotAsked::from);
        let asked = asked.and_then(|()| self.around.objects.ask(posted, &|bytes| self.shared.keep(bytes)));
        match asked {
            Ok(Reply::Answer(answer)) => Some(answer),
            Ok(Reply::Unfit { reason }) => {
                self.fails(&format!("the cluster does not take a message: {reason}"));
                None
            }
            Ok(Reply::Done) => None,
            Err(error) => {
                self.fails(&error);
                None
            }
        }
    }

    /// Records a failure, so that the work is repeated. Prints the first reason.
    fn fails(&mut self, error: &dyn std::fmt::Display) {
        self.is_failing = true;
        self.complain(&error.to_string());
    }

    fn complain(&mut self, line: &str) {
        if !self.has_complained {
            (self.settings.print_line)(line);
        }
        self.has_complained = true;
    }
}

/// A result that the cluster accepts. Files that it cannot hand over are left out, and the step fails with
/// the reason.
fn without_excess(result: AttemptResult) -> AttemptResult {
    let path_bytes = result.files.iter().fold(0_usize, |sum, file| sum.saturating_add(file.path.len()));
    let is_too_large = |blob: &Option<Blob>| blob.as_ref().is_some_and(|blob| blob.size > MOST_BYTES);
    let large = result.files.iter().find(|file| is_too_large(&file.blob) || is_too_large(&file.before));
    let excess = match large {
        Some(file) => format!(
            "`{}` has, or had, more than {MOST_BYTES} bytes: a cluster takes no such file yet",
            file.path
        ),
        None if !are_listed(result.files.len(), path_bytes) => format!(
            "the step hands over {} files, and a cluster takes at most {MOST_LISTED}, or {MOST_LISTED_BYTES} bytes of paths, yet: \
             pack them, or narrow `artifacts`",
            result.files.len(),
        ),
        None => return result,
    };
    AttemptResult { files: Vec::new(), excess: Some(excess), ..result }
}

fn not_understood(answer: &dyn std::fmt::Debug) -> WorkerError {
    WorkerError::NotUnderstood { reason: format!("{answer:?}") }
}

#[cfg(test)]
mod tests;
