//! A running engine: the loop on its own thread, a socket for other processes, and the store that only it
//! writes to.

mod socket;

use crate::{
    attempts::{
        accounts::AgentAccounts, callable_models::CallableModels, presence::Presences, processes::Processes,
        variables::PerAttempt,
    },
    commands::{handler::Commands, under_way::UnderWay},
    delivery::{callers::Callers, dispatcher, settings::Notices},
    event_loop::{
        engine::{Engine, World},
        outbox::Outbox,
    },
    model::{
        clock,
        crash_point::Point,
        message::{EngineError, Message},
        protocol::Standing,
        runner::{Clock, Log, StoreGone},
    },
    observe::{file_projector::FileProjector, followers::Followers, placing::Placing},
};
use envoi_contract::time::Timestamp;
use envoi_journal::{
    Commit, CommitError, Epoch, Holder, Lease, LeaseError, Note, Patience, ReadError, Reader, Store, Writer,
    with_causes,
};
use envoi_kernel::ids::{RunId, Seq};
use envoi_notify::delivery_loop::{DeliveryLoop, Waker};
use envoi_step::{Launcher, Presence};
use envoi_tree::{Bounds, Stop};
use std::{
    io,
    path::PathBuf,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

pub use socket::{Client, ClientError};

/// The settings of an engine, set by the composition root.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Maximum number of attempts at once.
    pub jobs: usize,
    /// How a supervisor is started.
    pub launcher: Launcher,
    /// Folders for the socket; the first usable one is taken. Their paths must be short.
    pub socket_dirs: Vec<PathBuf>,
    /// Called at each [`Point`] of each attempt; for tests of the whole binary.
    pub reached: fn(Point),
    /// How notices are sent.
    pub notices: Notices,
    /// Variables that only the commands of one attempt get.
    pub per_attempt: PerAttempt,
    /// The models that steps may ask.
    pub models: CallableModels,
    /// The accounts of agent programs that steps may name.
    pub accounts: AgentAccounts,
    /// Takes a line for the person who runs the engine.
    pub print_line: fn(&str),
    /// Maximum number of bytes kept of each of stdout and stderr of an attempt; `None`:
    /// [`envoi_step::Spec::STREAM_CAP_BYTES`].
    pub stream_cap_bytes: Option<u64>,
    /// Folders of which no snapshots are taken, nor of any folder above them: the user's home.
    pub too_wide: Vec<PathBuf>,
    /// How much a snapshot of the files of a run may hold.
    pub bounds: Bounds,
    /// Whether the start waits for a store that another process keeps locked, as later commits do. A process
    /// that has replaced another engine does not wait, because that engine may be what keeps the store
    /// locked.
    pub waits_to_start: bool,
}

/// See the module. [`Host::close`] ends it in order; dropping it leaves the attempts to their supervisors.
pub struct Host {
    commands: Commands,
    mailbox: Sender<Message>,
    closing: Sender<Option<RunId>>,
    thread: JoinHandle<Option<EngineError>>,
    dispatcher: DeliveryLoop,
    socket: socket::Listener,
    stopping: Stopping,
    lease: Lease,
    epoch: Epoch,
}

