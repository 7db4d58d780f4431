//! The runs of a cluster in a store of this machine: their commits, in the schema of the local engine.
//!
//! Owns the order: commits arrive in any order and more than once, and are applied without a gap. A commit is
//! put into the shared contents before it counts as accepted. So an early one is not lost, and every machine
//! finds all of them there. The contents that its events name are copied into the store with it.

use crate::shared::{KeptCommit, SharedContents};
use envoi_cluster::{
    Message,
    message::{Commit, ToRun},
    wire::Posted,
};
use envoi_contract::digest::Digest;
use envoi_engine::{FileProjector, Followers, Watcher, load_run};
use envoi_journal::{
    BlobError, CommitError, INLINE_MAX_BYTES, PinnedFlow, ReadError, Reader, RunFilter, Store, Writer,
    digests, with_causes,
};
use envoi_kernel::{
    Event, Record, Run, Status,
    event::RunStarted,
    files::{Changed, Many},
    ids::{RunId, Seq},
};
use envoi_restate::{Contents as _, FlowName, Unavailable};
use envoi_step::Starts;
use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// A copy of the cluster's runs. Only the process that has it writes to its store.
pub struct Replica {
    shared: SharedContents,
    store: Arc<Store>,
    followers: Followers,
    print_line: fn(&str),
    state: Mutex<State>,
}

struct State {
    writer: Writer,
    reader: Reader,
    projector: FileProjector,
    /// Runs that have not ended, in the state of the store.
    runs: BTreeMap<RunId, Run>,
}

