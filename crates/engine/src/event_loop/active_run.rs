//! A run in the loop: its state, what waits for it, and what of it is under way.
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

/// Events lighter than this are not worth a snapshot, however small the state: so many are read in some milliseconds.
pub(crate) const SNAPSHOT_FROM_BYTES: u64 = 256 * 1024;

/// See the module.
pub(crate) struct Active {
    pub(crate) run: Run,
    /// What it claims; known before its first event is durable.
    pub(crate) claim: Claim,
    pub(crate) caller: Arc<Caller>,
    /// The attempts that wait for this run, the nearest first.
    pub(crate) within: Vec<CallingAttempt>,
    /// Whose run it is: tenants take turns.
    pub(crate) tenant: Arc<str>,
    /// Stored with the first commit.
    pub(crate) pinned: Option<PinnedFlow>,
    pub(crate) requests: VecDeque<Request>,
    /// At most one: the next decision needs the outcome of this one.
    pub(crate) in_flight: Option<InFlight>,
    /// Attempts that the runner has.
    pub(crate) live: BTreeSet<AttemptId>,
    /// Those of them that are being cancelled.
    pub(crate) cancelled: BTreeSet<AttemptId>,
    /// The last decision may have ended at the kernel's bound of moves: more may follow that needs no slot. Of one before this engine that is
    /// not known, so it begins as true.
    pub(crate) cut_short: bool,
    /// Only requests are decided ([`crate::model::message::Purpose::Decide`]).
    pub(crate) halted: bool,
    /// It may work in its workspace: no other run was at work there when it began, went on, or left its rest.
    pub(crate) inside: bool,
    /// What was found wrong with it while a commit was under way.
    pub(crate) trouble: Option<Trouble>,
    pace: Pace,
    /// Weight of the events since the last snapshot.
    unsaved_bytes: u64,
    /// The weight of events that makes a snapshot due: that of the last one, and no less than this.
    snapshot_from_bytes: u64,
    state_bytes: u64,
    /// The one that is being written.
    snapshot: Option<Writing>,
}

/// An input for a run.
pub(crate) struct Request {
    pub(crate) input: Input,
    pub(crate) blobs: Vec<(Digest, Vec<u8>)>,
    /// The corrected flow that the input is about.
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
    /// Whether a slot is kept for a start among them.
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

    /// Whether something is done for it now, or is about to be: it has begun, is neither at rest nor halted.
    pub(crate) fn is_at_work(&self) -> bool {
        let begins = self.run.started().is_none();
        !self.live.is_empty() || (!self.halted && (begins || self.run.status() == Status::Running))
    }

    /// Whether the run rests once the commit under way is known here. `loaded` is the run as the journal has it now. A commit is in the
    /// journal before the loop receives its result, so a client can see a run at rest that the loop still takes for running.
    pub(crate) fn comes_to_rest(&self, loaded: &Run) -> bool {
        let under_way = self.in_flight.as_ref().map_or(0, |commit| commit.records.len() as u64);
        let is_all_known = loaded.next_seq() == self.run.next_seq().saturating_add(under_way);
        is_all_known && loaded.status() != Status::Running && self.requests.is_empty() && self.live.is_empty()
    }

    /// The time of the run: what it decides with, and by which it is due.
    pub(crate) fn time(&mut self, now: Now) -> Timestamp {
        self.pace.read(self.run.last_at(), now)
    }

    /// The commit of these records, with what is to be stored beside them.
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

    /// A snapshot is due when the events since the last one weigh more than the state. So storage stays linear in the
    /// events, and loading reads at most about twice the state. It is of the state that is durable now, is written beside the loop, and goes
    /// to the journal with the first commit after that.
    fn due_snapshot(&mut self, snapshots: &mut Snapshots) -> Option<Snapshot> {
        if self.snapshot.is_none() && self.unsaved_bytes > self.state_bytes {
            self.snapshot = snapshots.begin(&self.run);
            self.unsaved_bytes = 0;
        }
        let written = self.snapshot.as_ref()?.written()?;
        self.snapshot = None;
        // Without one, loading reads more events.
        let snapshot = written.ok()?;
        self.state_bytes =
            u64::try_from(snapshot.state.len()).unwrap_or(u64::MAX).max(self.snapshot_from_bytes);
        Some(snapshot)
    }

    /// Counts what has been stored since the last snapshot.
    pub(crate) fn after_commit(&mut self, events_bytes: u64) {
        self.unsaved_bytes = self.unsaved_bytes.saturating_add(events_bytes);
    }

    /// What the runner needs to know of a live attempt.
    pub(crate) fn job(&self, id: &RunId, attempt: &AttemptId, is_new: bool) -> Option<Job> {
        let job = self.job_of(id, Arc::clone(self.run.attempt(attempt)?))?;
        Some(Job { is_new, ..job })
    }

    /// The last attempts of visits that no attempt is at work on, and whose agents' tasks may go on all the same: those ask, or
    /// have been lost sight of.
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

    /// Whether the visit of an attempt still waits for what becomes of its agent's task.
    pub(crate) fn waits_for(&self, job: &Job) -> bool {
        self.run.talks().any(|started| started.attempt.visit == job.started.attempt.visit)
    }

    fn job_of(&self, id: &RunId, started: Arc<AttemptStarted>) -> Option<Job> {
        let job = Job::of(&self.run, started, Arc::clone(&self.caller))?;
        Some(Job { run: id.clone(), within: self.within.clone(), ..job })
    }
}