/// The engine cannot come up.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The store did not take the new epoch, or has no writer.
    #[error("the store failed: {0}")]
    Store(#[from] CommitError),
    /// The socket or the lock file.
    #[error("the engine cannot be reached by others: {0}")]
    Lease(#[from] LeaseError),
    /// Runs that are decided elsewhere must not go on here.
    #[error("the runs of this store are decided in a cluster: no engine goes on with them here")]
    Replica,
    /// A thread, the socket, or the identity of the boot.
    #[error("the machine failed: {0}")]
    Machine(#[from] io::Error),
}

impl Host {
    /// Starts an engine as the holder of `lease`: fences every earlier holder, then answers on a socket.
    ///
    /// # Errors
    /// [`HostError`], together with the lease.
    pub fn start(store: Arc<Store>, lease: Lease, settings: &Settings) -> Result<Self, (HostError, Lease)> {
        match Self::come_up(&store, &lease, settings) {
            Ok(parts) => {
                let Parts { commands, mailbox, closing, thread, dispatcher, socket, stopping, epoch } = parts;
                Ok(Self { commands, mailbox, closing, thread, dispatcher, socket, stopping, lease, epoch })
            }
            Err(error) => Err((error, lease)),
        }
    }

    fn come_up(store: &Arc<Store>, lease: &Lease, settings: &Settings) -> Result<Parts, HostError> {
        if store.layout().replica_mark().symlink_metadata().is_ok() {
            return Err(HostError::Replica);
        }
        // Announces the process id, so that another process that finds the store busy can end this one if it
        // hangs during the start.
        lease.announce(&Holder { pid: std::process::id(), socket: PathBuf::new() })?;
        let stopping = Stopping::default();
        let patience = patience(settings.print_line, &stopping);
        let epoch = match settings.waits_to_start {
            // An engine that was replaced meanwhile must not fence its successor.
            true => store
                .take_epoch_in_time(patience.each, |tries| lease.is_current() && (patience.waits)(tries))?,
            false => store.take_epoch()?,
        };
        // A step can leave any file there. A failure affects the runs that write, but not the engine.
        if let Err(error) = store.sweep() {
            (settings.print_line)(&format!("leftovers of earlier writes stay: {}", with_causes(&error)));
        }
        Presence::sweep();
        let boot_id = envoi_step::boot_id()?;
        let (mailbox, inbox) = mpsc::channel();
        let (closing, closed) = mpsc::channel();
        let followers = Followers::default();
        let callers = Callers::new(&settings.notices);
        let presences = Arc::new(Presences::new(store.layout().root(), settings.print_line));
        let under_way = UnderWay::default();
        let writer = Arc::new(store.patient_writer(epoch, patience)?);
        let commands = Commands {
            presences: Arc::clone(&presences),
            store: Arc::clone(store),
            layout: store.layout().clone(),
            mailbox: mailbox.clone(),
            followers: followers.clone(),
            callers: callers.clone(),
            families: Arc::default(),
            restores: Arc::default(),
            under_way: under_way.clone(),
            beginnings: Arc::default(),
            collections: Arc::default(),
            requests: Arc::default(),
            writer: Arc::downgrade(&writer),
            reached: settings.reached,
            stop: git_stop(&stopping),
            bounds: settings.bounds,
        };
        let socket = socket::Listener::bind(&settings.socket_dirs, &commands)?;
        lease.announce(&Holder { pid: std::process::id(), socket: socket.path().to_owned() })?;
        let channels = Channels { mailbox: mailbox.clone(), inbox, closed };
        let dispatcher = dispatcher::start(store, Arc::clone(&writer), settings.notices.clone(), callers)?;
        let reader = store.reader().map_err(|error| io::Error::other(error.to_string()))?;
        let placing = Placing::new(Arc::clone(store), epoch, mailbox.clone());
        let log = WriterLog {
            writer,
            epoch,
            db: store.layout().db(),
            reader,
            mailbox: mailbox.clone(),
            dispatcher: dispatcher.waker(),
        };
        let seen = (followers, placing, presences, under_way);
        let thread = start_loop(store, log, settings, boot_id, channels, seen)?;
        Ok(Parts { commands, mailbox, closing, thread, dispatcher, socket, stopping, epoch })
    }

    /// Returns after the first request through the socket, or after `longest`.
    pub fn wait_for_request(&self, longest: Duration) {
        self.socket.wait_for_request(longest);
    }

    /// Whether the loop has ended by itself: [`Host::close`] returns why.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.thread.is_finished()
    }

    /// Whether no other process has taken the store over. The loop itself notices that only at its next
    /// commit.
    #[must_use]
    pub fn is_current(&self) -> bool {
        // A process that was stopped while it took over may take its epoch after the engine that followed it.
        let has_newest_epoch = || {
            let newest = self.commands.store.reader().and_then(|reader| reader.epoch());
            newest.map_or(true, |newest| newest == self.epoch)
        };
        self.lease.is_current() && has_newest_epoch()
    }

    /// Number of requests, of all commands, in progress at the time of the call.
    pub fn requests_under_way(&self) -> impl Fn() -> usize + Send + 'static {
        let under_way = self.commands.under_way.clone();
        move || under_way.count()
    }

    /// The interface for requests.
    #[must_use]
    pub fn commands(&self) -> &Commands {
        &self.commands
    }

    /// A function for another thread. It stops new starts ([`Message::Drain`]), the wait for notices and,
    /// after a short time, requests that wait for git.
    pub fn drain(&self) -> impl Fn() + Send + 'static {
        let mailbox = self.mailbox.clone();
        let dispatcher = self.dispatcher.waker();
        let stopping = Arc::clone(&self.stopping);
        move || {
            stopping.get_or_init(Instant::now);
            // A loop that has ended starts nothing.
            let _ = mailbox.send(Message::Drain);
            dispatcher.hurry();
        }
    }

    /// Ends the engine when nothing is in progress. Waits for live attempts of all runs and accepted
    /// requests. Tries due notices for a short time, unless the engine was stopped; other requests are still
    /// accepted during that time. Then the writer finishes and the lock is released. `own` is the run of the
    /// closing command: if an answer lets it continue, that time begins again when it rests. Returns why the
    /// loop had stopped by itself, if it had.
    #[must_use]
    pub fn close(self, own: Option<&RunId>) -> Option<EngineError> {
        let Self { commands, mailbox, closing, thread, dispatcher, socket, stopping: _, lease, epoch: _ } =
            self;
        // If the loop has stopped by itself, these messages have no receiver.
        let _ = closing.send(own.cloned());
        let _ = mailbox.send(Message::Wake);
        let panicked = || EngineError::Stopping { reason: "the loop panicked".into() };
        let stopped = thread.join().unwrap_or_else(|_| Some(panicked()));
        // Deliveries still in progress have had their time.
        dispatcher.close(Duration::ZERO);
        socket.close();
        // Before the next engine comes up: it would take this one for a process of another store if it cannot see it.
        commands.presences.leave_all();
        drop(commands);
        let ours = lease.is_current();
        lease.release();
        // An engine that was overtaken may first stumble over what the other one has tidied up.
        let is_known = |error: &EngineError| {
            let is_own =
                matches!(error, EngineError::Moved { .. } | EngineError::Store(CommitError::Replaced { .. }));
            ours || is_own
        };
        stopped.map(|error| if is_known(&error) { error } else { EngineError::TakenOver })
    }
}

