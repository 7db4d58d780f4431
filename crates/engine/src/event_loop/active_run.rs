//! A run in the loop: its state, the requests that wait for it, and its work in progress.
//!
//! Owns when a snapshot is due.

use super::snapshots::{Snapshots, Writing};
use crate::model::{
    claim::Claim,
    clock::{Now, Pace},
    message::{Corrected, Reply},
    runner::{Caller, CallingAttempt, Job},
    trouble::Trouble,
};
use envoi_contract::{digest::Digest, time::Timestamp};
use envoi_journal::{Commit, Delivery, PinnedFlow, Snapshot};
use envoi_kernel::{
    Event, Input, Record, Run, Status,
    event::{AttemptStarted, Command},
    ids::{AttemptId, RunId},
};
use std::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
};

/// Below this size of events a snapshot is not worth its cost, however small the state: reading them takes
/// only milliseconds.
pub(crate) const SNAPSHOT_FROM_BYTES: u64 = 256 * 1024;

/// A run in the loop.
pub(crate) struct Active {
    pub(crate) run: Run,
    /// Its claim on the file system; known before its first event is durable.
    pub(crate) claim: Claim,
    pub(crate) caller: Arc<Caller>,
    /// The attempts that wait for this run, the nearest first.
    pub(crate) within: Vec<CallingAttempt>,
    /// Its tenant: tenants take turns.
    pub(crate) tenant: Arc<str>,
    /// Stored with the first commit.
    pub(crate) pinned: Option<PinnedFlow>,
    pub(crate) requests: VecDeque<Request>,
    /// The commit in progress. At most one, because the next decision needs its outcome.
    pub(crate) in_flight: Option<InFlight>,
    /// Attempts that the runner has.
    pub(crate) live: BTreeSet<AttemptId>,
    /// The live attempts that are being cancelled.
    pub(crate) cancelled: BTreeSet<AttemptId>,
    /// Whether the last decision may have ended at the kernel's limit of moves, so that more may follow
    /// without a slot. Begins as true, because it is not known for decisions of an earlier engine.
    pub(crate) cut_short: bool,
    /// Only requests are decided ([`crate::model::message::Purpose::Decide`]).
    pub(crate) halted: bool,
    /// Whether it may work in its workspace: no other run was at work there when it began, continued, or left
    /// its rest.
    pub(crate) inside: bool,
    /// The trouble that was found while a commit was in progress.
    pub(crate) trouble: Option<Trouble>,
    pace: Pace,
    /// Size of the events since the last snapshot, in bytes.
    unsaved_bytes: u64,
    /// Size of events at which a snapshot is due: the size of the last snapshot, but at least
    /// [`SNAPSHOT_FROM_BYTES`].
    snapshot_from_bytes: u64,
    state_bytes: u64,
    /// The snapshot that is being written.
    snapshot: Option<Writing>,
}

/// An input for a run.
pub(crate) struct Request {
    pub(crate) input: Input,
    pub(crate) blobs: Vec<(Digest, Vec<u8>)>,
    /// The corrected flow, if the input is a correction.
    pub(crate) corrected: Option<Corrected>,
    pub(crate) reply: Option<Reply>,
}

impl Request {
    pub(crate) fn of(input: Input) -> Self {
        Self { input, blobs: Vec::new(), corrected: None, reply: None }
    }
}

/// A commit that has been submitted.
pub(crate) struct InFlight {
    pub(crate) records: Vec<Record>,
    /// Whether a slot is reserved for a start among its events.
    pub(crate) slot: bool,
    pub(crate) reply: Option<Reply>,
}

impl Active {
    pub(crate) fn new(run: Run, claim: Claim, caller: Arc<Caller>, tenant: &str) -> Self {
        let within = caller.within.clone();
        Self {
            run,
            claim,
            caller,
            within,
            tenant: Arc::from(tenant),
            pinned: None,
            requests: VecDeque::new(),
            in_flight: None,
            live: BTreeSet::new(),
            cancelled: BTreeSet::new(),
            cut_short: true,
            halted: false,
            inside: true,
            trouble: None,
            pace: Pace::default(),
            unsaved_bytes: 0,
            snapshot_from_bytes: SNAPSHOT_FROM_BYTES,
            state_bytes: SNAPSHOT_FROM_BYTES,
            snapshot: None,
        }
    }

    /// For a new run: the flow that it is pinned to.
    pub(crate) fn pinned_to(mut self, pinned: PinnedFlow) -> Self {
        self.pinned = Some(pinned);
        self
    }

    /// Has the first snapshot taken when the events weigh more than this.
    pub(crate) fn snapshots_from(mut self, bytes: u64) -> Self {
        (self.snapshot_from_bytes, self.state_bytes) = (bytes, bytes);
        self
    }

