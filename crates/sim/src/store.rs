//! A store in memory that keeps the promises of the real one, and forgets at a crash what was not yet durable.
//!
//! Owns the durable data of a simulated world: events, content, snapshots, the epoch. It has no time: a commit becomes
//! durable in [`SimStore::settle_next`]. It has no threads and no files.

mod listing;

use envoi_contract::digest::Digest;
use envoi_journal::{
    Aside, BlobError, ClosedAccount, Commit, CommitError, Done, INLINE_MAX_BYTES, InboxFilter, InboxRow,
    Journal, Loaded, Note, PinnedFlow, ReadError, Receipt, RunFilter, RunRow, Snapshot,
};
use envoi_kernel::{Event, Record, ids::RunId};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The disk, as it were: outlives every engine. Clones are the same store.
#[derive(Debug, Clone, Default)]
pub struct SimStore {
    state: Arc<Mutex<State>>,
}

/// The store as one holder of the lease has it.
#[derive(Debug, Clone)]
pub struct SimJournal {
    epoch: u64,
    state: Arc<Mutex<State>>,
}

/// The fate of a commit on its way to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It becomes durable, if it can.
    Written,
    /// No room: nothing of it is there.
    Full,
    /// The machine failed, and nothing of it is there.
    LostUnknown,
    /// The machine failed after it had become durable.
    KeptUnknown,
}

#[derive(Default)]
struct State {
    epoch: u64,
    runs: BTreeMap<RunId, Stored>,
    /// Runs, oldest first.
    order: Vec<RunId>,
    blobs: BTreeMap<Digest, Vec<u8>>,
    /// Runs that are set aside.
    aside: BTreeMap<RunId, Aside>,
    /// Runs that ever were.
    ever_aside: BTreeSet<RunId>,
    /// Requests that are done without an event for it, by their runs.
    done: BTreeSet<(RunId, String)>,
    pending: VecDeque<Pending>,
}

struct Pending {
    epoch: u64,
    work: Work,
    done: Done,
}

enum Work {
    Commit(Box<Commit>),
    Note(Note),
}

impl Work {
    fn run(&self) -> &RunId {
        match self {
            Self::Commit(commit) => &commit.run,
            Self::Note(note) => note.run(),
        }
    }
}

#[derive(Debug, Clone)]
struct Stored {
    pinned: PinnedFlow,
    records: Vec<Record>,
    /// Bytes of each record.
    weights: Vec<u64>,
    snapshot: Option<Snapshot>,
}

impl Stored {
    /// The run is pinned to another flow; those before it are kept, each once.
    fn correct(&mut self, pinned: &PinnedFlow) {
        let before = core::mem::replace(&mut self.pinned, pinned.clone());
        let mut earlier = before.earlier.clone();
        earlier.push(PinnedFlow { earlier: Vec::new(), ..before });
        earlier.retain(|flow| (flow.digest, flow.language) != (pinned.digest, pinned.language));
        self.pinned.earlier = earlier;
    }
}

