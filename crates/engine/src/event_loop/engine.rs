//! The one loop: read, decide, commit, reconcile.
//!
//! The kernel owns the decisions about a run, and the journal owns durable data. The loop passes inputs to
//! runs one at a time, commits their events, and only then applies them, shows them and starts the work that
//! they require. It compares the state that a run requires with the real state, and closes the gap. Starting
//! after a crash is just the first turn of the same loop. Clock, log, runner and observer are arguments, so
//! that the same code runs in simulation.

mod adopt;
mod assign;
mod commit;
mod decide;
mod notes;
mod reconcile;
mod set_aside;
mod slots;

use crate::{
    event_loop::{
        accounts::Accounts,
        active_run::{Request, SNAPSHOT_FROM_BYTES},
        alarms::Alarms,
        changing::Changing,
        held_runs::HeldRuns,
        outbox::Outbox,
        snapshots::Snapshots,
    },
    model::{
        clock::Now,
        message::{EngineError, Message},
        runner::{Clock, Log, Observer, Runner},
        trouble::guarded,
    },
};
use envoi_journal::ClosedAccount;
use envoi_kernel::{
    Run,
    ids::{CallId, RunId},
};
use notes::DoneSoon;
use set_aside::{Left, SetAside};
use slots::Slots;
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// The world around the loop.
pub struct World {
    /// The time.
    pub clock: Box<dyn Clock>,
    /// The target of commits.
    pub log: Box<dyn Log>,
    /// Runs the attempts.
    pub runner: Box<dyn Runner>,
    /// Learns of commits.
    pub observer: Box<dyn Observer>,
}

/// The event loop.
pub struct Engine {
    world: World,
    runs: HeldRuns,
    /// Folders in which files are being restored or applied, by the run of the request.
    changing: Changing,
    /// Runs that are set aside, until they are tried again.
    aside: BTreeMap<RunId, SetAside>,
    /// Requests that are answered once their note is durable.
    done_soon: Vec<DoneSoon>,
    /// Attempts of runs that were set aside and still run.
    left: Left,
    /// Calls of models that have begun through this engine and are not known to be over.
    calls: BTreeSet<CallId>,
    slots: Slots,
    /// Accounts of agent programs that have refused an attempt.
    accounts: Accounts,
    /// The earliest timer of each run that has one.
    timers: Alarms,
    /// The next expiry of a question, for each run.
    expiries: Alarms,
    commits_under_way: usize,
    draining: bool,
    stopped: Option<EngineError>,
    /// The targets of notices for all runs, and of each flow.
    outbox: Outbox,
    /// Size of a run's events below which no snapshot is due.
    snapshot_from_bytes: u64,
    snapshots: Snapshots,
}

impl Engine {
    /// A loop that holds no run. At most `jobs` attempts run at once, at least one.
    #[must_use]
    pub fn new(world: World, jobs: usize) -> Self {
        Self {
            world,
            runs: HeldRuns::default(),
            changing: Changing::default(),
            aside: BTreeMap::new(),
            done_soon: Vec::new(),
            left: Left::new(),
            calls: BTreeSet::new(),
            slots: Slots::new(jobs),
            accounts: Accounts::default(),
            timers: Alarms::default(),
            expiries: Alarms::default(),
            commits_under_way: 0,
            draining: false,
            stopped: None,
            outbox: Outbox::default(),
            snapshot_from_bytes: SNAPSHOT_FROM_BYTES,
            snapshots: Snapshots::default(),
        }
    }

    /// Takes snapshots of runs whose events are larger than this, instead of 256 KiB, and writes them within
    /// the loop. For simulations, which must not depend on other threads.
    #[must_use]
    pub fn with_snapshots_within_loop(mut self, from_bytes: u64) -> Self {
        self.snapshot_from_bytes = from_bytes;
        self.snapshots = Snapshots::within_loop();
        self
    }

    /// Begins with these accounts closed.
    #[must_use]
    pub fn with_closed(mut self, closed: Vec<ClosedAccount>) -> Self {
        let now = self.clocks();
        self.accounts.restore(closed, now);
        self
    }

    /// Sends notices of every run to these targets as well.
    #[must_use]
    pub(crate) fn with_outbox(mut self, outbox: Outbox) -> Self {
        self.outbox = outbox;
        self
    }