/// The store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ReplicaError {
    /// A write failed: the store did not take a new epoch, or has no writer.
    #[error("the store failed: {0}")]
    Commit(#[from] CommitError),
    /// It cannot be read.
    #[error("{}", with_causes(.0))]
    Read(#[from] ReadError),
    /// The store cannot be marked as a replica.
    #[error("`{}` cannot be written: {source}", path.display())]
    Mark {
        /// Path of the mark.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The store has runs of its own engine.
    #[error("the store has runs of this machine: a cluster needs a folder of its own")]
    Own,
}

impl Replica {
    /// Opens a replica in this store. The process must hold the store's lock.
    ///
    /// # Errors
    /// [`ReplicaError`].
    pub fn open(
        store: &Arc<Store>,
        shared: SharedContents,
        print_line: fn(&str),
    ) -> Result<Self, ReplicaError> {
        mark(store)?;
        let epoch = store.take_epoch()?;
        let followers = Followers::default();
        let layout = store.layout().clone();
        let projector = FileProjector::new(layout, store.reader()?, epoch, followers.clone());
        let state =
            State { writer: store.writer(epoch)?, reader: store.reader()?, projector, runs: BTreeMap::new() };
        Ok(Self { shared, store: Arc::clone(store), followers, print_line, state: Mutex::new(state) })
    }

    /// The store of the replica.
    #[must_use]
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// From now on calls `watcher` with every commit.
    pub fn watch(&self, watcher: Watcher) {
        self.followers.watch(watcher);
    }

    /// Applies all commits of a run that are in the shared contents.
    ///
    /// # Errors
    /// [`Unavailable`]: some may not be applied yet.
    pub fn advance(&self, id: &RunId) -> Result<(), Unavailable> {
        self.advance_in(&mut self.lock(), id)
    }

    /// Applies the run's commits, and calls `look` with the run. `None`: the shared contents do not have the
    /// run yet.
    ///
    /// # Errors
    /// [`Unavailable`]: the state of the run is not known.
    pub fn with_run<T>(&self, id: &RunId, look: impl FnOnce(&Run) -> T) -> Result<Option<T>, Unavailable> {
        let mut state = self.lock();
        self.advance_in(&mut state, id)?;
        if let Some(run) = state.runs.get(id) {
            return Ok(Some(look(run)));
        }
        if next_seq(&state.reader, id)? == 0 {
            return Ok(None);
        }
        loaded(&state.reader, id).map(|run| Some(look(&run)))
    }

    /// Copies the contents that a message names from this machine's store to the shared contents. When this
    /// returns, the message may be sent.
    ///
    /// # Errors
    /// [`Unavailable`]: it must not be sent yet.
    pub fn share(&self, posted: &Posted) -> Result<(), Unavailable> {
        self.share_with(posted, || {})
    }

    /// Like [`Self::share`]. It may take long, so `between` is called before each content.
    pub(crate) fn share_with(&self, posted: &Posted, mut between: impl FnMut()) -> Result<(), Unavailable> {
        let text = posted.clone().written().map_err(|error| unavailable(&error))?.text;
        let mut named = BTreeSet::new();
        digests(text.as_bytes(), &mut named);
        let reader = self.store.reader().map_err(|error| unavailable(&with_causes(&error)))?;
        for list in lists_of(&posted.message) {
            let bytes = reader.blob(&list).map_err(|error| unavailable(&error))?;
            digests(&bytes, &mut named);
        }
        for digest in named {
            match reader.blob(&digest) {
                Ok(bytes) => {
                    between();
                    self.shared.keep(&bytes)?;
                }
                // The digest is not of a content, or the content came with the message and was not in any
                // store before.
                Err(BlobError::Missing { .. }) => {}
                Err(error) => return Err(unavailable(&error)),
            }
        }
        Ok(())
    }

    fn advance_in(&self, state: &mut State, id: &RunId) -> Result<(), Unavailable> {
        let mut next = next_seq(&state.reader, id)?;
        while let Some(commit) = self.shared.commit(id, next)? {
            next = next.saturating_add(u64::try_from(commit.records.len()).unwrap_or(u64::MAX));
            self.apply(state, id, &commit)?;
        }
        Ok(())
    }

    fn apply(&self, state: &mut State, id: &RunId, commit: &KeptCommit) -> Result<(), Unavailable> {
        let KeptCommit { records, text } = commit;
        let Some(first) = records.first() else { return Ok(()) };
        let expected = first.seq;
        let known = state.runs.remove(id);
        let (mut run, pinned) = match (known, &first.event) {
            (Some(run), _) => (run, None),
            (None, Event::RunStarted(started)) => {
                let (run, pinned) = self.begun(started)?;
                (run, Some(pinned))
            }
            (None, _) => (loaded(&state.reader, id)?, None),
        };
        let blobs = self.bring(&state.reader, records, text)?;
        let commit = envoi_journal::Commit {
            run: id.clone(),
            expected,
            records: records.clone(),
            pinned,
            blobs,
            deliveries: Vec::new(),
            snapshot: None,
        };
        state.writer.commit(commit).map_err(|error| unavailable(&error))?;
        for record in records {
            run.apply(record).map_err(|error| unavailable(&format!("run `{id}`: {error}")))?;
        }
        if let Err(error) = envoi_engine::Observer::committed(&mut state.projector, &run, records) {
            // The events are stored. Files that a step needs are written again before it starts.
            (self.print_line)(&format!("files of run {id} cannot be written: {error}"));
        }
        if !matches!(run.status(), Status::Ended(_)) {
            state.runs.insert(id.clone(), run);
        }
        Ok(())
    }

    /// A run before its first event, and the text of its flow.
    fn begun(&self, started: &RunStarted) -> Result<(Run, PinnedFlow), Unavailable> {
        let name = FlowName { digest: started.flow_digest.to_string(), language: started.language };
        let missing = || unavailable(&format!("the flow {name} of run `{}` is not there", started.run));
        let pinned = self.shared.pinned(&name)?.ok_or_else(missing)?;
        let flow = self.shared.flow(&name)?.ok_or_else(missing)?;
        // From the first event on, a missing list of attempts was removed.
        Starts::of(&self.store.layout().run(&started.run)).begin().map_err(|error| unavailable(&error))?;
        Ok((Run::new(flow), pinned))
    }

    /// Copies the contents that these events name and the store does not have. Small ones are returned, for
    /// the commit. A digest that the shared contents do not have is not that of a content: for example, that
    /// of a flow.
    fn bring(
        &self,
        reader: &Reader,
        records: &[Record],
        text: &[u8],
    ) -> Result<Vec<(Digest, Vec<u8>)>, Unavailable> {
        let lists: BTreeSet<Digest> = records.iter().filter_map(list_of_files).collect();
        let mut named = BTreeSet::new();
        digests(text, &mut named);
        let mut left: Vec<Digest> = named.iter().copied().collect();
        let mut small = Vec::new();
        while let Some(digest) = left.pop() {
            if reader.blob_size_bytes(&digest).is_ok() && !lists.contains(&digest) {
                continue;
            }
            let Some(bytes) = self.shared.content(&digest)? else { continue };
            if lists.contains(&digest) {
                let mut listed = BTreeSet::new();
                digests(&bytes, &mut listed);
                left.extend(listed.into_iter().filter(|digest| named.insert(*digest)));
            }
            if bytes.len() <= INLINE_MAX_BYTES {
                small.push((digest, bytes));
            } else {
                self.store.blobs().put(&bytes).map_err(|error| unavailable(&error))?;
            }
        }
        Ok(small)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl envoi_restate::Replica for Replica {
    fn put(&self, commit: Commit) -> Result<(), Unavailable> {
        let run = commit.run.clone();
        self.shared.keep_commit(commit)?;
        self.advance(&run)
    }
}

/// Marks the store, so that no engine continues its runs.
fn mark(store: &Store) -> Result<(), ReplicaError> {
    let path = store.layout().replica_mark();
    if path.symlink_metadata().is_ok() {
        return Ok(());
    }
    let any = RunFilter { unfinished: false, limit: Some(1) };
    if !store.reader()?.runs(any)?.is_empty() {
        return Err(ReplicaError::Own);
    }
    // False: another process was first.
    match envoi_durable::write_new(
        &path,
        b"The runs of this store are decided in a cluster: docs/cluster.md\n",
    ) {
        Ok(_) => Ok(()),
        Err(source) => Err(ReplicaError::Mark { path, source }),
    }
}

/// The contents that list a result's files, if those are too many for a message.
fn lists_of(message: &Message) -> Vec<Digest> {
    let Message::Run(_, ToRun::Settled { result, .. }) = message else { return Vec::new() };
    let changed = |many: &Many| match &many.changed {
        Changed::Manifest(manifest) => Some(manifest.list.digest),
        Changed::Listed(_) => None,
    };
    let lists = |many: &Many| core::iter::once(many.all.list.digest).chain(changed(many));
    result.manifest.iter().flat_map(lists).collect()
}

/// The content that lists a result's files, if those are too many for its event.
fn list_of_files(record: &Record) -> Option<Digest> {
    match &record.event {
        Event::AttemptSettled(settled) => settled.manifest.as_ref().map(|manifest| manifest.list.digest),
        _ => None,
    }
}

fn next_seq(reader: &Reader, id: &RunId) -> Result<Seq, Unavailable> {
    match reader.next_seq(id) {
        Err(ReadError::Missing { .. }) => Ok(0),
        read => read.map_err(|error| unavailable(&with_causes(&error))),
    }
}

fn loaded(reader: &Reader, id: &RunId) -> Result<Run, Unavailable> {
    load_run(reader, id).map_err(|refused| unavailable(&refused.message))
}

fn unavailable(error: &dyn std::fmt::Display) -> Unavailable {
    Unavailable { reason: error.to_string() }
}

#[cfg(test)]
mod tests;