impl core::fmt::Debug for State {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("State").field("epoch", &self.epoch).field("runs", &self.order).finish_non_exhaustive()
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SimStore {
    /// A new holder; every earlier one is fenced from now on.
    #[must_use]
    pub fn take(&self) -> SimJournal {
        let mut state = lock(&self.state);
        state.epoch = state.epoch.saturating_add(1);
        SimJournal { epoch: state.epoch, state: Arc::clone(&self.state) }
    }

    /// The oldest commit of this holder meets its fate and is answered. Returns what became durable, if anything did;
    /// `None` when nothing waits.
    pub fn settle_next(&self, epoch: u64, fate: Fate) -> Option<(RunId, Vec<Record>)> {
        let (outcome, pending) = {
            let mut state = lock(&self.state);
            let place = state.pending.iter().position(|pending| pending.epoch == epoch)?;
            let pending = state.pending.remove(place)?;
            (state.write(&pending, fate), pending)
        };
        let durable = outcome.is_ok() || fate == Fate::KeptUnknown;
        (pending.done)(outcome);
        let run = pending.work.run().clone();
        let records = match pending.work {
            Work::Commit(commit) if durable => commit.records,
            Work::Commit(_) | Work::Note(_) => Vec::new(),
        };
        Some((run, records))
    }

    /// How many commits of this holder are not durable yet.
    #[must_use]
    pub fn waiting(&self, epoch: u64) -> usize {
        lock(&self.state).pending.iter().filter(|pending| pending.epoch == epoch).count()
    }

    /// The holder is gone, and with it all that was not durable. No `done` is called.
    pub fn forget(&self, epoch: u64) {
        lock(&self.state).pending.retain(|pending| pending.epoch != epoch);
    }

    /// Whether it is durable that the run is set aside.
    #[must_use]
    pub fn is_aside(&self, run: &RunId) -> bool {
        lock(&self.state).aside.contains_key(run)
    }

    /// Why it is.
    #[must_use]
    pub fn why_aside(&self, run: &RunId) -> Option<Aside> {
        lock(&self.state).aside.get(run).cloned()
    }

    /// Whether this request has found nothing more to do, durably.
    #[must_use]
    pub fn is_done(&self, run: &RunId, request: &str) -> bool {
        lock(&self.state).done.contains(&(run.clone(), request.to_owned()))
    }

    /// Whether it ever was.
    #[must_use]
    pub fn was_aside(&self, run: &RunId) -> bool {
        lock(&self.state).ever_aside.contains(run)
    }

    /// Whether these events of the run are durable, as they are.
    #[must_use]
    pub fn has(&self, run: &RunId, records: &[Record]) -> bool {
        let state = lock(&self.state);
        let durable = state.runs.get(run).map(|stored| stored.records.as_slice()).unwrap_or_default();
        records.iter().all(|record| durable.iter().rev().any(|known| known == record))
    }

    /// All events of a run, including those before its snapshot.
    #[must_use]
    pub fn records(&self, run: &RunId) -> Vec<Record> {
        lock(&self.state).runs.get(run).map(|stored| stored.records.clone()).unwrap_or_default()
    }
}

impl State {
    fn write(&mut self, pending: &Pending, fate: Fate) -> Result<Receipt, CommitError> {
        let failed = |unknown| CommitError::Io {
            source: Arc::new(io::Error::other("the simulated disk failed")),
            unknown,
        };
        match fate {
            Fate::Full => {
                Err(CommitError::Full { source: Arc::new(io::Error::other("the simulated disk is full")) })
            }
            Fate::LostUnknown => Err(failed(true)),
            Fate::KeptUnknown => self.insert(pending).and(Err(failed(true))),
            Fate::Written => self.insert(pending),
        }
    }

    fn insert(&mut self, pending: &Pending) -> Result<Receipt, CommitError> {
        if pending.epoch != self.epoch {
            return Err(CommitError::Fenced { ours: pending.epoch, current: self.epoch });
        }
        let commit = match &pending.work {
            Work::Commit(commit) => commit,
            Work::Note(note) => {
                self.keep(note);
                return Ok(Receipt { events_bytes: 0 });
            }
        };
        well_formed(commit)?;
        let next = self.runs.get(&commit.run).map_or(0, |stored| length(&stored.records));
        if next != commit.expected {
            return Err(CommitError::Conflict { expected: commit.expected, found: next });
        }
        let weights = commit.records.iter().map(weight).collect::<Result<Vec<u64>, _>>()?;
        let events_bytes = weights.iter().copied().fold(0, u64::saturating_add);
        self.append(commit, weights);
        Ok(Receipt { events_bytes })
    }

    fn keep(&mut self, note: &Note) {
        match note {
            Note::SetAside { run, aside, undone } if self.runs.contains_key(run) => {
                self.done.retain(|(of, request)| of != run || !undone.contains(request));
                self.aside.insert(run.clone(), aside.clone());
                self.ever_aside.insert(run.clone());
            }
            Note::TakeUp { run, requests, .. } => {
                self.aside.remove(run);
                self.done.extend(requests.iter().map(|request| (run.clone(), request.clone())));
            }
            Note::Done { run, request, .. } => {
                self.done.insert((run.clone(), request.clone()));
            }
            Note::SetAside { .. } | Note::Hold { .. } | Note::Release { .. } => {}
        }
    }