/// How long an engine without other work tries to send notices. The next engine sends those that a hanging
/// receiver has missed.
const DISPATCH_PATIENCE: Duration = Duration::from_secs(3);

/// The message while an engine whose last moment is over works for another command.
const WORKS_FOR_OTHERS: &str = "another command has begun work with this engine meanwhile: waiting for it";

/// Duration of one try of a commit while another process keeps the store locked.
const LOCKED_TRY: Duration = Duration::from_secs(2);

/// While this engine has the newest epoch, another process that locks the store is a visitor (a backup, a
/// database shell). The commit waits for it, with ever rarer warnings.
fn patience(print_line: fn(&str), stopping: &Stopping) -> Patience {
    let stopping = Arc::clone(stopping);
    let waits = move |tries: u32| {
        if tries.is_power_of_two() {
            let waited_s = LOCKED_TRY.as_secs().saturating_mul(u64::from(tries));
            tracing::warn!(waited_s, "the store is locked by another process");
            print_line(&format!(
                "another process keeps the store locked: waiting for it ({waited_s} s so far)"
            ));
        }
        stopping.get().is_none()
    };
    Patience { each: LOCKED_TRY, waits: Arc::new(waits) }
}

/// When the engine was stopped. After that, it no longer waits for a store that others keep locked.
type Stopping = Arc<OnceLock<Instant>>;