    /// For a run from the journal: the bytes of its events since its last snapshot.
    pub(crate) fn weighing(mut self, tail_bytes: u64) -> Self {
        self.unsaved_bytes = tail_bytes;
        self
    }

    /// Whether the engine works on it, or is about to: it has begun, and is neither at rest nor halted.
    pub(crate) fn is_at_work(&self) -> bool {
        let begins = self.run.started().is_none();
        !self.live.is_empty() || (!self.halted && (begins || self.run.status() == Status::Running))
    }

    /// Whether the run will be at rest once the loop knows the result of the commit in progress. `loaded` is
    /// the run as the journal has it now. A commit is in the journal before the loop receives its result, so
    /// a client can see a run at rest that still counts as running in the loop.
    pub(crate) fn comes_to_rest(&self, loaded: &Run) -> bool {
        let under_way = self.in_flight.as_ref().map_or(0, |commit| commit.records.len() as u64);
        let is_all_known = loaded.next_seq() == self.run.next_seq().saturating_add(under_way);
        is_all_known && loaded.status() != Status::Running && self.requests.is_empty() && self.live.is_empty()
    }

    /// The time of the run, used for its decisions and its timers.
    pub(crate) fn time(&mut self, now: Now) -> Timestamp {
        self.pace.read(self.run.last_at(), now)
    }

    /// The commit of these records, with the attachments to store beside them.
    pub(crate) fn commit(
        &mut self,
        id: &RunId,
        records: &[Record],
        blobs: Vec<(Digest, Vec<u8>)>,
        deliveries: Vec<Delivery>,
        snapshots: &mut Snapshots,
    ) -> Commit {
        Commit {
            run: id.clone(),
            expected: self.run.next_seq(),
            records: records.to_vec(),
            pinned: self.pinned.take(),
            blobs,
            deliveries,
            snapshot: self.due_snapshot(snapshots),
        }
    }

    /// A snapshot is due when the events since the last one are larger than the state. So storage grows
    /// linearly with the events, and loading reads at most about twice the state. The snapshot has the
    /// present durable state. It is written by another thread, and goes to the journal with the first commit
    /// after that.
    fn due_snapshot(&mut self, snapshots: &mut Snapshots) -> Option<Snapshot> {
        if self.snapshot.is_none() && self.unsaved_bytes > self.state_bytes {
            self.snapshot = snapshots.begin(&self.run);
            self.unsaved_bytes = 0;
        }
        let written = self.snapshot.as_ref()?.written()?;
        self.snapshot = None;
        // Without a snapshot, loading only reads more events.
        let snapshot = written.ok()?;
        self.state_bytes =
            u64::try_from(snapshot.state.len()).unwrap_or(u64::MAX).max(self.snapshot_from_bytes);
        Some(snapshot)
    }

    /// Counts what has been stored since the last snapshot.
    pub(crate) fn after_commit(&mut self, events_bytes: u64) {
        self.unsaved_bytes = self.unsaved_bytes.saturating_add(events_bytes);
    }

    /// The job of a live attempt, for the runner.
    pub(crate) fn job(&self, id: &RunId, attempt: &AttemptId, is_new: bool) -> Option<Job> {
        let job = self.job_of(id, Arc::clone(self.run.attempt(attempt)?))?;
        Some(Job { is_new, ..job })
    }

    /// The last attempts of visits without a running attempt whose agents' tasks may still go on: the agent
    /// asks, or contact was lost.
    pub(crate) fn talks_left_alone(&self, id: &RunId) -> Vec<Job> {
        let alone = self.run.talks().filter(|started| !self.run.is_live(&started.attempt));
        alone.filter_map(|started| self.job_of(id, Arc::clone(started))).collect()
    }

    /// A live attempt whose agent's task may go on although this event ends the attempt.
    pub(crate) fn talk_left_by(&self, id: &RunId, event: &Event) -> Option<Job> {
        let Event::AttemptSettled(settled) = event else { return None };
        let started = self.run.attempt(&settled.attempt).filter(|_| settled.leaves_a_talk())?;
        let talks = matches!(started.command, Command::A2a(_));
        if talks { self.job_of(id, Arc::clone(started)) } else { None }
    }

    /// Whether the visit of an attempt still waits for the outcome of its agent's task.
    pub(crate) fn waits_for(&self, job: &Job) -> bool {
        self.run.talks().any(|started| started.attempt.visit == job.started.attempt.visit)
    }

    fn job_of(&self, id: &RunId, started: Arc<AttemptStarted>) -> Option<Job> {
        let job = Job::of(&self.run, started, Arc::clone(&self.caller))?;
        Some(Job { run: id.clone(), within: self.within.clone(), ..job })
    }
}