    /// Handles one message and everything that follows from it. Has no effect after [`Engine::stopped`].
    pub fn handle(&mut self, message: Message) {
        if let Some(error) = &self.stopped {
            refuse(message, error.clone());
            return;
        }
        match message {
            Message::Begin(begin) => self.begin(*begin),
            Message::Fork(branch) => self.fork(*branch),
            Message::Adopt(adopt) => self.adopt(*adopt),
            Message::MayBegin { within, reply } => reply(self.may_begin(&within)),
            Message::Input { run, input, reply } => self.input(run, *input, reply),
            Message::IsLive { run, attempt, reply } => {
                reply(self.runs.get(&run).map(|active| active.run.is_live(&attempt)));
            }
            Message::Committed { run, result } => self.committed(&run, result),
            Message::Settled { run, attempt, settlement } => self.settled(&run, &attempt, settlement),
            Message::Noted { note, result } => self.noted(note, result),
            Message::Troubled { run, trouble } => self.troubled(&run, trouble),
            Message::Unloadable { run, trouble, reply } => self.refuse_to_load(&run, &trouble, reply),
            Message::Wake => self.wake(),
            Message::Drain => self.draining = true,
        }
        self.serve_waiting();
    }

    /// Time until [`Message::Wake`] is due.
    #[must_use]
    pub fn wakes_in(&self) -> Option<Duration> {
        if self.draining {
            return None;
        }
        let now = self.clocks();
        let next = [self.timers.next_in_ms(now), self.expiries.next_in_ms(now)].into_iter().flatten().min();
        next.map(Duration::from_millis)
    }

    fn clocks(&self) -> Now {
        Now { wall: self.world.clock.now(), steady_ms: self.world.clock.steady_ms() }
    }

    /// Attempts that are live or about to be.
    #[must_use]
    pub fn live(&self) -> usize {
        self.slots.used()
    }

    /// Whether nothing more happens without a request, except expiries of questions: no attempt is live, no
    /// commit is in progress, no timer is set and no visit can start. A question that waits for a month does
    /// not keep an engine running; the next engine applies its expiry.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let nothing_due = self.draining || (self.timers.is_empty() && !self.slots.is_awaited());
        self.slots.used() == 0 && self.commits_under_way == 0 && nothing_due
    }

    /// Whether nothing new is started.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.draining
    }

    /// Why the loop has stopped: the store failed, or another engine has taken over.
    #[must_use]
    pub fn stopped(&self) -> Option<&EngineError> {
        self.stopped.as_ref()
    }

    /// The run, if this engine holds it.
    #[must_use]
    pub fn run(&self, id: &RunId) -> Option<&Run> {
        self.runs.get(id).map(|active| &active.run)
    }

    /// Runs that this engine holds.
    pub fn runs(&self) -> impl Iterator<Item = (&RunId, &Run)> {
        self.runs.iter().map(|(id, active)| (id, &active.run))
    }

    fn push(&mut self, id: &RunId, request: Request) {
        if let Some(active) = self.runs.get_mut(id) {
            active.requests.push_back(request);
        }
        self.turn(id);
    }

    /// A turn of a run: handles the next request; if there is none, closes the gap between the required and
    /// the real state.
    fn turn(&mut self, id: &RunId) {
        while self.stopped.is_none() {
            let Some(active) = self.runs.get_mut(id) else { return };
            if active.in_flight.is_some() {
                return;
            }
            let request = match active.requests.pop_front() {
                Some(request) => request,
                None => match guarded("what the run wants", || self.reconcile(id)).flatten() {
                    Ok(Some(request)) => request,
                    Ok(None) => return self.leave_at_rest(id),
                    Err(trouble) => return self.set_aside(id, trouble),
                },
            };
            self.decide(id, request);
        }
    }

    fn stop(&mut self, error: EngineError) {
        self.stopped = Some(error);
    }
}

fn refuse(message: Message, error: EngineError) {
    match message {
        Message::Begin(begin) => (begin.reply)(Err(error)),
        Message::Fork(branch) => (branch.reply)(Err(error)),
        Message::Adopt(adopt) => (adopt.reply)(Err(error)),
        Message::MayBegin { reply, .. }
        | Message::Input { reply, .. }
        | Message::Unloadable { reply, .. } => reply(Err(error)),
        Message::IsLive { reply, .. } => reply(None),
        Message::Committed { .. }
        | Message::Settled { .. }
        | Message::Noted { .. }
        | Message::Troubled { .. }
        | Message::Wake
        | Message::Drain => {}
    }
}

#[cfg(test)]
mod tests;