/// How long requests wait for git in an engine that was stopped. A working git has answered by then; the
/// contents of a repository can block it for ever.
const GIT_PATIENCE: Duration = Duration::from_secs(2);

fn git_stop(stopping: &Stopping) -> Stop {
    let stopping = Arc::clone(stopping);
    Stop::when(move || stopping.get().is_some_and(|since| since.elapsed() >= GIT_PATIENCE))
}

/// A host without its lease.
struct Parts {
    commands: Commands,
    mailbox: Sender<Message>,
    closing: Sender<Option<RunId>>,
    thread: JoinHandle<Option<EngineError>>,
    dispatcher: DeliveryLoop,
    socket: socket::Listener,
    stopping: Stopping,
    epoch: Epoch,
}

/// The loop's ends of the channels.
struct Channels {
    mailbox: Sender<Message>,
    inbox: Receiver<Message>,
    closed: Receiver<Option<RunId>>,
}

fn start_loop(
    store: &Arc<Store>,
    log: WriterLog,
    settings: &Settings,
    boot_id: String,
    channels: Channels,
    (followers, placing, presences, under_way): (Followers, Placing, Arc<Presences>, UnderWay),
) -> Result<JoinHandle<Option<EngineError>>, HostError> {
    let Channels { mailbox, inbox, closed } = channels;
    let wake = mailbox.clone();
    let layout = store.layout().clone();
    let processes = Processes::new(Arc::clone(store), settings.launcher.clone(), boot_id.clone(), mailbox)
        .with_points(settings.reached)
        .with_presences(presences)
        .with_variables(settings.per_attempt.clone())
        .with_models(settings.models.clone())
        .with_accounts(settings.accounts.clone())
        .with_large_sets(Arc::clone(&log.writer), placing.clone())
        .with_too_wide(settings.too_wide.clone())
        .with_bounds(settings.bounds)
        .with_stream_cap(settings.stream_cap_bytes);
    let reader = store.reader().map_err(|error| io::Error::other(error.to_string()))?;
    let accounts = reader.closed_accounts().map_err(|error| io::Error::other(error.to_string()))?;
    let outbox = Outbox {
        targets: settings.notices.targets.clone(),
        folder: layout.root().to_string_lossy().into_owned(),
    };
    let projector = FileProjector::new(layout, reader, log.epoch, followers.clone())
        .with_points(settings.reached)
        .with_placing(placing.clone());
    let jobs = settings.jobs;
    let print_line = settings.print_line;
    let dispatcher = log.dispatcher.clone();
    let thread = thread::Builder::new().name("envoi-engine".to_owned()).spawn(move || {
        let world = World {
            clock: Box::new(SystemClock { boot_id, since: Instant::now() }),
            log: Box::new(log),
            runner: Box::new(processes),
            observer: Box::new(projector),
        };
        let engine = Engine::new(world, jobs).with_outbox(outbox).with_closed(accounts);
        let notices = move |patience, callback: Callback| dispatcher.call_when_done(patience, callback);
        let last = LastMoment { patience: DISPATCH_PATIENCE, notices: &notices, print_line };
        run_loop(engine, (&inbox, &wake), &closed, (&followers, &placing, &under_way), &last)
    })?;
    Ok(thread)
}

/// Longest wait between two looks at the clocks: a timer is then late by no more than that after the machine was suspended, or
/// the wall clock set forward.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Called when the notices that are due have been tried.
pub(crate) type Callback = Box<dyn FnOnce() + Send>;

/// The settings of the last moment: a closed engine without other work.
pub(crate) struct LastMoment<'m> {
    /// Its duration, which commits in between do not extend.
    pub(crate) patience: Duration,
    /// Calls back when the due notices have been tried, at the latest after this time.
    pub(crate) notices: &'m dyn Fn(Duration, Callback),
    /// Takes a line for the person who waits for the end.
    pub(crate) print_line: fn(&str),
}