    fn append(&mut self, commit: &Commit, weights: Vec<u64>) {
        self.blobs.extend(commit.blobs.iter().cloned());
        match (self.runs.get_mut(&commit.run), &commit.pinned) {
            (Some(stored), pinned) => {
                if let Some(pinned) = pinned {
                    stored.correct(pinned);
                }
                stored.records.extend(commit.records.iter().cloned());
                stored.weights.extend(weights);
                stored.snapshot = commit.snapshot.clone().or(stored.snapshot.take());
            }
            (None, Some(pinned)) => {
                let stored = Stored {
                    pinned: pinned.clone(),
                    records: commit.records.clone(),
                    weights,
                    snapshot: commit.snapshot.clone(),
                };
                self.runs.insert(commit.run.clone(), stored);
                self.order.push(commit.run.clone());
            }
            // `well_formed` has refused it.
            (None, None) => {}
        }
    }
}

fn length(records: &[Record]) -> u64 {
    u64::try_from(records.len()).unwrap_or(u64::MAX)
}

fn weight(record: &Record) -> Result<u64, CommitError> {
    let body = record.event.kept().map_err(|error| malformed(&error.to_string()))?;
    Ok(u64::try_from(body.len()).unwrap_or(u64::MAX))
}

fn malformed(reason: &str) -> CommitError {
    CommitError::Malformed { reason: reason.to_owned() }
}

/// Refuses what no reader could understand.
fn well_formed(commit: &Commit) -> Result<(), CommitError> {
    let mut seqs = (commit.expected..).zip(&commit.records);
    if commit.records.is_empty() {
        return Err(malformed("no records"));
    }
    if seqs.clone().any(|(seq, record)| record.seq != seq) {
        return Err(malformed("records elsewhere"));
    }
    if seqs.any(|(seq, record)| (seq == 0) != matches!(record.event, Event::RunStarted(_))) {
        return Err(malformed("a start that is not the first event, or none"));
    }
    if commit.expected == 0 && commit.pinned.is_none() {
        return Err(malformed("a start without a flow"));
    }
    let last = commit.records.last().map(|record| record.seq);
    if commit.snapshot.as_ref().is_some_and(|snapshot| Some(snapshot.seq) > last) {
        return Err(malformed("a snapshot of a later record"));
    }
    let wrong =
        |(digest, bytes): &(Digest, Vec<u8>)| bytes.len() > INLINE_MAX_BYTES || Digest::of(bytes) != *digest;
    if commit.blobs.iter().any(wrong) {
        return Err(malformed("content that is too large, or not what its digest says"));
    }
    Ok(())
}

impl SimJournal {
    /// The holder's number.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Hands a note over, as a commit is.
    pub fn note(&self, note: Note, done: Done) {
        let work = Work::Note(note);
        lock(&self.state).pending.push_back(Pending { epoch: self.epoch, work, done });
    }

    /// The place of the next event of a run.
    #[must_use]
    pub fn next_seq(&self, run: &RunId) -> u64 {
        lock(&self.state).runs.get(run).map_or(0, |stored| length(&stored.records))
    }
}

impl Journal for SimJournal {
    fn submit(&self, commit: Commit, done: Done) {
        let work = Work::Commit(Box::new(commit));
        lock(&self.state).pending.push_back(Pending { epoch: self.epoch, work, done });
    }

    fn put(&self, bytes: &[u8]) -> Result<Digest, BlobError> {
        let digest = Digest::of(bytes);
        lock(&self.state).blobs.insert(digest, bytes.to_vec());
        Ok(digest)
    }

    fn blob(&self, digest: &Digest) -> Result<Vec<u8>, BlobError> {
        if *digest == Digest::of(b"") {
            return Ok(Vec::new());
        }
        lock(&self.state).blobs.get(digest).cloned().ok_or(BlobError::Missing { digest: *digest })
    }

    fn load(&self, run: &RunId) -> Result<Loaded, ReadError> {
        let state = lock(&self.state);
        let stored = state
            .runs
            .get(run)
            .ok_or_else(|| ReadError::Missing { what: "run", id: run.to_string() })?
            .clone();
        let covered = stored.snapshot.as_ref().map_or(0, |snapshot| snapshot.seq.saturating_add(1));
        let covered = usize::try_from(covered).unwrap_or(usize::MAX);
        Ok(Loaded {
            pinned: stored.pinned,
            snapshot: stored.snapshot,
            records: stored.records.into_iter().skip(covered).collect(),
            tail_bytes: stored.weights.into_iter().skip(covered).fold(0, u64::saturating_add),
        })
    }

    fn runs(&self, filter: RunFilter) -> Result<Vec<RunRow>, ReadError> {
        let state = lock(&self.state);
        let newest_first = state.order.iter().rev().filter_map(|run| Some((run, state.runs.get(run)?)));
        let rows = newest_first.filter_map(|(run, stored)| listing::row(run, &stored.records));
        let wanted = rows.filter(|row| !filter.unfinished || row.ended.is_none());
        let limit = filter.limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
        Ok(wanted.take(limit).collect())
    }

    fn inbox(&self, filter: &InboxFilter) -> Result<Vec<InboxRow>, ReadError> {
        let state = lock(&self.state);
        if let Some(run) = &filter.run
            && !state.runs.contains_key(run)
        {
            return Err(ReadError::Missing { what: "run", id: run.to_string() });
        }
        let wanted =
            state.runs.iter().filter(|(run, _)| filter.run.as_ref().is_none_or(|wanted| wanted == *run));
        let mut rows: Vec<_> =
            wanted.flat_map(|(run, stored)| listing::questions(run, &stored.records)).collect();
        rows.retain(|row| filter.closed || row.state == envoi_journal::InterruptState::Open);
        rows.sort_by(|a, b| (a.raised_at, &a.interrupt).cmp(&(b.raised_at, &b.interrupt)));
        Ok(rows)
    }

    fn closed_accounts(&self) -> Result<Vec<ClosedAccount>, ReadError> {
        let state = lock(&self.state);
        Ok(listing::closed(state.runs.values().map(|stored| stored.records.as_slice())))
    }
}

#[cfg(test)]
mod tests;