/// The state of an engine that is being closed.
pub(crate) struct Ending {
    /// The run that its command is about.
    pub(crate) own: Option<RunId>,
    /// The end of its last moment. `None`: the last moment has not begun, because there was other work.
    pub(crate) until: Option<Instant>,
    /// Whether the person was informed that it works for others.
    pub(crate) is_announced: bool,
}

impl Ending {
    /// Whether the last moment is over. The last moment begins here if nothing is in progress. The command's
    /// own run, which an answer may have continued, is waited for without limit.
    pub(crate) fn is_over(&mut self, engine: &Engine, patience: Duration) -> bool {
        let own = self.own.as_ref().and_then(|own| engine.run(own));
        if own.is_some_and(|run| Standing::of(&run.status()).is_none()) {
            self.until = None;
        } else if engine.is_idle() {
            self.until.get_or_insert_with(|| Instant::now() + patience);
        }
        self.until.is_some_and(|until| until <= Instant::now())
    }

    /// Prints once that the engine waits for the work of others. Not for a command without a run of its own,
    /// whose purpose that is.
    fn announce(&mut self, print_line: fn(&str)) {
        if self.own.is_some() && !self.is_announced {
            print_line(WORKS_FOR_OTHERS);
            self.is_announced = true;
        }
    }
}

/// Runs until the engine stops by itself, or is closed and idle. The last moment begins when it is first
/// idle. Requests are still accepted then, because a notice command may send an answer. Accepted work is
/// finished, because there may be no other engine to continue it; the person gets a line about that, and the
/// engine then ends without waiting for notices. Returns why the engine has stopped by itself.
pub(crate) fn run_loop(
    mut engine: Engine,
    (inbox, mailbox): (&Receiver<Message>, &Sender<Message>),
    closed: &Receiver<Option<RunId>>,
    (followers, placing, under_way): (&Followers, &Placing, &UnderWay),
    last: &LastMoment<'_>,
) -> Option<EngineError> {
    let mut over = Over { under_way, followers, reason: "the loop panicked".to_owned() };
    let mut ending: Option<Ending> = None;
    // Whether the notices have been tried; `None` while the loop does not wait for that.
    let mut tried: Option<Arc<AtomicBool>> = None;
    while engine.stopped().is_none() {
        ending = ending
            .or_else(|| closed.try_recv().ok().map(|own| Ending { own, until: None, is_announced: false }));
        let is_over = ending.as_mut().is_some_and(|ending| ending.is_over(&engine, last.patience));
        if let Some(ending) = ending.as_mut().filter(|_| is_over && !engine.is_idle()) {
            ending.announce(last.print_line);
        }
        if !engine.is_idle() {
            under_way.open();
        }
        let until = ending.as_ref().and_then(|ending| ending.until).filter(|_| !is_over);
        if (ending.is_some() || engine.is_draining()) && engine.is_idle() {
            // Followers learn that a run has ended when its files are in place. A run whose files cannot be
            // placed must be set aside before the loop ends; otherwise it would look complete.
            placing.wait_for_all();
            if let Ok(message) = inbox.try_recv() {
                engine.handle(message);
                continue;
            }
            let waits_for = tried.get_or_insert_with(|| {
                let is_left_out = engine.is_draining() || is_over;
                let tried = Arc::new(AtomicBool::new(is_left_out));
                if !is_left_out {
                    let (done, wake) = (Arc::clone(&tried), mailbox.clone());
                    let callback = move || {
                        done.store(true, Ordering::SeqCst);
                        let _ = wake.send(Message::Wake);
                    };
                    (last.notices)(left(until).unwrap_or(last.patience), Box::new(callback));
                }
                tried
            });
            if !waits_for.load(Ordering::SeqCst) && !engine.is_draining() && !is_over {
                match inbox.recv_timeout(until_next(&engine, until)) {
                    Ok(message) => {
                        // The results of a request may have notices, too.
                        tried = tried.filter(|_| !matches!(message, Message::Committed { .. }));
                        engine.handle(message);
                    }
                    Err(RecvTimeoutError::Timeout) => engine.handle(Message::Wake),
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                continue;
            }
            // Accepted work is finished. Later requests go to the next engine, unless the accepted work
            // causes more.
            let wake = mailbox.clone();
            if under_way.shut(move || {
                let _ = wake.send(Message::Wake);
            }) {
                match inbox.try_recv() {
                    Ok(message) => engine.handle(message),
                    Err(_) => break,
                }
                continue;
            }
        } else {
            tried = None;
        }
        match inbox.recv_timeout(until_next(&engine, until)) {
            Ok(message) => engine.handle(message),
            Err(RecvTimeoutError::Timeout) => engine.handle(Message::Wake),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    under_way.end();
    placing.wait_for_all();
    let stopped = engine.stopped().cloned();
    over.reason = stopped.as_ref().map_or_else(|| "it was asked to".to_owned(), ToString::to_string);
    stopped
}

/// On drop, everyone who waits for the loop learns that it has ended, even after a panic. Otherwise they
/// would wait for ever.
struct Over<'l> {
    under_way: &'l UnderWay,
    followers: &'l Followers,
    reason: String,
}

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.under_way.end();
        self.followers.stopped(&self.reason);
    }
}

/// How long there is nothing to do, at most until `until`.
fn until_next(engine: &Engine, until: Option<Instant>) -> Duration {
    let longest = left(until).unwrap_or(LONGEST_WAIT).min(LONGEST_WAIT);
    engine.wakes_in().unwrap_or(longest).min(longest)
}

fn left(until: Option<Instant>) -> Option<Duration> {
    until.map(|until| until.saturating_duration_since(Instant::now()))
}

struct WriterLog {
    writer: Arc<Writer>,
    epoch: Epoch,
    /// The database, as this engine opened it.
    db: PathBuf,
    reader: Reader,
    mailbox: Sender<Message>,
    dispatcher: Waker,
}

impl Log for WriterLog {
    fn submit(&mut self, commit: Commit) {
        let run = commit.run.clone();
        let mailbox = self.mailbox.clone();
        let dispatcher = (!commit.deliveries.is_empty()).then(|| self.dispatcher.clone());
        self.writer.submit(
            commit,
            Box::new(move |result| {
                if let Some(dispatcher) = dispatcher {
                    dispatcher.wake();
                }
                // A loop that has stopped does not need to know; the journal does.
                mailbox.send(Message::Committed { run, result }).ok();
            }),
        );
    }

    fn note(&mut self, note: Note) {
        let mailbox = self.mailbox.clone();
        let noted = note.clone();
        let done = move |result| {
            // No one listens any more when the loop is over.
            mailbox.send(Message::Noted { note: noted, result }).ok();
        };
        self.writer.note(note, Box::new(done));
    }

    fn check_place(&self) -> Result<(), StoreGone> {
        match self.db.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(StoreGone { db: self.db.clone() }),
            _ => Ok(()),
        }
    }

    fn next_seq(&mut self, run: &RunId) -> Result<Seq, ReadError> {
        self.reader.next_seq(run)
    }
}

struct SystemClock {
    boot_id: String,
    since: Instant,
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        clock::now()
    }

    fn steady_ms(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn boot_id(&self) -> String {
        self.boot_id.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_that_is_stopped_waits_a_moment_for_git_and_not_longer() {
        let stopping = Stopping::default();
        let stop = git_stop(&stopping);
        assert!(!stop.is_wanted());
        stopping.set(Instant::now().checked_sub(GIT_PATIENCE).unwrap()).unwrap();
        assert!(stop.is_wanted());
    }
}
